"""Controller of a parallel run under pytest-xdist: probe, schedule of checks, report."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import time
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import pytest
from xdist.dsession import Interrupted
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

from mcp_proxy_conformance.catalogue.specification import is_shipped
from mcp_proxy_conformance.catalogue.world import GENERATED
from mcp_proxy_conformance.report.document import Report
from mcp_proxy_conformance.run.parallel.shares import Share, gather, shares_in, writers
from mcp_proxy_conformance.run.parallel.worker import SHARES, STOPPED, WORKERS
from mcp_proxy_conformance.run.request import NAME
from mcp_proxy_conformance.run.session import RunSession

LEAST = 2
"""A worker begins a check only when it knows the next one."""


class StageScheduling(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """xdist scheduler that gives all checks of one place to the same worker.

    Long ones begin first; if the first failure ends the run, places with many checks do.
    """

    def __init__(
        self, config: pytest.Config, log: Any, collected: Callable[[], Share], *, fail_fast: bool
    ) -> None:
        """Keep `collected`, called later for the places of the checks, once all are collected."""
        super().__init__(config, log)
        self._collected = collected
        self._fail_fast = fail_fast

    @cached_property
    def _share(self) -> Share:
        """The share of a worker that has collected, with the checks' places; asked for once."""
        return self._collected()

    def _split_scope(self, nodeid: str) -> str:
        """Return the place of a check, by which xdist groups checks; the id itself without one."""
        return self._share.places.get(nodeid, nodeid)

    def _assign_work_unit(self, node: WorkerController) -> None:
        """Assign to a worker all checks of the waiting place that is first in its order.

        The order is `_many_first` if the first failure ends the run, else `_long_first`.
        """
        turn = self._many_first() if self._fail_fast else self._long_first(node)
        first = next((name for name in turn if name in self.workqueue), None)
        if first is not None:
            self.workqueue.move_to_end(first, last=False)
        super()._assign_work_unit(node)

    def _many_first(self) -> Sequence[str]:
        """Return the waiting places: most checks first, then generated examples and long checks."""
        late = {*self._generated(), *self._share.long}
        return sorted(self.workqueue, key=lambda name: (name in late, -len(self.workqueue[name])))

    def _generated(self) -> Sequence[str]:
        """Return the waiting places of generated examples."""
        return [name for name in self.workqueue if name.startswith(GENERATED)]

    def _long_first(self, node: WorkerController) -> Sequence[str]:
        """Return places in the order in which a worker is to take them, generated ones first.

        Long places come next for a worker that has work and no unfinished long place, so that each
        runs behind other checks; for any other worker they come last, after all others. Names may
        repeat, or be taken already.
        """
        assigned, long = self.assigned_work.get(node, {}), self._share.long
        waits = any(name in long and False in checks.values() for name, checks in assigned.items())
        others = [name for name in self.workqueue if name not in long]
        return (*self._generated(), *(long if assigned and not waits else ()), *others, *long)

    def _reschedule(self, node: WorkerController) -> None:
        """Assign places to a worker until two of its checks wait, no place is left or it ends."""
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
    """Role of the process that starts the workers; also a pytest plugin."""

    def __init__(self, run: RunSession, config: pytest.Config) -> None:
        """Make an empty folder for the workers' results; UsageError if a worker is not local.

        Unless set, restarts are limited to the number of workers.
        """
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
        """Remove the workers' result files and, unless they are kept, their scratch folders."""
        shutil.rmtree(self._folder, ignore_errors=True)
        if not self._run.request.keep:
            for path in self._run.out.glob(f"{WORKERS}*"):
                shutil.rmtree(path, ignore_errors=True)

    def begin(self, items: Sequence[pytest.Item]) -> None:
        """Do nothing: this process runs no check."""

    def give_up(self) -> None:
        """Do nothing: workers end by themselves when their checks have passed without running."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self) -> bool | None:
        """Probe the target for all workers; None lets the loop go on.

        If the probe stops the run, return True, which ends the loop, if only the suite's
        own checks are run; else write the outcome to a file that workers read, so that the
        user's other tests still run.
        """
        self._run.probe()
        if self._run.state.stopped is None:
            return None
        paths = [Path(argument.partition("::")[0]).resolve() for argument in self._config.args]
        if all(map(is_shipped, paths)):
            return True
        (self._folder / STOPPED).write_bytes(msgspec.json.encode(self._run.state.stopped))
        return None

    def pytest_configure_node(self, node: WorkerController) -> None:
        """Put the encoded request into the input of a worker that is about to start."""
        node.workerinput[NAME] = self._run.request.encoded()

    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> StageScheduling:
        """Return the scheduler that keeps the checks of a place together."""
        fail_fast = self._run.request.selection.fail_fast
        return StageScheduling(config, log, self._collected, fail_fast=fail_fast)

    def _collected(self) -> Share:
        """Return the share of the first worker that collected checks with places.

        Raises StopIteration if there is none yet.
        """
        return next(share for share in shares_in(self._folder).values() if share.places)

    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Remember the ids of the collected checks, which all workers share."""
        self._ids = ids

    def pytest_testnodedown(self, node: WorkerController, error: object) -> None:
        """Remember a worker's id and error if it ended with one other than an interruption."""
        if error and error != KEYBOARD:
            self._lost[node.gateway.id] = " ".join(str(error).split()) or "it ended"

    def pytest_handlecrashitem(self, crashitem: str) -> None:
        """Remember the address of the check that a lost worker was running."""
        self._crashed = crashitem.rpartition("/")[2]

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Remember the reason if pytest itself stopped the run; ignore an end by a signal."""
        if isinstance(excinfo.value, Interrupted):
            self._reason = str(excinfo.value)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Send SIGTERM to workers that still run, again every 12 s, and wait up to 30 s for all."""
        now = due = time.monotonic()
        deadline = now + PATIENCE_S
        while (growing := self._growing()) and now < deadline:
            if now >= due:
                due = now + REPEAT_S
                for pid in growing.values():
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGTERM)
            time.sleep(EVERY_S)
            now = time.monotonic()

    def _growing(self) -> dict[str, int]:
        """Return {worker: process id} of workers that still write their file and are not lost."""
        return {name: pid for name, pid in writers(self._folder).items() if name not in self._lost}

    def end(self) -> Report:
        """Gather the workers' results, write and return the report, end the subject, tidy up.

        Lost workers become a fault of the run if checks are missing and nothing else ended it. An
        end of workers that this process brought about itself does not count as an interruption.
        """
        run, state = self._run, self._run.state
        if self._reason:
            state.interrupted, state.cut_short = False, state.cut_short or self._reason
        ends = bool(state.faults) or state.stopped is not None
        own = ends and not state.interrupted  # this process interrupted the workers
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
        """Return a sentence on lost workers: how many, the last one, its check and its error.

        It ends with the number of checks not run.
        """
        name, why = list(self._lost.items())[-1]
        during = f" during {self._crashed}" if self._crashed else ""
        return (
            f"workers lost: {len(self._lost)}, the last {name}{during} ({why}); "
            f"checks not run: {missing}"
        )
