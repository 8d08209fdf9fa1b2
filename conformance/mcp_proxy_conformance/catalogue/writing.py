"""A value of the catalogue as a JSON file that a person reads: without what is the default."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

WIDTH = 100
"""Columns: a list or an object that has room in them stands on one line."""


def write(path: Path, value: msgspec.Struct) -> None:
    """Write it into a folder that is made where it is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(laid_out(lean(value)) + "\n", encoding="utf-8")


def laid_out(value: Any, indent: int = 0, before: int = 0) -> str:
    """JSON as a person would write it.

    Args:
        value: Plain data.
        indent: How far the lines after the first one are moved in.
        before: How many columns of the first line are taken, the comma after it included.
    """
    line = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, (dict, list)) or not value or before + len(line) <= WIDTH:
        return line
    own, parts = " " * (indent + 2), []
    for name, one in value.items() if isinstance(value, dict) else enumerate(value):
        key = f"{json.dumps(name, ensure_ascii=False)}: " if isinstance(value, dict) else ""
        parts.append(own + key + laid_out(one, indent + 2, indent + 3 + len(key)))
    lines = "\n".join(["", ",\n".join(parts), " " * indent])
    return f"{{{lines}}}" if isinstance(value, dict) else f"[{lines}]"


def lean(value: Any) -> Any:
    """Plain data without the members that have their default."""
    if isinstance(value, msgspec.Struct):
        told = {}
        for one in msgspec.structs.fields(value):
            own = getattr(value, one.name)
            default = one.default
            if default is msgspec.NODEFAULT and one.default_factory is not msgspec.NODEFAULT:
                default = one.default_factory()
            if own is not msgspec.UNSET and (one.required or own != default):
                told[one.encode_name] = lean(own)
        return told
    if isinstance(value, dict):
        return {name: lean(one) for name, one in value.items()}
    return [lean(one) for one in value] if isinstance(value, (list, tuple)) else value
