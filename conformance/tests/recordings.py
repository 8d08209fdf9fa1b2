"""A pytest plugin of discovery's tests: recordings of the reference, as fixtures."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_proxy_conformance.discovery.baseline.manifest import Recording
from mcp_proxy_conformance.discovery.baseline.recorder import record
from mcp_proxy_conformance.discovery.targets.embedded import embedded
from mcp_proxy_mutants.discovery.changed import Changed
from mcp_proxy_mutants.discovery.featureless import FEATURELESS

Recorded = Callable[[Changed], Recording]


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
