"""Comparisons of which client hears an upstream's message: its own, once, if declared; changes.

With several clients: progress, requests, log levels, the answer beside a cancelled call. With one:
two streams, undeclared notifications, changed tools. What a message says is compared in way_back.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial

from mcp_proxy_conformance.fidelity import exact_json
from mcp_proxy_conformance.fidelity.bench import RelayBench
from mcp_proxy_conformance.fidelity.listening_client import ListeningClient
from mcp_proxy_conformance.fidelity.offers import LATE_S, TELLING, is_offered, notification
from mcp_proxy_conformance.fidelity.side import Side
from mcp_proxy_conformance.fidelity.way_back import (
    ARRIVES_S,
    CANCELLATION,
    EVERYTHING,
    FIRST,
    LISTENING,
    MESSAGE,
    PROGRESSED,
    SETTLES_S,
    UNASKED,
    answers_at,
    arrive,
    called,
    connected,
    logged,
    needs_messages,
    several_connected,
)
from mcp_proxy_conformance.targets.waits import poll
from mcp_proxy_conformance.upstream.journal import Journal
from mcp_proxy_conformance.upstream.relayed import RelayedServer
from mcp_proxy_conformance.upstream.talk import COMPLETE, LEVELS
from mcp_proxy_conformance.verdict.comparison import Comparison
from mcp_proxy_conformance.verdict.result import applies, control
from mcp_proxy_conformance.wire.jsonrpc import dumps, fresh_id, list_of, object_of, result_of

PROGRESS, OTHERS_CALL = "RLY.apart.progress", "RLY.apart.cancel.other"
ELICITS, ASKS = "RLY.apart.requests.elicit", "RLY.apart.requests.other"
ENDED = "RLY.apart.requests.elicit-complete"
DOUBLED, SETTINGS = "RLY.apart.session.broadcast", "RLY.apart.session.settings"
ARRIVES, NEXT_LIST = "RLY.tools.changed.arrives", "RLY.tools.changed.next-list"
LIST_CHANGED = "notifications/tools/list_changed"
TOKEN, REQUEST_ID, ADDED = "a token", "an id", ("added_1", "added_2")
OFFERS: Mapping[str, tuple[str, str]] = {
    LIST_CHANGED: ("tools", "listChanged"),
    "notifications/resources/list_changed": ("resources", "listChanged"),
    "notifications/prompts/list_changed": ("prompts", "listChanged"),
    MESSAGE: ("logging", ""),
}
"""The capability, and its member, that declares each notification."""
CLIENTS = 3
URLS = b'{"elicitation":{"form":{},"url":{}}}'
VISITED = {"elicitation/create": b'"result":{"action":"accept"}'}
"""Capabilities of clients that can be elicited a URL, and their answer."""
SET = ("error", "debug")
EACH_LEVEL = [[*LEVELS[LEVELS.index(least) :]] for least in SET]
"""The levels that two clients set, and those that each then gets."""
FOREIGN: Mapping[str, bytes] = {
    "elicitation/create": b'"result":{"action":"decline","_meta":{"of":"another"}}',
    "sampling/createMessage": b'"error":{"code":-1,"message":"another client"}',
    "roots/list": b'"result":{"roots":[{"uri":"file:///of/another"}]}',
}
"""How clients answer whose calls make the upstream ask for nothing."""


def progress(bench: RelayBench) -> Comparison:
    """Have three clients call under one token; one call makes progress, and only its client hears.

    Raises NotApplicable if none arrives, Inconclusive if the direct way does not show it.
    """
    needs_messages(bench)
    comparison = Comparison()
    own, shown = bench.at_once(partial(_apart, bench, method=PROGRESSED, case="progress"))
    control(
        own.of_caller and not own.of_others, "the direct way does not show whose progress it is"
    )
    applies(shown.of_caller or shown.of_others, "no progress arrives, which may be left out")
    comparison.one_of(
        "notifications of progress to clients without any", shown.of_others, [0], breaks=[PROGRESS]
    )
    return comparison


def requests(bench: RelayBench, methods: Sequence[str], *, clause: str) -> Comparison:
    """Have three clients call; a request goes to the one whose call asks, and its answer is used.

    `methods` are those of the requests, one after the other; a breach breaks `clause`. Raises
    NotApplicable if nobody is asked, Inconclusive if the direct way does not show it.
    """
    needs_messages(bench)
    comparison = Comparison()
    for method in methods:
        comparison.origin = method
        own, shown = bench.at_once(partial(_apart, bench, method=method, case=method))
        control(own.of_caller == 1 and not own.of_others, f"the direct way does not show {method}")
        if not shown.of_caller and not shown.of_others:
            continue
        comparison.one_of(
            f"{method}: clients asked whose call is another", shown.of_others, [0], breaks=[clause]
        )
        comparison.one_of(
            f"{method}: answers of other clients that are used", shown.foreign, [0], breaks=[clause]
        )
    return comparison.or_not_applicable("no client is asked for it", cause="not_declared")


def elicitations(bench: RelayBench) -> Comparison:
    """Have three clients call; an elicitation goes to the one whose call asks, its answer is used.

    Raises NotApplicable if nobody is asked, Inconclusive if the direct way does not show it.
    """
    return requests(bench, ["elicitation/create"], clause=ELICITS)


def other_requests(bench: RelayBench) -> Comparison:
    """Have three clients call; requests for sampling and roots go to the one whose call asks.

    Raises NotApplicable if nobody is asked, Inconclusive if the direct way does not show it.
    """
    return requests(bench, ["sampling/createMessage", "roots/list"], clause=ASKS)


def elicitations_of_urls(bench: RelayBench) -> Comparison:
    """Have three clients call; the upstream elicits a URL of one; only it is told of the end.

    Raises NotApplicable if nobody is told, Inconclusive if the direct way does not show it.
    """
    needs_messages(bench)
    comparison = Comparison()
    own, shown = bench.at_once(
        partial(_apart, bench, method=COMPLETE, case=COMPLETE, capabilities=URLS, given=VISITED)
    )
    control(
        own.of_caller == 1 and not own.of_others,
        "the direct way does not show the end of an elicitation of a URL",
    )
    applies(
        shown.of_caller or shown.of_others,
        "no client is told of the end of an elicitation of a URL",
    )
    comparison.one_of(
        "ends of an elicitation, told to clients that were not asked", shown.of_others, [0],
        breaks=[ENDED],
    )  # fmt: skip
    return comparison


def cancelled_beside(bench: RelayBench) -> Comparison:
    """Have three clients call under one id; one cancels, one leaves, the third gets its answer.

    Raises Inconclusive if the direct way does not show that.
    """
    needs_messages(bench)
    comparison = Comparison()
    own, shown = bench.at_once(partial(_beside, bench))
    control(own == "result", "the direct way does not answer a call beside a cancelled one")
    comparison.one_of(
        "the answer to a call, while one client cancels and one goes", shown, ["result"],
        breaks=[OTHERS_CALL],
    )  # fmt: skip
    return comparison


def doubled(bench: RelayBench) -> Comparison:
    """Open two streams of one client; have the upstream log, and tell of changed tools.

    No message may come on both. Raises NotApplicable unless the relay serves over streamable HTTP,
    or if nothing arrives.
    """
    needs_messages(bench)
    applies(
        bench.relay.target.transport == "http",
        "a client has several streams over streamable HTTP alone",
    )
    comparison = Comparison()
    server = bench.through.server
    with closing(connected(bench, bench.through)) as client:
        client.listen()
        bench.relay.hub.run(server.talk.tell(notification(LIST_CHANGED)))
        called(bench.through, client, "logs")
        arrive(client, MESSAGE, len(LEVELS))
        arrive(client, LIST_CHANGED)
        time.sleep(SETTLES_S)
        arrivals = {
            (each.method, dumps(dict(each.params)), each.stream)
            for method in (MESSAGE, LIST_CHANGED)
            for each in client.received(method)
        }
    applies(arrivals, "no notification arrives")
    counts = Counter((method, text.decode()) for method, text, _ in arrivals)
    twice = sorted(f"{method} {text}" for (method, text), count in counts.items() if count > 1)
    comparison.one_of("messages on several streams", twice[:3], [[]], breaks=[DOUBLED])
    return comparison


def settings(bench: RelayBench) -> Comparison:
    """Have two clients set a high and a low level; each gets the log messages of its own.

    Raises NotApplicable unless a client that sets no level gets every log message, Inconclusive if
    the direct way does not show that.
    """
    needs_messages(bench)
    applies(len(logged(bench, bench.through)) >= len(LEVELS), "not every log message arrives")
    comparison = Comparison()
    own, shown = bench.at_once(partial(_levels, bench))
    control(own == EACH_LEVEL, "the direct way does not keep the levels of two clients apart")
    for least, levels in zip(SET, shown, strict=True):
        comparison.one_of(
            f"levels at the client that set {least}", levels, [LEVELS[LEVELS.index(least) :]],
            breaks=[SETTINGS],
        )  # fmt: skip
    return comparison


def unpromised(bench: RelayBench) -> Comparison:
    """Have the upstream log, and tell of all changes; the client hears only what is declared to it.

    Raises NotApplicable if all of it is declared.
    """
    needs_messages(bench)
    server = bench.through.server
    with closing(connected(bench, bench.through)) as client:
        hidden = [
            method
            for method, (name, member) in OFFERS.items()
            if not is_offered(client.declared, name, member)
        ]
        applies(hidden, "every notification of the upstream is declared")
        for method in OFFERS:
            if method != MESSAGE:
                bench.relay.hub.run(server.talk.tell(notification(method)))
        called(bench.through, client, "logs")
        for method in OFFERS:
            if method not in hidden:
                arrive(client, method)
        time.sleep(SETTLES_S)
        heard = {each.method for each in client.received()}
    comparison = Comparison()
    comparison.one_of(
        "notifications that are not declared", sorted(heard.intersection(hidden)), [[]],
        breaks=[UNASKED],
    )  # fmt: skip
    return comparison


def change_told(bench: RelayBench) -> Comparison:
    """Add tools upstream; the client hears of each.

    Raises NotApplicable unless the relay declares `tools.listChanged`.
    """
    changes = [(name, is_told) for name, is_told, _ in _changes(bench)]
    comparison = Comparison(origin="" if any(is_told for _, is_told in changes) else LISTENING)
    for name, is_told in changes:
        observed = "told" if is_told else "not told"
        comparison.one_of(f"the addition of {name}", observed, ["told"], breaks=[ARRIVES])
    return comparison


def change_listed(bench: RelayBench) -> Comparison:
    """Add tools upstream; the first list after the news of each has it.

    Raises NotApplicable unless the relay declares `tools.listChanged` and the news arrives.
    """
    comparison = Comparison()
    for name, is_told, listed in _changes(bench):
        if is_told:
            observed = "listed" if bench.through.name_of(name) in listed else "not listed"
            comparison.one_of(name, observed, ["listed"], breaks=[NEXT_LIST])
    return comparison.or_not_applicable("no notification arrives, which another clause judges")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Heard:
    """Numbers of messages about one client's call, by who gets them, and of foreign answers."""

    of_caller: int
    of_others: int
    foreign: int


