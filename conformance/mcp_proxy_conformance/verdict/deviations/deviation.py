"""One known failure, and what is said when a file of them cannot be used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Literal

import msgspec

FILE = "mcp-proxy-conformance-deviations.toml"
"""The file that is read where a run begins, unless another one is named."""


class Deviation(msgspec.Struct, frozen=True, kw_only=True):
    """A failure that does not count until a date, and where that is written.

    `id` is a clause, a check, a case, or a check with its case in brackets. `expires` is the last
    day, in UTC, on which it holds. `file` is told as the user named it.
    """

    id: str
    reason: str
    issue: str
    expires: date
    file: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Brought:
    """A pytest plugin that brings the deviations of a run, which then reads no file."""

    deviations: tuple[Deviation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One reason why a file cannot be used: one sentence with the place and the repair.

    `kind`: it does not keep to its form, or what it says is no longer, or never was, true.
    """

    file: str
    line: int
    text: str
    kind: Literal["form", "outdated"] = "form"

    def __str__(self) -> str:
        """FILE:LINE and the sentence."""
        return f"{self.file}:{self.line}: {self.text}"


class BadDeviations(ValueError):
    """A file of deviations that cannot be used; its message has one line for each fault."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        """There is at least one fault."""
        self.faults = tuple(faults)
        super().__init__("\n".join(map(str, faults)))

    @property
    def is_formal(self) -> bool:
        """Whether the file, or a part of it, does not keep to its form."""
        return any(one.kind == "form" for one in self.faults)


def today() -> date:
    """The date in UTC."""
    return datetime.now(UTC).date()
