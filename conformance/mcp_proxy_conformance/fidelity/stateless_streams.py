"""Comparisons of streams of MCP 2026-07-28 clients: subscriptions, logs, requests, cancellation."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any

from mcp_proxy_conformance.fidelity.bench import RelayBench
from mcp_proxy_conformance.fidelity.crossings import ARRIVES, LIST_CHANGED
from mcp_proxy_conformance.fidelity.offers import (
    LATE_S,
    LATER,
    NOTE,
    PROGRESS,
    TELLING,
    log,
    notification,
    progress,
)
from mcp_proxy_conformance.fidelity.side import Side
from mcp_proxy_conformance.fidelity.stateless_client import Exchange, StatelessClient, meta
from mcp_proxy_conformance.fidelity.stateless_refusals import both, not_served
from mcp_proxy_conformance.fidelity.way_back import (
    ARRIVES_S,
    MESSAGE,
    RESOURCE_UPDATED,
    answers_at,
    called,
    connected,
)
from mcp_proxy_conformance.targets.waits import poll
from mcp_proxy_conformance.upstream.relayed import Answer
from mcp_proxy_conformance.upstream.talk import LEVELS
from mcp_proxy_conformance.verdict.comparison import Comparison
from mcp_proxy_conformance.verdict.result import applies, control
from mcp_proxy_conformance.wire.jsonrpc import object_of

CHANGED, OVER_FORWARD = "RLY.era.tools.changed", "RLY.back.over-forward"
LOGS, SILENCE = "RLY.back.log.unasked", "RLY.back.cancel.silence"
REQUESTS = "RLY.era.elicit.no-requests"
LISTEN, ACKNOWLEDGED = "subscriptions/listen", "notifications/subscriptions/acknowledged"
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
PROMPTS_CHANGED = "notifications/prompts/list_changed"
RESOURCES_CHANGED = "notifications/resources/list_changed"
FILTERS: Mapping[str, Mapping[str, Any]] = {
    LIST_CHANGED: {"toolsListChanged": True},
    PROMPTS_CHANGED: {"promptsListChanged": True},
    RESOURCE_UPDATED: {"resourceSubscriptions": [NOTE]},
}
"""The filters of three subscriptions, by the only notification that each lets through."""
TOLD: Sequence[bytes] = (
    notification(LIST_CHANGED),
    notification(RESOURCES_CHANGED),
    notification(RESOURCE_UPDATED, {"uri": LATER}),
    log("emergency"),
    notification(PROMPTS_CHANGED),
    notification(RESOURCE_UPDATED, {"uri": NOTE}),
    notification(LIST_CHANGED),
)
"""What the upstream tells, at the end for each filter something that it lets through."""
LEAST = "error"
QUESTIONS = ("ping", "all questions")
UNDER_WAY = Answer(
    result=b'{"content":[{"type":"text","text":"done"}]}', before=tuple(map(progress, PROGRESS)),
    together=2, delay_s=LATE_S,
)  # fmt: skip
"""The answer to two calls, one of which is cancelled before the other begins: both go on then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """A message on the stream of a subscription: what it is about, and whether it has its id."""

    method: str
    uri: str
    is_own: bool


def news(bench: RelayBench) -> Comparison:
    """Listen with three filters while the upstream tells of everything.

    Each stream brings what its filter lets through, under its own id, and nothing else. Raises
    NotApplicable if no filter is agreed to, Inconclusive if the direct way does not show it.
    """
    comparison = Comparison()
    with both(bench) as (own, shown):
        direct = _listened(bench, bench.relay.modern, own)
        for method, heard in direct.items():
            control(
                heard and {each.method for each in heard} == {method},
                f"the direct way does not show {method}",
            )
        for method, heard in _listened(bench, bench.through, shown).items():
            _compare_news(comparison, method, heard)
    return comparison.or_not_applicable("the relay agrees to no notification", cause="not_declared")


