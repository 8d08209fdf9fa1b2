"""Evidence of a failure: its differences, and the messages that hold what was observed."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from mcp_proxy_conformance.report.document import Message
from mcp_proxy_conformance.verdict.result import Result

LEAST = 4
"""Characters; shorter texts are found in any message."""
_ROW = re.compile(
    r"at (?P<path>.*?): expected (?P<expected>.*), observed (?P<observed>.*)", re.DOTALL
)
_SIDE = re.compile(r"(?P<side>observed|expected): (?P<value>.*)", re.DOTALL)
_TOOL = re.compile(r"[\w.-]+:(?P<tool>[\w.-]+)")


@dataclass(frozen=True, slots=True)
class Difference:
    """A place in which observed and expected differ; an empty path means the whole."""

    path: str
    expected: str
    observed: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """Parsed evidence of a result: its differences, both whole sides, and all other lines."""

    differences: tuple[Difference, ...]
    sides: tuple[tuple[str, str], ...]
    others: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Guilty:
    """A message to look at and the observed text in it; `found` is empty for a mere last answer."""

    place: str
    found: str


def read(result: Result) -> Evidence:
    """Parse the evidence of a result; an ambiguous line is left as it is."""
    differences, sides, others = [], [], []
    for line in result.evidence:
        row, side = _ROW.fullmatch(line), _SIDE.fullmatch(line)
        if row and line.count(", observed ") == line.count(": expected ") == 1:
            differences.append(Difference(row["path"], row["expected"], row["observed"]))
        elif side:
            sides.append((side["side"], side["value"]))
        else:
            others.append(line)
    return Evidence(tuple(differences), tuple(sorted(sides)), tuple(others))


def guilty(result: Result, messages: Mapping[str, Message]) -> tuple[Guilty, ...]:
    """Return the target's messages that hold what a failure observed, else its last answer.

    The last answer is that to a call, if the check made any: a request beside its calls, such as
    that for the list of tools, is not what the check is about.
    """
    if result.verdict not in ("fail", "waived"):
        return ()
    of_target = [place for place in result.messages if is_of_target(messages[place])]
    observed = {
        place: text
        for difference in read(result).differences
        for text in _forms(_text(difference.observed))
        for place in of_target
        if text in messages[place].body and _names_its_tool(difference.path, messages[place])
    }
    if observed:
        return tuple(Guilty(place, observed[place]) for place in of_target if place in observed)
    answers = [
        place
        for before, place in pairwise(result.messages)
        if place in of_target and "tools/call" in messages[before].note
    ]
    return tuple(Guilty(place, "") for place in (answers or of_target)[-1:])


def is_of_target(message: Message) -> bool:
    """Whether the target sent it: to the client, or to an upstream server."""
    return bool(message.direction == "received")


def _text(shown: str) -> str:
    """Return the text that an evidence line quotes; empty for no text, a short one or a cut one."""
    try:
        value = json.loads(shown)
    except (ValueError, RecursionError):
        return ""
    return value if isinstance(value, str) and len(value) >= LEAST else ""


def _forms(text: str) -> list[str]:
    """Return the text as a body may hold it: as it is, in JSON, and in JSON inside of JSON."""
    once = [json.dumps(text, ensure_ascii=ascii_)[1:-1] for ascii_ in (False, True)]
    twice = [
        json.dumps(form, ensure_ascii=ascii_)[1:-1] for form in once for ascii_ in (False, True)
    ]
    return list(dict.fromkeys([text, *once, *twice])) if text else []


def _names_its_tool(path: str, message: Message) -> bool:
    """Whether the message mentions the tool that the path names; true if it names none."""
    named = _TOOL.search(path)
    return named is None or named["tool"] in message.body


BODY_MOST, MESSAGES_MOST, AROUND = 4000, 24, 300
WAYS = {
    ("client", "sent"): "suite → target",
    ("client", "received"): "target → suite",
    ("upstream", "received"): "target → upstream",
    ("upstream", "sent"): "upstream → target",
}


@dataclass(frozen=True, slots=True)
class Row:
    """A message: its way, its description, and its body, of which `marked` is a part."""

    number: int
    way: str
    told: str
    is_guilty: bool
    before: str
    marked: str
    after: str
    cut: bool


@dataclass(frozen=True, slots=True)
class Exchange:
    """The shown rows, the number of those left out, and the number of the first guilty one."""

    rows: tuple[Row, ...]
    left_out: int
    first: int
    holds: bool


def exchange(result: Result, messages: Mapping[str, Message]) -> Exchange:
    """Select the messages of a result: of many, the guilty ones and the last of the others."""
    observed = {culprit.place: culprit.found for culprit in guilty(result, messages)}
    rows = [
        _row(number, place, messages[place], observed.get(place))
        for number, place in enumerate(result.messages, 1)
    ]
    marked = [row.number for row in rows if row.is_guilty]
    kept = set(marked[:MESSAGES_MOST])
    others = [row.number for row in rows if row.number not in kept]
    kept |= set(others[max(0, len(others) - MESSAGES_MOST + len(kept)) :])
    shown = tuple(row for row in rows if row.number in kept)
    return Exchange(shown, len(rows) - len(shown), min(marked, default=0), any(observed.values()))


def _row(number: int, place: str, message: Message, observed: str | None) -> Row:
    body, way = message.body, WAYS[message.edge, message.direction]
    upstream = message.peer if message.edge == "upstream" else ""
    at = body.find(observed) if observed else -1
    start = max(0, at - AROUND)
    end = start + BODY_MOST
    split, stop = (at, at + len(observed or "")) if at >= 0 else (end, end)
    return Row(
        number=number,
        way=way,
        told=" ".join(filter(None, [upstream, message.note, f"({place.rpartition('/')[2]})"])),
        is_guilty=observed is not None,
        before=("… " if start else "") + body[start:split],
        marked=body[split : min(stop, end)],
        after=body[stop:end],
        cut=bool(start or len(body) > end or message.cut),
    )
