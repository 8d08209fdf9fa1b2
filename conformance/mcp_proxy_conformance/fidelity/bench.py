"""Access of a check to a relay and to a direct connection; comparison of their outcomes."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from mcp_proxy_conformance.fidelity import exact_json
from mcp_proxy_conformance.fidelity.content import ITEMS, counterparts
from mcp_proxy_conformance.fidelity.exact_json import ABSENT, Kind
from mcp_proxy_conformance.fidelity.relay_case import RelayCase
from mcp_proxy_conformance.fidelity.relay_target import AUTHORIZATION, RelayFacts
from mcp_proxy_conformance.fidelity.side import Listing, Outcome, Side
from mcp_proxy_conformance.fidelity.started_relay import StartedRelay
from mcp_proxy_conformance.upstream.relayed import Era
from mcp_proxy_conformance.verdict.comparison import Comparison
from mcp_proxy_conformance.verdict.result import Inconclusive, NotApplicable, applies, control
from mcp_proxy_conformance.wire.client import Wire
from mcp_proxy_conformance.wire.faults import ProtocolFault, Unreachable
from mcp_proxy_conformance.wire.jsonrpc import list_of, object_of
from mcp_proxy_conformance.wire.revisions import LATEST_STATELESS

_Shown = TypeVar("_Shown")
USERS = ("Bearer canary-one-5d1f", "Bearer canary-two-90ac")
"""The credentials of two users of a relay that declares none."""
TIMES, PAUSE_S = 5, 0.1
WIRES: Sequence[Wire] = ("handshake", "stateless")
EXCERPT = 200
STRUCTURED_SINCE = "2025-06-18"
"""The first revision with structured content."""
CONTENT = ("result", "content")
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

    @property
    def upstream_era(self) -> Era:
        """The era of the server behind the relay."""
        return self.through.server.given.era

    @property
    def stateless_capabilities(self) -> Mapping[str, Any]:
        """What the relay declares to clients of 2026-07-28, if it serves them; else empty."""
        if self.through.refusal_of("stateless") is not None:
            return {}
        opening = self.through.main_of("stateless").opening
        return {} if opening is None else object_of(opening.value().get("capabilities"))

    def user(self, number: int) -> Mapping[str, str]:
        """Return the headers that authorize the first (0) or second of two users.

        They are those that the relay declares, else invented ones.
        """
        return self.facts.client_headers(number) or {AUTHORIZATION: USERS[number]}

    @property
    def reaches_by_http(self) -> bool:
        """Whether the relay has reached its upstream over HTTP, and not over stdio."""
        return any(arrival.line for arrival in self.through.server.journal.since())

    def needs_http(self) -> None:
        """Raise NotApplicable unless the relay has reached its upstream over HTTP.

        Call `served` before: it raises too while nothing has reached the upstream.
        """
        applies(self.reaches_by_http, "the relay reaches its upstream over stdio")

    def listing(self) -> Listing:
        """Return the tools that the relay lists, on all pages, asked for once.

        Raises Inconclusive if the list is invalid, Unreachable without an answer.
        """
        try:
            return self.through.listing()
        except ProtocolFault as fault:
            raise Inconclusive(
                f"the relay's list of tools cannot be read: expected {fault.expected}, but the"
                f" target sent {fault.seen}",
                cause="unread_answer",
                hint="have the relay answer tools/list with the upstream's tools",
                needs=(LISTED,),
            ) from None

    def needs_tool(self, name: str, wire: Wire = "handshake") -> None:
        """Raise Inconclusive unless the relay lists the tool that the server calls `name`.

        For the handshake era all pages count. For `stateless` only the first page counts, as
        `served`, which must be called before, has noted it.
        """
        names = self.listing().names if wire == "handshake" else self.relay.listed.get(wire, ())
        if self.through.name_of(name) not in names:
            shown = ", ".join(names[:5]) or "none"
            raise Inconclusive(
                f"the relay does not list {self.through.name_of(name)!r}; it lists: {shown}",
                cause="not_reached",
                hint="have the relay list the upstream's tools; a prefix is declared in [relay]",
                needs=(LISTED,),
            )

    def needs_clients(self) -> None:
        """Raise NotApplicable if the relay serves over stdio, where it can have one client only."""
        applies(self.relay.target.transport != "stdio", "a relay over stdio has one client")

    def needs_stateless(self) -> None:
        """Raise NotApplicable unless the relay serves 2026-07-28 to its clients.

        It is asked by `server/discover`, once, if it serves over streamable HTTP; the exception
        quotes a refusal.
        """
        if (refusal := self.through.refusal_of("stateless")) is not None:
            is_asked = self.relay.target.transport == "http"
            asked = f"server/discover of {LATEST_STATELESS} is refused: " if is_asked else ""
            raise NotApplicable(f"{asked}{refusal}", cause="not_declared")

    def served(self, *wires: Wire) -> Sequence[Wire]:
        """Return those of `wires`, by default both client eras, in which the relay lists tools.

        Each era is asked once. An era whose first page is empty is returned only if the other ones
        fail or are empty too. Raises NotApplicable, with the relay's answers, if none is served.
        """
        reasons = self.relay.unserved
        for wire in set(WIRES) - set(reasons):
            reasons[wire] = self._unserved(wire)
        if served := [wire for wire in wires or WIRES if not reasons[wire]]:
            return [wire for wire in served if self.relay.listed.get(wire)] or served
        era = self.through.server.given.era
        shown = "; ".join(
            f"to a {wire} client: {reasons[wire]}" for wire in wires or WIRES if reasons[wire]
        )
        why = f"it lists no tools in front of an upstream of the {era} era ({shown})"
        raise NotApplicable(why, cause="not_declared")

    def _unserved(self, wire: Wire) -> str:
        """Return why a client of an era gets no list of tools; "" if it gets one, even if empty.

        The names on its first page are kept in `relay.listed`.
        """
        if self.relay.refusal and (wire == "handshake" or not self.relay.alive()):
            return self.relay.refusal
        if reason := self.through.refusal_of(wire):
            return reason
        try:
            reply = self.through.main_of(wire).request("tools/list")
        except (Unreachable, ProtocolFault) as fault:
            return str(fault)
        if reply.error is not None:
            return reply.raw[:EXCERPT].decode("utf-8", "replace")
        tools = list_of(reply.value().get("tools"))
        self.relay.listed[wire] = tuple(str(object_of(each).get("name")) for each in tools)
        return ""

    def serves(self) -> bool:
        """Whether the relay still lists tools to the client that checks share, and runs.

        If it never listed any, whether it runs.
        """
        if not self.relay.alive() or not self.through.has_tools:
            return self.relay.alive()
        try:
            return bool(self.through.list_anew().names)
        except (Unreachable, ProtocolFault):
            return False

    def both(self, act: Callable[[Side], Any]) -> tuple[Any, Any]:
        """Return (what `act` returns on the direct way, what it returns through the relay)."""
        return act(self.direct), act(self.through)

    def at_once(self, act: Callable[[Side], _Shown]) -> tuple[_Shown, _Shown]:
        """Return (what `act` returns on the direct way, through the relay), called in two threads.

        An act may use no client but those that it makes.
        """
        with ThreadPoolExecutor(2) as crew:
            direct, through = crew.map(act, (self.direct, self.through))
        return direct, through

    def judged(self, case: RelayCase, of: Mapping[Kind, str] | None = None) -> Comparison:
        """Play a case on both ways, and return the comparison; a breach is not raised.

        A case of arguments compares what arrives at the upstream, any other one the answers. `of`
        maps a kind of difference to the clause that it breaks, by default all of the case's.

        Raises:
            Inconclusive: The relay does not list the case's tool, or the direct way does not show
                what the case is about.
            NotApplicable: Nothing arrives of what the case is about, as another clause judges.
        """
        self.needs_tool(case.tool)
        if case.area == "arguments":
            return self.same_arguments(case, bytes(case.arguments), of)
        return self.same_outcome(case, dumps_case(case), of)

    def same_arguments(
        self, case: RelayCase, arguments: bytes, of: Mapping[Kind, str] | None = None
    ) -> Comparison:
        """Call the case's tool with `arguments`, a JSON text, on both ways; compare what arrives.

        If no call reaches the upstream, that is a finding unless the case allows a refusal and the
        answer is an error; the relay must also go on serving then. `of` is as in `judged`. Raises
        Inconclusive if the direct way does not show the arguments.
        """

        def arrived(side: Side) -> tuple[Outcome, list[Any]]:
            mark = side.server.journal.mark()
            shown = side.call(case.tool, arguments)
            calls = side.server.journal.calls(mark, case.tool)
            return shown, [argument_of(call.raw) for call in calls]

        comparison = Comparison(origin=case.id)
        (_, direct), (shown, through) = self.both(arrived)
        control(
            len(direct) == 1 and exact_json.same_tokens(direct[0], exact_json.read(arguments)),
            f"the direct way does not show the arguments of {case.id}",
        )
        if not through:
            holds = case.refusable and shown.kind in ("error", "tool error")
            comparison.truth(
                f"{case.id}: calls at the upstream", _shown(shown), holds=holds,
                allowed="one, with these arguments",
                breaks=(of["other"],) if of else case.clauses, shows=() if of else None,
            )  # fmt: skip
            self._expect_serving(comparison, case)
            return comparison
        for each in through:
            self._compare(comparison, case, (direct[0], each), f"{case.id}: arguments", of)
        return comparison

    def same_outcome(
        self, case: RelayCase, arguments: bytes, of: Mapping[Kind, str] | None = None
    ) -> Comparison:
        """Call the case's tool on both ways, and return the comparison of the outcomes at its path.

        An error or silence in a success's place is a finding, unless the case allows an error; with
        `case.by` "loud", only a success is one. A success in an error's place leaves the case's
        clauses open, and so do content items that cannot be matched with the upstream's. Raises
        NotApplicable for an error that is allowed or of the other kind (tool or protocol), or an
        optional part that is missing; Inconclusive if the direct way gets no answer. `of` is as in
        `judged`.
        """
        comparison = Comparison(origin=case.id)
        mark = self.through.server.journal.mark()
        direct, through = self.both(lambda side: side.call(case.tool, arguments))
        if (key := exact_json.sent(arguments, "case")) is not ABSENT:
            self.through.expect_argument(mark, "case", str(key))
        control(direct.kind != "none", f"the direct way does not show what {case.id} is about")
        allowed = exact_json.at(direct.document, case.at)
        observed = exact_json.at(through.document, case.at)
        place = f"{case.id}: {'.'.join(map(str, case.at))}"
        if case.at[:2] == CONTENT and ITEMS not in case.clauses and through.kind == direct.kind:
            sides = [exact_json.at(each.document, CONTENT) for each in (direct, through)]
            items = counterparts(*sides) if all(isinstance(each, list) for each in sides) else []
            if items is None:
                why = f"{case.id}: content items were added, lost or merged"
                return comparison.leaving_open(case.clauses, why, needs=(ITEMS,))
            observed = exact_json.at(items, case.at[2:])
        if case.by == "loud":
            comparison.truth(place, observed, holds=observed != "result", breaks=case.clauses,
                             allowed="anything but a success")  # fmt: skip
        elif case.refusable and through.kind in KINDS:
            raise NotApplicable(f"{case.id}: the relay refuses it, with an error")
        elif case.at == ("kind",) or through.kind in (direct.kind, "none"):
            missing = observed is ABSENT and through.kind != "none"
            if missing and (case.optional or self.lacks_structure(case)):
                raise NotApplicable(f"{case.id}: nothing of it arrives, which is not judged here")
            shown = _shown(through) if through.kind == "none" else observed
            self._compare(comparison, case, (allowed, shown), place, of)
        elif direct.kind == "result":
            comparison.truth(place, _shown(through), holds=False, breaks=case.clauses,
                             allowed=exact_json.plain(allowed), described=False)  # fmt: skip
        elif through.kind == "result":
            why = f"{case.id}: the answer is a success, and not of kind {direct.kind!r}"
            comparison.leaving_open(case.clauses, why, needs=(KINDS[direct.kind],))
        else:
            why = f"{direct.kind!r} arrives as {through.kind!r}, which other clauses judge"
            raise NotApplicable(f"{case.id}: {why}")
        return comparison

    def lacks_structure(self, case: RelayCase) -> bool:
        """Whether a case is about structured content, which the session's revision lacks."""
        structured = case.at[1:2] == ("structuredContent",)
        return structured and self.through.main.revision < STRUCTURED_SINCE

    def _expect_serving(self, comparison: Comparison, case: RelayCase) -> None:
        """Record a finding if, after a call of the case, the relay ends or stops answering calls.

        `echo` is called five times in half a second, since the relay may end a little later.
        Nothing is recorded if all are answered.
        """
        for _ in range(TIMES):
            shown = self.through.call("echo")
            if shown.kind != "result" or not self.relay.alive():
                comparison.truth(
                    f"{case.id}: another call after it", _shown(shown), holds=False,
                    allowed="an answer", breaks=case.clauses,
                )  # fmt: skip
                return
            time.sleep(PAUSE_S)

    def _compare(
        self, comparison: Comparison, case: RelayCase, sides: tuple[Any, Any], path: str,
        of: Mapping[Kind, str] | None,
    ) -> None:  # fmt: skip
        """Record how two values, (allowed, observed), differ by the measure that the case names.

        The measures (`case.by`): by value, by exact tokens, or whether the observed text contains
        the allowed one. Without a difference the case's clauses count as observed. `path` names
        the place in findings; `of`, for values only, maps a kind of difference to its clause.
        """
        allowed, observed = sides
        if case.by == "value":
            additions = case.at[:2] == CONTENT
            record(
                comparison, path, allowed, observed, clauses=case.clauses, additions=additions,
                of=of or {},
            )  # fmt: skip
            return
        if case.by == "tokens":
            holds = exact_json.same_tokens(allowed, observed)
        else:
            holds = isinstance(observed, str) and str(allowed) in observed
        comparison.truth(
            path, exact_json.plain(observed), allowed=exact_json.plain(allowed), holds=holds,
            breaks=case.clauses, described=False,
        )  # fmt: skip


