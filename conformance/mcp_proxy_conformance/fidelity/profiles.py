"""The profiles of fidelity."""

from __future__ import annotations

PROVEN = ("fidelity", "integrity")
"""Those each of whose clauses needs mutants."""
OF_RELAYS = "+".join(PROVEN)
"""The profile by which a relay is judged."""
