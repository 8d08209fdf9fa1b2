"""Conversation with a target over any transport: handshake, requests, list of tools, its end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self

from mcp_proxy_conformance.wire import jsonrpc, revisions
from mcp_proxy_conformance.wire.faults import ProtocolFault
from mcp_proxy_conformance.wire.reply import Reply, ToolReply

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcp_proxy_conformance.wire.held_answers import Held

MAX_PAGES = 1000
LONGEST = 100
"""The most characters of the name and of the version of a server."""


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """The name and version of a server, as it gives them; empty if it gives none."""

    name: str = ""
    version: str = ""


class Carrier(Protocol):
    """Transport that sends messages to one target; `revision` is empty before the handshake."""

    revision: str

    def ask(self, method: str, params: bytes | None, timeout: float) -> Reply:
        """Send a request, params already encoded, and return its answer, which may be an error.

        Raises Unreachable without one in `timeout` seconds, ProtocolFault for an invalid one.
        """

    def tell(self, method: str, params: bytes | None, timeout: float) -> None:
        """Send a notification, params already encoded; no answer is returned.

        Raises Unreachable if it cannot be sent in `timeout` seconds.
        """

    def exchange(self, body: bytes, until: Callable[[bytes], bool], timeout: float) -> bytes:
        """Send a message as it is, and return the first one after it that `until` accepts.

        Raises Unreachable without one in `timeout` seconds, ProtocolFault if it is refused.
        """

    def granted(self, reply: Reply, revision: str) -> None:
        """Store the revision, and the session's id if there is one, from the handshake's answer."""

    def forget(self) -> None:
        """Clear the revision and the session; the connection or program may be kept."""

    def end(self, timeout: float) -> None:
        """End the session and the connection or program; never raises."""


class Conversation:
    """One session on one thread. Nothing is sent before the first request.

    Every method that sends raises `Unreachable` if no answer arrives, and `ProtocolFault` if the
    protocol does not allow the answer. A JSON-RPC error is a value: `Reply.error`.

    `held` counts the memory of its answers, where that is bounded.

    Attributes:
        timeout: Seconds that each request may take by default.
        opening: The answer that settled the revision; None before that.
    """

    def __init__(self, carrier: Carrier, timeout: float, held: Held | None = None) -> None:
        """Send nothing yet; `timeout` is that of a request, in seconds.

        `held` counts the memory of answers; without one it is not bounded.
        """
        self.timeout = timeout
        self.opening: Reply | None = None
        self._carrier = carrier
        self._held = held

    @property
    def revision(self) -> str:
        """The revision that was agreed on; empty before that."""
        return self._carrier.revision

    @property
    def session(self) -> str | None:
        """The id of the session; None here, for transports without session ids.

        `Client` overrides it.
        """
        return None

    @property
    def server(self) -> ServerInfo:
        """The server's name and version, each cut to 100 characters, from the answer `opening`.

        Each is empty if the server gives no text for it; both before that answer.
        """
        try:
            opened = self.opening.value() if self.opening is not None else {}
        except ProtocolFault:
            return ServerInfo()
        meta = opened.get("_meta")
        later = meta.get(revisions.META_SERVER) if isinstance(meta, dict) else None
        info = opened.get("serverInfo", later)
        texts = [info.get("name"), info.get("version")] if isinstance(info, dict) else []
        shown = [text[:LONGEST] if isinstance(text, str) else "" for text in texts]
        return ServerInfo(*shown)

    def open(self) -> Self:
        """Agree on a revision with the target, unless that is done; return self.

        On failure forget the session, end the carrier, and raise Unreachable or ProtocolFault.
        """
        if not self._carrier.revision:
            try:
                self._settle()
            except BaseException:
                self._carrier.forget()
                self._carrier.end(self.timeout)
                raise
        return self

    def close(self) -> None:
        """End the session, if there is one, and its carrier; `opening` becomes None.

        It never raises; the next request opens a new session.
        """
        self._carrier.end(self.timeout)
        self.opening = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        raw_params: bytes | None = None,
        timeout: float | None = None,
    ) -> Reply:
        """Send a request, opening the session if needed, and return its answer.

        `raw_params` are bytes to send as they are, instead of `params`. A JSON-RPC error is
        returned. Raises Unreachable without an answer in `timeout` seconds (by default the
        conversation's), ProtocolFault for an invalid one, or if the large answers still held take
        too much memory.
        """
        self.open()
        reply = self._carrier.ask(method, _bytes(params, raw_params), self._seconds(timeout))
        if self._held is not None:
            self._held.take(reply.envelope)
        return reply

    def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Send a notification, in the session, opened if needed; no answer is returned.

        Raises Unreachable, or over HTTP ProtocolFault unless it is acknowledged.
        """
        self.open()
        self._carrier.tell(method, _bytes(params, None), self.timeout)

    def exchange(self, body: bytes, until: Callable[[bytes], bool]) -> bytes:
        """Send a message as it is; return the first message after it that `until` accepts.

        It is sent in the session, opened if needed. Raises Unreachable without such a message in
        `self.timeout` seconds, ProtocolFault if the message is refused.
        """
        self.open()
        return self._carrier.exchange(body, until, self.timeout)

    def call_tool(self, name: str, arguments: Mapping[str, Any] | None = None) -> ToolReply:
        """Call a tool (`tools/call`); a JSON-RPC error or a tool error is returned, not raised.

        Raises Unreachable without an answer in time, ProtocolFault for an invalid one.
        """
        params = {"name": name, "arguments": dict(arguments or {})}
        return ToolReply.of(self.request("tools/call", params))

    def tool_pages(self) -> tuple[Reply, ...]:
        """Return all pages of `tools/list`, each with its exact bytes, following `nextCursor`.

        Raises:
            ProtocolFault: A request is refused, a cursor comes again or is not a text, or there are
                more than 1000 pages.
        """
        pages: list[Reply] = []
        cursors: set[str] = set()
        cursor: str | None = None
        while len(pages) < MAX_PAGES:
            reply = self.request("tools/list", {} if cursor is None else {"cursor": cursor})
            pages.append(reply)
            cursor = reply.value().get("nextCursor")
            if cursor is None:
                return tuple(pages)
            if not isinstance(cursor, str) or cursor in cursors:
                raise reply.fault("a new cursor or none", f"the cursor {jsonrpc.quoted(cursor)}")
            cursors.add(cursor)
        raise pages[-1].fault(f"at most {MAX_PAGES} pages of tools", "one more")

    def tools(self) -> list[dict[str, Any]]:
        """Return every tool of every page as Python data.

        A refused request, a page without an array `tools`, or an entry without a string as its name
        raises `ProtocolFault`.
        """
        tools: list[dict[str, Any]] = []
        for page in self.tool_pages():
            listed = page.value().get("tools")
            if not isinstance(listed, list):
                raise page.fault('an array as "tools"', "none")
            for tool in listed:
                if not isinstance(tool, dict) or not isinstance(tool.get("name"), str):
                    raise page.fault('an object with a "name" for each tool', "another value")
            tools += listed
        return tools

    def _seconds(self, timeout: float | None) -> float:
        """Return the timeout if one is given, else that of the conversation."""
        return self.timeout if timeout is None else timeout

    def _settle(self) -> None:
        """Agree on a revision by a handshake; overridden where the target may have no handshake."""
        self._shake_hands()

    def _shake_hands(self) -> None:
        """Send `initialize` with the latest handshake revision, then `notifications/initialized`.

        The carrier stores the revision that the target chose, and the session's id; the answer is
        kept as `opening`. Raises ProtocolFault if the target refuses, or chooses a revision that is
        unknown here.
        """
        params = {
            "protocolVersion": revisions.LATEST_HANDSHAKE,
            "capabilities": {},
            "clientInfo": revisions.CLIENT_INFO,
        }
        reply = self._carrier.ask("initialize", jsonrpc.dumps(params), self.timeout)
        revision = handshake_result(reply).get("protocolVersion")
        if revision not in revisions.HANDSHAKE_REVISIONS:
            observed = f"the revision {jsonrpc.quoted(revision)}"
            raise refused(reply, "a revision that this suite knows", observed)
        self._carrier.granted(reply, revision)
        self._carrier.tell("notifications/initialized", None, self.timeout)
        self.opening = reply


def handshake_result(reply: Reply) -> dict[str, Any]:
    """Return the result in a handshake's answer; ProtocolFault if the target refused the client."""
    if reply.error is not None:
        raise refused(reply, "a successful handshake", "an error")
    return reply.value()


def refused(reply: Reply, expected: str, observed: str) -> ProtocolFault:
    """Return the fault for a handshake that failed, with the reply's bytes and HTTP status."""
    return ProtocolFault("handshake", expected, observed, reply.raw, status=reply.status)


def _bytes(params: Mapping[str, Any] | None, raw_params: bytes | None) -> bytes | None:
    """Return the params to send: `raw_params` if given, else `params` encoded; None for neither."""
    if raw_params is not None:
        return raw_params
    return None if params is None else jsonrpc.dumps(params)
