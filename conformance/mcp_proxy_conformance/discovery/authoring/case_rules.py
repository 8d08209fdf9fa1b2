"""Lint rules for discovery cases: names that the stage has, answers the specification allows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from mcp_proxy_conformance.authoring.corpus import Corpus
from mcp_proxy_conformance.authoring.documents import Document
from mcp_proxy_conformance.authoring.finding import LintFinding
from mcp_proxy_conformance.catalogue.bounds import Bounds
from mcp_proxy_conformance.catalogue.requirement import unknown
from mcp_proxy_conformance.catalogue.world import ToolKey, ToolState, World, final, key
from mcp_proxy_conformance.discovery.case import CAP_FILLS, NOTE_COUNT, Case
from mcp_proxy_conformance.discovery.oracle import (
    ABSENT,
    CALLABLE,
    allowed_statuses,
    cap,
    counted_as,
    is_withheld,
)

EXACT = "precedence"
"""The area whose cases name every status that the source allows."""
MOST_LIMIT = 100
WRITE = "expect what the source allows for the locks that the `steps` of the stage set"


@dataclass(frozen=True)
class StagedCase:
    """A case with the world of its stage, and what follows from both."""

    case: Case
    world: World

    @cached_property
    def states(self) -> dict[ToolKey, ToolState]:
        """The locks on each tool after all steps of the stage."""
        return final(self.world)

    @property
    def has_known_query(self) -> bool:
        """Whether the query is a query word or tool name of the stage, so its matches are known."""
        query = self.case.when.query
        names = {tool.name for tool in self.world.tools().values()}
        return query is not None and query in {*self.world.queries(), *names}

    def matches(self, *, callable_ones: bool) -> set[ToolKey]:
        """Return the tools that match the query: the callable ones, or the locked ones.

        Only those on the servers of the case's agent, or on all servers if it has no agent.
        """
        query, agent = self.case.when.query or "", self.case.when.agent
        servers = (
            self.world.agents[agent] if agent else [server.name for server in self.world.servers]
        )
        return {
            name
            for name, tool in self.world.tools().items()
            if tool.holds(query)
            and name.server in servers
            and self.states[name].callable == callable_ones
        }


def case_findings(document: Document, known: Corpus) -> Iterator[LintFinding]:
    """Yield the findings on a discovery case whose data are valid under the schema.

    They are on names that its stage lacks; only if there are none, on expectations that the
    source does not allow, on interpretations that are missing or needless, and on a title that
    contradicts `then`.
    """
    case: Case = document.value
    world = known.stages.get(case.given.stage)
    if world is None:
        fault = unknown("stage", case.given.stage, known.stages)
        yield document.finding_at(
            ("given", "stage"), fault, "name a stage of fixtures/discovery/stages"
        )
        return
    strangers = list(_strangers(case, world))
    for place, fault in strangers:
        yield document.finding_at(place, fault, f"use a name of the stage {world.id}")
    if strangers:
        return
    staged = StagedCase(case, world)
    for rule in (_statuses, _caps, _callables, _texts, _notes, _counts, _rejections):
        for place, fault in rule(staged):
            yield document.finding_at(place, fault, WRITE)
    for word in sorted({*_excuses(case)} ^ {*case.interpretations}):
        fault, repair = f"`then` rests on the interpretation {word}", "name it in `interpretations`"
        if word in case.interpretations:
            fault, repair = f"`then` does not rest on the interpretation {word}", "take it out"
        yield document.finding_at(("interpretations",), fault, repair)
    for fault in _denied_by_title(case):
        yield document.finding_at(("title",), fault, "make the title agree with `then`")


def _excuses(case: Case) -> Iterator[str]:
    """Yield the interpretations by which a target may show or count fewer tools than `then` says.

    CAP_FILLS if at least two locked tools must be shown; NOTE_COUNT if the note's count may be
    more than one.
    """
    owed = [words for words in (case.then.disabled or {}).values() if ABSENT not in words]
    if len(owed) > 1:
        yield CAP_FILLS
    number = case.then.note_count
    if number is not None and max(number.equals or 0, number.min, number.max or 0) > 1:
        yield NOTE_COUNT


def _denied_by_title(case: Case) -> Iterator[str]:
    """Yield a fault for each status that `then` allows and the title denies, after "never as"."""
    never = {
        word
        for denied in re.findall(r"\bnever (?:listed )?as ([^.;]*)", case.title)
        for word in re.findall(r"\w+", denied)
    }
    for name, allowed in (case.then.disabled or {}).items():
        for status in sorted(never.intersection(allowed)):
            yield f"the title says `never as {status}`, but then.disabled allows that for {name}"


Wrong = Iterator[tuple[tuple[str | int, ...], str]]


def _strangers(case: Case, world: World) -> Wrong:
    """Yield (place, fault) for each tool, server or agent of the case that its stage lacks."""
    tools, then = world.tools(), case.then
    named: list[tuple[tuple[str | int, ...], str]] = []
    named += [(("then", "disabled", name), name) for name in then.disabled or {}]
    named += [(("then", "withheld", n), name) for n, name in enumerate(then.withheld)]
    named += [(("then", "described", n), name) for n, name in enumerate(then.described)]
    for part in ("has", "lacks", "only"):
        listed = getattr(then.tools, part, None) or ()
        named += [(("then", "tools", part, n), name) for n, name in enumerate(listed)]
    named += [(("when", "tool"), case.when.tool)] if case.when.tool else []
    for place, name in named:
        if key(name) not in tools:
            yield place, unknown("tool", name, map(str, tools))
    servers = [server.name for server in world.servers]
    for name in then.counts or {}:
        if name not in servers:
            yield ("then", "counts", name), unknown("server", name, servers)
    if case.when.agent and case.when.agent not in world.agents:
        yield ("when", "agent"), unknown("agent", case.when.agent, world.agents)


def _statuses(staged: StagedCase) -> Wrong:
    """Yield (place, fault) for each tool whose expected statuses its locks do not allow.

    Absence is always allowed, and alone without the flag; in the area `precedence` the statuses
    must be all that the source (the specification) allows.
    """
    case = staged.case
    for name, statuses in (case.then.disabled or {}).items():
        oracle = allowed_statuses(staged.states[key(name)])
        allowed = {ABSENT if word == CALLABLE else word for word in oracle}
        if not case.when.include_disabled:
            allowed = {ABSENT}
        wrong = set(statuses) - allowed - {ABSENT}
        if case.area == EXACT:
            wrong |= set(statuses) ^ allowed
        if wrong:
            words = ", ".join(sorted(allowed))
            yield ("then", "disabled", name), f"the source allows {words} for {name}"


def _caps(staged: StagedCase) -> Wrong:
    """Yield (place, fault) if more locked entries are expected than the cap or the query allows.

    A limit that is not a number from 1 to 100 counts as none. It yields nothing if no number is
    expected.
    """
    bounds, limit = staged.case.then.disabled_count, staged.case.when.limit
    if bounds is None:
        return
    number = limit if isinstance(limit, int | float) and not isinstance(limit, bool) else None
    most = cap(number if number is not None and 1 <= number <= MOST_LIMIT else None)
    high = bounds.max if bounds.equals is None else bounds.equals
    low = bounds.min if bounds.equals is None else bounds.equals
    place = ("then", "disabled_count")
    if high is not None and high > most:
        yield place, f"{high} locked entries are more than the cap of {most}"
    if staged.has_known_query and low > min(most, len(staged.matches(callable_ones=False))):
        yield place, f"the query finds fewer than {low} locked tools"


def _callables(staged: StagedCase) -> Wrong:
    """Yield (place, fault) for each expected callable tool that the query does not find.

    Also for each callable match in `lacks`, and once for those missing in `only`; nothing if
    the query's matches are not known.
    """
    parts = staged.case.then.tools
    if parts is None or not staged.has_known_query:
        return
    there = staged.matches(callable_ones=True)
    for part, names in (("has", parts.has), ("only", parts.only)):
        for number, name in enumerate(names or ()):
            if key(name) not in there:
                fault = f"{name} is not a callable match of the query"
                yield ("then", "tools", part, number), fault
    for number, name in enumerate(parts.lacks or ()):
        if key(name) in there:
            yield ("then", "tools", "lacks", number), f"{name} is a callable match of the query"
    if parts.only is not None and (more := there - set(map(key, parts.only))):
        yield ("then", "tools", "only"), f"{min(map(str, more))} is a callable match too"


def _texts(staged: StagedCase) -> Wrong:
    """Yield (place, fault) for each tool wrongly expected in `withheld` or in `described`.

    Only tools that are locked and not withheld may be in `described`.
    """
    for number, name in enumerate(staged.case.then.withheld):
        if not is_withheld(staged.states[key(name)]):
            yield ("then", "withheld", number), f"{name} has no text that must be withheld"
    for number, name in enumerate(staged.case.then.described):
        state = staged.states[key(name)]
        if state.callable or is_withheld(state):
            fault = f"{name} is callable or withheld, so no description is due"
            yield ("then", "described", number), fault


def _notes(staged: StagedCase) -> Wrong:
    """Yield (place, fault) if a note is expected where none is due, or none where one surely is.

    It yields nothing for a request other than a discovery, or a query whose matches are not known.
    """
    case = staged.case
    if not staged.has_known_query or case.when.do != "discover":
        return
    there, locked = (staged.matches(callable_ones=wanted) for wanted in (True, False))
    if case.then.note == "due" and (there or not locked or case.when.include_disabled):
        fault = "a note is due only without the flag, for locked matches and no callable one"
        yield ("then", "note"), fault
    states = [staged.states[name] for name in locked]
    sure = any(not is_withheld(s) and ABSENT not in allowed_statuses(s) for s in states)
    if case.then.note == "absent" and sure and not there and not case.when.include_disabled:
        yield ("then", "note"), "the query has locked matches and no callable one, so a note is due"


def _counts(staged: StagedCase) -> Wrong:
    """Yield (place, fault) for each expected count that the locks of the server's tools exclude."""
    for server, wanted in (staged.case.then.counts or {}).items():
        held = [counted_as(s) for k, s in staged.states.items() if k.server == server]
        for word, numbers in (wanted or {}).items():
            least = sum(words == {word} for words in held)
            most = sum(word in words for words in held)
            expected = numbers if isinstance(numbers, tuple) else (numbers,)
            if any(not least <= number <= most for number in expected):
                fault = f"the locks give a count of {Bounds(min=least, max=most)} for {word}"
                yield ("then", "counts", server, word), fault


def _rejections(staged: StagedCase) -> Wrong:
    """Yield (place, fault) if the call of a callable tool is expected to be rejected.

    Also if the call of a locked tool is expected to reach its upstream. Nothing if the case expects
    no rejection or calls no tool.
    """
    rejection = staged.case.then.rejection
    if rejection is None or staged.case.when.tool is None:
        return
    state = staged.states[key(staged.case.when.tool)]
    says = (rejection.is_class, rejection.not_class, rejection.points_to_flag)
    if state.callable and (
        not rejection.reaches_upstream or any(claim is not None for claim in says)
    ):
        fault = f"{staged.case.when.tool} is callable, so a call to it is not rejected"
        yield ("then", "rejection"), fault
    elif rejection.reaches_upstream and not state.callable:
        place = ("then", "rejection", "reaches_upstream")
        yield place, f"{staged.case.when.tool} is locked, so no call to it may reach its upstream"
