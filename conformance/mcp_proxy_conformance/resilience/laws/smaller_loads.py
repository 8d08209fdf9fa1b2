"""Smaller loads that may still break a law: fewer servers first, then shorter scripts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import msgspec

from mcp_proxy_conformance.resilience.laws.worlds import case_of
from mcp_proxy_conformance.resilience.load_case import Behaviour, LoadCase, LoadServer
from mcp_proxy_conformance.resilience.walk import Reads

HEALTHY = Behaviour(do="healthy")
FEW = 3


def smaller(case: LoadCase, reads: Reads) -> Iterator[list[LoadCase]]:
    """Yield rounds of smaller loads, to be tried for a shorter example of a breach.

    Rounds have fewer servers first, then simpler scripts, then fewer attempts.
    """
    given = case.given
    for several in _fewer(given.servers):
        yield [case_of(servers, given.max_attempts, reads) for servers in several]
    yield [case_of(given.servers, most, reads) for most in range(1, given.max_attempts)]


def size(case: LoadCase) -> tuple[int, int, int]:
    """Return the sort key of a load: numbers of servers, of behaviours in scripts, of attempts."""
    servers = case.given.servers
    return len(servers), sum(len(server.script) for server in servers), case.given.max_attempts


def _fewer(servers: Sequence[LoadServer]) -> Iterator[list[Sequence[LoadServer]]]:
    """Yield, by round, the servers of smaller loads: single ones, pairs, all but one.

    In the last round none is left out, but one has a simpler script.
    """
    count = len(servers)
    if count > 1:
        yield [[server] for server in servers]
    if count >= FEW:
        yield [list(pair) for pair in combinations(servers, 2)]
    if count > FEW:
        yield [[*servers[:at], *servers[at + 1 :]] for at in range(count)]
    yield [
        [*servers[:at], msgspec.structs.replace(server, script=script), *servers[at + 1 :]]
        for at, server in enumerate(servers)
        for script in _simpler(server.script)
    ]


def _simpler(script: tuple[Behaviour, ...]) -> Iterator[tuple[Behaviour, ...]]:
    """Yield the script without one behaviour, if several, then with one made healthy."""
    if len(script) > 1:
        for at in range(len(script)):
            yield script[:at] + script[at + 1 :]
    for at, behaviour in enumerate(script):
        if behaviour != HEALTHY:
            yield (*script[:at], HEALTHY, *script[at + 1 :])
