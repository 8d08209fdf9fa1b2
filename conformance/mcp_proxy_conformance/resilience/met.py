"""Blame for a load, corrected by requests that servers logged: later pages or ports not reached."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from http import HTTPStatus
from itertools import pairwise

import msgspec

from mcp_proxy_conformance.resilience.blame import Blame, blamed
from mcp_proxy_conformance.resilience.load_case import LATER_PAGE, Behaviour, LoadServer
from mcp_proxy_conformance.resilience.loads import MOST_TIMEOUT_S, Load
from mcp_proxy_conformance.resilience.unanswered import may_wait
from mcp_proxy_conformance.resilience.walk import TRANSIENT, Reads, signal_of
from mcp_proxy_conformance.targets.line_program import cut
from mcp_proxy_conformance.upstream.faults import Seen
from mcp_proxy_conformance.verdict.result import Finding

WELL = ("healthy", "stream", "set_cookie", "session", "slow", "guarded")
"""Words of behaviours that give the right answer."""
PAGED = "O3.later-page"
AGREED = "notifications/initialized"
MOST = 8
"""Requests that are told of a failure."""
LATE = 0.3
"""The share of its timeout in which a loader has the answer of a server unless one is busy."""


def is_unasked(load: Load, server: LoadServer) -> bool:
    """Whether the loader did not ask for what its server is about.

    That is a later page that fails; or anything at all in the server's older revision, to which
    only the notification of a handshake agrees.
    """
    log = load.servers.log(server.server_id)
    if server.dialect.only and not any(request.method == AGREED for request in log):
        return True
    scripted = any(behaviour.on == LATER_PAGE for behaviour in server.script)
    return scripted and not any(request.paged for request in _lists(load, server))


def unasked(load: Load) -> str:
    """Return the id of the first server that fails on a later page, if none was asked for one.

    "" otherwise, also if the case does not cite O3.later-page or the load was not answered.
    """
    if not load.is_answered:
        return ""
    servers = [
        server
        for server in load.case.given.servers
        if any(behaviour.on == LATER_PAGE for behaviour in server.script)
    ]
    none = PAGED in load.case.clauses and all(is_unasked(load, server) for server in servers)
    return servers[0].server_id if none and servers else ""


def blames_of(load: Load, server: LoadServer, status: object, reads: Reads) -> tuple[Blame, ...]:
    """Return what is wrong with how the load of a server ended, by what the loader met there.

    Empty if nothing is. A server whose first page was loaded does not break X.failed; a later page
    that was not asked for is not a failure; a further contact at a port that refused at first
    breaks P2.once.
    """
    if is_unasked(load, server):
        return ()
    attempts = load.attempts.get(server.server_id)
    if attempts and server.script[0].do == "refused_at_first":
        return (Blame("attempts", ("P2.once",)),)
    blames = blamed(server, load.case.given.max_attempts, status, attempts, reads)
    listed = any(
        not request.paged and request.played in WELL and request.status == HTTPStatus.OK
        for request in _lists(load, server)
    )
    return tuple(blame for blame in blames if not (listed and blame.clauses == ("X.failed",)))


def happened(load: Load, findings: Iterable[Finding]) -> Iterator[str]:
    """Yield what a loader told of the first server that findings are about, and what it asked."""
    names = [matter.name for finding in findings for matter in finding.about]
    for name in names[:1]:
        own = load.loaded.outcome(name)
        told = "nothing" if own is None else cut(msgspec.json.encode(own).decode())
        log = load.servers.log(name)
        more = f"; and {len(log) - MOST} more" if len(log) > MOST else ""
        yield f"the loader told {told}"
        yield f"the server saw {'; '.join(map(str, log[:MOST])) or 'nothing'}{more}"


def ran_out(load: Load) -> bool:
    """Whether the loader seems to have given up waiting at a server that answers in time.

    A busy machine makes it do so. It is seen by a part of a timeout without a request, after one
    to which the right answer, or a failure, comes at once.
    """
    return any(
        seconds >= LATE * server.timeout_s and not waits
        for server in load.case.servers()
        if (log := load.servers.log(server.server_id))
        for seconds, waits in _gaps(server, log, log[0].at, load.ended)
    )


def unseen(load: Load, server: LoadServer) -> int:
    """Return how many attempts at a server may have run out of time before it was asked.

    A loader of many servers may be so late. As many as timeouts fit between the load's begin and
    the requests, or between these; also after them if what it met last may be tried again.
    """
    loaded, timeout_s = load.loaded, min(server.timeout_s * load.slower, MOST_TIMEOUT_S)
    began, ended = loaded.ended - loaded.seconds, loaded.ended
    log = [each for each in load.servers.log(server.server_id) if began <= each.at <= ended]
    if log and not signal_of(_answer(server, log[-1]), server.timeout_s).classes & TRANSIENT:
        ended = log[-1].at
    gaps = _gaps(server, log, began, ended)
    return sum(max(0, int(seconds / timeout_s) - waits) for seconds, waits in gaps)


def _gaps(
    server: LoadServer, log: Sequence[Seen], since: float, until: float
) -> Iterator[tuple[float, bool]]:
    """Yield the seconds from one moment to the next: `since`, each request, and `until`.

    With them, whether a loader may have to wait so long for the answer to the request before.
    """
    moments = pairwise([since, *(request.at for request in log), until])
    waits = [False, *(may_wait(_answer(server, request)) for request in log)]
    for (before, after), may in zip(moments, waits, strict=True):
        yield after - before, may


def _answer(server: LoadServer, request: Seen) -> Behaviour:
    return server.behaviour(max(1, request.attempt))


def _lists(load: Load, server: LoadServer) -> Iterator[Seen]:
    """Yield the requests `tools/list` that a server got, in order."""
    for request in load.servers.log(server.server_id):
        if request.method == "tools/list":
            yield request
