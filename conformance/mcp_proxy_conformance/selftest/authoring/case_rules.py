"""Discovery cases: what is asked for exists, and what is expected is what the source allows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from mcp_proxy_conformance.catalogue.case import Case
from mcp_proxy_conformance.catalogue.requirement import unknown
from mcp_proxy_conformance.catalogue.world import ToolKey, ToolState, World, final, key
from mcp_proxy_conformance.discovery.oracle import (
    ABSENT,
    CALLABLE,
    allowed_statuses,
    cap,
    counted_as,
    is_withheld,
)
from mcp_proxy_conformance.selftest.authoring.corpus import Corpus
from mcp_proxy_conformance.selftest.authoring.documents import Document
from mcp_proxy_conformance.selftest.authoring.finding import Finding

EXACT = "precedence"
"""The area whose cases name every status that the source allows."""
MOST_LIMIT = 100
WRITE = "expect what the source allows of the locks that `steps` of the stage lay"


@dataclass(frozen=True)
class Asked:
    """A case and the world that it is asked in."""

    case: Case
    world: World

    @cached_property
    def states(self) -> dict[ToolKey, ToolState]:
        """The locks on each tool when the request is made."""
        return final(self.world)

    @property
    def is_read(self) -> bool:
        """Whether the query is a word of the stage, so that what it finds is known."""
        query = self.case.when.query
        names = {tool.name for tool in self.world.tools().values()}
        return query is not None and query in {*self.world.queries(), *names}

    def matches(self, *, callable_ones: bool) -> set[ToolKey]:
        """The tools within the agent's scope that the query finds, callable or locked."""
        query, agent = self.case.when.query or "", self.case.when.agent
        servers = self.world.agents[agent] if agent else [one.name for one in self.world.servers]
        return {
            name
            for name, tool in self.world.tools().items()
            if tool.holds(query)
            and name.server in servers
            and self.states[name].callable == callable_ones
        }


def case_findings(document: Document, known: Corpus) -> Iterator[Finding]:
    """All that is wrong with a case that keeps to its schema."""
    case: Case = document.value
    world = known.stages.get(case.given.stage)
    if world is None:
        fault = unknown("stage", case.given.stage, known.stages)
        yield document.found(("given", "stage"), fault, "name one of fixtures/stages")
        return
    strangers = list(_strangers(case, world))
    for place, fault in strangers:
        yield document.found(place, fault, f"name what the stage {world.id} has")
    if strangers:
        return
    asked = Asked(case, world)
    for rule in (_statuses, _caps, _found, _texts, _notes, _counts, _rejections):
        for place, fault in rule(asked):
            yield document.found(place, fault, WRITE)
    for fault in _denied_by_title(case):
        yield document.found(("title",), fault, "say in the title what the case allows")


def _denied_by_title(case: Case) -> Iterator[str]:
    """A title says `never as` of no status that the case allows."""
    never = {
        word
        for denied in re.findall(r"\bnever (?:listed )?as ([^.;]*)", case.title)
        for word in re.findall(r"\w+", denied)
    }
    for name, allowed in (case.then.disabled or {}).items():
        for status in sorted(never.intersection(allowed)):
            yield f"it says never as {status}, which then.disabled allows for {name}"


Wrong = Iterator[tuple[tuple[str | int, ...], str]]


def _strangers(case: Case, world: World) -> Wrong:
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
    servers = [one.name for one in world.servers]
    for name in then.counts or {}:
        if name not in servers:
            yield ("then", "counts", name), unknown("server", name, servers)
    if case.when.agent and case.when.agent not in world.agents:
        yield ("when", "agent"), unknown("agent", case.when.agent, world.agents)


def _statuses(asked: Asked) -> Wrong:
    case = asked.case
    for name, told in (case.then.disabled or {}).items():
        oracle = allowed_statuses(asked.states[key(name)])
        allowed = {ABSENT if word == CALLABLE else word for word in oracle}
        wrong = set(told) - allowed - {ABSENT}
        if case.area == EXACT and set(told) != allowed:
            wrong |= set(told) ^ allowed
        if not case.when.include_disabled and set(told) != {ABSENT}:
            wrong, allowed = set(told) - {ABSENT}, {ABSENT}
        if wrong:
            words = ", ".join(sorted(allowed))
            yield ("then", "disabled", name), f"the source allows {words} for {name}"


