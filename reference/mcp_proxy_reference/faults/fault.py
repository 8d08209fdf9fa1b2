"""One fault: a proxy that is like the reference but for one thing, and the clauses that breaks."""

from dataclasses import dataclass
from typing import Any

from mcp_proxy_reference.changed import Changed, Fresh, Swap

__all__ = ["Fault", "Fresh", "fault"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault(Changed):
    """`breaks` are ids of clauses, at least one of which a check must find broken."""

    breaks: tuple[str, ...]


def fault(name: str, text: str, *breaks: str, swap: Swap | None = None, **change: Any) -> Fault:
    """A fault in one line: its id, what it does, what it breaks, and the members it replaces."""
    return Fault(id=name, text=text, breaks=breaks, change=change, swap=swap)
