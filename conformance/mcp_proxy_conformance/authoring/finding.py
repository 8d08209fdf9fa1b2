"""A finding of `lint` in a case or another file of the suite: its place, the fault, the repair."""

from __future__ import annotations

from pathlib import Path

import msgspec

from mcp_proxy_conformance.verdict.redaction import inert

MOST = 300
"""Characters of a fault that are shown; more of a user's own text helps nobody."""


class LintFinding(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """One fault with its repair; `pointer` is a JSON pointer, empty for TOML and whole files."""

    file: str
    line: int
    pointer: str
    fault: str
    repair: str

    def in_words(self) -> str:
        """Return `FILE:LINE POINTER: fault; repair`, on one line."""
        place = f"{self.file}:{self.line}{f' {self.pointer}' if self.pointer else ''}"
        return _line(f"{place}: {self.fault}; {self.repair}")


class Unreadable(Exception):
    """A path for `lint` cannot be read; the message names it and the repair."""


def finding(path: Path, line: int, fault: str, repair: str, *, pointer: str = "") -> LintFinding:
    """Return a LintFinding with one-line texts, and its path as `shown`.

    The fault is cut at 300 characters.
    """
    cut = f"{fault[:MOST]}..." if len(fault) > MOST else fault
    return LintFinding(
        file=_line(shown(path)), line=line, pointer=_line(pointer), fault=_line(cut), repair=repair
    )


def shown(path: Path) -> str:
    """Return the path relative to the working folder if it is inside it, else unchanged."""
    whole, here = path.absolute(), Path.cwd()
    return str(whole.relative_to(here)) if whole.is_relative_to(here) else str(path)


def _line(text: str) -> str:
    """Return the text on one line, control characters escaped, each run of spaces as one."""
    return " ".join(inert(text).split())
