"""Comparisons of listed tools: which there are, on which pages, and what their entries say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from mcp_proxy_conformance.fidelity import exact_json
from mcp_proxy_conformance.fidelity.bench import RelayBench, record, repeated
from mcp_proxy_conformance.fidelity.exact_json import ABSENT, Pairs
from mcp_proxy_conformance.fidelity.side import Outcome, Side
from mcp_proxy_conformance.fidelity.stages import INSTANCES, MEMBERS
from mcp_proxy_conformance.fidelity.stateless_answers import ERAS
from mcp_proxy_conformance.fidelity.stateless_client import meta
from mcp_proxy_conformance.verdict.comparison import Comparison
from mcp_proxy_conformance.verdict.result import Inconclusive, applies, control
from mcp_proxy_conformance.wire.client import Wire
from mcp_proxy_conformance.wire.faults import ProtocolFault, Unreachable
from mcp_proxy_conformance.wire.input_schema import Applied, applied
from mcp_proxy_conformance.wire.jsonrpc import dumps, quoted

LISTED, ONCE = "RLY.tools.complete.listed", "RLY.tools.complete.once"
CALLABLE, QUIET = "RLY.tools.complete.callable", "RLY.up.once.quiet"
FILTERED = "RLY.tools.filtered"
BEYOND, ENDS = "RLY.tools.paging.beyond-first", "RLY.tools.paging.ends"
EXACT, BAD = "RLY.tools.paging.cursor-exact", "RLY.tools.paging.bad-cursor"
SAME, VALID = "RLY.tools.schema.same-instances", "RLY.tools.schema.valid"
DESCRIPTION = "RLY.tools.members.description"
ANNOTATIONS = "RLY.tools.members.annotations"
OUTPUT, KEPT = "RLY.tools.members.output-schema", "RLY.tools.members.kept"
CONFORMS, OF_RESULTS = "RLY.down.structured.conforms", "outputSchema of members"
TOTALS: Sequence[Mapping[str, Any]] = (
    {"total": 0}, {"total": -1}, {"total": 1.5}, {}, {"total": 2, "more": 1}, {"total": "2"},
    {"total": 1, "rate": 0.5}, {"total": 1, "rate": "0.5"},
)  # fmt: skip
"""Results that the output schema of the stage `described` accepts or refuses."""


def wanted(bench: RelayBench) -> list[str]:
    """Return the server's names of its tools, but for those that the relay declares to filter."""
    return [name for name in bench.direct.listing().names if name not in bench.facts.filters]


def listed_tools(bench: RelayBench, clause: str = LISTED) -> Comparison:
    """Compare the names that the relay lists with those of the server, over all pages.

    A missing tool breaks `clause`, unless the relay declares to filter it.
    """
    comparison = Comparison(origin="the list of tools")
    names = [bench.through.bare(name) for name in bench.listing().names]
    missing = [name for name in wanted(bench) if name not in names]
    is_seen = len(missing) < len(wanted(bench))
    comparison.one_of("tools of the upstream that are not listed", missing, [[]], breaks=[clause])
    comparison.one_of(
        "tools that are listed more than once", repeated(names), [[]], breaks=[ONCE],
        shows=[ONCE] if is_seen else [],
    )  # fmt: skip
    return comparison


def callable_tools(bench: RelayBench) -> Comparison:
    """Call each tool of the server that the relay lists; compare what arrives and the outcome.

    A call of that name must arrive, once, and a result come back.
    """
    comparison = Comparison()
    listed = {bench.through.bare(name) for name in bench.listing().names}
    for name in wanted(bench):
        if name not in listed:
            continue
        mark = bench.through.server.journal.mark()
        outcome = bench.through.call(name)
        arrived = [call.params().get("name") for call in bench.through.server.journal.calls(mark)]
        comparison.one_of(
            f"calls of {name} at the upstream", sorted(set(map(str, arrived))), [[name]],
            breaks=[CALLABLE],
        )  # fmt: skip
        if name in arrived:
            comparison.one_of(f"executions of {name}", arrived.count(name), [1], breaks=[QUIET])
        comparison.one_of(f"outcome of {name}", outcome.kind, ["result"], breaks=[CALLABLE])
    return comparison


