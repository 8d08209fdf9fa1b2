"""Comparisons of sessions: ended ones, resumed streams, cursors of other clients."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from mcp_proxy_conformance.fidelity import exact_json
from mcp_proxy_conformance.fidelity.bench import RelayBench
from mcp_proxy_conformance.fidelity.clients_apart import http_client
from mcp_proxy_conformance.fidelity.exact_json import ABSENT, Pairs
from mcp_proxy_conformance.fidelity.offers import TELLING
from mcp_proxy_conformance.fidelity.side import Side
from mcp_proxy_conformance.fidelity.way_back import MAY_ARRIVE_S, needs_messages
from mcp_proxy_conformance.verdict.comparison import Comparison
from mcp_proxy_conformance.verdict.result import Inconclusive, NotApplicable
from mcp_proxy_conformance.wire.client import Client
from mcp_proxy_conformance.wire.faults import ProtocolFault, Unreachable
from mcp_proxy_conformance.wire.http import Http, HttpResponse
from mcp_proxy_conformance.wire.jsonrpc import dumps
from mcp_proxy_conformance.wire.response import Event
from mcp_proxy_conformance.wire.session import ACKNOWLEDGED, NOT_FOUND, SESSION_ID, STREAM

UNKNOWN, REPLAY = "RLY.apart.session.unknown", "RLY.apart.session.replay"
CURSOR = "RLY.apart.session.cursor"
ENDS_S = 10.0
STREAMS = ("a resumed stream", "another stream")
"""Ids and progress tokens of two calls of one client, whose streams are resumed."""


def ended(bench: RelayBench) -> Comparison:
    """End a session by DELETE and use its id; the relay answers with 404.

    Raises NotApplicable if the relay gives no session, or does not let a client end it;
    Inconclusive if the direct way does not answer with 404.
    """
    own, shown = (_status_after_end(bench, side) for side in (bench.direct, bench.through))
    if own != NOT_FOUND:
        raise Inconclusive("the direct way does not end a session")
    comparison = Comparison()
    comparison.one_of(
        "the status of a request in a session that is ended", shown, [NOT_FOUND], breaks=[UNKNOWN]
    )
    return comparison


def replayed(bench: RelayBench) -> Comparison:
    """Resume a stream by its event id, as its client and as another; see what comes again.

    Of its client's other stream nothing may come, and to the other client nothing at all. Raises
    NotApplicable over stdio, if events have no ids, or if nothing is replayed.
    """
    needs_messages(bench)
    comparison = Comparison()
    client, other = http_client(bench.through), http_client(bench.through)
    streams = [_streamed(bench, client, name) for name in STREAMS]
    resumable = next((at for at, event in enumerate(streams[0][:-1]) if event.id), None)
    if resumable is None:
        raise NotApplicable("no event of a stream has an id by which the stream can be resumed")
    last_id = str(streams[0][resumable].id)
    own, foreign = (_resumed(bench, each, last_id) for each in (client, other))
    first, second = ({event.data for event in stream} for stream in streams)
    if not (own & (first | second) or foreign & (first | second)):
        raise NotApplicable("nothing is replayed when a stream is resumed")
    for place, again in (
        ("messages of another stream of its client, on a resumed stream", own & second),
        ("messages of one client, on a stream that another resumes", foreign & (first | second)),
    ):
        texts = sorted(text.decode(errors="replace") for text in again)
        comparison.one_of(place, texts[:3], [[]], breaks=[REPLAY])
    return comparison


def cursors(bench: RelayBench) -> Comparison:
    """Use the cursors of one client as another, and compare the tools with those of its own list.

    Raises NotApplicable over stdio, without cursors, or if both clients are shown the same tools;
    Inconclusive if the direct way does not show different ones.
    """
    bench.listing()
    own, shown = (_crossed(side) for side in (bench.direct, bench.through))
    if own.foreign or not own.differs:
        raise Inconclusive("the direct way does not keep the lists of two clients apart")
    if not shown.pages:
        raise NotApplicable("no page is shown for a cursor of another client")
    if not shown.differs:
        raise NotApplicable("both clients are shown the same tools")
    comparison = Comparison()
    comparison.one_of(
        "tools of another client, shown for its cursor", sorted(shown.foreign), [[]],
        breaks=[CURSOR],
    )  # fmt: skip
    return comparison


def _status_after_end(bench: RelayBench, side: Side) -> int:
    """Return the HTTP status of a request in a session that its client has ended.

    Raises NotApplicable if there is no session, or it cannot be ended.
    """
    client = http_client(side)
    if client.session is None:
        raise NotApplicable("the relay gives its clients no sessions")
    ending = _exchanged(bench, client, "DELETE")
    if ending is None or ending.status not in ACKNOWLEDGED:
        raise NotApplicable("the relay does not let a client end its session")
    body = dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}})
    answer = _exchanged(bench, client, "POST", body)
    return 0 if answer is None else answer.status


def _exchanged(
    bench: RelayBench, client: Client, method: str, body: bytes = b""
) -> HttpResponse | None:
    """Send one HTTP request in the session of a client; return the response, None without one."""
    headers = [("Accept", f"application/json, {STREAM}"), ("Content-Type", "application/json")]
    headers += [("MCP-Protocol-Version", client.revision), (SESSION_ID, client.session or "")]
    http = Http(client.url, bench.relay.transcript)
    try:
        return http.exchange(method, body, headers, note="", timeout=ENDS_S, until=lambda _: True)
    except (Unreachable, ProtocolFault):
        return None
    finally:
        http.close()


def _streamed(bench: RelayBench, client: Client, name: str) -> Sequence[Event]:
    """Call the tool that makes progress, under this id and token; return the events of its stream.

    Raises Inconclusive if the relay does not answer.
    """
    params = {
        "name": bench.through.name_of(TELLING),
        "arguments": {"case": "progress"},
        "_meta": {"progressToken": name},
    }
    body = dumps({"jsonrpc": "2.0", "id": name, "method": "tools/call", "params": params})
    try:
        return client.post(body).events
    except (Unreachable, ProtocolFault) as fault:
        raise Inconclusive(f"a call is not answered: {fault}") from None


def _resumed(bench: RelayBench, client: Client, last_id: str) -> set[bytes]:
    """Resume a stream after an event, in the session of a client; return the data that comes.

    It is read for half a second at most.
    """
    data = set[bytes]()

    def until(event: Event) -> bool:
        """Keep an event, and return False: none is the last."""
        data.add(event.data)
        return False

    headers = [("Accept", STREAM), ("MCP-Protocol-Version", client.revision)]
    headers += [(SESSION_ID, client.session)] if client.session else []
    headers += [("Last-Event-ID", last_id.encode().decode("latin-1"))]
    http = Http(client.url, bench.relay.transcript)
    with contextlib.suppress(Unreachable, ProtocolFault), contextlib.closing(http):
        http.exchange("GET", b"", headers, note="resume", timeout=MAY_ARRIVE_S, until=until)
    return data


@dataclass(frozen=True, slots=True, kw_only=True)
class _Crossed:
    """Tools that a client is shown for another's cursors: the pages, and those not in its list.

    `differs` says whether the lists of both clients do.
    """

    pages: int
    foreign: Collection[str]
    differs: bool


def _crossed(side: Side) -> _Crossed:
    """List as two clients, and use the cursors of the first as the second."""
    first, second = http_client(side), http_client(side)
    lists = [side.list_anew(client) for client in (first, second)]
    own, pages, foreign = _described(lists[1].tools), 0, set[str]()
    for cursor in lists[0].cursors:
        outcome = side.asked("tools/list", dumps({"cursor": cursor}), client=second)
        tools = exact_json.at(outcome.value, ("tools",)) if outcome.kind == "result" else ABSENT
        if isinstance(tools, list):
            pages += 1
            foreign |= _described([tool for tool in tools if isinstance(tool, Pairs)]) - own
    return _Crossed(pages=pages, foreign=foreign, differs=_described(lists[0].tools) != own)


def _described(tools: Sequence[Pairs]) -> set[str]:
    """Return the names and descriptions of tools."""
    return {f"{tool.last().get('name')}: {tool.last().get('description')}" for tool in tools}
