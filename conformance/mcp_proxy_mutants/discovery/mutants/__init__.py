"""Package of proxy mutants, each wrong in one way and named for it, and their collection."""

from mcp_proxy_mutants.discovery.mutant import Mutant
from mcp_proxy_mutants.members import gathered


def mutants() -> tuple[Mutant, ...]:
    """Return every mutant of this package's modules, in order of module."""
    return gathered(__name__, __path__, "MUTANTS")
