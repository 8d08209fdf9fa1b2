"""`SOUND`, a valid case as JSON, for tests that spoil it; `lint_output` runs `lint`."""

from __future__ import annotations

from click.testing import CliRunner

from mcp_proxy_conformance.cli import main

LOAD = "resilience/denied/denied-forbidden.json"
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
