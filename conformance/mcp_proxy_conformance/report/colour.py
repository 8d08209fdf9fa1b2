"""Colours and lines of a terminal: texts escaped, cut, indented, coloured by verdict."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TextIO

from mcp_proxy_conformance.verdict.redaction import disarmed, inert

COLOURS = {"fail": "1;31", "error": "1;31", "inconclusive": "33", "waived": "36", "pass": "32"}
"""ANSI colour code of each verdict; the words carry the meaning, colour only helps."""
WIDEST = 400
"""Characters of a line whose text a target may influence."""


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a line, from one place to another, in the colour of a verdict."""

    start: int
    end: int
    verdict: str


@dataclass(frozen=True, slots=True)
class Line:
    """A terminal line; `verdict` colours its first word, and a `whole` line is never cut.

    `spans` are further coloured parts, in order, of a line that holds our own words only.
    """

    text: str = ""
    verdict: str = ""
    whole: bool = False
    spans: tuple[Span, ...] = ()


def has_colour(stream: TextIO, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether a stream gets colours: never with NO_COLOR, else as FORCE_COLOR says ("0" is no).

    Without these, if it is a terminal and TERM is not dumb.
    """
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR"):
        return environment["FORCE_COLOR"] != "0"
    return stream.isatty() and environment.get("TERM") != "dumb"


def painted(lines: Iterable[Line], *, colour: bool) -> str:
    """Return the lines as text: each escaped, cut to 400 unless whole, coloured if `colour`."""
    return "\n".join(_painted(line, colour=colour) for line in lines)


def indented(text: str, by: int, most: int) -> list[Line]:
    """Return at most `most` lines of a text, indented by `by`.

    If it has more, the last of these counts the lines left out.
    """
    lines = text.split("\n")
    shown = lines if len(lines) <= most else lines[: most - 1]
    block = [Line(" " * by + line) for line in shown]
    if len(lines) > most:
        block.append(Line(f"{' ' * by}... and {len(lines) - len(shown)} more lines"))
    return block


WORD = re.compile(r"""(?:'[^']*'|"[^"]*"|\\.|[^\s'"\\])+""")
"""A word of a command line, its quoted parts included."""


def command(lead: str, text: str, columns: int) -> list[Line]:
    """Return a command line after its lead; longer than `columns`, it is broken between words.

    The parts end with a backslash, so that they can be pasted. A single longer word stays whole. It
    is one line for 0 columns, and for a text with two spaces in a row or an unpaired quotation
    mark.
    """
    words = WORD.findall(text)
    if not columns or len(lead) + len(text) <= columns or " ".join(words) != text:
        return [Line(f"{lead}{text}", whole=True)]
    parts, indent = [f"{lead}{words[0]}"], " " * (len(lead) - len(lead.lstrip()) + 4)
    for each in words[1:]:
        if len(parts[-1]) + len(each) + len("  \\") <= columns:
            parts[-1] += f" {each}"
        else:
            parts.append(f"{indent}{each}")
    return [*(Line(f"{part} \\", whole=True) for part in parts[:-1]), Line(parts[-1], whole=True)]


def short(text: str, most: int = WIDEST) -> str:
    """Return the text; over `most` characters it is cut to as many, ending with " ..."."""
    return text if len(text) <= most else f"{text[: most - 4]} ..."


def tinted(text: str, verdict: str) -> str:
    """Return the text with the colour code of a verdict; unchanged if the verdict has none."""
    code = COLOURS.get(verdict)
    return text if code is None else f"\x1b[{code}m{text}\x1b[0m"


def _painted(line: Line, *, colour: bool) -> str:
    """Return a line's text, escaped and, unless whole, cut to 400 characters.

    With `colour`, its spans and its first word coloured.
    """
    text = disarmed(inert(line.text).replace("\n", "\\n").rstrip())
    text = text if line.whole else short(text)
    if not colour:
        return text
    for span in reversed(line.spans):
        part = tinted(text[span.start : span.end], span.verdict)
        text = f"{text[: span.start]}{part}{text[span.end :]}"
    word, space, rest = text.partition(" ")
    return f"{tinted(word, line.verdict)}{space}{rest}"
