"""Bench of live checks: the recorded answers of one survey of the endpoint; nothing is sent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import msgspec

from mcp_proxy_conformance.catalogue.surface import FLAG, Surface
from mcp_proxy_conformance.catalogue.world import ToolKey, World
from mcp_proxy_conformance.discovery.answer import Answer, Entry, Listing
from mcp_proxy_conformance.discovery.live.endpoint import Endpoint
from mcp_proxy_conformance.discovery.live.survey import Survey
from mcp_proxy_conformance.discovery.live.talk import LiveAnswer, Rejected
from mcp_proxy_conformance.discovery.live.words import Names
from mcp_proxy_conformance.verdict.result import Cause, Finding, Inconclusive, NotApplicable

ANSWER = World(servers=(), id="one answer")
"""For checks that find a breach within one answer: nothing that moves explains it."""
ANSWERS = World(servers=(), id="several answers")
"""For checks that compare answers: requests are repeated before the target is accused."""
UNSEEN = "no locked tool was seen; name one with --expect, or a query that finds one with --query"
LEAST_READ = 3


class LiveBench:
    """Bench of live checks: the answers of one survey of an endpoint, by kind of request."""

    def __init__(
        self,
        endpoint: Endpoint,
        tool: Mapping[str, Any],
        survey: Survey,
        rejected: Mapping[ToolKey, Rejected],
    ) -> None:
        """Keep what a run has collected; `tool` is the discovery tool as tools/list shows it."""
        self.endpoint, self.tool, self.survey, self.rejected = endpoint, tool, survey, rejected

    @property
    def surface(self) -> Surface:
        """The endpoint's own names of tools, arguments and members."""
        return self.endpoint.surface

    @cached_property
    def _names(self) -> Names:
        """The endpoint's spelling of tool names, as all answers of the survey show it."""
        return self.survey.names

    def key(self, entry: Entry) -> ToolKey:
        """Return the tool of an entry, whatever the form of its name."""
        return self._names.key(entry)

    def callables(self, answer: Answer) -> tuple[ToolKey, ...]:
        """Return the callable tools in the order of the answer."""
        return tuple(map(self.key, answer.tools))

    def statuses(self, answer: Answer) -> dict[ToolKey, str]:
        """Return the status of each locked entry, by tool."""
        return {self.key(entry): entry.status for entry in answer.disabled}

    def flagged(self) -> list[tuple[LiveAnswer, Answer]]:
        """Return each discovery call with the flag true, and its answer, in pairs.

        Answers that cannot be read, and errors, are left out; inconclusive below three.
        """
        return self._read(flagged=True)

    def usual(self) -> list[tuple[LiveAnswer, Answer]]:
        """Return each discovery call with the flag absent or false, and its answer, in pairs.

        Answers that cannot be read, and errors, are left out; inconclusive below three.
        """
        return self._read(flagged=False)

    def revealing(self) -> list[tuple[LiveAnswer, Answer]]:
        """Return the flagged answers with a locked entry, with their calls.

        Inconclusive without any.
        """
        answers = [(look, answer) for look, answer in self.flagged() if answer.disabled]
        self.require(answers, UNSEEN, "not_named")
        return answers

    def entries(self) -> list[tuple[LiveAnswer, Entry]]:
        """Return every locked entry of the readable answers, with its call.

        Inconclusive without any.
        """
        return [(look, entry) for look, answer in self.revealing() for entry in answer.disabled]

    def rounds(self) -> Iterator[tuple[LiveAnswer, list[Answer], list[Answer], list[Answer]]]:
        """Yield, for each query with a whole round, one flagged call and the answers of all forms.

        These are three answers with the flag absent, two with it false and two with it true.
        Inconclusive without a whole round.
        """
        whole = 0
        for looks in self.survey.rounds.values():
            by_form = {
                form: [
                    look.answer for look in looks if look.form == form and look.answer is not None
                ]
                for form in "AFT"
            }
            if [len(by_form[form]) for form in "AFT"] == [3, 2, 2]:
                whole += 1
                flagged = next(look for look in looks if look.form == "T")
                yield flagged, by_form["A"], by_form["F"], by_form["T"]
        self.require(
            whole, f"no query was answered with the flag absent, false and true{self._why()}"
        )

    def alone(self) -> Iterator[tuple[ToolKey, list[LiveAnswer], list[Answer]]]:
        """Yield each tool asked for by its name, with its five or more calls and their answers.

        Some are flagged, some not. Tools of which an answer could not be read are left out.
        """
        for key, looks in self.survey.alone.items():
            answers = [look.answer for look in looks if look.answer is not None]
            if len(answers) == len(looks) >= 5:  # noqa: PLR2004 - one answer of each form of ALONE
                yield key, looks, answers

    def note(self, answer: Answer) -> str | None:
        """Return the note of an answer, None without one.

        A text that does not name the flag is none.
        """
        return answer.note if FLAG in (answer.note or "") else None

    def steady(self, key: ToolKey, answers: list[Answer]) -> bool:
        """Whether every flagged answer (1st, 3rd, 5th) to the tool's name lists it as locked."""
        return all(key in self.statuses(answers[at]) for at in (0, 2, 4))

    def bracketed(self) -> Iterator[tuple[list[Entry], list[tuple[LiveAnswer, Answer]]]]:
        """Yield the entries that all flagged answers to a query list, and the answers between them.

        The latter are without the flag: the tools are certainly locked while they are given.
        """
        for looks in (*self.survey.alone.values(), *self.survey.rounds.values()):
            pairs = [(look, look.answer) for look in looks]
            places = [at for at, look in enumerate(looks) if look.flagged]
            flagged = [answer for look, answer in pairs if look.flagged and answer is not None]
            if not places or len(flagged) < len(places):
                continue
            steady = set.intersection(*(set(self.statuses(answer)) for answer in flagged))
            entries = [entry for entry in flagged[0].disabled if self.key(entry) in steady]
            between = [
                (look, answer)
                for look, answer in pairs[places[0] : places[-1]]
                if not look.flagged and answer is not None and answer.error is None
            ]
            if entries and between:
                yield entries, between

    def listings(self) -> list[Listing]:
        """Return the server listings, two or more; not applicable when no listing tool was named.

        Inconclusive if the servers could not be listed, or not twice.
        """
        if not self.endpoint.listing:
            raise NotApplicable(
                "no listing tool was named; name it with --listing or in a target file",
                cause="not_named",
            )
        self.require(
            not self.survey.listing_fault,
            f"the servers cannot be listed: {self.survey.listing_fault}",
        )
        self.require(
            len(self.survey.listings) > 1, f"the servers were not listed twice{self._why()}"
        )
        return self.survey.listings

    def breaches_of_schemas(self) -> tuple[Finding, ...]:
        """Return every breach of a schema in an answer.

        Its path begins with the request in words.
        """
        of = [(look.label, look.answer.findings) for look in self.survey.looks() if look.answer]
        of += [("listing of servers", listing.findings) for listing in self.survey.listings]
        of += [(f"view of {name}", view.findings) for name, view in self.survey.inspected.items()]
        return tuple(
            msgspec.structs.replace(finding, path=f"{request}: {finding.path}")
            for request, findings in of
            for finding in findings
        )

    def require(self, condition: object, reason: str, cause: Cause = "control") -> None:
        """Raise Inconclusive with this reason unless the condition, a control, is met."""
        if not condition:
            raise Inconclusive(reason, cause=cause)

    def _why(self) -> str:
        """Return, in brackets, why the survey is incomplete; empty if it is complete."""
        return f" ({self.survey.short})" if self.survey.short else ""

    def _read(self, *, flagged: bool) -> list[tuple[LiveAnswer, Answer]]:
        """Return calls and readable answers with the flag true, or others.

        Inconclusive under three.
        """
        looks = [look for look in self.survey.looks() if look.flagged == flagged]
        answers = [
            (look, look.answer) for look in looks if look.answer and look.answer.error is None
        ]
        self.require(len(answers) >= LEAST_READ, f"too few answers could be read{self._why()}")
        return answers
