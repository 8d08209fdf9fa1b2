"""The path of what a law says: it begins with the clauses that a difference there breaks."""

from __future__ import annotations

from collections.abc import Iterable

SAYS = "law "


def path_of(clauses: Iterable[str], topic: str) -> str:
    """The path of a topic that speaks of these clauses."""
    return f"{SAYS}{', '.join(clauses)}: {topic}"


def against(path: object) -> tuple[str, ...]:
    """The clauses that a path of a law names; none of another path, whatever that is."""
    if not isinstance(path, str) or not path.startswith(SAYS):
        return ()
    return tuple(path.removeprefix(SAYS).partition(":")[0].split(", "))
