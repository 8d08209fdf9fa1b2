"""Where a target is described: its file as readers of a report name it, and lines in it."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

LONGEST = 500
"""Lines; in longer files the first stands for all."""


@dataclass(frozen=True, slots=True)
class Written:
    """A target file: its path, relative to the working folder where it lies in it, with slashes.

    `lines` are where each of its members begins, the first line being 1.
    """

    path: str
    lines: Mapping[str, int] = field(default_factory=dict)


def written(file: Path) -> Written:
    """The target file as a report names it."""
    whole = Path(os.path.abspath(file))  # noqa: PTH100 - links stay as they were named
    for here in (Path.cwd(), Path.cwd().resolve()):
        if whole.is_relative_to(here):
            return Written(whole.relative_to(here).as_posix(), _lines(file))
    return Written(whole.as_posix(), _lines(file))


def _lines(file: Path) -> dict[str, int]:
    """The line of each member: what the part up to there has, and the part before it has not."""
    try:
        text = file.read_text(encoding="utf-8").split("\n")
    except (OSError, ValueError):
        return {}
    found: dict[str, int] = {}
    begun = 0
    for number in range(1, len(text) + 1 if len(text) <= LONGEST else 1):
        try:
            members = tomllib.loads("\n".join(text[:number]))
        except ValueError:
            continue  # it ends within a value
        for name in members:
            found.setdefault(name, begun + 1)
        begun = number
    return found
