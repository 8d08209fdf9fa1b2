"""One run of the live checks: an endpoint instead of a target, surveys instead of stages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from mcp_proxy_conformance.catalogue.world import ToolKey
from mcp_proxy_conformance.discovery import presence
from mcp_proxy_conformance.discovery.live.budget import Budget, Ledger, OverBudget
from mcp_proxy_conformance.discovery.live.endpoint import Endpoint
from mcp_proxy_conformance.discovery.live.first_look import Offered, first_look
from mcp_proxy_conformance.discovery.live.live_bench import ANSWERS, UNSEEN, LiveBench
from mcp_proxy_conformance.discovery.live.movements import movements
from mcp_proxy_conformance.discovery.live.rejected import Rejected, call
from mcp_proxy_conformance.discovery.live.survey import itinerary, survey, words_of
from mcp_proxy_conformance.discovery.live.talk import Talk, messages_of
from mcp_proxy_conformance.discovery.live.waking import await_tools
from mcp_proxy_conformance.run.collected import Place
from mcp_proxy_conformance.run.judging import Ending, attempt
from mcp_proxy_conformance.run.session import Run, not_asked
from mcp_proxy_conformance.targets.adapter import AdapterError, Target
from mcp_proxy_conformance.targets.written import written
from mcp_proxy_conformance.verdict.outcome import (
    BROKEN,
    CONFORMANT,
    DECLARATION,
    VIOLATED,
    Outcome,
)
from mcp_proxy_conformance.verdict.redaction import Redactor
from mcp_proxy_conformance.verdict.result import HINTS, Cause, Inconclusive, NotApplicable
from mcp_proxy_conformance.wire.faults import ProtocolFault, Unreachable
from mcp_proxy_conformance.wire.transcript import Message

PLACE, LIVE = "endpoint", "discovery-live"
SHOWN = 8


def live_target(endpoint: Endpoint, version: str = "") -> Target:
    """An endpoint in the place of a target, for the report."""

    def none() -> Any:
        raise AdapterError(f"{endpoint.place} is an endpoint, which has no stages")

    return Target(
        kind="endpoint",
        make=none,
        surface=endpoint.surface,
        capabilities=frozenset(),
        version=version,
        pins=endpoint.pins,
        file=written(endpoint.file) if endpoint.file is not None else None,
    )


@dataclass(slots=True)
class LiveRun(Run):
    """The state of a run whose target is somebody's running endpoint."""

    endpoint: Endpoint = field(default_factory=Endpoint)
    _talks: dict[str, Talk] = field(default_factory=dict)
    _offered: Offered | None = None
    _budget: Budget | None = None
    _ledger: Ledger | None = None
    _benches: dict[bool, LiveBench] = field(default_factory=dict)
    _calls: dict[ToolKey, Rejected] = field(default_factory=dict)
    _cited: tuple[int, ...] = ()

    @property
    def credentials(self) -> list[Mapping[str, str]]:
        """The headers that were given."""
        return [self.endpoint.headers, *self.endpoint.agents.values()]

    @property
    def requests(self) -> int:
        """How many messages were sent."""
        return self._budget.spent if self._budget is not None else 0

    @property
    def redactor(self) -> Redactor:
        """Takes every credential out of what is told."""
        return Redactor(self.endpoint.secrets)

    @property
    def green(self) -> Outcome:
        """What a run comes to in which nothing speaks against the endpoint."""
        told = f"consistent with {self.profile.id}@{self.profile.version}"
        return Outcome(told, CONFORMANT, "nothing that was seen speaks against it")

    def unsettled(self, clauses: list[str]) -> str:
        """Why the run is incomplete."""
        seen = self._benches[False].seen
        if (unread := seen.unread()) is not None:
            return f"no answer of {self.endpoint.surface.discovery_tool} can be read: {unread}"
        if not any(bench.seen.locked() for bench in self._benches.values()):
            return f"nothing locked was seen, and {seen.short}" if seen.short else UNSEEN
        return f"not settled: {', '.join(clauses)}"

    def look(self) -> None:
        """Open the endpoint and ask all there is to ask; `stopped` says why that cannot be."""
        endpoint = self.endpoint
        self._budget = Budget(
            most=endpoint.max_requests,
            per_second=endpoint.rate,
            within_s=endpoint.within_s,
            kept=1 + len(endpoint.agents),
        )
        self._ledger = Ledger(self._budget)
        try:
            names = ("", *endpoint.agents)
            self._talks = {n: Talk(endpoint, self._budget, self._ledger, n) for n in names}
        except ValueError as error:
            why = f"the options cannot be sent: {error}"
            self.stopped = Outcome("error in the declaration", DECLARATION, why)
            return
        found = first_look(self._talks[""])
        if isinstance(found, Outcome):
            self.stopped = found
            return
        if found.unnamed and not (endpoint.queries or endpoint.expect):
            self._end_without_the_flag(found.unnamed)
            return
        self._offered = found
        self.wire = self._talks[""].conversation.wire
        self.target = live_target(endpoint, _version(self._talks[""]))
        try:
            seen = self._survey(second=False).seen
        except Unreachable as error:
            why = f"the endpoint stopped answering: {error}"
            self.stopped = Outcome("target or adapter broke", BROKEN, why)
            return
        if found.unnamed and not seen.locked():
            self._end_without_the_flag(f"{found.unnamed}, and it brings up nothing that is locked")

    def _end_without_the_flag(self, why: str) -> None:
        self.stopped = Outcome("violated", VIOLATED, why)
        self.results.append(presence.breach(why, PLACE))

    def _survey(self, *, second: bool) -> LiveBench:
        found = self._benches.get(second)
        if found is None:
            assert self._offered is not None
            again = itinerary(self._benches[False].seen) if second else None
            if self.endpoint.stdio and not second:
                self._await_tools()
            seen = survey(self._talks, self._offered.tools, again)
            if not second:
                self._call()
            found = LiveBench(self.endpoint, self._offered.tool, seen, self._calls)
            self._benches[second] = found
        return found

    def _await_tools(self) -> None:
        assert self._offered is not None
        with suppress(OverBudget):  # the survey says so as well
            main = self._talks[""]
            await_tools(main, words_of(main, self._offered.tools))

    def _call(self) -> None:
        for key in self.endpoint.call:
            try:
                self._calls[key] = call(self._talks[""], key)
            except OverBudget as over:
                self._calls[key] = Rejected(left_out=str(over))

    def plan(self, places: list[Place]) -> None:
        """There is one endpoint, and it is there."""

    def lacking(self, place: Place) -> NotApplicable | None:
        """What the endpoint was not given for a check to apply."""
        given: Mapping[str, object] = {
            "expect": self.endpoint.expect,
            "as": self.endpoint.agents,
            "call": self.endpoint.call,
        }
        lacks = [word for word in place.needs if not given[word]]
        return not_asked(f"--{lacks[0]}") if lacks else None

    def beyond(self, clause_id: str) -> NotApplicable | None:
        """Nothing is declared of an endpoint: what it was not given leaves clauses open."""
        del clause_id
        return None

    def bench(self, place: Place) -> Any:
        """The first survey, for every check."""
        del place
        return self._survey(second=False)

    def judged(self, call: Callable[[Any], Any], bench: Any, place: Place) -> Ending:
        """How a check ends; what rests on several answers is asked again before it accuses.

        It must fail in the same place again: else the target does not agree with itself.
        """
        ending = attempt(partial(call, bench))
        subjects = _subjects(ending)
        self._cited = self._messages_of(bench, subjects)
        if ending.verdict != "fail" or place.name != ANSWERS.id:
            return ending
        try:
            second = self._survey(second=True)
        except (Unreachable, ProtocolFault) as error:
            return Ending(verdict="error", blame="network", reason=str(error), error=error)
        if second.seen.short:
            why = f"not looked at twice: {second.seen.short}; first seen: {ending.reason}"
            return _open(why, "cut_short")
        again = attempt(partial(call, second))
        same = subjects & _subjects(again)
        moved = movements([one.seen for one in self._benches.values()])
        if again.verdict == "fail" and same and not same & moved:
            self._cited = self._messages_of(second, same)
            return again
        why = f"the target does not agree with itself; first seen: {ending.reason}"
        return _open(why, "disagrees")

    def _messages_of(self, bench: LiveBench, subjects: frozenset[str]) -> tuple[int, ...]:
        assert self._ledger is not None
        queries = {subject.partition(":")[2] for subject in subjects}
        looks = list(bench.seen.looks())
        found = [one for one in looks if one.label in subjects or one.query in queries]
        spans = [look.messages for look in found]
        spans += [one.messages for key, one in self._calls.items() if str(key) in subjects]
        ids = {number for span in spans for number in messages_of(span, self._ledger)}
        return tuple(sorted(ids)[:SHOWN])

    def _rests_on(self, place: Place, ending: Ending) -> tuple[Ending, dict[str, Message]]:
        del place
        assert self._ledger is not None
        cited = self._cited if ending.verdict == "fail" else ()
        return ending, {f"{PLACE}/{number}": self._ledger.get(number) for number in cited}

    def done_with(self, place: Place) -> None:
        """Nothing is shared that could end."""

    def finish(self) -> None:
        """End every session: these requests count, too."""
        talks, self._talks = self._talks, {}
        for talk in talks.values():
            talk.close()

    def close(self) -> None:
        """Every session has ended."""
        self.finish()


def _subjects(ending: Ending) -> frozenset[str]:
    """What the failing comparison was about: the names of its members."""
    left = ending.sides[1] if ending.sides is not None else None
    return frozenset(map(str, left)) if isinstance(left, dict) else frozenset()


def _open(why: str, cause: Cause) -> Ending:
    error = Inconclusive(why, cause=cause)
    return Ending(verdict="inconclusive", reason=why, error=error, cause=cause,
                  hint=HINTS.get(cause, ""))  # fmt: skip


def _version(talk: Talk) -> str:
    """What the server calls itself, at most so much of it."""
    opening = talk.conversation.opening
    told = opening.value().get("serverInfo") if opening is not None else None
    words = [told.get("name"), told.get("version")] if isinstance(told, dict) else []
    return " ".join(word for word in words if isinstance(word, str))[:200]
