"""Role of an xdist worker: it starts targets for its checks, and writes their results to a file."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator, Sequence
from typing import Any

import msgspec
import pytest

from mcp_proxy_conformance.run.collection import Place, place_of
from mcp_proxy_conformance.run.invocation import collect_garbage_rarely
from mcp_proxy_conformance.run.parallel.shares import (
    Began,
    CheckResults,
    Collected,
    PartEnd,
    Writer,
)
from mcp_proxy_conformance.run.session import RunSession
from mcp_proxy_conformance.run.signals import heed
from mcp_proxy_conformance.verdict.cited import CitedStage
from mcp_proxy_conformance.verdict.outcome import Outcome
from mcp_proxy_conformance.verdict.redaction import encodable

SHARES, STOPPED = ".shares-of-workers", "stopped.json"
"""The folder of the shares beside the report, and the file in it that says why no check runs."""
WORKERS = ".scratch-of-worker-"
"""An unlikely name for a user's folder: these are removed from the output folder with the run."""


class Worker:
    """Role of a process that xdist started; also a pytest plugin."""

    def __init__(self, run: RunSession, config: Any) -> None:
        """Open the worker's share with its process id; let SIGINT and SIGTERM interrupt the run."""
        name = config.workerinput["workerid"]
        self._run, self._plugins = run, config.pluginmanager
        self._at: dict[pytest.Item, int] = {}
        self._units: dict[str, list[Place]] = {}
        self._sent: dict[str, CitedStage] = {}
        self._writer = Writer(run.out / SHARES, name)
        self._writer.write(Began(os.getpid()))
        heed(config, signal.SIGINT, signal.SIGTERM)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Write the shard, the checks' places by node id, and the places of long checks.

        That is before xdist reports the collection.
        """
        places = {item.nodeid: place for item in session.items if (place := place_of(item))}
        names = {nodeid: place.unit for nodeid, place in places.items()}
        long = tuple({place.name: None for place in places.values() if place.long})
        self._writer.write(Collected(names, long, self._run.state.shard))

    def begin(self, items: Sequence[pytest.Item]) -> None:
        """Note the order of all checks, and collect garbage rarely from now on; start nothing.

        The subject gets their places, so that it ends each target after its last check.
        """
        collect_garbage_rarely()
        self._at = {item: at for at, item in enumerate(items)}
        places = [place for item in items if (place := place_of(item)) is not None]
        for place in places:
            self._units.setdefault(place.unit, []).append(place)
        self._run.count(places)

    def give_up(self) -> None:
        """Have every check pass without running: a worker that ended itself would count as lost."""
        self._plugins.register(_RunNothing())

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, object, object]:
        """Start the targets of this and the next unit, let the check run, write its results.

        No target is started if the run is stopped, here or by the controller's probe.
        """
        run = self._run
        run.state.stopped = run.state.stopped or self._stopped()
        both = [place_of(check) for check in (item, nextitem) if check is not None]
        units = dict.fromkeys(place.unit for place in both if place is not None)
        if run.state.stopped is None:
            run.soon([place for unit in units for place in self._units[unit]])
        results, messages = len(run.state.results), set(run.state.messages)
        done = yield
        entry = CheckResults(
            at=self._at[item],
            results=tuple(run.state.results[results:]),
            messages={
                name: message
                for name, message in run.state.messages.items()
                if name not in messages
            },
            stages=self._changed(place_of(item)),
            wire=run.state.wire,
        )
        self._writer.write(entry)
        return done

    def _stopped(self) -> Outcome | None:
        """Return the outcome that the controller's probe wrote; None if it wrote none."""
        path = self._run.out / SHARES / STOPPED
        return msgspec.json.decode(path.read_bytes(), type=Outcome) if path.exists() else None

    def _changed(self, place: Place | None) -> tuple[CitedStage, ...]:
        """Return (stage,) if this place's stage is new or changed since last written; else ()."""
        stage = self._run.subject.stage(place.name) if place is not None else None
        if stage is None or self._sent.get(stage.place) == stage:
            return ()
        self._sent[stage.place] = stage
        return (stage,)

    @pytest.hookimpl(wrapper=True)
    def pytest_report_to_serializable(self) -> Generator[None, Any, Any]:
        """Return pytest's serialized report with lone surrogates escaped, so it can be sent."""
        return encodable((yield))

    def end(self) -> None:
        """End the targets, write how this worker's part ended, and mark the share whole."""
        run = self._run
        run.finish()
        run.close()
        ended = PartEnd(
            narrowed=run.state.narrowed,
            interrupted=run.state.interrupted,
            cut_short=run.state.cut_short,
            faults=tuple(run.state.faults),
            stopped=run.state.stopped,
        )
        self._writer.write(ended)
        self._writer.close()


class _RunNothing:
    """A pytest plugin that lets no check run."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self) -> bool:
        """Return True, so that pytest takes the check as done without running it."""
        return True
