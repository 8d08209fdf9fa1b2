"""Members that remember something, made anew for each start."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Fresh:
    """A member that remembers something: it is made anew whenever a proxy or loader is started."""

    make: Callable[[], Any]


def fresh(change: Mapping[str, Any]) -> dict[str, Any]:
    """The members to replace, those that remember something made anew."""
    return {
        name: value.make() if isinstance(value, Fresh) else value for name, value in change.items()
    }