def filtered_tools(bench: RelayBench) -> Comparison:
    """List and call each tool that the relay declares to filter, as clients of each era.

    It may not be listed, under no name may a call of it reach the upstream, and none has a result.
    Raises NotApplicable without such a declaration; Inconclusive if the direct way does not list
    and execute the tool, or the relay does so with no tool of that client.
    """
    comparison = Comparison()
    filters = sorted({*bench.facts.filters})
    applies(filters, "the relay declares no filters", cause="not_declared")
    for wire in (each for each in ERAS if each in bench.served()):
        direct, client = bench.relay.direct_of(wire), f"a {wire} client"
        control(
            _executed(direct, wire, wanted(bench)),
            "the direct way executes no tool that is not filtered",
        )
        if not _executed(bench.through, wire, wanted(bench)):
            raise Inconclusive(
                f"the relay executes no tool that it does not filter, for {client}",
                cause="not_reached", needs=(LISTED, CALLABLE),
            )  # fmt: skip
        listed = bench.through.list_anew(bench.through.main_of(wire)).names
        for tool in filters:
            control(
                _executed(direct, wire, [tool]), f"the direct way does not list and execute {tool}"
            )
            names = {bench.through.name_of(tool), tool}
            comparison.one_of(
                f"{tool}, for {client}", "listed" if names & {*listed} else "not listed",
                ["not listed"], breaks=[FILTERED],
            )  # fmt: skip
            for name in sorted(names):
                outcome, number = _called(bench.through, wire, name)
                comparison.truth(
                    f"a call of {name}, by {client}",
                    {"outcome": outcome.kind, "calls at the upstream": number},
                    holds=outcome.kind != "result" and not number,
                    allowed="a refusal, before the upstream is asked", breaks=[FILTERED],
                )  # fmt: skip
    return comparison


def _executed(side: Side, wire: Wire, tools: Sequence[str]) -> bool:
    listed = side.list_anew(side.main_of(wire)).names
    name = next((each for each in map(side.name_of, tools) if each in listed), None)
    if name is None:
        return False
    outcome, number = _called(side, wire, name)
    return outcome.kind == "result" and bool(number)


def _called(side: Side, wire: Wire, name: str) -> tuple[Outcome, int]:
    """Call a tool by its listed name, as a client of an era; return (outcome, calls that arrive).

    Calls that the server refuses count, too.
    """
    mark, stated = side.server.journal.mark(), {"_meta": meta()} if wire == "stateless" else {}
    params = {"name": name, "arguments": {}, **stated}
    outcome = side.asked("tools/call", dumps(params), client=side.main_of(wire))
    calls = side.server.journal.since(mark, "tools/call")
    return outcome, sum(call.params().get("name") in (name, side.bare(name)) for call in calls)


def walked_pages(bench: RelayBench) -> Comparison:
    """Walk along the relay's cursors; the walk must end, and no cursor come twice.

    Raises Inconclusive if the relay gives no first page.
    """
    comparison = Comparison()
    _needs_page(bench)
    try:
        listing = bench.through.list_anew()
        observed: Any = list(listing.cursors)
        is_seen = {*map(bench.through.bare, listing.names)} & {*wanted(bench)}
        shows = [ENDS] if is_seen else []
    except ProtocolFault as fault:
        observed, shows = str(fault), []
    comparison.truth(
        "the walk along the cursors", observed, holds=isinstance(observed, list),
        allowed="an end, and each cursor once", breaks=[ENDS], shows=shows,
    )  # fmt: skip
    return comparison


def cursors_upstream(bench: RelayBench) -> Comparison:
    """Compare the cursors that the server gets with those that it gave.

    Raises Inconclusive if it gets none.
    """
    comparison = Comparison()
    with suppress(Unreachable, ProtocolFault):  # a changed cursor is refused
        bench.through.list_anew()
    given = {page.following for page in bench.through.server.given.pages.values()} - {None}
    lists = bench.through.server.journal.since(0, "tools/list")
    asked = [arrival.params()["cursor"] for arrival in lists if "cursor" in arrival.params()]
    if not asked:
        bench.listing()
        raise Inconclusive("the relay asks the upstream for its first page only", needs=(BEYOND,))
    strange = sorted({quoted(each) for each in asked if each not in [*given]})
    comparison.one_of("cursors that the upstream did not give", strange, [[]], breaks=[EXACT])
    return comparison


def invented_cursor(bench: RelayBench) -> Comparison:
    """Ask for a page under a cursor that nobody gave; a page is a breach.

    Raises Inconclusive if the relay gives no first page.
    """
    comparison = Comparison()
    _needs_page(bench)
    reply = bench.through.main.request("tools/list", {"cursor": "a cursor that nobody gave"})
    comparison.truth(
        "a page under an invented cursor", exact_json.plain(exact_json.read(reply.raw)),
        holds=reply.error is not None, allowed="an error", breaks=[BAD],
    )  # fmt: skip
    return comparison


def _needs_page(bench: RelayBench) -> None:
    """Raise Inconclusive if the relay refuses even the first page, which says nothing of others."""
    if bench.through.main.request("tools/list", {}).error is not None:
        bench.listing()
        raise Inconclusive("the relay does not list tools", cause="not_reached", needs=(LISTED,))


def input_schemas(bench: RelayBench) -> Comparison:
    """Compare which arguments the listed input schemas accept with which the server's own accept.

    A listed one that is no schema breaks RLY.tools.schema.valid, too. Raises Inconclusive if the
    relay does not list one of the tools.
    """
    comparison = Comparison()
    for name, instances in INSTANCES.items():
        bench.needs_tool(name)
        schema = exact_json.python(exact_json.at(bench.through.tool(name), ("inputSchema",)))
        own = exact_json.python(exact_json.at(bench.direct.tool(name), ("inputSchema",)))
        forms = [dict(instance) for instance in instances]
        _compare_schemas(comparison, f"inputSchema of {name}", (own, schema), forms, clause=SAME)
    return comparison


