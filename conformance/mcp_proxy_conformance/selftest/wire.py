"""All mutants of the wire: clauses that rewritten answers can break in front of any target."""

from __future__ import annotations

from mcp_proxy_conformance.selftest import (
    wire_default,
    wire_entries,
    wire_listing,
    wire_note,
    wire_places,
    wire_publishing,
    wire_refusing,
    wire_remediation,
    wire_revealing,
    wire_several,
    wire_unread,
)
from mcp_proxy_conformance.selftest.exchange import WireFault

WIRE_FAULTS: tuple[WireFault, ...] = (
    *wire_default.FAULTS,
    *wire_revealing.FAULTS,
    *wire_entries.FAULTS,
    *wire_remediation.FAULTS,
    *wire_note.FAULTS,
    *wire_listing.FAULTS,
    *wire_refusing.FAULTS,
    *wire_publishing.FAULTS,
    *wire_places.FAULTS,
    *wire_several.FAULTS,
    *wire_unread.FAULTS,
)
