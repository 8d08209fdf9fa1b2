"""A server that fails by script: its connection for a loader, its replies, attempts and healing."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from mcp_proxy_conformance.upstream.faults import behaviour as do
from mcp_proxy_conformance.upstream.faults.attempts import AttemptCount, Call, read_call
from mcp_proxy_conformance.upstream.faults.replies import Right, ScriptedReply, reply, whole
from mcp_proxy_conformance.upstream.faults.reserved_name import NOBODY
from mcp_proxy_conformance.upstream.faults.script import ServerScript
from mcp_proxy_conformance.upstream.faults.server_log import ServerLog
from mcp_proxy_conformance.upstream.http import HttpRequest
from mcp_proxy_conformance.upstream.script import Script, shim
from mcp_proxy_conformance.upstream.tools import ServerState, UpstreamTool

LOOPBACK = "127.0.0.1"
OK = 200
MISSING = Path(__file__).with_name("no-such-program")
_UNCOUNTED = (
    do.Backlog, do.Banner, do.PlainForTls, do.ClosedPort, do.Unresolvable, do.MalformedConnection,
    do.StdioMissing,
)  # fmt: skip
"""Without requests, connections may be attempts, or probes for an era within one."""
_PORTLESS = (do.Unresolvable, do.MalformedConnection, do.StdioMissing)
_HEALABLE = (do.Backlog, do.ClosedPort, do.Banner)
_PATH, _HEALTHY, _MISSING = "mcp", "healthy", "missing"


def prefix(path: str) -> str:
    """Return the first path segment up to its `-`: the server's number, by which it is found."""
    return path.lstrip("/").partition("-")[0]


def _places(call: Call) -> tuple[str, ...]:
    """Return the values of a behaviour's `on` that match a call: `any` and the call's method.

    A list of tools with a cursor matches `later page` as well.
    """
    later = (do.LATER_PAGE,) if call.method == "tools/list" and call.paged else ()
    return ("any", call.method, *later)


class FaultyServer:
    """Plays the script of one server; `redirect` returns another server's URL by its id.

    `prefix` begins the paths of its URLs; `token` is in its cookies and session ids.
    """

    def __init__(
        self, script: ServerScript, *, number: int, redirect: Callable[[str], str]
    ) -> None:
        """Make the server of a script, with its token, log and answers; it has no port yet.

        `number` begins its paths and token; `redirect` returns another server's URL by its id.
        """
        self.script = script
        self.prefix = f"{number}"
        self.port = 0
        self.token = f"{number}-{secrets.token_hex(8)}"
        self.log = ServerLog(script.server_id)
        self._attempts = AttemptCount()
        self._redirect = redirect
        tools = [UpstreamTool(name=name) for name in script.tools]
        state = ServerState(script.server_id, tools, script.page_size)
        logs = any("log" in each.after for each in script.script if isinstance(each, do.Stream))
        self._script = Script(state, "both", list_changed=False, logging=logs)

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
        return None if isinstance(self.whole, _UNCOUNTED) else self._attempts.count

    @property
    def url(self) -> str | None:
        """The URL for loaders; None if it is reached over stdio, or its connection is malformed."""
        if isinstance(
            self.whole, do.MalformedConnection | do.StdioMissing | do.StdioExits | do.StdioGarbage
        ):
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
            case do.StdioExits() | do.StdioGarbage():
                return {**members, "command": shim(self.port), "transport": "stdio"}
        return {**members, "url": self.url, "transport": "streamable-http", "headers": {}}

    def heal(self) -> None:
        """Be healthy from now on, with attempts counted from 0; its log and session token stay.

        ValueError for a fault in the connection that the loader was given.
        """
        if self.whole is not None and not isinstance(self.whole, _HEALABLE):
            raise ValueError(
                f"{self.script.server_id!r} cannot be healed: its connection is the fault"
            )
        self.script = ServerScript(
            server_id=self.script.server_id,
            tools=self.script.tools,
            timeout_s=self.script.timeout_s,
            script=(do.Healthy(),),
        )
        self._attempts = AttemptCount()

    def connected(self, connection: int) -> None:
        """Count a connection that no request will follow as an attempt, and log it."""
        word = self.script.script[0].word
        self.log.connected(connection, attempt=self._attempts.connected(), played=word)

    def reply(self, request: HttpRequest, connection: int) -> ScriptedReply:
        """Return the scripted reply to a request, after counting and logging the request.

        `connection` is its connection's number. A path that is not the server's gets 404 and
        belongs to no attempt; the path to which healthy redirects lead is never faulty; GET gets
        405, DELETE 200. A request without the right authorization gets 401, one with another
        server's session 404, if the behaviour checks that.
        """
        call, played = Call(), "healthy"
        place = request.path.partition("?")[0].rpartition("/")[2]
        if prefix(request.path) != self.prefix or place not in (_PATH, _HEALTHY):
            attempt, scripted = 0, whole(404, b"")
        elif request.method != "POST":
            attempt = self._attempt(request)
            scripted = whole(200 if request.method == "DELETE" else 405, b"")
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
            scripted = self._scripted_reply(request, call, behaviour, attempt)
        self.log.requested(
            request, connection, call=call, attempt=attempt, played=played, status=scripted.status
        )
        return scripted

    def _scripted_reply(
        self, request: HttpRequest, call: Call, behaviour: do.Behaviour, attempt: int
    ) -> ScriptedReply:
        """Return the reply that the behaviour makes of the right answer to the request.

        The right answer to `initialize` hands out a session id, made of the token and the attempt.
        """
        answer = self._script.answer(request.body, request.header("mcp-protocol-version"))
        right = Right(answer=answer, id=call.id, progress=call.progress)
        if call.method == "initialize" and answer.status == OK:
            right = replace(right, headers=(("Mcp-Session-Id", f"{self.token}-{attempt}"),))
        location = self._location(behaviour.to) if isinstance(behaviour, do.Redirect) else ""
        return reply(behaviour, right, token=self.token, location=location)

    def _attempt(self, request: HttpRequest) -> int:
        """Return the attempt in the request's session id, if this server's, else the latest one."""
        mine, _, number = (request.header("mcp-session-id") or "").rpartition("-")
        return int(number) if mine == self.token and number.isdecimal() else self._attempts.count

    def _is_foreign(self, request: HttpRequest) -> bool:
        """Whether the request has a session id without this server's token; False without one."""
        session = request.header("mcp-session-id")
        return session is not None and self.token not in session

    def _location(self, to: str) -> str:
        """Return the URL of a redirect: another server's, or this one's healthy or missing path."""
        if to not in (do.HEALTHY_PATH, do.MISSING_PATH):
            return self._redirect(to)
        place = _HEALTHY if to == do.HEALTHY_PATH else _MISSING
        return f"http://{LOOPBACK}:{self.port}{self._path(place)}"

    def _path(self, place: str) -> str:
        """Return the path of one of this server's URLs, ending in `place`."""
        return f"/{self.prefix}-{quote(self.script.server_id, safe='')}/{place}"
