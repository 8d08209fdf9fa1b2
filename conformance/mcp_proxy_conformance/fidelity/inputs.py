"""Comparisons of elicited input: asked for in results since MCP 2026-07-28, before by requests."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

from mcp_proxy_conformance.fidelity import exact_json
from mcp_proxy_conformance.fidelity.bench import RelayBench, record
from mcp_proxy_conformance.fidelity.exact_json import ABSENT
from mcp_proxy_conformance.fidelity.offers import ASKED, TELLING
from mcp_proxy_conformance.fidelity.side import Side
from mcp_proxy_conformance.fidelity.stateless_client import Exchange, StatelessClient, meta
from mcp_proxy_conformance.fidelity.way_back import (
    EVERYTHING,
    FIRST,
    answers_at,
    called,
    connected,
    once,
)
from mcp_proxy_conformance.upstream.journal import Arrival
from mcp_proxy_conformance.upstream.relayed_stateless import StatelessServer
from mcp_proxy_conformance.upstream.stateless_rules import (
    HEADER_MISMATCH,
    MISSING_CAPABILITY,
)
from mcp_proxy_conformance.verdict.comparison import Comparison
from mcp_proxy_conformance.verdict.result import control
from mcp_proxy_conformance.wire.client import Wire
from mcp_proxy_conformance.wire.jsonrpc import object_of, result_of
from mcp_proxy_conformance.wire.revisions import META_CAPABILITIES, UNSUPPORTED_REVISION

CROSSES, FINISHED = "RLY.era.elicit.crosses", "RLY.era.elicit.finished"
STATE, FORGED, OWN = "RLY.era.elicit.state", "RLY.era.elicit.state-forged", "RLY.era.error.own"
ELICIT = "elicitation/create"
OPEN = {"inputRequests", "requestState"}
"""Members of a result that asks for input."""
CAPABILITIES: Mapping[str, Any] = {"elicitation": {}}
GIVEN = json.loads(b"{" + FIRST[ELICIT] + b"}")["result"]
"""The answer of clients to an elicitation."""


def crossing(bench: RelayBench) -> Comparison:
    """Elicit from clients of each era that declare it; question and answer cross by value, once.

    What the relay does not declare upstream is left out; NotApplicable if that is everything.
    Raises Inconclusive if the direct way does not show it, or a call does not reach the upstream.
    """
    comparison = Comparison()
    served = bench.served()
    mark = bench.direct.server.journal.mark()
    questions, answer = _elicited(bench, bench.direct, bench.upstream_era)
    control(
        questions and "result" in answer and _given(bench.direct, mark),
        "the direct way does not show an elicitation",
    )
    for wire in served:
        bench.needs_tool(TELLING, wire)
        mark = bench.through.server.journal.mark()
        questions, answer = _elicited(bench, bench.through, wire)
        calls = bench.through.server.journal.calls(mark)
        control(calls, "the call did not reach the upstream")
        bench.through.expect_argument(mark, "case", ELICIT)
        if "elicitation" not in _declared(bench.through, calls[0]):
            continue
        place = f"elicitation of a {wire} client"
        asked = exact_json.read(json.dumps(ASKED[ELICIT]).encode())
        question = questions[0] if questions else ABSENT
        record(comparison, f"{place}: the question", asked, question, clauses=(CROSSES,),
               additions=True)  # fmt: skip
        once(comparison, f"{place}: the question", questions, CROSSES)
        given = exact_json.read(json.dumps(GIVEN).encode())
        at_upstream = _given(bench.through, mark)
        record(comparison, f"{place}: at the upstream", given, (*at_upstream, ABSENT)[0],
               clauses=(CROSSES,), additions=True)  # fmt: skip
        further = [exact_json.plain(each) for each in at_upstream[1:]]
        comparison.one_of(f"{place}: further answers", further, [[]], breaks=[CROSSES])
        comparison.truth(f"{place}: the result", answer, holds="result" in answer,
                         allowed="a result", breaks=[CROSSES])  # fmt: skip
    return comparison.or_not_applicable(
        "elicitation is not declared upstream", cause="not_declared"
    )


def unfinished(bench: RelayBench) -> Comparison:
    """Have the upstream ask in its result; a client of the handshake era gets no such result.

    Clients that declare everything and nothing are tried. Raises NotApplicable if the upstream is
    told of no client that it can ask.
    """
    comparison = Comparison()
    bench.served("handshake")
    bench.needs_tool(TELLING, "handshake")
    server = bench.through.server
    assert isinstance(server, StatelessServer)
    for capabilities in (EVERYTHING, b"{}"):
        given, mark = len(server.states), server.journal.mark()
        with closing(connected(bench, bench.through, capabilities)) as client:
            client.answers |= FIRST
            answer = called(bench.through, client, ELICIT)
        if len(server.states) == given:
            continue
        retried = any("requestState" in each.params() for each in server.journal.calls(mark))
        result = result_of(answer)
        is_finished = "result" not in answer or (retried and not OPEN & result.keys())
        comparison.truth(
            f"the answer to a client that declares {capabilities.decode()}", answer,
            holds=is_finished or result.get("isError") is True,
            allowed="a result after a retry, or an error", breaks=[FINISHED],
        )  # fmt: skip
    return comparison.or_not_applicable("the upstream is told of no client that it can ask")


def states(bench: RelayBench) -> Comparison:
    """Elicit by two calls, and answer both; each retry upstream has its own call's state, a new id.

    A call that elicits nothing has no state. Raises NotApplicable if the upstream asks nothing.
    """
    comparison = Comparison()
    server = bench.through.server
    assert isinstance(server, StatelessServer)
    for wire in bench.served():
        bench.needs_tool(TELLING, wire)
        mark, before = server.journal.mark(), {*server.states}
        if wire == "stateless":
            _two_retried(bench)
        else:
            for name in ("a", "b"):
                with closing(connected(bench, bench.through, EVERYTHING)) as client:
                    client.answers |= FIRST
                    params = {"name": bench.through.name_of(TELLING), "arguments": _asking(name)}
                    client.request("tools/call", params)
        bench.through.call("echo", client=bench.through.main_of(wire))
        issued = {
            state: object_of(about.get("arguments")).get("call")
            for state, about in server.states.items()
            if state not in before
        }
        if not issued:
            continue
        _compare_states(comparison, wire, server.journal.since(mark, "tools/call"), issued)
    return comparison.or_not_applicable("the upstream is told of no client that it can ask")


def forged_states(bench: RelayBench) -> Comparison:
    """Retry with a state whose middle letter is changed, then one cut in half; neither finishes.

    Raises NotApplicable if the client gets no state.
    """
    comparison = Comparison()
    bench.served("stateless")
    bench.needs_tool(TELLING, "stateless")
    with closing(bench.relay.stateless(bench.through)) as client:
        for kind in ("one letter", "the second half"):
            exchange = _asked(bench.through, client, kind)
            state = exchange.result.get("requestState")
            if not isinstance(state, str):
                continue
            half = len(state) // 2
            other = "A" if state[half : half + 1] != "A" else "B"
            forged = state[:half] + (other + state[half + 1 :] if kind == "one letter" else "")
            retry = _retried(bench.through, client, kind, exchange, forged)
            is_finished = "content" in retry.result and not retry.result.get("isError")
            comparison.truth(
                f"a retry whose state lost {kind}", retry.answer, holds=not is_finished,
                allowed="an error, or the question again", breaks=[FORGED],
            )  # fmt: skip
    return comparison.or_not_applicable("the client gets no state")


def own_errors(bench: RelayBench) -> Comparison:
    """Send requests without fault as a client of 2026-07-28; none is refused as faulty.

    One calls a tool that needs a capability, which it declares. Raises Inconclusive if the direct
    way does not answer one by a result, or it does not reach the upstream.
    """
    comparison = Comparison()
    bench.served("stateless")
    bench.needs_tool(TELLING, "stateless")
    requests: Sequence[tuple[str, Mapping[str, Any]]] = (
        ("tools/call", {"name": TELLING, "arguments": {"case": "needing"}}),
        ("tools/call", {"name": "echo", "arguments": {}}),
        ("resources/read", {"uri": "memo://notes/1"}),
    )
    journal = bench.through.server.journal
    for method, params in requests:
        mark = journal.mark()
        direct, through = (
            _ask(bench, side, method, params) for side in (bench.direct, bench.through)
        )
        control("result" in direct.answer, f"the direct way does not answer {method}")
        control(journal.since(mark, method), f"{method} did not reach the upstream")
        wrong = [HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_REVISION]
        comparison.truth(
            f"{method} of {params.get('name', 'a resource')}", through.answer,
            holds=through.code not in wrong, allowed="no error about the client's request",
            breaks=[OWN],
        )  # fmt: skip
    return comparison


def _ask(bench: RelayBench, side: Side, method: str, params: Mapping[str, Any]) -> Exchange:
    named = {**params, "name": side.name_of(params["name"])} if "name" in params else params
    with closing(bench.relay.stateless(side)) as client:
        return client.ask(method, named, own_meta=meta(clientCapabilities=CAPABILITIES))


def _asking(call: str) -> Mapping[str, Any]:
    """Return the arguments of a call that elicits; `call` sets it apart from others."""
    return {"case": ELICIT, "call": call}


def _asked(side: Side, client: StatelessClient, call: str) -> Exchange:
    """Call a tool that elicits, declaring elicitation; return the finished exchange, not retried.

    `call` is an argument that sets the call apart from others.
    """
    params = {"name": side.name_of(TELLING), "arguments": _asking(call)}
    return client.ask("tools/call", params, own_meta=meta(clientCapabilities=CAPABILITIES))


def _retried(
    side: Side, client: StatelessClient, call: str, exchange: Exchange, state: Any
) -> Exchange:
    questions = object_of(exchange.result.get("inputRequests"))
    params: dict[str, Any] = {
        "name": side.name_of(TELLING),
        "arguments": _asking(call),
        "inputResponses": dict.fromkeys(questions, GIVEN),
    }
    if state is not None:
        params["requestState"] = state
    return client.ask("tools/call", params, own_meta=meta(clientCapabilities=CAPABILITIES))


def _two_retried(bench: RelayBench) -> None:
    with (
        closing(bench.relay.stateless(bench.through)) as one,
        closing(bench.relay.stateless(bench.through)) as other,
    ):
        asked = {
            "a": (one, _asked(bench.through, one, "a")),
            "b": (other, _asked(bench.through, other, "b")),
        }
        for call, (client, exchange) in reversed(asked.items()):
            _retried(bench.through, client, call, exchange, exchange.result.get("requestState"))


def _compare_states(
    comparison: Comparison, wire: Wire, calls: Sequence[Arrival], issued: Mapping[str, Any]
) -> None:
    """Compare the states of retries that came to the upstream with those that it gave out.

    `issued` maps each state to the argument `call` of the call that it was given for. The ids of a
    call and its retries must differ. Calls that came without a retry show nothing.
    """
    for call in (None, "a", "b"):
        mine = [each for each in calls if each.arguments().get("call") == call]
        found = [
            each.params().get("requestState")
            for each in mine
            if "requestState" in each.params() or "inputResponses" in each.params()
        ]
        allowed = [state for state, about in issued.items() if about == call and call is not None]
        place = f"a {wire} client: states with call {call or 'that asks nothing'}"
        comparison.truth(
            place, found, holds=all(each in allowed for each in found), allowed=allowed,
            breaks=[STATE], shows=[STATE] if found else [],
        )  # fmt: skip
        ids = [each.id for each in mine]
        comparison.one_of(f"{place}: ids used twice", len(ids) - len({*ids}), [0], breaks=[STATE],
                          shows=[STATE] if found else [])  # fmt: skip


def _elicited(bench: RelayBench, side: Side, wire: Wire) -> tuple[Sequence[Any], Mapping[str, Any]]:
    """Elicit from a client of an era, which accepts; return (questions' params, last answer)."""
    if wire == "handshake":
        with closing(connected(bench, side, EVERYTHING)) as client:
            client.answers |= FIRST
            answer = called(side, client, ELICIT)
            return [each.exact for each in client.received(ELICIT)], answer
    with closing(bench.relay.stateless(side)) as client:
        exchange = _asked(side, client, "a")
        questions = object_of(exchange.result.get("inputRequests"))
        if not questions:
            return [], exchange.answer
        asked = exact_json.sent(exchange.received("")[-1].raw, "result", "inputRequests")
        state = exchange.result.get("requestState")
        answer = _retried(side, client, "a", exchange, state).answer
        return [exact_json.at(asked, (name, "params")) for name in questions], answer


def _declared(side: Side, call: Arrival) -> Mapping[str, Any]:
    if isinstance(side.server, StatelessServer):
        return object_of(call.meta().get(META_CAPABILITIES))
    return side.server.talk.declared.get(call.session, {})


def _given(side: Side, mark: int) -> Sequence[Any]:
    """Return the answers to an elicitation that arrived at the upstream after the mark.

    They are the values of calls' `inputResponses` or, without any, the results of responses.
    """
    found = []
    for each in side.server.journal.calls(mark):
        given = exact_json.sent(each.raw, "params", "inputResponses")
        found += [value for _, value in given] if isinstance(given, exact_json.Pairs) else []
    return found or [exact_json.at(each, ("result",)) for each in answers_at(side, mark)]
