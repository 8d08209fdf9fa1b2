"""Comparisons of clients' isolation: sessions, streams, cursors, tasks and cached answers.

What belongs to one client may not be used by another, and an ended session not by anyone.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from mcp_proxy_conformance.fidelity import exact_json
from mcp_proxy_conformance.fidelity.bench import RelayBench
from mcp_proxy_conformance.fidelity.exact_json import ABSENT, Pairs
from mcp_proxy_conformance.fidelity.offers import TELLING, WHOSE, notification
from mcp_proxy_conformance.fidelity.relay_target import AUTHORIZATION
from mcp_proxy_conformance.fidelity.side import Side
from mcp_proxy_conformance.fidelity.way_back import MAY_ARRIVE_S, needs_messages
from mcp_proxy_conformance.targets.waits import poll
from mcp_proxy_conformance.upstream.relayed import digest
from mcp_proxy_conformance.verdict.comparison import Comparison
from mcp_proxy_conformance.verdict.result import Inconclusive, NotApplicable, applies, control
from mcp_proxy_conformance.wire.client import Client
from mcp_proxy_conformance.wire.conversation import Conversation
from mcp_proxy_conformance.wire.faults import ProtocolFault, Unreachable
from mcp_proxy_conformance.wire.http import STREAM, Http, HttpResponse
from mcp_proxy_conformance.wire.jsonrpc import dumps
from mcp_proxy_conformance.wire.response import Event
from mcp_proxy_conformance.wire.session import ACKNOWLEDGED, NOT_FOUND, SESSION_ID

UNKNOWN, REPLAY = "RLY.apart.session.unknown", "RLY.apart.session.replay"
CURSOR, FOREIGN = "RLY.apart.session.cursor", "RLY.apart.session.foreign"
CACHE, TASK = "RLY.apart.cache", "RLY.features.tasks"
NO_CLIENTS = (
    "the relay declares no credentials of clients; to have it judged, write the bearer tokens of"
    " two users into `clients` of [relay]"
)
NO_ID = "over HTTP+SSE a session is one stream, which has no id and is not resumed"
ENDS_S = 10.0
STREAMS = ("a resumed stream", "another stream")
"""Ids and progress tokens of two calls of one client, whose streams are resumed."""


def ended(bench: RelayBench) -> Comparison:
    """End a session by DELETE and use its id; the relay answers with 404.

    Raises NotApplicable unless the relay serves over streamable HTTP, gives a session and lets a
    client end it; Inconclusive if the direct way does not answer with 404.
    """
    bench.needs_tool("echo")
    own, shown = (_status_after_end(bench, side) for side in (bench.direct, bench.through))
    control(own == NOT_FOUND, "the direct way does not end a session")
    comparison = Comparison()
    comparison.one_of(
        "the status of a request in a session that is ended", shown, [NOT_FOUND], breaks=[UNKNOWN]
    )
    return comparison


def replayed(bench: RelayBench) -> Comparison:
    """Resume a stream by its event id, as its client and as another; see what comes again.

    Nothing of its client's other stream may come, and to the other client nothing at all. Raises
    NotApplicable over stdio or HTTP+SSE, if events have no ids, or if nothing is replayed.
    """
    needs_messages(bench)
    comparison = Comparison()
    client, other = (_over_http(bench, bench.through) for _ in STREAMS)
    streams = [_streamed(bench, client, name) for name in STREAMS]
    resumable = next((at for at, event in enumerate(streams[0][:-1]) if event.id), None)
    if resumable is None:
        raise NotApplicable("no event of a stream has an id by which the stream can be resumed")
    last_id = str(streams[0][resumable].id)
    own, foreign = (
        _heard(bench, each, [("Last-Event-ID", last_id.encode().decode("latin-1"))])
        for each in (client, other)
    )
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
    bench.needs_clients()
    own, shown = (_crossed(side) for side in (bench.direct, bench.through))
    control(
        not own.foreign and own.differs,
        "the direct way does not keep the lists of two clients apart",
    )
    applies(shown.pages, "no page is shown for a cursor of another client")
    applies(shown.differs, "both clients are shown the same tools")
    comparison = Comparison()
    comparison.one_of(
        "tools of another client, shown for its cursor", sorted(shown.foreign), [[]],
        breaks=[CURSOR],
    )  # fmt: skip
    return comparison


def foreign(bench: RelayBench) -> Comparison:
    """Use the session of one user with the credentials of another: by POST, GET and DELETE.

    No call may be answered or executed, no message come, and the session must go on. Raises
    NotApplicable without declared clients, over stdio, without sessions, or if the relay asks for
    no credentials; Inconclusive if it does not serve both users.
    """
    owner = _of_user(bench, 0)
    _of_user(bench, 1)
    if not isinstance(owner, Client):
        raise NotApplicable(NO_ID)
    applies(
        not bench.facts.stateless and owner.session is not None,
        "the relay gives its clients no sessions",
    )
    needs_messages(bench)
    comparison = Comparison()
    server, place = bench.through.server, "by another user, in the session of a client"
    mark = server.journal.mark()
    params = {"name": bench.through.name_of(TELLING), "arguments": {"case": "foreign"}}
    call = dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    answer = _exchanged(bench, owner, "POST", call, user=1)
    shown = "a result" if answer is not None and _has_result(answer) else "no result"
    comparison.one_of(f"the answer to a call {place}", shown, ["no result"], breaks=[FOREIGN])
    calls = len(server.journal.calls(mark))
    comparison.one_of(f"executions of a call {place}", calls, [0], breaks=[FOREIGN])
    news = notification("notifications/tools/list_changed")
    heard = _heard(
        bench, owner, (), user=1, begun=lambda: bench.relay.hub.run(server.talk.tell(news))
    )
    comparison.one_of(f"messages heard {place}", len(heard), [0], breaks=[FOREIGN])
    _exchanged(bench, owner, "DELETE", user=1)
    own = _exchanged(bench, owner, "POST", call)
    shown = "a result" if own is not None and _has_result(own) else "no result"
    comparison.one_of(
        "the answer to a call of the client, after DELETE by another user", shown, ["a result"],
        breaks=[FOREIGN],
    )  # fmt: skip
    return comparison


def cached(bench: RelayBench) -> Comparison:
    """List, call and read as two users whose credentials the upstream gets, and answers by.

    What is answered to the first may not be given to the second. Raises NotApplicable if the relay
    does not declare that it forwards credentials, or the upstream does not get them, as over stdio;
    Inconclusive if a user is not served.
    """
    if AUTHORIZATION.lower() not in map(str.lower, bench.facts.forwards):
        why = "the upstream is not shown who asks; it is if `forwards` in [relay] has authorization"
        raise NotApplicable(why, cause="not_declared")
    comparison = Comparison()
    clients = [_served(bench, bench.user(number)) for number in (0, 1)]
    needs_messages(bench)
    tag = digest(bench.user(0)[AUTHORIZATION]).decode()
    call = {"name": bench.through.name_of(TELLING), "arguments": {"case": "whose"}}
    acts: Mapping[str, Mapping[str, Any]] = {
        "tools/list": {}, "tools/call": call, "resources/read": {"uri": WHOSE},
    }  # fmt: skip
    for method, params in acts.items():
        texts = [
            json.dumps(
                exact_json.plain(bench.through.asked(method, dumps(params), client=each).value)
            )
            for each in clients
        ]
        if tag in texts[0]:
            shown = "the first user's" if tag in texts[1] else "not the first user's"
            comparison.one_of(
                f"what the second user gets of {method}", shown, ["not the first user's"],
                breaks=[CACHE],
            )  # fmt: skip
    return comparison.or_not_applicable("the upstream does not get the credentials of the clients")


def tasks(bench: RelayBench) -> Comparison:
    """Begin a task as one user, and ask for it as another; it is neither shown nor listed.

    Raises NotApplicable without declared clients, or if the relay does not relay tasks;
    Inconclusive if the direct way does not keep tasks apart.
    """
    users = [_of_user(bench, number) for number in (0, 1)]
    needs_messages(bench)
    own = _other_tasks(bench.direct, [bench.direct.client() for _ in users])
    control(own is not None and not any(own.values()), "the direct way does not keep tasks apart")
    shown = _other_tasks(bench.through, users)
    if shown is None:
        raise NotApplicable("the relay does not relay tasks")
    comparison = Comparison()
    for method, is_shown in shown.items():
        observed = "shown" if is_shown else "not shown"
        comparison.one_of(
            f"the task of another user, by {method}", observed, ["not shown"], breaks=[TASK]
        )
    return comparison


def _other_tasks(side: Side, users: Sequence[Conversation]) -> Mapping[str, bool] | None:
    """Begin a task as the first user; return by method whether it is shown to the second.

    None if it is not shown to the first.
    """
    first, second = users
    params = {"name": side.name_of(TELLING), "arguments": {}, "task": {"ttl": 60_000}}
    begun = side.asked("tools/call", dumps(params), client=first)
    own_id = exact_json.at(begun.document, ("result", "task", "taskId"))
    wanted = dumps({"taskId": own_id if isinstance(own_id, str) else ""})
    if side.asked("tasks/get", wanted, client=first).kind != "result":
        return None
    shown = {
        method: side.asked(method, wanted, client=second).kind == "result"
        for method in ("tasks/get", "tasks/result")
    }
    listed = side.asked("tasks/list", client=second)
    return {**shown, "tasks/list": str(own_id) in str(exact_json.plain(listed.value))}


def _of_user(bench: RelayBench, number: int) -> Conversation:
    """Return a client with a session and the credentials of the first (0) or second user.

    Raises NotApplicable without declared clients, over stdio, or if any credentials will do;
    Inconclusive if it is not served.
    """
    applies(bench.facts.clients, NO_CLIENTS, cause="not_declared")
    bench.needs_clients()
    try:
        bench.through.client({AUTHORIZATION: "Bearer of-nobody-known"}).open()
    except (Unreachable, ProtocolFault):
        pass
    else:
        raise NotApplicable("the relay serves a client with any credentials")
    return _served(bench, bench.user(number))


def _served(bench: RelayBench, headers: Mapping[str, str]) -> Conversation:
    """Return a client with a session and these headers.

    Raises NotApplicable over stdio, Inconclusive if it is not served.
    """
    bench.needs_clients()
    client = bench.through.client(headers)
    try:
        client.open()
    except (Unreachable, ProtocolFault) as fault:
        raise Inconclusive(f"the relay does not serve a client with a token: {fault}") from None
    return client


def _over_http(bench: RelayBench, side: Side) -> Client:
    bench.needs_clients()
    client = side.client().open()
    if not isinstance(client, Client):
        raise NotApplicable(NO_ID)
    return client


def _has_result(response: HttpResponse) -> bool:
    texts = [event.data for event in response.events] or [response.body]
    return any(b'"result"' in text for text in texts)


def _status_after_end(bench: RelayBench, side: Side) -> int:
    """Return the HTTP status of a request in a session that its client has ended; 0 for no answer.

    Raises NotApplicable if there is no session, or it cannot be ended.
    """
    client = _over_http(bench, side)
    if client.session is None:
        raise NotApplicable("the relay gives its clients no sessions")
    ending = _exchanged(bench, client, "DELETE")
    applies(
        ending is not None and ending.status in ACKNOWLEDGED,
        "the relay does not let a client end its session",
    )
    body = dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}})
    answer = _exchanged(bench, client, "POST", body)
    return 0 if answer is None else answer.status


def _exchanged(
    bench: RelayBench, client: Client, method: str, body: bytes = b"", user: int = 0
) -> HttpResponse | None:
    """Send one HTTP request in the session of a client; return the response, None without one.

    It is sent with the credentials of the first (0) or second (1) user, if the relay declares any.
    Of a stream only the first event is read; the wait ends after ten seconds.
    """
    headers = [("Accept", f"application/json, {STREAM}"), ("Content-Type", "application/json")]
    headers += [*bench.facts.client_headers(user).items()]
    headers += [("MCP-Protocol-Version", client.revision), (SESSION_ID, client.session or "")]
    http = Http(client.url, bench.relay.transcript)
    try:
        return http.exchange(method, body, headers, note="", timeout=ENDS_S, until=lambda _: True)
    except (Unreachable, ProtocolFault):
        return None
    finally:
        http.close()


def _streamed(bench: RelayBench, client: Client, name: str) -> Sequence[Event]:
    """Call the tool that makes progress; return the events of the call's stream.

    `name` is both the request's id and its progress token. Raises Inconclusive if the relay does
    not answer.
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


