"""What a check of a live endpoint is given: everything that was asked, ready to be compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from mcp_proxy_conformance.catalogue.surface import FLAG, Surface
from mcp_proxy_conformance.catalogue.world import ToolKey, World
from mcp_proxy_conformance.discovery.answer import Answer, Entry, Listing
from mcp_proxy_conformance.discovery.live.endpoint import Endpoint
from mcp_proxy_conformance.discovery.live.survey import Survey
from mcp_proxy_conformance.discovery.live.talk import Look, Rejected
from mcp_proxy_conformance.discovery.live.words import Names
from mcp_proxy_conformance.verdict.result import Cause, Inconclusive, NotApplicable

ANSWER = World(servers=(), id="one answer")
"""For checks that find a breach within one answer: nothing that moves explains it."""
ANSWERS = World(servers=(), id="several answers")
"""For checks that compare answers: they are asked for again before the target is accused."""
UNSEEN = "nothing locked was seen; name one with --expect, or a word that finds one with --query"
LEAST_READ = 3


class LiveBench:
    """One survey of an endpoint, through the eyes of the checks."""

    def __init__(
        self,
        endpoint: Endpoint,
        tool: Mapping[str, Any],
        seen: Survey,
        rejected: Mapping[ToolKey, Rejected],
    ) -> None:
        """Made by the run; `tool` is the discovery tool as tools/list shows it."""
        self.endpoint, self.tool, self.seen, self.rejected = endpoint, tool, seen, rejected

    @property
    def surface(self) -> Surface:
        """The target's names."""
        return self.endpoint.surface

    @cached_property
    def _names(self) -> Names:
        return self.seen.names

    def key(self, entry: Entry) -> ToolKey:
        """The tool of an entry, whatever the form of its name."""
        return self._names.key(entry)

    def callables(self, answer: Answer) -> tuple[ToolKey, ...]:
        """The callable tools, in the order told."""
        return tuple(map(self.key, answer.tools))

    def statuses(self, answer: Answer) -> dict[ToolKey, str]:
        """The status of each locked entry."""
        return {self.key(entry): entry.status for entry in answer.disabled}

    def flagged(self) -> list[tuple[Look, Answer]]:
        """Every answer under the flag; inconclusive when none could be read."""
        return self._read(flagged=True)

    def usual(self) -> list[tuple[Look, Answer]]:
        """Every answer without the flag, or with the flag false."""
        return self._read(flagged=False)

    def revealing(self) -> list[tuple[Look, Answer]]:
        """The flagged answers with a locked entry; inconclusive when there is none."""
        found = [(look, answer) for look, answer in self.flagged() if answer.disabled]
        self.require(found, UNSEEN, "not_named")
        return found

    def entries(self) -> list[tuple[Look, Entry]]:
        """Every locked entry of every answer; inconclusive when there is none."""
        return [(look, entry) for look, answer in self.revealing() for entry in answer.disabled]

    def rounds(self) -> Iterator[tuple[Look, list[Answer], list[Answer], list[Answer]]]:
        """For each query asked in all forms: its flagged look, the answers A, F and T."""
        whole = 0
        for looks in self.seen.rounds.values():
            by_form = {
                form: [one.answer for one in looks if one.form == form and one.answer is not None]
                for form in "AFT"
            }
            if [len(by_form[form]) for form in "AFT"] == [3, 2, 2]:
                whole += 1
                flagged = next(one for one in looks if one.form == "T")
                yield flagged, by_form["A"], by_form["F"], by_form["T"]
        self.require(whole, f"no query was answered in all forms {self._why()}")

    def alone(self) -> Iterator[tuple[ToolKey, list[Look], list[Answer]]]:
        """For each tool asked for by its name, with and without the flag: looks and answers."""
        for key, looks in self.seen.alone.items():
            answers = [one.answer for one in looks if one.answer is not None]
            if len(answers) == len(looks) >= 5:  # noqa: PLR2004 - one answer of each form of ALONE
                yield key, looks, answers

    def note(self, answer: Answer) -> str | None:
        """The note of an answer; a member of that name which tells of no flag is something else."""
        return answer.note if FLAG in (answer.note or "") else None

    def steady(self, key: ToolKey, answers: list[Answer]) -> bool:
        """Whether a tool is listed as locked before and after, and among them."""
        return all(key in self.statuses(answers[at]) for at in (0, 2, 4))

    def bracketed(self) -> Iterator[tuple[list[Entry], list[tuple[Look, Answer]]]]:
        """Entries that flagged answers list before and after, with the plain answers between."""
        for looks in (*self.seen.alone.values(), *self.seen.rounds.values()):
            told = [(look, look.answer) for look in looks]
            places = [at for at, look in enumerate(looks) if look.flagged]
            flagged = [answer for look, answer in told if look.flagged and answer is not None]
            if not places or len(flagged) < len(places):
                continue
            steady = set.intersection(*(set(self.statuses(one)) for one in flagged))
            entries = [entry for entry in flagged[0].disabled if self.key(entry) in steady]
            between = [
                (look, answer)
                for look, answer in told[places[0] : places[-1]]
                if not look.flagged and answer is not None and answer.error is None
            ]
            if entries and between:
                yield entries, between

    def listings(self) -> list[Listing]:
        """The server listings; not applicable when nobody named the tool that lists."""
        if not self.endpoint.listing:
            raise NotApplicable(
                "no listing tool was named; --listing or a target file does", cause="not_named"
            )
        self.require(not self.seen.listing_fault, f"servers: {self.seen.listing_fault}")
        self.require(len(self.seen.listings) > 1, f"servers were not listed twice {self._why()}")
        return self.seen.listings

    def require(self, condition: object, reason: str, cause: Cause = "control") -> None:
        """A control: without it the check is inconclusive, for that reason."""
        if not condition:
            raise Inconclusive(reason, cause=cause)

    def _why(self) -> str:
        return f"({self.seen.short})" if self.seen.short else ""

    def _read(self, *, flagged: bool) -> list[tuple[Look, Answer]]:
        looks = [look for look in self.seen.looks() if look.flagged == flagged]
        found = [(one, one.answer) for one in looks if one.answer and one.answer.error is None]
        self.require(len(found) >= LEAST_READ, f"hardly anything could be read {self._why()}")
        return found
