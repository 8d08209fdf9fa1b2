"""Connection to a scripted server, direct or through a relay: clients, calls, their outcomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from mcp_proxy_conformance.fidelity import exact_json
from mcp_proxy_conformance.fidelity.exact_json import ABSENT, Pairs
from mcp_proxy_conformance.upstream.relayed import Era, RelayedServer
from mcp_proxy_conformance.verdict.result import Inconclusive
from mcp_proxy_conformance.wire.client import Wire
from mcp_proxy_conformance.wire.conversation import Conversation
from mcp_proxy_conformance.wire.faults import ProtocolFault, Unreachable
from mcp_proxy_conformance.wire.jsonrpc import dumps, list_of
from mcp_proxy_conformance.wire.reply import Reply

KINDS = "RLY.up.arguments.kinds"
SILENT_S = 5.0
"""Seconds after which a request that has no answer was waited for in vain."""
Kind = Literal["result", "tool error", "error", "none"]
"""`none`: there is no answer, or none that the protocol allows."""
Connect = Callable[[Mapping[str, str], Wire], Conversation]
"""Makes a client that sends these headers, of the era of that wire; it connects to nothing yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The outcome of a request: its kind, and the result or error object, exactly, or why none."""

    kind: Kind
    value: Any

    @property
    def document(self) -> Pairs:
        """The outcome as an object of `kind` and `result` or `error`, to which cases' paths apply.

        One of kind `none` has its kind only.
        """
        if self.kind == "none":
            return Pairs((("kind", self.kind),))
        member = "error" if self.kind == "error" else "result"
        return Pairs((("kind", self.kind), (member, self.value)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The tools of all pages, in order, and the cursors that led to the pages after the first."""

    tools: tuple[Pairs, ...]
    cursors: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tools, in order."""
        return tuple(str(tool.last().get("name")) for tool in self.tools)


class Side:
    """One way to one server: clients, their calls, and the server's journal.

    Attributes:
        server: The server.
        unheard: Methods of messages that were waited for in vain.
    """

    def __init__(
        self, server: RelayedServer, connect: Connect, prefix: str = "", era: Era = "handshake"
    ) -> None:
        """Connect to nothing yet; `prefix` stands before each tool's name on this way.

        `era` is that of its clients by default.
        """
        self.server = server
        self._connect = connect
        self.unheard = set[str]()
        self._prefix = prefix
        self._era = era
        self._clients: list[Conversation] = []
        self._mains: dict[Wire, Conversation] = {}
        self._refusals: dict[Wire, str | None] = {}
        self._listing: Listing | Unreachable | ProtocolFault | None = None

    @property
    def main(self) -> Conversation:
        """The client that checks share, in one session."""
        return self.main_of(self._era)

    def main_of(self, wire: Wire) -> Conversation:
        """Return the client of an era that checks share, made at first use."""
        if wire not in self._mains:
            self._mains[wire] = self.client(wire=wire)
        return self._mains[wire]

    def forget_mains(self) -> None:
        """Have `main_of` make new clients from now on; the present ones are not closed."""
        self._mains.clear()

    def refusal_of(self, wire: Wire) -> str | None:
        """Return why this way does not serve clients of an era; None if it does.

        The shared client of that era is opened for it, once; the result is kept.
        """
        if wire not in self._refusals:
            try:
                self.main_of(wire).open()
            except (Unreachable, ProtocolFault) as fault:
                self._refusals[wire] = str(fault)
            else:
                self._refusals[wire] = None
        return self._refusals[wire]

    def expect_refusal(self, wire: Wire, refusal: str) -> None:
        """Have `refusal_of` return `refusal` for clients of an era, without a connection."""
        self._refusals[wire] = refusal

    def client(
        self, headers: Mapping[str, str] | None = None, wire: Wire | None = None
    ) -> Conversation:
        """Return a new client of an era, by default this way's, which is not connected yet.

        `headers` go with its requests; `Side.close` ends it. Raises ProtocolFault for an era that
        the suite does not speak on this way.
        """
        client = self._connect(headers or {}, wire or self._era)
        self._clients.append(client)
        return client

    def name_of(self, tool: str) -> str:
        """Return the name under which this way lists a tool of the server."""
        return f"{self._prefix}{tool}"

    def bare(self, name: str) -> str:
        """Return the server's own name of a tool that this way lists."""
        return name.removeprefix(self._prefix)

    def call(
        self, tool: str, arguments: bytes = b"{}", *, client: Conversation | None = None,
        meta: bytes = b"", timeout: float | None = None,
    ) -> Outcome:  # fmt: skip
        """Call a tool of the server, by its own name there; return the outcome.

        `arguments` and `meta`, if not empty, are JSON texts that are sent to the byte. `client` is
        by default the one that checks share; `timeout` is in seconds.
        """
        members = [b'"name":' + dumps(self.name_of(tool)), b'"arguments":' + arguments]
        members += [b'"_meta":' + meta] if meta else []
        params = b"{" + b",".join(members) + b"}"
        return self.asked("tools/call", params, client=client, timeout=timeout)

    def asked(
        self, method: str, params: bytes = b"{}", *, client: Conversation | None = None,
        timeout: float | None = None,
    ) -> Outcome:  # fmt: skip
        """Send a request, params to the byte; return the outcome, of kind `none` without an answer.

        `client` is by default the one that checks share; `timeout` is in seconds.
        """
        who = client or self.main
        try:
            return outcome(who.request(method, raw_params=params, timeout=timeout))
        except (Unreachable, ProtocolFault) as fault:
            return Outcome(kind="none", value=str(fault))

    def expect_argument(self, mark: int, name: str, *values: str) -> None:
        """Raise Inconclusive if calls have arrived since the mark, but not with all these values.

        What the server does in a call depends on that argument.
        """
        calls = self.server.journal.calls(mark)
        lost = {*values} - {str(call.arguments().get(name)) for call in calls}
        if calls and lost:
            raise Inconclusive(
                f"no call reaches the upstream with {name!r}: {', '.join(sorted(lost))}",
                cause="other_clause", needs=(KINDS,),
            )  # fmt: skip

    def listing(self) -> Listing:
        """Return the tools that this way lists, all pages of them, asked for once.

        Raises Unreachable without an answer, ProtocolFault for an invalid one or a cursor that
        comes again. A further call returns or raises the same.
        """
        if self._listing is None:
            try:
                self._listing = self.list_anew()
            except (Unreachable, ProtocolFault) as fault:
                self._listing = fault
        if isinstance(self._listing, Exception):
            raise self._listing
        return self._listing

    @property
    def silence(self) -> Unreachable | None:
        """The error of `listing`, if it waited 5 s or more for an answer that did not come."""
        fault = self._listing
        return fault if isinstance(fault, Unreachable) and fault.seconds >= SILENT_S else None

    def expect_silence(self, silence: Unreachable) -> None:
        """Have `listing` raise the error `silence`, without asking for the list."""
        self._listing = silence

    @property
    def has_tools(self) -> bool:
        """Whether the list that `listing` keeps has a tool; False if that list cannot be read."""
        try:
            return bool(self.listing().tools)
        except (Unreachable, ProtocolFault):
            return False

    def list_anew(self, client: Conversation | None = None) -> Listing:
        """Return the tools that this way lists now, on all pages; `listing` keeps its own.

        `client` is by default the one that checks share. Raises Unreachable without an answer, or
        at once if `listing` got none in 5 s; ProtocolFault for an invalid one or a cursor that
        comes again.
        """
        if self.silence is not None:
            raise self.silence
        pages = [exact_json.read(page.result) for page in (client or self.main).tool_pages()]
        tools = [tool for page in pages for tool in list_of(page.last().get("tools"))]
        cursors = [page.last()["nextCursor"] for page in pages if "nextCursor" in page.last()]
        entries = tuple(tool for tool in tools if isinstance(tool, Pairs))
        return Listing(tools=entries, cursors=tuple(filter(None, cursors)))

    def tool(self, name: str) -> Any:
        """Return the entry that this way lists for that tool of the server; ABSENT if unlisted.

        Raises Unreachable if the list was not answered, ProtocolFault if the answer was invalid.
        """
        listed = self.name_of(name)
        for entry in self.listing().tools:
            if entry.last().get("name") == listed:
                return entry
        return ABSENT

    def close(self) -> None:
        """End every client."""
        for client in self._clients:
            client.close()


def outcome(reply: Reply) -> Outcome:
    """Return the outcome of a reply; ValueError if its bytes are not JSON."""
    members = exact_json.read(reply.raw).last()
    if reply.error is not None:
        return Outcome(kind="error", value=members["error"])
    result = members["result"]
    failed = result.last().get("isError") is True
    return Outcome(kind="tool error" if failed else "result", value=result)
