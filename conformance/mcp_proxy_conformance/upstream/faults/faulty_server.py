"""A server that fails by script: its connection for a loader, its replies, attempts and healing."""

from __future__ import annotations

import contextlib
import json
import re
import secrets
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from mcp_proxy_conformance.upstream.dialect import OK, Right
from mcp_proxy_conformance.upstream.faults import behaviour as do
from mcp_proxy_conformance.upstream.faults.attempts import AttemptCount, Call, read_call
from mcp_proxy_conformance.upstream.faults.obliged import Obliged
from mcp_proxy_conformance.upstream.faults.replies import (
    Answered,
    ScriptedReply,
    reply,
    stream,
    well,
    whole,
)
from mcp_proxy_conformance.upstream.faults.reserved_name import NOBODY
from mcp_proxy_conformance.upstream.faults.script import ServerScript
from mcp_proxy_conformance.upstream.faults.server_log import ServerLog
from mcp_proxy_conformance.upstream.http import HttpRequest
from mcp_proxy_conformance.upstream.script import (
    INVALID_REQUEST,
    Script,
    Scripted,
    particular,
    shim,
)
from mcp_proxy_conformance.upstream.stdio import CHATTY, NEEDED, OWN, STUBBORN, WRAPPED
from mcp_proxy_conformance.upstream.tools import ServerState, UpstreamTool
from mcp_proxy_conformance.wire.revisions import LATEST_HANDSHAKE

LOOPBACK = "127.0.0.1"
STDIO = "stdio"
"""The verb of a line that a process got, in the place of HTTP's method."""
MISSING = Path(__file__).with_name("no-such-program")
_UNCOUNTED = (
    do.Backlog, do.Banner, do.PlainForTls, do.ClosedPort, do.Unresolvable, do.MalformedConnection,
    do.StdioMissing,
)  # fmt: skip
"""Without requests, connections may be attempts, or probes for an era within one."""
_PORTLESS = (do.Unresolvable, do.MalformedConnection, do.StdioMissing)
_HEALABLE = (do.Backlog, do.ClosedPort, do.Banner)
_LARGE = 1 << 20
"""Bytes from which on an answer is put on the wire once, not for each request that repeats."""
OPTIONS = {"chatty": (CHATTY,), "stubborn": (STUBBORN,), "wrapped": (WRAPPED,)}
"""The options of programs."""
REFUSES = 400
INSIST = ("insists", "signs", "long")
SIGNS = "".join(map(chr, range(0x21, 0x7F)))
"""Every sign that a session id may have."""
AGREES = "notifications/initialized"
SESSIONS = {"signs": SIGNS, "long": "x" * 2000}
_PATH, _HEALTHY, _MISSING = "mcp", "healthy", "missing"
_ODD_SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"node": {"type": ["object", "null"], "properties": {"up": {"$ref": "#/$defs/node"}}}},
    "properties": {"any": {}, "none": {"not": {}}, "a/b.c-d": {"const": None}, "": {"enum": [1]},
                   "tree": {"$ref": "#/$defs/node"}, "list": {"prefixItems": [{}], "items": False}},
    "patternProperties": {"^x-": {"anyOf": [{"type": "string"}, {"not": {"type": "null"}}]}},
    "additionalProperties": {"type": "number", "multipleOf": 0.001},
    "if": {"required": ["list"]}, "then": {"required": ["tree"]},
    "x-unknown": [{"deep": None}],
}  # fmt: skip


_ODD_NOTES = {"title": "An odd tool", "readOnlyHint": False, "destructiveHint": True}


def prefix(path: str) -> str:
    """Return the first path segment up to its `-`: the server's number, by which it is found."""
    return path.lstrip("/").partition("-")[0]


def _same(path: str, other: str) -> bool:
    """Whether two paths are equal but for the letter case of their percent-encoding."""
    one, two = (re.sub("%..", lambda m: m[0].upper(), each) for each in (path, other))
    return one == two


def _places(call: Call) -> tuple[str, ...]:
    """Return the values of a behaviour's `on` that match a call: `any` and the call's method.

    A list of tools with a cursor matches `later page` as well.
    """
    later = (do.LATER_PAGE,) if call.method == "tools/list" and call.paged else ()
    return ("any", call.method, *later)


