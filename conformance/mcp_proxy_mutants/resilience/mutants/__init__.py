"""Package of loader mutants, each wrong in one way and named for it, and their collection."""

from mcp_proxy_mutants.members import gathered
from mcp_proxy_mutants.resilience.mutant import LoadMutant


def load_mutants() -> tuple[LoadMutant, ...]:
    """Return every mutant of this package's modules, in order of module."""
    return gathered(__name__, __path__, "MUTANTS")
