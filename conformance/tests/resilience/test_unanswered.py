"""Loads that hang or throw: the clause that each breaks, later loads left out, a hang forgiven."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from msgspec.structs import replace

from mcp_proxy_conformance.resilience import loads as loads_module
from mcp_proxy_conformance.resilience.busy import BUSY_S
from mcp_proxy_conformance.resilience.embedded import EmbeddedLoader, LoaderHost
from mcp_proxy_conformance.resilience.load_bench import LoadBench
from mcp_proxy_conformance.resilience.load_case import Behaviour, LoadCase, load_cases
from mcp_proxy_conformance.resilience.loader import Loaded, Loader, never
from mcp_proxy_conformance.resilience.loader_target import loader_target
from mcp_proxy_conformance.resilience.loads import BOTH_CONTROLS, PATIENCE, WELL, Loads
from mcp_proxy_conformance.targets.target import AdapterError
from mcp_proxy_conformance.verdict.comparison import Comparison
from mcp_proxy_conformance.verdict.result import Inconclusive
from mcp_proxy_reference.load import loaded

Json = dict[str, Any]
CASES = {case.id: case for case in load_cases()}
NOT_FOUND, DENIED = CASES["permanent-not-found"], CASES["denied-forbidden"]
LOST = CASES["again-lost-denied"]
END, BESIDE = CASES["end-html-list"], CASES["isolation-every-class"]


@dataclass(frozen=True)
class Stopped:
    """The reference's loader, but it hangs or throws at an outcome for which `at` is true."""

    at: Callable[[Json], bool]
    throws: bool = False

    def start(self) -> Callable[[Json], Awaitable[Json]]:
        """Return a coroutine function that loads.

        It hangs or throws if `at` is true of a server.
        """

        async def load(request: Json) -> Json:
            """Load by the reference.

            If `at` is true of an outcome, raise RuntimeError or sleep an hour.
            """
            answer = await loaded(request)
            if any(map(self.at, answer["outcomes"])):
                if self.throws:
                    raise RuntimeError("a server failed")
                await asyncio.sleep(3600)
            return answer

        return load


class Hasty(Loader):
    """A loader that loads nothing, and notes how long it may take."""

    def __init__(self) -> None:
        """Note nothing yet."""
        self.deadlines: list[float] = []

    def load(self, servers: Any, *, deadline_s: float, **_: Any) -> Loaded:
        """Note the seconds that it has; answer that there is nothing."""
        del servers
        self.deadlines.append(deadline_s)
        return Loaded()

    def leave(self) -> bool:
        """Return True: nothing runs."""
        return True

    def stop(self, patience_s: float = 0.0) -> None:
        """Do nothing: nothing runs."""


def test_a_load_has_time_for_what_its_servers_do_in_the_second_one(tmp_path: Path) -> None:
    """A server that falls silent after a first load is waited for as one that always is."""
    loader, silent = Hasty(), Behaviour(do="silence")
    for script in ((Behaviour(do="healthy"), silent), (silent,)):
        servers = tuple(replace(each, script=script) for each in LOST.given.servers)
        case = replace(LOST, given=replace(LOST.given, servers=servers))
        loads = Loads(lambda _: loader, tmp_path)
        loads.anew(case)
        loads.close()

    assert len(loader.deadlines) == 4
    assert len({*loader.deadlines}) == 1


class Waiting(Hasty):
    """A loader that asks each server once, and waits for the answers without end."""

    def load(self, servers: Any, *, is_stuck: Callable[[], bool] = never, **_: Any) -> Loaded:
        """Send a request to each server; wait until the suite says that the load is stuck."""
        began, body = time.monotonic(), b'{"jsonrpc":"2.0","id":1,"method":"initialize"}'
        with ExitStack() as stack:
            for each in servers:
                url = urlsplit(each["url"])
                peer = stack.enter_context(socket.create_connection((url.hostname, url.port)))
                head = f"POST {url.path} HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}\r\n\r\n"
                peer.sendall(head.encode() + body)
            while not is_stuck():
                assert time.monotonic() - began < 10
                time.sleep(0.02)
        return Loaded(hung=True)


def test_a_load_of_several_servers_hangs_at_those_that_are_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing waits longer for who is silent, and no other load of such a server is tried."""
    monkeypatch.setattr(loads_module, "GRACE_S", 0.1)
    failing = replace(NOT_FOUND.given.servers[0], server_id="elm", timeout_s=0.1)
    silent = replace(failing, server_id="oak", script=(Behaviour(do="silence"),))
    given = replace(NOT_FOUND.given, controls=False, servers=(silent, failing))
    several = replace(NOT_FOUND, id="several", given=given)
    alone = replace(several, id="alone", given=replace(given, servers=(silent,)))
    loads = Loads(lambda _: Waiting(), tmp_path)

    load, other = loads.of(several), loads.of(alone)
    loads.close()

    assert (load.loaded.hung, load.waiting) == (True, ("oak",))
    assert "the loader hangs on such a server (silence on" in other.untried


def test_nothing_is_loaded_after_the_end(tmp_path: Path) -> None:
    """What ended before is kept; of what did not, it is told that the run was over."""
    loads = Loads(lambda _: Hasty(), tmp_path)
    kept = loads.of(LOST)

    loads.close()

    assert loads.of(LOST) is kept
    with pytest.raises(AdapterError, match="the run is over"):
        loads.of(replace(LOST, id="another"))


def always(_outcome: Json) -> bool:
    """Return True for any outcome, so that the loader stops even at healthy servers."""
    return True


def failed(outcome: Json) -> bool:
    """Return whether the outcome's server is not available."""
    return bool(outcome["status"] != "available")


