"""Files that somebody names, read up to a size: none of them can take the memory of a machine."""

from __future__ import annotations

import errno
import os
import stat
import tomllib
from pathlib import Path
from typing import Any

MOST, MOST_OF_REPORT, MOST_OF_TOML = 16 << 20, 128 << 20, 1 << 20
"""Bytes of a file, of a report, of a TOML file."""
MOST_PARTS = 1000
"""Parts of a dotted key; readers of TOML take memory by the square of them."""


def read_bytes(path: Path, most: int = MOST) -> bytes:
    """What is in a file.

    Raises:
        OSError: It cannot be read, is no file, or is larger; `strerror` says so in words.
    """
    opened = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(opened, "rb") as file:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", str(path))
        told = file.read(most + 1)
    if len(told) > most:
        raise OSError(errno.EFBIG, f"it holds more than {most} bytes", str(path))
    return told


def nests_deeper(members: dict[str, Any], levels: int) -> bool:
    """Whether lists and objects stand in each other more often; looked at without recursion."""
    level: list[Any] = [members]
    for _ in range(levels):
        inner = (one.values() if isinstance(one, dict) else one for one in level)
        level = [one for several in inner for one in several if isinstance(one, dict | list)]
        if not level:
            break
    return bool(level)


def read_toml(path: Path) -> dict[str, Any]:
    """The members of a TOML file.

    Raises:
        OSError: As `read_bytes`.
        ValueError: It is no UTF-8, no TOML, or a key of it has too many parts.
    """
    return toml(read_bytes(path, MOST_OF_TOML).decode("utf-8"))


def toml(text: str) -> dict[str, Any]:
    """The members of a TOML text; raises ValueError."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.partition("=")[0].count(".") > MOST_PARTS:
            raise ValueError(f"the key of line {number} has more than {MOST_PARTS} parts")
    return tomllib.loads(text)
