"""Relay mutants for clients of 2026-07-28: lists, versions, errors, headers, subscriptions."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from typing import Any

from mcp_proxy_mutants.fidelity.changed import (
    JSON,
    Around,
    Down,
    Forward,
    Got,
    Sent,
    Up,
    by_message,
)
from mcp_proxy_mutants.fidelity.in_front import in_front
from mcp_proxy_mutants.fidelity.json_text import Json, Number, mapped, number, plain, write
from mcp_proxy_mutants.fidelity.mutant import relay_mutant
from mcp_proxy_mutants.fidelity.places import (
    answered,
    arguments,
    failed,
    listed,
    returned,
    structured,
    without,
)

META = "io.modelcontextprotocol/"
VERSION, CAPABILITIES, LEVEL = (
    META + name for name in ("protocolVersion", "clientCapabilities", "logLevel")
)
SUBSCRIPTION = META + "subscriptionId"
LATEST = "2026-07-28"
LISTEN = "subscriptions/listen"
LIST_CHANGED = "notifications/tools/list_changed"


def _doubled(value: Json) -> Json:
    """Return a number as the nearest double; any other value as it is."""
    return number(float(value)) if isinstance(value, Number) else value


def _stating(change: Callable[[dict[str, Json]], Json], *methods: str) -> Up:
    """Return a filter that changes the `_meta` of requests, of these methods or of all."""

    def up(message: dict[str, Json]) -> Json:
        if methods and message.get("method") not in methods:
            return message
        params = message.get("params") or {}
        return message | {"params": params | {"_meta": change(params.get("_meta") or {})}}

    return up


def _changed_request(up: Up, headers: Callable[[dict[str, Json]], Mapping[str, str]]) -> Around:
    """Return a filter that changes requests, and replaces headers by those of the new message."""

    async def around(sent: Sent, forward: Forward) -> Got:
        message = up(sent.message)
        told = {**sent.headers, **headers(message)}
        return await forward(replace(sent.saying(message), headers=told))

    return around


def _any_version() -> Around:
    """Return a filter that serves a request of any version as one of 2026-07-28."""
    return _changed_request(
        _stating(lambda meta: meta | {VERSION: LATEST} if VERSION in meta else meta),
        lambda _: {"mcp-protocol-version": LATEST},
    )


def _no_versions(message: dict[str, Json], _: dict[str, Json]) -> Json:
    """Return an error of an unknown version as one of invalid params, without data."""
    error = message.get("error") or {}
    if plain(error.get("code")) != -32022:  # noqa: PLR2004
        return message
    return message | {"error": without(error, "data") | {"code": Number("-32602")}}


def _echoed_versions() -> Around:
    """Return a filter that grants each handshake the version that it asks for."""

    def down(message: dict[str, Json], asked: dict[str, Json]) -> Json:
        version = (asked.get("params") or {}).get("protocolVersion")
        return answered("initialize", lambda result: result | {"protocolVersion": version})(
            message, asked
        )

    return by_message(down=down)


def _hinted(change: Callable[[dict[str, Json]], Json]) -> Down:
    """Return a filter that changes results that have hints for caches."""

    def down(message: dict[str, Json], _: dict[str, Json]) -> Json:
        result = message.get("result")
        if not isinstance(result, dict) or "ttlMs" not in result:
            return message
        return message | {"result": change(result)}

    return down


def _twice() -> Around:
    """Return a filter that makes each call twice, and gives the second answer."""

    async def around(sent: Sent, forward: Forward) -> Got:
        if sent.message.get("method") == "tools/call":
            await forward(sent)
        return await forward(sent)

    return around


def _remembering() -> Around:
    """Return a filter that completes what a request states by what the last one stated."""
    last: dict[str, Json] = {}

    def up(message: dict[str, Json]) -> Json:
        return _stating(lambda meta: last | meta)(message)

    async def around(sent: Sent, forward: Forward) -> Got:
        changed = sent.saying(up(sent.message))
        got = await forward(changed)
        if got.status == 200:  # noqa: PLR2004
            last.update(changed.message["params"]["_meta"])
        return got

    return around


def _assuming() -> Around:
    """Return a filter by which a client that states no capabilities has none."""
    return by_message(_stating(lambda meta: {CAPABILITIES: {}} | meta))


def _always_ok() -> Around:
    """Return a filter that answers everything with the status 200."""

    async def around(sent: Sent, forward: Forward) -> Got:
        return replace(await forward(sent), status=200)

    return around


def _coded(of: int, code: int, status: int) -> Around:
    """Return a filter that gives errors of one code another one, and another status."""

    async def around(sent: Sent, forward: Forward) -> Got:
        got = await forward(sent)
        error = got.message.get("error") or {}
        if plain(error.get("code")) != of:
            return got
        changed = error | {"code": Number(str(code))}
        return replace(got.saying(got.message | {"error": changed}), status=status)

    return around


def _fitting(message: dict[str, Json]) -> Mapping[str, str]:
    """Return headers that fit a call, by its body."""
    params = message.get("params") or {}
    if message.get("method") != "tools/call":
        return {}
    return {
        "mcp-method": "tools/call",
        "mcp-name": str(params.get("name")),
        "mcp-protocol-version": str((params.get("_meta") or {}).get(VERSION)),
    }


def _believing_bodies() -> Around:
    """Return a filter that does not look at headers: those of the body take their place."""
    return _changed_request(lambda message: message, _fitting)


def _believing_methods() -> Around:
    """Return a filter that does not look at the method in headers: the body's takes its place."""
    return _changed_request(
        lambda message: message, lambda message: {"mcp-method": str(message.get("method"))}
    )