def _heard(
    bench: RelayBench, client: Client, more: Sequence[tuple[str, str]], user: int = 0,
    begun: Callable[[], object] = bool,
) -> set[bytes]:  # fmt: skip
    """Listen in the session of a client, with a user's credentials; return the data that comes.

    It is read for half a second at most; `more` are further headers. `begun` is called once the
    relay answers or the request has failed, and after half a second in any case.
    """
    data = set[bytes]()

    def until(event: Event) -> bool:
        data.add(event.data)
        return False

    headers = [("Accept", STREAM), ("MCP-Protocol-Version", client.revision)]
    headers += [(SESSION_ID, client.session)] if client.session else []
    headers += [*bench.facts.client_headers(user).items(), *more]
    http = Http(client.url, bench.relay.transcript)

    def listen() -> None:
        with contextlib.suppress(Unreachable, ProtocolFault), contextlib.closing(http):
            http.exchange("GET", b"", headers, note="listen", timeout=MAY_ARRIVE_S, until=until)

    with ThreadPoolExecutor(1) as crew:
        listening = crew.submit(listen)
        poll(lambda: http.is_answering or listening.done(), bool, MAY_ARRIVE_S)
        begun()
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
    """List as two clients, use the first's cursors as the second, and return what that one gets."""
    first, second = side.client(), side.client()
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
    return {f"{tool.last().get('name')}: {tool.last().get('description')}" for tool in tools}
