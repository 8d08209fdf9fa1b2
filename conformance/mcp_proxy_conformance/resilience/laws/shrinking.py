"""Smaller loads that still break a law: a round of candidates is loaded at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

import msgspec

from mcp_proxy_conformance.catalogue.load_case import Behaviour, LoadCase, Server
from mcp_proxy_conformance.resilience.laws.worlds import case_of
from mcp_proxy_conformance.resilience.walk import Reads

FirstBroken = Callable[[Sequence[LoadCase]], LoadCase | None]
HEALTHY = Behaviour(do="healthy")
FEW = 3


def shrunk(case: LoadCase, first_broken: FirstBroken, reads: Reads, until: float) -> LoadCase:
    """The smallest load found by then, in monotonic time; the case itself if none is smaller.

    `first_broken` loads several and gives the first that breaks the law.
    """
    found: LoadCase | None = case
    while found is not None:
        case, found = found, None
        for servers in _rounds(case.given.servers):
            if time.monotonic() > until:
                return case
            found = first_broken([case_of(one, case.given.max_attempts, reads) for one in servers])
            if found is not None:
                break
    fewer = range(1, case.given.max_attempts)
    least = first_broken([case_of(case.given.servers, most, reads) for most in fewer])
    return least or case


def size(case: LoadCase) -> tuple[int, int, int]:
    """Of two loads the one with fewer servers is smaller, then the one with shorter scripts."""
    servers = case.given.servers
    return len(servers), sum(len(one.script) for one in servers), case.given.max_attempts


def _rounds(servers: Sequence[Server]) -> Iterator[list[Sequence[Server]]]:
    """Several loads at a time, those that leave out most of the servers first."""
    count = len(servers)
    if count > 1:
        yield [[one] for one in servers]
    if count >= FEW:
        yield [list(pair) for pair in combinations(servers, 2)]
    if count > FEW:
        yield [[*servers[:at], *servers[at + 1 :]] for at in range(count)]
    yield [
        [*servers[:at], msgspec.structs.replace(one, script=script), *servers[at + 1 :]]
        for at, one in enumerate(servers)
        for script in _simpler(one.script)
    ]


def _simpler(script: tuple[Behaviour, ...]) -> Iterator[tuple[Behaviour, ...]]:
    if len(script) > 1:
        for at in range(len(script)):
            yield script[:at] + script[at + 1 :]
    for at, one in enumerate(script):
        if one != HEALTHY:
            yield (*script[:at], HEALTHY, *script[at + 1 :])
