"""Fixtures of all tests: recordings of the reference, a browser, failures that can be sent."""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import Looking, browser
from playwright.sync_api import Browser

from mcp_proxy_conformance.discovery.baseline.manifest import Recording
from mcp_proxy_conformance.discovery.baseline.recorder import record
from mcp_proxy_conformance.targets.embedded import embedded
from mcp_proxy_conformance.verdict.redaction import encodable
from mcp_proxy_mutants.proxy.changed import Changed
from mcp_proxy_mutants.proxy.featureless import FEATURELESS

Recorded = Callable[[Changed], Recording]


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable() -> Generator[None, Any, Any]:
    """A failure that quotes a hostile target must not break the worker that reports it."""
    return encodable((yield))


@pytest.fixture(autouse=True)
def _signals() -> Iterator[None]:
    """An interrupted run ignores signals from then on; the tests after it must not."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(scope="session")
def recorded() -> Recorded:
    """Return a function that records the reference, changed in a way."""
    return _recorded


@pytest.fixture(scope="session")
def before() -> Recording:
    """The reference without the feature."""
    return _recorded(FEATURELESS)


@pytest.fixture(scope="session")
def after() -> Recording:
    """The reference with the feature."""
    return _recorded(Changed(id="unchanged", text="The reference itself."))


@pytest.fixture(scope="module")
def opened() -> Iterator[Browser]:
    """The browser of one file of tests."""
    with browser() as opened_browser:
        yield opened_browser


@pytest.fixture
def looking(opened: Browser, tmp_path: Path) -> Iterator[Looking]:
    """Opens pages; the test fails if a page did anything that it must not do."""
    viewer = Looking(opened, tmp_path)
    yield viewer
    for context in opened.contexts:
        context.close()
    assert viewer.seen == []


def _recorded(changed: Changed) -> Recording:
    target = embedded(changed, settle_s=0.1)
    with tempfile.TemporaryDirectory() as scratch:
        try:
            return record(target, Path(scratch), "pre_feature")
        finally:
            target.close()
