"""Counterexamples: proxies that are each wrong in one way, and named for it."""

import importlib
import pkgutil

from mcp_proxy_reference.faults.fault import Fault, Fresh, fault

__all__ = ["Fault", "Fresh", "fault", "faults"]


def faults() -> tuple[Fault, ...]:
    """Every fault of this package's modules, in order of module."""
    found = sorted(one.name for one in pkgutil.iter_modules(__path__))
    modules = [importlib.import_module(f"{__name__}.{name}") for name in found]
    return tuple(one for module in modules for one in getattr(module, "FAULTS", ()))
