"""Comparisons of upstream messages to a client: progress, logs, requests, updates; cancellation."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

from mcp_proxy_conformance.fidelity import exact_json
from mcp_proxy_conformance.fidelity.bench import RelayBench, record
from mcp_proxy_conformance.fidelity.exact_json import ABSENT
from mcp_proxy_conformance.fidelity.features import is_empty, needs_capability
from mcp_proxy_conformance.fidelity.listening_client import ListeningClient, Received
from mcp_proxy_conformance.fidelity.offers import (
    ASKED,
    LATER,
    NOTE,
    PROGRESS,
    TELLING,
    notification,
)
from mcp_proxy_conformance.fidelity.side import Side
from mcp_proxy_conformance.targets.waits import poll
from mcp_proxy_conformance.upstream.talk import LEVELS, NEEDS
from mcp_proxy_conformance.verdict.comparison import Comparison
from mcp_proxy_conformance.verdict.result import applies, control
from mcp_proxy_conformance.wire.jsonrpc import dumps, quoted
from mcp_proxy_conformance.wire.revisions import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND

TOKEN, ORDER = "RLY.back.progress.token", "RLY.back.progress.order"
AFTER, VALUES = "RLY.back.progress.after", "RLY.back.progress.values"
LOGGED, LEVEL = "RLY.back.log.values", "RLY.features.set-level"
CANCELLED, PING = "RLY.back.cancel.reaches", "RLY.features.ping"
ASKS, PROMISED = "RLY.back.request.declared", "RLY.back.request.promised"
ANSWERED = "RLY.back.request.answered"
UPDATED, UNASKED = "RLY.back.resource-updated", "RLY.back.over-forward.legacy"
REFERENCE, UNKNOWN = "RLY.apart.cancel.reference", "none of them"
PROGRESSED, MESSAGE = "notifications/progress", "notifications/message"
RESOURCE_UPDATED, CANCELLATION = "notifications/resources/updated", "notifications/cancelled"
ARRIVES_S, MAY_ARRIVE_S, SETTLES_S = 3.0, 0.5, 0.1
"""Seconds in which a message is waited for that has to arrive, and one that may be left out; and in
which others may follow the last awaited one."""
LISTENING = "a client that listens, and hears nothing"
"""The act by which several clauses find that messages outside of a request are lost."""
EVERYTHING = b'{"elicitation":{},"sampling":{},"roots":{"listChanged":true}}'
TOKENS: Sequence[int | str | None] = (None, "a ü/+=", 7, "7")
GIVEN: Mapping[str, Sequence[bytes]] = {
    "elicitation/create": (
        '"result":{"action":"accept","content":{"name":"“ü” 😀","age":3,"sure":false}}'.encode(),
        b'"result":{"action":"decline"}',
        b'"result":{"action":"cancel"}',
    ),
    "sampling/createMessage": (
        '"result":{"role":"assistant","model":"m-1","stopReason":"endTurn",'
        '"content":{"type":"text","text":"“ü”\\n"}}'.encode(),
        b'"error":{"code":-1,"message":"User rejected sampling request","data":{"a":[1]}}',
    ),
    "roots/list": (
        b'"result":{"roots":[{"uri":"file:///home/%C3%BC","name":"home"},{"uri":"file:///b"}]}',
        b'"result":{"roots":[]}',
    ),
}
"""Answers of the client to each request of the upstream."""
TURNED_DOWN = (INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS)
"""Codes that say of a request that is right and declared that it is none, or must not be sent."""
FIRST = {method: members[0] for method, members in GIVEN.items()}
"""The first of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One request of the upstream: its method, and how its client was to answer it.

    `asked` is what arrived at the client of it, `answers` what arrived at the upstream, and
    `is_declared` whether the upstream was promised an answer.
    """

    method: str
    member: bytes
    asked: Sequence[Received]
    answers: Sequence[Any]
    is_declared: bool


def connected(bench: RelayBench, side: Side, capabilities: bytes = b"{}") -> ListeningClient:
    """Return a client of a way, which listens; `capabilities` is the JSON that it declares.

    Its session is new, or as new. The caller closes it.
    """
    return bench.relay.listening(side, capabilities)


@contextmanager
def several_connected(
    bench: RelayBench, side: Side, several: Sequence[bytes]
) -> Iterator[Sequence[ListeningClient]]:
    """Yield a client of a way for each of these capabilities; close them at the end.

    Each is as `connected` returns it. They open their sessions in turn, but over stdio at once,
    where each has a program of its own.
    """
    at_once = len(several) if side is bench.through and _has_own_programs(bench) else 1
    with ThreadPoolExecutor(at_once) as crew, ExitStack() as stack:
        opening = [crew.submit(connected, bench, side, each) for each in several]
        for each in opening:
            stack.callback(_close, each)
        yield [each.result() for each in opening]


def connected_in_turn(bench: RelayBench, several: Sequence[bytes]) -> Iterator[ListeningClient]:
    """Yield a client of the relay for each of these capabilities; it is closed before the next.

    Over stdio, where each has a program of its own, all of them are open at once.
    """
    groups = [several] if _has_own_programs(bench) else [[each] for each in several]
    for group in groups:
        with several_connected(bench, bench.through, group) as clients:
            yield from clients


def _has_own_programs(bench: RelayBench) -> bool:
    return not bench.relay.command_line.url


def _close(opening: Future[ListeningClient]) -> None:
    if opening.exception() is None:
        opening.result().close()


def called(
    side: Side, client: ListeningClient, case: str, token: int | str | None = None, *,
    whole: bool = False,
) -> Mapping[str, Any]:  # fmt: skip
    """Call the tool that sends messages before its answer; return the answer's members.

    `case` is the key of the messages and answer at the server, `token` the call's progress token.
    With `whole`, the stream is read to its end.
    """
    params: dict[str, Any] = {"name": side.name_of(TELLING), "arguments": {"case": case}}
    if token is not None:
        params["_meta"] = {"progressToken": token}
    mark = side.server.journal.mark()
    answer = client.request("tools/call", params, whole=whole)
    side.expect_argument(mark, "case", case)
    return answer


def progress(bench: RelayBench) -> Comparison:
    """Call with tokens of both types and without one, and compare the progress that arrives.

    Raises NotApplicable if none arrives, Inconclusive if the direct way does not show all of it.
    """
    needs_messages(bench)
    comparison = Comparison()
    own, shown = bench.at_once(partial(_progress, bench))
    expected = [0 if token is None else len(PROGRESS) for token in TOKENS]
    control(
        [len(_progress_of(each)) for each in own] == expected,
        "the direct way does not show the progress of a call",
    )
    applies(any(_progress_of(each) for each in shown), "no progress arrives, which may be left out")
    for token, sent, arrived in zip(TOKENS, own, shown, strict=True):
        _compare_progress(comparison, token, sent, arrived)
    return comparison


def logs(bench: RelayBench) -> Comparison:
    """Compare the log messages of every level that arrive with the upstream's.

    Its logger may be part of a longer name. Raises NotApplicable if logging is not declared, or
    nothing arrives; Inconclusive if the direct way does not show every message.
    """
    _needs_logging(bench)
    comparison = Comparison()
    own, shown = bench.at_once(partial(logged, bench))
    control(
        [each.params.get("level") for each in own] == [*LEVELS],
        "the direct way does not show every log message",
    )
    applies(shown, "no log message arrives, which may be left out")
    sent = {each.params["level"]: each.exact for each in own}
    for each in shown:
        level = each.params.get("level")
        place = f"log message of level {level}"
        allowed = sent.get(str(level), ABSENT)
        for name in ("level", "data"):
            record(comparison, f"{place}: {name}", exact_json.at(allowed, (name,)),
                   exact_json.at(each.exact, (name,)), clauses=(LOGGED,),
                   additions=True)  # fmt: skip
        logger = exact_json.at(allowed, ("logger",))
        comparison.truth(
            f"{place}: logger", each.params.get("logger"), allowed=logger, described=False,
            holds=logger in str(each.params.get("logger")), breaks=[LOGGED],
        )  # fmt: skip
    return comparison


def levels(bench: RelayBench) -> Comparison:
    """Set two levels, each in a session of its own; no message below the level may arrive.

    A level that is refused has no effect to compare. Raises NotApplicable if logging is not
    declared, or nothing arrives; Inconclusive if the direct way does not show the effect.
    """
    _needs_logging(bench)
    comparison = Comparison()
    for least in ("error", "alert"):
        wanted = [*LEVELS[LEVELS.index(least) :]]
        own, shown = [
            [each.params.get("level") for each in messages]
            for messages in bench.at_once(partial(logged, bench, least=least))
        ]
        control(own == wanted, "the direct way does not show the effect of a level")
        if shown:
            below = sorted({*map(str, shown)} - {*wanted})
            comparison.one_of(f"levels below {least}, once it is set", below, [[]], breaks=[LEVEL])
    return comparison.or_not_applicable("no log message arrives, which may be left out")


def questions(bench: RelayBench) -> Comparison:
    """Have the upstream ask for each thing, and compare question and answer at the other ends.

    Neither comes twice. What the relay does not declare upstream is left out; NotApplicable if that
    is everything. Raises Inconclusive if the direct way does not show one.
    """
    comparison = Comparison()
    needs_messages(bench)
    for own, shown in zip(*bench.at_once(partial(_questions, bench)), strict=True):
        control(own.asked and own.answers, f"the direct way does not show {own.method}")
        if not shown.is_declared:
            continue
        place, comparison.origin = (
            f"{own.method}, answered by {own.member.decode()[:60]}",
            own.method,
        )
        if ASKED[own.method]:
            question = shown.asked[0].exact if shown.asked else ABSENT
            record(
                comparison, place, own.asked[0].exact, question, clauses=(ANSWERED,), additions=True
            )
            once(comparison, f"{place}: asked", [each.exact for each in shown.asked], ANSWERED)
        answer = shown.answers[0] if shown.answers else ABSENT
        record(comparison, f"{place}: at the upstream", own.answers[0], answer, clauses=(ANSWERED,),
               additions=True)  # fmt: skip
        further = [exact_json.plain(each) for each in shown.answers[1:]]
        comparison.one_of(f"{place}: further answers", further, [[]], breaks=[ANSWERED])
    return comparison.or_not_applicable("nothing is declared upstream", cause="not_declared")


def once(comparison: Comparison, place: str, questions: Sequence[Any], clause: str) -> None:
    """Record a finding if a later question equals the first one, which is the upstream's.

    Different ones may be the relay's own.
    """
    again = sum(not any(exact_json.differences(questions[0], each)) for each in questions[1:])
    comparison.one_of(f"{place} again", again, [0], breaks=[clause])


def undeclared(bench: RelayBench) -> Comparison:
    """Connect clients that declare nothing or one thing; only for that may they be asked.

    Raises NotApplicable if no client is asked for anything.
    """
    comparison = Comparison()
    needs_messages(bench)
    questions = 0
    things = [None, *NEEDS.values()]
    several = [dumps({declared: {}} if declared else {}) for declared in things]
    for declared, client in zip(things, connected_in_turn(bench, several), strict=True):
        called(bench.through, client, "all questions")
        asked = {each.method for each in client.received() if each.method in NEEDS}
        questions += len(asked)
        extra = sorted(method for method in asked if NEEDS[method] != declared)
        comparison.one_of(
            f"what a client was asked that declares {declared or 'nothing'}", extra, [[]],
            breaks=[ASKS],
        )  # fmt: skip
    applies(questions, "no client is asked for anything", cause="not_declared")
    return comparison


def promised(bench: RelayBench) -> Comparison:
    """Have the upstream ask for all that the relay declares to it; each request is answered.

    One client declares nothing, a second one everything. An error is an answer, unless its code
    says that the request, which is valid, is not. Raises Inconclusive if the tool that sends
    messages is not listed.
    """
    comparison = Comparison()
    needs_messages(bench)
    for capabilities in (b"{}", EVERYTHING):
        with closing(connected(bench, bench.through, capabilities)) as client:
            if capabilities is EVERYTHING:
                client.answers |= FIRST
            for method, capability in NEEDS.items():
                mark, comparison.origin = bench.through.server.journal.mark(), method
                called(bench.through, client, method)
                declared = _is_declared(bench.through, mark, capability)
                answers = [exact_json.python(each) for each in answers_at(bench.through, mark)]
                comparison.truth(
                    f"{capability}, declared for a client that declares {capabilities.decode()}",
                    {"declared": declared, "answers": answers},
                    holds=not declared or any(map(_is_service, answers)),
                    allowed="not declared, or answered", breaks=[PROMISED],
                )  # fmt: skip
    return comparison


def upstream_ping(bench: RelayBench) -> Comparison:
    """Have the upstream ping while a call is in progress; one empty result has to arrive there.

    Raises Inconclusive if the direct way does not show that.
    """
    comparison = Comparison()
    needs_messages(bench)

    def pinged(side: Side) -> Sequence[Any]:
        mark = side.server.journal.mark()
        with closing(connected(bench, side)) as client:
            called(side, client, "ping")
        return answers_at(side, mark)

    own, shown = bench.at_once(pinged)
    control([*map(is_empty, own)] == [True], "the direct way does not show a ping")
    comparison.truth(
        "answers to a ping of the upstream", [exact_json.plain(each) for each in shown],
        holds=[*map(is_empty, shown)] == [True], allowed="one empty result", breaks=[PING],
    )  # fmt: skip
    return comparison


def cancellation(bench: RelayBench) -> Comparison:
    """Cancel one of two running calls; the upstream is told of that one, by its id there."""
    comparison = Comparison(origin=CANCELLATION)
    shown = _cancelled_calls(bench)
    comparison.one_of("calls cancelled at the upstream", shown, [["b"]], breaks=[CANCELLED])
    return comparison


def cancelled_requests(bench: RelayBench) -> Comparison:
    """Cancel one of two running calls; a cancellation that arrives is of one that runs there.

    Raises NotApplicable if none arrives.
    """
    comparison = Comparison(origin=CANCELLATION)
    shown = _cancelled_calls(bench)
    applies(shown, "no cancellation reaches the upstream, which another clause judges")
    unknown = shown.count(UNKNOWN)
    comparison.one_of("cancellations of other requests", unknown, [0], breaks=[REFERENCE])
    return comparison


def updates(bench: RelayBench) -> Comparison:
    """Two clients subscribe to one resource each; both are updated, and each hears of its own.

    Raises NotApplicable if subscriptions are not declared, Inconclusive if one is refused.
    """
    needs_capability(bench, "resources", "subscribe")
    comparison = Comparison()
    own, shown = bench.at_once(partial(_updated, bench))
    control(
        [{*heard} for heard in own] == [{NOTE}, {LATER}], "the direct way does not show the updates"
    )
    comparison.origin = "" if any(shown) else LISTENING
    for uri, heard in zip((NOTE, LATER), shown, strict=True):
        observed = "told" if uri in heard else "not told"
        comparison.one_of(
            f"the update of {uri}, to its subscriber", observed, ["told"], breaks=[UPDATED]
        )
        comparison.one_of(
            f"other updates to the subscriber of {uri}", sorted({*heard} - {uri}), [[]],
            breaks=[UNASKED],
        )  # fmt: skip
    return comparison


def needs_messages(bench: RelayBench) -> None:
    """Raise Inconclusive unless the tool that sends messages is listed."""
    bench.needs_tool(TELLING)


def _needs_logging(bench: RelayBench) -> None:
    needs_messages(bench)
    needs_capability(bench, "logging")


def _progress(bench: RelayBench, side: Side) -> Sequence[Sequence[Received]]:
    """Call under each of TOKENS, in one session; return the messages that arrive of each call."""
    found = []
    with closing(connected(bench, side)) as client:
        for token in TOKENS:
            mark = client.mark()
            called(side, client, "progress", token, whole=True)
            expected = 0 if token is None else len(PROGRESS)
            arrive(client, PROGRESSED, expected, mark)
            found.append(client.received(since=mark))
    return found


def arrive(
    client: ListeningClient, method: str, expected: int = 1, mark: int = 0,
    within_s: float = MAY_ARRIVE_S,
) -> None:  # fmt: skip
    """Wait `within_s` seconds at most until `expected` messages of a method came after the mark.

    Nothing is raised if they do not come. A method of which no message came in such a wait of over
    half a second is then waited for half a second only, by all clients of its way, until one comes.
    """
    if method in client.unheard:
        within_s = min(within_s, MAY_ARRIVE_S)
    came = poll(lambda: len(client.received(method, mark)), lambda n: n >= expected, within_s)
    if came:
        client.unheard.discard(method)
    elif within_s > MAY_ARRIVE_S:
        client.unheard.add(method)


def _progress_of(messages: Sequence[Received]) -> Sequence[Received]:
    return [each for each in messages if each.method == PROGRESSED]


def _compare_progress(
    comparison: Comparison, token: int | str | None, own: Sequence[Received],
    shown: Sequence[Received],
) -> None:  # fmt: skip
    """Compare the progress of one call, `shown`, with the direct way's, `own`; some may be missing.

    What follows the answer is judged on one stream only: between streams there is no order.
    """
    sent, arrived = _progress_of(own), _progress_of(shown)
    place = comparison.origin = f"progress under the token {quoted(token)}"
    tokens = [each.params.get("progressToken") for each in arrived]
    strange = [each for each in tokens if type(each) is not type(token) or each != token]
    comparison.one_of(f"{place}: other tokens", strange, [[]], breaks=[TOKEN])
    if not arrived:
        return
    ends = next((at for at, each in enumerate(shown) if not each.method), len(shown))
    values: list[Any] = [each.params.get("progress") for each in _progress_of(shown[:ends])]
    rises = all(
        isinstance(one, int | float) and isinstance(other, int | float) and one < other
        for one, other in pairwise(values)
    )
    comparison.truth(f"{place}: order", values, holds=rises, allowed="each more than the last",
                     breaks=[ORDER])  # fmt: skip
    late = [
        dict(each.params)
        for each in _progress_of(shown[ends:])
        if each.stream == shown[ends].stream
    ]
    comparison.one_of(f"{place}: after the answer", late, [[]], breaks=[AFTER])
    _compare_values(comparison, place, sent, arrived)


def _compare_values(
    comparison: Comparison, place: str, sent: Sequence[Received], arrived: Sequence[Received]
) -> None:
    """Compare values of progress that arrived with those sent; a relay may add its own.

    Values that the upstream did not send are findings only if one of the upstream's is missing:
    otherwise they are the relay's own. Total and message may be left out, and the message may be
    part of a longer one.
    """
    strange, missing = [], [*sent]
    for each in arrived:
        same = [one for one in missing if _value(one, "progress") == _value(each, "progress")]
        if not same:
            strange.append(each)
            continue
        missing.remove(same[0])
        total, message = _value(each, "total"), _value(each, "message")
        holds = total in (ABSENT, _value(same[0], "total")) and (
            message is ABSENT or str(_value(same[0], "message")) in str(message)
        )
        comparison.truth(
            place, dict(each.params), holds=holds, allowed=dict(same[0].params), breaks=[VALUES],
            described=False,
        )  # fmt: skip
    foreign = [dict(each.params) for each in strange] if missing else []
    comparison.one_of(f"{place}: changed", foreign, [[]], breaks=[VALUES])


def _value(each: Received, name: str) -> Any:
    return exact_json.at(each.exact, (name,))


def logged(bench: RelayBench, side: Side, least: str | None = None) -> Sequence[Received]:
    """Have the upstream log on every level, after the level `least` was set, if any.

    Return the log messages that arrive from then on; [] if the level is refused.
    """
    with closing(connected(bench, side)) as client:
        if least and "result" not in client.request("logging/setLevel", {"level": least}):
            return []
        mark = client.mark()  # a relay may log itself that a client has come
        called(side, client, "logs")
        wanted = LEVELS[LEVELS.index(least) :] if least else LEVELS
        arrive(client, MESSAGE, len(wanted), mark=mark)
        return client.received(MESSAGE, mark)


def _questions(bench: RelayBench, side: Side) -> Sequence[Question]:
    """Have the upstream ask a client that declares everything, once for each answer of GIVEN.

    Return these questions in the order of GIVEN.
    """
    found = []
    with closing(connected(bench, side, EVERYTHING)) as client:
        for method, member in ((name, each) for name, given in GIVEN.items() for each in given):
            client.answers[method] = member
            mark, before = side.server.journal.mark(), client.mark()
            called(side, client, method)
            found.append(
                Question(
                    method=method, member=member, asked=client.received(method, before),
                    answers=answers_at(side, mark),
                    is_declared=_is_declared(side, mark, NEEDS[method]),
                )
            )  # fmt: skip
    return found


def _is_declared(side: Side, mark: int, capability: str) -> bool:
    """Whether a capability is declared in the upstream session of the latest call after a mark.

    False if there is no such call.
    """
    calls = side.server.journal.calls(mark)
    return bool(calls) and capability in side.server.talk.declared.get(calls[-1].session, {})


def answers_at(side: Side, mark: int) -> Sequence[Any]:
    """Return an object with the result or error of each answer that came after the mark.

    They are answers of the client's at the server of that way, exactly and in order.
    """
    found = []
    for arrival in side.server.journal.since(mark):
        message = exact_json.sent(arrival.raw)
        members = message.last() if isinstance(message, exact_json.Pairs) else {}
        if "method" not in members and "id" in members:
            kept = [(name, members[name]) for name in ("result", "error") if name in members]
            found.append(exact_json.Pairs(kept))
    return found


def _is_service(answer: Mapping[str, Any]) -> bool:
    """Whether an answer is a result, or an error that does not turn the request itself down."""
    error = answer.get("error")
    return "result" in answer or (isinstance(error, dict) and error.get("code") not in TURNED_DOWN)


def _cancelled_calls(bench: RelayBench) -> list[str]:
    """Cancel a call on both ways; return the names of the calls that the relay cancels upstream.

    Raises Inconclusive if the direct way does not show the cancellation.
    """
    needs_messages(bench)
    own, shown = bench.at_once(partial(_cancelled, bench))
    control(own == ["b"], "the direct way does not show a cancellation")
    return [*shown]


def _cancelled(bench: RelayBench, side: Side) -> Sequence[str]:
    """Run two calls, a and b, and cancel b; return the names of the calls cancelled at the server.

    A cancellation of another id is `none of them`. Raises Inconclusive if not both calls arrive.
    """
    journal, names = side.server.journal, ("a", "b")
    mark = journal.mark()
    with ThreadPoolExecutor(len(names)) as crew, closing(connected(bench, side)) as client:
        for name in names:
            arguments = {"case": "slow", "call": name}
            params = {"name": side.name_of(TELLING), "arguments": arguments}
            crew.submit(client.request, "tools/call", params, f"call {name}")
        control(
            poll(lambda: len(journal.calls(mark)) == len(names), bool, ARRIVES_S),
            "not both calls reached the upstream",
        )
        client.notify(CANCELLATION, {"requestId": "call b", "reason": "enough"})
        within_s = MAY_ARRIVE_S if CANCELLATION in side.unheard else ARRIVES_S
        if not poll(lambda: journal.since(mark, CANCELLATION), bool, within_s):
            side.unheard.add(CANCELLATION)
        time.sleep(SETTLES_S)
        cancelled = journal.since(mark, CANCELLATION)  # a client that goes may cancel the other
    calls = {(each.session, each.id): each.arguments().get("call") for each in journal.calls(mark)}
    side.expect_argument(mark, "call", *names)
    return [
        str(calls.get((each.session, quoted(each.params().get("requestId"))), UNKNOWN))
        for each in cancelled
    ]


def _updated(bench: RelayBench, side: Side) -> Sequence[Sequence[str]]:
    """Subscribe two clients to one resource each, update both; return the URIs that each hears.

    The server tells of an update to the sessions that have subscribed to it, and does so twice:
    what the first round brings about is there before what the second does. Raises Inconclusive if a
    subscription is refused.
    """
    server = side.server
    mark = server.journal.mark()
    with several_connected(bench, side, [b"{}", b"{}"]) as clients:
        for client, uri in zip(clients, (NOTE, LATER), strict=True):
            control(
                "result" in client.request("resources/subscribe", {"uri": uri}),
                f"the subscription to {uri} was refused",
            )
        for _ in range(2):
            for uri in (NOTE, LATER):
                subscribed = server.journal.since(mark, "resources/subscribe")
                sessions = {each.session for each in subscribed if each.params().get("uri") == uri}
                update = notification(RESOURCE_UPDATED, {"uri": uri})
                bench.relay.hub.run(server.talk.tell(update, sessions))
        for client in clients:
            arrive(client, RESOURCE_UPDATED, 2, within_s=ARRIVES_S)
        return [
            [str(each.params.get("uri")) for each in client.received(RESOURCE_UPDATED)]
            for client in clients
        ]
