"""Files of known failures for tests: `write` one, run a `command`, return its `reported` report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
from click.testing import CliRunner, Result

from mcp_proxy_conformance.catalogue.resources import schemas_dir
from mcp_proxy_conformance.cli import main
from mcp_proxy_conformance.verdict.deviations.deviation import FILE

FLAG, QUERY = "listed-flag-breaks", "quote-ends-the-search"
"""Faults of the reference that break ROB.flag and ROB.query alone."""


def write(*ids: str, name: str = FILE, expires: str = "2999-01-02") -> None:
    """Write a file of known failures, by default the usual one, to the working folder.

    It has an entry of five lines for each id, with a reason, an issue and that expiry.
    """
    entries = [
        f'[[deviation]]\nid = "{failure_id}"\nreason = "Known since the rewrite."\n'
        f'issue = "https://example.com/1"\nexpires = {expires}\n'
        for failure_id in ids
    ]
    Path(name).write_text("".join(entries), encoding="utf-8")


def command(*words: str) -> Result:
    """Run the command line in this process and return its result."""
    return CliRunner().invoke(main, words)


def reported(path: Path) -> dict[str, Any]:
    """Return the report at that path, which must fit its schema; {} if there is none."""
    if not path.exists():
        return {}
    report: dict[str, Any] = json.loads(path.read_bytes())
    schema = json.loads((schemas_dir() / "report.schema.json").read_bytes())
    jsonschema.validate(report, schema, cls=jsonschema.Draft202012Validator)
    return report
