"""Comparisons of clients that call at once under equal ids: answers, ids, tokens, envelopes.

An envelope is what is around a result: the id, and one of result and error.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from mcp_proxy_conformance.fidelity.bench import RelayBench, repeated
from mcp_proxy_conformance.upstream.relayed import Answer
from mcp_proxy_conformance.verdict.comparison import Comparison
from mcp_proxy_conformance.verdict.result import applies, control
from mcp_proxy_conformance.wire.conversation import Conversation
from mcp_proxy_conformance.wire.faults import ProtocolFault, Unreachable
from mcp_proxy_conformance.wire.jsonrpc import dumps, message_of, quoted, result_of

ANSWERS, IDS = "RLY.apart.answers", "RLY.up.ids"
ENVELOPE, TOKEN = "RLY.down.envelope", "RLY.up.meta.progress-token"
TOKENS: Sequence[int | str] = ("a token", 7)
OVERLAP_S = 0.4
"""Seconds that the upstream waits, at most, for the calls of all clients before it answers any."""
CLIENTS, EQUAL_IDS = 3, "clients that call at once under equal ids"
REQUEST_IDS: Sequence[int | str] = (1, "1", "a ü/+=", 0, 9007199254740991)


@dataclass(frozen=True, slots=True)
class _Sent:
    """One request of one client: its number, its id, and the case that the upstream answers by."""

    number: int
    request_id: int | str
    case: str

    @property
    def fails(self) -> bool:
        """Whether the upstream answers it with an error, as it does to the last client."""
        return self.number == CLIENTS - 1


def own_answers(bench: RelayBench) -> Comparison:
    """Have three clients call at once under equal ids, several times; the third one gets errors.

    Another client's answer is a finding, and so is no answer to one of the first two clients, if
    its call is answered when made alone. An answer that names no client's call leaves the clause
    open. Raises NotApplicable over stdio, Inconclusive if a call does not reach the upstream.
    """
    comparison = Comparison(origin=EQUAL_IDS)
    bench.needs_tool("give")
    bench.needs_clients()
    clients = [bench.through.client().open() for _ in range(CLIENTS)]
    server, strange = bench.through.server, list[str]()
    for request_id in REQUEST_IDS:
        sent = [
            _Sent(number, request_id, f"client {number} at {quoted(request_id)}")
            for number in range(CLIENTS)
        ]
        for each in sent:
            server.answers[each.case] = _answer(each)
        mark = server.journal.mark()
        with ThreadPoolExecutor(CLIENTS) as crew:
            answers = list(crew.map(lambda each: _asked(bench, clients[each.number], each), sent))
        control(
            len(server.journal.calls(mark, "give")) >= CLIENTS,
            "not every call reached the upstream",
        )
        for each, answer in zip(sent, answers, strict=True):
            if "none" in answer and _is_answered_alone(bench, clients[each.number], each):
                comparison.truth(f"{each.case}: its answer", answer["none"], holds=each.fails,
                                 allowed="an answer", breaks=[ANSWERS], shows=[])  # fmt: skip
            others = [other.case for other in sent if other is not each]
            crossed = [case for case in others if case in _text(answer)]
            is_failure = "error" in answer or result_of(answer).get("isError") is True
            is_own = each.case in _text(answer) or (each.fails and is_failure)
            comparison.one_of(
                f"{each.case}: answers of other clients", crossed, [[]], breaks=[ANSWERS],
                shows=[ANSWERS] if is_own else [],
            )  # fmt: skip
            if not is_own and not crossed:
                what = "no answer" if "none" in answer else "an answer that is nobody's"
                strange.append(f"{each.case}: {what}: {_text(answer):.200}")
        if comparison.findings:
            break
    return comparison.leaving_open([ANSWERS], strange[0]) if strange else comparison


def _is_answered_alone(bench: RelayBench, client: Conversation, each: _Sent) -> bool:
    """Whether a client's call, made again while no other one is in progress, is answered."""
    alone = replace(each, case=f"{each.case}, alone")
    answer = replace(_answer(alone), delay_s=0.0, together=0)
    bench.through.server.answers[alone.case] = answer
    return "none" not in _asked(bench, client, alone)


def request_ids(bench: RelayBench) -> Comparison:
    """Look for an id that the relay used twice in one session with the upstream, up to now.

    `initialize` does not count. Raises Inconclusive if no request has come in a session.
    """
    comparison = Comparison(origin=EQUAL_IDS)
    uses = list[tuple[str, str]]()
    for arrival in bench.through.server.journal.since():
        if arrival.id and arrival.method != "initialize" and arrival.session:
            uses.append((arrival.session, arrival.id))
    control(uses, "no request reached the upstream in a session")
    twice = sorted({name for _, name in repeated(uses)})
    comparison.one_of("ids used twice in one session", twice[:5], [[]], breaks=[IDS])
    return comparison


