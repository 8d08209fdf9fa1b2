"""Comparisons of the way back: progress, logs, requests of the upstream, cancellation, updates."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from typing import Any

from mcp_proxy_conformance.fidelity import exact_json
from mcp_proxy_conformance.fidelity.bench import RelayBench, record
from mcp_proxy_conformance.fidelity.listening_client import ListeningClient, Received, eventually
from mcp_proxy_conformance.fidelity.offers import (
    ASKED,
    LATER,
    NOTE,
    PROGRESS,
    SLOW_S,
    TELLING,
    notification,
)
from mcp_proxy_conformance.fidelity.side import Side
from mcp_proxy_conformance.upstream.relayed import RelayedServer
from mcp_proxy_conformance.upstream.talk import LEVELS, NEEDS
from mcp_proxy_conformance.verdict.comparison import Comparison
from mcp_proxy_conformance.verdict.result import Inconclusive, NotApplicable
from mcp_proxy_conformance.wire.jsonrpc import dumps, quoted

TOKEN, ORDER = "RLY.back.progress.token", "RLY.back.progress.order"
AFTER, VALUES = "RLY.back.progress.after", "RLY.back.progress.values"
LOGGED, LEVEL = "RLY.back.log.values", "RLY.features.set-level"
CANCELLED, PING = "RLY.back.cancel.reaches", "RLY.features.ping"
ASKS, PROMISED = "RLY.back.request.declared", "RLY.back.request.promised"
ANSWERED = "RLY.back.request.answered"
UPDATED, UNASKED = "RLY.back.resource-updated", "RLY.back.over-forward.legacy"
PROGRESSED, MESSAGE = "notifications/progress", "notifications/message"
RESOURCE_UPDATED = "notifications/resources/updated"
ARRIVES_S = 1.0
"""Seconds in which a notification is waited for."""
QUIET_S = 0.4
"""Seconds in which notifications may still arrive."""
EVERYTHING = b'{"elicitation":{},"sampling":{},"roots":{"listChanged":true}}'
TOKENS: Sequence[int | str | None] = ("a ü/+=", 7, "7", None)
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


def connected(
    bench: RelayBench, side: Side, capabilities: bytes = b"{}",
    answers: Mapping[str, bytes] | None = None,
) -> ListeningClient:  # fmt: skip
    """Return a new client of a way; NotApplicable if the relay serves over stdio."""
    url = bench.relay.launched.url
    if not url:
        raise NotApplicable("the way back of a relay over stdio is not looked at")
    where = url if side is bench.through else side.server.url
    return ListeningClient(
        where, bench.relay.transcript, capabilities=capabilities, answers=answers
    )


def called(
    side: Side, client: ListeningClient, case: str, token: int | str | None = None, *,
    whole: bool = False,
) -> Mapping[str, Any]:  # fmt: skip
    """Call the tool that sends messages before its answer; return the answer's members.

    `whole`: the stream is read to its end.
    """
    params: dict[str, Any] = {"name": side.name_of(TELLING), "arguments": {"case": case}}
    if token is not None:
        params["_meta"] = {"progressToken": token}
    return client.request("tools/call", params, whole=whole)


def progress(bench: RelayBench, clauses: Sequence[str]) -> Comparison:
    """Call with tokens of both types and without one, and compare the progress that arrives."""
    comparison = Comparison()
    needs_messages(bench)
    for token in TOKENS:
        both = []
        for side in (bench.direct, bench.through):
            client = connected(bench, side)
            called(side, client, "progress", token, whole=True)
            time.sleep(QUIET_S)
            both.append(client.received())
            client.close()
        _compare_progress(comparison, token, both[0], both[1], clauses)
    if not comparison.looked:
        raise NotApplicable("no progress arrived, which may be left out")
    return comparison


def logs(bench: RelayBench) -> Comparison:
    """Compare the log messages of every level that arrive with the upstream's."""
    _needs_logging(bench)
    comparison = Comparison()
    own, shown = [_logged(bench, side, None) for side in (bench.direct, bench.through)]
    if [each.params.get("level") for each in own] != [*LEVELS]:
        raise Inconclusive("the direct way does not show every log message")
    if not shown and bench.facts.no_notifications:
        raise NotApplicable("the relay declares to tell no notifications", cause="not_declared")
    if not shown:
        raise Inconclusive("no log message arrived", cause="not_observed")
    allowed = {each.params["level"]: each.exact for each in own}
    for each in shown:
        level = str(each.params.get("level"))
        record(comparison, f"log message of level {level}", allowed.get(level, exact_json.ABSENT),
               each.exact, (LOGGED,), additions=True)  # fmt: skip
    return comparison


