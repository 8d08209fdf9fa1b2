"""Input schemas of targets: applied in bounded time, and never a fault of the suite."""

from __future__ import annotations

import time
from typing import Any

import pytest

from mcp_proxy_conformance.verdict.result import Inconclusive, Misshapen
from mcp_proxy_conformance.wire.input_schema import refusals

FORMS: list[dict[str, Any]] = [{"query": "a" * 40}, {"query": "a" * 40, "include_disabled": True}]


def chain(length: int) -> dict[str, Any]:
    """Return a schema of `length` definitions, each of which refers to the next one twice.

    The last accepts anything.
    """
    steps = {
        f"d{at}": {"allOf": [{"$ref": f"#/$defs/d{at + 1}"}] * 2} for at in range(length)
    }  # fmt: skip
    return {"$defs": steps | {f"d{length}": {}}, "$ref": "#/$defs/d0"}


def deep(depth: int) -> dict[str, Any]:
    """Return a schema of objects nested `depth` deep."""
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"x": schema}}
    return schema


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        pytest.param(chain(28), "that takes more than", marks=pytest.mark.proof),
        ({"properties": {"query": {"pattern": "^(a+)+$!"}}}, "that takes more than"),
        ({"$ref": "#"}, "refers to itself without end"),
        ({"properties": {"query": {"pattern": r"^\p{L}+$"}}}, "is not a 'regex'"),
        (deep(950), "nested too deeply"),
    ],
    ids=["chained definitions", "a pattern", "itself", "a foreign pattern", "deep"],
)
def test_what_cannot_be_applied_in_time_is_open(schema: dict[str, Any], reason: str) -> None:
    """An input schema that is slow, endless or too deep raises Inconclusive within 20 s.

    So does a pattern of another regex dialect. The reason says which it is.
    """
    began = time.monotonic()

    with pytest.raises(Inconclusive, match=reason):
        refusals(schema, FORMS)

    assert time.monotonic() - began < 20


def test_what_refers_to_another_document_is_open() -> None:
    """An input schema that refers to a document elsewhere raises Inconclusive."""
    with pytest.raises(Inconclusive, match="refers to another document"):
        refusals({"$ref": "http://127.0.0.1:9/schema.json"}, FORMS)


@pytest.mark.parametrize("schema", [{"type": 7}, {"type": 7, "pattern": "a"}, {"properties": [1]}])
def test_what_is_no_schema_is_reported(schema: dict[str, Any]) -> None:
    """An input schema that is not a JSON Schema raises Misshapen, in this process or a child."""
    with pytest.raises(Misshapen, match="is not a JSON Schema"):
        refusals(schema, FORMS)


@pytest.mark.parametrize("keyword", [{}, {"allOf": [True]}], ids=["here", "in a child"])
def test_the_arguments_are_laid_beside_the_schema(keyword: dict[str, Any]) -> None:
    """`refusals` returns a list of sentences for each form of arguments, empty if it is accepted.

    The sentence is the same from this process and from a child.
    """
    flag = {"include_disabled": {"type": "string"}}

    sentence = '$.include_disabled: type "string" refuses true'
    assert refusals({"properties": flag} | keyword, FORMS) == [[], [sentence]]
