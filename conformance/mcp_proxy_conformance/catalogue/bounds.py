"""Bounds of a number, as cases write them."""

from __future__ import annotations

import msgspec


class Bounds(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An inclusive range, or one number."""

    min: int = 0
    max: int | None = None
    equals: int | None = None

    def __str__(self) -> str:
        """Return the bounds in words: `at most 10`, `1 to 10`, `3 or more`, `5`."""
        if self.equals is not None or self.max == self.min:
            return f"{self.min if self.equals is None else self.equals}"
        if self.max is not None and not self.min:
            return f"at most {self.max}"
        return f"{self.min} or more" if self.max is None else f"{self.min} to {self.max}"

    def holds(self, number: int) -> bool:
        """Whether the number is within the bounds or, with `equals`, is that number."""
        if self.equals is not None:
            return number == self.equals
        return self.min <= number and (self.max is None or number <= self.max)
