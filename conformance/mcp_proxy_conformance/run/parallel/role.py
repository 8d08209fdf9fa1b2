"""Role of a process in a run: alone, xdist worker, or the controller that writes the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import pytest

from mcp_proxy_conformance.report.document import Report
from mcp_proxy_conformance.run.collection import place_of
from mcp_proxy_conformance.run.parallel.worker import WORKERS, Worker
from mcp_proxy_conformance.run.session import RunSession


class Role(Protocol):
    """The duties of a process in its run, besides running checks."""

    def begin(self, items: Sequence[pytest.Item]) -> None:
        """Prepare, before the first check."""

    def give_up(self) -> bool | None:
        """Run no check; True if that ends the loop."""

    def end(self) -> Report | None:
        """End every target after the last check, however the run ended; returns the report."""


@dataclass(frozen=True, slots=True)
class Alone:
    """The only process of its run."""

    run: RunSession

    def begin(self, items: Sequence[pytest.Item]) -> None:
        """Start the targets that will be needed, and probe the first one."""
        if self.run.state.stopped is not None:
            return
        self.run.plan([place for item in items if (place := place_of(item)) is not None])
        self.run.probe()

    def give_up(self) -> bool:
        """Return True: there is no other process."""
        return True

    def end(self) -> Report:
        """Write the report."""
        self.run.finish()
        report = self.run.report()
        self.run.close()
        return report


def role_of(config: pytest.Config, run: RunSession) -> Role:
    """Return the role of this process; in a run of several processes, register it as a plugin.

    A process is a worker if xdist configured this very run: a worker's environment variables are
    inherited by all processes that it starts.

    Raises:
        pytest.UsageError: The run cannot be divided among processes.
    """
    is_worker = hasattr(config, "workerinput")
    is_alone = config.option.collectonly or getattr(config.option, "dist", "no") == "no"
    if not is_alone or is_worker:
        _expect_divisible(run)
    if is_worker:
        worker = Worker(run, config)
        config.pluginmanager.register(worker)
        return worker
    if is_alone or not config.option.tx:
        return Alone(run)
    # xdist is an extra; nothing else needs it
    from mcp_proxy_conformance.run.parallel.controller import Controller  # noqa: PLC0415

    controller = Controller(run, config)
    config.pluginmanager.register(controller)
    return controller


def scratch_of(config: pytest.Config) -> str | None:
    """Return the folder of a worker's targets, beside the report; None for other processes."""
    workerinput = getattr(config, "workerinput", None)
    return None if workerinput is None else f"{WORKERS}{workerinput['workerid']}"


def _expect_divisible(run: RunSession) -> None:
    if run.subject.indivisible:
        raise pytest.UsageError(run.subject.indivisible)
