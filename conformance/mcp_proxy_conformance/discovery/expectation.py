"""A case's expectation laid beside what a target answers, as two comparable dicts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import msgspec

from mcp_proxy_conformance.bench import ABSENT, Bench, Called
from mcp_proxy_conformance.case import Bounds, Case, Then
from mcp_proxy_conformance.discovery.accusation import listed
from mcp_proxy_conformance.discovery.answer import Answer
from mcp_proxy_conformance.discovery.locked import own_entries
from mcp_proxy_conformance.discovery.numbers import numbers_in
from mcp_proxy_conformance.discovery.remediation import judge, mask
from mcp_proxy_conformance.discovery.surface import FLAG
from mcp_proxy_conformance.oracle import ABSENT as NOWHERE
from mcp_proxy_conformance.oracle import BY_APPROVAL, cap
from mcp_proxy_conformance.verdict import Inconclusive, NotApplicable, Unread
from mcp_proxy_conformance.world import ToolKey, key


@dataclass(frozen=True, slots=True)
class Sides:
    """What was observed and what was expected, by the path of each expectation."""

    observed: dict[str, Any] = field(default_factory=dict)
    expected: dict[str, Any] = field(default_factory=dict)

    def one_of(self, path: str, seen: Any, allowed: Collection[Any]) -> None:
        """The observation is one of the allowed values."""
        self.observed[path] = seen
        self.expected[path] = seen if seen in allowed else sorted(allowed, key=str)

    def truth(self, path: str, seen: Any, *, holds: bool, wanted: str) -> None:
        """The observation meets a condition that is told in words."""
        self.observed[path] = seen
        self.expected[path] = seen if holds else wanted


def lay_out(case: Case, bench: Bench, *, way: int = 0) -> Sides:
    """Ask what the case asks, calling by that call surface.

    Raises:
        Inconclusive: A control fails (section 0).
    """
    if case.when.agent is not None:
        bench.needs("agents")
        bench = bench.as_agent(case.when.agent)
    asked: dict[str, Callable[[Case, Bench], Sides]] = {
        "discover": _discovered,
        "list": _listed,
        "call": partial(_called, way=way),
    }
    sides = asked[case.when.do](case, bench)
    if not sides.expected:
        raise NotApplicable("what the case looks at is not part of this target's answer")
    return sides


def _discovered(case: Case, bench: Bench) -> Sides:
    when, then, sides = case.when, case.then, Sides()
    query = when.query or ""
    _controls(case, bench, query)
    answer = bench.asked(
        query,
        include_disabled=ABSENT if when.include_disabled is None else when.include_disabled,
        limit=when.limit if isinstance(when.limit, (int, float, str)) else ABSENT,
    )
    if answer.error is not None and when.limit not in (msgspec.UNSET, *range(1, 101)):
        return sides  # an unusable limit may be refused (FR-006.odd-limits)
    bench.require(answer.error is None, f"discovery answered an error: {answer.error}")
    _tools(then, answer, sides)
    _not_capped_lower(then, answer, bench)
    limit = when.limit if isinstance(when.limit, (int, float)) else None
    _not_crowded_out(then, answer, cap(limit))
    for name, allowed in (then.disabled or {}).items():
        seen = str(answer.statuses().get(key(name), NOWHERE))
        sides.one_of(listed(name, bench.states[key(name)], seen, allowed), seen, allowed)
    if then.disabled_only:
        others = sorted({str(k) for k in answer.statuses()} - set(then.disabled or {}))
        sides.one_of("other locked entries", tuple(others), [()])
    if then.disabled_count is not None:
        count, bounds = len(answer.disabled), then.disabled_count
        few = count < (bounds.min if bounds.equals is None else bounds.equals)
        path = "too few locked entries" if few else "too many locked entries"
        sides.truth(path, count, holds=bounds.holds(count), wanted=_told(bounds))
    _texts(then, answer, bench, sides)
    _note(then, answer, bench, sides)
    return sides


def _told(bounds: Bounds) -> str:
    if bounds.equals is not None:
        return f"exactly {bounds.equals}"
    return f"{bounds.min} or more" if bounds.max is None else f"{bounds.min} to {bounds.max}"


def _not_crowded_out(then: Then, answer: Answer, most: int) -> None:
    """A locked part filled with withheld tools that nobody asked for says nothing of the rest."""
    statuses = answer.statuses()
    others = [word for tool, word in statuses.items() if str(tool) not in (then.disabled or {})]
    missing = any(key(n) not in statuses and "absent" not in a for n, a in _wanted(then))
    withheld = sum(word in BY_APPROVAL for word in others)
    if missing and len(statuses) >= most and withheld:
        raise NotApplicable("the locked part is full of withheld tools that were not asked for")


def _not_capped_lower(then: Then, answer: Answer, bench: Bench) -> None:
    """A target may keep to a lower cap of its own: then not all that are locked are owed."""
    owed = [name for name, allowed in _wanted(then) if "absent" not in allowed]
    if len(answer.disabled) >= len(owed) or len(owed) < 2:  # noqa: PLR2004 - one is always owed
        return
    admin, words = _as_admin(bench), bench.world.queries()
    fullest = max(len(admin.revealed(word, limit=100)) for word in words)
    if 0 < fullest == len(answer.disabled):
        raise NotApplicable(f"this target never lists more than {fullest} locked tools")


def _wanted(then: Then) -> Iterable[tuple[str, tuple[str, ...]]]:
    return (then.disabled or {}).items()


def _controls(case: Case, bench: Bench, query: str) -> None:
    """The locks named were proven, the callables were seen, the feature was seen alive."""
    then = case.then
    for left_out, reason in bench.armed.skipped.items():
        if bench.tools[left_out].holds(query):
            raise NotApplicable(f"{left_out} would be found too: {reason}")
    for name, allowed in (then.disabled or {}).items():
        _armed(bench, key(name))
        if "absent" not in allowed and not bench.states[key(name)].callable:
            relevant = bench.relevant(key(name), query)
            bench.require(relevant, f"{name} was not relevant to {query!r} while callable")
            seen = bench.agent is None or key(name) in own_entries(_as_admin(bench), [key(name)])
            bench.require(seen, f"the flag reveals {name} to nobody; see FR-001")
    for name in (then.tools.has or ()) if then.tools else ():
        relevant = key(name) in bench.armed.shown.get(query, ())
        bench.require(relevant, f"{name} was not listed for {query!r} while all was callable")
    if then.disabled or then.disabled_count is not None or not case.when.include_disabled:
        bench.require(_as_admin(bench).flag_alive, "the feature was not seen on this stage")
    if then.note == "absent":
        bench.require(_as_admin(bench).note_alive, "no note was seen on this stage")
    if then.note == "due":
        bench.require(bench.revealed(query), "the flag reveals nothing for this query")


def _as_admin(bench: Bench) -> Bench:
    return bench if bench.agent is None else Bench(bench.started, bench.armed)


def _armed(bench: Bench, tool: ToolKey) -> None:
    if tool in bench.armed.skipped:
        raise NotApplicable(f"{tool}: {bench.armed.skipped[tool]}")
    if tool not in bench.states:
        raise NotApplicable(f"{tool} needs what the target does not declare")
    if tool in bench.armed.unproven:
        raise Inconclusive(f"{tool}: {bench.armed.unproven[tool]}")


def _tools(then: Then, answer: Answer, sides: Sides) -> None:
    if then.tools is None:
        return
    seen = {str(k) for k in answer.callables()}
    for name in then.tools.has or ():
        sides.one_of(f"callable: {name}", name in seen, [True])
    for name in then.tools.lacks or ():
        sides.one_of(f"callable: {name}", name in seen, [False])
    if then.tools.only is not None:
        sides.one_of("callable: all", sorted(seen), [sorted(then.tools.only)])


def _texts(then: Then, answer: Answer, bench: Bench, sides: Sides) -> None:
    entries = {str(entry.key): entry for entry in answer.disabled}
    for name in then.withheld:
        if name in entries:
            words = entries[name].description or None
            sides.one_of(f"description of {name}", words, _withheld_forms(bench, key(name)))
    for name in then.described:
        own = bench.armed.entries.get(key(name))
        if name in entries and own is not None:
            sides.one_of(f"description of {name}", entries[name].description, [own.description])
    told = answer.remediation or {}
    if then.remediation_keys is not None:
        wanted = (
            answer.statuses().values()
            if then.remediation_keys == "as statuses"
            else then.remediation_keys
        )
        sides.one_of("remediation keys", sorted(told), [sorted(set(wanted))])
    for status in then.remediation_class:
        if status in told:
            _text(f"remediation of {status}", str(told[status]), status, bench, sides)


def _withheld_forms(bench: Bench, tool: ToolKey) -> list[str | None]:
    """No description; of a changed tool also the approved one (ruling on approved texts)."""
    state, own = bench.states[tool], bench.armed.entries.get(tool)
    approved = state.approval == "changed" and not state.quarantined and own is not None
    return [None, own.description] if approved and own is not None else [None]


def _text(path: str, text: str, status: str, bench: Bench, sides: Sides) -> None:
    judgement = judge(text, status, pins=bench.started.target.pins)
    if judgement.outcome == "unrecognised":
        raise Unread(path, text)
    wanted = f"not the instruction of another class ({judgement.reason})"
    sides.truth(path, text, holds=judgement.outcome != "convicted", wanted=wanted)


def _note(then: Then, answer: Answer, bench: Bench, sides: Sides) -> None:
    if then.note == "absent" and (answer.tools or not bench.revealed(answer.query)):
        sides.one_of("note", answer.note or None, [None])
    if then.note == "due" and not answer.tools:
        named = answer.note is not None and FLAG in answer.note
        sides.truth("note", answer.note, holds=named, wanted=f"a note that names {FLAG}")
    if then.note_count is not None and answer.note is not None:
        shown = len(bench.revealed(answer.query, limit=100))
        found = numbers_in(answer.note)
        exact = then.note_count.equals == shown
        holds = shown in found if exact else any(number >= shown for number in found)
        wanted = f"the number {shown}" if exact else f"a number of {shown} or more"
        sides.truth("count in the note", answer.note, holds=holds, wanted=wanted)


def _listed(case: Case, bench: Bench) -> Sides:
    sides = Sides()
    bench.require(_as_admin(bench).block_alive, "no counts block was seen on this stage")
    listing = bench.list()
    for server, wanted in (case.then.counts or {}).items():
        for tool, reason in bench.armed.skipped.items():
            if tool.server == server:
                raise NotApplicable(f"{tool}: {reason}")
        for tool in bench.armed.unproven:
            bench.require(tool.server != server, f"a lock on {server} was not proven: {tool}")
        bench.require(server in listing.servers, f"the listing does not show {server}")
        entry = listing.servers[server]
        if wanted is None:
            sides.one_of(f"counts: of {server}", entry.counts, [None])
            sides.one_of(f"counts: member of {server}", entry.has_counts, [False])
            continue
        block = entry.counts if isinstance(entry.counts, dict) else {}
        for name, numbers in wanted.items():
            allowed = numbers if isinstance(numbers, tuple) else (numbers,)
            sides.one_of(f"counts: {name} of {server}", block.get(name, 0), allowed)
    return sides


def _called(case: Case, bench: Bench, *, way: int) -> Sides:
    sides, then = Sides(), case.then.rejection
    tool = key(case.when.tool or "")
    _armed(bench, tool)
    called = bench.call(tool, surface=way)
    if then is None:
        return sides
    if then.reaches_upstream is not None:
        sides.one_of("the call reached the upstream", called.reached, [then.reaches_upstream])
    text = mask(called.text, [tool.server, tool.tool])
    if then.points_to_flag is not None:
        _pointer(called, bench, sides)
    if then.is_class is not None:
        _class(text, then.is_class, bench, sides)
    if then.not_class is not None:
        own = _own_rejections(bench, then.not_class)
        bench.require(own, f"no tool is locked as {then.not_class} alone")
        path = "rejection unlike that of another lock"
        sides.truth(path, text, holds=text not in own, wanted=f"not one of {own}")
    return sides


def _class(text: str, status: str, bench: Bench, sides: Sides) -> None:
    """Equality with this target's own text for another lock convicts before any reading does."""
    for other in ("disabled_by_user", "pending_approval"):
        if other != status and text in _own_rejections(bench, other):
            sides.truth("rejection", text, holds=False, wanted=f"not the text of {other}")
            return
    _text("rejection", text, status, bench, sides)


def _own_rejections(bench: Bench, status: str) -> list[str]:
    """This target's own texts for tools with that lock alone (section 10, layer 1)."""
    pure: dict[str, tuple[dict[str, Any], ...]] = {
        "disabled_by_config": ({"config": True},),
        "disabled_by_user": ({"user": True},),
        "pending_approval": ({"approval": "pending"}, {"approval": "changed"}),
        "server_quarantined": ({"quarantined": True},),
        "server_disabled": ({"server_off": True},),
    }
    tools = [tool for state in pure.get(status, ()) for tool in bench.locked(**state)]
    return [mask(bench.refusal(one), [one.server, one.tool]) for one in tools]


def _pointer(called: Called, bench: Bench, sides: Sides) -> None:
    words = (FLAG, bench.surface.discovery_tool)
    found = any(word in called.text for word in words)
    sides.truth("rejection points on", called.text, holds=found, wanted=f"one of {words}")
