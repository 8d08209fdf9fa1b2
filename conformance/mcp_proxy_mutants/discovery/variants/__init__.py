"""Package of proxy variants, which conform and must never be accused, and their collection."""

from mcp_proxy_mutants.discovery.variant import Variant
from mcp_proxy_mutants.members import gathered


def variants() -> tuple[Variant, ...]:
    """Return every variant of this package's modules, in order of module."""
    return gathered(__name__, __path__, "VARIANTS")
