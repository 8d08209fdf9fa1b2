"""Changed proxy: it differs from the reference in one respect, as a mutant or a fair variant."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp_proxy_mutants.fresh import fresh
from mcp_proxy_mutants.proxy.changed_parts import (
    ChangedFront,
    ChangedProtocol,
    ChangedTools,
    Decisions,
)
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
        """Return a context manager that yields the started proxy (unchanged for `over_stdio`)."""
        if self.over_stdio:
            return Proxy.open(config, data_dir)
        return Proxy.open(
            config, data_dir, policy=Decisions(**fresh(self.change)), front=self._front
        )

    def gateway(self, config: Path, data_dir: Path) -> Gateway:
        """Create a gateway with the changes: what a proxy changed over stdio serves there."""
        gateway = Gateway(config, data_dir, Decisions(**fresh(self.change)))
        if self.swap is not None:
            self.swap(gateway)
        return gateway

    def protocol(self, gateway: Gateway) -> Protocol:
        """Return the JSON-RPC protocol over that gateway; its answers pass through `Decisions`."""
        return ChangedProtocol(ChangedTools(gateway))

    def _front(self, gateway: Gateway) -> Front:
        if self.swap is not None:
            self.swap(gateway)
        return ChangedFront(gateway)
