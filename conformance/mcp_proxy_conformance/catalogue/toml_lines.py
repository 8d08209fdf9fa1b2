"""Line numbers in a TOML document: where its tables and their members begin."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property

Place = tuple[str | int, ...]
_NOT_MEANT = re.compile(
    r'"""(?:\\.|[^\\])*?"""(?:"{0,2})'
    r"|'''.*?'''(?:'{0,2})"
    r'|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\''
    r"|\#[^\n]*",
    re.DOTALL,
)
_NAME = r"""(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')"""
_DOTTED = rf"{_NAME}(?:\s*\.\s*{_NAME})*"
_HEADER = re.compile(rf"\s*(\[\[?)\s*({_DOTTED})\s*\]\]?\s*$")
_MEMBER = re.compile(rf"\s*({_DOTTED})\s*=")


class TomlLines:
    """Finds the lines, counted from 1, of tables and members in a TOML text, for error messages.

    A place is a path of names and, after that of an array of tables, an index.
    """

    def __init__(self, text: str) -> None:
        """Keep the text; its lines are looked up on demand."""
        self._text = text

    def line(self, place: Sequence[str | int], value: object = None) -> int:
        """Return the line of a place, or of its nearest ancestor in the text; 1 without one.

        With a text as `value`, the first line from there on that has it in quotes, if any
        has.
        """
        known, at = self.places, tuple(place)
        while at not in known and at:
            at = at[:-1]
        first = known.get(at, 1)
        if isinstance(value, str) and value:
            for number, line in enumerate(self._text.splitlines()[first - 1 :], first):
                if f'"{value}"' in line:
                    return number
        return first

    @cached_property
    def places(self) -> dict[Place, int]:
        """Map each table's and member's place to its line number, from 1 on, in document order.

        A place is its path of names, with an index after the name of an array of tables. A place
        that is only the beginning of others has the line of its first occurrence.
        """
        lines: dict[Place, int] = {}
        counts: dict[Place, int] = {}
        table: Place = ()
        for number, line in enumerate(_bare(self._text).split("\n"), 1):
            if header := _HEADER.match(line):
                names = tuple(_names(header[2]))
                if header[1] == "[[":
                    counts[names] = counts.get(names, -1) + 1
                    for below in [
                        place for place in counts if place[: len(names)] == names != place
                    ]:
                        del counts[below]
                table = _numbered(names, counts)
                begun = table
            elif member := _MEMBER.match(line):
                begun = (*table, *_names(member[1]))
            else:
                continue
            for length in range(1, len(begun) + 1):
                lines.setdefault(begun[:length], number)
        return lines


def _names(dotted: str) -> Iterator[str]:
    """Yield the parts of a dotted key, without their quotes."""
    for name in re.findall(_NAME, dotted):
        yield name[1:-1] if name[0] in "\"'" else name


def _numbered(names: tuple[str, ...], counts: dict[Place, int]) -> Place:
    """Return a table's place: its names, each followed by an index if it is an array of tables.

    `counts` has the index of the latest table of each array so far.
    """
    place: list[str | int] = []
    for depth, name in enumerate(names, 1):
        place.append(name)
        number = counts.get(names[:depth])
        place += [] if number is None else [number]
    return tuple(place)


def _bare(text: str) -> str:
    """Return the text without comments and multi-line strings, all line breaks kept."""
    return _NOT_MEANT.sub(lambda match: _emptied(match.group()), text)


def _emptied(token: str) -> str:
    """Return only the line breaks of a comment or multi-line string; another token as it is."""
    if token.startswith("#") or "\n" in token:
        return "\n" * token.count("\n")
    return token
