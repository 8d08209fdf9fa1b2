"""Comparisons of answers across the eras, handshake and MCP 2026-07-28: lists, values, members."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mcp_proxy_conformance.fidelity import exact_json
from mcp_proxy_conformance.fidelity.bench import RelayBench, argument_of, record
from mcp_proxy_conformance.fidelity.offers import ARGUMENTS, COMPLETIONS, NOTE, TELLING
from mcp_proxy_conformance.fidelity.side import Outcome, Side
from mcp_proxy_conformance.fidelity.stateless_client import meta
from mcp_proxy_conformance.fidelity.stateless_refusals import NOT_EMPTY, both, not_served
from mcp_proxy_conformance.upstream.relayed import Answer, Era
from mcp_proxy_conformance.verdict.comparison import Comparison
from mcp_proxy_conformance.verdict.result import NotApplicable, control
from mcp_proxy_conformance.wire.conversation import Conversation
from mcp_proxy_conformance.wire.faults import ProtocolFault, Unreachable
from mcp_proxy_conformance.wire.jsonrpc import dumps, object_of

STABLE = "RLY.era.tools.stable"
TYPE, HINTS, VALUES = "RLY.era.tools.result-type", "RLY.era.tools.hints", "RLY.era.call.values"
KNOWN_TYPES = ("complete", "input_required")
SCOPES = ("public", "private")
ODD = "an odd type"
ODD_RESULT = b'{"resultType":"example.org/odd","content":[{"type":"text","text":"odd"}]}'
_COMPLETED = COMPLETIONS[0][0]
REQUESTS: Mapping[str, Mapping[str, Any]] = {
    "server/discover": {},
    "tools/list": {},
    "resources/list": {},
    "resources/templates/list": {},
    "resources/read": {"uri": NOTE},
    "prompts/list": {},
    "prompts/get": {"name": "review", "arguments": ARGUMENTS["review"]},
    "completion/complete": _COMPLETED,
    "tools/call": {"name": "echo", "arguments": {}},
}
"""Requests of a server with every feature, with their params."""
CACHEABLE = tuple(
    name for name in REQUESTS if name not in ("prompts/get", "completion/complete", "tools/call")
)
SENT = (
    '{"integers":[9007199254740993,-9007199254740993,18446744073709551616,0],'
    '"decimals":[0.1,-2.5e-3],"text":"“Größe” \U0001f600\\u0000\\t ","empty":["",{},[],null],'
    '"__proto__":{"constructor":false},"deep":[[[[[[[[{"a":[1]}]]]]]]]]}'
).encode()
"""Arguments of a call."""
GIVEN = (
    '{"content":[{"type":"text","text":"“ü” \U0001f600\\r\\n"},'
    '{"type":"image","data":"aGk=","mimeType":"image/png"}],'
    '"structuredContent":{"n":9007199254740993,"d":0.1,"s":"","l":[null,{}]}}'
).encode()
"""The result of a call."""
ERAS: Sequence[Era] = ("handshake", "stateless")


def cells(bench: RelayBench) -> Sequence[Era]:
    """Return the client eras that the relay serves where client or upstream is of 2026-07-28.

    Raises NotApplicable, with what the relay answered, if there is none.
    """
    wanted = [era for era in ERAS if "stateless" in (era, bench.upstream_era)]
    refusals = {era: bench.through.refusal_of(era) for era in wanted}
    served = [era for era, refusal in refusals.items() if refusal is None]
    if not served:
        asked = "; ".join(f"{era}: {refusal}" for era, refusal in refusals.items())
        raise NotApplicable(f"no pair of eras is served ({asked})", cause="not_declared")
    return served


def not_empty(bench: RelayBench) -> Comparison:
    """List the tools in each pair of eras that is served; a list that comes must not be empty.

    A refusal, or no answer, is not compared.
    """
    comparison = Comparison()
    for era in cells(bench):
        try:
            names = bench.through.list_anew(bench.through.main_of(era)).names
        except (Unreachable, ProtocolFault):
            continue
        comparison.truth(
            f"tools that a client ({era}) is shown of an upstream ({bench.upstream_era})",
            list(names), holds=bool(names), allowed="the upstream's", breaks=[NOT_EMPTY],
        )  # fmt: skip
    return comparison


def values(bench: RelayBench) -> Comparison:
    """Call in each pair of eras that is served; arguments and result keep their values.

    Each call is executed once. A pair in which the call is refused is left out; NotApplicable if
    it is refused in every one, Inconclusive if the direct way does not show a call.
    """
    comparison, refused = Comparison(), []
    answer = Answer(result=GIVEN)
    for era in cells(bench):
        direct = bench.relay.direct_of(era)
        for side in (direct, bench.through):
            side.server.answers["values"] = answer
        control(_is_kept(direct, era), f"the direct way ({era}) does not show a call")
        arrived, answered, shown = _called(bench.through, era)
        place = f"a call by a client ({era}) of an upstream ({bench.upstream_era})"
        if not arrived and answered.kind in ("error", "tool error"):
            refused.append(f"{place}: {exact_json.plain(answered.value)!r:.200}")
            continue
        comparison.one_of(f"{place}: executions", len(arrived), [1], breaks=[VALUES])
        for each in arrived[:1]:
            record(
                comparison, f"{place}: arguments", exact_json.read(SENT), each, clauses=(VALUES,)
            )
        for name, value in exact_json.read(GIVEN):
            observed = exact_json.at(shown.document, ("result", name))
            record(
                comparison, f"{place}: {name}", value, observed, clauses=(VALUES,), additions=True
            )
    return comparison.or_not_applicable(
        f"no call is taken ({'; '.join(refused)})", cause="not_declared"
    )


def result_types(bench: RelayBench) -> Comparison:
    """Look at the results of requests of every kind; `resultType` has a value of the protocol.

    An older upstream's member of that name, with another value, may not be handed on. Errors are
    not compared. Raises Inconclusive if the direct way does not show a type.
    """
    comparison = Comparison()
    with both(bench) as (own, shown):
        for method, params in REQUESTS.items():
            results = [
                client.ask(
                    method,
                    {
                        **params,
                        **({"name": side.name_of("echo")} if params.get("name") == "echo" else {}),
                    },
                ).answer.get("result")
                for client, side in ((own, bench.relay.modern), (shown, bench.through))
            ]
            control(
                "resultType" in object_of(results[0]),
                f"the direct way does not show the type of {method}",
            )
            if isinstance(results[1], dict):
                _expect_type(comparison, method, results[1])
        if bench.upstream_era == "handshake":
            bench.through.server.answers[ODD] = Answer(result=ODD_RESULT)
            params = {"name": bench.through.name_of(TELLING), "arguments": {"case": ODD}}
            result = shown.ask("tools/call", params).answer.get("result")
            if isinstance(result, dict):
                _expect_type(comparison, "a call with an odd type", result)
    return comparison


def hints(bench: RelayBench) -> Comparison:
    """Look at lists, a read and the discovery; each complete one says how long it may be kept.

    It also says for whom. Raises Inconclusive if the direct way does not show that.
    """
    comparison = Comparison()
    with both(bench) as (own, shown):
        for method in CACHEABLE:
            params = REQUESTS[method]
            control(
                _is_hinted(own.ask(method, params).answer.get("result")),
                f"the direct way does not show the hints of {method}",
            )
            result = shown.ask(method, params).answer.get("result")
            if isinstance(result, dict) and result.get("resultType") != "input_required":
                told = {name: result.get(name) for name in ("ttlMs", "cacheScope")}
                comparison.truth(
                    f"the hints for caches of {method}", told, holds=_is_hinted(result),
                    allowed="ttlMs from 0 on, and a cacheScope", breaks=[HINTS],
                )  # fmt: skip
    return comparison


def stable(bench: RelayBench) -> Comparison:
    """List the tools as two clients, call twice, then list as three; all five lists are equal.

    The order of tools and their `_meta` do not count. Raises Inconclusive if the lists differ on
    the direct way, or the relay's first one has no tools.
    """
    comparison = Comparison()
    bench.needs_stateless()
    own, shown = (_lists(side) for side in (bench.relay.modern, bench.through))
    control(all(each == own[0] for each in own), "the direct way does not show equal lists")
    if not shown[0] or isinstance(shown[0], str):
        why = f"the relay lists no tools to a client of 2026-07-28: {shown[0]}"
        raise not_served(why)
    for number, each in enumerate(shown[1:], 2):
        comparison.truth(
            f"list {number} of {len(shown)}", each, holds=each == shown[0], allowed=shown[0],
            breaks=[STABLE], described=False,
        )  # fmt: skip
    return comparison


def _lists(side: Side) -> Sequence[Any]:
    """Return the tools listed by two clients before a call, and by three after it, for a report."""
    clients = [side.client(wire="stateless") for _ in range(3)]
    found = [_tools(side, client) for client in clients[:2]]
    for arguments in (b"{}", b'{"case":"logs"}'):
        side.call(TELLING, arguments, client=clients[0], meta=dumps(meta()))
    return [*found, *(_tools(side, client) for client in clients)]


def _tools(side: Side, client: Conversation) -> Any:
    """Return the tools that a client is listed, sorted by name and without `_meta`.

    If the list fails, it is the fault's text.
    """
    try:
        tools = [
            {name: exact_json.plain(value) for name, value in tool if name != "_meta"}
            for tool in side.list_anew(client).tools
        ]
    except (Unreachable, ProtocolFault) as fault:
        return str(fault)
    return sorted(tools, key=lambda tool: str(tool.get("name")))


def _called(side: Side, era: Era) -> tuple[Sequence[Any], Outcome, Outcome]:
    """Call `echo` with SENT, then another tool whose result is to be GIVEN, as the shared client.

    Return (the arguments of each call that arrived for the first, its outcome, the second one's).
    """
    stated = dumps(meta()) if era == "stateless" else b""
    mark = side.server.journal.mark()
    client = side.main_of(era)
    answered = side.call("echo", SENT, client=client, meta=stated)
    arrived = [argument_of(call.raw) for call in side.server.journal.calls(mark)]
    shown = side.call(TELLING, b'{"case":"values"}', client=client, meta=stated)
    return arrived, answered, shown


def _is_kept(side: Side, era: Era) -> bool:
    """Whether the arguments SENT arrive once, and GIVEN's structured content, both unchanged."""
    arrived, _, shown = _called(side, era)
    given = exact_json.at(shown.document, ("result", "structuredContent"))
    wanted = exact_json.at(exact_json.read(GIVEN), ("structuredContent",))
    return [*map(exact_json.plain, arrived)] == [
        exact_json.plain(exact_json.read(SENT))
    ] and given == wanted


def _expect_type(comparison: Comparison, place: str, result: Mapping[str, Any]) -> None:
    """Record a finding unless a result's `resultType` is there and one of the protocol's."""
    shown = result.get("resultType", "none")
    comparison.one_of(f"the type of the result of {place}", shown, KNOWN_TYPES, breaks=[TYPE])


def _is_hinted(result: Any) -> bool:
    if not isinstance(result, dict):
        return False
    ttl = result.get("ttlMs")
    return type(ttl) is int and ttl >= 0 and result.get("cacheScope") in SCOPES
