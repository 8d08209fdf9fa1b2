"""The reference with fewer capabilities, each left out or alone: it is conformant all the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mcp_proxy_conformance.catalogue.requirement import profile
from mcp_proxy_conformance.catalogue.world import LockKind, World
from mcp_proxy_conformance.selftest.controls import Control
from mcp_proxy_conformance.selftest.matrix import Trial, rows
from mcp_proxy_conformance.selftest.removal import target
from mcp_proxy_conformance.targets.adapter import (
    CAPABILITIES,
    LOCK_CAPABILITY,
    Access,
    Target,
    Unsupported,
    UpstreamAddress,
)

FLOOR = frozenset[str](profile("discovery").floor.capabilities)
OTHERS = sorted(CAPABILITIES - FLOOR)
GROUPS = [frozenset(OTHERS[first::4]) for first in range(4)]
"""Four groups of capabilities; any two capabilities are in two of them, or in one."""


def complete(words: frozenset[str]) -> frozenset[str]:
    """Return the capabilities without `approval` if they lack `refresh`, which that needs."""
    return words if "refresh" in words else words - {"approval"}


DECLARED: Mapping[str, frozenset[str]] = {
    **{f"without {word}": complete(CAPABILITIES - {word}) for word in OTHERS},
    **{
        f"only {word}": FLOOR | {word} | ({"refresh"} if word == "approval" else set())
        for word in OTHERS
    },
    **{
        f"without {', '.join(sorted(one | other))}": complete(CAPABILITIES - one - other)
        for one, other in combinations(GROUPS, 2)
    },
}
"""What the reference declares, by a name."""


class Narrow:
    """Adapter that does not know the operations of other capabilities than it `can`.

    Without `approval` all servers are trusted.
    """

    def __init__(self, adapter: Any, can: frozenset[str]) -> None:
        """Wrap the adapter."""
        self._adapter, self._can = adapter, can

    def _expect(self, word: str) -> None:
        if word in CAPABILITIES - self._can:
            raise Unsupported(word)

    def __getattr__(self, name: str) -> Any:
        """Return the adapter's attribute; an operation has the name of its capability."""
        self._expect(name)
        return getattr(self._adapter, name)

    def start(self, world: World, upstreams: Mapping[str, UpstreamAddress], folder: Path) -> Access:
        """Start the target; Unsupported for a list or agents that it cannot have."""
        if any(server.allow is not None for server in world.servers):
            self._expect("allow_list")
        if world.agents:
            self._expect("agents")
        if "approval" not in self._can:
            servers = tuple(msgspec.structs.replace(s, trusted=True) for s in world.servers)
            world = msgspec.structs.replace(world, servers=servers)
        access: Access = self._adapter.start(world, upstreams, folder)
        return access

    def lock(self, kind: LockKind, server: str, tools: Sequence[str]) -> Access | None:
        """Set the lock; Unsupported if its kind is not among the capabilities."""
        self._expect(LOCK_CAPABILITY[kind])
        access: Access | None = self._adapter.lock(kind, server, tools)
        return access

    def unlock(self, kind: LockKind, server: str, tools: Sequence[str]) -> Access | None:
        """Remove the lock; Unsupported if its kind is not among the capabilities."""
        self._expect(LOCK_CAPABILITY[kind])
        access: Access | None = self._adapter.unlock(kind, server, tools)
        return access


def narrow(can: frozenset[str]) -> Target:
    """Return the unchanged reference with these capabilities, and none of the others."""
    made = target()
    make, surface = made.make, made.surface
    if "inspect" not in can:
        surface = msgspec.structs.replace(surface, inspect=None)
    if "direct_endpoints" not in can:
        surface = msgspec.structs.replace(
            surface, calls=surface.calls[:1], endpoints=surface.endpoints[:1]
        )
    return replace(made, capabilities=can, surface=surface, make=lambda: Narrow(make(), can))


def test_any_two_capabilities_are_left_out_together() -> None:
    """For each pair of capabilities beyond the floor there is a declaration that has neither."""
    pairs = combinations(OTHERS, 2)

    assert [p for p in pairs if all(can.intersection(p) for can in DECLARED.values())] == []


@pytest.mark.proof(parts=15)
@pytest.mark.parametrize("name", DECLARED)
def test_a_target_of_fewer_capabilities_can_be_conformant(name: str, tmp_path: Path) -> None:
    """The reference passes, exit 0, with any capability left out, alone, or left out with another.

    Beside those that the profile requires of all targets.
    """
    control = Control(
        id="narrow",
        text=f"The reference, {name}.",
        target=lambda: narrow(DECLARED[name]),
        misses=lambda verdicts: "" if verdicts.exit == 0 else f"{verdicts.exit}: {verdicts.why}",
    )

    (row,) = rows([Trial(kind="control", changed=control)], tmp_path, full=False)

    assert (row.cell, row.reason) == ("behaved", "")