def progress_tokens(bench: RelayBench) -> Comparison:
    """Have clients call at once under equal progress tokens; upstream, a session has no two equal.

    Tokens there must be texts or integers. Raises NotApplicable over stdio, or if the relay hands
    no token on.
    """
    comparison = Comparison()
    bench.needs_tool("give")
    bench.needs_clients()
    clients = [bench.through.client().open() for _ in range(CLIENTS)]
    server = bench.through.server
    server.answers["tokens"] = Answer(result=b'{"content":[]}', delay_s=OVERLAP_S, together=CLIENTS)
    params = {"name": bench.through.name_of("give"), "arguments": {"case": "tokens"}}
    for token in TOKENS:
        mark = server.journal.mark()
        body = _request(1, "tools/call", {**params, "_meta": {"progressToken": token}})
        with ThreadPoolExecutor(CLIENTS) as crew:
            list(crew.map(lambda client, sent=body: _posted(client, sent), clients))
        arrived = [(call.session, call.meta()) for call in server.journal.calls(mark, "give")]
        given = [
            (session, own["progressToken"]) for session, own in arrived if "progressToken" in own
        ]
        applies(given, "the relay hands no progress tokens on")
        strange = [quoted(own) for _, own in given if type(own) not in (str, int)]
        uses = [(session, quoted(own)) for session, own in given]
        twice = sorted({own for _, own in repeated(uses)})
        comparison.one_of(f"tokens that are neither text nor integer, for {quoted(token)}",
                          strange, [[]], breaks=[TOKEN])  # fmt: skip
        comparison.one_of(f"tokens of several active calls of a session, for {quoted(token)}",
                          twice, [[]], breaks=[TOKEN])  # fmt: skip
    return comparison


def envelopes(bench: RelayBench) -> Comparison:
    """Send requests under ids of both types, and compare the envelopes of their answers.

    They have the request's id, one of result and error, and an error with an integer code and a
    text. Raises Inconclusive if the relay does not list `echo`.
    """
    comparison = Comparison()
    bench.needs_tool("echo")
    echo, give = map(bench.through.name_of, ("echo", "give"))
    requests: Sequence[tuple[str, Mapping[str, Any]]] = (
        ("tools/call", {"name": echo, "arguments": {}}),
        ("tools/call", {"name": give, "arguments": {"case": "error-server-code"}}),
        ("no/such/method", {}),
        ("ping", {}),
    )
    for method, params in requests:
        client = bench.through.client().open()  # which uses each id once
        for request_id in REQUEST_IDS:
            answer = _posted(client, _request(request_id, method, params))
            place = f"{method} under {quoted(request_id)}"
            own = answer.get("id", "no id")
            comparison.one_of(f"{place}: id", own, [request_id], breaks=[ENVELOPE])
            members = sorted(set(answer) & {"result", "error"})
            comparison.one_of(
                f"{place}: members", members, [["error"], ["result"]], breaks=[ENVELOPE]
            )
            if isinstance(error := answer.get("error"), dict):
                types = [type(error.get("code")).__name__, type(error.get("message")).__name__]
                comparison.one_of(
                    f"{place}: types of code and message", types, [["int", "str"]],
                    breaks=[ENVELOPE],
                )  # fmt: skip
    return comparison


def _answer(each: _Sent) -> Answer:
    text = dumps(each.case)
    if each.fails:
        return Answer(
            error=b'{"code":-32050,"message":' + text + b"}", delay_s=OVERLAP_S, together=CLIENTS
        )
    content = b'{"content":[{"type":"text","text":' + text + b"}]}"
    return Answer(result=content, delay_s=OVERLAP_S, together=CLIENTS)


def _asked(bench: RelayBench, client: Conversation, each: _Sent) -> Mapping[str, Any]:
    params = {"name": bench.through.name_of("give"), "arguments": {"case": each.case}}
    return _posted(client, _request(each.request_id, "tools/call", params))


def _posted(client: Conversation, body: bytes) -> Mapping[str, Any]:
    """Send a request; return its answer's members, or {"none": why there is none}."""
    try:
        return message_of(
            client.exchange(body, lambda text: bool({"result", "error"} & message_of(text).keys()))
        )
    except (Unreachable, ProtocolFault) as fault:
        return {"none": str(fault)}


def _request(request_id: int | str, method: str, params: Mapping[str, Any]) -> bytes:
    return dumps({"jsonrpc": "2.0", "id": request_id, "method": method, "params": dict(params)})


def _text(answer: Mapping[str, Any]) -> str:
    """Return an answer as JSON text in which neither letters nor quotation marks are escaped."""
    text = json.dumps(answer, ensure_ascii=False)
    return text.replace('\\"', '"')
