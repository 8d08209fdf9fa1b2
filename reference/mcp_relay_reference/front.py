"""HTTP front of the relay: it passes requests to the upstream, translated if revisions differ."""

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx2

from mcp_relay_reference import eras, handshake, message, stateless
from mcp_relay_reference.child import Child, Stream
from mcp_relay_reference.message import BadMessage, Message
from mcp_relay_reference.remote import SESSION, Remote, Unreachable

Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
LOOPBACK = {"localhost", "127.0.0.1", "::1"}
EVENTS = "text/event-stream"
EVENT_STREAM = {"content-type": EVENTS, "cache-control": "no-cache"}
KEPT_S = 15.0
NO_SESSION = 404


class Refused(Exception):
    """The relay's own refusal of an HTTP request: status and sentence."""

    def __init__(self, status: int, text: str) -> None:
        """Keep the status; the text is the exception's."""
        super().__init__(text)
        self.status = status


class Request(NamedTuple):
    """An HTTP request, whole; header names are lower case."""

    method: str
    headers: Mapping[str, str]
    body: bytes


class Front:
    """ASGI application; what the upstream is, a program or a URL, decides how it relays."""

    def __init__(self, upstream: Sequence[str] | Remote) -> None:
        """Keep the upstream: the words of a command line, or a Remote; nothing is started yet."""
        self._upstream = upstream
        self._children: dict[str, Child | stateless.Bridge] = {}
        self._remote_ids: dict[str, str] = {}
        self._translated = handshake.Translated(upstream)
        self._stateless = stateless.upstream_of(upstream)
        self._versions: Sequence[str] | None = None
        self._probing = asyncio.Lock()

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        """Relay one HTTP request of ASGI; an error of the relay itself is answered in JSON-RPC.

        Its status is 400 for a body that is not a message, 502 for an upstream out of reach, else
        that of the refusal.
        """
        own_id = None
        try:
            request = await _whole(scope, receive)
            sent = message.read(request.body) if request.method == "POST" else None
            own_id = sent.id if sent is not None and sent.is_request else None
            if sent is not None and eras.is_stateless(request.headers, sent):
                await self._without_handshake(request, sent, receive, send)
            elif isinstance(self._upstream, Remote) and await self._has_handshakes():
                await self._by_http(self._upstream, request, receive, send)
            else:
                await self._by_child(request, sent, receive, send)
        except BadMessage as error:
            await _reply(send, 400, message.failure(None, message.PARSE, str(error)))
        except Refused as error:
            await _reply(send, error.status, message.failure(own_id, message.INVALID, str(error)))
        except Unreachable as error:
            await _reply(send, 502, message.failure(own_id, message.LOST, str(error)))

    async def close(self) -> None:
        """End every session with its process, and the connections to an upstream over HTTP."""
        await self._translated.close()
        await self._stateless.close()
        await asyncio.gather(*(child.close() for child in self._children.values()))
        if isinstance(self._upstream, Remote):
            await self._upstream.close()

    async def _without_handshake(
        self, request: Request, sent: Message, receive: Receive, send: Send
    ) -> None:
        """Answer a message of 2026-07-28: by one JSON object, or by a stream if more comes first.

        A client that goes has cancelled its request. Notifications are taken and dropped.
        """
        if not sent.is_request:
            await _reply(send, 202, b"")
            return
        if (refusal := eras.refusal(request.headers, sent)) is not None:
            body = message.failure(sent.id, refusal.code, refusal.text, refusal.data)
            await _reply(send, refusal.status, body)
            return
        is_stateless = eras.STATELESS in await self._served()
        if isinstance(self._upstream, Remote) and is_stateless:
            gone = asyncio.create_task(_disconnected(receive))
            await _until(gone, _handed_on(self._upstream, request, send))
            return

        stream = Stream()
        asked = self._stateless.ask(sent) if is_stateless else self._translated.asked(sent)

        async def ask() -> None:
            """Put what comes for the request on the stream."""
            try:
                async with contextlib.aclosing(asked) as answers:
                    async for came in answers:
                        stream.put_nowait(came)
            finally:
                stream.put_nowait(None)

        async def relay() -> None:
            """Send what is on the stream."""
            asking = asyncio.create_task(ask())
            try:
                first = await stream.get()
                if first is not None and first.method is None:
                    await _reply(send, eras.status_of(first), first.line)
                else:
                    await _begin(send, 200, EVENT_STREAM)
                    await _send_events(send, stream, first)
            finally:
                asking.cancel()
                await asyncio.gather(asking, return_exceptions=True)

        await _until(asyncio.create_task(_disconnected(receive)), relay())

    async def _has_handshakes(self) -> bool:
        """Whether the upstream serves a version with a handshake; True if it names no versions."""
        versions = await self._served()
        return not versions or any(version in eras.HANDSHAKE for version in versions)

    async def _served(self) -> Sequence[str]:
        """Return the versions that the upstream names, asked for once; none if it is older.

        Raises Unreachable as long as it does not answer.
        """
        async with self._probing:
            if self._versions is None:
                self._versions = await stateless.versions_of(self._stateless)
                if not self._versions:
                    await self._stateless.close()
        return self._versions

    async def _by_http(
        self, upstream: Remote, request: Request, receive: Receive, send: Send
    ) -> None:
        """Send a request on to an upstream over HTTP, and its answer back as it comes.

        A client gets a session id of the relay's own in the place of the upstream's. Refused for an
        unknown one, Unreachable without an answer; if the client goes or the upstream breaks off,
        the response just ends.
        """
        own = request.headers.get(SESSION)
        if own is not None and own not in self._remote_ids:
            raise Refused(404, "There is no such session.")
        theirs = self._remote_ids.get(own or "")
        asked = upstream.exchange(request.method, request.headers, theirs, request.body)
        async with asked as reply:
            headers = dict(reply.headers)
            if reply.session is not None:
                name = own if reply.session == theirs and own else secrets.token_hex(16)
                self._remote_ids[name] = reply.session
                headers[SESSION] = name
            if own is not None and (request.method == "DELETE" or reply.status == NO_SESSION):
                self._remote_ids.pop(own, None)
            await _begin(send, reply.status, headers)
            gone = asyncio.create_task(_disconnected(receive))
            with contextlib.suppress(httpx2.HTTPError):  # the upstream broke off: so does this
                await _until(gone, _pass_on(send, reply.body))

    async def _by_child(
        self, request: Request, sent: Message | None, receive: Receive, send: Send
    ) -> None:
        """Hand a message to the process of its session, and send back what comes for it.

        `sent` is the message of a POST: `initialize` starts a process. GET listens, DELETE ends the
        session. Refused for an unknown session or a GET without events, Unreachable without a
        process.
        """
        if sent is not None and sent.method == "initialize":
            name, child = await self._open()
        else:
            name = request.headers.get(SESSION, "")
            child = self._child(name)
        if request.method == "DELETE":
            del self._children[name]
            await child.close()
            await _reply(send, 204, b"")
        elif request.method == "GET":
            if EVENTS not in request.headers.get("accept", ""):
                raise Refused(406, "A listening client must accept text/event-stream.")
            stream = child.listen()
            try:
                await _events(send, receive, stream, {SESSION: name})
            finally:
                child.unlisten(stream)
        else:
            assert sent is not None
            answers = await child.send(sent)
            if answers is None:
                await _reply(send, 202, b"", {SESSION: name})
            elif EVENTS in request.headers.get("accept", ""):
                await _events(send, receive, answers, {SESSION: name})
            else:
                await _reply(send, 200, await _last(answers), {SESSION: name})

    async def _open(self) -> tuple[str, Child | stateless.Bridge]:
        """Open a new session; return (its id, the process that the upstream's program runs in).

        For an upstream without a handshake, it is a Bridge instead of a process. Raises Unreachable
        if the program cannot be started or the upstream does not answer.
        """
        child: Child | stateless.Bridge
        if not await self._has_handshakes():
            child = stateless.Bridge(stateless.upstream_of(self._upstream))
        else:
            assert not isinstance(self._upstream, Remote)
            child = await Child.start(self._upstream)
        name = secrets.token_hex(16)
        self._children[name] = child
        return name, child

    def _child(self, name: str) -> Child | stateless.Bridge:
        """Return the process of a session; Refused if there is none, or it has ended."""
        child = self._children.get(name)
        if child is None or child.is_over:
            self._children.pop(name, None)
            raise Refused(404 if name else 400, "There is no such session.")
        return child


