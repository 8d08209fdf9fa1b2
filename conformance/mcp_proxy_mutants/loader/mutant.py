"""One mutant: a loader like the reference's but for one thing, and the clauses that breaks."""

from dataclasses import dataclass
from typing import Any

from mcp_proxy_mutants.fresh import Fresh
from mcp_proxy_mutants.loader.changed import ChangedLoad, Tell

__all__ = ["Fresh", "LoadMutant", "load_mutant"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadMutant(ChangedLoad):
    """`breaks` are ids of clauses, at least one of which a check must find broken."""

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
    """A mutant in one line: its id, what it does, what it breaks, and the members it replaces."""
    return LoadMutant(
        id=name,
        text=text,
        breaks=breaks,
        change=change,
        tell=tell,
        signatures=signatures,
        tool_prefix=tool_prefix,
    )