def levels(bench: RelayBench) -> Comparison:
    """Set two levels; none below arrives, and those above do, unless the level is refused."""
    _needs_logging(bench)
    comparison = Comparison()
    for least in ("error", "alert"):
        own = [each.params["level"] for each in _logged(bench, bench.direct, least)]
        wanted = [*LEVELS[LEVELS.index(least) :]]
        if own != wanted:
            raise Inconclusive("the direct way does not show the effect of a level")
        shown = _logged(bench, bench.through, least)
        observed = sorted({str(each.params.get("level")) for each in shown} - {*wanted})
        comparison.one_of(f"levels below {least} after it was set", observed, [[]], breaks=[LEVEL])
    return comparison


def questions(bench: RelayBench) -> Comparison:
    """Have the upstream ask for each thing, and compare question and answer at the other ends."""
    comparison = Comparison()
    needs_messages(bench)
    for method, answers in GIVEN.items():
        for member in answers:
            ends = []
            for side in (bench.direct, bench.through):
                mark = side.server.journal.mark()
                client = connected(bench, side, EVERYTHING, {method: member})
                called(side, client, method)
                ends.append((client.received(method), _answers(side, mark)))
                client.close()
            (own, own_answers), (shown, answered) = ends
            if not own or not own_answers:
                raise Inconclusive(f"the direct way does not show {method}")
            if not _declares(bench.through, NEEDS[method]):
                continue
            place = f"{method}, answered by {member.decode()[:60]}"
            question = shown[0].exact if shown else exact_json.ABSENT
            if ASKED[method]:
                allowed = own[0].exact
                record(comparison, place, allowed, question, (ANSWERED,), additions=True)
            answer = answered[0] if answered else exact_json.ABSENT
            record(
                comparison, f"{place}: at the upstream", own_answers[0], answer, (ANSWERED,),
                additions=True,
            )  # fmt: skip
    if not comparison.looked:
        raise NotApplicable("nothing is declared upstream", cause="not_declared")
    return comparison


def undeclared(bench: RelayBench) -> Comparison:
    """Connect clients that declare nothing or one thing; only for that may they be asked."""
    comparison = Comparison()
    needs_messages(bench)
    for declared in (None, *NEEDS.values()):
        capabilities = dumps({declared: {}} if declared else {})
        client = connected(bench, bench.through, capabilities)
        called(bench.through, client, "all questions")
        asked = {each.method for each in client.received() if each.method in NEEDS}
        client.close()
        extra = sorted(method for method in asked if NEEDS[method] != declared)
        comparison.one_of(
            f"what a client was asked that declares {declared or 'nothing'}", extra, [[]],
            breaks=[ASKS],
        )  # fmt: skip
    return comparison


def promised(bench: RelayBench) -> Comparison:
    """Ask what the relay declares for a client that declares nothing; each has to be answered."""
    comparison = Comparison()
    needs_messages(bench)
    for method, capability in NEEDS.items():
        client = connected(bench, bench.through)
        mark = bench.through.server.journal.mark()
        called(bench.through, client, method)
        client.close()
        declared = _declares(bench.through, capability)
        results = [exact_json.at(each, ("result",)) for each in _answers(bench.through, mark)]
        answered = any(result is not exact_json.ABSENT for result in results)
        comparison.truth(
            f"{capability}, declared upstream for a client that does not", declared,
            holds=answered or not declared, allowed="not declared, or answered",
            breaks=[PROMISED],
        )  # fmt: skip
    return comparison


def upstream_ping(bench: RelayBench) -> Comparison:
    """Have the upstream ping while a call is in progress; an empty result has to arrive."""
    comparison = Comparison()
    needs_messages(bench)
    found = []
    for side in (bench.direct, bench.through):
        client = connected(bench, side)
        mark = side.server.journal.mark()
        called(side, client, "ping")
        found.append([exact_json.plain(exact_json.at(each, ("result",)))
                      for each in _answers(side, mark)])  # fmt: skip
        client.close()
    if found[0] != [{}]:
        raise Inconclusive("the direct way does not show a ping")
    comparison.one_of("answers to a ping of the upstream", found[1], [[{}]], breaks=[PING])
    return comparison


