"""One variant: a conforming proxy that looks different, and the rulings it reads otherwise."""

from dataclasses import dataclass
from typing import Any

from mcp_proxy_reference.changed import Changed, Fresh, Swap

__all__ = ["Fresh", "Variant", "variant"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant(Changed):
    """`takes` are ids of interpretations, or of advisory clauses, that it reads the other way."""

    takes: tuple[str, ...]


def variant(name: str, text: str, *takes: str, swap: Swap | None = None, **change: Any) -> Variant:
    """A variant in one line: its id, how it differs, what it takes, the members it replaces."""
    return Variant(id=name, text=text, takes=takes, change=change, swap=swap)
