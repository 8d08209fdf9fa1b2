"""Evidence of a failure: its facts, the guilty messages, and the messages shown around them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from mcp_proxy_conformance.report.difference import (
    MOST,
    Difference,
    differences,
    wrong,
)
from mcp_proxy_conformance.report.document import ReportedMessage
from mcp_proxy_conformance.verdict.result import Result

LEAST = 4
"""Characters; shorter texts are found in any message."""


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
    """The evidence of a result: the `broken` phrase, and facts of its differences."""

    wrong: str
    facts: tuple[Fact, ...]

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
    """A message to look at, its request if known, and the observed text in it, empty if in none."""

    place: str
    request: str
    observed: str


def read(result: Result) -> Evidence:
    """Return the evidence of a result, with up to twelve facts."""
    return Evidence(
        wrong=wrong(result.findings[0].clauses) if result.findings else "",
        facts=tuple(_facts(differences(result.findings)))[:MOST],
    )


def _facts(ungrouped: Iterable[Difference]) -> Iterator[Fact]:
    groups: dict[tuple[str, str], list[str]] = {}
    for difference in ungrouped:
        groups.setdefault((difference.observed, difference.allowed), []).append(difference.path)
    for (observed, allowed), paths in groups.items():
        places = tuple(filter(None, dict.fromkeys(paths)))
        yield Fact(places, observed, allowed, len(paths))


def guilty(result: Result, messages: Mapping[str, ReportedMessage]) -> tuple[Guilty, ...]:
    """Return the messages of a failed or waived result that show the failure; () for others.

    They are the answers that its findings were read from, the first finding's first, or a request
    that got none. Where findings name no messages, it is the last message of the
    target.
    """
    if result.verdict not in ("fail", "waived"):
        return ()
    cited = dict.fromkeys(
        place for finding in result.findings for place in finding.messages if place in messages
    )
    if not cited:
        of_target = [place for place in result.messages if is_of_target(messages[place])]
        cited = dict.fromkeys(result.messages[: result.messages.index(of_target[-1]) + 1][-2:]
                              if of_target else ())  # fmt: skip
    texts = [
        text
        for difference in differences(result.findings)
        for part in difference.texts
        if len(part) >= LEAST
        for text in _forms(part)
    ]
    found, request = list[Guilty](), ""
    for place, after in pairwise((*cited, "")):
        if is_of_target(messages[place]):
            body = messages[place].body
            found.append(Guilty(place, request, next((t for t in texts if t in body), "")))
            continue
        request = place
        if not after or not is_of_target(messages[after]):  # it was not answered
            found.append(Guilty(place, request, ""))
    return tuple(found)


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
    marked = [result.messages.index(place) + 1 for place in observed]
    first = [number for at in marked for number in (at, at - 1) if number > 0]
    last = [row.number for row in reversed(rows)]
    kept = set(list(dict.fromkeys([*first, *last]))[:most])
    shown = tuple(row for row in rows if row.number in kept)
    return ShownMessages(
        shown, len(rows) - len(shown), next(iter(marked), 0), any(observed.values())
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
