"""Relay variants toward upstreams of 2026-07-28: spans, sealed states, cache hints, cancelling."""

import asyncio
import hashlib
import hmac
import secrets
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from mcp_proxy_mutants.fidelity.changed import JSON, Around, Forward, Got, Sent, by_message
from mcp_proxy_mutants.fidelity.json_text import Json, Number, write
from mcp_proxy_mutants.fidelity.mutant import relay_variant
from mcp_proxy_mutants.fidelity.mutants.inputs import STATE, asking, hinting, retrying
from mcp_proxy_mutants.fidelity.places import listed, without

TOKEN = set("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
CANCELLED = "notifications/cancelled"
SPAN = "b7ad6b7169203332"


def _older_upstreams() -> Around:
    """Return a filter that does not know 2026-07-28 as its upstream's side."""

    async def around(sent: Sent, forward: Forward) -> Got:
        if "mcp-method" not in sent.headers:
            return await forward(sent)
        error = {"code": Number("-32600"), "message": "Bad Request: no session"}
        body = write({"jsonrpc": "2.0", "id": None, "error": error})
        return Got(status=400, headers=JSON, body=body)

    return around


def _marks(schema: Json, *, is_reached: bool = True) -> Iterator[tuple[Any, bool]]:
    """Yield (mark for a header, whether it may stand there) for each one in a schema."""
    if isinstance(schema, list):
        for each in schema:
            yield from _marks(each, is_reached=False)
    if not isinstance(schema, dict):
        return
    if "x-mcp-header" in schema:
        mark = schema["x-mcp-header"]
        kinds = ("string", "integer", "boolean")
        yield mark, is_reached and bool(mark) and set(mark) <= TOKEN and schema["type"] in kinds
    for name, inner in schema.items():
        for each in inner.values() if name == "properties" and isinstance(inner, dict) else ():
            yield from _marks(each, is_reached=is_reached)
        if name != "properties":
            yield from _marks(inner, is_reached=False)


def _well_marked(tool: dict[str, Json]) -> Json:
    """Return a tool; None if its marks for headers break the rules."""
    marks = [*_marks(tool.get("inputSchema"))]
    names = [str(mark).lower() for mark, _ in marks]
    return tool if all(holds for _, holds in marks) and len(names) == len({*names}) else None


def _sealed_states() -> Around:
    """Return a filter that gives clients the upstream's states with a seal, and looks at it."""
    key = secrets.token_bytes(32)

    def seal(state: str) -> str:
        return hmac.new(key, state.encode(), hashlib.sha256).hexdigest()

    def up(params: dict[str, Json]) -> Json:
        own, _, state = str(params.get(STATE, "")).partition(".")
        return params | {STATE: state if hmac.compare_digest(own, seal(state)) else ""}

    return by_message(
        retrying(up),
        asking(lambda result: result | {STATE: f"{seal(result[STATE])}.{result[STATE]}"}),
    )


def _own_span(message: dict[str, Json]) -> Json:
    """Return a message whose trace context, if it has any, names a span of the relay's."""
    params = message.get("params") or {}
    meta = params.get("_meta") or {}
    if "traceparent" not in meta:
        return message
    version, trace, _, flags = str(meta["traceparent"]).split("-")
    own = {"traceparent": f"{version}-{trace}-{SPAN}-{flags}", "tracestate": "relay=1,vendor=a:1"}
    return message | {"params": params | {"_meta": meta | own}}


def _closing_and_notifying() -> Around:
    """Return a filter that posts a notification beside the closed stream of a cancelled call."""
    told: set[asyncio.Future[Got]] = set()

    async def around(sent: Sent, forward: Forward) -> Got:
        try:
            return await forward(sent)
        except asyncio.CancelledError:
            if sent.headers.get("mcp-method") == "tools/call":
                params = {"requestId": sent.message["id"]}
                body = write({"jsonrpc": "2.0", "method": CANCELLED, "params": params})
                headers = {**without(dict(sent.headers), "mcp-name"), "mcp-method": CANCELLED}
                posted = forward(replace(sent, headers=headers, body=body))
                told.add(asyncio.ensure_future(posted))
            raise

    return around


VARIANTS = (
    relay_variant(
        "relay-knows-older-upstreams-alone",
        "An upstream of 2026-07-28 alone is not served.",
        "relay-serves-an-era",
        make=_older_upstreams,
    ),
    relay_variant(
        "relay-leaves-faulty-tools-out",
        "Tools whose marks for headers break the rules are not listed.",
        "relay-is-an-intermediary",
        down=listed(_well_marked),
    ),
    relay_variant(
        "relay-seals-states",
        "Clients get states with a seal of the relay's, which it looks at.",
        "relay-seals-states",
        make=_sealed_states,
    ),
    relay_variant(
        "relay-has-a-span",
        "Trace context goes up with a span of the relay's own.",
        "relay-takes-part-in-traces",
        "RLY.up.meta.kept",
        up=_own_span,
    ),
    relay_variant(
        "relay-lets-nothing-be-kept",
        "No result may be kept for any time.",
        "relay-shortens-hints",
        down=hinting(lambda result, _: result | {"ttlMs": Number("0"), "cacheScope": "private"}),
    ),
    relay_variant(
        "relay-closes-and-notifies",
        "A cancelled call's stream is closed, and a notification is posted beside.",
        "relay-cancels-upstream",
        make=_closing_and_notifying,
    ),
)
