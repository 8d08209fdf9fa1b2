"""All mutants of the wire: servers in front of any target that rewrite its answers wrongly."""

from __future__ import annotations

from mcp_proxy_conformance.discovery.selftest import (
    wire_counts,
    wire_default,
    wire_entries,
    wire_note,
    wire_places,
    wire_published_flag,
    wire_rejections,
    wire_remediation,
    wire_revealed_tools,
    wire_several,
    wire_unread,
)
from mcp_proxy_conformance.discovery.selftest.exchange import WireFault

WIRE_FAULTS: tuple[WireFault, ...] = (
    *wire_default.FAULTS,
    *wire_revealed_tools.FAULTS,
    *wire_entries.FAULTS,
    *wire_remediation.FAULTS,
    *wire_note.FAULTS,
    *wire_counts.FAULTS,
    *wire_rejections.FAULTS,
    *wire_published_flag.FAULTS,
    *wire_places.FAULTS,
    *wire_several.FAULTS,
    *wire_unread.FAULTS,
)
