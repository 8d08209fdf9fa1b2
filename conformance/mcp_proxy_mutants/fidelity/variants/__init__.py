"""Package of relay variants, which conform and must never be accused, and their collection."""

from mcp_proxy_mutants.fidelity.mutant import RelayVariant
from mcp_proxy_mutants.members import gathered


def relay_variants() -> tuple[RelayVariant, ...]:
    """Return every variant of this package's modules, in order of module."""
    return gathered(__name__, __path__, "VARIANTS")
