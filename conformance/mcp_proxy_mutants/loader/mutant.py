"""A loader mutant: a loader that is wrong in one way, and the clauses that it breaks."""

from dataclasses import dataclass
from typing import Any

from mcp_proxy_mutants.fresh import Fresh
from mcp_proxy_mutants.loader.changed import ChangedLoad, Tell

__all__ = ["Fresh", "LoadMutant", "load_mutant"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadMutant(ChangedLoad):
    """A wrong loader; checks must find at least one of the clauses in `breaks` broken."""

    breaks: tuple[str, ...]


def load_mutant(
    name: str,
    text: str,
    *breaks: str,
    tell: Tell | Fresh | None = None,
    signatures: tuple[str, ...] = (),
    tool_prefix: str = "",
    **change: Any,
) -> LoadMutant:
    """Create a mutant: id, behaviour, broken clauses; `change` replaces members of LoadPolicy."""
    return LoadMutant(
        id=name,
        text=text,
        breaks=breaks,
        change=change,
        tell=tell,
        signatures=signatures,
        tool_prefix=tool_prefix,
    )
