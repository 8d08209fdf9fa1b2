"""Counterexamples: loaders that are each wrong in one way, and named for it."""

from mcp_proxy_reference.changed import gathered
from mcp_proxy_reference.load_faults.load_fault import Fresh, LoadFault, load_fault

__all__ = ["Fresh", "LoadFault", "load_fault", "load_faults"]


def load_faults() -> tuple[LoadFault, ...]:
    """Every fault of this package's modules, in order of module."""
    return gathered(__name__, __path__, "FAULTS")
