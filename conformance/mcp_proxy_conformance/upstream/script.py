"""JSON-RPC answers of a scripted server, made from its tools; its server for stdio sessions."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from mcp_proxy_conformance.upstream.http import MOST_BODY, Listener
from mcp_proxy_conformance.upstream.stdio import ODD
from mcp_proxy_conformance.wire import revisions
from mcp_proxy_conformance.wire.jsonrpc import dumps

if TYPE_CHECKING:
    from mcp_proxy_conformance.upstream.tools import ServerState
if TYPE_CHECKING:
    import asyncio

    from mcp_proxy_conformance.verdict.cited import Direction
    from mcp_proxy_conformance.wire.transcript import Transcript


Eras = Literal["both", "handshake", "stateless"]
_PROGRAM = (sys.executable, "-I", "-S", str(Path(__file__).with_name("stdio.py")))
PARSE_ERROR, INVALID_REQUEST = -32700, -32600
_STATUS = {
    revisions.METHOD_NOT_FOUND: 404,
    revisions.INVALID_PARAMS: 400,
    revisions.UNSUPPORTED_REVISION: 400,
}
_COMPLETE = b'"resultType":"complete"'
_CACHING = b',"ttlMs":0,"cacheScope":"private"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Scripted:
    """The answer to one message; without a body if none is due.

    `stateless`: it is in the revision without a handshake.
    """

    method: str
    status: int = 200
    body: bytes = b""
    stateless: bool = False


class _Refusal(Exception):
    """A request is to be answered with this JSON-RPC error."""

    def __init__(self, *, code: int, message: str, data: Any = None) -> None:
        """Keep the members of the JSON-RPC error."""
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class Script:
    """Answers JSON-RPC messages from a server's tools; keeps no state of connections."""

    def __init__(
        self,
        state: ServerState,
        eras: Eras,
        *,
        list_changed: bool,
        logging: bool = False,
        instructions: str = "",
        only: str = "",
    ) -> None:
        """Answer by the tools of `state`, in the revisions of `eras`.

        `list_changed` and `logging` are whether notifications of changed tools, and logging, are
        declared; `instructions` are left out if empty. `only` is the one revision with a handshake
        that it supports; empty are all.
        """
        self._state = state
        self._instructions = {"instructions": instructions} if instructions else {}
        self._eras = eras
        self._handshakes = (only,) if only else revisions.HANDSHAKE_REVISIONS
        self._capabilities: dict[str, Any] = {
            "tools": {"listChanged": True} if list_changed else {}
        }
        if logging:
            self._capabilities["logging"] = {}

    def answer(self, raw: bytes, revision: str | None = None) -> Scripted:
        """Return the answer to one message; `revision` is that of the HTTP header, if any.

        One in `_meta` replaces it. A message without a method or id gets 202 and no body; text that
        is not a JSON object gets an error with 400, an unknown method or tool one with 200, or in
        the stateless revision with 404 or 400.
        """
        try:
            message = json.loads(raw)
        except (ValueError, RecursionError):
            return _refused("", None, _Refusal(code=PARSE_ERROR, message="Parse error"), 400)
        if not isinstance(message, dict):
            refusal = _Refusal(code=INVALID_REQUEST, message="Invalid request")
            return _refused("", None, refusal, 400)
        method, params = message.get("method"), message.get("params")
        if not isinstance(method, str) or "id" not in message:
            return Scripted(method=str(method or "answer"), status=202)
        params = params if isinstance(params, dict) else {}
        meta = params.get("_meta")
        if isinstance(meta, dict) and revisions.META_VERSION in meta:
            revision = meta[revisions.META_VERSION]
        stateless = revision is not None and revision not in revisions.HANDSHAKE_REVISIONS
        try:
            result = self._result(method, params, revision if stateless else None)
        except _Refusal as refusal:
            status = _STATUS.get(refusal.code, 200) if stateless else 200
            return _refused(method, message["id"], refusal, status)
        head = b'{"jsonrpc":"2.0","id":' + dumps(message["id"])
        body = head + b',"result":{' + result + b"}}"
        return Scripted(method=method, body=body, stateless=stateless)

    def _result(self, method: str, params: dict[str, Any], stateless: str | None) -> bytes:
        """Return the encoded members of the result, without braces; count lists and calls.

        `stateless` is the revision of a stateless request, whose result gets `resultType` and cache
        hints too; None in the handshake era. Raises _Refusal for an unknown method, tool, cursor or
        revision.
        """
        if stateless is not None and (
            stateless != revisions.LATEST_STATELESS or self._eras == "handshake"
        ):
            raise self._unsupported(stateless)
        lead = _COMPLETE + b"," if stateless else b""
        tail = _CACHING if stateless else b""
        match method:
            case "tools/list":
                return lead + self._listed(params.get("cursor")) + tail
            case "tools/call":
                return lead + self._called(params)
            case "initialize" if not stateless:
                return self._initialized(params)
            case "ping" if not stateless:
                return b""
            case "logging/setLevel" if not stateless and "logging" in self._capabilities:
                return b""
            case "server/discover" if stateless:
                versions = {"supportedVersions": self._versions(), **self._identity()}
                return lead + dumps(versions)[1:-1] + tail
        raise _Refusal(code=revisions.METHOD_NOT_FOUND, message="Method not found")

    def _initialized(self, params: dict[str, Any]) -> bytes:
        """Return the encoded members of the result of `initialize`, without braces.

        The revision is the requested one or, if that is unknown, the latest; _Refusal of any
        handshake by a server that is stateless only.
        """
        requested = params.get("protocolVersion")
        if self._eras == "stateless":
            raise self._unsupported(requested)
        granted = requested if requested in self._handshakes else self._handshakes[-1]
        return dumps({"protocolVersion": granted, **self._identity()})[1:-1]

    def _listed(self, cursor: Any) -> bytes:
        """Count a `tools/list` request; return the encoded members of the page of that cursor.

        _Refusal for an unknown cursor; None is the first page.
        """
        page = self._state.page(cursor)
        if page is None:
            raise _Refusal(code=revisions.INVALID_PARAMS, message="Unknown cursor")
        return page

    def _called(self, params: dict[str, Any]) -> bytes:
        """Count the call; return the members of its result, the text `ok NAME`.

        _Refusal without a name, and for an unknown tool, whose call is counted too.
        """
        name = params.get("name")
        if not isinstance(name, str):
            raise _Refusal(code=revisions.INVALID_PARAMS, message="A tool's name is required")
        if not self._state.count_call(name):
            raise _Refusal(code=revisions.INVALID_PARAMS, message=f"Unknown tool: {name}")
        return b'"content":[{"type":"text","text":' + dumps(f"ok {name}") + b"}]"

    def _identity(self) -> dict[str, Any]:
        """Return the members `capabilities`, `serverInfo` and, if there are any, `instructions`."""
        info = {"name": self._state.name, "version": "1"}
        return {"capabilities": self._capabilities, "serverInfo": info, **self._instructions}

    def _versions(self) -> list[str]:
        """Return the protocol revisions that this server supports."""
        handshake = [] if self._eras == "stateless" else list(self._handshakes)
        return handshake if self._eras == "handshake" else [*handshake, revisions.LATEST_STATELESS]

    def _unsupported(self, requested: Any) -> _Refusal:
        """Return the refusal of a protocol revision, which lists the supported ones."""
        data = {"supported": self._versions(), "requested": requested}
        return _Refusal(
            code=revisions.UNSUPPORTED_REVISION, message="Unsupported protocol version", data=data
        )