def _answers(script: ServerScript, names: Iterable[str], mark: str = "") -> Script:
    """Return the right answers of a server that lists tools of these names.

    Its cursors begin with `mark`: those of an attempt that fails mean nothing in one that is well.
    """
    dialect, tools = script.dialect, [UpstreamTool(name=name) for name in names]
    tools[:1] = [replace(tool, description=dialect.description) for tool in tools[:1]]
    if script.odd_schemas:
        tools[-1:] = [replace(tool, input_schema=_ODD_SCHEMA, annotations=_ODD_NOTES)
                      for tool in tools[-1:]]  # fmt: skip
    logs = any(
        isinstance(each, do.Chatter) or "log" in getattr(each, "after", ())
        for each in script.script
    )
    return Script(
        ServerState(script.server_id, tools, script.page_size, script.cursors, mark),
        "handshake" if dialect.only else "both",
        list_changed=dialect.before == "changed",
        logging=logs or dialect.before == "log",
        instructions=dialect.instructions,
        only=dialect.only,
    )


class FaultyServer:
    """Plays the script of one server; `redirect` returns another server's URL by its id.

    `prefix` begins the paths of its URLs; `token` is in its cookies and session ids.
    """

    def __init__(
        self, script: ServerScript, *, number: int, prefix: str, redirect: Callable[[str], str]
    ) -> None:
        """Make the server of a script, with its token, log and answers; it has no port yet.

        `number` begins its token; `redirect` returns another server's URL by its id.
        """
        self.script = script
        self.prefix = prefix
        self.port = 0
        self.token = f"{number}-{secrets.token_hex(8)}"
        self.log = ServerLog(script.server_id)
        self._begin()
        self._heals = 0
        self._redirect = redirect
        self._listed_in = 0
        self._large: tuple[object, ScriptedReply] = (None, ScriptedReply())
        self._awaiting: set[Answered] = set()
        self._well = self._failing = _answers(script, script.tools)
        if script.gone or script.page_size:
            self._failing = _answers(script, (*script.gone, *script.tools), "1")
        self._loses = bool(script.gone) and all(isinstance(s, do.Healthy) for s in script.script)

    @property
    def whole(self) -> do.Whole | None:
        """The behaviour of whole connections; None if requests are answered."""
        return self.script.whole

    @property
    def needs_port(self) -> bool:
        """Whether the fault needs a port; an unknown host or a missing program does not."""
        return not isinstance(self.whole, _PORTLESS)

    @property
    def attempts(self) -> int | None:
        """The number of attempts; None if the connection's fault does not let them be counted."""
        followed = any(getattr(step, "to", "") == do.ITSELF for step in self.script.script)
        uncounted = followed or self.script.refuses or isinstance(self.whole, _UNCOUNTED)
        return None if uncounted else self._attempts.count

    @property
    def url(self) -> str | None:
        """The URL for loaders; None if it is reached over stdio, or its connection is malformed."""
        no_url = do.MalformedConnection | do.StdioMissing | do.StdioExits | do.StdioGarbage
        if self.script.transport == STDIO or isinstance(self.whole, no_url):
            return None
        scheme = "https" if isinstance(self.whole, do.PlainForTls) else "http"
        named = isinstance(self.whole, do.Unresolvable)
        return f"{scheme}://{NOBODY if named else f'{LOOPBACK}:{self.port}'}{self._path(_PATH)}"

    def connection(self) -> dict[str, Any]:
        """Return the connection to hand to a loader: id, timeout; URL and headers, or a command.

        A malformed one has its own members besides id and timeout, or in their place.
        """
        members = {"server_id": self.script.server_id, "timeout_s": self.script.timeout_s}
        match self.whole:
            case do.MalformedConnection(connection=malformed):
                return {**members, **malformed}
            case do.StdioMissing():
                return {**members, "command": [str(MISSING)], "transport": "stdio"}
        if self.url is None:
            command = shim(self.port, *OPTIONS.get(self.script.program, ()))
            env = {NEEDED: f"{LOOPBACK}:{self.port}", f"{OWN}_{self.prefix}": ""}
            if self.script.program == "particular":
                command = particular()
            return {**members, "command": command, "env": env, "transport": "stdio"}
        own = self.script.authorization
        headers = {} if own is None else {self.script.header: own}
        return {**members, "url": self.url, "transport": "streamable-http", "headers": headers}

    def forget(self) -> None:
        """Keep no large answer; the log stays."""
        self._large = (None, ScriptedReply())

    def heal(self) -> None:
        """Be healthy from now on, with attempts counted from 0; its log and session token stay.

        ValueError for a fault in the connection that the loader was given.
        """
        if self.whole is not None and not isinstance(self.whole, _HEALABLE):
            raise ValueError(
                f"{self.script.server_id!r} cannot be healed: its connection is the fault"
            )
        self.script = msgspec.structs.replace(self.script, script=(do.Healthy(),))
        self._heals += 1
        self._begin()

    def _begin(self) -> None:
        """Begin with no attempt."""
        self._attempts, self._obliged = AttemptCount(), Obliged()
        self._agreed: set[int] = set()

    def connected(self, connection: int) -> None:
        """Count a connection that no request will follow as an attempt, and log it."""
        word = self.script.script[0].word
        self.log.connected(connection, attempt=self._attempts.connected(), played=word)

    def reply(self, request: HttpRequest, connection: int) -> ScriptedReply:
        """Return the scripted reply to a request, after counting and logging the request.

        `connection` is its connection's number. A path that is not the server's gets 404 and
        belongs to no attempt; the path to which healthy redirects lead is never faulty; GET gets
        405 or a stream, DELETE 200 or 405. A request without the right authorization gets 401, one
        with another server's session 404, one without the session that the dialect insists on 400.
        A line of a process is a request of the method `STDIO`.
        """
        call, played = Call(), "healthy"
        place = self._place(request.method, request.path)
        if place not in (_PATH, _HEALTHY):
            attempt, scripted = 0, whole(404, b"")
        elif request.method not in ("POST", STDIO):
            is_taken = request.method == "DELETE" and self.script.dialect.delete == "taken"
            attempt, status = self._attempt(request), 200 if is_taken else 405
            answer = Scripted(method="", status=400 if self._lacks_session(request) else status)
            scripted = well(Right(answer=answer), self.script.dialect)
            if request.method == "GET" and self.script.dialect.get != "refused":
                scripted = stream(self.script.dialect.get)
        else:
            call = read_call(request.body, request.header("mcp-protocol-version"))
            opens = place == _PATH and self._attempts.count_call(call)
            attempt = self._attempts.count if opens else self._attempt(request)
            behaviour = self.script.of(attempt) if place == _PATH else do.Healthy()
            strict = isinstance(behaviour, do.HandSession)
            if (opens and behaviour.on == "initialize") or behaviour.on in _places(call):
                played = behaviour.word
            else:
                behaviour = do.Healthy()
            if strict and self._is_foreign(request):
                behaviour = do.Status(code=404)
            if isinstance(behaviour, do.Guarded):
                known = request.header("authorization") == behaviour.authorization
                behaviour = do.Healthy() if known else do.Status(code=401)
            if self.script.guarded and request.method != STDIO and not self._is_known(request):
                behaviour = do.Status(code=401)
            scripted = self._scripted_reply(request, call, behaviour, attempt)
            self._awaiting.add(scripted.answered)
            if not call.method and (scripted.status or OK) < REFUSES:
                self._take_answer(request.body)
        self.log.requested(
            request, connection, call=call, attempt=attempt, played=played, status=scripted.status
        )
        fails = played != "healthy"
        closes = fails and isinstance(self.script.of(attempt + 1), do.Refuses)
        return replace(scripted, fails=fails, closes=closes)

    def _scripted_reply(
        self, request: HttpRequest, call: Call, behaviour: do.Behaviour, attempt: int
    ) -> ScriptedReply:
        """Return the reply that the behaviour makes of the right answer to the request.

        The right answer to `initialize` hands out a session id, made of the token and the attempt,
        unless the dialect has none.
        """
        is_well = isinstance(self.script.of(attempt), do.Healthy)
        answers = self._well if is_well and (self._heals or not self._loses) else self._failing
        answer = answers.answer(request.body, request.header("mcp-protocol-version"))
        dialect = self.script.dialect
        right = Right(
            answer=answer,
            id=call.id,
            progress=call.progress,
            accepts=request.header("accept-encoding") or "",
            is_latest=(call.revision or "").endswith(LATEST_HANDSHAKE),
            lists=call.method == "tools/list" and attempt != self._listed_in,
            is_line=request.method == STDIO,
        )
        if right.lists:
            self._listed_in = attempt
        opens = call.method == "initialize"
        if opens and answer.status == OK and dialect.session != "none":
            right = replace(right, headers=(("Mcp-Session-Id", self._session(attempt)),))
        if dialect.session in INSIST and self._is_ended(request, attempt):
            behaviour = do.Status(code=404)
        elif (
            not opens
            and not answer.stateless
            and (call.method or attempt in self._agreed)
            and (self._lacks_session(request) or self._is_of_another(request))
        ):
            behaviour = do.Status(code=400)
        if call.method == AGREES:
            self._agreed.add(attempt)
        is_strict = dialect.demands == "all" and not answer.stateless
        broken = self._obliged.complaint(request, attempt) if is_strict else ""
        if broken and isinstance(behaviour, do.Healthy):
            is_line = request.method == STDIO
            behaviour = (do.JsonrpcError(code=INVALID_REQUEST, message=broken) if is_line
                         else do.Status(code=400, body=broken))  # fmt: skip
        if self._large[0] != (behaviour, right):
            location = self._location(behaviour.to) if isinstance(behaviour, do.Redirect) else ""
            made = reply(behaviour, right, dialect, token=self.token, location=location)
            if dialect.pace == "slow" and call.id is not None:
                made = replace(made, wait_s=made.wait_s + dialect.delay_s(self.script.timeout_s))
            if len(answer.body) < _LARGE:
                return made
            self._large = ((behaviour, right), made)
        return self._large[1]

    def _attempt(self, request: HttpRequest) -> int:
        """Return the attempt in the request's session id, if this server's, else the latest one."""
        mine, _, number = (request.header("mcp-session-id") or "").rpartition("-")
        known = mine.startswith(self.token) and number.isdecimal()
        return int(number) if known else self._attempts.count

    def _session(self, attempt: int) -> str:
        """Return the session id of an attempt."""
        sign = SESSIONS.get(self.script.dialect.session, "")
        return f"{self.token}.{self._heals}{sign}-{attempt}"

    def _is_foreign(self, request: HttpRequest) -> bool:
        """Whether the request has a session id without this server's token; False without one."""
        session = request.header("mcp-session-id")
        return session is not None and self.token not in session

    def _is_ended(self, request: HttpRequest, attempt: int) -> bool:
        """Whether the request has a session id, but not the one of its attempt."""
        session = request.header("mcp-session-id")
        return session is not None and session != self._session(attempt)

    def _place(self, verb: str, path: str) -> str:
        """Return which of its places a request's path is; empty for a path that is not its own."""
        if verb == STDIO:
            return _PATH
        return next((p for p in (_PATH, _HEALTHY) if _same(path, self._path(p))), "")

    def _is_known(self, request: HttpRequest) -> bool:
        name, value = self.script.header.lower(), self.script.authorization
        return any(k.lower() == name and v == value for k, v in request.headers)

    def _take_answer(self, raw: bytes) -> None:
        """Note the id that a message without a method answers, where it is waited for."""
        with contextlib.suppress(ValueError, AttributeError):
            message = json.loads(raw)
            if message.get("result") == {}:
                for each in self._awaiting:
                    each.take(message.get("id"))

    def _lacks_session(self, request: HttpRequest) -> bool:
        """Whether the dialect insists on a session id and the request has none."""
        return (
            self.script.dialect.session in INSIST
            and request.method != STDIO
            and request.header("mcp-session-id") is None
        )

    def _is_of_another(self, request: HttpRequest) -> bool:
        """Whether the request is in another revision than the only one that the server supports."""
        revision = request.header("mcp-protocol-version")
        return bool(self.script.dialect.only) and revision not in (None, self.script.dialect.only)

    def _location(self, to: str) -> str:
        """Return the URL of a redirect: another server's, or one of this one's paths."""
        if to not in do.OWN_PATHS:
            return self._redirect(to)
        place = {do.HEALTHY_PATH: _HEALTHY, do.ITSELF: _PATH}.get(to, _MISSING)
        return f"http://{LOOPBACK}:{self.port}{self._path(place)}"

    def _path(self, place: str) -> str:
        """Return the path of one of this server's URLs, ending in `place`."""
        name = self.script.same_url_as or self.script.server_id
        within = "" if self.script.path is None else f"/{self.script.path}"
        query = "" if self.script.query is None else f"?{self.script.query}"
        path = f"/{self.prefix}-{quote(name, safe='')}{within}/{place}"
        return path + "/" * self.script.slash + query
