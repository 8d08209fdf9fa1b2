"""Acquittals: conforming loaders that do it otherwise and must never be accused."""

from mcp_proxy_reference.changed import gathered
from mcp_proxy_reference.load_variants.load_variant import Fresh, LoadVariant, load_variant

__all__ = ["Fresh", "LoadVariant", "load_variant", "load_variants"]


def load_variants() -> tuple[LoadVariant, ...]:
    """Every variant of this package's modules, in order of module."""
    return gathered(__name__, __path__, "VARIANTS")