def _refused(method: str, request_id: Any, refusal: _Refusal, status: int) -> Scripted:
    """Return the answer with the JSON-RPC error of a refusal, under that HTTP status.

    `request_id` is None if the request's is unknown.
    """
    error: dict[str, Any] = {"code": refusal.code, "message": refusal.message}
    if refusal.data is not None:
        error["data"] = refusal.data
    body = dumps({"jsonrpc": "2.0", "id": request_id, "error": error})
    return Scripted(method=method, status=status, body=body)


LIST_CHANGED = b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'


def shim(port: int, *more: str) -> list[str]:
    """Return a command line that bridges stdio to a loopback port: quick to start, no imports.

    `more` are further arguments, which stdio.py explains.
    """
    return [*_PROGRAM, "--connect", f"127.0.0.1:{port}", *more]


def particular() -> list[str]:
    """Return a command line as `shim`, with odd arguments; the port is in the environment."""
    return [*_PROGRAM, *ODD]


class LineServer:
    """Answers lines from stdio shims, and notifies their sessions of changed tools."""

    def __init__(self, name: str, script: Script) -> None:
        """Listen nowhere yet; `name` is the server's in the transcript."""
        self._name = name
        self._script = script
        self._transcript: Transcript | None = None
        self._listener = Listener(self._serve, MOST_BODY)
        self._sessions: set[asyncio.StreamWriter] = set()

    @property
    def port(self) -> int:
        """The loopback port to which the child process of a stdio session connects."""
        return self._listener.port

    async def open(self, transcript: Transcript) -> None:
        """Listen on loopback, whatever host HTTP has, for the child processes of stdio sessions.

        When opened again, it has the same port; messages are recorded in the transcript.
        """
        self._transcript = transcript
        await self._listener.open("127.0.0.1", self._listener.port)

    async def close(self) -> None:
        """Stop listening and end every session, and with it its child process."""
        await self._listener.close()

    def announce(self) -> None:
        """Send the notification of changed tools to every initialized session that is open.

        Called on the loop.
        """
        for writer in self._sessions:
            if not writer.is_closing():
                self._write(writer, LIST_CHANGED, "stdio list_changed")

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the lines of one session until it ends, but blank ones; then stop notifying it."""
        try:
            while line := await reader.readline():
                if line.strip():
                    self._answer(line.rstrip(b"\r\n"), writer)
                await writer.drain()
        finally:
            self._sessions.discard(writer)

    def _answer(self, line: bytes, writer: asyncio.StreamWriter) -> None:
        """Record and answer one line, if an answer is due.

        After `notifications/initialized` the session gets notifications of changed tools.
        """
        answer = self._script.answer(line)
        self._record("received", line, f"stdio {answer.method}".rstrip())
        if answer.method == "notifications/initialized":
            self._sessions.add(writer)
        if answer.body:
            self._write(writer, answer.body, "stdio")

    def _write(self, writer: asyncio.StreamWriter, raw: bytes, note: str) -> None:
        """Record a line as sent, and write it to the session."""
        self._record("sent", raw, note)
        writer.write(raw + b"\n")

    def _record(self, direction: Direction, raw: bytes, note: str) -> None:
        """Record a line on the upstream edge of the transcript, if there is a transcript yet.

        `note` says in words what it is, such as `stdio tools/call`.
        """
        if self._transcript is not None:
            self._transcript.record(
                edge="upstream", direction=direction, peer=self._name, raw=raw, note=note
            )
