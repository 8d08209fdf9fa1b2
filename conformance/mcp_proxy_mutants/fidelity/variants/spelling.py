"""Relay variants that rewrite or add what no clause forbids: order, numbers, notes, cursors."""

import math
from dataclasses import replace
from decimal import Decimal
from typing import Any

from mcp_proxy_mutants.fidelity.changed import (
    Around,
    Down,
    Forward,
    Got,
    Sent,
    by_message,
    changed_events,
)
from mcp_proxy_mutants.fidelity.json_text import Json, Number, mapped, read
from mcp_proxy_mutants.fidelity.mutant import relay_variant
from mcp_proxy_mutants.fidelity.mutants.results import KNOWN
from mcp_proxy_mutants.fidelity.places import (
    answered,
    arguments,
    failed,
    listed,
    member,
    returned,
    without,
)

NOTE = {"relay/seen": True}
OWN = "Relayed by a relay. "
LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")


def _sorted(value: Json) -> Json:
    return dict(sorted(value.items())) if isinstance(value, dict) else value


def _ordered() -> Around:
    return by_message(lambda message: mapped(message, _sorted),
                      lambda message, _: mapped(message, _sorted))  # fmt: skip


def _short(value: Json) -> Json:
    """Return a number that ends in `.0` without that, as 1 for 1.0; other values as they are."""
    if isinstance(value, Number) and value.endswith(".0") and value.count(".") == 1:
        return Number(value.removesuffix(".0"))
    return value


def _nearest(value: Json) -> Json:
    """Return a decimal in the shortest spelling of its double; any other value as it is.

    A number beyond or below those of doubles stays, too.
    """
    if not isinstance(value, Number) or value.is_integer:
        return value
    double = float(value)
    kept = math.isfinite(double) and (double != 0 or not Decimal(value))
    return Number(repr(double)) if kept else value


def _noted(value: dict[str, Any]) -> Json:
    return value | {"_meta": (value.get("_meta") or {}) | NOTE}


def _annotated() -> Around:
    """Return a filter that adds a note in `_meta` to every result, both ways, and listed tool."""

    def noted(message: dict[str, Json]) -> Json:
        result = message.get("result")
        return message | {"result": _noted(result)} if isinstance(result, dict) else message

    return by_message(noted, lambda message, asked: noted(listed(_noted)(message, asked)))


def _wrapped_cursors() -> Around:
    """Return a filter that gives clients cursors of its own, and the upstream its own again."""
    mark = "relay:"

    def up(message: dict[str, Json]) -> Json:
        params = message.get("params") or {}
        if message.get("method") != "tools/list" or "cursor" not in params:
            return message
        cursor = str(params["cursor"])
        return message | {"params": params | {"cursor": cursor.removeprefix(mark)}}

    wrap: Down = answered(
        "tools/list",
        lambda page: (
            page | {"nextCursor": f"{mark}{page['nextCursor']}"} if "nextCursor" in page else page
        ),
    )
    return by_message(up, wrap)


def _as_tool_error() -> Around:
    def down(message: dict[str, Json], asked: dict[str, Json]) -> Json:
        if asked.get("method") != "tools/call" or "error" not in message:
            return message
        text = {"type": "text", "text": str(message["error"]["message"])}
        return without(message, "error") | {"result": {"content": [text], "isError": True}}

    return by_message(down=down)


def _strict(message: dict[str, Json], asked: dict[str, Json]) -> Json:
    """Return an error for a call's result with content of an unknown type; others unchanged."""
    result = message.get("result")
    if asked.get("method") != "tools/call" or not isinstance(result, dict):
        return message
    if all(item.get("type") in KNOWN for item in result.get("content", [])):
        return message
    error = {"code": Number("-32603"), "message": "the upstream's result is invalid"}
    return without(message, "result") | {"error": error}


def _named_sources(message: dict[str, Json], _: dict[str, Json]) -> Json:
    """Return a message; loggers, and messages of progress, begin with a name of their source.

    Progress also loses its total.
    """
    params = message.get("params") or {}
    if message.get("method") == "notifications/message":
        return message | {"params": params | {"logger": f"relay/{params['logger']}"}}
    if message.get("method") != "notifications/progress":
        return message
    named = {"message": f"Upstream: {params['message']}"} if "message" in params else {}
    return message | {"params": without(params, "total") | named}


def _one_level() -> Around:
    """Return a filter that keeps one log level for all clients: that of the latest who set one.

    The upstream's level is the lowest; messages below the kept one are left out here.
    """
    latest = ["debug"]

    async def around(sent: Sent, forward: Forward) -> Got:
        message = sent.message
        if message.get("method") == "logging/setLevel":
            params = message["params"]
            got = await forward(sent.saying(message | {"params": params | {"level": "debug"}}))
            if "result" in got.message:
                latest[:] = [params["level"]]
            return got
        got = await forward(sent)
        if got.events is None:
            return got
        return replace(got, events=changed_events(got.events, down, {}))

    def down(message: dict[str, Json], _: dict[str, Json]) -> Json:
        if message.get("method") != "notifications/message":
            return message
        level = message["params"]["level"]
        return message if LEVELS.index(level) >= LEVELS.index(latest[0]) else None

    return around


