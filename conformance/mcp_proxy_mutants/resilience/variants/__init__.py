"""Package of loader variants, which conform and must never be accused, and their collection."""

from mcp_proxy_mutants.members import gathered
from mcp_proxy_mutants.resilience.variant import LoadVariant


def load_variants() -> tuple[LoadVariant, ...]:
    """Return every variant of this package's modules, in order of module."""
    return gathered(__name__, __path__, "VARIANTS")
