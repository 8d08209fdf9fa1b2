"""Roles of a process in a run (alone, worker, controller), and which one this process has."""

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
    """Duties of a process in its run, besides running checks."""

    def begin(self, items: Sequence[pytest.Item]) -> None:
        """Prepare for these checks, before the first one runs."""

    def give_up(self) -> bool | None:
        """Have no check run, as the probe stopped the run; return if pytest's loop has to end."""

    def end(self) -> Report | None:
        """End every target after the last check; return the report, None for a worker."""


@dataclass(frozen=True, slots=True)
class Alone:
    """Role of the only process of a run."""

    run: RunSession

    def begin(self, items: Sequence[pytest.Item]) -> None:
        """Start the first targets ahead, begin early checks, and probe the target.

        Do nothing if the run is stopped already.
        """
        if self.run.state.stopped is not None:
            return
        places = {item: place for item in items if (place := place_of(item)) is not None}
        self.run.plan([*places.values()])
        self.run.begin(places)
        self.run.probe()

    def give_up(self) -> bool:
        """Return True, which ends pytest's loop: there is no other process."""
        return True

    def end(self) -> Report:
        """Finish the subject, write the report, end every target, and return the report."""
        self.run.finish()
        report = self.run.report()
        self.run.close()
        return report


def role_of(config: pytest.Config, run: RunSession) -> Role:
    """Return the role of this process; a worker or controller is registered as a plugin too.

    A process is a worker if xdist gave its config an input, and alone without -n or when only
    collecting. Raises pytest.UsageError if the subject cannot be divided among processes.
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
    # xdist takes long to import, and nothing else needs it
    from mcp_proxy_conformance.run.parallel.controller import Controller  # noqa: PLC0415

    controller = Controller(run, config)
    config.pluginmanager.register(controller)
    return controller


def scratch_of(config: pytest.Config) -> str | None:
    """Return the name of a worker's scratch folder, with its id; None in any other process."""
    workerinput = getattr(config, "workerinput", None)
    return None if workerinput is None else f"{WORKERS}{workerinput['workerid']}"


def _expect_divisible(run: RunSession) -> None:
    """Raise pytest.UsageError if the subject cannot be checked in several processes."""
    if run.subject.indivisible:
        raise pytest.UsageError(run.subject.indivisible)
