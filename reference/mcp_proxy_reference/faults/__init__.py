"""Counterexamples: proxies that are each wrong in one way, and named for it."""

from mcp_proxy_reference.changed import gathered
from mcp_proxy_reference.faults.fault import Fault, Fresh, fault

__all__ = ["Fault", "Fresh", "fault", "faults"]


def faults() -> tuple[Fault, ...]:
    """Every fault of this package's modules, in order of module."""
    return gathered(__name__, __path__, "FAULTS")
