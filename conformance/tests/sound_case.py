"""`SOUND`, a valid case as JSON, for tests that spoil it; `lint_output` runs `lint`."""

from __future__ import annotations

import json
from typing import Any

from click.testing import CliRunner

from mcp_proxy_conformance.catalogue.case_file import case_texts
from mcp_proxy_conformance.catalogue.resources import fixtures_dir
from mcp_proxy_conformance.cli import main

LOAD = "resilience/denied.json#denied-forbidden"
SOUND = {
    "id": "own-word",
    "area": "opt-in",
    "title": "A case of one's own.",
    "source": ["FR-001"],
    "clauses": ["FR-001.reveals-config"],
    "given": {"stage": "mixed"},
    "when": {"do": "discover", "query": "pipekan", "include_disabled": True, "limit": 10},
    "then": {"disabled": {"tuzubak:scrub_latefiro": ["disabled_by_config"]}},
}


def lint_output(*arguments: object) -> tuple[int, str]:
    """Run `lint` with these arguments; return (its exit code, everything that it prints)."""
    done = CliRunner().invoke(main, ["lint", *map(str, arguments)], catch_exceptions=False)
    return done.exit_code, done.output


def shipped_json(name: str) -> dict[str, Any]:
    """Return the data of a JSON file by its path below the fixtures, or with `#ID` of its case."""
    path, _, wanted = name.partition("#")
    found = [json.loads(text) for text, *_ in case_texts((fixtures_dir() / path).read_bytes())]
    return dict(next(data for data in found if wanted in ("", data["id"])))
