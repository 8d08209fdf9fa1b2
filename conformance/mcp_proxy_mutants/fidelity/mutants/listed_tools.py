"""Relay mutants of tools/list: tools, names, cursors, schemas, annotations, notice of changes."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from urllib.parse import quote

import httpx2

from mcp_proxy_mutants.fidelity.changed import Around, Forward, Got, Sent, Up, by_message
from mcp_proxy_mutants.fidelity.json_text import Json, mapped
from mcp_proxy_mutants.fidelity.mutant import relay_mutant
from mcp_proxy_mutants.fidelity.places import answered, called, is_text, listed, member, without

LONGEST_NAME, LONGEST_TEXT = 24, 60
FETCH_S = 2.0


def _last_left_out(result: dict[str, Json]) -> Json:
    tools = result.get("tools", [])
    return result if result.get("nextCursor") else result | {"tools": tools[:-1]}


def _first_again(result: dict[str, Json]) -> Json:
    tools = result.get("tools", [])
    return result | {"tools": tools + tools[:1]}


def _overlapping() -> Around:
    """Return a filter that begins each later page with the last tool of the page before."""
    last: list[Json] = []

    def down(message: dict[str, Json], asked: dict[str, Json]) -> Json:
        paged = (asked.get("params") or {}).get("cursor") is not None

        def page(result: dict[str, Json]) -> Json:
            tools = result.get("tools", [])
            changed = last + tools if paged else tools
            last[:] = tools[-1:]
            return result | {"tools": changed}

        return answered("tools/list", page)(message, asked)

    return by_message(down=down)


def _cursor(change: Callable[[str], str]) -> Up:
    def up(message: dict[str, Json]) -> Json:
        params = message.get("params") or {}
        if message.get("method") != "tools/list" or not is_text(params.get("cursor")):
            return message
        return message | {"params": params | {"cursor": change(params["cursor"])}}

    return up


async def _all_pages(sent: Sent, forward: Forward, goes_on: Callable[[Json], bool]) -> Got:
    """Return the first page with the tools of those that follow, while `goes_on` holds of a page.

    It is called with each page's result. A page that fails takes the place of all.
    """
    got = await forward(sent)
    result = got.message.get("result")
    if not isinstance(result, dict):
        return got
    tools, page = list(result.get("tools", [])), result
    while goes_on(page):
        message = sent.message
        params = (message.get("params") or {}) | {"cursor": page["nextCursor"]}
        following = await forward(sent.saying(message | {"params": params}))
        if not isinstance(following.message.get("result"), dict):
            return following
        page = following.message["result"]
        tools += page.get("tools", [])
    joined = without(result, "nextCursor") | {"tools": tools}
    return got.saying(got.message | {"result": joined})


def joins(goes_on: Callable[[Json], bool]) -> Around:
    """Return a filter that joins pages of tools into one, while `goes_on` holds of a result."""

    async def around(sent: Sent, forward: Forward) -> Got:
        if sent.message.get("method") != "tools/list":
            return await forward(sent)
        return await _all_pages(sent, forward, goes_on)

    return around


def _circle(again: Callable[[dict[str, Json]], str]) -> Around:
    """Return a filter that gives the last page a cursor, which leads to the first page.

    `again` is called with the request's params and returns the cursor, which begins with `relay-`.
    """

    def down(message: dict[str, Json], asked: dict[str, Json]) -> Json:
        params = asked.get("params") or {}
        return answered(
            "tools/list",
            lambda page: page if page.get("nextCursor") else page | {"nextCursor": again(params)},
        )(message, asked)

    def up(message: dict[str, Json]) -> Json:
        params = message.get("params") or {}
        own = str(params.get("cursor", "")).startswith("relay-")
        return message | {"params": without(params, "cursor")} if own else message

    return by_message(up, down)


def _loose(schema: Json) -> Json:
    """Return one schema without `required`, bounds and the like; any other value as it is.

    For `mapped`, which applies it at any depth.
    """
    if not isinstance(schema, dict):
        return schema
    return without(schema, "required", "additionalProperties", "minimum", "maximum", "pattern")


def _strict(schema: Json) -> Json:
    """Return a schema with properties so that it requires all of these and allows no others.

    Any other value is returned as it is; `mapped` applies this at any depth.
    """
    if isinstance(schema, dict) and isinstance(schema.get("properties"), dict):
        return schema | {"additionalProperties": False, "required": [*schema["properties"]]}
    return schema


def _integers(schema: Json) -> Json:
    if isinstance(schema, dict) and schema.get("type") == "number":
        return schema | {"type": "integer"}
    return schema


def _each_required(schema: Json) -> Json:
    """Return a schema with properties with `required` true, as in draft 3; others as they are."""
    if not isinstance(schema, dict) or not isinstance(schema.get("properties"), dict):
        return schema
    return schema | {"required": True}


def _fetching(method: str) -> Around:
    """Return a filter that requests the URL of each $ref in listed tools upon requests of a method.

    An URL that does not answer within 2 s is ignored.
    """
    urls: set[str] = set()

    def note(schema: Json) -> Json:
        if isinstance(schema, dict) and str(schema.get("$ref", "")).startswith("http"):
            urls.add(schema["$ref"].partition("#")[0])
        return schema

    async def around(sent: Sent, forward: Forward) -> Got:
        got = await forward(sent)
        asked = sent.message.get("method")
        if asked == "tools/list":
            mapped(got.message, note)
        if asked == method and urls:
            async with httpx2.AsyncClient(trust_env=False, timeout=FETCH_S) as http:
                await asyncio.gather(*(http.get(url) for url in urls), return_exceptions=True)
        return got

    return around


def _cached(most: int) -> Around:
    """Return a filter that answers for the first page of tools by a kept one, `most` times.

    Then the page is asked for again, and kept.
    """
    kept: list[Got] = []
    used = [0]

    async def around(sent: Sent, forward: Forward) -> Got:
        message = sent.message
        if message.get("method") != "tools/list" or (message.get("params") or {}).get("cursor"):
            return await forward(sent)
        if not kept or used[0] >= most:
            kept[:], used[0] = [await forward(sent)], 0
            return kept[0]
        used[0] += 1
        return replace(
            kept[0].saying(kept[0].message | {"id": message["id"]}), session=sent.session
        )

    return around


def _silent(streams: str) -> Around:
    """Return a filter that leaves out notifications of changed tools on certain streams.

    `streams` is "all", or "own" for those of listening clients.
    """

    def down(message: dict[str, Json], asked: dict[str, Json]) -> Json:
        changed = message.get("method") == "notifications/tools/list_changed"
        there = streams == "all" or (streams == "own") != bool(asked)
        return None if changed and there else message

    return by_message(down=down)


MUTANTS = (
    relay_mutant(
        "relay-lists-plain-names",
        "Tools with dots or dashes in their names are lost.",
        "RLY.tools.complete.listed",
        down=listed(lambda tool: tool if str(tool["name"]).replace("_", "a").isalnum() else None),
    ),
    relay_mutant(
        "relay-loses-the-last-tool",
        "The last tool of the list is lost.",
        "RLY.tools.complete.listed",
        down=answered("tools/list", _last_left_out),
    ),
    relay_mutant(
        "relay-lists-the-first-tool-twice",
        "The first tool of each page is listed at its end too.",
        "RLY.tools.complete.once",
        down=answered("tools/list", _first_again),
    ),
    relay_mutant(
        "relay-pages-overlap",
        "Each page begins with the tool that the page before it ended with.",
        "RLY.tools.complete.once",
        make=_overlapping,
    ),
    relay_mutant(
        "relay-prefixes-and-forgets",
        "Tools are listed with a prefix, and cannot be called by it.",
        "RLY.tools.complete.listed",
        "RLY.tools.complete.callable",
        down=listed(lambda tool: tool | {"name": f"up_{tool['name']}"}),
    ),
    relay_mutant(
        "relay-cuts-names",
        "Tools are listed with the first 24 letters of their names.",
        "RLY.tools.complete.listed",
        "RLY.tools.complete.callable",
        down=listed(lambda tool: tool | {"name": tool["name"][:LONGEST_NAME]}),
    ),
    relay_mutant(
        "relay-calls-in-lower-case",
        "The upstream is asked for every tool in lower case.",
        "RLY.up.name",
        "RLY.tools.complete.callable",
        up=called(lambda params: params | {"name": str(params.get("name")).lower()}),
    ),
    relay_mutant(
        "relay-calls-with-underscores",
        "Dots and dashes in called names become underscores.",
        "RLY.up.name",
        "RLY.tools.complete.callable",
        up=called(
            lambda params: (
                params | {"name": str(params.get("name")).replace("-", "_").replace(".", "_")}
            )
        ),
    ),
    relay_mutant(
        "relay-trims-cursors",
        "Blanks and padding at the ends of cursors are lost on the way up.",
        "RLY.tools.paging.cursor-exact",
        up=_cursor(lambda text: text.strip().rstrip("=")),
    ),
    relay_mutant(
        "relay-quotes-cursors",
        "Cursors are percent-encoded on the way up.",
        "RLY.tools.paging.cursor-exact",
        up=_cursor(lambda text: quote(text, safe="")),
    ),
    relay_mutant(
        "relay-drops-empty-cursors",
        "An empty cursor is left out, as if the page were the last.",
        "RLY.tools.paging.empty-cursor",
        down=answered(
            "tools/list",
            lambda result: result if result.get("nextCursor") else without(result, "nextCursor"),
        ),
    ),
    relay_mutant(
        "relay-joins-to-an-empty-cursor",
        "All pages are joined, up to one with an empty cursor.",
        "RLY.tools.paging.empty-cursor",
        make=lambda: joins(lambda page: bool(page.get("nextCursor"))),
    ),
    relay_mutant(
        "relay-shows-the-first-page",
        "The first page is all that is listed.",
        "RLY.tools.paging.beyond-first",
        "RLY.tools.complete.listed",
        down=answered("tools/list", lambda page: without(page, "nextCursor")),
    ),
    relay_mutant(
        "relay-joins-to-a-short-page",
        "All pages are joined, up to one with fewer than two tools.",
        "RLY.tools.paging.beyond-first",
        "RLY.tools.complete.listed",
        make=lambda: joins(lambda page: "nextCursor" in page and len(page["tools"]) > 1),
    ),
    relay_mutant(
        "relay-begins-again",
        "The last page has a cursor, which leads to the first.",
        "RLY.tools.paging.ends",
        make=lambda: _circle(lambda _: "relay-first"),
    ),
    relay_mutant(
        "relay-counts-on",
        "Every page has a cursor, each one longer than that before.",
        "RLY.tools.paging.ends",
        make=lambda: _circle(lambda params: f"relay-{params.get('cursor', '')}"),
    ),
    relay_mutant(
        "relay-loosens-schemas",
        "Input schemas lose what they require and forbid.",
        "RLY.tools.schema.same-instances",
        down=member("inputSchema", lambda it: mapped(it, _loose)),
    ),
    relay_mutant(
        "relay-tightens-schemas",
        "Input schemas require every member, and allow no others.",
        "RLY.tools.schema.same-instances",
        down=member("inputSchema", lambda it: mapped(it, _strict)),
    ),
    relay_mutant(
        "relay-lists-no-empty-schema",
        "An input schema without properties is listed as null.",
        "RLY.tools.schema.valid",
        down=member("inputSchema", lambda schema: schema if schema.get("properties") else None),
    ),
    relay_mutant(
        "relay-speaks-draft-3",
        "Input schemas have `required` as a boolean.",
        "RLY.tools.schema.valid",
        down=member("inputSchema", lambda it: mapped(it, _each_required)),
    ),
    relay_mutant(
        "relay-fetches-when-listing",
        "The URL of a $ref is requested when the tools are listed.",
        "RLY.tools.schema.no-fetch",
        make=lambda: _fetching("tools/list"),
    ),
    relay_mutant(
        "relay-fetches-when-calling",
        "The URL of a $ref is requested when a tool is called.",
        "RLY.tools.schema.no-fetch",
        make=lambda: _fetching("tools/call"),
    ),
    relay_mutant(
        "relay-cuts-descriptions",
        "Descriptions end after 60 letters.",
        "RLY.tools.members.description",
        down=member("description", lambda text: text[:LONGEST_TEXT]),
    ),
    relay_mutant(
        "relay-trims-descriptions",
        "Line ends and repeated blanks of descriptions are lost.",
        "RLY.tools.members.description",
        down=member("description", lambda text: " ".join(text.split())),
    ),
    relay_mutant(
        "relay-calls-all-read-only",
        "Annotations say of every tool that it only reads.",
        "RLY.tools.members.annotations",
        down=member("annotations", lambda annotations: annotations | {"readOnlyHint": True}),
    ),
    relay_mutant(
        "relay-invents-annotations",
        "Tools without annotations get some.",
        "RLY.tools.members.annotations",
        down=listed(lambda tool: {"annotations": {"destructiveHint": False}} | tool),
    ),
    relay_mutant(
        "relay-loosens-output-schemas",
        "Output schemas lose what they require and forbid.",
        "RLY.tools.members.output-schema",
        down=member("outputSchema", lambda it: mapped(it, _loose)),
    ),
    relay_mutant(
        "relay-lists-integers",
        "Output schemas have integers where the upstream's have numbers.",
        "RLY.tools.members.output-schema",
        "RLY.down.structured.conforms",
        down=member("outputSchema", lambda it: mapped(it, _integers)),
    ),
    relay_mutant(
        "relay-never-tells-of-changes",
        "Notifications of changed tools are lost on every stream.",
        "RLY.tools.changed.arrives",
        make=lambda: _silent("all"),
    ),
    relay_mutant(
        "relay-tells-of-changes-in-answers",
        "Changes of tools are lost outside of the streams of answers.",
        "RLY.tools.changed.arrives",
        make=lambda: _silent("own"),
    ),
    relay_mutant(
        "relay-keeps-the-first-list",
        "The first page of tools is kept for ever.",
        "RLY.tools.changed.next-list",
        make=lambda: _cached(1 << 30),
    ),
    relay_mutant(
        "relay-is-one-list-behind",
        "Every second time the first page of tools is that of before.",
        "RLY.tools.changed.next-list",
        make=lambda: _cached(1),
    ),
)