def logs(bench: RelayBench) -> Comparison:
    """Call with and without a level while the upstream logs on every level.

    Without one no log message arrives, else none below it. Raises NotApplicable if none arrives at
    all, Inconclusive if the direct way does not show that.
    """
    comparison = Comparison()
    allowed = {"none": [], LEAST: [*LEVELS[LEVELS.index(LEAST) :]]}
    with both(bench) as (own, shown):
        direct, through = (
            {level: _logged(client, side, level) for level in allowed}
            for client, side in ((own, bench.relay.modern), (shown, bench.through))
        )
    control(direct == allowed, "the direct way does not show what a level asks for")
    applies(any(through.values()), "no log message arrives, which may be left out")
    for level, arrived in through.items():
        extra = sorted({*arrived} - {*allowed[level]})
        comparison.one_of(
            f"log messages that were not asked for, of a call with the level {level}", extra, [[]],
            breaks=[LOGS],
        )  # fmt: skip
    return comparison


def no_requests(bench: RelayBench) -> Comparison:
    """Have the upstream send requests within calls of a client; none may arrive at the client.

    The calls may fail. Raises NotApplicable if the upstream is of 2026-07-28; Inconclusive if the
    direct way does not show its requests, or a call without any gets no result.
    """
    applies(bench.upstream_era != "stateless", "an upstream of 2026-07-28 sends no requests")
    bench.needs_stateless()
    comparison = Comparison()
    mark = bench.direct.server.journal.mark()
    with closing(connected(bench, bench.direct)) as client:
        called(bench.direct, client, QUESTIONS[0])
    control(
        answers_at(bench.direct, mark), "the direct way does not show a request of the upstream"
    )
    stated = meta(clientCapabilities={"elicitation": {}, "sampling": {}, "roots": {}})
    with closing(bench.relay.stateless(bench.through)) as client:
        if "result" not in _telling(client, bench.through, "done", stated).done().answer:
            raise not_served("a call in which the upstream asks for nothing has no result")
        for case in QUESTIONS:
            exchange = _telling(client, bench.through, case, stated).done()
            asked = sorted(
                {each.method for each in exchange.received() if "id" in each.message} - {""}
            )
            comparison.one_of(
                f"requests that arrive in a call ({case})", asked, [[]], breaks=[REQUESTS]
            )
    return comparison


def silence(bench: RelayBench) -> Comparison:
    """Cancel a call beside a subscription, then make another call; the upstream works on both.

    Nothing of the cancelled call may arrive on the streams of the subscription and the other call.
    Raises Inconclusive if the call does not reach the upstream, or the other one has no result.
    """
    bench.needs_stateless()
    comparison = Comparison()
    server = bench.through.server
    server.answers["under way"] = UNDER_WAY
    with closing(bench.relay.stateless(bench.through)) as client:
        listening = client.begin(LISTEN, {"notifications": FILTERS[LIST_CHANGED]}, whole=True)
        listening.arrives(ACKNOWLEDGED, ARRIVES_S)
        mark = server.journal.mark()
        token = "cancelled"  # noqa: S105 - a progress token
        exchange = _telling(client, bench.through, "under way", meta(progressToken=token))
        if not poll(lambda: server.journal.calls(mark), bool, ARRIVES_S):
            raise not_served("the call does not reach the upstream")
        exchange.cut()
        other = _telling(client, bench.through, "under way", meta(progressToken="other")).done()
        if "result" not in other.answer:
            raise not_served("a call beside the cancelled one has no result")
        bench.relay.hub.run(server.talk.tell(notification(LIST_CHANGED)))
        listening.arrives(LIST_CHANGED, ARRIVES_S if listening.received(ACKNOWLEDGED) else 0)
        about = [
            dict(each.message)
            for each in (*listening.received(), *other.received())
            if each.params.get("progressToken") == token or each.message.get("id") == exchange.id
        ]
        comparison.one_of(
            "messages about the cancelled call on other streams", about, [[]], breaks=[SILENCE]
        )
    return comparison


