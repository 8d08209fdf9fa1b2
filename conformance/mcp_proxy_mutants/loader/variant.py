"""One variant: a conforming loader that does it otherwise, and the rulings it reads so."""

from dataclasses import dataclass
from typing import Any

from mcp_proxy_mutants.fresh import Fresh
from mcp_proxy_mutants.loader.changed import ChangedLoad, Tell

__all__ = ["Fresh", "LoadVariant", "load_variant"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadVariant(ChangedLoad):
    """`takes` are ids of interpretations, or of advisory clauses, that it reads the other way.

    A loader of this kind declares the capabilities but those it `lacks`, and is judged by that
    profile.
    """

    takes: tuple[str, ...]
    lacks: tuple[str, ...] = ()
    profile: str = "resilience"


def load_variant(
    name: str,
    text: str,
    *takes: str,
    tell: Tell | Fresh | None = None,
    lacks: tuple[str, ...] = (),
    profile: str = "resilience",
    signatures: tuple[str, ...] = (),
    tool_prefix: str = "",
    **change: Any,
) -> LoadVariant:
    """A variant in one line: its id, how it differs, what it takes, the members it replaces."""
    return LoadVariant(
        id=name,
        text=text,
        takes=takes,
        tell=tell,
        lacks=lacks,
        profile=profile,
        change=change,
        signatures=signatures,
        tool_prefix=tool_prefix,
    )
