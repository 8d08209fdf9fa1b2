"""`RelayMutant`, a relay that is wrong in one way, and `RelayVariant`, one that only differs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mcp_proxy_mutants.fidelity.changed import Around, Down, Up, by_message
from mcp_relay_reference.front import Front
from mcp_relay_reference.guard import Guard
from mcp_relay_reference.remote import Remote

Make = Callable[[], Around]
"""Makes a filter, with any state of its own, whenever a relay is started."""
MakeFront = Callable[[Remote], Front | Guard]
"""Makes the front of a relay, which its clients speak to, from the way to its upstream."""
MakeRemote = Callable[[Sequence[tuple[str, Mapping[str, str]]]], Remote]
"""Makes the way to upstreams from their URLs, each with the headers that only the relay sends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedRelay:
    """The faithful relay with a filter in front of its upstream; `text` says what that does.

    `front` makes what its clients speak to, `remote` the way to its upstreams in place of `make`;
    `facts` are what it declares in the table `relay` of a target file.
    """

    id: str
    text: str
    make: Make
    front: MakeFront = Front
    remote: MakeRemote | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayMutant(ChangedRelay):
    """A wrong relay; checks must find the first of the clauses in `breaks` broken."""

    breaks: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayVariant(ChangedRelay):
    """A conforming relay that no check may accuse.

    `takes` are ids of interpretations, and of advisory clauses, that it reads unlike the faithful
    relay.
    """

    takes: tuple[str, ...]


def relay_mutant(
    name: str,
    text: str,
    *breaks: str,
    up: Up | None = None,
    down: Down | None = None,
    make: Make | None = None,
    front: MakeFront = Front,
    remote: MakeRemote | None = None,
    **facts: Any,
) -> RelayMutant:
    """Return a mutant: its id, a sentence on its behaviour, and the ids of the clauses it breaks.

    `up` and `down` filter messages; `make` makes a filter of whole exchanges, in their place.
    `front` makes another front, `remote` another way to the upstreams; `facts` are its
    declarations.
    """
    return RelayMutant(
        id=name, text=text, breaks=breaks, make=make or _by(up, down), front=front, remote=remote,
        facts=facts,
    )  # fmt: skip


def relay_variant(
    name: str,
    text: str,
    *takes: str,
    up: Up | None = None,
    down: Down | None = None,
    make: Make | None = None,
    front: MakeFront = Front,
    remote: MakeRemote | None = None,
    **facts: Any,
) -> RelayVariant:
    """Return a variant: its id, its difference, and the ids of what it reads in another way.

    These are of interpretations and advisory clauses; the rest is as in `relay_mutant`.
    """
    return RelayVariant(
        id=name, text=text, takes=takes, make=make or _by(up, down), front=front, remote=remote,
        facts=facts,
    )  # fmt: skip


def _by(up: Up | None, down: Down | None) -> Make:
    """Return a maker of a filter without state that changes messages by `up` and `down`."""
    return lambda: by_message(up, down)
