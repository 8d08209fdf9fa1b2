"""Bench of live checks: the recorded answers of one survey of an endpoint; it sends nothing."""

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
from mcp_proxy_conformance.discovery.oracle import LOCKED_CAP
from mcp_proxy_conformance.verdict.exchanges import Exchange, members_of
from mcp_proxy_conformance.verdict.result import (
    Cause,
    Finding,
    Inconclusive,
    NotApplicable,
    of_shape,
)

ONE_ANSWER = World(servers=(), id="one answer")
"""For checks that find a breach within one answer: nothing that moves explains it."""
SEVERAL_ANSWERS = World(servers=(), id="several answers")
"""For checks that compare answers: requests are repeated before the target is accused."""
UNSEEN = "no locked tool was seen; name one with --expect, or a query that finds one with --query"
LEAST_READ = 3
NOTE_SHAPE = ("FR-009.one-line",)
"""What a note that is no text, or is sent twice, breaks."""


class LiveBench:
    """Bench of live checks: the answers of one survey of an endpoint, by kind of request."""

    def __init__(
        self,
        endpoint: Endpoint,
        tool: Mapping[str, Any],
        survey: Survey,
        rejected: Mapping[ToolKey, Rejected],
    ) -> None:
        """Keep what a run has collected; `tool` is the discovery tool as tools/list shows it.

        `rejected` are the results of calls of locked tools.
        """
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
        """Return the callable tools of an answer, in its order."""
        return tuple(map(self.key, answer.tools))

    def statuses(self, answer: Answer) -> dict[ToolKey, str]:
        """Return the status of each locked entry of an answer, by tool."""
        return {self.key(entry): entry.status for entry in answer.disabled}

    def flagged(self) -> list[tuple[LiveAnswer, Answer]]:
        """Return (call, answer) for each discovery call with the flag true that was not an error.

        Answers that cannot be read are left out. Inconclusive if fewer than three are left.
        """
        return self._read(flagged=True)

    def usual(self) -> list[tuple[LiveAnswer, Answer]]:
        """Return (call, answer) for each discovery call with the flag absent or false, no errors.

        Answers that cannot be read are left out. Inconclusive if fewer than three are left.
        """
        return self._read(flagged=False)

    def revealing(self) -> list[tuple[LiveAnswer, Answer]]:
        """Return (call, its answer) for each flagged answer with a locked entry.

        Inconclusive without any.
        """
        answers = [(look, answer) for look, answer in self.flagged() if answer.disabled]
        self.require(answers, UNSEEN, "not_named")
        return answers

    def entries(self) -> list[tuple[LiveAnswer, Entry]]:
        """Return (call, locked entry) for every locked entry of the flagged answers.

        Inconclusive without any.
        """
        return [(look, entry) for look, answer in self.revealing() for entry in answer.disabled]

    def is_full(self, answer: Answer) -> bool:
        """Whether no answer to the main credential lists more locked tools: it may be cut off."""
        most = max(len(each.disabled) for look, each in self.flagged() if not look.who)
        return len(answer.disabled) >= max(1, min(most, LOCKED_CAP))

    def rounds(self) -> Iterator[tuple[LiveAnswer, list[Answer], list[Answer], list[Answer]]]:
        """Yield (a flagged call, answers without, with false, with true flag) per whole round.

        A round is one query; it is whole with three, two and two answers. Inconclusive if no round
        is whole.
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
        """Yield (tool, calls, their answers) for each tool asked for by its name.

        There are at least five calls, some flagged, some not. Tools of which an answer
        could not be read are left out.
        """
        for key, looks in self.survey.alone.items():
            answers = [look.answer for look in looks if look.answer is not None]
            if len(answers) == len(looks) >= 5:  # noqa: PLR2004 - one answer of each form of ALONE
                yield key, looks, answers

    def note(self, answer: Answer) -> str | None:
        """Return the note of an answer; None without one, or if it does not name the flag."""
        return answer.note if FLAG in (answer.note or "") else None

    def steady(self, key: ToolKey, answers: list[Answer]) -> bool:
        """Whether all flagged ones (1st, 3rd, 5th) of these answers list the tool as locked.

        They are those to queries of its name, as `alone` yields them.
        """
        return all(key in self.statuses(answers[at]) for at in (0, 2, 4))

    def bracketed(self) -> Iterator[tuple[list[Entry], list[tuple[LiveAnswer, Answer]]]]:
        """Yield (entries, (call, answer) pairs) per query, for tools that were locked throughout.

        All flagged answers to the query list these entries; the pairs are without the flag, sent
        between flagged ones.
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
        """Return the server listings of the survey, two or more.

        Raises NotApplicable if no listing tool was named, Inconclusive if the servers could
        not be listed, or not twice.
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

    def exchanges(self) -> Iterator[Exchange]:
        """Yield the exchanges of the survey, and of the calls of locked tools, as places name them.

        They are named by their label, or by the server or tool.
        """
        survey = self.survey
        for view in survey.inspected.values():
            if view.reply is not None:
                yield Exchange(view.reply.messages, members_of([("view", view.name)]))
        for listing in (*survey.scopes.values(), *survey.listings):
            servers = [("server", name) for name in listing.servers]
            yield Exchange(listing.reply.messages, members_of(servers))
        for key, looks in survey.alone.items():
            for look in looks:
                yield Exchange(look.messages, members_of([("tool", str(key))]))
        for look in survey.looks():
            yield Exchange(look.messages, members_of([("request", str(look.label))]))
        for key, rejection in self.rejected.items():
            if rejection.messages:
                yield Exchange(rejection.messages, members_of([("call", f"call of {key}")]))

    def breaches_of_schemas(self) -> tuple[Finding, ...]:
        """Return every breach of shape in the survey's answers; paths begin with the request.

        That is each breach of a schema, and each shape in which an answer cannot be read. A note of
        another shape counts only if a readable one names the flag: the specification does not name
        its member.
        """
        looks, survey, listing = list(self.survey.looks()), self.survey, "listing of servers"
        unread: list[tuple[str, str, tuple[str, ...], tuple[str, ...]]] = [
            (look.label, look.fault, look.breaks, look.messages) for look in looks
        ]
        unread.append((listing, survey.listing_fault, survey.listing_breaks, ()))
        unread += [
            (f"{listing} as {who}", str(fault), fault.clauses, ())
            for who, fault in survey.scope_faults.items()
        ]
        if not any(look.answer and self.note(look.answer) for look in looks):
            unread = [each for each in unread if each[2] != NOTE_SHAPE]
        of: list[tuple[str, tuple[Finding, ...], tuple[str, ...]]] = [
            (look.label, look.answer.findings, look.messages) for look in looks if look.answer
        ]
        of += [(listing, each.findings, each.reply.messages) for each in survey.listings]
        of += [
            (f"{listing} as {who}", each.findings, each.reply.messages)
            for who, each in survey.scopes.items()
        ]
        of += [
            (f"view of {name}", view.findings, view.reply.messages)
            for name, view in survey.inspected.items()
            if view.reply is not None
        ]
        of += [
            (request, (of_shape(fault, clauses),), messages)
            for request, fault, clauses, messages in unread
            if clauses
        ]
        return tuple(
            msgspec.structs.replace(finding, path=f"{request}: {finding.path}", messages=messages)
            for request, findings, messages in of
            for finding in findings
        )

    def require(self, condition: object, reason: str, cause: Cause = "control") -> None:
        """Raise Inconclusive with this reason unless the condition, a control, is true."""
        if not condition:
            raise Inconclusive(reason, cause=cause)

    def _why(self) -> str:
        """Return " (REASON)" if the survey is incomplete; empty if it is complete."""
        return f" ({self.survey.short})" if self.survey.short else ""

    def _read(self, *, flagged: bool) -> list[tuple[LiveAnswer, Answer]]:
        """Return (call, answer) pairs of calls with the flag true, or of the others.

        Errors, and answers that cannot be read, are left out. Inconclusive if fewer than three are
        left.
        """
        looks = [look for look in self.survey.looks() if look.flagged == flagged]
        answers = [
            (look, look.answer) for look in looks if look.answer and look.answer.error is None
        ]
        self.require(len(answers) >= LEAST_READ, f"too few answers could be read{self._why()}")
        return answers
