"""Line numbers of the members of a target file, and its path, for citation in a report."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mcp_proxy_conformance.catalogue.toml_lines import TomlLines


@dataclass(frozen=True, slots=True)
class Written:
    """A target file: its path with slashes, relative to the working folder if inside of it.

    `lines` are the lines on which its members begin, counted from 1.
    """

    path: str
    lines: Mapping[str, int] = field(default_factory=dict)


def written(file: Path) -> Written:
    """Return the target file as a report names it: its path and the lines of its members.

    The path is relative to the working folder if inside, else absolute.
    """
    whole = Path(os.path.abspath(file))  # noqa: PTH100 - links stay as they were named
    for here in (Path.cwd(), Path.cwd().resolve()):
        if whole.is_relative_to(here):
            return Written(whole.relative_to(here).as_posix(), _lines(file))
    return Written(whole.as_posix(), _lines(file))


def _lines(file: Path) -> dict[str, int]:
    """Return {member: its line from 1} of the file's top level; {} if it cannot be read."""
    try:
        text = file.read_text(encoding="utf-8")
        members = tomllib.loads(text)
    except (OSError, ValueError, RecursionError):
        return {}
    lines = TomlLines(text)
    return {name: lines.line((name,)) for name in members}
