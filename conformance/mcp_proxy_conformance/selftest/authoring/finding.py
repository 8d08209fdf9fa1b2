"""What `lint` finds: where something is wrong, what, and how it is mended."""

from __future__ import annotations

from pathlib import Path

import msgspec

from mcp_proxy_conformance.verdict.redaction import inert

MOST = 300
"""Characters of what is told of a fault; more of a user's own text helps nobody."""


class Finding(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """One thing that is wrong; `pointer` is a JSON pointer, empty for the whole and for TOML."""

    file: str
    line: int
    pointer: str
    fault: str
    repair: str

    def told(self) -> str:
        """`FILE:LINE POINTER: fault; repair`, on one line."""
        place = f"{self.file}:{self.line}{f' {self.pointer}' if self.pointer else ''}"
        return _line(f"{place}: {self.fault}; {self.repair}")


class Unreadable(Exception):
    """A path that cannot be read; the message names it and the repair."""


def finding(path: Path, line: int, fault: str, repair: str, *, pointer: str = "") -> Finding:
    """A finding whose file is told from the working folder where it lies in there."""
    cut = f"{fault[:MOST]}..." if len(fault) > MOST else fault
    return Finding(
        file=_line(shown(path)), line=line, pointer=_line(pointer), fault=_line(cut), repair=repair
    )


def shown(path: Path) -> str:
    """The path from the working folder where it lies in there, else as it stands."""
    whole, here = path.absolute(), Path.cwd()
    return str(whole.relative_to(here)) if whole.is_relative_to(here) else str(path)


def _line(text: str) -> str:
    return " ".join(inert(text).split())