def descriptions(bench: RelayBench) -> Comparison:
    """Compare the description of the tool `members`; Inconclusive if it is not listed."""
    comparison = Comparison()
    bench.needs_tool("members")
    own, listed = (
        exact_json.at(side.tool("members"), ("description",))
        for side in (bench.direct, bench.through)
    )
    record(comparison, "members: description", own, listed, clauses=(DESCRIPTION,))
    return comparison


def listed_annotations(bench: RelayBench) -> Comparison:
    """Compare the annotations that the relay lists for each tool, which may be fewer.

    Raises Inconclusive if the relay does not list `members`, which has all of them.
    """
    comparison = Comparison()
    bench.needs_tool("members")
    for name in bench.direct.listing().names:
        hints = exact_json.at(bench.through.tool(name), ("annotations",))
        theirs = exact_json.at(bench.direct.tool(name), ("annotations",))
        for hint, value in hints if isinstance(hints, Pairs) else ():
            if value is not None:
                allowed = exact_json.at(theirs, (hint,))
                place = f"{name}: annotations.{hint}"
                record(comparison, place, allowed, value, clauses=(ANNOTATIONS,))
    return comparison


def output_schemas(bench: RelayBench) -> Comparison:
    """Apply the output schema that the relay lists for `members`, if any, and the server's own.

    Nothing is compared without one; Inconclusive if the tool is not listed.
    """
    comparison = Comparison()
    bench.needs_tool("members")
    schema = exact_json.at(bench.through.tool("members"), ("outputSchema",))
    if schema not in (ABSENT, None):
        own = exact_json.at(bench.direct.tool("members"), ("outputSchema",))
        forms = [dict(total) for total in TOTALS]
        schemas = (exact_json.python(own), exact_json.python(schema))
        _compare_schemas(comparison, OF_RESULTS, schemas, forms, clause=OUTPUT)
    return comparison


def kept_members(bench: RelayBench) -> Comparison:
    """Record each member of the tool `members` that is lost or changed when listed.

    The output schema may be another one. Raises Inconclusive if the tool is not listed.
    """
    comparison = Comparison()
    bench.needs_tool("members")
    tool, own = bench.through.tool("members"), bench.direct.tool("members")
    for name in MEMBERS:
        allowed, observed = exact_json.at(own, (name,)), exact_json.at(tool, (name,))
        if name == "outputSchema":
            allowed, observed = "listed", ABSENT if observed is ABSENT else "listed"
        record(comparison, f"members: {name}", allowed, observed, clauses=(KEPT,), additions=True)
    return comparison


def conforming_result(bench: RelayBench) -> Comparison:
    """Call the tool `members`; the result has to fit the output schema that the relay lists for it.

    Nothing is compared if no output schema is listed. Raises Inconclusive if the tool is not
    listed.
    """
    comparison = Comparison()
    bench.needs_tool("members")
    schema = exact_json.python(exact_json.at(bench.through.tool("members"), ("outputSchema",)))
    if not isinstance(schema, dict):
        return comparison
    outcome = bench.through.call("members")
    content = exact_json.at(outcome.document, ("result", "structuredContent"))
    value = exact_json.python(content)
    refusals = applied(schema, [value]).result if isinstance(value, dict) else [["it is missing"]]
    comparison.origin = OF_RESULTS
    comparison.truth(
        "members: structuredContent", value, holds=refusals == [[]],
        allowed="a value that the listed outputSchema accepts", breaks=[CONFORMS],
    )  # fmt: skip
    return comparison


def _compare_schemas(
    comparison: Comparison, place: str, schemas: tuple[Any, Any], forms: list[dict[str, Any]],
    *, clause: str,
) -> None:  # fmt: skip
    """Record each of `forms` that only one of two schemas, the server's own and the listed, accept.

    A listed one that is not a schema breaks `clause` and schema.valid; one that cannot be applied
    breaks `clause` alone.
    """
    own, listed = schemas
    comparison.origin = place
    allowed = applied(own, forms)
    observed = applied(listed, forms) if isinstance(listed, dict) else Applied("none", "no object")
    if observed.kind != "refusals":
        breaks = [VALID, clause] if observed.kind == "none" else [clause]
        comparison.truth(place, observed.result, holds=False, allowed="a schema", breaks=breaks)
        return
    comparison.truth(place, "a schema", holds=True, allowed="a schema", breaks=[VALID])
    for form, before, after in zip(forms, allowed.result, observed.result, strict=True):
        verdicts = ["accepted" if not refusals else "refused" for refusals in (before, after)]
        comparison.one_of(f"{place}: {quoted(form)}", verdicts[1], [verdicts[0]], breaks=[clause])