def denied(outcome: Json) -> bool:
    """Return whether the outcome's server is denied."""
    return bool(outcome["status"] == "denied")


@pytest.fixture
def judged(
    host: LoaderHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Stopped, LoadCase], Comparison]:
    """Return a function that judges a load case on a Stopped loader, and returns the Comparison.

    A load is given 0.3 s beyond what its case needs. The loads are closed.
    """
    monkeypatch.setattr(loads_module, "GRACE_S", 0.3)

    def judge(stopped: Stopped, case: LoadCase) -> Comparison:
        """Judge the case on that loader, close the loads, and return the Comparison."""
        loads = Loads(lambda _: EmbeddedLoader(stopped, host), tmp_path)
        try:
            return LoadBench(loads, loader_target(lambda _: EmbeddedLoader(stopped, host))).judged(
                case
            )
        finally:
            loads.close()

    return judge


STOPPED = [
    (Stopped(always), END, "I4.bounded", "all of its servers are healthy"),
    (Stopped(failed), END, "I4.bounded", "control-down was last asked for initialize"),
    (Stopped(denied), DENIED, "I4.bounded", "was last asked for"),
    (Stopped(denied, throws=True), DENIED, "I1.isolated", "RuntimeError: a server failed"),
    (Stopped(denied, throws=True), BESIDE, "I1.isolated", "RuntimeError: a server failed"),
    (Stopped(failed, throws=True), NOT_FOUND, "I1.isolated", "RuntimeError: a server failed"),
]


@pytest.mark.parametrize(("stopped", "case", "clause", "words"), STOPPED)
def test_a_load_that_is_not_answered_breaks_one_clause(
    judged: Callable[[Stopped, LoadCase], Comparison],
    stopped: Stopped,
    case: LoadCase,
    clause: str,
    words: str,
) -> None:
    """A loader that hangs breaks I4.bounded, one that throws I1.isolated, and nothing else.

    The finding says what stopped it; the case's other clauses are left open.
    """
    comparison = judged(stopped, case)

    assert comparison.broken == (clause,)
    assert words in str(comparison.findings[0].observed)
    assert {name for left in comparison.open for name in left.clauses} == {*case.clauses} - {clause}


@pytest.mark.parametrize("throws", [False, True])
def test_a_second_load_that_is_not_answered_shows_no_clause_to_hold(
    judged: Callable[[Stopped, LoadCase], Comparison], *, throws: bool
) -> None:
    """If only the second load hangs or throws, I5.clears is open; a hang breaks I4.bounded."""
    comparison = judged(Stopped(denied, throws=throws), LOST)

    assert comparison.broken == (() if throws else ("I4.bounded",))
    assert "I5.clears" in {name for left in comparison.open for name in left.clauses}


def test_a_loader_that_throws_at_healthy_servers_ends_the_run(
    judged: Callable[[Stopped, LoadCase], Comparison],
) -> None:
    """A loader that throws even at healthy servers raises AdapterError, and breaks no clause."""
    with pytest.raises(AdapterError, match="a server failed"):
        judged(Stopped(always, throws=True), END)


def test_servers_of_a_kind_that_stops_the_loader_are_not_loaded_again(
    host: LoaderHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a load that hung at a 403, another case of a 403 is not tried, and says why.

    Cases without one are loaded and answered.
    """
    monkeypatch.setattr(loads_module, "GRACE_S", 0.3)
    loads = Loads(lambda _: EmbeddedLoader(Stopped(denied), host), tmp_path)
    again = replace(DENIED, id="denied-again")

    first, second = loads.of(DENIED), loads.of(again)
    others = [loads.of(case) for case in (WELL, BOTH_CONTROLS, NOT_FOUND)]
    loads.close()

    assert (first.loaded.hung, second.loaded.hung) == (True, False)
    assert "the loader hangs on such a server (status 403 on initialize)" in second.untried
    assert [other.is_answered for other in others] == [True, True, True]


def test_no_hang_counts_on_a_machine_that_hardly_starts_programs(
    host: LoaderHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A load that hangs while programs start too slowly is made again, then open."""
    monkeypatch.setattr(loads_module, "GRACE_S", 0.3)

    def loads(start_s: float) -> Loads:
        return Loads(
            lambda _: EmbeddedLoader(Stopped(denied), host), tmp_path,
            slow=lambda _since, _until, over_s: float(start_s > over_s),
        )  # fmt: skip

    busy, idle = loads(1.1 * PATIENCE * BUSY_S), loads(0.9 * PATIENCE * BUSY_S)

    with pytest.raises(Inconclusive, match="this machine is too busy"):
        busy.of(DENIED)
    assert idle.of(DENIED).loaded.hung
    busy.close()
    idle.close()


def test_a_load_that_hangs_once_only_is_judged_by_the_second(
    host: LoaderHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A load that hangs once, and is answered when it is repeated, counts as answered."""
    monkeypatch.setattr(loads_module, "GRACE_S", 0.3)
    hangs = iter([True])
    loads = Loads(lambda _: EmbeddedLoader(Stopped(lambda _o: next(hangs, False)), host), tmp_path)

    load = loads.of(DENIED)
    loads.close()

    assert load.is_answered
