"""A value of the catalogue as a JSON file that a person reads: without what is the default."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec


def write(path: Path, value: msgspec.Struct) -> None:
    """Write it, indented, into a folder that is made where it is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(lean(value)), indent=2) + b"\n")


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
