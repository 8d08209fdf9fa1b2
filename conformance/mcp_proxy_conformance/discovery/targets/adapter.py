"""Protocol of adapters, which start and lock a proxy; the proxy as a target, and Access to it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from mcp_proxy_conformance.catalogue.surface import Surface
from mcp_proxy_conformance.catalogue.world import LockKind, World
from mcp_proxy_conformance.discovery.targets.effects import Lag
from mcp_proxy_conformance.targets.description import UpstreamPlace
from mcp_proxy_conformance.targets.target import Target

CAPABILITIES = frozenset(
    {
        "config", "user", "server_off", "refresh", "agents", "allow_list", "approval",
        "quarantine", "inspect", "counter", "state", "indeterminate", "restart",
        "direct_endpoints",
    }
)  # fmt: skip

SOAK_S = 1.5
"""Seconds that stages are kept running, for the clauses that ask for it, if few checks run."""
LOCK_CAPABILITY: Mapping[LockKind, str] = {
    "config": "config",
    "user": "user",
    "approval": "approval",
    "quarantine": "quarantine",
    "server": "server_off",
}
"""The capability that a target must declare for a lock of that kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """How a started target is reached: its URL, the administrator's headers, each agent's headers.

    `stdio` is a command line that serves the target's config over stdio, to the administrator,
    with its own state; it is run with exactly `stdio_env`.
    """

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    agents: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    stdio: tuple[str, ...] | None = None
    stdio_env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamAddress:
    """The address of one upstream of the world: a URL, or a command line for stdio."""

    url: str | None = None
    command: tuple[str, ...] | None = None


class Adapter(Protocol):
    """Drives one target; its operations return a new Access, or None if access has not changed.

    `lock` and the others mean *accepted*, not *visible*: the suite polls. They raise Refused
    (a legal refusal), Unsupported, or AdapterError.
    """

    def start(self, world: World, upstreams: Mapping[str, UpstreamAddress], folder: Path) -> Access:
        """Start the target with the world's servers, lists and agents, its state in `folder`.

        Return, once it runs, how it is reached; `upstreams` has the address of each server. Raises
        TargetNotStarted or AdapterError.
        """

    def lock(self, kind: LockKind, server: str, tools: Sequence[str]) -> Access | None:
        """Set a lock of that kind on tools, or on the whole server (quarantine, server).

        Return the new access, None if it has not changed: the lock is accepted, but may not show
        yet. Raises Refused, Unsupported or AdapterError.
        """

    def unlock(self, kind: LockKind, server: str, tools: Sequence[str]) -> Access | None:
        """Remove a lock, which may still show for a while; kind approval approves the tools.

        Return the new access, None if it has not changed. Raises Refused, Unsupported or
        AdapterError.
        """

    def restart(self) -> Access | None:
        """End the target and start it again with the same state.

        Return the new access, None if it has not changed. Raises Refused, Unsupported or
        AdapterError.
        """

    def refresh(self, server: str) -> Access | None:
        """Make the target list an upstream server's tools again, which may come later.

        Return the new access, None if it has not changed. Raises Refused, Unsupported or
        AdapterError.
        """

    def counter(self) -> int:
        """Return the target's count of requests that set the flag `include_disabled`.

        Raises Refused, Unsupported or AdapterError.
        """

    def indeterminate(self, server: str, tools: Sequence[str], *, on: bool) -> Access | None:
        """Make the target unable to determine why these tools are locked; restore it unless `on`.

        Return the new access, None if it has not changed. Raises Refused, Unsupported or
        AdapterError.
        """

    def alive(self) -> bool:
        """Whether the target, or the program that drives it, still runs; False before `start`."""

    def log(self) -> str:
        """Return the tail of the log of the target, or of the program that drives it.

        It is empty before `start`.
        """

    def stop(self) -> None:
        """End the target and all its children; never raises."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyTarget(Target):
    """A kind of proxy under test, and how to make an adapter for one instance of it.

    Seconds: `settle_s` until answers must show a lock that is enforced, `enforce_s` until a lock
    must be enforced, `ready_s` until the tools of a fresh target must be callable and listed.
    `pins` are exact remediation and rejection texts and the statuses each is declared to convey.
    A process is used until it is `lasts_s` old, then replaced; one that checks share only if its
    world has a lock of a kind in `fading`, unless that is None. `ahead` targets are started before
    they are needed. `soak_s` is how long stages are kept running for FR-001.endures, `baseline` the
    folder of a recording for SC-001.baseline and related clauses. `may_lie_in_memory`: its folder
    need not be on a disk. `lag` is that of its operations, as seen so far in this process.
    """

    make: Callable[[], Adapter]
    surface: Surface = field(default_factory=Surface)
    capabilities: frozenset[str] = CAPABILITIES
    settle_s: float = 1.0
    ready_s: float = 15.0
    enforce_s: float = 5.0
    pins: Mapping[str, frozenset[str]] = field(default_factory=dict)
    upstreams: UpstreamPlace = field(default_factory=UpstreamPlace)
    lasts_s: float = math.inf
    fading: frozenset[LockKind] | None = None
    soak_s: float = 0.0
    baseline: Path | None = None
    ahead: int = 2
    may_lie_in_memory: bool = False
    lag: Lag = field(default_factory=Lag)

    def hurried(self) -> ProxyTarget:
        """Return it with one target started ahead and soaks of 1.5 s."""
        return replace(self, ahead=1, soak_s=SOAK_S)
