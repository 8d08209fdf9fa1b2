"""Readers of files named by a user: bytes or TOML up to a size; check of JSON nesting depth."""

from __future__ import annotations

import errno
import os
import re
import stat
import tomllib
from pathlib import Path
from typing import Any

MOST, MOST_OF_REPORT, MOST_OF_TOML = 16 << 20, 128 << 20, 1 << 20
"""Largest size in bytes of a file, of a report and of a TOML file."""
MOST_PARTS = 1000
"""Most parts of a dotted key; TOML parsers use memory quadratic in their number."""
_QUOTED_OR_COMMENT = re.compile(
    r"""
      "{3} (?: \\. | [^\\] )*? (?: "{3,5} | \Z )
    | '{3} .*? (?: '{3,5} | \Z )
    | " (?: \\[^\n] | [^"\\\n] )* "?
    | ' [^'\n]* '?
    | \# [^\n]*
    """,
    re.DOTALL | re.VERBOSE,
)
"""A quoted text, to its end or that of the file or line, or a comment."""
_BETWEEN_KEYS = re.compile(r"[][{}=,]")


def read_bytes(path: Path, most: int = MOST) -> bytes:
    """Return the content of a regular file of at most `most` bytes, without waiting at a pipe.

    Raises OSError, whose `strerror` says why, if it cannot be read, is not regular, or is
    larger.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"it has more than {most} bytes", str(path))
    return content


def nests_deeper(value: Any, levels: int) -> bool:
    """Whether a value has more than `levels` levels of lists and objects; it does not recurse."""
    level: list[Any] = [value] if isinstance(value, dict | list) else []
    for _ in range(levels):
        inner = (node.values() if isinstance(node, dict) else node for node in level)
        level = [node for children in inner for node in children if isinstance(node, dict | list)]
        if not level:
            break
    return bool(level)


def read_toml(path: Path) -> dict[str, Any]:
    """Return the members of a TOML file of at most 1 MiB.

    Raises OSError if it cannot be read, is not a regular file or is larger; ValueError if it is
    not UTF-8 or TOML, or a key has over 1000 parts.
    """
    return toml(read_bytes(path, MOST_OF_TOML).decode("utf-8"))


def toml(text: str) -> dict[str, Any]:
    """Return the members of a TOML text; ValueError if invalid or a key has over 1000 parts.

    Dots in quotes, in comments or in numbers are not counted.
    """
    without = _QUOTED_OR_COMMENT.sub(lambda match: "\n" * match[0].count("\n"), text)
    for number, line in enumerate(without.split("\n"), 1):
        if any(piece.count(".") >= MOST_PARTS for piece in _BETWEEN_KEYS.split(line)):
            raise ValueError(f"the key on line {number} has more than {MOST_PARTS} parts")
    return tomllib.loads(text)