def _listened(
    bench: RelayBench, side: Side, client: StatelessClient
) -> Mapping[str, Sequence[Heard]]:
    """Open a subscription per filter, have the server send TOLD; return what each stream brings.

    The keys are the methods that the filters let through. Filters that the server does not agree
    to are left out. Messages are waited for three seconds at most.
    """
    streams = {
        method: client.begin(LISTEN, {"notifications": wanted}, whole=True)
        for method, wanted in FILTERS.items()
    }
    agreed = {
        method: stream
        for method, stream in streams.items()
        if stream.arrives(ACKNOWLEDGED, ARRIVES_S) and _agrees(stream, FILTERS[method])
    }
    if not agreed:
        return {}
    talk = side.server.talk
    poll(lambda: talk.listening, bool, ARRIVES_S)
    for text in TOLD:
        bench.relay.hub.run(talk.tell(text))
    deadline = time.monotonic() + ARRIVES_S
    for method, stream in agreed.items():
        wanted = 2 if method == LIST_CHANGED else 1
        left = max(0.0, deadline - time.monotonic())
        poll(partial(_number, stream, method), wanted.__le__, left)
    return {method: _heard(stream) for method, stream in agreed.items()}


def _number(stream: Exchange, method: str) -> int:
    return len(stream.received(method))


def _agrees(stream: Exchange, wanted: Mapping[str, Any]) -> bool:
    agreed = object_of(stream.received(ACKNOWLEDGED)[0].params.get("notifications"))
    return all(agreed.get(name) for name in wanted)


def _heard(stream: Exchange) -> Sequence[Heard]:
    """Return what a subscription brought, the acknowledgement left out if it came first."""
    came = [
        Heard(
            method=each.method or "an answer",
            uri=str(each.params.get("uri", "")),
            is_own=object_of(each.params.get("_meta")).get(SUBSCRIPTION) == stream.id,
        )
        for each in stream.received()
    ]
    return came[1:] if came[0].method == ACKNOWLEDGED and came[0].is_own else came


def _compare_news(comparison: Comparison, method: str, heard: Sequence[Heard]) -> None:
    """Compare what a stream brought with what its filter, named by `method`, lets through.

    Findings are other messages, messages of `method` without the subscription's id and, of the
    notification of changed tools only, that none came.
    """
    allowed = {(LIST_CHANGED, ""), (PROMPTS_CHANGED, ""), (RESOURCE_UPDATED, NOTE)}
    wanted = {each for each in allowed if each[0] == method}
    extra = sorted({(each.method, each.uri) for each in heard} - wanted)
    news = [each for each in extra if each[0] == LIST_CHANGED]
    others = [each for each in extra if each[0] != LIST_CHANGED]
    for found, clause in ((news, CHANGED), (others, OVER_FORWARD)):
        comparison.one_of(
            f"what arrives on the stream for {method} beside it",
            [f"{name} {uri}".strip() for name, uri in found], [[]],
            breaks=[clause], shows=[clause] if heard else [],
        )  # fmt: skip
    clause = CHANGED if method == LIST_CHANGED else OVER_FORWARD
    strange = sum(not each.is_own for each in heard if each.method == method)
    comparison.one_of(
        f"messages on the stream for {method} without its id", strange, [0],
        breaks=[clause], shows=[clause] if any(each.method == method for each in heard) else [],
    )  # fmt: skip
    if method == LIST_CHANGED:
        arrived = any(each.method == LIST_CHANGED for each in heard)
        comparison.one_of(
            "a change of the tools, on the stream that was promised it",
            "told" if arrived else "not told", ["told"], breaks=[ARRIVES],
        )  # fmt: skip


def _logged(client: StatelessClient, side: Side, level: str) -> Sequence[str]:
    """Call while the upstream logs; return the levels of the log messages that arrive.

    `level` is the one that the call names, `none` for none.
    """
    stated = meta() if level == "none" else meta(logLevel=level)
    exchange = _telling(client, side, "logs", stated).done()
    return [str(each.params.get("level")) for each in exchange.received(MESSAGE)]


def _telling(client: StatelessClient, side: Side, case: str, stated: Mapping[str, Any]) -> Exchange:
    """Begin a call of the tool that sends messages before its answer; return at once.

    `case` selects messages and answer at the server; `stated` is the request's `_meta`.
    """
    params = {"name": side.name_of(TELLING), "arguments": {"case": case}}
    return client.begin("tools/call", params, own_meta=stated)