def _apart(
    bench: RelayBench, side: Side, *, method: str, case: str, capabilities: bytes = EVERYTHING,
    given: Mapping[str, bytes] = FIRST,
) -> _Heard:  # fmt: skip
    """Have three clients call at once, under equal ids and tokens; count who gets messages.

    The server sends messages of `method` for the second client's call only, which `case` selects.
    Each client declares the `capabilities`; `given` are the second one's answers to requests by
    method, the others answer differently. Raises Inconclusive if a call does not reach the server.
    """
    journal, own_id = side.server.journal, f"{REQUEST_ID} {fresh_id()}"
    mark = journal.mark()
    several = several_connected(bench, side, [capabilities] * CLIENTS)
    with ThreadPoolExecutor(CLIENTS) as crew, several as clients:
        for number, client in enumerate(clients):
            caller = number == 1
            client.answers |= given if caller else FOREIGN
            params = {
                "name": side.name_of(TELLING),
                "arguments": {"case": f"late {case}" if caller else "late"},
                "_meta": {"progressToken": TOKEN},
            }
            answer = crew.submit(client.request, "tools/call", params, own_id)
            if caller:
                due = answer
            _reach(journal, mark, number + 1)
        due.result()
        side.expect_argument(mark, "case", "late", f"late {case}")
        if not clients[1].received(method):
            poll(lambda: any(client.received(method) for client in clients), bool, LATE_S)
        time.sleep(SETTLES_S)
        first, second, third = (len(client.received(method)) for client in clients)
    foreign = [exact_json.read(b"{" + member + b"}") for member in FOREIGN.values()]
    used = [answer for answer in answers_at(side, mark) if answer in foreign]
    return _Heard(of_caller=second, of_others=first + third, foreign=len(used))