def _believing_names() -> Around:
    """Return a filter that calls the tool that the header names, whatever the body says."""

    async def around(sent: Sent, forward: Forward) -> Got:
        message, name = sent.message, sent.headers.get("mcp-name")
        if message.get("method") == "tools/call" and name is not None:
            params = message["params"] | {"name": name}
            sent = sent.saying(message | {"params": params})
        return await forward(sent)

    return around


def _too_late() -> Around:
    """Return a filter that compares headers once a call is answered."""

    async def around(sent: Sent, forward: Forward) -> Got:
        fitting = _fitting(sent.message)
        await forward(replace(sent, headers={**sent.headers, **fitting}))
        return await forward(sent)

    return around


def _asking(request: dict[str, Json], *, capability: str = "") -> Around:
    """Return a filter that asks the client within its calls, if it has that capability."""

    async def around(sent: Sent, forward: Forward) -> Got:
        got = await forward(sent)
        message = sent.message
        stated = (message.get("params") or {}).get("_meta") or {}
        if message.get("method") != "tools/call" or got.status != 200:  # noqa: PLR2004
            return got
        if capability and capability not in stated.get(CAPABILITIES, {}):
            return got
        events = each(got.body) if got.events is None else got.events
        headers = {"content-type": "text/event-stream"}
        return Got(status=200, headers=headers, events=_after(write(request), events))

    return around


async def each(*events: bytes) -> AsyncIterator[bytes]:
    """Yield these messages."""
    for event in events:
        yield event


