"""Proxy that differs from the reference in one respect: a mutant, or a fair variant."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp_proxy_mutants.fresh import fresh
from mcp_proxy_mutants.proxy.changed_parts import ChangedFront, Decisions
from mcp_proxy_reference.front import Front
from mcp_proxy_reference.gateway import Gateway
from mcp_proxy_reference.proxy import Proxy

Swap = Callable[[Gateway], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """A changed proxy: `id`, and one sentence on its behaviour.

    `change` replaces members of `Decisions`; `swap` changes a gateway before it serves, for changes
    outside of the decisions: in its store, search, configuration or upstreams.
    """

    id: str
    text: str
    change: Mapping[str, Any] = field(default_factory=dict)
    swap: Swap | None = None

    def open(self, config: Path, data_dir: Path) -> AbstractAsyncContextManager[Proxy]:
        """Start the proxy; the context manager yields it."""
        return Proxy.open(
            config, data_dir, policy=Decisions(**fresh(self.change)), front=self._front
        )

    def _front(self, gateway: Gateway) -> Front:
        if self.swap is not None:
            self.swap(gateway)
        return ChangedFront(gateway)
