"""`LoadVariant`, a conforming loader that differs, with the interpretations that it takes."""

from dataclasses import dataclass
from typing import Any

from mcp_proxy_mutants.fresh import Fresh
from mcp_proxy_mutants.resilience.changed import ChangedLoad, Edit

__all__ = ["Fresh", "LoadVariant", "load_variant"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadVariant(ChangedLoad):
    """A conforming loader that no check may accuse.

    `takes` are ids of interpretations, and of advisory clauses, that it reads unlike the reference.
    It declares every capability except those it `lacks`, and is judged by `profile`.
    """

    takes: tuple[str, ...]
    lacks: tuple[str, ...] = ()
    profile: str = "resilience"


def load_variant(
    name: str,
    text: str,
    *takes: str,
    edit: Edit | Fresh | None = None,
    lacks: tuple[str, ...] = (),
    profile: str = "resilience",
    signatures: tuple[str, ...] = (),
    tool_prefix: str = "",
    **change: Any,
) -> LoadVariant:
    """Return a variant: its id, its difference, and the ids of the interpretations that it takes.

    `edit` changes the answer of a load; `change` replaces members of `LoadPolicy`; the others are
    members of `LoadVariant`.
    """
    return LoadVariant(
        id=name,
        text=text,
        takes=takes,
        edit=edit,
        lacks=lacks,
        profile=profile,
        change=change,
        signatures=signatures,
        tool_prefix=tool_prefix,
    )
