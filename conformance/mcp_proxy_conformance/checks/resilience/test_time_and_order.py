"""When a loader tries again, what it does meanwhile, and in which order it tells."""

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
"""Pauses of one length differ by less in a measurement."""


def a_load(name: str, *servers: Server, max_attempts: int = 3) -> LoadCase:
    """A load without controls, of which nothing is expected beforehand."""
    ids = [one.server_id for one in servers]
    return LoadCase(
        id=name,
        area="time",
        title=name,
        source=(),
        clauses=(),
        given=Given(max_attempts=max_attempts, servers=servers, controls=False),
        then={one: Expected(status=("available",)) for one in ids},
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
    """It is over before a first pause would be."""
    load = bench.load(WELL)
    _expect_available(load)

    requests = [seen.at for one in WELL.servers() for seen in load.servers.log(one.server_id)]
    if not requests:
        raise Inconclusive("healthy servers are told as available, and nobody has asked them")

    assert max(requests) - min(requests) < SLOW_S


@requirement("I2.concurrent")
@on(LOADS)
def test_slow_servers_are_loaded_side_by_side(bench: LoadBench) -> None:
    """Six of them take less than half of what they take one after the other."""
    load = bench.load(SLOW)
    _expect_available(load)

    assert load.loaded.seconds < MANY * SLOW_S / 2


@requirement("I3.order~outcomes")
@on(LOADS)
def test_outcomes_come_in_the_order_of_the_servers(bench: LoadBench) -> None:
    """As they were handed over."""
    load = bench.load(ORDERED)
    _expect_available(load)

    told = [one.server_id for one in load.loaded.told.outcomes]

    assert told == [one.server_id for one in ORDERED.servers()]


@requirement("P1.unknown-name~once")
@on(LOADS, needs=("attempts",))
def test_an_unknown_name_is_looked_up_once(bench: LoadBench) -> None:
    """One attempt is claimed; none can be counted."""
    load = bench.load(LOST)
    if load.unmet:
        raise NotApplicable("; ".join(load.unmet.values()))

    assert _claimed_of_failed(load, "oak") == 1


@requirement("P2.refused~once")
@on(LOADS, needs=("attempts",))
def test_a_closed_port_is_tried_once(bench: LoadBench) -> None:
    """One attempt is claimed; none can be counted."""
    assert _claimed_of_failed(bench.load(SHUT), "oak") == 1


def _pauses(load: Load) -> dict[str, list[float]]:
    """By server, the seconds between the end of an attempt and the next; each has two or more."""
    found = {}
    for one in load.case.servers():
        begins: dict[int, float] = {}
        ends: dict[int, float] = {}
        for seen in load.servers.log(one.server_id):
            begins.setdefault(seen.attempt, seen.at)
            ends[seen.attempt] = seen.at
        own = [begins[after] - ends[before] for before, after in pairwise(sorted(begins))]
        if len(own) < 2:
            raise Inconclusive(f"{one.server_id} was not tried three times")
        found[one.server_id] = own
    return found


def _claimed_of_failed(load: Load, server_id: str) -> object:
    """The attempts that the loader claims of a server that it could not load."""
    outcome = load.loaded.outcome(server_id)
    if outcome is not None and outcome.status == "available":
        raise Inconclusive(f"{server_id} was loaded, so its fault was not met", cause="control")
    return outcome.attempts if outcome is not None else None


def _expect_available(load: Load) -> None:
    lost = [one.server_id for one in load.loaded.told.outcomes if one.status != "available"]
    if lost or not load.loaded.told.outcomes:
        raise Inconclusive(f"healthy servers were not loaded: {lost}")
