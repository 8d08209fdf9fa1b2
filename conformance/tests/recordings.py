"""A pytest plugin of discovery's tests: the started reference, and recordings of it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mcp_proxy_conformance.discovery.baseline.manifest import Recording
from mcp_proxy_conformance.discovery.baseline.recorder import record
from mcp_proxy_conformance.discovery.selftest.live_trial import started_with_locks
from mcp_proxy_conformance.discovery.targets.embedded import embedded
from mcp_proxy_conformance.discovery.targets.kinds import target_of
from mcp_proxy_conformance.discovery.targets.started import Started
from mcp_proxy_conformance.targets.description import describe
from mcp_proxy_mutants.discovery.changed import Changed
from mcp_proxy_mutants.discovery.featureless import FEATURELESS

Recorded = Callable[[Changed], Recording]


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Started]:
    """Yield the reference, a process with locks of four kinds, shared by a file's tests."""
    target = target_of(describe(kind="reference", file=None, given={}, environment={}))
    with started_with_locks(target, tmp_path_factory.mktemp("live")) as running:
        yield running
    target.close()


@pytest.fixture(scope="session")
def recorded() -> Recorded:
    """Return a function that takes a Changed reference and returns a Recording of its answers."""
    return _recorded


@pytest.fixture(scope="session")
def before() -> Recording:
    """Return a recording of the reference without locked-tool discovery, made once in all."""
    return _recorded(FEATURELESS)


@pytest.fixture(scope="session")
def after() -> Recording:
    """Return a recording of the unchanged reference, made once for all tests."""
    return _recorded(Changed(id="unchanged", text="The reference itself."))


def _recorded(changed: Changed) -> Recording:
    """Return a Recording of the changed reference's default answers; it runs in this process."""
    target = embedded(changed, settle_s=0.1)
    with tempfile.TemporaryDirectory() as scratch:
        try:
            return record(target, Path(scratch), "pre_feature")
        finally:
            target.close()
