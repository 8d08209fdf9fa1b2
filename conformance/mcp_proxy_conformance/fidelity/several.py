"""Comparisons of two upstreams behind one relay: tools of one name, and where calls of them go."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_proxy_conformance.fidelity.bench import RelayBench
from mcp_proxy_conformance.fidelity.stages import ALONE, SEARCHES, SHARED
from mcp_proxy_conformance.upstream.relayed import RelayedServer
from mcp_proxy_conformance.verdict.comparison import Comparison
from mcp_proxy_conformance.verdict.result import Inconclusive, NotApplicable, applies, control
from mcp_proxy_conformance.wire.jsonrpc import dumps

UNIQUE, ROUTED = "RLY.tools.collide.unique", "RLY.tools.collide.routed"
CALLABLE = "RLY.tools.complete.callable"
WHICH = ("first", "second")
"""The upstreams in words, in order."""


def listed_apart(bench: RelayBench) -> Comparison:
    """List the tools of two upstreams; the one whose name both have is there twice, as two names.

    The tools are known by their descriptions. Raises NotApplicable for a relay of one upstream, or
    if it declares to leave that tool out; Inconclusive if the other tools are not listed.
    """
    comparison = Comparison()
    shared, own = names(bench)
    applies(SHARED not in bench.facts.filters, f"the relay declares that it leaves {SHARED} out")
    control(all(own), "the relay does not list the tools of both upstreams as described")
    first, second = shared
    comparison.truth(
        f"names of the tool {SHARED} of either upstream", dict(zip(WHICH, shared, strict=True)),
        holds=bool(first and second) and not {*first} & {*second},
        allowed="one at least of each, none of both", breaks=[UNIQUE],
    )  # fmt: skip
    return comparison


def routed(bench: RelayBench) -> Comparison:
    """Call each tool of two upstreams by its listed name; it arrives where it is described.

    A name that is listed twice is left out. Raises NotApplicable for a relay of one upstream,
    Inconclusive if no call of all arrives.
    """
    comparison = Comparison()
    reached: dict[tuple[str, int], list[str]] = {}
    shared, own = names(bench)
    tools = [(name, at) for each in (shared, own) for at in (0, 1) for name in each[at]]
    marks = [server.journal.mark() for server in both(bench)]
    for name, at in tools:
        if [other for other, _ in tools].count(name) > 1:
            continue
        _call(bench, name)
        calls = [
            len(server.journal.calls(mark)) for server, mark in zip(both(bench), marks, strict=True)
        ]
        marks = [server.journal.mark() for server in both(bench)]
        reached[name, at] = [WHICH[number] for number in (0, 1) if calls[number]]
    if not any(reached.values()):
        why = "no call of a listed tool arrives at either upstream"
        raise Inconclusive(why, cause="other_clause", needs=(CALLABLE,))
    for (name, at), arrived in reached.items():
        comparison.one_of(
            f"where a call of {name} arrives, a tool of the {WHICH[at]} upstream", arrived,
            [[WHICH[at]]], breaks=[ROUTED],
        )  # fmt: skip
    return comparison


def both(bench: RelayBench) -> tuple[RelayedServer, RelayedServer]:
    """Return the servers of a relay of several; NotApplicable for a relay of one."""
    if bench.relay.refusal or bench.relay.second is None:
        raise NotApplicable(bench.relay.refusal, cause="not_declared")
    return bench.through.server, bench.relay.second


def names(bench: RelayBench) -> tuple[Sequence[Sequence[str]], Sequence[Sequence[str]]]:
    """Return the listed names of the shared tool of each upstream, and of each one's own tool.

    Both are pairs of lists. Raises NotApplicable for a relay of one upstream, Inconclusive if its
    list cannot be read.
    """
    both(bench)
    listed = [
        (str(tool.last().get("name")), str(tool.last().get("description")))
        for tool in bench.listing().tools
    ]
    shared, own = (
        [[name for name, text in listed if sentence in text] for sentence in sentences]
        for sentences in (SEARCHES, ALONE)
    )
    return shared, own


def call_all(bench: RelayBench) -> None:
    """Call each tool that the relay lists, as the client that checks share; ignore the outcomes."""
    for name in bench.listing().names:
        _call(bench, name)


def _call(bench: RelayBench, name: str) -> None:
    bench.through.asked("tools/call", dumps({"name": name, "arguments": {"x": 1}}))
