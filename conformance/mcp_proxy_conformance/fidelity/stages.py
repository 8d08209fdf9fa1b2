"""Stages of relays: worlds by id, each with the data that its scripted server answers by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from mcp_proxy_conformance.catalogue.world import World
from mcp_proxy_conformance.fidelity.offers import FEATURES, STATELESS, TELLING, featured
from mcp_proxy_conformance.fidelity.relay_case import relay_cases
from mcp_proxy_conformance.upstream.relayed import ORIGIN, Answer, Page, Relayed
from mcp_proxy_conformance.wire.jsonrpc import dumps

ANY: dict[str, Any] = {"type": "object"}
RELAYED = World(servers=(), id="relayed")
"""Tools for every kind of call, on one page."""
PAGED = World(servers=(), id="paged")
"""Seven tools on four pages of unlike size, one empty; cursors that need escaping somewhere. The
tools of each session are described otherwise."""
DESCRIBED = World(servers=(), id="described")
"""Tools with every member that a tool can have, and with schemas of many forms."""
GENERATED = World(servers=(), id="generated values")
"""The tools of `relayed`, for values that are generated."""
STATELESS_PAGES = World(servers=(), id="stateless pages")
"""A server of 2026-07-28 with tools on two pages, the second of which has an empty cursor."""
TELLS: Mapping[str, Any] = {
    "description": "It tells $client.",
    "execution": {"taskSupport": "optional"},
}
"""Members of the tool of the stage `features` that sends messages."""
SEVERAL = World(servers=(), id="several upstreams")
"""Two servers behind one relay, which share the name of a tool, and have a tool of their own."""
SHARED, OWN = "search", ("find_first", "find_second")
SEARCHES = ("It searches the first server.", "It searches the second server.")
ALONE = ("The first server alone has it.", "The second server alone has it.")
"""The name of the tool that both have, the names of their own, and the descriptions of either."""
NAMES = ("Upper.Case-1", "with.dots.and-dashes_1", "n" * 64)
"""Names of further tools of the stage `described`, all within the rules of 2025-11-25."""
CURSORS = (" p2/=+&? ü ", "eyJwIjozfQ==", "p4")
ICON = "data:image/png;base64,iVBORw0KGgo="


def tool(name: str, *, schema: Mapping[str, Any] = ANY, **members: Any) -> bytes:
    """Return the entry of a tool in a list, as JSON text, with these members added or replaced."""
    entry = {"name": name, "description": f"The tool {name}.", "inputSchema": dict(schema)}
    return dumps(entry | members)


def given_at(world: World) -> Relayed:
    """Return the data of the server of that world; KeyError for one that is not of relays."""
    return _stages()[world.id]


@cache
def _stages() -> Mapping[str, Relayed]:
    answers = {
        case.id: Answer(result=bytes(case.result), error=bytes(case.error))
        for case in relay_cases()
        if case.result or case.error
    }
    answers["give_structured"] = Answer(result=b'{"content":[],"structuredContent":{}}')
    calls = (tool("echo"), tool("give"), tool("give_structured", outputSchema=ANY), tool("count"))
    relayed = Relayed(pages={None: Page(entries=calls)}, answers=answers)
    seven = [
        tool(f"page_{number}", description=f"The tool {number} of $session.")
        for number in range(1, 8)
    ]
    return {
        RELAYED.id: relayed,
        GENERATED.id: relayed,
        FEATURES.id: featured([tool("echo"), tool(TELLING, **TELLS)]),
        STATELESS.id: featured(
            [tool("echo"), tool(TELLING), tool("marked", schema=MARKED)], "stateless"
        ),
        STATELESS_PAGES.id: Relayed(pages=_stateless_pages(), era="stateless"),
        SEVERAL.id: Relayed(pages=_of_one(0), second=Relayed(pages=_of_one(1))),
        PAGED.id: Relayed(pages=_four_pages(seven)),
        DESCRIBED.id: Relayed(
            pages={None: Page(entries=tuple(_described()))},
            answers={
                "members": Answer(
                    result=b'{"content":[],"structuredContent":{"total":3,"rate":0.5}}'
                )
            },
        ),
    }


def _of_one(number: int) -> Mapping[str | None, Page]:
    shared = tool(SHARED, description=SEARCHES[number])
    return {None: Page(entries=(shared, tool(OWN[number], description=ALONE[number])))}


def _four_pages(tools: Sequence[bytes]) -> Mapping[str | None, Page]:
    """Return seven tools as pages of three, one, none and three, by cursor (None: the first)."""
    second, third, fourth = CURSORS
    return {
        None: Page(entries=tuple(tools[:3]), following=second),
        second: Page(entries=tuple(tools[3:4]), following=third),
        third: Page(entries=(), following=fourth),
        fourth: Page(entries=tuple(tools[4:])),
    }


MARKED: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "count": {"type": "integer", "x-mcp-header": "Count"},
        "sure": {"type": "boolean", "x-mcp-header": "Sure"},
        "place": {
            "type": "object",
            "properties": {"city": {"type": "string", "x-mcp-header": "City"}},
        },
        "query": {"type": "string"},
    },
}
"""The input schema of the tool `marked`, four of whose arguments are repeated in headers."""
_TWICE = {"type": "string", "x-mcp-header": "Twice"}
WRONGLY_MARKED: Mapping[str, Mapping[str, Any]] = {
    "empty_mark": {"a": {"type": "string", "x-mcp-header": ""}},
    "no_token": {"a": {"type": "string", "x-mcp-header": "a b"}},
    "line_end": {"a": {"type": "string", "x-mcp-header": "A\r\nB"}},
    "same_mark": {"a": _TWICE, "b": {**_TWICE, "x-mcp-header": "tWICE"}},
    "number_marked": {"a": {"type": "number", "x-mcp-header": "A"}},
    "in_items": {"a": {"type": "array", "items": _TWICE}},
}
"""Properties with marks that break the rules, by the tools of the stage that have them."""
EXTERNAL = f"{ORIGIN.decode()}/schema/point"
"""The URL, at the server itself, to which a schema of the tool `pointing` refers."""
POINTING: Mapping[str, Any] = {
    "type": "object",
    "properties": {"point": {"$ref": EXTERNAL}, "note": {"type": "string"}},
}


def _stateless_pages() -> Mapping[str | None, Page]:
    wrong = [
        tool(name, schema={"type": "object", "properties": properties})
        for name, properties in WRONGLY_MARKED.items()
    ]
    first = (tool("page_1"), tool("pointing", schema=POINTING), *wrong)
    return {None: Page(entries=first, following=""), "": Page(entries=(tool("page_2"),))}


SCHEMAS: Mapping[str, Mapping[str, Any]] = {
    "bounds": {
        "type": "object",
        "properties": {
            "n": {"type": "integer", "minimum": 1, "maximum": 9},
            "word": {"type": "string", "minLength": 2, "pattern": "^[a-z]+$"},
            "list": {"type": "array", "items": {"type": "number"}, "maxItems": 3},
        },
        "required": ["n"],
        "additionalProperties": False,
    },
    "choices": {
        "type": "object",
        "properties": {
            "mode": {"enum": ["fast", "slow", None]},
            "level": {"anyOf": [{"type": "integer"}, {"const": "max"}]},
            "flag": {"type": "boolean", "default": True},
        },
    },
    "references": {
        "type": "object",
        "$defs": {
            "node": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
                },
                "required": ["name"],
            }
        },
        "properties": {"tree": {"$ref": "#/$defs/node"}},
        "required": ["tree"],
    },
    "composed": {
        "type": "object",
        "allOf": [
            {"properties": {"a": {"type": "string"}}, "required": ["a"]},
            {"properties": {"b": {"type": "integer"}}},
        ],
        "if": {"properties": {"a": {"const": "both"}}},
        "then": {"required": ["b"]},
    },
    "open": {"type": "object", "additionalProperties": {"type": "integer"}},
    "nothing": {"type": "object", "properties": {}, "additionalProperties": False},
}
"""Input schemas of the stage `described`, by the names of its tools."""
INSTANCES: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "bounds": (
        {"n": 1}, {"n": 0}, {"n": 9}, {"n": 10}, {"n": 1.5}, {"n": "1"}, {}, {"n": 2, "x": 1},
        {"n": 2, "word": "ab"}, {"n": 2, "word": "a"}, {"n": 2, "word": "AB"},
        {"n": 2, "list": [1, 2.5, 3]}, {"n": 2, "list": [1, 2, 3, 4]}, {"n": 2, "list": ["1"]},
        {"n": None},
    ),
    "choices": (
        {}, {"mode": "fast"}, {"mode": "other"}, {"mode": None}, {"level": 3}, {"level": "max"},
        {"level": "min"}, {"level": 2.5}, {"flag": True}, {"flag": "true"}, {"flag": None},
        {"more": 1},
    ),
    "references": (
        {}, {"tree": {"name": "a"}}, {"tree": {}}, {"tree": {"name": "a", "children": []}},
        {"tree": {"name": "a", "children": [{"name": "b", "children": [{"name": "c"}]}]}},
        {"tree": {"name": "a", "children": [{"name": "b", "children": [{"name": 1}]}]}},
        {"tree": {"name": "a", "children": [{}]}}, {"tree": "a"},
    ),
    "composed": (
        {"a": "x"}, {}, {"a": 1}, {"a": "both"}, {"a": "both", "b": 1}, {"a": "x", "b": "1"},
    ),
    "open": ({}, {"a": 1}, {"a": "1"}, {"a": 1, "b": 2.5}),
    "nothing": ({}, {"a": 1}),
}  # fmt: skip
"""Arguments that these schemas accept, and such that they refuse."""
MEMBERS: Mapping[str, Any] = {
    "title": "A title: “Größe”",
    "description": "Line one.\n\n\tLine two with “quotes”, <tags> & {braces}.\n"
    + 200 * "And a line more. ",
    "outputSchema": {
        "type": "object",
        "properties": {"total": {"type": "integer", "minimum": 0}, "rate": {"type": "number"}},
        "required": ["total"],
    },
    "annotations": {
        "title": "An annotation",
        "readOnlyHint": False,
        "destructiveHint": True,
        "idempotentHint": False,
        "openWorldHint": False,
    },
    "icons": [{"src": ICON, "mimeType": "image/png", "sizes": ["1x1"]}],
    "_meta": {"example.org/kind": {"deep": [1, 2, {"x": None}]}},
}
"""Members of the tool `members` of that stage."""


def _described() -> list[bytes]:
    entries = [tool(name, schema=schema) for name, schema in SCHEMAS.items()]
    return [*entries, *map(tool, NAMES), tool("members", **MEMBERS)]
