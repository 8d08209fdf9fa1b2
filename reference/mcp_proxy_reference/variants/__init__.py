"""Acquittals: conforming proxies that look different and must never be accused."""

from mcp_proxy_reference.changed import gathered
from mcp_proxy_reference.variants.variant import Fresh, Variant, variant

__all__ = ["Fresh", "Variant", "variant", "variants"]


def variants() -> tuple[Variant, ...]:
    """Every variant of this package's modules, in order of module."""
    return gathered(__name__, __path__, "VARIANTS")
