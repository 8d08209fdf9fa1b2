"""Package of proxy mutants, each wrong in one way and named for it, and their collection."""

from mcp_proxy_mutants.members import gathered
from mcp_proxy_mutants.proxy.mutant import Mutant


def mutants() -> tuple[Mutant, ...]:
    """Return every mutant of this package's modules, in order of module."""
    return gathered(__name__, __path__, "MUTANTS")
