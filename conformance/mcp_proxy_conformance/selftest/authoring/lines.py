"""On which line of a file something stands, by its place in the data."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

from mcp_proxy_conformance.wire.spans import Node

Place = tuple[str | int, ...]
_HEADER = re.compile(r"\s*(\[\[?)\s*([\w.-]+)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"""\s*(["']?)([^"'=\[\]{}#\s]+)\1\s*=""")


def pointer(place: Sequence[str | int]) -> str:
    """The JSON pointer of a place (RFC 6901)."""
    return "".join(f"/{str(one).replace('~', '~0').replace('/', '~1')}" for one in place)


class JsonLines:
    """Lines of a JSON document, from its nodes."""

    def __init__(self, root: Node) -> None:
        """Nothing is looked up yet."""
        self._root = root

    def line(self, place: Sequence[str | int]) -> int:
        """The line on which the value begins, or the nearest one around it that there is."""
        node = self._root
        for key in place:
            if (below := node.get(key)) is None:
                break
            node = below
        return line_at(node.source, node.start)


class TomlLines:
    """Lines of a TOML document: of its tables, of their keys, and of texts in lists."""

    def __init__(self, text: str) -> None:
        """Nothing is looked up yet."""
        self._lines = text.splitlines()

    def line(self, place: Sequence[str | int], value: object = None) -> int:
        """The line of the place, or of what is nearest around it; of a text in it, its own."""
        known, at = self._places, tuple(place)
        while at not in known and at:
            at = at[:-1]
        first = known.get(at, 1)
        if isinstance(value, str) and value:
            for number, line in enumerate(self._lines[first - 1 :], first):
                if f'"{value}"' in line:
                    return number
        return first

    @cached_property
    def _places(self) -> dict[Place, int]:
        found: dict[Place, int] = {}
        counts: dict[str, int] = {}
        table: Place = ()
        for number, line in enumerate(self._lines, 1):
            if header := _HEADER.match(line):
                name = header[2]
                if header[1] == "[[":
                    counts[name] = counts.get(name, -1) + 1
                    for below in [one for one in counts if one.startswith(f"{name}.")]:
                        del counts[below]
                table = _table(name, counts)
                found.setdefault(table, number)
            elif key := _KEY.match(line):
                found.setdefault((*table, key[2]), number)
        return found


def _table(name: str, counts: dict[str, int]) -> Place:
    place: list[str | int] = []
    parts = name.split(".")
    for depth, part in enumerate(parts, 1):
        place.append(part)
        number = counts.get(".".join(parts[:depth]))
        place += [] if number is None else [number]
    return tuple(place)


def line_at(raw: bytes, offset: int) -> int:
    """The line of a byte; the first is 1."""
    return raw.count(b"\n", 0, offset) + 1
