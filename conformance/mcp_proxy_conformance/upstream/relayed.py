"""Scripted MCP server behind the relay under test, with sessions: answers from data, journal."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import itertools
import json
import secrets
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from mcp_proxy_conformance.upstream.http import (
    MOST_BODY,
    Listener,
    read_request,
    render_response,
)
from mcp_proxy_conformance.upstream.journal import Arrival, Journal
from mcp_proxy_conformance.upstream.script import shim
from mcp_proxy_conformance.upstream.stdio import TELLS
from mcp_proxy_conformance.upstream.talk import EventStream, Talk
from mcp_proxy_conformance.upstream.tasks import Tasks
from mcp_proxy_conformance.wire import revisions
from mcp_proxy_conformance.wire.jsonrpc import decoded, dumps, object_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from mcp_proxy_conformance.upstream.authority import Authority
    from mcp_proxy_conformance.upstream.http import HttpRequest
    from mcp_proxy_conformance.upstream.talk import Send
    from mcp_proxy_conformance.verdict.cited import Direction, Headers
    from mcp_proxy_conformance.wire.transcript import Transcript

PATH = "/mcp"
SESSION_ID = "Mcp-Session-Id"
JSON = ("Content-Type", "application/json")
PARSE_ERROR, INVALID_REQUEST, INTERNAL_ERROR = -32700, -32600, -32603
Era = Literal["handshake", "stateless"]
"""Until 2025-11-25, with a handshake, or since 2026-07-28, without one."""
COUNT, ORIGIN = b"$count", b"$origin"
"""Placeholders in results for a number that is given once, and in tools for the server's origin."""
Act = Literal["answer", "drop", "hang"]
"""What happens once a call is executed: it is answered, its connection is cut, or neither."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer to a request, as JSON text: a `result` or an `error` object, after `delay_s`.

    With `together`, it is given as soon as that many requests wait for such an answer.
    `before` are messages of the server's own on the way to it, as `Talk.say` sends them. The
    placeholder COUNT in a result becomes a number that the server gives once. `needs` is the
    capability that a client of 2026-07-28 has to declare for it, if any.
    """

    result: bytes = b""
    error: bytes = b""
    act: Act = "answer"
    delay_s: float = 0.0
    together: int = 0
    before: tuple[bytes, ...] = ()
    needs: str = ""

    @property
    def member(self) -> bytes:
        """The member `result` or `error` of the JSON-RPC answer, as JSON text."""
        return b'"error":' + self.error if self.error else b'"result":' + self.result


OK = Answer(result=b'{"content":[{"type":"text","text":"ok"}]}')
SESSION, CLIENT = b"$session", b"$client"
"""Placeholders in results for digests: of the session and, over HTTP, of the Authorization."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page of a listing: the entries, each as JSON text, and the cursor of the next page."""

    entries: tuple[bytes, ...]
    following: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Relayed:
    """The data that a server answers by.

    `pages` are the pages of its tools by cursor, None for the first. A call is answered by the
    value of its argument `case` in `answers`, else by its tool's name there, else with `OK`.
    `others` answers other requests, by method and what `subject` says they are about, else by the
    method alone. `capabilities` and `instructions` are those of its handshake; one that `listens`
    has streams at GET. `second` is the data of another server, behind the same relay.
    """

    pages: Mapping[str | None, Page]
    answers: Mapping[str, Answer] = field(default_factory=dict)
    others: Mapping[str, Answer] = field(default_factory=dict)
    listens: bool = False
    capabilities: bytes = b'{"tools":{}}'
    instructions: str = ""
    era: Era = "handshake"
    second: Relayed | None = None

    def having(self, names: Collection[str]) -> Relayed:
        """Return the data with a tool of each name, on the first page unless it has one."""
        entries = [
            dumps({"name": name, "inputSchema": {"type": "object"}})
            for name in names
            if name not in self.names
        ]
        first = replace(self.pages[None], entries=(*self.pages[None].entries, *entries))
        return replace(self, pages={**self.pages, None: first})

    @property
    def entries(self) -> tuple[bytes, ...]:
        """The entries of all pages, in order, as JSON text."""
        return tuple(entry for page in self.pages.values() for entry in page.entries)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all tools, in the order of their listing."""
        return tuple(json.loads(entry)["name"] for entry in self.entries)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusing:
    """An HTTP response that is sent in place of every answer; `location` is that of a redirect."""

    status: int
    body: bytes = b""
    media_type: str = "application/json"
    location: str = ""


class Refusal(Exception):
    """A JSON-RPC error of the server itself."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        """Keep code and data; the message is the exception's."""
        super().__init__(message)
        self.code, self.data = code, data