def _without_meta(message: dict[str, Json]) -> Json:
    """Return a message without the `_meta` of its params, but for what the protocol puts there."""
    params = message.get("params")
    if not isinstance(params, dict) or "_meta" not in params:
        return message
    meta = {
        name: value
        for name, value in params["_meta"].items()
        if name == "progressToken" or name.startswith("io.modelcontextprotocol/")
    }
    return message | {"params": without(params, "_meta") | ({"_meta": meta} if meta else {})}


def _derived(result: dict[str, Json]) -> dict[str, Json]:
    """Return a result with the object that its first text holds, unless it has one or failed."""
    texts = [item["text"] for item in result.get("content", []) if item.get("type") == "text"]
    if "structuredContent" in result or result.get("isError") or not texts:
        return result
    try:
        value = read(texts[0].encode())
    except ValueError:
        return result
    return result | {"structuredContent": value} if isinstance(value, dict) else result


def _without_empty_marks(value: Json) -> Json:
    is_faulty = isinstance(value, dict) and value.get("x-mcp-header") == ""
    return without(value, "x-mcp-header") if is_faulty else value


VARIANTS = (
    relay_variant(
        "relay-sorts-members",
        "Members of objects come in alphabetical order.",
        "relay-spelling",
        "RLY.up.arguments.tokens",
        "RLY.up.arguments.duplicates",
        make=_ordered,
    ),
    relay_variant(
        "relay-shortens-numbers",
        "Numbers such as 1.0 go up as 1.",
        "relay-spelling",
        "RLY.up.arguments.tokens",
        up=arguments(lambda given: mapped(given, _short)),
    ),
    relay_variant(
        "relay-has-doubles",
        "Decimals within the range of doubles go up as the shortest spelling of theirs.",
        "relay-numbers",
        "RLY.up.arguments.tokens",
        up=arguments(lambda given: mapped(given, _nearest)),
    ),
    relay_variant(
        "relay-adds-notes",
        "Tools and all results, those of pings too, have a note in `_meta`.",
        "relay-attached-data",
        "RLY.down.content.extras",
        make=_annotated,
    ),
    relay_variant(
        "relay-derives-structured-content",
        "A text that is a JSON object is given as structured content, too.",
        "relay-derives-structure",
        "RLY.down.structured.invented",
        down=returned(_derived),
    ),
    relay_variant(
        "relay-drops-empty-marks",
        "Empty marks for headers are left out of the listed schemas.",
        "relay-is-an-intermediary",
        "RLY.era.headers.rejected",
        down=member("inputSchema", lambda schema: mapped(schema, _without_empty_marks)),
    ),
    relay_variant(
        "relay-has-instructions",
        "The upstream's instructions come after the relay's own.",
        "relay-instructions",
        down=answered(
            "initialize",
            lambda result: result | {"instructions": OWN + str(result.get("instructions", ""))},
        ),
    ),
    relay_variant(
        "relay-wraps-cursors",
        "Clients get cursors of the relay's own.",
        "relay-wraps-cursors",
        make=_wrapped_cursors,
    ),
    relay_variant(
        "relay-reports-errors-as-results",
        "JSON-RPC errors of calls become results that say isError.",
        "relay-errors-as-results",
        "RLY.down.error-kind.protocol-as-tool",
        make=_as_tool_error,
    ),
    relay_variant(
        "relay-refuses-unknown-content",
        "A result with content of an unknown type becomes an error.",
        "relay-unknown-content",
        down=_strict,
    ),
    relay_variant(
        "relay-says-whose-errors",
        "Messages of errors begin with whose they are.",
        "relay-error-codes",
        down=failed(lambda error: error | {"message": f"Upstream: {error['message']}"}),
    ),
    relay_variant(
        "relay-says-whose-news",
        "Loggers and messages of progress begin with a name, and progress has no total.",
        "relay-changes-news",
        down=_named_sources,
    ),
    relay_variant(
        "relay-leaves-null-data-out",
        "Data of errors that are null do not arrive.",
        "relay-null-data",
        down=failed(lambda error: without(error, "data") if error.get("data") is None else error),
    ),
    relay_variant(
        "relay-keeps-one-level",
        "One log level holds for all clients, that of the latest who set one.",
        "relay-shares-a-session",
        "RLY.apart.session.settings",
        make=_one_level,
    ),
    relay_variant(
        "relay-drops-optional-members",
        "Titles, icons and `_meta` of tools are lost.",
        "relay-optional-members",
        "RLY.tools.members.kept",
        down=listed(lambda tool: without(tool, "title", "icons", "_meta")),
    ),
    relay_variant(
        "relay-drops-attached-data",
        "`_meta` of a call is lost, but for its progress token.",
        "relay-attached-data",
        "RLY.up.meta.kept",
        up=_without_meta,
    ),
    relay_variant(
        "relay-remarks-on-schemas",
        "Input schemas have a remark.",
        "relay-rewrites-schemas",
        down=member("inputSchema", lambda schema: schema | {"$comment": "relayed"}),
    ),
)
