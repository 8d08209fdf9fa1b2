"""Filter in front of a relay for clients of 2026-07-28: it changes requests and answers."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

from mcp_proxy_mutants.fidelity.changed import EVENTS, Around, Down, Got, Sent, Up, by_message
from mcp_relay_reference.front import Front, Receive, Send
from mcp_relay_reference.remote import Remote

Make = Callable[[], Around]
VERSION = "io.modelcontextprotocol/protocolVersion"


def in_front(
    up: Up | None = None, down: Down | None = None, make: Make | None = None
) -> Callable[[Remote], Front]:
    """Return a maker of the front of a relay with a filter before it for 2026-07-28.

    `up` and `down` filter messages; `make` makes a filter of whole exchanges, in their place.
    """
    return lambda remote: InFront(remote, by_message(up, down) if make is None else make())


class InFront(Front):
    """The front of a relay, with a filter before it for messages of 2026-07-28."""

    def __init__(self, remote: Remote, around: Around) -> None:
        """Keep the way to the upstream, and the filter."""
        super().__init__(remote)
        self._around = around

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer one HTTP request by the filter, if it is a POST of that era; else by the relay."""
        if scope["method"] != "POST":
            await super().__call__(scope, receive, send)
            return
        headers = {name.decode(): text.decode("latin-1") for name, text in scope["headers"]}
        body, more = b"", True
        while more:
            event = await receive()
            body += event.get("body", b"")
            more = event.get("more_body", False)
        sent = Sent(method="POST", headers=headers, session=None, body=body)
        if not _is_stateless(sent):
            await super().__call__(scope, _again(body, receive), send)
            return
        relay = super().__call__
        tasks = set[asyncio.Task[None]]()

        async def forward(changed: Sent) -> Got:
            came = asyncio.Queue[dict[str, Any]]()
            given = {**scope, "headers": [
                (name.encode(), text.encode("latin-1")) for name, text in changed.headers.items()
            ]}  # fmt: skip
            hears = _never if changed.deaf else receive
            work = relay(given, _again(changed.body, hears), came.put)
            tasks.add(asyncio.create_task(_ended(work, came)))
            start = await came.get()
            if "status" not in start:
                return Got(status=499, headers={})  # the client has gone
            told = {name.decode(): text.decode("latin-1") for name, text in start["headers"]}
            if EVENTS in told.get("content-type", ""):
                return Got(status=start["status"], headers=told, events=_messages(came))
            whole = b"".join([part async for part in _parts(came)])
            return Got(status=start["status"], headers=told, body=whole)

        try:
            await _answer(send, await self._around(sent, forward))
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def _ended(work: Awaitable[None], came: asyncio.Queue[dict[str, Any]]) -> None:
    """Await the work of a relay; put the end of a body after what it has sent."""
    try:
        await work
    finally:
        came.put_nowait({"type": "http.response.body"})


async def _never() -> Mapping[str, Any]:
    """Wait forever, as for a client that does not go."""
    await asyncio.Event().wait()
    return {}


def _is_stateless(sent: Sent) -> bool:
    """Whether a message is one of 2026-07-28, by its header or what it states."""
    params = sent.message.get("params")
    stated = (params.get("_meta") or {}) if isinstance(params, dict) else {}
    return VERSION in stated or sent.headers.get("mcp-protocol-version", "") > "2026"


def _again(body: bytes, receive: Receive) -> Receive:
    """Return a reader that begins with a whole body, and goes on as `receive`."""
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def read() -> Mapping[str, Any]:
        return waiting.pop() if waiting else await receive()

    return read


async def _parts(came: asyncio.Queue[dict[str, Any]]) -> AsyncIterator[bytes]:
    """Yield the parts of a body up to its end."""
    more = True
    while more:
        event = await came.get()
        more = event.get("more_body", False)
        yield event.get("body", b"")


async def _messages(came: asyncio.Queue[dict[str, Any]]) -> AsyncIterator[bytes]:
    """Yield the data of each event of a body."""
    waiting = b""
    async for part in _parts(came):
        waiting += part
        while b"\n\n" in waiting:
            block, waiting = waiting.split(b"\n\n", 1)
            lines = [line[5:].strip() for line in block.split(b"\n") if line.startswith(b"data:")]
            if any(lines):
                yield b"\n".join(lines)


async def _answer(send: Send, got: Got) -> None:
    """Send an answer: a whole body, or each message as an event while it comes."""
    left_out = ("content-length",)
    head = [
        (name.encode(), text.encode("latin-1"))
        for name, text in got.headers.items()
        if name not in left_out
    ]
    await send({"type": "http.response.start", "status": got.status, "headers": head})
    if got.events is not None:
        async for event in got.events:
            body = b"event: message\ndata: " + event + b"\n\n"
            await send({"type": "http.response.body", "body": body, "more_body": True})
    await send({"type": "http.response.body", "body": got.body, "more_body": False})
