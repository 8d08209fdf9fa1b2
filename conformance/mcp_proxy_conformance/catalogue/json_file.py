"""Writer of readable JSON files of values such as cases, without members at their default."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import msgspec

WIDTH = 100
"""Columns; a list or an object that fits is written on one line."""


def write(path: Path, value: msgspec.Struct) -> None:
    """Write the value to a file as laid-out JSON, without members at their default.

    Its folder is made if missing, and an existing file is replaced in one move: no reader sees half
    of it, whoever else writes it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}-{os.getpid()}-{threading.get_ident()}")
    fresh.write_text(laid_out(lean(value)) + "\n", encoding="utf-8")
    fresh.replace(path)


def laid_out(value: Any, indent: int = 0, before: int = 0) -> str:
    """Return indented JSON in which each list or object that fits into 100 columns is on one line.

    `indent`: columns by which later lines are indented; `before`: columns taken on the first
    line.
    """
    line = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, (dict, list)) or not value or before + len(line) <= WIDTH:
        return line
    own, parts = " " * (indent + 2), []
    for name, member in value.items() if isinstance(value, dict) else enumerate(value):
        key = f"{json.dumps(name, ensure_ascii=False)}: " if isinstance(value, dict) else ""
        parts.append(own + key + laid_out(member, indent + 2, indent + 3 + len(key)))
    lines = "\n".join(["", ",\n".join(parts), " " * indent])
    return f"{{{lines}}}" if isinstance(value, dict) else f"[{lines}]"


def lean(value: Any) -> Any:
    """Return the value as plain data; structs lose the members that have their default value.

    Members that are UNSET are left out too; a required member stays whatever its value. Tuples
    become lists.
    """
    if isinstance(value, msgspec.Struct):
        members = {}
        for field in msgspec.structs.fields(value):
            own = getattr(value, field.name)
            default = field.default
            if default is msgspec.NODEFAULT and field.default_factory is not msgspec.NODEFAULT:
                default = field.default_factory()
            if own is not msgspec.UNSET and (field.required or own != default):
                members[field.encode_name] = lean(own)
        return members
    if isinstance(value, dict):
        return {name: lean(member) for name, member in value.items()}
    return [lean(item) for item in value] if isinstance(value, (list, tuple)) else value
