"""A running endpoint as subject of a run: surveyed within a budget of requests, never changed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import msgspec

from mcp_proxy_conformance.catalogue.requirement import Profile
from mcp_proxy_conformance.catalogue.world import ToolKey
from mcp_proxy_conformance.discovery import presence
from mcp_proxy_conformance.discovery.driven_proxy import not_asked
from mcp_proxy_conformance.discovery.live.budget import Budget, Ledger, OverBudget
from mcp_proxy_conformance.discovery.live.endpoint import Endpoint, in_variables
from mcp_proxy_conformance.discovery.live.first_look import Offered, first_look
from mcp_proxy_conformance.discovery.live.live_bench import SEVERAL_ANSWERS, UNSEEN, LiveBench
from mcp_proxy_conformance.discovery.live.movements import movements
from mcp_proxy_conformance.discovery.live.survey import await_tools, itinerary, survey, words_of
from mcp_proxy_conformance.discovery.live.talk import Rejected, Talk, call
from mcp_proxy_conformance.discovery.surface_names import FILE, GIVEN_FILE
from mcp_proxy_conformance.discovery.targets.adapter import ProxyTarget
from mcp_proxy_conformance.run.collection import Place
from mcp_proxy_conformance.run.judgement import Ending, attempt
from mcp_proxy_conformance.run.subject import Check, Probed, Rests, Subject
from mcp_proxy_conformance.targets.target import AdapterError
from mcp_proxy_conformance.targets.target_lines import written
from mcp_proxy_conformance.verdict.outcome import (
    CONFORMANT,
    DECLARATION,
    INCOMPLETE,
    VIOLATED,
    Outcome,
    broke,
)
from mcp_proxy_conformance.verdict.result import Cause, Inconclusive, NotApplicable
from mcp_proxy_conformance.wire.faults import ProtocolFault, Unreachable

PLACE = "endpoint"
SHOWN = 8


def live_target(endpoint: Endpoint) -> ProxyTarget:
    """Return a Target that describes the endpoint for the report.

    Starting it raises AdapterError.
    """

    def none() -> Any:
        """Raise AdapterError, as an endpoint cannot be started on a stage."""
        raise AdapterError(f"{endpoint.place} is an endpoint, which has no stages")

    return ProxyTarget(
        kind="endpoint",
        make=none,
        surface=endpoint.surface,
        capabilities=frozenset(),
        name=endpoint.name,
        version=endpoint.version,
        pins=endpoint.pins,
        file=written(endpoint.file) if endpoint.file is not None else None,
    )


class RunningEndpoint(Subject):
    """A live endpoint, which is queried within a budget and never changed."""

    indivisible = "an endpoint has one budget and one rate of requests; leave -n out"
    is_redacted = True

    def __init__(self, endpoint: Endpoint, profile: str) -> None:
        """Describe the target; nothing is sent yet.

        `profile` is named in the headline of a run that finds nothing.
        """
        self.endpoint, self._profile = endpoint, profile
        self._worded = in_variables if endpoint.by_variables else str
        self.target = live_target(endpoint)
        self._talks: dict[str, Talk] = {}
        self._offered: Offered | None = None
        self._budget: Budget | None = None
        self._ledger: Ledger | None = None
        self._benches: dict[bool, LiveBench] = {}
        self._calls: dict[ToolKey, Rejected] = {}

    @property
    def credentials(self) -> Sequence[Mapping[str, str]]:
        """The headers of the endpoint and of its agents."""
        return [self.endpoint.headers, *self.endpoint.agents.values()]

    @property
    def requests(self) -> int:
        """The number of messages sent, those of the session's end included; 0 before the probe."""
        return self._budget.spent if self._budget is not None else 0

    @property
    def secrets(self) -> Sequence[str]:
        """Every credential of the endpoint."""
        return tuple(self.endpoint.secrets)

    @property
    def green(self) -> Outcome:
        """Outcome of a run that found nothing: consistent with the profile."""
        headline = f"consistent with {self._profile}"
        return Outcome(headline, CONFORMANT, "nothing observed contradicts it")

    @property
    def unsettled(self) -> str:
        """Why the run is incomplete: unreadable answers, or no locked tool seen; else "".

        It is "" without a survey too.
        """
        if not self._benches:
            return ""
        surveyed = self._benches[False].survey
        if (unread := surveyed.unread()) is not None:
            return f"no answer of {self.endpoint.surface.discovery_tool} can be read: {unread}"
        if any(bench.survey.locked() for bench in self._benches.values()):
            return ""
        short = surveyed.short
        return self._worded(f"no locked tool was seen, and {short}" if short else UNSEEN)

    def probe(self) -> Probed:
        """Open the endpoint and make the first survey, by which every check judges.

        The result stops the run if the endpoint cannot be read, options cannot be sent, it declares
        other names, or its discovery tool neither documents the flag (`include_disabled`, which
        asks for locked tools too) nor reveals a locked tool by it. That is a breach only where the
        user expects locked tools.
        """
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
            return Probed(stopped=Outcome("error in the declaration", DECLARATION, why))
        offered = first_look(self._talks[""])
        self.server = self._talks[""].conversation.server
        if isinstance(offered, Outcome):
            return Probed(stopped=replace(offered, why=self._worded(offered.why)))
        if offered.unnamed and not (endpoint.queries or endpoint.expect):
            return Probed(stopped=self._not_offered(offered.unnamed))
        self._offered = offered
        self._name_query(offered.query)
        self.wire = self._talks[""].conversation.wire
        try:
            surveyed = self._survey(second=False).survey
        except Unreachable as error:
            why = f"the endpoint stopped answering: {error}"
            return Probed(stopped=broke(why))
        place = FILE if endpoint.file is not None else GIVEN_FILE
        if misnamed := surveyed.misnamed(endpoint.surface.members, place=place):
            why = self._worded(misnamed)
            return Probed(stopped=Outcome("error in the declaration", DECLARATION, why))
        if offered.unnamed and not surveyed.locked():
            why = f"{offered.unnamed}, and the flag reveals no locked tool"
            return _violated(why) if endpoint.expect else Probed(stopped=self._not_offered(why))
        return Probed()

    def _not_offered(self, why: str) -> Outcome:
        """Return the outcome for an endpoint that nowhere claims the feature: it is not judged."""
        named = self._worded(
            "if another tool of it does, name that with --tool, and if this one should, name locked"
            " tools with --expect"
        )
        why = f"the endpoint does not offer discovery of locked tools: {why}; {named}"
        return Outcome("incomplete", INCOMPLETE, why)

    def _name_query(self, name: str) -> None:
        surface = msgspec.structs.replace(self.endpoint.surface, query=name)
        self.endpoint = replace(self.endpoint, surface=surface)
        for talk in self._talks.values():
            talk.endpoint = self.endpoint

    def _survey(self, *, second: bool) -> LiveBench:
        """Return the bench of the first survey or, if `second`, of one that repeats its requests.

        Each survey is made at the first call for it. Before the first, tools of a server over stdio
        are awaited; after it, the tools of --call are called.
        """
        bench = self._benches.get(second)
        if bench is None:
            assert self._offered is not None
            again = itinerary(self._benches[False].survey) if second else None
            if self.endpoint.stdio and not second:
                self._await_tools()
            surveyed = survey(self._talks, self._offered.tools, again)
            if not second:
                self._call()
            bench = LiveBench(self.endpoint, self._offered.tool, surveyed, self._calls)
            self._benches[second] = bench
        return bench

    def _await_tools(self) -> None:
        """Wait until a server over stdio lists the same tools twice in a row.

        Not longer than about four seconds, or than the budget of requests lasts; nothing is raised
        for either.
        """
        assert self._offered is not None
        with suppress(OverBudget):  # the survey reports it as well
            main = self._talks[""]
            await_tools(main, words_of(main, self._offered.tools))

    def _call(self) -> None:
        for key in self.endpoint.call:
            try:
                self._calls[key] = call(self._talks[""], key)
            except OverBudget as over:
                self._calls[key] = Rejected(left_out=str(over))

    def lacking(self, place: Place) -> NotApplicable | None:
        """Return why a place's checks cannot run: the first of --expect, --as, --call they lack.

        None if no option is missing.
        """
        options: Mapping[str, object] = {
            "expect": self.endpoint.expect,
            "as": self.endpoint.agents,
            "call": self.endpoint.call,
        }
        lacks = [word for word in place.needs if not options[word]]
        return not_asked(self._worded(f"--{lacks[0]}")) if lacks else None

    def beyond(self, profile: Profile) -> Mapping[str, NotApplicable]:
        """Return {}: an endpoint declares nothing, so a missing option leaves clauses open."""
        del profile
        return {}

    def open(self, place: Place) -> Any:
        """Return the bench of the first survey, the same for every check."""
        del place
        return self._survey(second=False)

    def judge(self, check: Check, bench: Any, place: Place) -> Ending:
        """Call a check; a failure that compares several answers is confirmed by a second survey.

        It must fail again at one of the same answers or tools at least, and none of those in common
        may differ between the surveys; otherwise, or if the budget is over, the ending is
        inconclusive. An endpoint that no longer answers is an error of the network.
        """
        ending = self._attempt(check, bench)
        if ending.verdict != "fail" or place.name != SEVERAL_ANSWERS.id:
            return ending
        try:
            second = self._survey(second=True)
        except (Unreachable, ProtocolFault) as error:
            return Ending(verdict="error", blame="network", reason=str(error), error=error)
        if second.survey.short:
            short = self._worded(second.survey.short)
            why = f"not confirmed, since {short}; first seen: {ending.in_words()}"
            return _open(why, "cut_short")
        again = self._attempt(check, second)
        same = _subjects(ending) & _subjects(again)
        moved = movements([live.survey for live in self._benches.values()])
        if again.verdict == "fail" and same and not same & moved:
            return again
        why = f"the target does not agree with itself; seen only once: {ending.in_words()}"
        return _open(why, "disagrees", "make the target answer equal requests alike")

    def _attempt(self, check: Check, bench: LiveBench) -> Ending:
        """Call a check once; its ending has the survey's exchanges, and breaches of schemas."""
        ending = attempt(partial(check, bench))
        exchanges = tuple(bench.exchanges())
        worded = str if ending.verdict == "fail" else self._worded
        return replace(
            ending,
            reason=worded(ending.reason),
            of_schemas=bench.breaches_of_schemas(),
            exchanges=exchanges,
        )

    def rests(self, place: Place, ending: Ending, cited: Collection[str]) -> Rests:
        """Return the ending; a failure comes with up to eight of the messages that it cites."""
        del place
        assert self._ledger is not None
        numbers = sorted(map(int, [*dict.fromkeys(cited)][:SHOWN]))
        messages = {f"{PLACE}/{number}": self._ledger.get(number).cited() for number in numbers}
        return Rests(ending=ending, messages=messages)

    def finish(self) -> None:
        """Close every session, once; the requests for that are counted in the report."""
        talks, self._talks = self._talks, {}
        for talk in talks.values():
            talk.close()

    def close(self) -> None:
        """Close every session that is still open."""
        self.finish()


def _violated(why: str) -> Probed:
    """Return a Probed that stops the run: the flag reveals none of the tools that are expected."""
    why = f"FR-014.described: {why}"
    stopped = Outcome("violated", VIOLATED, why)
    return Probed(stopped=stopped, results=(presence.breach(why, PLACE),))


def _subjects(ending: Ending) -> frozenset[str]:
    """Return what a failing check accuses: the keys of the dict on the left of its comparison.

    They are labels of answers, or tools; empty if there is no dict.
    """
    left = ending.sides[1] if ending.sides is not None else None
    return frozenset(map(str, left)) if isinstance(left, dict) else frozenset()


def _open(why: str, cause: Cause, hint: str = "") -> Ending:
    error = Inconclusive(why, cause=cause, hint=hint)
    return Ending(verdict="inconclusive", reason=why, error=error, cause=cause, hint=error.hint)
