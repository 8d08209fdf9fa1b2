"""`Mutant`, a `Changed` proxy with the clauses that it breaks; `mutant` makes one."""

from dataclasses import dataclass
from typing import Any

from mcp_proxy_mutants.discovery.changed import Changed, Swap
from mcp_proxy_mutants.fresh import Fresh

__all__ = ["Fresh", "Mutant", "mutant"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant(Changed):
    """A wrong proxy; checks must find the first of the clauses in `breaks` broken."""

    breaks: tuple[str, ...]


def mutant(
    name: str,
    text: str,
    *breaks: str,
    swap: Swap | None = None,
    over_stdio: bool = False,
    **change: Any,
) -> Mutant:
    """Return a mutant: its id, a sentence on its behaviour, and the ids of the clauses it breaks.

    `swap` changes the gateway before it serves; `change` replaces members of `Decisions`;
    `over_stdio` limits both to stdio.
    """
    return Mutant(
        id=name, text=text, breaks=breaks, change=change, swap=swap, over_stdio=over_stdio
    )
