"""Blame for a load, corrected by requests that servers logged: later pages or ports not reached."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from http import HTTPStatus
from itertools import pairwise

import msgspec

from mcp_proxy_conformance.resilience.blame import Blame, blamed
from mcp_proxy_conformance.resilience.load_case import LATER_PAGE, LoadServer
from mcp_proxy_conformance.resilience.loads import MOST_TIMEOUT_S, Load
from mcp_proxy_conformance.resilience.unanswered import may_wait
from mcp_proxy_conformance.resilience.walk import Reads
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
        after - request.at >= LATE * server.timeout_s
        and not may_wait(server.behaviour(max(1, request.attempt)))
        for server in load.case.servers()
        if (log := load.servers.log(server.server_id))
        for request, after in zip(log, [*(later.at for later in log[1:]), load.ended], strict=True)
    )


def unseen(load: Load, server: LoadServer) -> int:
    """Return how many attempts at a server may have run out of time before it was asked.

    On a busy machine a loader may be so late. As many as timeouts fit between the load's begin and
    the requests, or between these; if the server is not available, also after them.
    """
    loaded, timeout_s = load.loaded, min(server.timeout_s * load.slower, MOST_TIMEOUT_S)
    began, outcome = loaded.ended - loaded.seconds, loaded.outcome(server.server_id)
    log = load.servers.log(server.server_id)
    asked = [request for request in log if began <= request.at <= loaded.ended]
    ends = [] if outcome is not None and outcome.status == "available" else [loaded.ended]
    moments = [began, *(request.at for request in asked), *ends]
    waits = [False, *(may_wait(server.behaviour(max(1, request.attempt))) for request in asked)]
    return sum(
        max(0, int((after - before) / timeout_s) - waited)
        for (before, after), waited in zip(pairwise(moments), waits, strict=False)
    )


def _lists(load: Load, server: LoadServer) -> Iterator[Seen]:
    """Yield the requests `tools/list` that a server got, in order."""
    for request in load.servers.log(server.server_id):
        if request.method == "tools/list":
            yield request