def _host(origin: str) -> str | None:
    """Return the host of an origin; None without one, or if it is malformed."""
    try:
        return urlsplit(origin).hostname
    except ValueError:
        return None


async def _whole(scope: Mapping[str, Any], receive: Receive) -> Request:
    """Read a whole HTTP request; Refused unless it is a POST, GET or DELETE of /mcp.

    Refused are also an origin off this machine, a body over 16 MiB, and a client that goes early.
    """
    headers = {name.decode("latin-1"): text.decode("latin-1") for name, text in scope["headers"]}
    origin = headers.get("origin")
    if origin is not None and _host(origin) not in LOOPBACK:
        raise Refused(403, "This origin is not allowed.")
    if scope["path"] != "/mcp":
        raise Refused(404, "The endpoint is /mcp.")
    if scope["method"] not in ("POST", "GET", "DELETE"):
        raise Refused(405, "POST, GET and DELETE are understood.")
    body, more = b"", True
    while more:
        event = await receive()
        if event["type"] == "http.disconnect":
            raise Refused(400, "The request ended early.")
        body += event.get("body", b"")
        more = event.get("more_body", False)
        if len(body) > message.MOST_BYTES:
            raise Refused(413, "The message is too long.")
    return Request(scope["method"], headers, body)


async def _events(send: Send, receive: Receive, stream: Stream, headers: Mapping[str, str]) -> None:
    """Send each message of a stream as an event, until the stream ends or the client is gone.

    `headers` are further headers of the response.
    """
    await _begin(send, 200, {**EVENT_STREAM, **headers})
    await _until(asyncio.create_task(_disconnected(receive)), _send_events(send, stream))


