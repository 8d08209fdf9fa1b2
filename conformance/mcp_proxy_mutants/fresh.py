"""`Fresh`, a change with state of its own, made again when a changed proxy or loader starts."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Fresh:
    """A member with state of its own, created whenever a proxy or loader is started."""

    make: Callable[[], Any]


def fresh(change: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members to replace by name; each `Fresh` becomes a new result of its `make`."""
    return {
        name: value.make() if isinstance(value, Fresh) else value for name, value in change.items()
    }
