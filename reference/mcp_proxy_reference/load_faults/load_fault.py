"""One fault: a loader that is like the reference's but for one thing, and the clauses it breaks."""

from dataclasses import dataclass
from typing import Any

from mcp_proxy_reference.changed import Fresh
from mcp_proxy_reference.changed_load import ChangedLoad, Tell

__all__ = ["Fresh", "LoadFault", "load_fault"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadFault(ChangedLoad):
    """`breaks` are ids of clauses, at least one of which a check must find broken."""

    breaks: tuple[str, ...]


def load_fault(
    name: str,
    text: str,
    *breaks: str,
    tell: Tell | Fresh | None = None,
    signatures: tuple[str, ...] = (),
    tool_prefix: str = "",
    **change: Any,
) -> LoadFault:
    """A fault in one line: its id, what it does, what it breaks, and the members it replaces."""
    return LoadFault(
        id=name,
        text=text,
        breaks=breaks,
        change=change,
        tell=tell,
        signatures=signatures,
        tool_prefix=tool_prefix,
    )
