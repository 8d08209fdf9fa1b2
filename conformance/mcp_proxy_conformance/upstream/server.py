"""A scripted MCP server: streamable HTTP on its own port, and stdio by a byte-copying process."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from mcp_proxy_conformance.upstream.http import Listener, read_request, render_response
from mcp_proxy_conformance.upstream.script import Eras, LineServer, Script, shim
from mcp_proxy_conformance.upstream.tools import ServerState

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp_proxy_conformance.upstream.http import HttpRequest
    from mcp_proxy_conformance.upstream.tools import UpstreamTool
    from mcp_proxy_conformance.verdict.cited import Direction, Headers
    from mcp_proxy_conformance.wire.transcript import Transcript

PATH = "/mcp"
_JSON = ("Content-Type", "application/json")


class UpstreamServer(ServerState):
    """One scripted server; it answers once it is added to `Upstreams`, and its tools may change."""

    def __init__(
        self,
        name: str,
        tools: Iterable[UpstreamTool] = (),
        *,
        page_size: int | None = None,
        eras: Eras = "both",
    ) -> None:
        """Make a server of these tools, which listens nowhere yet; ValueError for a name twice.

        `page_size` is the number of tools on a page of its listing, all on one by default. `eras`
        are the eras that it speaks: with a handshake, stateless, or both.
        """
        self._loop: asyncio.AbstractEventLoop | None = None
        self._transcript: Transcript | None = None
        self._origin = ""
        self._sessions = 0
        super().__init__(name, tools, page_size)
        self._script = Script(self, eras, list_changed=False)
        self._http = Listener(self._serve)
        self._lines = LineServer(name, Script(self, eras, list_changed=True))

    @property
    def url(self) -> str:
        """The URL of its streamable HTTP; raises RuntimeError before it is added to `Upstreams`."""
        if not self._origin:
            raise RuntimeError(f"the upstream {self.name} was not added to Upstreams")
        return f"{self._origin}{PATH}"

    @property
    def port(self) -> int:
        """The port of its streamable HTTP; 0 before it is opened."""
        return self._http.port

    @property
    def command(self) -> list[str]:
        """The command line that reaches this server over stdio: a process that copies bytes.

        Its port is known from the time when the server is open.
        """
        return shim(self._lines.port)

    async def open(self, transcript: Transcript, host: str, advertised_host: str) -> None:
        """Listen for HTTP on `host` and for stdio sessions; called on the loop of `Upstreams`.

        A server that was closed listens at the same ports again.
        """
        self._transcript = transcript
        await self._http.open(host, self._http.port)
        await self._lines.open(transcript)
        self._loop = asyncio.get_running_loop()
        shown = f"[{advertised_host}]" if ":" in advertised_host else advertised_host
        self._origin = f"http://{shown}:{self._http.port}"

    async def close(self) -> None:
        """Stop listening and end every connection; called on the loop of `Upstreams`."""
        self._loop = None
        await self._http.close()
        await self._lines.close()

    def changed(self) -> None:
        """Notify the stdio sessions that the tools changed, if it is open.

        HTTP has no stream for it.
        """
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._lines.announce)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection until one asks to close it."""
        while await self.answer_one(reader, writer):
            await writer.drain()

    async def answer_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Read, answer and record one HTTP request; return whether its connection is to be kept.

        Raises what `read_request` raises, such as IncompleteReadError when the peer has closed.
        """
        request = await read_request(reader)
        method, status, body, headers = self._respond(request)
        line = f"{request.method} {request.path}"
        self._record("received", request.body, f"{line} {method}".rstrip(), request.headers)
        self._record("sent", body, f"{line} {status}", headers)
        writer.write(render_response(status, body, headers))
        return request.keeps

    def _respond(self, request: HttpRequest) -> tuple[str, int, bytes, Headers]:
        """Return (JSON-RPC method, status, body, headers) of the answer to one HTTP request.

        At `/mcp`, a POST gets a scripted answer, a DELETE 200 without effect, other methods 405;
        another path gets 404. Each `initialize` gets a new session id.
        """
        if request.path.partition("?")[0] != PATH:
            return "", 404, b"", ()
        if request.method == "DELETE":
            return "", 200, b"", ()
        if request.method != "POST":
            return "", 405, b"", (("Allow", "POST, DELETE"),)
        answer = self._script.answer(request.body, request.header("mcp-protocol-version"))
        headers: Headers = (_JSON,) if answer.body else ()
        if answer.method == "initialize":
            self._sessions += 1
            headers = (*headers, ("Mcp-Session-Id", f"upstream-{self._sessions}"))
        return answer.method, answer.status, answer.body, headers

    def _record(self, direction: Direction, raw: bytes, note: str, headers: Headers) -> None:
        """Record a message on the upstream edge of the transcript, if there is a transcript yet.

        `note` says in words what it is, such as `POST /mcp tools/call`.
        """
        if self._transcript is not None:
            self._transcript.record(
                edge="upstream",
                direction=direction,
                peer=self.name,
                raw=raw,
                note=note,
                headers=headers,
            )
