"""Parts of the proof: of tests that are one of many of their kind, those of one commit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

PART = "MCP_PROXY_CONFORMANCE_PART"
"""The environment variable with the number of a part, such as that of a commit."""
USUAL = 2
"""The parts of a test marked `proof` that names no number."""


def of_other_parts(items: Sequence[pytest.Item], number: str | None) -> list[pytest.Item]:
    """Return the tests marked `proof(parts=N)` that are not in the part of this number, modulo N.

    The parameters of a test are dealt out in their order; tests without any, of the same N,
    together. Without a number of a part none is returned.
    """
    counted, others = Counter[str | int](), list[pytest.Item]()
    for item in items if number is not None else ():
        marks = item.iter_markers("proof")
        parts = max((mark.kwargs.get("parts", USUAL) for mark in marks), default=1)
        kind = item.nodeid.partition("[")[0] if "[" in item.nodeid else parts
        if counted[kind] % parts != int(number or 0) % parts:
            others.append(item)
        counted[kind] += parts > 1
    return others
