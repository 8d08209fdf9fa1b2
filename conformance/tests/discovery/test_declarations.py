"""The reference with fewer capabilities, each left out or alone: it is conformant all the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mcp_proxy_conformance.catalogue.requirement import profile
from mcp_proxy_conformance.catalogue.world import LockKind, World
from mcp_proxy_conformance.discovery.selftest.removal import OF_DISCOVERY, target
from mcp_proxy_conformance.discovery.targets.adapter import (
    CAPABILITIES,
    LOCK_CAPABILITY,
    Access,
    ProxyTarget,
    UpstreamAddress,
)
from mcp_proxy_conformance.selftest.forked_jobs import forked
from mcp_proxy_conformance.selftest.trial import LONG_S, trial, tried
from mcp_proxy_conformance.targets.target import Unsupported

RUN_S = 400
"""Seconds that a run may take on a busy machine; on an idle one it takes half a minute."""
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
        """Return the adapter's attribute; most operations have the name of their capability."""
        self._expect(name)
        own = getattr(self._adapter, name)
        return partial(self._of_lock, own) if name in ("lock", "unlock") else own

    def _of_lock(self, operation: Any, kind: LockKind, *on: Any) -> Any:
        self._expect(LOCK_CAPABILITY[kind])
        return operation(kind, *on)

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


def narrow(can: frozenset[str]) -> ProxyTarget:
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
    """For each pair of capabilities beyond the floor there is a declaration that has neither.

    That is one with most of the others.
    """
    most = [can for name, can in DECLARED.items() if not name.startswith("only")]

    assert [p for p in combinations(OTHERS, 2) if all(can.intersection(p) for can in most)] == []


@pytest.mark.timeout(2 * RUN_S)
@pytest.mark.proof(parts=30)
@pytest.mark.parametrize("name", DECLARED)
def test_a_target_of_fewer_capabilities_can_be_conformant(name: str, tmp_path: Path) -> None:
    """The reference passes, exit 0, with any capability left out, alone, or left out with others.

    Beside those that the profile requires of all targets. No clause applies that needs another.
    """
    can = DECLARED[name]

    (run_once,) = forked(
        lambda place: tried(trial(narrow(can)), place, check_s=LONG_S),
        [tmp_path / "run"],
        tmp_path,
        limit_s=RUN_S,
    )

    verdicts = run_once.value
    assert verdicts is not None, run_once.failure
    beyond = [clause.id for clause in OF_DISCOVERY if not can >= {*clause.capability}]
    assert {verdicts.clauses[clause] for clause in beyond} <= {"not_applicable"}
    assert (verdicts.exit, verdicts.why) == (0, "every clause passes or does not apply")
