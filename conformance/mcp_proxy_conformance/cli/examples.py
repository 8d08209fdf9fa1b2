"""Examples at the end of a command's help."""

from __future__ import annotations


def examples(*lines: str) -> str:
    """An epilog of these commands, each without the program's name, which click does not wrap."""
    told = "\n".join(f"  mcp-proxy-conformance {line}" for line in lines)
    return f"\b\nExamples:\n{told}"