def _reach(journal: Journal, mark: int, number: int) -> None:
    """Wait until `number` calls came after the mark; raise Inconclusive after three seconds."""
    control(
        poll(lambda: len(journal.calls(mark)) >= number, bool, ARRIVES_S),
        "not every call reaches the upstream",
    )


def _levels(bench: RelayBench, side: Side) -> Sequence[Sequence[str]]:
    """Have two clients set their levels, and then call; return the levels of what each gets.

    A refusal of `logging/setLevel` is ignored. Each level is returned once, in order: a client may
    hear of the other's call, too.
    """
    with several_connected(bench, side, [b"{}"] * len(SET)) as clients:
        for client, least in zip(clients, SET, strict=True):
            client.request("logging/setLevel", {"level": least})
        marks = [client.mark() for client in clients]
        for client, wanted, mark in zip(clients, EACH_LEVEL, marks, strict=True):
            called(side, client, "logs")
            arrive(client, MESSAGE, len(wanted), mark=mark)
        heard = [
            {str(each.params.get("level")) for each in client.received(MESSAGE, mark)}
            for client, mark in zip(clients, marks, strict=True)
        ]
        return [[level for level in LEVELS if level in levels] for levels in heard]


def _beside(bench: RelayBench, side: Side) -> str:
    """Call as three clients under one id; one cancels, one leaves; return what the third gets.

    That is "result" or "no result". The one that cancels has called last, so that its request is
    the latest of that id.
    """
    journal, own_id = side.server.journal, f"{REQUEST_ID} {fresh_id()}"
    mark = journal.mark()
    params = {"name": side.name_of(TELLING), "arguments": {"case": "late"}}
    several = several_connected(bench, side, [b"{}"] * CLIENTS)
    with ThreadPoolExecutor(CLIENTS) as crew, several as clients:
        stays, goes, cancels = clients
        answer = crew.submit(stays.request, "tools/call", params, own_id)
        for number, client in ((2, goes), (3, cancels)):
            crew.submit(client.request, "tools/call", params, own_id)
            _reach(journal, mark, number)
        cancels.notify(CANCELLATION, {"requestId": own_id})
        goes.end()
        shown = answer.result()
    return "result" if "result" in shown else "no result"


