"""Acquittals: conforming proxies that look different and must never be accused."""

import importlib
import pkgutil

from mcp_proxy_reference.variants.variant import Fresh, Variant, variant

__all__ = ["Fresh", "Variant", "variant", "variants"]


def variants() -> tuple[Variant, ...]:
    """Every variant of this package's modules, in order of module."""
    found = sorted(one.name for one in pkgutil.iter_modules(__path__))
    modules = [importlib.import_module(f"{__name__}.{name}") for name in found]
    return tuple(one for module in modules for one in getattr(module, "VARIANTS", ()))