class Dropped(Exception):
    """The connection is to be cut without an answer."""


class RelayedServer:
    """One server of the handshake era, strict about sessions; it answers once it is in a hub.

    Attributes:
        journal: Every message that arrived.
        pages: The pages of its tools by cursor; a caller may change them.
        answers: The answers by case or tool; a caller may add to them.
        refusing: The HTTP response that every request gets instead, if any.
        authority: The authorization server whose tokens it asks for, if any.
        broken_cursors: Cursors whose page is answered by an internal error.
        talk: What it says of its own accord.
        environments: Those of its programs over stdio, as text.
    """

    _has_sessions = True

    def __init__(self, name: str, given: Relayed) -> None:
        """Make a server of this data, which listens nowhere yet."""
        self.name = name
        self.given = given
        self.journal = Journal()
        self.talk = Talk()
        self.pages = dict(given.pages)
        self.answers = dict(given.answers)
        self.refusing: Refusing | None = None
        self.authority: Authority | None = None
        self.broken_cursors: Collection[str] = ()
        self.environments: list[str] = []
        self._tasks = Tasks()
        self._sessions: set[str] = set()
        self.issued: set[str] = set()
        self._connections = 0
        self._counts = itertools.count(1)
        self._waiting: list[asyncio.Event] = []
        self._transcript: Transcript | None = None
        self._host = ""
        self._http = Listener(self._serve_http)
        self._lines = Listener(self._serve_lines, MOST_BODY)

    @property
    def url(self) -> str:
        """The URL of its streamable HTTP, once it is in a hub."""
        return f"http://{self._host}:{self._http.port}{PATH}"

    @property
    def command(self) -> list[str]:
        """The command line that reaches it over stdio, once it is in a hub."""
        return [*shim(self._lines.port), TELLS]

    async def open(self, transcript: Transcript, host: str, advertised_host: str) -> None:
        """Listen for HTTP on `host` and for stdio sessions on loopback; called on the hub's loop.

        A server that was closed listens at the same ports again. `advertised_host` is the host in
        its URL; its messages are recorded in the transcript.
        """
        self._transcript, self._host = transcript, advertised_host
        await self._http.open(host, self._http.port)
        await self._lines.open("127.0.0.1", self._lines.port)

    async def close(self) -> None:
        """Stop listening and end every connection; called on the hub's loop."""
        await self._http.close()
        await self._lines.close()

    def restore(self) -> None:
        """Answer by the data given again: undo changes of pages and answers, refuse nothing.

        No authority and no broken cursors remain; sessions and the journal stay.
        """
        self.pages, self.answers = dict(self.given.pages), dict(self.given.answers)
        self.refusing, self.authority, self.broken_cursors = None, None, ()

    def forget_sessions(self) -> None:
        """Lose every session of HTTP, as a restarted server does; requests in them get 404."""
        self._sessions.clear()

    async def _serve_http(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection until one asks to close it, or is dropped."""
        with contextlib.suppress(Dropped):
            keeps = True
            while keeps:
                request = await read_request(reader)
                line = f"{request.method} {request.path}"
                events = EventStream(writer, partial(self._record, "sent", note=f"{line} event"))
                status, body, headers = await self._respond(request, events, reader)
                if events.begun:
                    await events.send(body)
                    await events.end()
                    continue
                self._record("sent", body, f"{line} {status}", headers)
                writer.write(render_response(status, body, headers))
                await writer.drain()
                keeps = request.keeps

    async def _respond(
        self, request: HttpRequest, events: EventStream, reader: asyncio.StreamReader
    ) -> tuple[int, bytes, Headers]:
        """Return (status, body, headers) of the answer to one HTTP request, which is journaled.

        If `events` has begun meanwhile, the body is its last event. A GET, if allowed, opens a
        stream for the session until the client closes; then Dropped is raised. DELETE ends the
        session, `initialize` begins one; a message that gets no answer has status 202, text that is
        not JSON 400.
        """
        line = f"{request.method} {request.path}"
        session = request.header(SESSION_ID.lower()) or ""
        message = decoded(request.body)
        method = method_of(message)
        refused = self._refused(request, session, message)
        self._record("received", request.body, f"{line} {method}".rstrip(), request.headers)
        self.journal.add(
            Arrival(
                session=session, method=method or request.method, raw=request.body,
                headers=request.headers, line=line, taken=refused is None,
            )
        )  # fmt: skip
        if refused is not None:
            return refused
        if request.method == "DELETE":
            self._sessions.discard(session)
            return 200, b"", ()
        if request.method == "GET":
            await events.begin()
            self.talk.listen(session, events.send)
            try:
                await reader.read(1)
            finally:
                self.talk.unlisten(session, events.send)
            raise Dropped
        self.talk.take(session, message)
        body = await self._answered(message, session, events.send)
        body = body.replace(CLIENT, digest(request.header("authorization") or ""))
        if not body:
            return 202, b"", ()
        headers: Headers = (JSON,)
        if method == "initialize":
            session = secrets.token_hex(16)
            self._sessions.add(session)
            self.issued.add(session)
            self._declare(session, message)
            headers = (*headers, (SESSION_ID, session))
        return (400 if message is None else 200), body, headers

    def _refused(
        self, request: HttpRequest, session: str, message: Any
    ) -> tuple[int, bytes, Headers] | None:
        """Return (status, body, headers) that refuse an HTTP request; None if it is to be answered.

        It is refused if `refusing` is set, by the `authority`, for its path or HTTP method, and for
        a missing or unknown session unless `message`, its decoded body, is an `initialize`.
        """
        if (order := self.refusing) is not None:
            moved = (("Location", order.location),) if order.location else ()
            return order.status, order.body, (("Content-Type", order.media_type), *moved)
        if self.authority is not None and (answer := self.authority.answer(request)) is not None:
            return answer
        if request.path.partition("?")[0] != PATH:
            return 404, b"", ()
        allowed = ("POST", "DELETE", "GET") if self.given.listens else ("POST", "DELETE")
        if request.method not in allowed:
            return 405, b"", (("Allow", ", ".join(allowed)),)
        if method_of(message) == "initialize" or session in self._sessions:
            return None
        text = "Session not found" if session else "No valid session ID"
        body = refused_answer(None, Refusal(INVALID_REQUEST, text))
        return (404 if session else 400), body, (JSON,)

    async def _serve_lines(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Answer the lines of one stdio session until it ends, several at a time.

        A line with the environment of its process is kept in `environments`; blank lines are
        skipped.
        """
        self._connections += 1
        session, tasks = f"stdio-{self._connections}", set[asyncio.Task[None]]()

        async def send(raw: bytes) -> None:
            """Send a message to the session's client as one line, and record it."""
            self._record("sent", raw, "stdio")
            writer.write(raw + b"\n")
            await writer.drain()

        if self._has_sessions:
            self.talk.listen(session, send)
        try:
            while line := await reader.readline():
                if line.startswith(TELLS.encode()):
                    self.environments.append(line.decode(errors="replace"))
                    continue
                if not line.strip():
                    continue
                line, message = line.rstrip(b"\r\n"), decoded(line)
                method = method_of(message)
                self._record("received", line, f"stdio {method}".rstrip())
                self.journal.add(Arrival(session=session, method=method, raw=line))
                self._declare(session, message)
                self.talk.take(session, message)
                task = asyncio.create_task(self._answer_line(message, session, writer, send))
                tasks.add(task)
                task.add_done_callback(tasks.discard)
        finally:
            self.talk.unlisten(session, send)
            for task in tasks:
                task.cancel()

    async def _answer_line(
        self, message: Any, session: str, writer: asyncio.StreamWriter, send: Send
    ) -> None:
        """Write the answer to one message of a stdio session, if one is due.

        The connection is cut instead if the answer's act is `drop`.
        """
        try:
            body = await self._answered(message, session, send)
        except Dropped:
            writer.transport.abort()
            return
        if body:
            await send(body)

    def _declare(self, session: str, message: Any) -> None:
        """Store the capabilities that an `initialize` message declares; ignore other messages."""
        if method_of(message) == "initialize" and isinstance(params := message.get("params"), dict):
            self.talk.declared[session] = object_of(params.get("capabilities"))

    async def _answered(self, message: Any, session: str, send: Send) -> bytes:
        """Return the JSON-RPC answer to a message; b"" for a notification or an answer.

        The placeholder SESSION in it becomes a digest of the session's id. Text that is not a JSON
        object gets an error. Dropped if the connection is to be cut; it never returns for an answer
        that hangs.
        """
        if not isinstance(message, dict):
            code = PARSE_ERROR if message is None else INVALID_REQUEST
            return refused_answer(message, Refusal(code, "Not a JSON-RPC message"))
        if not isinstance(message.get("method"), str) or "id" not in message:
            return b""
        params = object_of(message.get("params"))
        try:
            member = await self._member(message["method"], params, session, send)
        except Refusal as refusal:
            return refused_answer(message, refusal)
        member = member.replace(SESSION, digest(session))
        return b'{"jsonrpc":"2.0","id":' + dumps(message["id"]) + b"," + member + b"}"

    async def _member(self, method: str, params: dict[str, Any], session: str, send: Send) -> bytes:
        """Return the member `result` or `error` of the answer to a request, as JSON text.

        The answer's delay and its `before` messages come first. Refusal for an unknown method,
        cursor, tool or task; Dropped if the connection is to be cut; it never returns for an answer
        that hangs. A call with `task` begins a task; `logging/setLevel` sets the session's level.
        """
        match method:
            case "initialize":
                return b'"result":' + self._initialized(params)
            case "ping":
                return b'"result":{}'
            case "tools/list":
                return b'"result":' + self._listed(params.get("cursor"))
            case "tools/call" if isinstance(params.get("task"), dict):
                return b'"result":' + dumps(self._tasks.begin(session))
            case "tasks/get" | "tasks/result" | "tasks/list" | "tasks/cancel":
                shown = self._tasks.answer(method, params, session)
                if shown is None:
                    raise Refusal(revisions.INVALID_PARAMS, "Task not found")
                return b'"result":' + dumps(shown)
            case "tools/call":
                answer = self._called(params)
            case _:
                answer = self._other(method, params)
        if method == "logging/setLevel" and isinstance(level := params.get("level"), str):
            self.talk.levels[session] = level
        await self._due(answer)
        return await self._told(answer, params, session, send)

    async def _told(
        self, answer: Answer, params: dict[str, Any], session: str, send: Send
    ) -> bytes:
        """Send the `before` messages of an answer whose delay is over, then return its member.

        They are sent by `send`, with the progress token of the request. Dropped if the connection
        is to be cut; it never returns for an answer that hangs.
        """
        meta = params.get("_meta")
        token = meta.get("progressToken") if isinstance(meta, dict) else None
        await self.talk.say(answer.before, session, token, send)
        return await self._given(answer)

    async def _given(self, answer: Answer) -> bytes:
        """Return the member of an answer, with a new number in place of COUNT.

        Raise Dropped if its act is `drop`; never return if it is `hang`.
        """
        if answer.act == "drop":
            raise Dropped
        if answer.act == "hang":
            await asyncio.Event().wait()
        return answer.member.replace(COUNT, b"%d" % next(self._counts))

    async def _due(self, answer: Answer) -> None:
        """Wait `delay_s` seconds before an answer is given.

        With `together`, wait until that many requests are waiting for such an answer, at most
        `delay_s` seconds.
        """
        if not answer.together:
            await asyncio.sleep(answer.delay_s)
            return
        self._waiting.append(own := asyncio.Event())
        if len(self._waiting) >= answer.together:
            for each in self._waiting:
                each.set()
        try:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(own.wait(), answer.delay_s)
        finally:
            self._waiting.remove(own)

    def _other(self, method: str, params: dict[str, Any]) -> Answer:
        """Return the answer to a request that is not about tools, from the data `others`.

        That under method and subject precedes that under the method alone; Refusal without either.
        """
        others = self.given.others
        for key in (f"{method} {subject(params)}", method):
            if key in others:
                return others[key]
        raise Refusal(revisions.METHOD_NOT_FOUND, "Method not found")

    def _initialized(self, params: dict[str, Any]) -> bytes:
        """Return the result of a handshake, in the requested revision if known, else the latest."""
        requested = params.get("protocolVersion")
        known = revisions.HANDSHAKE_REVISIONS
        granted = requested if requested in known else revisions.LATEST_HANDSHAKE
        members = [
            b'"protocolVersion":' + dumps(granted),
            b'"capabilities":' + self.given.capabilities,
            b'"serverInfo":{"name":' + dumps(self.name) + b',"version":"1"}',
        ]
        if self.given.instructions:
            members.append(b'"instructions":' + dumps(self.given.instructions))
        return b"{" + b",".join(members) + b"}"

    def _listed(self, cursor: Any) -> bytes:
        """Return the result of `tools/list` with the page of that cursor, None for the first page.

        Refusal for an unknown cursor, or one in `broken_cursors`. ORIGIN in a tool becomes the
        server's origin.
        """
        if cursor in self.broken_cursors:
            raise Refusal(INTERNAL_ERROR, "This page cannot be read")
        page = self.pages.get(cursor) if isinstance(cursor, str | None) else None
        if page is None:
            raise Refusal(revisions.INVALID_PARAMS, "Unknown cursor")
        following = b"" if page.following is None else b',"nextCursor":' + dumps(page.following)
        entries = b",".join(page.entries).replace(ORIGIN, self.url.removesuffix(PATH).encode())
        return b'{"tools":[' + entries + b"]" + following + b"}"

    def _called(self, params: dict[str, Any]) -> Answer:
        """Return the answer to a call; Refusal for an unknown tool.

        It is that of the argument `case` in `answers`, else that of the tool, else OK.
        """
        name, arguments = params.get("name"), params.get("arguments")
        if name not in self.given.names:
            raise Refusal(revisions.INVALID_PARAMS, f"Unknown tool: {name}")
        case = arguments.get("case") if isinstance(arguments, dict) else None
        keys = [key for key in (case, name) if isinstance(key, str) and key in self.answers]
        return self.answers[keys[0]] if keys else OK

    def _record(self, direction: Direction, raw: bytes, note: str, headers: Headers = ()) -> None:
        """Record a message on the upstream edge of the transcript, if there is one yet.

        `note` says in words what it is, such as `POST /mcp tools/call`.
        """
        if self._transcript is not None:
            self._transcript.record(
                edge="upstream", direction=direction, peer=self.name, raw=raw, note=note,
                headers=headers,
            )  # fmt: skip


def digest(secret: str) -> bytes:
    """Return ten hexadecimal digits that identify a secret without revealing it."""
    return hashlib.sha256(secret.encode()).hexdigest()[:10].encode()


def subject(params: Mapping[str, Any]) -> str:
    """Return what a request is about: its URI, name or cursor; "" for another request.

    For a completion it is the subject of its reference, then `ARGUMENT=VALUE`.
    """
    ref, argument = params.get("ref"), params.get("argument")
    if isinstance(ref, dict) and isinstance(argument, dict):
        return f"{subject(ref)} {argument.get('name')}={argument.get('value')}"
    return str(params.get("uri") or params.get("name") or params.get("cursor") or "")


def method_of(message: Any) -> str:
    """Return the method of a message; "" if it has none."""
    method = message.get("method") if isinstance(message, dict) else None
    return method if isinstance(method, str) else ""


def refused_answer(message: Any, refusal: Refusal) -> bytes:
    """Return the answer with a refusal as JSON-RPC error, under the message's id if it has one."""
    request_id = message.get("id") if isinstance(message, dict) else None
    error: dict[str, Any] = {"code": refusal.code, "message": str(refusal)}
    if refusal.data is not None:
        error["data"] = refusal.data
    return dumps({"jsonrpc": "2.0", "id": request_id, "error": error})
