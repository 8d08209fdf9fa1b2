"""Evidence of a failure: its facts, the guilty messages, and the messages shown around them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from mcp_proxy_conformance.report.difference import (
    MOST,
    Difference,
    differences,
    sentences,
    wrong,
)
from mcp_proxy_conformance.report.document import ReportedMessage
from mcp_proxy_conformance.verdict.result import Result

LEAST = 4
"""Characters; shorter texts are found in any message."""
_TOOL = re.compile(r"[\w.-]+:(?P<tool>[\w.-]+)")
_FLAGGED = re.compile(r'include_disabled\\*"\s*:\s*true')
OF_USUAL = (
    "FR-001.default-off", "FR-002", "FR-007.note", "FR-009", "FR-010", "SC-001", "SC-005", "SC-006",
)  # fmt: skip
"""Clauses, or requirements, whose breach is one of an answer without the flag."""
OF_FLAGGED = ("FR-001", "FR-003", "FR-004", "FR-005", "FR-006", "SC-002")
"""Further requirements whose breach, if it is an absence, is one of an answer to the flag."""
_STATELESS = "io.modelcontextprotocol/protocolVersion"
"""The member of a request in the stateless revision, whose date is in the place of a finding."""
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_WORD = re.compile(r"[A-Za-z][\w.-]{3,}")
_NUMBER = re.compile(r"(?<![\w.-])\d+(?![\w.-])")


@dataclass(frozen=True, slots=True)
class Fact:
    """One pair of an observed and an allowed value, with all places where they differ so.

    `times` is the number of differences that say it.
    """

    places: tuple[str, ...]
    observed: str
    allowed: str
    times: int


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence of a result: the `broken` phrase, facts of its differences, further lines."""

    wrong: str
    facts: tuple[Fact, ...]
    others: tuple[str, ...]

    @property
    def first(self) -> str:
        """The first fact on one line: first place, observed and allowed value; "" without facts."""
        if not self.facts:
            return ""
        fact = self.facts[0]
        values = "; allowed: ".join(filter(None, (fact.observed, fact.allowed)))
        return ": ".join(filter(None, (*fact.places[:1], values)))


@dataclass(frozen=True, slots=True)
class Guilty:
    """A message to look at, and the observed text in it; `observed` is empty if it is not there."""

    place: str
    observed: str


def read(result: Result) -> Evidence:
    """Return the evidence of a result: up to twelve facts, and lines that repeat none of them."""
    known = set(sentences(result.findings))
    return Evidence(
        wrong=wrong(result.findings[0].clauses) if result.findings else "",
        facts=tuple(_facts(differences(result.findings)))[:MOST],
        others=tuple(line for line in result.evidence if line not in known),
    )


def _facts(ungrouped: Iterable[Difference]) -> Iterator[Fact]:
    """Yield a Fact for each distinct (observed, allowed) pair, with all its places, in order."""
    groups: dict[tuple[str, str], list[str]] = {}
    for difference in ungrouped:
        groups.setdefault((difference.observed, difference.allowed), []).append(difference.path)
    for (observed, allowed), paths in groups.items():
        places = tuple(filter(None, dict.fromkeys(paths)))
        yield Fact(places, observed, allowed, len(paths))


def guilty(result: Result, messages: Mapping[str, ReportedMessage]) -> tuple[Guilty, ...]:
    """Return the messages of a failed or waived result that show the failure; () for others.

    They are the target's messages that findings name by id, else those with an observed text. If
    there are none, it is one message: a tool call of the suite that is the last, as unanswered;
    else the last of the answers to calls that fit the first finding best; else the target's last.
    """
    if result.verdict not in ("fail", "waived"):
        return ()
    of_target = [place for place in result.messages if is_of_target(messages[place])]
    observed = {
        place: text
        for difference in differences(result.findings)
        for part in difference.texts
        if len(part) >= LEAST
        for text in _forms(part)
        for place in of_target
        if text in messages[place].body and _names_its_tool(difference.path, messages[place])
    }
    if compared := {finding.message for finding in result.findings}.intersection(of_target):
        return tuple(
            Guilty(place, observed.get(place, "")) for place in of_target if place in compared
        )
    if observed:
        return tuple(Guilty(place, observed[place]) for place in of_target if place in observed)
    if (last := result.messages[-1:]) and _is_unanswered(messages[last[0]]):
        return (Guilty(last[0], ""),)
    calls = [
        (before, place)
        for before, place in pairwise(result.messages)
        if place in of_target and "tools/call" in messages[before].note
    ]
    best = max((_fit(result, messages[sent], messages[got]) for sent, got in calls), default=None)
    answers = [got for sent, got in calls if _fit(result, messages[sent], messages[got]) == best]
    return tuple(Guilty(place, "") for place in (answers or of_target)[-1:])


@dataclass(frozen=True, slots=True, order=True)
class _Fit:
    """How well a request and its answer fit a finding; the greatest is the best.

    `is_suited`: the request's `include_disabled` suits the clause, and its revision the place.
    `in_request` and `in_answer` count what they have of the place: words, and for the request
    numbers too.
    """

    is_suited: bool
    in_request: int
    in_answer: int


