"""Comparisons of requests as the upstream gets them: their form, names of tools, and `_meta`."""

from __future__ import annotations

from mcp_proxy_conformance.fidelity import exact_json
from mcp_proxy_conformance.fidelity.bench import RelayBench, record
from mcp_proxy_conformance.fidelity.relay_case import relay_cases
from mcp_proxy_conformance.fidelity.stages import NAMES
from mcp_proxy_conformance.verdict.comparison import Comparison
from mcp_proxy_conformance.verdict.result import control

WELL_FORMED, NAME, META = "RLY.up.wellformed", "RLY.up.name", "RLY.up.meta.kept"
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
META_TEXT = b'{"example.org/kept":{"a":[1,null,"x"]},"traceparent":"' + TRACE.encode() + b'"}'
SHOWN = 200


def well_formed(bench: RelayBench) -> Comparison:
    """Send the arguments of every case, and read each message that the upstream gets as JSON-RPC.

    After a call without an answer the next one is made by a new client. Raises Inconclusive if the
    upstream gets no call.
    """
    comparison = Comparison()
    bench.needs_tool("echo")
    journal = bench.through.server.journal
    began, client = journal.mark(), bench.through.client()
    for case in relay_cases():
        if case.area == "arguments":
            mark, comparison.origin = journal.mark(), case.id
            shown = bench.through.call(case.tool, bytes(case.arguments), client=client)
            if shown.kind == "none":
                client = bench.through.client()
            wrong = [
                arrival.raw[:SHOWN].decode("utf-8", "backslashreplace")
                for arrival in journal.since(mark)
                if arrival.raw and not _is_message(arrival.raw)
            ]
            comparison.one_of(
                f"{case.id}: messages at the upstream that are not JSON-RPC in UTF-8", wrong, [[]],
                breaks=[WELL_FORMED],
            )  # fmt: skip
    control(journal.since(began, "tools/call"), "no call reached the upstream")
    return comparison


def names_upstream(bench: RelayBench) -> Comparison:
    """Call tools with dots, capitals and long names; the upstream gets their names as they are.

    Raises Inconclusive if one is not listed, or its call does not arrive.
    """
    comparison = Comparison()
    for name in NAMES:
        bench.needs_tool(name)
        mark = bench.through.server.journal.mark()
        outcome = bench.through.call(name)
        calls = bench.through.server.journal.since(mark, "tools/call")
        control(calls, f"the call of {name} did not reach the upstream: {outcome.kind}")
        arrived = str(calls[0].params().get("name"))
        comparison.one_of(f"{name} at the upstream", arrived, [name], breaks=[NAME])
    return comparison


def meta_upstream(bench: RelayBench) -> Comparison:
    """Call with members of a vendor and a trace in `_meta`, and compare those that arrive.

    Raises Inconclusive if the call does not arrive.
    """
    comparison = Comparison()
    bench.needs_tool("echo")
    mark = bench.through.server.journal.mark()
    bench.through.call("echo", meta=META_TEXT)
    calls = bench.through.server.journal.calls(mark, "echo")
    control(calls, "the call did not reach the upstream")
    arrived = exact_json.sent(calls[0].raw, "params", "_meta")
    for name, value in exact_json.read(META_TEXT):
        record(comparison, f"_meta.{name}", value, exact_json.at(arrived, (name,)), clauses=(META,))
    return comparison


def _is_message(raw: bytes) -> bool:
    try:
        raw.decode("utf-8")
        message = exact_json.read(raw)
    except ValueError:
        return False
    return bool(exact_json.at(message, ("jsonrpc",)) == "2.0")
