"""The profiles of discovery, by what they judge."""

from __future__ import annotations

OF_PROXIES, LIVE = "discovery+robustness", "discovery-live"
"""Those by which a proxy that the suite drives, and a running endpoint, are judged."""
PROVEN = ("discovery", "robustness")
"""Those each of whose clauses needs mutants."""
