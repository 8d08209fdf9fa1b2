"""ADAPTER.md and its schema: example lines that fit it and decode; invalid lines."""

from __future__ import annotations

import json
import re

import jsonschema
import msgspec
import pytest

from mcp_proxy_conformance.catalogue.resources import schemas_dir
from mcp_proxy_conformance.discovery.targets.adapter import CAPABILITIES
from mcp_proxy_conformance.discovery.targets.command import AdapterAnswer


def test_every_line_of_the_page_keeps_to_the_schema_and_is_understood() -> None:
    """Each example line of ADAPTER.md fits the adapter schema, and its answers decode.

    There are nine requests, which have every operation, and nine answers.
    """
    schema = json.loads((schemas_dir() / "adapter.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    page = (schemas_dir() / "ADAPTER.md").read_text(encoding="utf-8")
    lines = re.findall(r"^(→|←) (\{.*\})$", page, re.MULTILINE)

    for _, line in lines:
        jsonschema.validate(json.loads(line), schema, cls=jsonschema.Draft202012Validator)
    answers = [
        msgspec.json.decode(line, type=AdapterAnswer) for arrow, line in lines if arrow == "←"
    ]
    operations = {json.loads(line)["op"] for arrow, line in lines if arrow == "→"}

    assert {
        "start",
        "lock",
        "unlock",
        "restart",
        "refresh",
        "counter",
        "indeterminate",
    } == operations
    assert len(answers) == len(lines) / 2 == 9


def test_the_page_says_which_operations_each_capability_needs() -> None:
    """The table of ADAPTER.md has one row for each capability of a proxy, and no other row."""
    page = (schemas_dir() / "ADAPTER.md").read_text(encoding="utf-8")
    table = page.partition("| capability |")[2].partition("\n\n")[0]

    rows = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)

    assert sorted(rows) == sorted(CAPABILITIES)


@pytest.mark.parametrize(
    "line",
    [
        '{"id":1,"ok":{},"error":"both"}',
        '{"id":1}',
        '{"id":1,"op":"lock","kind":"approval","server":"a","tools":[]}',
        '{"id":1,"op":"start","dir":"/d","world":{"servers":[{"name":"a","trusted":true}],"agents":{}}}',
        '{"id":1,"ok":{"url":"127.0.0.1:8080"}}',
        '{"id":0,"op":"restart"}',
    ],
)
def test_the_schema_refuses_what_is_no_line_of_the_protocol(line: str) -> None:
    """A line that breaks the adapter protocol is invalid under its schema."""
    schema = json.loads((schemas_dir() / "adapter.schema.json").read_text(encoding="utf-8"))

    assert not jsonschema.Draft202012Validator(schema).is_valid(json.loads(line))
