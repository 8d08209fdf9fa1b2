"""Faults of the table: a signal that is taken for another."""

from typing import Any

from mcp_proxy_reference.load_faults.load_fault import LoadFault, load_fault
from mcp_proxy_reference.loader import MEANING, Status


def meaning(kind: str, status: Status) -> dict[str, Any]:
    """The table with one row of another class."""
    return {**MEANING, kind: (status, MEANING[kind][1])}


FAULTS: tuple[LoadFault, ...] = (
    load_fault("timeout-is-permanent", "A server that does not answer in time is permanent.",
               "T1.timeout", meaning=meaning("timeout", "permanent")),
)  # fmt: skip
