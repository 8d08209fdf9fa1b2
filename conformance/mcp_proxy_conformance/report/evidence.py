"""Evidence of a failure: its differences, and the messages that hold what was observed."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

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
    """One place in which observed and expected differ; an empty path is the whole."""

    path: str
    expected: str
    observed: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """The lines of a result, read: where both sides differ, both sides whole, and the rest."""

    differences: tuple[Difference, ...]
    sides: tuple[tuple[str, str], ...]
    others: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Guilty:
    """A message to look at, and what in it; `found` is empty where it is only the last one."""

    place: str
    found: str


def read(result: Result) -> Evidence:
    """The evidence of a result; a line that can be read in two ways is left as it is."""
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
    """Of a failure the messages of the target that hold what was observed, else its last answer.

    The last answer is that to a call, where the check made any: what it asks beside its calls, as
    for the list of tools, is not what it is about.
    """
    if result.verdict not in ("fail", "waived"):
        return ()
    told = [place for place in result.messages if is_of_target(messages[place])]
    found = {
        place: text
        for one in read(result).differences
        for text in _forms(_text(one.observed))
        for place in told
        if text in messages[place].body and _names_its_tool(one.path, messages[place])
    }
    if found:
        return tuple(Guilty(place, found[place]) for place in told if place in found)
    asked = list(zip(["", *result.messages], result.messages, strict=False))
    answers = [
        place
        for before, place in asked
        if before and place in told and "tools/call" in messages[before].note
    ]
    return tuple(Guilty(place, "") for place in (answers or told)[-1:])


def is_of_target(message: Message) -> bool:
    """Whether the target said it: to the client, or to an upstream server."""
    return bool(message.direction == "received")


def _text(shown: str) -> str:
    """The text that an evidence line shows in quotes; empty where it is none or was cut."""
    try:
        value = json.loads(shown)
    except (ValueError, RecursionError):
        return ""
    return value if isinstance(value, str) and len(value) >= LEAST else ""


def _forms(text: str) -> list[str]:
    """How it looks in a body: as it is, in JSON, and in JSON inside of JSON."""
    once = [json.dumps(text, ensure_ascii=ascii_)[1:-1] for ascii_ in (False, True)]
    twice = [json.dumps(one, ensure_ascii=ascii_)[1:-1] for one in once for ascii_ in (False, True)]
    return list(dict.fromkeys([text, *once, *twice])) if text else []


def _names_its_tool(path: str, message: Message) -> bool:
    """Whether the message is about the tool that the path names, if it names one."""
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
    """One message: its way, what is told of it, and its body, of which `marked` is a part."""

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
    """The rows that are shown, how many are not, and the number of the first guilty one."""

    rows: tuple[Row, ...]
    left_out: int
    first: int
    holds: bool


def exchange(result: Result, messages: Mapping[str, Message]) -> Exchange:
    """The messages of a result; of many the guilty ones, and the last of the others."""
    found = {one.place: one.found for one in guilty(result, messages)}
    rows = [
        _row(number, place, messages[place], found.get(place))
        for number, place in enumerate(result.messages, 1)
    ]
    marked = [row.number for row in rows if row.is_guilty]
    kept = set(marked[:MESSAGES_MOST])
    others = [row.number for row in rows if row.number not in kept]
    kept |= set(others[max(0, len(others) - MESSAGES_MOST + len(kept)) :])
    shown = tuple(row for row in rows if row.number in kept)
    return Exchange(shown, len(rows) - len(shown), min(marked, default=0), any(found.values()))


def _row(number: int, place: str, message: Message, found: str | None) -> Row:
    body, way = message.body, WAYS[message.edge, message.direction]
    upstream = message.peer if message.edge == "upstream" else ""
    at = body.find(found) if found else -1
    start = max(0, at - AROUND)
    end = start + BODY_MOST
    split, stop = (at, at + len(found or "")) if at >= 0 else (end, end)
    return Row(
        number=number,
        way=way,
        told=" ".join(filter(None, [upstream, message.note, f"({place.rpartition('/')[2]})"])),
        is_guilty=found is not None,
        before=("… " if start else "") + body[start:split],
        marked=body[split : min(stop, end)],
        after=body[stop:end],
        cut=bool(start or len(body) > end or message.cut),
    )
