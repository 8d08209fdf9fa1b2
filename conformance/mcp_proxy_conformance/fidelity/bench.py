"""Access of a check to a relay: both ways to the server, and the comparison of what they show."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mcp_proxy_conformance.catalogue.relay_case import RelayCase
from mcp_proxy_conformance.fidelity import exact_json
from mcp_proxy_conformance.fidelity.exact_json import ABSENT
from mcp_proxy_conformance.fidelity.side import Outcome, Side
from mcp_proxy_conformance.fidelity.started_relay import StartedRelay
from mcp_proxy_conformance.targets.relay import RelayFacts
from mcp_proxy_conformance.verdict.comparison import Comparison
from mcp_proxy_conformance.verdict.result import Inconclusive

LISTED = "RLY.tools.complete.listed"
KINDS: Mapping[str, str] = {
    "tool error": "RLY.down.error-kind.tool-error",
    "error": "RLY.down.error-kind.protocol-error",
}
"""The clauses by which an outcome keeps its kind; a result keeps it by the check's own."""


@dataclass(frozen=True, slots=True)
class RelayBench:
    """Access of a check to one started relay."""

    relay: StartedRelay

    @property
    def direct(self) -> Side:
        """The direct way: a server with the same data, and no relay."""
        return self.relay.direct

    @property
    def through(self) -> Side:
        """The way through the relay."""
        return self.relay.through

    @property
    def facts(self) -> RelayFacts:
        """What the relay declares to change."""
        return self.relay.target.facts

    def needs_tool(self, name: str) -> None:
        """Raise Inconclusive unless the relay lists that tool of the server, which a check calls.

        A tool that it declares to leave out is not listed either.
        """
        if self.through.tool(name) is ABSENT:
            shown = ", ".join(self.through.listing().names[:5]) or "none"
            raise Inconclusive(
                f"the relay does not list {self.through.name_of(name)!r}; it lists: {shown}",
                cause="not_reached",
                hint="have the relay list the upstream's tools; a prefix is declared in [relay]",
                needs=(LISTED,),
            )

    def both(self, act: Callable[[Side], Any]) -> tuple[Any, Any]:
        """Return what an act shows on the direct way, and through the relay."""
        return act(self.direct), act(self.through)

    def judged(self, case: RelayCase) -> Comparison:
        """Play a case on both ways, and return the comparison; a breach is not raised.

        Raises:
            Inconclusive: The relay does not list the case's tool, or the direct way does not show
                what the case is about.
        """
        self.needs_tool(case.tool)
        if case.area == "arguments":
            return self.same_arguments(case, bytes(case.arguments))
        return self.same_outcome(case, dumps_case(case))

    def same_arguments(self, case: RelayCase, arguments: bytes) -> Comparison:
        """Call the case's tool with these arguments, and compare those that both servers get."""

        def arrived(side: Side) -> tuple[Outcome, list[Any]]:
            """Call the tool; return the outcome, and the arguments of each call that arrived."""
            mark = side.server.journal.mark()
            shown = side.call(case.tool, arguments)
            calls = side.server.journal.calls(mark, case.tool)
            return shown, [argument_of(call.raw) for call in calls]

        comparison = Comparison()
        (_, direct), (shown, through) = self.both(arrived)
        if len(direct) != 1 or not exact_json.same_tokens(direct[0], exact_json.read(arguments)):
            raise Inconclusive(f"the direct way does not show the arguments of {case.id}")
        if not through:
            holds = case.refusable and shown.kind != "result"
            comparison.truth(
                f"{case.id}: calls at the upstream", _shown(shown), holds=holds,
                allowed="one, with these arguments", breaks=case.clauses,
            )  # fmt: skip
            return comparison
        self._compare(comparison, case, direct[0], through[0], "arguments", additions=False)
        return comparison

    def same_outcome(self, case: RelayCase, arguments: bytes) -> Comparison:
        """Call the case's tool, and compare the outcome at the case's path.

        Of an outcome of another kind the case leaves its clauses open, unless it is about kinds.
        """
        comparison = Comparison()
        direct, through = self.both(lambda side: side.call(case.tool, arguments))
        allowed = exact_json.at(direct.document, case.at)
        if allowed is ABSENT and case.result and b"structuredContent" in bytes(case.result):
            raise Inconclusive(f"the direct way does not show what {case.id} is about")
        if direct.kind != through.kind and case.at != ("kind",) and direct.kind != "result":
            why = f"{case.id}: the answer is of kind {through.kind!r} instead of {direct.kind!r}"
            return comparison.leaving_open(case.clauses, why, needs=(KINDS[direct.kind],))
        observed = exact_json.at(through.document, case.at)
        if direct.kind != through.kind and observed is ABSENT:
            observed = _shown(through)
        place = ".".join(map(str, case.at))
        additions = case.at[1:2] == ("content",)
        self._compare(comparison, case, allowed, observed, place, additions=additions)
        return comparison

    def _compare(
        self, comparison: Comparison, case: RelayCase, allowed: Any, observed: Any, place: str, *,
        additions: bool,
    ) -> None:  # fmt: skip
        """Record each difference of two values as breaking the case's clauses, else none."""
        path = f"{case.id}: {place}"
        if case.by == "tokens":
            comparison.truth(
                path, exact_json.plain(observed), allowed=exact_json.plain(allowed),
                holds=exact_json.same_tokens(allowed, observed), breaks=case.clauses,
                described=False,
            )  # fmt: skip
            return
        record(comparison, path, allowed, observed, case.clauses, additions=additions)


def record(
    comparison: Comparison, path: str, allowed: Any, observed: Any, clauses: tuple[str, ...], *,
    additions: bool = False,
) -> None:  # fmt: skip
    """Record a finding for each difference of two values, or that the clauses were observed."""
    found = list(exact_json.differences(allowed, observed, additions=additions))
    for each in found:
        joint = "" if not each.path or each.path.startswith("[") else "."
        comparison.truth(
            f"{path}{joint}{each.path}", each.observed, holds=False, allowed=each.allowed,
            breaks=clauses, described=False,
        )  # fmt: skip
    if not found:
        comparison.truth(path, exact_json.plain(observed), holds=True, allowed=None, breaks=clauses)


def argument_of(raw: bytes) -> Any:
    """Return the arguments of a call as it arrived; ABSENT if it has none."""
    return exact_json.at(exact_json.read(raw), ("params", "arguments"))


def dumps_case(case: RelayCase) -> bytes:
    """Return the arguments of a call that is answered as the case says: its own, or its id."""
    own = bytes(case.arguments)
    return own if own != b"{}" else b'{"case":"' + case.id.encode() + b'"}'


def _shown(outcome: Outcome) -> Any:
    """Return an outcome for a finding: its kind, and its value."""
    value = exact_json.plain(outcome.value)
    return {"kind": outcome.kind, **(value if isinstance(value, dict) else {"value": value})}


