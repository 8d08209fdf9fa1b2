"""Every counterexample on the wire."""

from __future__ import annotations

from mcp_proxy_conformance.counterexamples.rewriting import WireFault

WIRE_FAULTS: tuple[WireFault, ...] = ()