async def _send_events(send: Send, stream: Stream, first: Message | None = None) -> None:
    """Send `first`, if any, and each message of a stream as an event, until the stream ends.

    After 15 s without one a comment is sent, which keeps the connection open.
    """
    came = first
    while True:
        if came is not None:
            await _more(send, b"event: message\ndata: " + came.line.strip() + b"\n\n")
        try:
            came = await asyncio.wait_for(stream.get(), KEPT_S)
        except TimeoutError:
            came = None
            await _more(send, b": \n\n")
            continue
        if came is None:
            break
    await _more(send, b"", last=True)


async def _last(stream: Stream) -> bytes:
    """Wait for the end of a request's stream; return the bytes of its last message, the answer.

    Messages before it are dropped; b"" if there is none.
    """
    line = b""
    while (came := await stream.get()) is not None:
        line = came.line
    return line


async def _until(gone: asyncio.Task[None], work: Coroutine[Any, Any, None]) -> None:
    """Await the work until it is done or the client is gone; then cancel what is left of both.

    An error of the work is raised.
    """
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait([gone, task], return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            task.result()
    finally:
        for each in (gone, task):
            each.cancel()
        await asyncio.gather(gone, task, return_exceptions=True)


async def _disconnected(receive: Receive) -> None:
    """Wait until the client is gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _pass_on(send: Send, body: AsyncIterator[bytes]) -> None:
    """Send the parts of a body as they come, then its end."""
    async for part in body:
        await _more(send, part)
    await _more(send, b"", last=True)


async def _handed_on(upstream: Remote, request: Request, send: Send) -> None:
    """Send a request of 2026-07-28 on to an upstream of that revision, and its answer back."""
    async with upstream.exchange("POST", request.headers, None, request.body) as reply:
        await _begin(send, reply.status, reply.headers)
        with contextlib.suppress(httpx2.HTTPError):  # the upstream broke off: so does this
            await _pass_on(send, reply.body)


async def _begin(send: Send, status: int, headers: Mapping[str, str]) -> None:
    """Send the status and the headers of an answer; its body is to follow."""
    head = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": head})


async def _more(send: Send, part: bytes, *, last: bool = False) -> None:
    """Send a part of an answer's body; with `last` the answer ends."""
    await send({"type": "http.response.body", "body": part, "more_body": not last})


async def _reply(send: Send, status: int, body: bytes, headers: Mapping[str, str] = {}) -> None:
    """Send a whole answer with its length, as JSON if it has a body."""
    kind = {"content-type": "application/json"} if body else {}
    await _begin(send, status, {**kind, "content-length": str(len(body)), **headers})
    await _more(send, body, last=True)
