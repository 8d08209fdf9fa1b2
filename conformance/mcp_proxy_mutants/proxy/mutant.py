"""Proxy mutant: a proxy that is wrong in one way, and the clauses that it breaks."""

from dataclasses import dataclass
from typing import Any

from mcp_proxy_mutants.fresh import Fresh
from mcp_proxy_mutants.proxy.changed import Changed, Swap

__all__ = ["Fresh", "Mutant", "mutant"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant(Changed):
    """A wrong proxy; checks must find at least one of the clauses in `breaks` broken."""

    breaks: tuple[str, ...]


def mutant(
    name: str,
    text: str,
    *breaks: str,
    swap: Swap | None = None,
    over_stdio: bool = False,
    **change: Any,
) -> Mutant:
    """Create a mutant: id, behaviour, broken clauses; `change` replaces members of Decisions."""
    return Mutant(
        id=name, text=text, breaks=breaks, change=change, swap=swap, over_stdio=over_stdio
    )
