"""One mutant: a proxy that is like the reference but for one thing, and the clauses that breaks."""

from dataclasses import dataclass
from typing import Any

from mcp_proxy_mutants.fresh import Fresh
from mcp_proxy_mutants.proxy.changed import Changed, Swap

__all__ = ["Fresh", "Mutant", "mutant"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant(Changed):
    """`breaks` are ids of clauses, at least one of which a check must find broken."""

    breaks: tuple[str, ...]


def mutant(name: str, text: str, *breaks: str, swap: Swap | None = None, **change: Any) -> Mutant:
    """A mutant in one line: its id, what it does, what it breaks, and the members it replaces."""
    return Mutant(id=name, text=text, breaks=breaks, change=change, swap=swap)
