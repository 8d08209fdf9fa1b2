"""The suite's own MCP client: it re-serialises nothing and loses no byte."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

from mcp_proxy_conformance.wire import era, jsonrpc
from mcp_proxy_conformance.wire.faults import ProtocolFault
from mcp_proxy_conformance.wire.reply import Reply, ToolReply
from mcp_proxy_conformance.wire.session import Session, refused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_proxy_conformance.transcript import Transcript
    from mcp_proxy_conformance.wire.http import Answer

Wire = Literal["auto", "handshake", "stateless"]
MAX_PAGES = 1000
FORBIDDEN = (401, 403)


class Client:
    """One endpoint, one session, one thread. Nothing is sent before the first request.

    Every method that talks raises `Unreachable` when no answer comes, and `ProtocolFault` when
    what comes is no answer that the protocol allows. A JSON-RPC error is a value: `Reply.error`.

    Attributes:
        opening: The answer that settled how to speak; nothing before that.
    """

    def __init__(
        self,
        url: str,
        *,
        transcript: Transcript,
        headers: Mapping[str, str] | None = None,
        timeout: float = 10.0,
        wire: Wire = "auto",
        name: str = "mcp-proxy-conformance",
    ) -> None:
        self.url = url
        self.timeout = timeout
        self.opening: Reply | None = None
        self._asked: Wire = wire
        self._transcript = transcript
        self._headers = dict(headers or {})
        self._session = Session(url, transcript=transcript, headers=self._headers, name=name)

    @property
    def wire(self) -> str:
        """How the endpoint is spoken to, such as `handshake 2025-06-18 (http)`, or `unopened`."""
        if not self._session.revision:
            return "unopened"
        kind = "stateless" if self._session.stateless else "handshake"
        return f"{kind} {self._session.revision} (http)"

    @property
    def session(self) -> str | None:
        """The session's id, if the target gave one."""
        return self._session.id

    def open(self) -> Self:
        """Settle how to speak, unless that is done: the handshake, or else the stateless wire."""
        if not self._session.revision:
            try:
                self._settle()
            except BaseException:
                self._session.forget()
                self._session.end(self.timeout)
                raise
        return self

    def close(self) -> None:
        """End the session, if there is one, and the connection. It never raises."""
        self._session.end(self.timeout)
        self.opening = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def sibling(self) -> Client:
        """Another client with the same settings and a session of its own."""
        return Client(
            self.url,
            transcript=self._transcript,
            headers=self._headers,
            timeout=self.timeout,
            wire=self._asked,
            name=self._session.name,
        )

    def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        raw_params: bytes | None = None,
        timeout: float | None = None,
    ) -> Reply:
        """Ask and wait. `raw_params` are sent as they are, byte for byte."""
        self.open()
        return self._session.ask(method, _bytes(params, raw_params), self._seconds(timeout))

    def notify(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        raw_params: bytes | None = None,
    ) -> None:
        """Tell, and expect no more than an acknowledgement."""
        self.open()
        self._session.tell(method, _bytes(params, raw_params), self.timeout)

    def call_tool(
        self, name: str, arguments: Mapping[str, Any] | None = None, *, timeout: float | None = None
    ) -> ToolReply:
        """`tools/call`; a refusal, of either kind, is a value."""
        params = {"name": name, "arguments": dict(arguments or {})}
        return ToolReply.of(self.request("tools/call", params, timeout=timeout))

    def tool_pages(self) -> tuple[Reply, ...]:
        """All pages of `tools/list`, each with its exact bytes."""
        pages: list[Reply] = []
        seen: set[str] = set()
        cursor: str | None = None
        while len(pages) < MAX_PAGES:
            reply = self.request("tools/list", {} if cursor is None else {"cursor": cursor})
            pages.append(reply)
            cursor = reply.value().get("nextCursor")
            if cursor is None:
                return tuple(pages)
            if not isinstance(cursor, str) or cursor in seen:
                raise reply.fault("a new cursor or none", f"the cursor {cursor!r}")
            seen.add(cursor)
        raise pages[-1].fault(f"at most {MAX_PAGES} pages of tools", "one more")

    def tools(self) -> list[dict[str, Any]]:
        """Every tool of every page, as Python data; a refusal is a `ProtocolFault` here."""
        tools: list[dict[str, Any]] = []
        for page in self.tool_pages():
            listed = page.value().get("tools")
            if not isinstance(listed, list):
                raise page.fault("an array as 'tools'", "none")
            for tool in listed:
                if not isinstance(tool, dict) or not isinstance(tool.get("name"), str):
                    raise page.fault("an object with a 'name' for each tool", "another value")
            tools += listed
        return tools

    def post(
        self,
        body: bytes,
        *,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> Answer:
        """Post any bytes in the open session and take any answer: no envelope is read.

        `headers` stand in for those of the same name. Of a stream, all is read.
        """
        self.open()
        return self._session.post(body, headers or {}, self._seconds(timeout))

    def _seconds(self, timeout: float | None) -> float:
        return self.timeout if timeout is None else timeout

    def _settle(self) -> None:
        if self._asked == "stateless":
            self._discover()
            return
        try:
            self._shake_hands()
        except ProtocolFault as refusal:
            if self._asked == "handshake" or refusal.status in FORBIDDEN:
                raise
            self._session.forget()
            try:
                self._discover()
            except ProtocolFault:
                raise refusal from None

    def _shake_hands(self) -> None:
        info = era.client_info(self._session.name)
        params = {"protocolVersion": era.LATEST_HANDSHAKE, "capabilities": {}, "clientInfo": info}
        reply = self._session.ask("initialize", jsonrpc.dumps(params), self.timeout)
        revision = _let_in(reply).get("protocolVersion")
        if revision not in era.HANDSHAKE_REVISIONS:
            raise refused(reply, "a known revision of the handshake", f"{revision!r}")
        self._session.granted(reply, revision)
        self._session.tell("notifications/initialized", None, self.timeout)
        self.opening = reply

    def _discover(self) -> None:
        self._session.revision = era.LATEST_STATELESS
        reply = self._session.ask("server/discover", None, self.timeout)
        versions = _let_in(reply).get("supportedVersions")
        if not isinstance(versions, list) or era.LATEST_STATELESS not in versions:
            raise refused(reply, f"support for {era.LATEST_STATELESS}", f"{versions!r}")
        self.opening = reply


def _bytes(params: Mapping[str, Any] | None, raw_params: bytes | None) -> bytes | None:
    if raw_params is not None:
        return raw_params
    return None if params is None else jsonrpc.dumps(params)


def _let_in(reply: Reply) -> dict[str, Any]:
    if reply.error is not None:
        raise refused(reply, "the client to be let in", "a refusal")
    return reply.value()
