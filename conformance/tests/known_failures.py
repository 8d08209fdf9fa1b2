"""Files of known failures as tests write them, commands of theirs, and the report of a run."""

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
    """Write the file of known failures into the working folder, an entry of five lines an id."""
    entries = [
        f'[[deviation]]\nid = "{one}"\nreason = "Known since the rewrite."\n'
        f'issue = "https://example.com/1"\nexpires = {expires}\n'
        for one in ids
    ]
    Path(name).write_text("".join(entries), encoding="utf-8")


def command(*words: str) -> Result:
    """A command in this process."""
    return CliRunner().invoke(main, words)


def reported(path: Path) -> dict[str, Any]:
    """The report if there is one, valid under its schema."""
    if not path.exists():
        return {}
    report: dict[str, Any] = json.loads(path.read_bytes())
    schema = json.loads((schemas_dir() / "report.schema.json").read_bytes())
    jsonschema.validate(report, schema, cls=jsonschema.Draft202012Validator)
    return report
