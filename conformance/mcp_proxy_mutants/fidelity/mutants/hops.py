"""Relay mutants of requests to the upstream: `initialized`, `_meta`, MCP headers, cancellation."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from urllib.parse import quote

from mcp_proxy_mutants.fidelity.changed import Around, Forward, Got, Sent
from mcp_proxy_mutants.fidelity.json_text import Json, write
from mcp_proxy_mutants.fidelity.mutant import relay_mutant
from mcp_proxy_mutants.fidelity.places import listed, without

PREFIX = "up_"
PARAM, KNOWN = "mcp-param-", ("region", "count", "sure", "city")
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
CANCELLED, LIST = "notifications/cancelled", "tools/list"
PAUSE_S, KEPT_S = 0.2, 6.0
INITIALIZED = "notifications/initialized"


def _stating(change: Callable[[dict[str, Json]], Json], *methods: str) -> Callable[[], Around]:
    """Return a maker of a filter that changes what requests state in `_meta`.

    They are requests of 2026-07-28, of these methods or of all; headers stay.
    """

    async def around(sent: Sent, forward: Forward) -> Got:
        message = sent.message
        params = message.get("params") or {}
        meta = params.get("_meta")
        if not isinstance(meta, dict) or CAPABILITIES not in meta:
            return await forward(sent)
        if methods and message["method"] not in methods:
            return await forward(sent)
        return await forward(sent.saying(message | {"params": params | {"_meta": change(meta)}}))

    return lambda: around


def _heading(
    change: Callable[[Mapping[str, str]], Mapping[str, str]], *methods: str
) -> Callable[[], Around]:
    """Return a maker of a filter that changes the headers of requests of 2026-07-28.

    They are requests of these methods, or of all.
    """

    async def around(sent: Sent, forward: Forward) -> Got:
        method = sent.headers.get("mcp-method")
        if method is None or (methods and method not in methods):
            return await forward(sent)
        return await forward(replace(sent, headers=dict(change(sent.headers))))

    return lambda: around


def _each_param(change: Callable[[str, str], str | None]) -> Callable[[], Around]:
    """Return a maker of a filter that changes headers for arguments; None leaves one out.

    `change` gets the name after `mcp-param-` and the value.
    """

    def changed(headers: Mapping[str, str]) -> Mapping[str, str]:
        kept = {
            name: change(name.removeprefix(PARAM), value) if name.startswith(PARAM) else value
            for name, value in headers.items()
        }
        return {name: value for name, value in kept.items() if value is not None}

    return _heading(changed)


def _prefixed() -> Around:
    """Return a filter that lists tools with a prefix, and leaves it in the header of calls."""

    async def around(sent: Sent, forward: Forward) -> Got:
        message = sent.message
        if message.get("method") == "tools/call":
            name = str(message["params"].get("name"))
            params = message["params"] | {"name": name.removeprefix(PREFIX)}
            headers = sent.headers
            if "mcp-name" in headers:
                headers = {**headers, "mcp-name": PREFIX + name.removeprefix(PREFIX)}
            return await forward(
                replace(sent.saying(message | {"params": params}), headers=headers)
            )
        got = await forward(sent)
        renamed = listed(lambda tool: tool | {"name": f"{PREFIX}{tool['name']}"})
        return got if not got.message else got.saying(renamed(got.message, message))

    return around


def _asking_before() -> Around:
    """Return a filter that lists the tools before each call, with an empty trace context."""

    async def around(sent: Sent, forward: Forward) -> Got:
        message = sent.message
        meta = (message.get("params") or {}).get("_meta") or {}
        if message.get("method") == "tools/call" and CAPABILITIES in meta:
            asked = {"jsonrpc": "2.0", "id": f"{message['id']} before", "method": LIST}
            body = write(asked | {"params": {"_meta": meta | {"traceparent": ""}}})
            headers = {**without(dict(sent.headers), "mcp-name"), "mcp-method": LIST}
            await forward(replace(sent, headers=headers, body=body))
        return await forward(sent)

    return around


def _swallowing() -> Around:
    """Return a filter that keeps `initialized` from the upstream."""

    async def around(sent: Sent, forward: Forward) -> Got:
        if sent.message.get("method") == INITIALIZED:
            return Got(status=202, headers={})
        return await forward(sent)

    return around


def _late() -> Around:
    """Return a filter that sends `initialized` after the first request that follows it."""
    waiting: list[Sent] = []

    async def around(sent: Sent, forward: Forward) -> Got:
        method = sent.message.get("method")
        if method == INITIALIZED:
            waiting.append(sent)
            return Got(status=202, headers={})
        got = await forward(sent)
        if method not in (None, "initialize") and waiting:
            await forward(waiting.pop())
        return got

    return around


def _notifying(*, late: bool) -> Around:
    """Return a filter that posts a notification for a cancelled request, whose stream stays open.

    If `late`, it is posted by a task of its own, when the client has gone.
    """
    running: set[asyncio.Future[Got]] = set()

    async def post(sent: Sent, forward: Forward) -> Got:
        params = {"requestId": sent.message["id"]}
        body = write({"jsonrpc": "2.0", "method": CANCELLED, "params": params})
        headers = {**without(dict(sent.headers), "mcp-name"), "mcp-method": CANCELLED}
        await asyncio.sleep(PAUSE_S if late else 0)
        return await forward(replace(sent, headers=headers, body=body))

    async def around(sent: Sent, forward: Forward) -> Got:
        if sent.headers.get("mcp-method") != "tools/call":
            return await forward(sent)
        work = asyncio.ensure_future(forward(sent))
        running.add(work)
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            told = asyncio.ensure_future(post(sent, forward))
            running.add(told)
            if not late:
                await told
            await asyncio.wait([work, told], timeout=KEPT_S)
            raise

    return around


MUTANTS = (
    relay_mutant(
        "relay-swallows-initialized",
        "The notification of an initialized client does not go up.",
        "RLY.era.tools.handshake",
        make=_swallowing,
    ),
    relay_mutant(
        "relay-is-initialized-late",
        "The notification of an initialized client goes up after the first request.",
        "RLY.era.tools.handshake",
        make=_late,
    ),
    relay_mutant(
        "relay-states-no-capabilities",
        "Calls of tools do not state the client's capabilities.",
        "RLY.era.meta.hop",
        make=_stating(lambda meta: without(meta, CAPABILITIES), "tools/call"),
    ),
    relay_mutant(
        "relay-heads-calls-with-an-older-version",
        "The header of calls of tools names an older version than the message.",
        "RLY.era.meta.hop",
        "RLY.era.headers.recomputed",
        make=_heading(lambda own: {**own, "mcp-protocol-version": "2025-11-25"}, "tools/call"),
    ),
    relay_mutant(
        "relay-capitalises-traces",
        "Trace context goes up in capitals.",
        "RLY.era.meta.trace",
        make=_stating(
            lambda meta: (
                meta | {"traceparent": str(meta["traceparent"]).upper()}
                if "traceparent" in meta
                else meta
            )
        ),
    ),
    relay_mutant(
        "relay-adds-empty-traces",
        "A request without trace context gets an empty one.",
        "RLY.era.meta.trace",
        make=_stating(lambda meta: {"traceparent": "", "baggage": ""} | meta),
    ),
    relay_mutant(
        "relay-lists-with-empty-traces",
        "Before each call the tools are listed with an empty trace context.",
        "RLY.era.meta.trace",
        make=_asking_before,
    ),
    relay_mutant(
        "relay-heads-calls-with-its-own-name",
        "Tools have a prefix, which the header of a call keeps on its way up.",
        "RLY.era.error.own",
        "RLY.era.headers.recomputed",
        make=_prefixed,
        prefix=PREFIX,
    ),
    relay_mutant(
        "relay-heads-calls-in-capitals",
        "The header with the name of a tool is in capitals.",
        "RLY.era.headers.recomputed",
        make=_heading(lambda own: {**own, "mcp-name": own["mcp-name"].upper()}, "tools/call"),
    ),
    relay_mutant(
        "relay-quotes-names-in-headers",
        "The header with a name or URI is encoded as in a URL.",
        "RLY.era.headers.recomputed",
        make=_heading(
            lambda own: {**own, "mcp-name": quote(own["mcp-name"])} if "mcp-name" in own else own
        ),
    ),
    relay_mutant(
        "relay-loses-headers-of-arguments",
        "Headers for arguments do not go up.",
        "RLY.era.headers.param",
        "RLY.era.headers.forwarded",
        make=_each_param(lambda _, __: None),
    ),
    relay_mutant(
        "relay-capitalises-headers-of-arguments",
        "A boolean is written True or False in its header.",
        "RLY.era.headers.param",
        make=_each_param(
            lambda name, value: (
                value.capitalize() if value in ("true", "false") else value if name else ""
            )
        ),
    ),
    relay_mutant(
        "relay-keeps-known-headers-of-arguments",
        "Headers for arguments that no tool explains do not go up.",
        "RLY.era.headers.forwarded",
        make=_each_param(lambda name, value: value if name in KNOWN else None),
    ),
    relay_mutant(
        "relay-cuts-headers-of-arguments",
        "Values of headers for arguments that no tool explains end before a comma.",
        "RLY.era.headers.forwarded",
        make=_each_param(lambda name, value: value if name in KNOWN else value.partition(",")[0]),
    ),
    relay_mutant(
        "relay-declares-no-capabilities",
        "Calls state no capability of the client, and the upstream's refusal goes down.",
        "RLY.era.error.own",
        make=_stating(lambda meta: meta | {CAPABILITIES: {}}, "tools/call"),
    ),
    relay_mutant(
        "relay-cancels-as-over-stdio",
        "A cancelled call's stream stays open, and a notification is posted instead.",
        "RLY.back.cancel.form",
        make=lambda: _notifying(late=False),
    ),
    relay_mutant(
        "relay-cancels-late-as-over-stdio",
        "A notification is posted once the client of a cancelled call has gone.",
        "RLY.back.cancel.form",
        make=lambda: _notifying(late=True),
    ),
)
