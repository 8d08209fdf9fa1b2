"""Bundled JSON Schemas, with copies of those they refer to; as a program, it updates the files."""

from __future__ import annotations

import json
from typing import Any

from mcp_proxy_conformance.catalogue.resources import schemas_dir

SUFFIX = ".schema.json"


def bundled(name: str) -> dict[str, Any]:
    """Return a schema by name, each of its `$defs` named as a schema file replaced by that file's.

    The copies are bundled likewise and lose their `$schema`; other definitions stay. No file is
    written.
    """
    path = schemas_dir() / f"{name}{SUFFIX}"
    schema: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    for part in schema.get("$defs", {}):
        if (schemas_dir() / f"{part}{SUFFIX}").is_file():
            copy = bundled(part)
            del copy["$schema"]
            schema["$defs"][part] = copy
    return schema


def text_of(schema: dict[str, Any]) -> str:
    """Return a schema as its file has it: JSON, unescaped, indented by two, final line break."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for path in schemas_dir().glob(f"*{SUFFIX}"):
        schema = bundled(path.name.removesuffix(SUFFIX))
        if schema != json.loads(path.read_text(encoding="utf-8")):
            path.write_text(text_of(schema), encoding="utf-8")