def _caps(asked: Asked) -> Wrong:
    bounds, limit = asked.case.then.disabled_count, asked.case.when.limit
    if bounds is None:
        return
    number = limit if isinstance(limit, int | float) and not isinstance(limit, bool) else None
    most = cap(number if number is not None and 1 <= number <= MOST_LIMIT else None)
    high = bounds.max if bounds.equals is None else bounds.equals
    low = bounds.min if bounds.equals is None else bounds.equals
    place = ("then", "disabled_count")
    if high is not None and high > most:
        yield place, f"{high} locked entries are more than the cap of {most}"
    if asked.is_read and low > min(most, len(asked.matches(callable_ones=False))):
        yield place, f"the query finds fewer than {low} locked tools"


def _found(asked: Asked) -> Wrong:
    parts = asked.case.then.tools
    if parts is None or not asked.is_read:
        return
    there = asked.matches(callable_ones=True)
    for part, names in (("has", parts.has), ("only", parts.only)):
        for number, name in enumerate(names or ()):
            if key(name) not in there:
                yield ("then", "tools", part, number), f"{name} is no callable match"
    for number, name in enumerate(parts.lacks or ()):
        if key(name) in there:
            yield ("then", "tools", "lacks", number), f"{name} is a callable match"
    if parts.only is not None and (more := there - set(map(key, parts.only))):
        yield ("then", "tools", "only"), f"{min(map(str, more))} is a callable match, too"


def _texts(asked: Asked) -> Wrong:
    for number, name in enumerate(asked.case.then.withheld):
        if not is_withheld(asked.states[key(name)]):
            yield ("then", "withheld", number), f"nothing of {name} need be withheld"
    for number, name in enumerate(asked.case.then.described):
        state = asked.states[key(name)]
        if state.callable or is_withheld(state):
            yield ("then", "described", number), f"{name} need not be described among the locked"


def _notes(asked: Asked) -> Wrong:
    case = asked.case
    if not asked.is_read or case.when.do != "discover":
        return
    there, locked = (asked.matches(callable_ones=one) for one in (True, False))
    if case.then.note == "due" and (there or not locked or case.when.include_disabled):
        yield ("then", "note"), "a note is due where nothing callable and something locked matches"
    states = [asked.states[name] for name in locked]
    sure = any(not is_withheld(s) and ABSENT not in allowed_statuses(s) for s in states)
    if case.then.note == "absent" and sure and not there and not case.when.include_disabled:
        yield ("then", "note"), "nothing callable and something locked matches, so a note is due"


def _counts(asked: Asked) -> Wrong:
    for server, wanted in (asked.case.then.counts or {}).items():
        held = [counted_as(s) for k, s in asked.states.items() if k.server == server]
        for word, numbers in (wanted or {}).items():
            least = sum(words == {word} for words in held)
            most = sum(word in words for words in held)
            told = numbers if isinstance(numbers, tuple) else (numbers,)
            if any(not least <= one <= most for one in told):
                between = f"{least}" if least == most else f"{least} to {most}"
                yield ("then", "counts", server, word), f"the locks make {between} {word}"


def _rejections(asked: Asked) -> Wrong:
    told = asked.case.then.rejection
    if told is None or asked.case.when.tool is None:
        return
    state = asked.states[key(asked.case.when.tool)]
    says = (told.is_class, told.not_class, told.points_to_flag)
    if state.callable and (not told.reaches_upstream or any(one is not None for one in says)):
        yield ("then", "rejection"), f"{asked.case.when.tool} is callable, and nothing refuses it"
    elif told.reaches_upstream and not state.callable:
        place = ("then", "rejection", "reaches_upstream")
        yield place, f"{asked.case.when.tool} is locked, and no call of it may arrive"
