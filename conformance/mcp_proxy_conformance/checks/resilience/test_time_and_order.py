"""Retry pauses of a loader, its concurrency, and the order of its outcomes."""

from __future__ import annotations

from itertools import pairwise

from mcp_proxy_conformance.catalogue.load_case import (
    Behaviour,
    Expected,
    Given,
    LoadCase,
    Server,
)
from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on
from mcp_proxy_conformance.resilience.loads import Load
from mcp_proxy_conformance.run.subjects.loader import LOADS, LoadBench
from mcp_proxy_conformance.verdict.result import Inconclusive, NotApplicable

FAILING = Behaviour(do="status", on="any", code=503)
SLOW_S, MANY = 0.4, 6
LEAST_S = 0.001
"""Seconds; pauses of equal length differ by less in a measurement."""


def a_load(name: str, *servers: Server, max_attempts: int = 3) -> LoadCase:
    """A load without controls and without expectations of its own."""
    ids = [server.server_id for server in servers]
    return LoadCase(
        id=name,
        area="time",
        title=name,
        source=(),
        clauses=(),
        given=Given(max_attempts=max_attempts, servers=servers, controls=False),
        then={server_id: Expected(status=("available",)) for server_id in ids},
    )


def a_server(name: str, *script: Behaviour) -> Server:
    """A server with one tool."""
    return Server(server_id=name, tools=(f"{name}_tool",), script=script or (HEALTHY,))


HEALTHY = Behaviour(do="healthy")
RETRIED = a_load(
    "retried", *(a_server(name, FAILING) for name in ("oak", "elm", "ash")), max_attempts=4
)
WELL = a_load("well", a_server("oak"), a_server("elm"))
SLOW = a_load(
    "slow", *(a_server(f"tree{n}", Behaviour(do="slow", seconds=SLOW_S)) for n in range(MANY))
)
ORDERED = a_load("ordered", *(a_server(name) for name in ("yew", "oak", "fir", "ash", "elm")))
LOST = a_load("lost", a_server("oak", Behaviour(do="unresolvable")), a_server("elm"))
SHUT = a_load("shut", a_server("oak", Behaviour(do="refused")), a_server("elm"))


@requirement("R5.grows")
@on(LOADS, needs=("retries",))
def test_pauses_grow_from_attempt_to_attempt(bench: LoadBench) -> None:
    """The last pause before a further attempt is longer than the first."""
    pauses = _pauses(bench.load(RETRIED))

    grown = {name: own[-1] > own[0] for name, own in pauses.items()}

    assert grown == dict.fromkeys(grown, True)


@requirement("R6.jitter")
@on(LOADS, needs=("retries",))
def test_pauses_of_several_servers_differ(bench: LoadBench) -> None:
    """Servers that fail at the same time are not tried again at the same time."""
    firsts = [own[0] for own in _pauses(bench.load(RETRIED)).values()]

    spread = max(firsts) - min(firsts)

    assert spread > LEAST_S


@requirement("R1.once~delay")
@on(LOADS)
def test_a_load_of_healthy_servers_waits_for_nothing(bench: LoadBench) -> None:
    """A load of healthy servers ends before a first pause would."""
    load = bench.load(WELL)
    _expect_available(load)

    requests = [
        request.at for server in WELL.servers() for request in load.servers.log(server.server_id)
    ]
    if not requests:
        raise Inconclusive("healthy servers are told as available, and nobody has asked them")

    assert max(requests) - min(requests) < SLOW_S


@requirement("I2.concurrent")
@on(LOADS)
def test_slow_servers_are_loaded_side_by_side(bench: LoadBench) -> None:
    """Six slow servers take less than half of what they take one after the other."""
    load = bench.load(SLOW)
    _expect_available(load)

    assert load.loaded.seconds < MANY * SLOW_S / 2


@requirement("I3.order~outcomes")
@on(LOADS)
def test_outcomes_come_in_the_order_of_the_servers(bench: LoadBench) -> None:
    """Outcomes come in the order in which the servers were handed over."""
    load = bench.load(ORDERED)
    _expect_available(load)

    ids = [outcome.server_id for outcome in load.loaded.told.outcomes]

    assert ids == [server.server_id for server in ORDERED.servers()]


@requirement("P1.unknown-name~once")
@on(LOADS, needs=("attempts",))
def test_an_unknown_name_is_looked_up_once(bench: LoadBench) -> None:
    """The loader claims one attempt; the suite cannot count any."""
    load = bench.load(LOST)
    if load.unmet:
        raise NotApplicable("; ".join(load.unmet.values()))

    assert _claimed_of_failed(load, "oak") == 1


@requirement("P2.refused~once")
@on(LOADS, needs=("attempts",))
def test_a_closed_port_is_tried_once(bench: LoadBench) -> None:
    """The loader claims one attempt; the suite cannot count any."""
    assert _claimed_of_failed(bench.load(SHUT), "oak") == 1


def _pauses(load: Load) -> dict[str, list[float]]:
    """By server, the seconds between the end of an attempt and the next; each has two or more."""
    pauses = {}
    for server in load.case.servers():
        begins: dict[int, float] = {}
        ends: dict[int, float] = {}
        for request in load.servers.log(server.server_id):
            begins.setdefault(request.attempt, request.at)
            ends[request.attempt] = request.at
        own = [begins[after] - ends[before] for before, after in pairwise(sorted(begins))]
        if len(own) < 2:
            raise Inconclusive(f"{server.server_id} was not tried three times")
        pauses[server.server_id] = own
    return pauses


def _claimed_of_failed(load: Load, server_id: str) -> object:
    """The attempts that the loader claims of a server that it could not load."""
    outcome = load.loaded.outcome(server_id)
    if outcome is not None and outcome.status == "available":
        raise Inconclusive(f"{server_id} was loaded, so its fault was not met", cause="control")
    return outcome.attempts if outcome is not None else None


def _expect_available(load: Load) -> None:
    lost = [
        outcome.server_id for outcome in load.loaded.told.outcomes if outcome.status != "available"
    ]
    if lost or not load.loaded.told.outcomes:
        raise Inconclusive(f"healthy servers were not loaded: {lost}")
