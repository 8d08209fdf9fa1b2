"""Counterexamples: proxies that are each wrong in one way, and named for it."""

from mcp_proxy_reference.faults.fault import Fault, Fresh, fault

__all__ = ["Fault", "Fresh", "fault"]
