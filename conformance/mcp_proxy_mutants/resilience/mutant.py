"""`LoadMutant`, a loader that is wrong in one way, with the clauses that it breaks."""

from dataclasses import dataclass
from typing import Any

from mcp_proxy_mutants.fresh import Fresh
from mcp_proxy_mutants.resilience.changed import ChangedLoad, Edit

__all__ = ["Fresh", "LoadMutant", "load_mutant"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadMutant(ChangedLoad):
    """A wrong loader; checks must find the first of the clauses in `breaks` broken."""

    breaks: tuple[str, ...]


def load_mutant(
    name: str,
    text: str,
    *breaks: str,
    edit: Edit | Fresh | None = None,
    signatures: tuple[str, ...] = (),
    **change: Any,
) -> LoadMutant:
    """Return a mutant: its id, a sentence on its behaviour, and the ids of the clauses it breaks.

    `edit` changes the answer of a load; `change` replaces members of `LoadPolicy`; the others are
    declarations.
    """
    return LoadMutant(
        id=name,
        text=text,
        breaks=breaks,
        change=change,
        edit=edit,
        signatures=signatures,
    )
