"""`Variant`, a conforming proxy that differs, with the interpretations that it takes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mcp_proxy_mutants.discovery.changed import Changed, Swap
from mcp_proxy_mutants.fresh import Fresh

__all__ = ["Fresh", "Variant", "variant"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant(Changed):
    """A conforming proxy that no check may accuse.

    `takes` are ids of interpretations, and of advisory clauses, that it reads unlike the reference.
    It declares the seconds until a change shows (`settle_s`), the capabilities it lacks, its own
    remediation texts (`pins`), each with its status, and the member that holds its note.
    """

    takes: tuple[str, ...]
    settle_s: float = 0.1
    lacks: tuple[str, ...] = ()
    pins: Mapping[str, str] = field(default_factory=dict)
    note_member: str = "notice"


def variant(
    name: str,
    text: str,
    *takes: str,
    swap: Swap | None = None,
    settle_s: float = 0.1,
    lacks: tuple[str, ...] = (),
    pins: Mapping[str, str] | None = None,
    note_member: str = "notice",
    over_stdio: bool = False,
    **change: Any,
) -> Variant:
    """Return a variant: its id, its difference, and the ids of the interpretations that it takes.

    `swap` changes the gateway before it serves; `change` replaces members of `Decisions`;
    `over_stdio` limits both to stdio; the other arguments are the members of `Variant`.
    """
    return Variant(
        id=name,
        text=text,
        takes=takes,
        change=change,
        swap=swap,
        settle_s=settle_s,
        lacks=lacks,
        pins=pins or {},
        note_member=note_member,
        over_stdio=over_stdio,
    )
