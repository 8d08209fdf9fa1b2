"""Comparisons of listed tools: which there are, whether they can be called, what they say."""

from __future__ import annotations

from collections import Counter

from mcp_proxy_conformance.fidelity.bench import RelayBench
from mcp_proxy_conformance.verdict.comparison import Comparison

LISTED, ONCE = "RLY.tools.complete.listed", "RLY.tools.complete.once"
CALLABLE = "RLY.tools.complete.callable"


def wanted(bench: RelayBench) -> list[str]:
    """Return the names of the server's tools that the relay is to list, by the server's names."""
    return [name for name in bench.direct.listing().names if name not in bench.facts.filters]


def listed_tools(bench: RelayBench) -> Comparison:
    """Compare the names that the relay lists with those of the server, over all pages."""
    comparison = Comparison()
    names = [bench.through.bare(name) for name in bench.through.listing().names]
    missing = [name for name in wanted(bench) if name not in names]
    twice = sorted(name for name, number in Counter(names).items() if number > 1)
    comparison.one_of("tools of the upstream that are not listed", missing, [[]], breaks=[LISTED])
    comparison.one_of("tools that are listed more than once", twice, [[]], breaks=[ONCE])
    return comparison


def callable_tools(bench: RelayBench) -> Comparison:
    """Call each tool of the server that the relay lists, and compare what arrives."""
    comparison = Comparison()
    listed = {bench.through.bare(name) for name in bench.through.listing().names}
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
        comparison.one_of(f"outcome of {name}", outcome.kind, ["result"], breaks=[CALLABLE])
    return comparison
