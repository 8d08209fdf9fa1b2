"""The process that runs no check: it probes the target and writes the report of all workers."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import pytest
from xdist.dsession import Interrupted
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

from mcp_proxy_conformance.catalogue.resources import checks_dir
from mcp_proxy_conformance.report.document import Report
from mcp_proxy_conformance.run.parallel.shares import GROWING, gather, shares_in
from mcp_proxy_conformance.run.parallel.worker import SHARES, STOPPED, WORKERS
from mcp_proxy_conformance.run.request import NAME
from mcp_proxy_conformance.run.session import RunSession

LEAST = 2
"""A worker begins a check only when it knows the next one."""


class StageScheduling(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Keeps the checks of one place together; the places are known once all are collected."""

    def __init__(
        self, config: pytest.Config, log: Any, places: Callable[[], Mapping[str, str]]
    ) -> None:
        """Begin before anything is collected."""
        super().__init__(config, log)
        self._collected = places

    @cached_property
    def _places(self) -> Mapping[str, str]:
        return self._collected()

    def _split_scope(self, nodeid: str) -> str:
        return self._places.get(nodeid, nodeid)

    def _reschedule(self, node: WorkerController) -> None:
        """Give a replacement of a lost worker at least two checks, so that it does not wait."""
        super()._reschedule(node)
        while self.workqueue and not node.shutting_down:
            if self._pending_of(self.assigned_work[node]) >= LEAST:
                return
            self._assign_work_unit(node)


PATIENCE_S = 30.0
"""Seconds that workers may take to end their targets."""
EVERY_S, REPEAT_S = 0.05, 12.0
"""Seconds between polls, and until a worker that still runs is interrupted again: more than
targets take to end, since a check that is ending its own must not be interrupted in it."""
KEYBOARD = "keyboard-interrupt"
"""xdist's name for the end of a worker that was interrupted."""


class Controller:
    """A pytest plugin, and the role of the process that starts the workers."""

    def __init__(self, run: RunSession, config: pytest.Config) -> None:
        """Make the folder of the shares; raises pytest.UsageError for workers on other machines."""
        if any(spec.partition("//")[0].rpartition("*")[2] != "popen" for spec in config.option.tx):
            raise pytest.UsageError("all workers must run on this machine; leave --tx out")
        if config.option.maxworkerrestart is None:
            config.option.maxworkerrestart = str(len(config.option.tx))
        self._run = run
        self._config = config
        self._folder = run.out / SHARES
        self._ids: Sequence[str] = ()
        self._lost: dict[str, str] = {}
        self._crashed = ""
        self._reason = ""
        self._tidy()
        self._folder.mkdir(mode=0o700, parents=True)

    def _tidy(self) -> None:
        """Remove the files that workers leave, credentials included."""
        shutil.rmtree(self._folder, ignore_errors=True)
        if not self._run.request.keep:
            for path in self._run.out.glob(f"{WORKERS}*"):
                shutil.rmtree(path, ignore_errors=True)

    def begin(self, items: Sequence[pytest.Item]) -> None:
        """Do nothing: there are no checks in this process."""

    def give_up(self) -> None:
        """Do nothing: workers without checks end by themselves."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self) -> bool | None:
        """Probe the target once for all workers, which wait for it while they start."""
        self._run.probe()
        if self._run.state.stopped is None:
            return None
        paths = [Path(argument.partition("::")[0]).resolve() for argument in self._config.args]
        if all(path.is_relative_to(checks_dir()) for path in paths):
            return True
        (self._folder / STOPPED).write_bytes(msgspec.json.encode(self._run.state.stopped))
        return None

    def pytest_configure_node(self, node: WorkerController) -> None:
        """Hand the request to a worker."""
        node.workerinput[NAME] = self._run.request.encoded()

    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> StageScheduling:
        """Keep the checks of a stage together."""
        return StageScheduling(config, log, self._places)

    def _places(self) -> dict[str, str]:
        """Return the places of the checks, the same for each worker that has collected them."""
        return next(share.places for share in shares_in(self._folder).values() if share.places)

    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Remember the ids of the checks, the same for each worker."""
        self._ids = ids

    def pytest_testnodedown(self, node: WorkerController, error: object) -> None:
        """Remember a worker that was lost."""
        if error and error != KEYBOARD:
            self._lost[node.gateway.id] = " ".join(str(error).split()) or "it ended"

    def pytest_handlecrashitem(self, crashitem: str) -> None:
        """Remember the check that a lost worker was running."""
        self._crashed = crashitem.rpartition("/")[2]

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Remember that a worker stopped the run: that is not an interruption from outside."""
        if isinstance(excinfo.value, Interrupted):
            self._reason = str(excinfo.value)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Interrupt the workers that still run, and wait until their targets have ended."""
        now = due = time.monotonic()
        deadline = now + PATIENCE_S
        while (growing := self._growing()) and now < deadline:
            if now >= due:
                due = now + REPEAT_S
                for share in growing.values():
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(share, signal.SIGTERM)
            time.sleep(EVERY_S)
            now = time.monotonic()

    def _growing(self) -> dict[str, int]:
        """Return the process ids of the workers that have not ended, by their names."""
        names = {path.stem for path in self._folder.glob(f"*{GROWING}")} - self._lost.keys()
        return {
            n: share.pid for n, share in shares_in(self._folder).items() if n in names and share.pid
        }

    def end(self) -> Report:
        """Write the report of everything that the workers handed over."""
        run, state = self._run, self._run.state
        if self._reason:
            state.interrupted, state.cut_short = False, state.cut_short or self._reason
        own = bool(state.faults) and not state.interrupted  # this process interrupted the workers
        judged = gather(state, list(shares_in(self._folder).values()))
        state.interrupted = state.interrupted and not own
        missing = len(self._ids) - len(judged)
        ended = state.interrupted or state.cut_short or state.stopped
        if self._lost and not ended and (missing or not self._ids):
            state.faults.insert(0, self._loss(missing))
        run.finish()
        report = run.report()
        run.close()
        self._tidy()
        return report

    def _loss(self, missing: int) -> str:
        """Return the sentence about lost workers and the checks lost with them."""
        name, why = list(self._lost.items())[-1]
        during = f" during {self._crashed}" if self._crashed else ""
        return (
            f"workers lost: {len(self._lost)}, the last {name}{during} ({why}); "
            f"checks not run: {missing}"
        )