def record(
    comparison: Comparison, path: str, allowed: Any, observed: Any, *, clauses: tuple[str, ...],
    additions: bool = False, of: Mapping[Kind, str] = {},
) -> None:  # fmt: skip
    """Record a finding for each difference of two values, or that the clauses were observed.

    `of` maps a kind of difference to the clause that it breaks, by default all of `clauses`. With
    `additions`, members that only the observed value has are right.
    """
    found = list(exact_json.differences(allowed, observed, additions=additions))
    for each in found:
        joint = "" if not each.path or each.path.startswith("[") else "."
        comparison.truth(
            f"{path}{joint}{each.path}", each.observed, holds=False, allowed=each.allowed,
            breaks=(of[each.kind],) if of else clauses, described=False,
        )  # fmt: skip
    if not found:
        comparison.truth(path, exact_json.plain(observed), holds=True, allowed=None, breaks=clauses)


T = TypeVar("T", str, tuple[str, str])


def repeated(values: Iterable[T]) -> list[T]:
    """Return what is more than once among these values, sorted."""
    return sorted(value for value, count in Counter(values).items() if count > 1)


def argument_of(raw: bytes) -> Any:
    """Return the arguments in a call's message; ABSENT if it has none, or is not JSON."""
    return exact_json.sent(raw, "params", "arguments")


def dumps_case(case: RelayCase) -> bytes:
    """Return the JSON of arguments by which a call is answered as the case says.

    They are the case's own or, if these are empty, `case` with its id.
    """
    own = bytes(case.arguments)
    return own if own != b"{}" else b'{"case":"' + case.id.encode() + b'"}'


def _shown(outcome: Outcome) -> Any:
    value = exact_json.plain(outcome.value)
    return {"kind": outcome.kind, **(value if isinstance(value, dict) else {"value": value})}
