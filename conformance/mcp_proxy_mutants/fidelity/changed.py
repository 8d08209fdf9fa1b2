"""`ChangedRemote`, a relay's connection to its upstream with a filter of requests and answers."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Self

import httpx2

from mcp_proxy_mutants.fidelity import json_text
from mcp_proxy_mutants.fidelity.json_text import Json
from mcp_relay_reference.message import header
from mcp_relay_reference.remote import Remote, Reply, Unreachable

EVENTS = "text/event-stream"
JSON = {"content-type": "application/json"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Body:
    """The body of an HTTP request or answer."""

    body: bytes = b""

    @property
    def message(self) -> dict[str, Json]:
        """The JSON object in it, empty if there is none; numbers are kept as they were spelled."""
        try:
            value = json_text.read(self.body)
        except (ValueError, RecursionError):
            return {}
        return value if isinstance(value, dict) else {}

    def saying(self, message: Json) -> Self:
        """Return a copy whose body is this message."""
        return replace(self, body=json_text.write(message))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent(_Body):
    """An HTTP request on its way up: the client's headers, the upstream's session, the body.

    `own` are the headers, credentials among them, that the relay adds. `extra` are headers that the
    upstream gets beside those that it should, `query` is put after the upstream's URL. `deaf` is,
    in front of a relay, whether that is kept from noticing that the client has gone.
    """

    method: str
    headers: Mapping[str, str]
    session: str | None
    own: Mapping[str, str] = field(default_factory=dict)
    extra: Mapping[str, str] = field(default_factory=dict)
    query: str = ""
    deaf: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Got(_Body):
    """An HTTP answer on its way down; `events` are the messages of a stream, as they come."""

    status: int
    headers: Mapping[str, str]
    session: str | None = None
    events: AsyncIterator[bytes] | None = None


Forward = Callable[[Sent], Awaitable[Got]]
Around = Callable[[Sent, Forward], Awaitable[Got]]
"""A filter of whole exchanges; it may forward a request never, once or more often."""
Up = Callable[[dict[str, Json]], Json]
"""A filter of a client's messages; what it returns is sent in their place."""
Down = Callable[[dict[str, Json], dict[str, Json]], Json]
"""A filter of the upstream's messages; it gets the message and the request that is answered. None
leaves the message out of a stream."""


class ChangedRemote(Remote):
    """An upstream over HTTP, with a filter between it and the relay."""

    def __init__(self, url: str, headers: Mapping[str, str], around: Around) -> None:
        """Keep the upstream's URL, the relay's own headers and the filter; send nothing yet."""
        super().__init__(url, headers)
        self._plain = url, headers
        self._around = around

    @asynccontextmanager
    async def exchange(
        self, method: str, headers: Mapping[str, str], session: str | None, body: bytes
    ) -> AsyncIterator[Reply]:
        """Send a client's request through the filter; yield what comes out of it as the answer.

        Raises Unreachable if the filter does, such as when a forwarded request gets no whole
        answer.
        """
        async with AsyncExitStack() as stack:

            async def forward(sent: Sent) -> Got:
                url, own = self._plain
                query = f"{'&' if '?' in url else '?'}{sent.query}" if sent.query else ""
                remote = Remote(url + query, {**own, **sent.extra})
                stack.push_async_callback(remote.close)
                asked = remote.exchange(sent.method, sent.headers, sent.session, sent.body)
                reply = await stack.enter_async_context(asked)
                if EVENTS in reply.headers.get("content-type", ""):
                    return Got(
                        status=reply.status, headers=reply.headers, session=reply.session,
                        events=_events(reply.body),
                    )  # fmt: skip
                try:
                    whole = b"".join([part async for part in reply.body])
                except httpx2.HTTPError:
                    raise Unreachable("The upstream server broke off.") from None
                return Got(
                    status=reply.status, headers=reply.headers, session=reply.session, body=whole
                )

            sent = Sent(
                method=method, headers=headers, session=session, body=body, own=self._plain[1]
            )
            got = await self._around(sent, forward)
            parts = _one(got.body) if got.events is None else _framed(got.events)
            yield Reply(got.status, dict(got.headers), got.session, parts)


def by_message(up: Up | None = None, down: Down | None = None) -> Around:
    """Return a filter that changes messages on their way `up` and `down`, and forwards each once.

    A message that comes out equal keeps its bytes. None changes nothing in that direction. Headers
    of 2026-07-28 are made to fit a changed request.
    """

    async def around(sent: Sent, forward: Forward) -> Got:
        asked = sent.message
        if up is not None and asked:
            changed = up(asked)
            sent = sent if _same(changed, asked) else fitting(sent.saying(changed))
        got = await forward(sent)
        if down is None:
            return got
        if got.events is not None:
            return replace(got, events=changed_events(got.events, down, asked))
        if not got.message:
            return got
        answer = down(got.message, asked)
        return got if _same(answer, got.message) else got.saying(answer)

    return around


def fitting(sent: Sent) -> Sent:
    """Return a request whose header `Mcp-Name`, if there is one, names what its message does."""
    params = sent.message.get("params")
    name = (params.get("name") or params.get("uri")) if isinstance(params, dict) else None
    if "mcp-name" not in sent.headers or not isinstance(name, str):
        return sent
    return replace(sent, headers={**sent.headers, "mcp-name": header(name)})


async def changed_events(
    events: AsyncIterator[bytes], down: Down, asked: dict[str, Any]
) -> AsyncIterator[bytes]:
    """Yield the messages of a stream, changed by `down`, without those for which it returns None.

    `asked` is the request that the stream answers, {} for a listening client's.
    """
    async for event in events:
        message = json_text.read(event)
        changed = down(message, asked)
        if changed is not None:
            yield event if _same(changed, message) else json_text.write(changed)


def _same(one: Json, other: Json) -> bool:
    """Whether two messages are written alike; numbers of another spelling, or as texts, are not."""
    return json_text.write(one) == json_text.write(other)


async def _events(body: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the data of each event of a stream, its lines joined; leave events without data out."""
    waiting = b""
    async for part in body:
        waiting = (waiting + part).replace(b"\r\n", b"\n")
        while b"\n\n" in waiting:
            block, waiting = waiting.split(b"\n\n", 1)
            lines = [line[5:].strip() for line in block.split(b"\n") if line.startswith(b"data:")]
            if any(lines):
                yield b"\n".join(lines)


async def _framed(events: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the bytes of an event stream of these messages, begun by an empty comment."""
    yield b": \n\n"
    async for event in events:
        yield b"event: message\ndata: " + event + b"\n\n"


async def _one(body: bytes) -> AsyncIterator[bytes]:
    """Yield a body as its only part."""
    await asyncio.sleep(0)
    yield body
