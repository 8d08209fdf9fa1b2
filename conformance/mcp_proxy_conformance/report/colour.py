"""Lines for a terminal: inert, and with the colour of the verdict that begins them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TextIO

from mcp_proxy_conformance.verdict.redaction import disarmed, inert

COLOURS = {"fail": "1;31", "error": "1;31", "inconclusive": "33", "waived": "36", "pass": "32"}
"""Of verdicts, as a terminal knows them; the words carry the meaning, colour only helps."""
WIDEST = 400
"""Characters of a line that a target may have a say in."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line; `verdict` gives its first word a colour, `whole` is never cut."""

    text: str = ""
    verdict: str = ""
    whole: bool = False


def wanted(stream: TextIO, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether a stream gets colours: terminals do, unless NO_COLOR; others with FORCE_COLOR."""
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR"):
        return environment["FORCE_COLOR"] != "0"
    return stream.isatty() and environment.get("TERM") != "dumb"


def painted(lines: Iterable[Line], *, colour: bool) -> str:
    """The lines as one text; nothing in a line is a line break, an escape or a control."""
    return "\n".join(_painted(line, colour=colour) for line in lines)


def indented(text: str, by: int, most: int) -> list[Line]:
    """The lines of a text with spaces before them; of too many, the number of those left out."""
    lines = text.split("\n")
    shown = lines if len(lines) <= most else lines[: most - 1]
    found = [Line(" " * by + one) for one in shown]
    if len(lines) > most:
        found.append(Line(f"{' ' * by}... and {len(lines) - len(shown)} more lines"))
    return found


def short(text: str, most: int = WIDEST) -> str:
    """The text, cut where it is longer."""
    return text if len(text) <= most else f"{text[: most - 4]} ..."


def _painted(line: Line, *, colour: bool) -> str:
    text = disarmed(inert(line.text).replace("\n", "\\n").rstrip())
    text = text if line.whole else short(text)
    code = COLOURS.get(line.verdict)
    if not colour or code is None:
        return text
    word, space, rest = text.partition(" ")
    return f"\x1b[{code}m{word}\x1b[0m{space}{rest}"
