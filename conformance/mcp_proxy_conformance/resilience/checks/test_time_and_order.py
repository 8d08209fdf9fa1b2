"""Retry pauses of a loader, its concurrency, the order of its outcomes, and its end."""

from __future__ import annotations

from itertools import pairwise

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on
from mcp_proxy_conformance.resilience.driven_loader import LOADS
from mcp_proxy_conformance.resilience.load_bench import LoadBench
from mcp_proxy_conformance.resilience.load_case import (
    Behaviour,
    Expected,
    GivenLoad,
    LoadCase,
    LoadServer,
)
from mcp_proxy_conformance.resilience.loads import STARTED, Load
from mcp_proxy_conformance.resilience.pauses import (
    RETRIED,
    SOME,
    Difference,
    growth,
    jitter,
    timed,
)
from mcp_proxy_conformance.verdict.result import Inconclusive, NotApplicable

SLOW_S, MANY = 0.4, 6
CLAIMED = "attempts reported for oak"
NONE_OR_ONE = "0 or 1"
AT_LEAST = f"at least {SOME:.1%}"


def a_load(name: str, *servers: LoadServer) -> LoadCase:
    """Return a load case of these servers, each of which its case expects to be available.

    `name` is its id and title; it has no control servers.
    """
    ids = [server.server_id for server in servers]
    return LoadCase(
        id=name,
        area="time",
        title=name,
        source=(),
        clauses=(),
        given=GivenLoad(max_attempts=3, servers=servers, controls=False),
        then={server_id: Expected(status=("available",)) for server_id in ids},
    )


def a_server(name: str, *script: Behaviour) -> LoadServer:
    """Return a server of that id with one tool; it behaves as scripted, one behaviour an attempt.

    The last one repeats; without a script it is healthy.
    """
    return LoadServer(server_id=name, tools=(f"{name}_tool",), script=script or (HEALTHY,))


HEALTHY = Behaviour(do="healthy")
WELL = a_load("well", a_server("oak"), a_server("elm"))
SLOW = a_load(
    "slow", *(a_server(f"tree{n}", Behaviour(do="slow", seconds=SLOW_S)) for n in range(MANY))
)
ORDERED = a_load(
    "ordered",
    *(
        a_server(name, Behaviour(do="slow", on="tools/list", seconds=seconds))
        for name, seconds in (("yew", 0.4), ("oak", 0.3), ("fir", 0.2), ("ash", 0.1), ("elm", 0.0))
    ),
)
LOST = a_load("lost", a_server("oak", Behaviour(do="unresolvable")), a_server("elm"))
TIMED = (WELL, SLOW, ORDERED, LOST)
"""Begun together; that of pauses goes by itself, since noise of others would leave it open."""


@requirement("R5.grows")
@on(LOADS, needs=("retries",))
def test_pauses_grow_from_attempt_to_attempt(bench: LoadBench) -> None:
    """The second pause between three attempts is longer than the first, by more than noise.

    Eight servers fail each attempt. Inconclusive if noise may explain it or jitter hide it, or if a
    server is tried fewer than three times.
    """
    retries, reactions = timed(bench.load(RETRIED))
    grown = growth(retries, reactions)
    if not grown.is_seen and jitter(retries, reactions).is_seen:
        raise Inconclusive(f"jitter may hide whether pauses grow: {grown}")

    assert {"growth of pauses": _sure(grown)} == {"growth of pauses": AT_LEAST}


@requirement("R6.jitter")
@on(LOADS, needs=("retries",))
def test_pauses_of_several_servers_differ(bench: LoadBench) -> None:
    """Servers that fail at the same time are not tried again at the same time.

    Inconclusive if noise may explain the difference of their pauses, or if a server is tried fewer
    than three times.
    """
    apart = jitter(*timed(bench.load(RETRIED)))

    assert {"mean difference of pauses": _sure(apart)} == {"mean difference of pauses": AT_LEAST}