def _fit(result: Result, request: ReportedMessage, answer: ReportedMessage) -> _Fit:
    """Return how well a request and its answer fit the result's first finding.

    Without a finding, the clause is the result's first, and the place empty.
    """
    finding = next(iter(result.findings), None)
    clause = next(iter(finding.clauses if finding is not None else result.clauses), "")
    path = finding.path if finding is not None else ""
    flagged = _FLAGGED.search(request.body) is not None
    if clause.startswith(OF_USUAL):
        is_suited = not flagged
    else:
        is_suited = flagged or not clause.startswith(OF_FLAGGED)
    is_suited &= (_DATE.search(path) is not None) == (_STATELESS in request.body)
    words = set(_WORD.findall(path))
    numbers = [number for number in _NUMBER.findall(path)
               if re.search(rf":\s*{number}\b", request.body)]  # fmt: skip
    in_request = sum(word in request.body for word in words) + len(numbers)
    return _Fit(is_suited, in_request, sum(word in answer.body for word in words))


def _is_unanswered(last: ReportedMessage) -> bool:
    """Whether a result's last message is a `tools/call` that the suite's client sent."""
    return (last.edge, last.direction) == ("client", "sent") and "tools/call" in last.note


def is_of_target(message: ReportedMessage) -> bool:
    """Whether the target sent the message: the suite received it, as client or upstream server."""
    return bool(message.direction == "received")


def _forms(text: str) -> list[str]:
    """Return the distinct spellings of a text in a body: plain, in JSON, in JSON within JSON.

    [] for an empty text.
    """
    once = [json.dumps(text, ensure_ascii=ascii_)[1:-1] for ascii_ in (False, True)]
    twice = [
        json.dumps(form, ensure_ascii=ascii_)[1:-1] for form in once for ascii_ in (False, True)
    ]
    return list(dict.fromkeys([text, *once, *twice])) if text else []


def _names_its_tool(path: str, message: ReportedMessage) -> bool:
    """Whether the message's body has the tool that the path names; True if it names none."""
    named = _TOOL.search(path)
    return named is None or named["tool"] in message.body


MESSAGES_MOST, BODY_MOST, OTHERS_MOST, AROUND = 8, 2500, 600, 300
"""Messages shown of a failure; characters of a guilty body, of another, before what is marked."""
UNSETTLED_MOST = 2
"""Messages shown of a result that is not a failure."""
WAYS = {
    ("client", "sent"): "suite → target",
    ("client", "received"): "target → suite",
    ("upstream", "received"): "target → upstream",
    ("upstream", "sent"): "upstream → target",
}


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """One message as shown: direction, description, and the body around its `marked` part."""

    number: int
    way: str
    description: str
    is_guilty: bool
    before: str
    marked: str
    after: str
    cut: bool


@dataclass(frozen=True, slots=True)
class ShownMessages:
    """The messages shown of a result; `holds`: the observed text is in one of the guilty ones.

    `left_out` is how many are not shown; `first` is the number of the first guilty one, or 0.
    """

    rows: tuple[ShownMessage, ...]
    left_out: int
    first: int
    holds: bool


def exchange(result: Result, messages: Mapping[str, ReportedMessage]) -> ShownMessages:
    """Return up to eight messages of a result, in order; the others are counted.

    Guilty ones (those that show the failure) come first in the choice, each with the message before
    it, then the latest. If none is guilty, at most two are shown.
    """
    observed = {culprit.place: culprit.observed for culprit in guilty(result, messages)}
    rows = [
        _row(number, place, messages[place], observed.get(place))
        for number, place in enumerate(result.messages, 1)
    ]
    most = MESSAGES_MOST if observed else UNSETTLED_MOST
    marked = [row.number for row in rows if row.is_guilty]
    first = [number for at in marked for number in (at, at - 1) if number > 0]
    last = [row.number for row in reversed(rows)]
    kept = set(list(dict.fromkeys([*first, *last]))[:most])
    shown = tuple(row for row in rows if row.number in kept)
    return ShownMessages(
        shown, len(rows) - len(shown), min(marked, default=0), any(observed.values())
    )


def _row(number: int, place: str, message: ReportedMessage, observed: str | None) -> ShownMessage:
    """Return a message as shown, with its body cut around `observed`, if that is in it.

    `observed` is None for a message that is not guilty, of which less is shown; "" for a guilty
    one without such a text.
    """
    body, way = message.body, WAYS[message.edge, message.direction]
    upstream = message.peer if message.edge == "upstream" else ""
    at = body.find(observed) if observed else -1
    start = max(0, at - AROUND)
    end = start + (OTHERS_MOST if observed is None else BODY_MOST)
    split, stop = (at, at + len(observed or "")) if at >= 0 else (end, end)
    return ShownMessage(
        number=number,
        way=way,
        description=" ".join(
            filter(None, [upstream, message.note, f"({place.rpartition('/')[2]})"])
        ),
        is_guilty=observed is not None,
        before=("… " if start else "") + body[start:split],
        marked=body[split : min(stop, end)],
        after=body[stop:end],
        cut=bool(start or len(body) > end or message.cut),
    )