def cancellation(bench: RelayBench) -> Comparison:
    """Cancel one of two running calls; the upstream is told of that one, by its id there."""
    needs_messages(bench)
    comparison = Comparison()
    for side in (bench.direct, bench.through):
        ids = _cancelled(bench, side)
        if side is bench.direct and ids != ["b"]:
            raise Inconclusive("the direct way does not show a cancellation")
        if side is bench.through:
            comparison.one_of("calls cancelled at the upstream", ids, [["b"]], breaks=[CANCELLED])
    return comparison


def updates(bench: RelayBench) -> Comparison:
    """Two clients subscribe to one resource each; both are updated, and each hears of its own."""
    comparison = Comparison()
    needs_updates(bench)
    own, shown = bench.both(partial(_updated, bench))
    if own != [[NOTE], [LATER]]:
        raise Inconclusive("the direct way does not show the updates")
    for uri, heard in zip((NOTE, LATER), shown, strict=True):
        observed = "told" if uri in heard else "not told"
        comparison.one_of(
            f"the update of {uri}, to its subscriber", observed, ["told"], breaks=[UPDATED]
        )
    return comparison


def unasked_updates(bench: RelayBench) -> Comparison:
    """Of two updated resources, a client hears only of the one that it subscribed to."""
    comparison = Comparison()
    needs_updates(bench)
    for uri, heard in zip((NOTE, LATER), _updated(bench, bench.through), strict=True):
        extra = sorted({*heard} - {uri})
        comparison.one_of(
            f"other updates to the subscriber of {uri}", extra, [[]], breaks=[UNASKED]
        )
    return comparison


def needs_messages(bench: RelayBench) -> None:
    """Raise Inconclusive unless the tool that sends messages is listed."""
    bench.needs_tool(TELLING)


def needs_updates(bench: RelayBench) -> None:
    """Raise NotApplicable unless the relay declares subscriptions, and lets notifications pass."""
    if bench.facts.no_notifications:
        raise NotApplicable("the relay declares to tell no notifications", cause="not_declared")
    client = connected(bench, bench.through)
    client.close()
    resources = client.declared.get("resources")
    if not (isinstance(resources, dict) and resources.get("subscribe")):
        raise NotApplicable("resources.subscribe is not declared", cause="not_declared")


def _compare_progress(
    comparison: Comparison, token: int | str | None, own: Sequence[Received],
    shown: Sequence[Received], clauses: Sequence[str],
) -> None:  # fmt: skip
    """Compare the progress of one call, by the clauses that a check is about."""
    expected = 0 if token is None else len(PROGRESS)
    if sum(each.method == PROGRESSED for each in own) != expected:
        raise Inconclusive("the direct way does not show the progress of a call")
    arrived = [each for each in shown if each.method == PROGRESSED]
    place = f"progress under the token {quoted(token)}"
    if TOKEN in clauses:
        tokens = [each.params.get("progressToken") for each in arrived]
        strange = [each for each in tokens if type(each) is not type(token) or each != token]
        if arrived or token is None:
            comparison.one_of(f"{place}: other tokens", strange, [[]], breaks=[TOKEN])
    values: list[Any] = [each.params.get("progress") for each in arrived]
    if ORDER in clauses and arrived:
        rises = all(
            isinstance(one, int | float) and isinstance(other, int | float) and one < other
            for one, other in pairwise(values)
        )
        comparison.truth(f"{place}: order", values, holds=rises, allowed="each more than the last",
                         breaks=[ORDER])  # fmt: skip
    if AFTER in clauses and arrived:
        ends = next((at for at, each in enumerate(shown) if not each.method), len(shown))
        late = [dict(each.params) for each in shown[ends:] if each.method == PROGRESSED]
        comparison.one_of(f"{place}: after the answer", late, [[]], breaks=[AFTER])
    if VALUES in clauses and arrived:
        allowed = [_values(each) for each in own if each.method == PROGRESSED]
        for each in arrived:
            observed = _values(each)
            comparison.truth(
                place, exact_json.plain(observed), holds=observed in allowed,
                allowed="values of the upstream's", breaks=[VALUES],
            )  # fmt: skip


