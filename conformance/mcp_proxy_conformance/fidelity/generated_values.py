"""Generated JSON values for arguments and results: laws, cases made of them, smaller values."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
from hypothesis import strategies as st

from mcp_proxy_conformance.fidelity.exact_json import Kind
from mcp_proxy_conformance.fidelity.relay_case import RelayCase
from mcp_proxy_conformance.wire.jsonrpc import dumps

LARGEST, EXACT = 1 << 70, 1 << 53
"""The largest integer that is generated, and that up to which doubles have every integer."""
LEAVES = 12
Value = dict[str, Any]
Way = Literal["arguments", "result"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueLaw:
    """A law of any JSON value: the way it goes, and the clauses that each kind of change breaks."""

    way: Way
    clauses: Mapping[Kind, str]


UP, STRUCTURED = "RLY.up.arguments.", "RLY.down.structured."
LAWS: Mapping[str, ValueLaw] = {
    "arguments": ValueLaw(
        way="arguments",
        clauses={
            "integer": f"{UP}integers", "number": f"{UP}decimals", "text": f"{UP}text",
            "member": f"{UP}keys", "whole": f"{UP}kinds", "other": f"{UP}kinds",
        },
    ),
    "structured": ValueLaw(
        way="result",
        clauses={
            "whole": f"{STRUCTURED}kept",
            **dict.fromkeys(("integer", "number", "text", "member", "other"), f"{STRUCTURED}value"),
        },
    ),
}  # fmt: skip
"""The laws by name; a value holds on its way what it is."""


def values() -> st.SearchStrategy[Value]:
    """Return a strategy of JSON objects, without lone surrogates and numbers beyond doubles."""
    texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
    names = st.one_of(
        texts, st.sampled_from(["", "__proto__", "constructor", "toString", "$ref", "a.b", "id"])
    )
    leaves = st.one_of(
        st.none(), st.booleans(), texts, st.integers(-LARGEST, LARGEST),
        st.floats(allow_nan=False, allow_infinity=False),
        st.sampled_from(["1", "true", "null", "[]", "{}", 2**53 + 1, -(2**63) - 1]),
    )  # fmt: skip
    inner = st.recursive(
        leaves,
        lambda below: st.one_of(
            st.lists(below, max_size=4), st.dictionaries(names, below, max_size=4)
        ),
        max_leaves=LEAVES,
    )
    return st.dictionaries(names, inner, max_size=4)


def case_of(law: str, value: Value, number: int) -> RelayCase:
    """Return a value as a case of the law of that name; `number` is part of the case's id."""
    way, clauses = LAWS[law].way, tuple(sorted(set(LAWS[law].clauses.values())))
    name, text = f"generated-{law}-{number}", msgspec.Raw(dumps(value))
    title = "A generated value arrives as it was sent."
    if way == "arguments":
        return RelayCase(
            id=name, area=way, title=title, clauses=clauses, arguments=text,
            refusable=_has_large_integer(value),
        )  # fmt: skip
    result = b'{"content":[],"structuredContent":' + bytes(text) + b"}"
    return RelayCase(
        id=name, area=way, title=title, clauses=clauses, tool="give_structured",
        result=msgspec.Raw(result), at=("result", "structuredContent"),
    )  # fmt: skip


def _has_large_integer(value: Any) -> bool:
    """Whether an integer beyond 53 bits is in a value; a relay may refuse it, if it says so."""
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return any(map(_has_large_integer, inner))
    return isinstance(value, int) and abs(value) > EXACT


def value_of(case: RelayCase) -> Value:
    """Return the value in a case that `case_of` made."""
    if case.area == "arguments":
        value: Value = json.loads(bytes(case.arguments))
        return value
    inside: Value = json.loads(bytes(case.result))["structuredContent"]
    return inside


def size(value: Any) -> tuple[int, int]:
    """Return the sort key of a value: (how many values are in it, the length of its text)."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(size(each)[0] for each in inner), len(dumps(value))


def smaller(value: Any) -> Iterator[Any]:
    """Yield values of the same type with a member, an item, a character or a level less.

    There are none of a number, a boolean or null.
    """
    if isinstance(value, dict):
        for name in value:
            yield {own: inner for own, inner in value.items() if own != name}
        for name, inner in value.items():
            yield from ({**value, name: less} for less in _less(inner))
    elif isinstance(value, list):
        yield from (value[:at] + value[at + 1 :] for at in range(len(value)))
        for at, inner in enumerate(value):
            yield from ([*value[:at], less, *value[at + 1 :]] for less in _less(inner))
    elif isinstance(value, str):
        yield from (value[:at] + value[at + 1 :] for at in range(len(value)))


def _less(value: Any) -> Iterator[Any]:
    """Yield what may stand in the place of an inner value: what is inside of it, or less of it."""
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value
    yield from smaller(value)
