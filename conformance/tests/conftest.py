"""Fixtures of all tests: a browser, restored signal handlers."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import needs
import pytest
from browser import Looking, browser
from proof_parts import PART, of_other_parts

from mcp_proxy_conformance.verdict.redaction import encodable

os.environ.setdefault("MCP_PROXY_CONFORMANCE_PROCESSES", "1")  # tests already run side by side
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # each of hundreds of processes would compile anew
gc.set_threshold(100_000, 50, 100)  # thousands of collected tests are no garbage
# On a busy machine an example may take long; a test that gives its own health checks repeats this.
TOO_SLOW = hypothesis.HealthCheck.too_slow
hypothesis.settings.register_profile("untimed", deadline=None, suppress_health_check=[TOO_SLOW])
hypothesis.settings.load_profile("untimed")

pytest_plugins = [
    plugin
    for name, plugin in (("discovery", "recordings"), ("resilience", "loader_host"))
    if name not in needs.MISSING
]
collect_ignore = ["run/stranger"]
"""A distribution of somebody else, whose checks are no tests of ours."""


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable() -> Generator[None, Any, Any]:
    """Replace characters of a test's serialized report that xdist cannot send to its main process.

    A failure that quotes a hostile target may hold such characters.
    """
    return encodable((yield))


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out a file of tests that needs a specification that is not installed."""
    if needs.MISSING and collection_path.suffix == ".py":
        return bool(needs.of_file(collection_path) & needs.MISSING) or None
    return None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what needs a specification that is not there, and other parts of the proof.

    The environment may name a part.
    """
    others = [item for item in items if needs.is_left_out(item)]
    others += of_other_parts(items, os.environ.get(PART))
    config.hook.pytest_deselected(items=others)
    items[:] = [item for item in items if item not in others]


@pytest.fixture(autouse=True)
def _signals() -> Iterator[None]:
    """Restore the handlers of SIGINT and SIGTERM after each test.

    An interrupted run ignores these signals from then on; the tests after it must not.
    """
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(scope="module")
def opened() -> Iterator[Looking]:
    """Yield a viewer in one browser for the tests of a file; skip them if there is none."""
    with browser() as opened_browser:
        yield Looking(opened_browser)


@pytest.fixture
def looking(opened: Looking, tmp_path: Path) -> Iterator[Looking]:
    """Yield a viewer that opens pages; the test fails if a page did what it must not do.

    That is: log to the console, raise an error, open a dialog or send a request.
    """
    opened.begin(tmp_path)
    yield opened
    assert opened.seen == []