def _values(each: Received) -> Any:
    """Return progress, total and message of a notification, exactly."""
    return [exact_json.at(each.exact, (name,)) for name in ("progress", "total", "message")]


def _needs_logging(bench: RelayBench) -> None:
    """Raise NotApplicable unless the relay declares logging."""
    needs_messages(bench)
    client = connected(bench, bench.through)
    client.close()
    if "logging" not in client.declared:
        raise NotApplicable("logging is not declared", cause="not_declared")


def _logged(bench: RelayBench, side: Side, least: str | None) -> Sequence[Received]:
    """Have the upstream log on every level, after a level was set, if any; return what arrives.

    Nothing, if the level is refused.
    """
    client = connected(bench, side)
    try:
        if least and "result" not in client.request("logging/setLevel", {"level": least}):
            return []
        called(side, client, "logs")
        time.sleep(QUIET_S)
        return client.received(MESSAGE)
    finally:
        client.close()


def _declares(side: Side, capability: str) -> bool:
    """Whether the latest handshake at the server of a way declares that capability."""
    handshakes = side.server.journal.since(0, "initialize")
    declared = handshakes[-1].params().get("capabilities") if handshakes else None
    return isinstance(declared, dict) and capability in declared


def _answers(side: Side, mark: int) -> list[Any]:
    """Return the answers that arrived at the server of a way, exactly."""
    found = []
    for arrival in side.server.journal.since(mark):
        message = exact_json.read(arrival.raw) if arrival.raw else exact_json.ABSENT
        if not isinstance(message, exact_json.Pairs):
            continue
        is_answer = exact_json.at(message, ("method",)) is exact_json.ABSENT
        if is_answer and exact_json.at(message, ("id",)) is not exact_json.ABSENT:
            members = message.last()
            kept = [(name, members[name]) for name in ("result", "error") if name in members]
            found.append(exact_json.Pairs(kept))
    return found


def _cancelled(bench: RelayBench, side: Side) -> list[str]:
    """Run two calls, a and b, and cancel b; return which the server is told are cancelled."""
    client = connected(bench, side)
    journal = side.server.journal
    mark = journal.mark()
    names = ("a", "b")
    with ThreadPoolExecutor(2) as crew:
        for name in names:
            arguments = {"case": "slow", "call": name}
            params = {"name": side.name_of(TELLING), "arguments": arguments}
            crew.submit(client.request, "tools/call", params, f"call {name}")
        if not eventually(lambda: len(journal.calls(mark)) == len(names), SLOW_S / 2):
            raise Inconclusive("not both calls reached the upstream")
        client.notify("notifications/cancelled", {"requestId": "call b", "reason": "enough"})
        eventually(lambda: bool(journal.since(mark, "notifications/cancelled")), ARRIVES_S / 2)
    calls = {
        (each.session, quoted(json.loads(each.raw)["id"])): each.params()["arguments"]["call"]
        for each in journal.calls(mark)
    }
    told = journal.since(mark, "notifications/cancelled")
    client.close()
    return [
        str(calls.get((each.session, quoted(each.params().get("requestId"))), "none of them"))
        for each in told
    ]


def _updated(bench: RelayBench, side: Side) -> list[list[str]]:
    """Subscribe two clients to one resource each, update both; return the URIs that each hears.

    The server tells of an update to the sessions that have subscribed to it.
    """
    server, clients = side.server, []
    mark = server.journal.mark()
    for uri in (NOTE, LATER):
        client = connected(bench, side)
        client.listen(partial(_more_listen, server, len(server.talk.listening)))
        if "result" not in client.request("resources/subscribe", {"uri": uri}):
            raise Inconclusive(f"the subscription to {uri} was refused")
        clients.append(client)
    for uri in (NOTE, LATER):
        subscribed = server.journal.since(mark, "resources/subscribe")
        sessions = {each.session for each in subscribed if each.params().get("uri") == uri}
        update = notification(RESOURCE_UPDATED, {"uri": uri})
        bench.relay.hub.run(server.talk.tell(update, sessions))
    time.sleep(QUIET_S)
    heard = [
        [str(each.params.get("uri")) for each in client.received(RESOURCE_UPDATED)]
        for client in clients
    ]
    for client in clients:
        client.close()
    return heard


def _more_listen(server: RelayedServer, before: int) -> bool:
    """Whether more sessions listen than before."""
    return len(server.talk.listening) > before
