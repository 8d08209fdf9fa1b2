"""Differences between expected and observed values, each with its path."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from deepdiff import DeepDiff
from deepdiff.helper import NotPresent

from mcp_proxy_conformance.verdict.result import Finding

MOST, WIDTH = 12, 240


def differences(findings: Sequence[Finding]) -> list[str]:
    """Return the lines of findings, of each its own; those beyond `MOST` are counted."""
    lines = [
        line
        for finding in findings[:MOST]
        for line in difference(
            "==", {finding.path: finding.observed}, {finding.path: finding.allowed}
        )
    ]
    return _bounded(lines, more=len(findings[MOST:]))


def difference(op: str, observed: Any, expected: Any) -> list[str]:
    """Return a line for each differing path of an equation; both sides of other comparisons."""
    left, right = _plain(observed), _plain(expected)
    relation = "" if op == "==" else f"{op} "
    sides = [f"observed: {_short(left)}", f"expected: {relation}{_short(right)}"]
    if op != "==" or not isinstance(left, (list, dict)):
        return sides
    try:
        tree = DeepDiff(right, left, ignore_order=False, view="tree", verbose_level=1)
        rows = [_row(change) for changes in tree.values() for change in changes]
    except Exception:  # noqa: BLE001 - an unshowable difference is not the target's fault
        return sides
    return _bounded(rows) or sides


def _bounded(rows: list[str], more: int = 0) -> list[str]:
    rest = len(rows[MOST:]) + more
    return [*rows[:MOST], *([f"... and {rest} more differences"] if rest else [])]


def _row(change: Any) -> str:
    path = " / ".join(map(str, change.path(output_format="list"))) or "the top"
    return f"at {path}: expected {_short(change.t1)}, observed {_short(change.t2)}"


def _plain(value: Any) -> Any:
    """Convert tuples and our own values to lists, texts and dicts, so that paths read well."""
    if isinstance(value, Mapping):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, AbstractSet):
        return sorted((_plain(inner) for inner in value), key=str)
    if hasattr(value, "_fields"):
        return str(value)
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return value


def _short(value: Any) -> str:
    """Return the value as JSON; a missing one is `absent`."""
    if value is ... or isinstance(value, NotPresent):
        return "absent"
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= WIDTH else f"{text[:WIDTH]}... ({len(text)} characters)"
