"""A process that runs some of the checks, and hands over what they find as they end."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator, Sequence
from typing import Any

import msgspec
import pytest

from mcp_proxy_conformance.run.collection import Place, place_of
from mcp_proxy_conformance.run.parallel.shares import Began, Collected, Ended, Found, Writer
from mcp_proxy_conformance.run.session import Session
from mcp_proxy_conformance.run.signals import heed
from mcp_proxy_conformance.verdict.cited import StageTold
from mcp_proxy_conformance.verdict.outcome import Outcome
from mcp_proxy_conformance.verdict.redaction import encodable

SHARES, STOPPED = ".shares-of-workers", "stopped.json"
WORKERS = ".scratch-of-worker-"
"""Nobody else names a folder so: what stands in the output folder is removed with the run."""
"""The folder beside the report that shares lie in; in it, why no check is run."""


class Worker:
    """A pytest plugin, and the role of a process that xdist started."""

    def __init__(self, run: Session, config: Any) -> None:
        """Begin the share that bears the worker's name."""
        name = config.workerinput["workerid"]
        self._run, self._plugins = run, config.pluginmanager
        self._at: dict[pytest.Item, int] = {}
        self._told: dict[str, StageTold] = {}
        self._writer = Writer(run.out / SHARES, name)
        self._writer.write(Began(os.getpid()))
        heed(config, signal.SIGINT, signal.SIGTERM)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Say which checks belong together, before xdist says that they are collected."""
        places = {item.nodeid: place for item in session.items if (place := place_of(item))}
        names = {nodeid: place.name for nodeid, place in places.items()}
        self._writer.write(Collected(names, self._run.state.shard))

    def begin(self, items: Sequence[pytest.Item]) -> None:
        """Which checks will be run here is told one by one."""
        self._at = {item: at for at, item in enumerate(items)}
        self._run.count([place for item in items if (place := place_of(item)) is not None])

    def give_up(self) -> None:
        """Take every check and run none: xdist takes a worker that ends by itself for a crash."""
        self._plugins.register(_InVain())

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, object, object]:
        """Start the next check's target during this one; then hand over what this one found."""
        run = self._run
        run.state.stopped = run.state.stopped or self._stopped()
        both = [place_of(one) for one in (item, nextitem) if one is not None]
        if run.state.stopped is None:
            run.soon([place for place in both if place is not None])
        results, messages = len(run.state.results), set(run.state.messages)
        done = yield
        found = Found(
            at=self._at[item],
            results=tuple(run.state.results[results:]),
            messages={
                name: one for name, one in run.state.messages.items() if name not in messages
            },
            stages=self._changed(place_of(item)),
            wire=run.state.wire,
        )
        self._writer.write(found)
        return done

    def _stopped(self) -> Outcome | None:
        """Why no check is run, by the look that one process takes for all."""
        path = self._run.out / SHARES / STOPPED
        return msgspec.json.decode(path.read_bytes(), type=Outcome) if path.exists() else None

    def _changed(self, place: Place | None) -> tuple[StageTold, ...]:
        """The stage of the check, if something new is to be told of it."""
        stage = self._run.subject.stage(place.name) if place is not None else None
        if stage is None or self._told.get(stage.place) == stage:
            return ()
        self._told[stage.place] = stage
        return (stage,)

    @pytest.hookimpl(wrapper=True)
    def pytest_report_to_serializable(self) -> Generator[None, Any, Any]:
        """What a target said may hold what cannot be sent to another process as it is."""
        return encodable((yield))

    def end(self) -> None:
        """Say how it ended."""
        run = self._run
        run.finish()
        run.close()
        ended = Ended(
            narrowed=run.state.narrowed,
            interrupted=run.state.interrupted,
            cut_short=run.state.cut_short,
            faults=tuple(run.state.faults),
            stopped=run.state.stopped,
        )
        self._writer.write(ended)
        self._writer.close()


class _InVain:
    """A pytest plugin that runs no check."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self) -> bool:
        """It is done."""
        return True