@requirement("R1.once~delay")
@on(LOADS)
def test_a_load_of_healthy_servers_waits_for_nothing(bench: LoadBench) -> None:
    """A healthy server gets each request less than 0.4 s after the one before.

    Two are loaded; inconclusive if one is not available, or none gets several requests.
    """
    load = bench.load(WELL, beside=TIMED)
    _expect_available(load)

    logs = [load.servers.log(server.server_id) for server in WELL.servers()]
    pauses = [after.at - before.at for log in logs for before, after in pairwise(log)]
    if not pauses:
        raise Inconclusive("healthy servers are reported as available without several requests")

    seconds, allowed = max(pauses), f"less than {SLOW_S * 1000:g}"
    observed = allowed if seconds < SLOW_S else round(seconds * 1000)

    assert {"longest pause in ms": observed} == {"longest pause in ms": allowed}


@requirement("I2.concurrent")
@on(LOADS)
def test_slow_servers_are_loaded_side_by_side(bench: LoadBench) -> None:
    """Six slow servers take less than half the time that they would take one by one.

    Each delays its answers by 0.4 s. Inconclusive unless all are reported as available.
    """
    load = bench.load(SLOW, beside=TIMED)
    _expect_available(load)

    seconds, most = load.loaded.seconds, MANY * SLOW_S * load.slower / 2
    allowed = f"less than {most * 1000:g}"
    observed = allowed if seconds < most else round(seconds * 1000)

    assert {"load of slow servers in ms": observed} == {"load of slow servers in ms": allowed}


@requirement("I3.order~outcomes")
@on(LOADS)
def test_outcomes_come_in_the_order_of_the_servers(bench: LoadBench) -> None:
    """Outcomes come in the order in which the servers were passed, although the first are slowest.

    Inconclusive unless all are reported as available.
    """
    load = bench.load(ORDERED, beside=TIMED)
    _expect_available(load)

    ids = [outcome.server_id for outcome in load.loaded.answer.outcomes]
    due = [server.server_id for server in ORDERED.servers()]

    assert {"order of the outcomes": ids} == {"order of the outcomes": due}


@requirement("P1.unknown-name~once")
@on(LOADS, needs=("attempts",))
def test_an_unknown_name_is_looked_up_once(bench: LoadBench) -> None:
    """For an unresolvable name, the loader reports one attempt or none; nobody can count them.

    Not applicable if this machine cannot play such a name, inconclusive if its server is
    loaded.
    """
    load = bench.load(LOST, beside=TIMED)
    if load.unmet:
        raise NotApplicable("; ".join(load.unmet.values()))

    claimed = {CLAIMED: _claimed_of_failed(load, "oak")}

    assert claimed == {CLAIMED: NONE_OR_ONE}


@requirement("I7.ended")
@on(LOADS, needs=("stdio",))
def test_nothing_that_was_started_outlives_the_loader(bench: LoadBench) -> None:
    """Of six programs, some silent, deaf to SIGTERM or behind another, none outlives the loader.

    It has five seconds for that. Inconclusive if a program was not asked anything, or the load was
    not answered.
    """
    load = bench.load(STARTED)
    ids = [server.server_id for server in STARTED.servers()]
    if not load.is_answered or not all(map(load.servers.log, ids)):
        raise Inconclusive("the loader did not start all programs")

    assert {"still running": load.left} == {"still running": ()}


def _sure(difference: Difference) -> str:
    """Return `AT_LEAST` if pauses differ, else by how much; Inconclusive if that is not sure."""
    if difference.is_seen is None:
        raise Inconclusive(f"{difference}: too much for equal pauses, too little for other ones")
    return AT_LEAST if difference.is_seen else f"{difference.share:.1%}"


def _claimed_of_failed(load: Load, server_id: str) -> object:
    """Return the attempts that the loader reports for a server that must fail; None if none.

    0 and 1 are returned as `NONE_OR_ONE`, the allowed words. Inconclusive if the server is
    reported as available.
    """
    outcome = load.loaded.outcome(server_id)
    if outcome is not None and outcome.status == "available":
        raise Inconclusive(
            f"{server_id} was loaded, so its failure was not observed", cause="control"
        )
    attempts = outcome.attempts if outcome is not None else None
    return NONE_OR_ONE if attempts in (0, 1) and not isinstance(attempts, bool) else attempts


def _expect_available(load: Load) -> None:
    """Raise Inconclusive unless the loader reports outcomes, and every one as available."""
    lost = [
        outcome.server_id
        for outcome in load.loaded.answer.outcomes
        if outcome.status != "available"
    ]
    if lost or not load.loaded.answer.outcomes:
        raise Inconclusive(
            f"healthy servers were not loaded: {', '.join(lost) or 'there are no outcomes'}"
        )
