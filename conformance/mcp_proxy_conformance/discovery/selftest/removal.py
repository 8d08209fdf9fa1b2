"""Controls that lack a feature: no clause about it may pass on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from mcp_proxy_conformance.catalogue.requirement import catalogue, profile
from mcp_proxy_conformance.catalogue.world import LockKind, World
from mcp_proxy_conformance.discovery.targets.adapter import (
    CAPABILITIES,
    Access,
    ProxyTarget,
    UpstreamAddress,
)
from mcp_proxy_conformance.discovery.targets.embedded import embedded
from mcp_proxy_conformance.selftest.control import Control, unobserved
from mcp_proxy_conformance.selftest.trial import Verdicts

SETTLE_S, ENFORCE_S = 0.1, 0.2
OF_DISCOVERY = [
    clause
    for clause in (catalogue().clause(name) for name in profile("discovery").clauses)
    if clause.asked_by is None
]


def ids(*prefixes: str) -> frozenset[str]:
    """Return the ids of discovery clauses that begin with one of these prefixes.

    Clauses judged only with an option, as --soak, are left out.
    """
    return frozenset(clause.id for clause in OF_DISCOVERY if clause.id.startswith(prefixes))


class Without:
    """Adapter that starts a target in a changed world, and ignores locks of some kinds."""

    def __init__(
        self, adapter: Any, kinds: frozenset[str], world: Callable[[World], World]
    ) -> None:
        """Wrap `adapter`; ignore locks of `kinds`; start targets in `world(given world)`."""
        self._adapter, self._kinds, self._world = adapter, kinds, world

    def __getattr__(self, name: str) -> Any:
        """Return the wrapped adapter's attribute."""
        return getattr(self._adapter, name)

    def start(self, world: World, upstreams: Mapping[str, UpstreamAddress], folder: Path) -> Access:
        """Start the target in the changed world; return its access. The suite assumes `world`."""
        access: Access = self._adapter.start(self._world(world), upstreams, folder)
        return access

    def lock(self, kind: LockKind, server: str, tools: Sequence[str]) -> Access | None:
        """Set the lock by the wrapped adapter, but do nothing if its kind is ignored.

        Return the new access, None if it stays the same.
        """
        if kind in self._kinds:
            return None
        access: Access | None = self._adapter.lock(kind, server, tools)
        return access

    def unlock(self, kind: LockKind, server: str, tools: Sequence[str]) -> Access | None:
        """Remove the lock by the wrapped adapter, but do nothing if its kind is ignored.

        Approvals are always passed on. Return the new access, None if it stays the same.
        """
        if kind in self._kinds and kind != "approval":
            return None
        access: Access | None = self._adapter.unlock(kind, server, tools)
        return access


def open_lists(world: World) -> World:
    """Return a copy of the world whose servers have no deny list and no allow list."""
    servers = tuple(
        msgspec.structs.replace(server, deny=(), allow=None) for server in world.servers
    )
    return msgspec.structs.replace(world, servers=servers)


def wide_agents(world: World) -> World:
    """Return a copy of the world whose agents may see every server."""
    names = tuple(server.name for server in world.servers)
    return msgspec.structs.replace(world, agents=dict.fromkeys(world.agents, names))


def same(world: World) -> World:
    """Return the world unchanged."""
    return world


def target(
    kinds: Iterable[str] = (), world: Callable[[World], World] = same, **change: Any
) -> ProxyTarget:
    """Return a reference with a changed policy that ignores locks of `kinds`, in another world.

    `world` maps a check's world to the one that the reference is started in; the suite goes on to
    assume the former. `change` maps decisions of its policy to replacements.
    """
    from mcp_proxy_mutants.discovery.changed import Changed  # noqa: PLC0415

    made = embedded(
        Changed(id="without", text="The reference without some subject.", change=change),
        settle_s=SETTLE_S,
        enforce_s=ENFORCE_S,
    )
    make = made.make
    return replace(made, make=lambda: Without(make(), frozenset(kinds), world))


LOCKED = ids(
    "FR-001.reveals", "FR-001.by", "FR-003", "FR-004", "FR-005", "FR-006.cap", "FR-006.odd",
    "FR-007", "FR-008", "FR-009", "FR-010", "FR-011", "SC-0", "FR-002.no-section",
    "FR-002.no-locked", "FR-001.default-off", "FR-001.server-off",
)  # fmt: skip
REMOVED: dict[str, tuple[Callable[[], ProxyTarget], frozenset[str]]] = {
    "config locks": (
        lambda: target(("config",), open_lists),
        ids("FR-001.reveals-config", "FR-008.config", "SC-003", "FR-004.config", "FR-006.cap")
        - ids("SC-003.rejection~quarantined"),  # a lock under a quarantine cannot be proven
    ),
    "user locks": (
        lambda: target(("user",)),
        ids("FR-001.reveals-user", "FR-008.distinct") - ids("FR-008.distinct~"),
    ),
    "quarantine": (
        lambda: target(("quarantine",)),
        ids("FR-001.reveals-quarantined", "FR-010.quarantined"),
    ),
    "servers that are off": (
        lambda: target(("server",)),
        ids("FR-001.server-off", "FR-010.server-off"),
    ),
    "what is beyond an agent's scope": (lambda: target(world=wide_agents), ids("FR-007")),
    "every lock": (
        lambda: replace(
            target(("config", "user", "quarantine", "server"), open_lists),
            capabilities=CAPABILITIES - {"approval"},  # its locks are the suite's own work
        ),
        LOCKED,
    ),
    "the note": (
        lambda: target(note=lambda *_: None),
        ids("FR-009", "FR-007.note", "SC-002", "SC-006"),
    ),
    "the counts": (
        lambda: target(counts=lambda *_: None),
        ids("FR-010", "SC-005", "SC-003.listing", "FR-007.listing"),
    ),
    "the locked entries": (
        lambda: target(sections=lambda *_: dict[str, Any]()),
        LOCKED - ids("FR-008", "FR-010", "FR-011", "SC-005", "SC-003.listing", "SC-003.rejection",
                    "FR-004.once", "FR-007.listing", "FR-007.rejection", "FR-001.server-off~",
                    "FR-003.canary~", "FR-004.follows-state~", "FR-007.non-interference",
                    "FR-009.silent~under-flag"),
    ),
}  # fmt: skip
"""Subjects to remove, each with the clauses of which nothing can be observed without it."""


def _none_passes(clauses: frozenset[str]) -> Callable[[Verdicts], str]:
    """Return the `misses` of a Control on which none of these clauses may pass.

    It names those that do; empty if none does.
    """
    return lambda verdicts: unobserved(clauses.intersection(verdicts.clauses_passed))


def _slug(subject: str) -> str:
    """Return the text with hyphens for spaces and without apostrophes, as a part of an id."""
    return subject.replace("'", "").replace(" ", "-")


def _without(subject: str) -> Control:
    """Return the Control whose target lacks this subject, a key of REMOVED.

    None of the clauses listed there may pass on it.
    """
    make, clauses = REMOVED[subject]
    return Control(
        id=f"without-{_slug(subject)}",
        text=f"The reference in a world without {subject}.",
        profile="discovery",
        target=make,
        misses=_none_passes(clauses),
        clauses=clauses,
    )


REMOVALS = tuple(map(_without, REMOVED))
"""The controls that take a subject away."""
