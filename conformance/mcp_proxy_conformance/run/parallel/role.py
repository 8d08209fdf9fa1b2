"""The part that a process has in a run: all of it, one share, or the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import pytest

from mcp_proxy_conformance.report.document import Report
from mcp_proxy_conformance.run.collection import place_of
from mcp_proxy_conformance.run.parallel.worker import WORKERS, Worker
from mcp_proxy_conformance.run.session import Session


class Role(Protocol):
    """What a process does with its run, besides running checks."""

    def begin(self, items: Sequence[pytest.Item]) -> None:
        """Before the first check."""

    def give_up(self) -> bool | None:
        """No check is to be run: True where that ends the loop."""

    def end(self) -> Report | None:
        """After the last one, however that came about; ends every target, returns the report."""


@dataclass(frozen=True, slots=True)
class Alone:
    """The only process of its run."""

    run: Session

    def begin(self, items: Sequence[pytest.Item]) -> None:
        """Start what will be needed, and look whether there is anything to check."""
        if self.run.state.stopped is not None:
            return
        self.run.plan([place for item in items if (place := place_of(item)) is not None])
        self.run.probe()

    def give_up(self) -> bool:
        """There is nobody else."""
        return True

    def end(self) -> Report:
        """Write the report."""
        self.run.finish()
        told = self.run.report()
        self.run.close()
        return told


def role_of(config: pytest.Config, run: Session) -> Role:
    """The part of this process; of several processes the plugins are registered.

    A process is a worker by what xdist gave to this very run: the environment of a worker is
    inherited by all that it starts.

    Raises:
        pytest.UsageError: The run cannot be done in several processes.
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
    """The folder of a worker's targets, beside the report; None for other processes."""
    given = getattr(config, "workerinput", None)
    return None if given is None else f"{WORKERS}{given['workerid']}"


def _expect_divisible(run: Session) -> None:
    if run.subject.indivisible:
        raise pytest.UsageError(run.subject.indivisible)
