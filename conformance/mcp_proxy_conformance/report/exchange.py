"""The messages of a result as a page shows them: in order, who to whom, the guilty ones marked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mcp_proxy_conformance.report.evidence import guilty

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


def exchange(result: dict[str, Any], messages: dict[str, Any]) -> Exchange:
    """The messages of a result; of many the guilty ones, and the last of the others."""
    found = {one.place: one.found for one in guilty(result, messages)}
    rows = [
        _row(number, place, messages[place], found.get(place))
        for number, place in enumerate(result["messages"], 1)
    ]
    marked = [row.number for row in rows if row.is_guilty]
    kept = set(marked[:MESSAGES_MOST])
    others = [row.number for row in rows if row.number not in kept]
    kept |= set(others[max(0, len(others) - MESSAGES_MOST + len(kept)) :])
    shown = tuple(row for row in rows if row.number in kept)
    return Exchange(shown, len(rows) - len(shown), min(marked, default=0), any(found.values()))


def _row(number: int, place: str, message: dict[str, Any], found: str | None) -> Row:
    body, way = message["body"], WAYS[message["edge"], message["direction"]]
    upstream = message["peer"] if message["edge"] == "upstream" else ""
    at = body.find(found) if found else -1
    start = max(0, at - AROUND)
    end = start + BODY_MOST
    split, stop = (at, at + len(found or "")) if at >= 0 else (end, end)
    return Row(
        number=number,
        way=way,
        told=" ".join(filter(None, [upstream, message["note"], f"({place.rpartition('/')[2]})"])),
        is_guilty=found is not None,
        before=("… " if start else "") + body[start:split],
        marked=body[split : min(stop, end)],
        after=body[stop:end],
        cut=bool(start or len(body) > end or message["cut"]),
    )