@contextmanager
def _adding(server: RelayedServer) -> Iterator[Callable[[str], None]]:
    """Yield a function that adds a tool of a given name to the first page of a server.

    At the end the page is as before.
    """
    before = server.pages[None]

    def add(name: str) -> None:
        """Add a tool of that name at the end of the page, without telling anybody."""
        page = server.pages[None]
        entry = dumps({"name": name, "inputSchema": {"type": "object"}})
        server.pages[None] = replace(page, entries=(*page.entries, entry))

    try:
        yield add
    finally:
        server.pages[None] = before


def _changes(bench: RelayBench) -> Iterator[tuple[str, bool, Sequence[str]]]:
    """Add two tools upstream in turn; yield (name, if the client is told of it, names listed then).

    The upstream sends a notification of each. The tools are listed once that has arrived at the
    client, or after three seconds. Raises NotApplicable unless the relay declares
    `tools.listChanged`.
    """
    needs_messages(bench)
    server = bench.through.server
    with closing(connected(bench, bench.through)) as client, _adding(server) as add:
        applies(
            is_offered(client.declared, "tools", "listChanged"),
            "tools.listChanged is not declared",
            cause="not_declared",
        )
        _listed(client)
        for name in ADDED:
            mark = client.mark()
            add(name)
            bench.relay.hub.run(server.talk.tell(notification(LIST_CHANGED)))
            arrive(client, LIST_CHANGED, mark=mark, within_s=ARRIVES_S)
            yield name, bool(client.received(LIST_CHANGED, mark)), _listed(client)


def _listed(client: ListeningClient) -> Sequence[str]:
    names: list[str] = []
    params: dict[str, str] = {}
    for _ in range(20):
        result = result_of(client.request("tools/list", params))
        tools = result.get("tools")
        names += [str(object_of(each).get("name")) for each in list_of(tools)]
        if not isinstance(cursor := result.get("nextCursor"), str):
            break
        params = {"cursor": cursor}
    return names
