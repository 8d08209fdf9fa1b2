"""`list`: valid JSON rows, the same as the printed ones; a clause's row; both kinds of case."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import needs
import pytest
from click.testing import CliRunner

from mcp_proxy_conformance.catalogue.resources import schemas_dir
from mcp_proxy_conformance.cli import main
from mcp_proxy_conformance.cli.list import WHAT

pytestmark = needs.discovery


def listed(what: str) -> Any:
    """Return the rows that `list WHAT --json` prints, which must fit the schema."""
    done = CliRunner().invoke(main, ["list", what, "--json"])
    document = json.loads(done.stdout)
    schema = json.loads((schemas_dir() / "list.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(document, schema, cls=jsonschema.Draft202012Validator)
    return document[what]


@pytest.mark.parametrize("what", WHAT)
def test_what_is_listed_for_people_is_listed_as_json(what: str) -> None:
    """`list WHAT --json` has rows; their names are in the lines of `list WHAT`, in that order."""
    rows = listed(what)
    lines = iter(CliRunner().invoke(main, ["list", what]).stdout.splitlines())

    names = [row.get("id") or row["name"] for row in rows]
    missing = [name for name in names if not any(name in line for line in lines)]

    assert rows
    assert missing == []


def test_a_clause_is_listed_with_all_that_a_reader_of_reports_needs() -> None:
    """The row of FR-006.cap has its requirement, level and source, and discovery profiles only."""
    (cap,) = [row for row in listed("clauses") if row["id"] == "FR-006.cap"]

    assert (cap["requirement"], cap["level"]) == ("FR-006", "required")
    assert cap["source"] == {"text": "discovery-spec", "at": "FR-006"}
    assert {"discovery", "discovery-live"} >= set(cap["profiles"]) > set()


@needs.every
def test_cases_of_proxies_and_of_loaders_are_listed() -> None:
    """`list cases` has cases of each specification, whose name is their kind."""
    kinds = {row["id"]: row["kind"] for row in listed("cases")}

    assert kinds["limits-11-at-10"] == "discovery"
    assert kinds["timeout-late-list"] == "resilience"
    assert kinds["arguments-decimal-tokens"] == "fidelity"
