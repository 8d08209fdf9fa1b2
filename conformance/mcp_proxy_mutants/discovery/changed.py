"""`Changed`, a proxy that differs from the reference in one respect: base of mutant and variant."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp_proxy_mutants.discovery.changed_parts import (
    ChangedFront,
    ChangedProtocol,
    ChangedTools,
    Decisions,
)
from mcp_proxy_mutants.fresh import fresh
from mcp_proxy_reference.front import Front
from mcp_proxy_reference.gateway import Gateway
from mcp_proxy_reference.protocol import Protocol
from mcp_proxy_reference.proxy import Proxy

Swap = Callable[[Gateway], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """A changed proxy: `id`, and one sentence on its behaviour.

    `change` replaces members of `Decisions`; `swap` changes a gateway before it serves, for changes
    outside of the decisions: in its store, search, configuration or upstreams. `over_stdio`: the
    proxy serves stdio as well, and is changed there only.
    """

    id: str
    text: str
    change: Mapping[str, Any] = field(default_factory=dict)
    swap: Swap | None = None
    over_stdio: bool = False

    def open(self, config: Path, data_dir: Path) -> AbstractAsyncContextManager[Proxy]:
        """Return a context manager that starts the changed proxy over HTTP, yields it and stops it.

        One that is changed over stdio only (`over_stdio`) is the unchanged reference here. Each
        start has fresh state.
        """
        if self.over_stdio:
            return Proxy.open(config, data_dir)
        return Proxy.open(
            config, data_dir, policy=Decisions(**fresh(self.change)), front=self._front
        )

    def gateway(self, config: Path, data_dir: Path) -> Gateway:
        """Create and return a gateway (a proxy's core) with the changes, for serving over stdio."""
        gateway = Gateway(config, data_dir, Decisions(**fresh(self.change)))
        if self.swap is not None:
            self.swap(gateway)
        return gateway

    def protocol(self, gateway: Gateway) -> Protocol:
        """Return the JSON-RPC protocol for stdio, whose answers pass through `Decisions`.

        It is over a gateway made by `gateway`.
        """
        return ChangedProtocol(ChangedTools(gateway))

    def _front(self, gateway: Gateway) -> Front:
        """Apply `swap`, if any, to the gateway, and return an HTTP front over the changed tools."""
        if self.swap is not None:
            self.swap(gateway)
        return ChangedFront(gateway)
