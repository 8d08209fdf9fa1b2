"""Package of relay mutants, each wrong in one way and named for it, and their collection."""

from mcp_proxy_mutants.fidelity.mutant import RelayMutant
from mcp_proxy_mutants.members import gathered


def relay_mutants() -> tuple[RelayMutant, ...]:
    """Return every mutant of this package's modules, in order of module."""
    return gathered(__name__, __path__, "MUTANTS")
