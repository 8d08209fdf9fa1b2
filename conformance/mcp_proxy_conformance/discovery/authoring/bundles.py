"""Bundled JSON Schemas, with copies of those they refer to; as a program, it updates the files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from mcp_proxy_conformance.catalogue.resources import fixtures_dir, schemas_dir

SUFFIX = ".schema.json"


def bundled(name: str) -> dict[str, Any]:
    """Return a schema by name, each of its `$defs` that has an `$id` replaced by its own file's.

    The copies lose their `$schema`; texts that no config lock may have are of `convicting.json`.
    """
    path = schemas_dir() / f"{name}{SUFFIX}"
    schema: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if name == "remediation-map":
        schema["patternProperties"]["^disabled_by_config$"]["not"]["allOf"] = _convicting()
    for part, own in schema.get("$defs", {}).items():
        if "$id" in own:
            copy = bundled(part)
            del copy["$schema"]
            schema["$defs"][part] = copy
    return schema


def _convicting() -> list[dict[str, str]]:
    """Return the patterns of a text that convicts, in the syntax that all languages share.

    That cannot ignore case: a capital may begin a word, and words of two letters be in capitals.
    """
    path = fixtures_dir() / "discovery" / "remediation" / "convicting.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    groups = data["told"]
    listed = " ".join(
        [*data["beside"], *(p for group in groups for ps in group.values() for p in ps)]
    )
    words = _either({*listed.split()} - {"."})
    acts = "|".join(
        rf"(?:{_either(group['before'])})[\s,]*(?:{_either(group['acts'])})" for group in groups
    )
    return [
        {"pattern": rf"^[\s.,:;!]*(?:(?:{words})(?:[\s.,:;!]+|$))+$"},
        {"pattern": rf"(?:{acts})(?:[\s.,:;!]|$)"},
    ]


def _either(phrases: Iterable[str]) -> str:
    pattern = "|".join(sorted(phrases)).replace(".", "(?:^|[.:;!])").replace(" ", r"[\s,]+")
    return re.sub(
        r"(?<!\\)\b[a-z](?:[a-z]\b)?",
        lambda match: "".join(f"[{letter.upper()}{letter}]" for letter in match[0]),
        pattern,
    )


def text_of(schema: dict[str, Any]) -> str:
    """Return a schema as its file has it: JSON, unescaped, indented by two, final line break."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for path in schemas_dir().glob(f"*{SUFFIX}"):
        schema = bundled(path.name.removesuffix(SUFFIX))
        if schema != json.loads(path.read_text(encoding="utf-8")):
            path.write_text(text_of(schema), encoding="utf-8")
