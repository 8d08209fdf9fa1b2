"""A pytest plugin: `--target reference` is the reference in this process, with a fault or none.

The environment says how: `BENT` names a mutant, or is `restless` (answers that always change);
`FATAL` names a check in which the process is killed, with `FATAL_ONCE` only the first time, as long
as that file is missing; `DEAF` names a check in which an interruption is lost.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from mcp_proxy_conformance.discovery.targets import kinds
from mcp_proxy_conformance.discovery.targets.adapter import ProxyTarget
from mcp_proxy_conformance.discovery.targets.embedded import embedded
from mcp_proxy_mutants.discovery.changed import Changed
from mcp_proxy_mutants.discovery.changed_parts import Request
from mcp_proxy_mutants.discovery.mutants import mutants
from mcp_proxy_mutants.fresh import Fresh
from mcp_proxy_reference.facts import Json


def counting() -> Callable[[Json, Request], Json]:
    """Return an `answer` change that adds a counter, the time in seconds, and when it was made."""
    numbers, made = count(), time.time_ns()

    return lambda document, _request: (
        document | {"served": next(numbers), "at": int(time.time()), "since": made}
    )


UNCHANGED = Changed(id="unchanged", text="The reference itself.")
RESTLESS = Changed(id="restless", text="Restless.", change={"answer": Fresh(counting)})


def _reference() -> ProxyTarget:
    """Return the reference as a target in this process, with the mutant that `BENT` names.

    It is unchanged without one, or for an unknown name.
    """
    fault = os.environ.get("BENT")
    known = (RESTLESS, *mutants())
    return embedded(
        next((changed for changed in known if changed.id == fault), UNCHANGED), settle_s=0.1
    )


kinds._reference = _reference


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """In the check that the environment names, kill the process or lose an interruption.

    FATAL_ONCE names a file: it is killed only if that is missing, and the file is created before.
    """
    name = getattr(item, "originalname", "")
    if name == os.environ.get("DEAF"):
        with contextlib.suppress(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(60)
    if name != os.environ.get("FATAL"):
        return
    once = os.environ.get("FATAL_ONCE")
    if once is None or not Path(once).exists():
        Path(once or os.devnull).touch()
        os.kill(os.getpid(), signal.SIGKILL)