async def _after(first: bytes, events: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield a message, then those of a stream."""
    yield first
    async for event in events:
        yield event


def _shown_once_called() -> Around:
    """Return a filter that lists a tool no longer once it was called."""
    called = set[str]()

    def up(message: dict[str, Json]) -> Json:
        if message.get("method") == "tools/call":
            called.add(str(message["params"].get("name")))
        return message

    return by_message(up, listed(lambda tool: None if tool["name"] in called else tool))


def _numbered() -> Around:
    """Return a filter that says in each list how often tools were listed."""
    lists = [0]

    def up(message: dict[str, Json]) -> Json:
        lists[0] += message.get("method") == "tools/list"
        return message

    return by_message(up, listed(lambda tool: tool | {"description": f"List {lists[0]}."}))


def _widened(**more: Json) -> Up:
    """Return a filter by which each subscription asks for more."""

    def up(message: dict[str, Json]) -> Json:
        if message.get("method") != LISTEN:
            return message
        params = message["params"]
        return message | {"params": params | {"notifications": params["notifications"] | more}}

    return up


def _untagged(*methods: str) -> Down:
    """Return a filter by which notifications of these methods do not say their subscription."""

    def down(message: dict[str, Json], _: dict[str, Json]) -> Json:
        if message.get("method") not in methods:
            return message
        params = message["params"]
        return message | {"params": params | {"_meta": without(params["_meta"], SUBSCRIPTION)}}

    return down


def _late(kind: str) -> Around:
    """Return a filter by which calls go on without their client, and are told on its subscriptions.

    `kind` is the method of what is told, "" for answers.
    """
    listening: list[asyncio.Queue[bytes]] = []
    background = set[asyncio.Task[None]]()

    async def copied(events: AsyncIterator[bytes], to: asyncio.Queue[bytes | None]) -> None:
        async for event in events:
            to.put_nowait(event)
            if (kind or '"result"').encode() in event:
                for queue in listening:
                    queue.put_nowait(event)
        to.put_nowait(None)

    async def both(events: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        queue: asyncio.Queue[bytes] = asyncio.Queue()
        listening.append(queue)

        async def read() -> None:
            async for event in events:
                queue.put_nowait(event)

        background.add(asyncio.create_task(read()))
        while True:
            yield await queue.get()

    async def around(sent: Sent, forward: Forward) -> Got:
        method = sent.message.get("method")
        if method == LISTEN:
            got = await forward(sent)
            return got if got.events is None else replace(got, events=both(got.events))
        if method != "tools/call":
            return await forward(sent)
        got = await forward(replace(sent, deaf=True))
        to: asyncio.Queue[bytes | None] = asyncio.Queue()
        await copied(each(got.body) if got.events is None else got.events, to)
        if got.events is None:
            return got
        return replace(got, events=_drained(to))

    return around


async def _drained(queue: asyncio.Queue[bytes | None]) -> AsyncIterator[bytes]:
    """Yield what a queue has, up to None."""
    while (event := await queue.get()) is not None:
        yield event


def _missing_is_empty() -> Around:
    """Return a filter that reads a resource which does not exist as one without contents."""

    async def around(sent: Sent, forward: Forward) -> Got:
        got = await forward(sent)
        if sent.message.get("method") != "resources/read" or "error" not in got.message:
            return got
        result: dict[str, Any] = {
            "resultType": "complete", "contents": [], "ttlMs": Number("0"),
            "cacheScope": "private",
        }  # fmt: skip
        answer = without(got.message, "error") | {"result": result}
        return Got(status=200, headers=JSON, body=write(answer))

    return around


MUTANTS = (
    relay_mutant(
        "relay-lists-nothing-to-new-clients",
        "Tools are listed as none to clients of 2026-07-28.",
        "RLY.era.tools.not-empty",
        front=in_front(down=answered("tools/list", lambda result: result | {"tools": []})),
    ),
    relay_mutant(
        "relay-lists-tools-with-icons-alone",
        "Tools without icons are not listed to clients of 2026-07-28.",
        "RLY.era.tools.not-empty",
        front=in_front(down=listed(lambda tool: tool if "icons" in tool else None)),
    ),
    relay_mutant(
        "relay-serves-any-version",
        "A request of an unknown version is served.",
        "RLY.era.tools.version",
        front=in_front(make=_any_version),
    ),
    relay_mutant(
        "relay-does-not-say-its-versions",
        "An unknown version is refused like invalid params.",
        "RLY.era.tools.version",
        front=in_front(down=_no_versions),
    ),
    relay_mutant(
        "relay-grants-any-version",
        "A handshake is given the version that it asks for.",
        "RLY.era.tools.version",
        make=_echoed_versions,
    ),
    relay_mutant(
        "relay-loses-types-of-results",
        "Results of calls have no type.",
        "RLY.era.tools.result-type",
        front=in_front(down=returned(lambda result: without(result, "resultType"))),
    ),
    relay_mutant(
        "relay-has-a-type-of-its-own",
        "Lists have a type of the relay's own.",
        "RLY.era.tools.result-type",
        front=in_front(
            down=answered(
                "tools/list", lambda result: result | {"resultType": "relay.example/list"}
            )
        ),
    ),
    relay_mutant(
        "relay-loses-hints",
        "Results have no hints for caches.",
        "RLY.era.tools.hints",
        front=in_front(down=_hinted(lambda result: without(result, "ttlMs", "cacheScope"))),
    ),
    relay_mutant(
        "relay-has-negative-hints",
        "Results are to be kept for -1 ms.",
        "RLY.era.tools.hints",
        front=in_front(down=_hinted(lambda result: result | {"ttlMs": Number("-1")})),
    ),
    relay_mutant(
        "relay-has-doubles-for-new-clients",
        "Numbers in arguments of clients of 2026-07-28 go through a double.",
        "RLY.era.call.values",
        front=in_front(up=arguments(lambda given: mapped(given, _doubled))),
    ),
    relay_mutant(
        "relay-returns-doubles-to-new-clients",
        "Numbers in structured content for clients of 2026-07-28 go through a double.",
        "RLY.era.call.values",
        front=in_front(down=structured(lambda value: mapped(value, _doubled))),
    ),
    relay_mutant(
        "relay-calls-twice-for-new-clients",
        "A call by a client of 2026-07-28 is executed twice.",
        "RLY.era.call.values",
        front=in_front(make=_twice),
    ),
    relay_mutant(
        "relay-remembers-what-was-stated",
        "What a request does not state is taken from the one before it.",
        "RLY.era.call.stateless",
        front=in_front(make=_remembering),
    ),
    relay_mutant(
        "relay-assumes-capabilities",
        "A client that states no capabilities is served as one without any.",
        "RLY.era.call.stateless",
        "RLY.era.error.form",
        front=in_front(make=_assuming),
    ),
    relay_mutant(
        "relay-refuses-with-200",
        "Errors have the status 200.",
        "RLY.era.error.form",
        front=in_front(make=_always_ok),
    ),
    relay_mutant(
        "relay-does-not-name-unknown-methods",
        "An unknown method is an invalid request.",
        "RLY.era.error.form",
        front=in_front(make=lambda: _coded(-32601, -32600, 400)),
    ),
    relay_mutant(
        "relay-asks-for-elicitation-by-error",
        "An internal error of a call comes out with the withdrawn code of 2025-11-25.",
        "RLY.era.error.reserved",
        front=in_front(down=failed(lambda error: error | {"code": Number("-32042")})),
    ),
    relay_mutant(
        "relay-has-a-reserved-code",
        "Errors of calls have a code of the relay's own, which MCP reserves.",
        "RLY.era.error.reserved",
        front=in_front(down=failed(lambda error: error | {"code": Number("-32099")})),
    ),
    relay_mutant(
        "relay-believes-bodies",
        "Headers of calls are not looked at.",
        "RLY.era.headers.mismatch",
        "RLY.era.headers.before",
        front=in_front(make=_believing_bodies),
    ),
    relay_mutant(
        "relay-believes-names-in-headers",
        "A call is one of the tool that its header names.",
        "RLY.era.headers.mismatch",
        "RLY.era.headers.before",
        front=in_front(make=_believing_names),
    ),
    relay_mutant(
        "relay-believes-methods-in-bodies",
        "The header with the method is not looked at.",
        "RLY.era.headers.before",
        "RLY.era.headers.mismatch",
        front=in_front(make=_believing_methods),
    ),
    relay_mutant(
        "relay-looks-at-headers-too-late",
        "Headers of a call are compared once it is done.",
        "RLY.era.headers.before",
        front=in_front(make=_too_late),
    ),
    relay_mutant(
        "relay-pings-new-clients",
        "A client of 2026-07-28 is pinged while it calls.",
        "RLY.era.elicit.no-requests",
        front=in_front(make=lambda: _asking({"jsonrpc": "2.0", "id": "relay-1", "method": "ping"})),
    ),
    relay_mutant(
        "relay-asks-new-clients-for-roots",
        "A client of 2026-07-28 that has roots is asked for them by a request.",
        "RLY.era.elicit.no-requests",
        front=in_front(
            make=lambda: _asking(
                {"jsonrpc": "2.0", "id": "relay-1", "method": "roots/list"}, capability="roots"
            )
        ),
    ),
    relay_mutant(
        "relay-hides-called-tools",
        "A tool is not listed any more once it was called.",
        "RLY.era.tools.stable",
        front=in_front(make=_shown_once_called),
    ),
    relay_mutant(
        "relay-numbers-lists",
        "Descriptions of tools have the number of the list.",
        "RLY.era.tools.stable",
        front=in_front(make=_numbered),
    ),
    relay_mutant(
        "relay-tells-everybody-of-changed-tools",
        "A subscription to anything brings changes of the tools, too.",
        "RLY.era.tools.changed",
        front=in_front(up=_widened(toolsListChanged=True)),
    ),
    relay_mutant(
        "relay-does-not-tag-changes-of-tools",
        "A change of the tools does not have the id of its subscription.",
        "RLY.era.tools.changed",
        front=in_front(down=_untagged(LIST_CHANGED)),
    ),
    relay_mutant(
        "relay-has-one-filter",
        "A subscription to anything brings changes of every list.",
        "RLY.back.over-forward",
        front=in_front(up=_widened(promptsListChanged=True, resourcesListChanged=True)),
    ),
    relay_mutant(
        "relay-does-not-tag-news",
        "Changes of prompts and updates do not have the id of their subscription.",
        "RLY.back.over-forward",
        front=in_front(
            down=_untagged("notifications/prompts/list_changed", "notifications/resources/updated")
        ),
    ),
    relay_mutant(
        "relay-logs-unasked",
        "A request without a level gets every log message.",
        "RLY.back.log.unasked",
        front=in_front(up=_stating(lambda meta: {LEVEL: "debug"} | meta, "tools/call")),
    ),
    relay_mutant(
        "relay-lowers-levels",
        "A request that names a level gets every log message.",
        "RLY.back.log.unasked",
        front=in_front(
            up=_stating(
                lambda meta: meta | {LEVEL: "debug"} if LEVEL in meta else meta, "tools/call"
            )
        ),
    ),
    relay_mutant(
        "relay-tells-progress-after-a-cancellation",
        "Progress of a cancelled call goes to the client's subscriptions.",
        "RLY.back.cancel.silence",
        front=in_front(make=lambda: _late("notifications/progress")),
    ),
    relay_mutant(
        "relay-answers-after-a-cancellation",
        "The answer to a cancelled call goes to the client's subscriptions.",
        "RLY.back.cancel.silence",
        front=in_front(make=lambda: _late("")),
    ),
    relay_mutant(
        "relay-has-a-withdrawn-not-found",
        "A missing resource has the code of older revisions.",
        "RLY.features.resources.not-found",
        front=in_front(make=lambda: _coded(-32602, -32002, 200)),
    ),
    relay_mutant(
        "relay-reads-what-is-missing",
        "A missing resource is read as one without contents.",
        "RLY.features.resources.not-found",
        front=in_front(make=_missing_is_empty),
    ),
)
