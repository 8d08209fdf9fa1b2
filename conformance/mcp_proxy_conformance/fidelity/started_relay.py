"""Started relay in front of a scripted server; a direct connection to one with equal data."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from urllib.parse import quote

from mcp_proxy_conformance.fidelity.listening_client import (
    Carrier,
    ListeningClient,
    OverHttp,
    OverSse,
    OverStdio,
)
from mcp_proxy_conformance.fidelity.relay_case import RelayCase
from mcp_proxy_conformance.fidelity.relay_target import Reached, RelayTarget, command_line
from mcp_proxy_conformance.fidelity.side import Side
from mcp_proxy_conformance.fidelity.stateless_client import StatelessClient
from mcp_proxy_conformance.targets.process import Spawned
from mcp_proxy_conformance.targets.target import TargetNotStarted
from mcp_proxy_conformance.upstream.hub import Upstreams
from mcp_proxy_conformance.upstream.relayed import Answer, Era, Page, Relayed, RelayedServer
from mcp_proxy_conformance.upstream.relayed_stateless import relayed_server
from mcp_proxy_conformance.wire.client import Client, Wire
from mcp_proxy_conformance.wire.conversation import Conversation
from mcp_proxy_conformance.wire.faults import ProtocolFault, Unreachable
from mcp_proxy_conformance.wire.sse import SseClient
from mcp_proxy_conformance.wire.stdio import StdioClient
from mcp_proxy_conformance.wire.transcript import Message, Transcript, last_exchange

PAUSE_S, REFUSES_S = 0.05, 1.5
TIMEOUT_S, SERVES_S = 10.0, 3.0
DIRECT = "direct"
"""The name of the server that the suite's client reaches without the relay."""
UPSTREAM_TOKEN = "canary/of+the-upstream-4f1c9e="  # noqa: S105 - a canary, not a secret
UPSTREAM_KEY = "canary+in/the-url-81ab03"
IN_ENVIRONMENT = "canary/in+the-environment-7d20aa"
SECOND_TOKEN = "canary/of+the-second-2e9ab7="  # noqa: S105 - a canary, not a secret
SECOND_KEY = "canary+in/the-second-url-55c0d1"
OF_RELAY = "canary+for/the-relay-alone-6e12d4"
VARIABLE, OWN_VARIABLE = "UPSTREAM_API_KEY", "RELAY_ADMIN_TOKEN"
"""Credentials that the relay is given, of upstreams and its own: in headers, URLs, variables."""
NO_SEVERAL = (
    "the relay has one upstream; to have it judged with two, name them by {upstream_url_2} or"
    " {upstream_2} in the command line `several` of [relay]"
)
NAMES = {"stdio": "stdio", "sse": "HTTP+SSE"}
"""Transports over which the suite is no client of 2026-07-28, as a reason names them."""
EMPTY = Relayed(pages={None: Page(entries=())})


class StartedRelay:
    """A relay in front of one server, and a second server with equal data for the direct way.

    Attributes:
        given: The data of the servers, which have the tools that the relay filters beside.
        refusal: Why it opens no session in front of a server of 2026-07-28, or cannot have several
            servers; empty if it does.
        unserved: Why it lists no tools to clients of an era, empty if it does; filled by a bench.
        listed: The names on the first page of such a list; filled by a bench.
        second: The second server behind it, if its command line names two.
    """

    def __init__(self, target: RelayTarget, given: Relayed, folder: Path) -> None:
        """Start servers and relay, its output in `folder`, and wait until it opens a session.

        Raises:
            TargetNotStarted: It cannot be started, ends, or opens no session in time.
        """
        began = time.monotonic()
        self.target, self.given, self.transcript = target, given, Transcript()
        place = target.upstreams
        self.hub = Upstreams(self.transcript, host=place.bind, advertised_host=place.host).start()
        self._process: Spawned | None = None
        self.refusal = ""
        self.unserved: dict[Wire, str] = {}
        self.listed: dict[Wire, tuple[str, ...]] = {}
        self._other: Side | None = None
        self._has_stopped = False
        self._kept: list[ListeningClient] = []
        self._keeping = threading.Lock()
        self.second: RelayedServer | None = None
        try:
            served = given.having(target.facts.filters)
            beside = self.hub.add(relayed_server(DIRECT, served))
            behind = self.hub.add(relayed_server("upstream", served))
            self.direct = Side(beside, partial(self._client, beside.url), era=given.era)
            self._env = {**os.environ, VARIABLE: IN_ENVIRONMENT, OWN_VARIABLE: OF_RELAY}
            if given.second is not None or target.command == target.of_several:
                self.second = self.hub.add(relayed_server("second", given.second or EMPTY))
            if given.second is not None and not target.of_several:
                self.through, self.refusal = Side(behind, self._to_relay), NO_SEVERAL
                return
            try:
                self._start(behind, folder)
            except TargetNotStarted:
                if self.alive():
                    raise
                self._start(behind, folder)  # somebody else may have taken its port
        except TargetNotStarted as error:
            if given.era == "handshake":
                self.close()
                raise
            self.refusal = str(error).partition("; its log")[0]
            if not self.command_line.url:
                self.through.expect_refusal("handshake", self.refusal)
        except BaseException:
            self.close()
            raise
        finally:
            self.seconds = time.monotonic() - began

    @property
    def modern(self) -> Side:
        """The direct way for clients of 2026-07-28: to a server of that revision, with the data."""
        return self.direct_of("stateless")

    def direct_of(self, era: Era) -> Side:
        """Return the direct way for clients of an era; its server is started at first use."""
        given = self.direct.server.given
        if given.era == era:
            return self.direct
        if self._other is None:
            other = self.hub.add(relayed_server(DIRECT, replace(given, era=era)))
            self._other = Side(other, partial(self._client, other.url), era=era)
        return self._other

    @property
    def wire(self) -> str:
        """The wire on which the relay speaks to its client."""
        return str(getattr(self.through.main, "wire", ""))

    @property
    def _directs(self) -> Sequence[Side]:
        return [side for side in (getattr(self, "direct", None), self._other) if side is not None]

    def log(self) -> str:
        """Return the end of what the relay printed; empty over stdio."""
        return "" if self._process is None else self._process.tail()

    def alive(self) -> bool:
        """Whether the relay's process runs; True over stdio, where each client has its own."""
        return self._process is None or self._process.alive()

    def is_direct(self, message: Message) -> bool:
        """Whether a message of the transcript was sent on the direct way, without the relay."""
        return message.peer in (DIRECT, *(side.server.url for side in self._directs))

    def latest(self) -> tuple[str, ...]:
        """Return the ids of the last act's messages: a request to the relay, and what followed."""
        passed = (each for each in self.transcript.since(0) if not self.is_direct(each))
        return last_exchange(passed, {"client", "upstream"})

    def close(self) -> None:
        """End the clients, the relay and the servers."""
        for client in self._kept:
            client.end()
        for side in (getattr(self, "through", None), *self._directs):
            if side is not None:
                side.close()
        if self._process is not None:
            self._process.end()
        self.hub.close()

    def _start(self, behind: RelayedServer, folder: Path) -> None:
        """Start the relay's process, if it serves HTTP, and open the first session in time.

        In front of a server of 2026-07-28, a session that is still refused after 1.5 s is noted as
        `refusal`, over stdio also one that is not answered then: each attempt starts a program.
        Raises TargetNotStarted if that takes longer than the target's `ready_s`, or the process
        ends.
        """
        first = _reached(behind, UPSTREAM_KEY, UPSTREAM_TOKEN)
        second = None
        if self.second is not None:
            second = _reached(self.second, SECOND_KEY, SECOND_TOKEN)
        self.command_line = command_line(self.target, first, second)
        self.through = Side(behind, self._to_relay, self.target.facts.prefix)
        if (transport := self.target.transport) in NAMES:
            why = f"over {NAMES[transport]} the suite is a client with a handshake alone"
            self.through.expect_refusal("stateless", why)
        deadline = time.monotonic() + self.target.ready_s
        folder.mkdir(parents=True, exist_ok=True)
        if self._process is not None:
            self._process.end()
        if self.command_line.url:
            self._process = Spawned(
                self.command_line.words, env=self._env, log=folder / "relay.log"
            )
        why, refuses_at = "opened no session", time.monotonic() + REFUSES_S
        while True:
            try:
                self.through.main.open()
            except (Unreachable, ProtocolFault) as error:
                why = f"opened no session ({error})"
                is_told = isinstance(error, ProtocolFault) or not self.command_line.url
                if is_told and behind.given.era == "stateless" and time.monotonic() > refuses_at:
                    self.refusal = why
                    if not self.command_line.url:
                        self.through.expect_refusal("handshake", why)
                    return
            else:
                return
            if self._process is not None:
                self._process.check(deadline, why)
            elif time.monotonic() > deadline:
                raise TargetNotStarted(f"the target {why} in time")
            time.sleep(PAUSE_S)

    def _to_relay(self, headers: Mapping[str, str], wire: Wire) -> Conversation:
        """Return a client of the relay; one over stdio has a relay of its own, and no headers.

        ProtocolFault for the stateless era over another transport than streamable HTTP.
        """
        transport, url = self.target.transport, self.command_line.url
        shown = self.target.facts.client_headers() | dict(headers)
        if transport == "http":
            return self._client(url, shown, wire)
        if wire == "stateless":
            raise ProtocolFault("handshake", "a relay of streamable HTTP", NAMES[transport])
        if transport == "sse":
            return SseClient(url, transcript=self.transcript, headers=shown, timeout=TIMEOUT_S)
        return StdioClient(
            self.command_line.words, env=self._env, transcript=self.transcript, timeout=TIMEOUT_S
        )

    def _client(self, url: str, headers: Mapping[str, str], wire: Wire) -> Conversation:
        return Client(
            url, transcript=self.transcript, headers=headers, timeout=TIMEOUT_S, wire=wire
        )

    def stateless(self, side: Side) -> StatelessClient:
        """Return a new client of 2026-07-28 on a way over HTTP, which the caller closes.

        Through the relay it sends the headers that authorize a client.
        """
        if side is self.through:
            return StatelessClient(
                self.command_line.url, self.transcript, self.target.facts.client_headers()
            )
        return StatelessClient(side.server.url, self.transcript)

    def listening(self, side: Side, capabilities: bytes) -> ListeningClient:
        """Return a client of a way that declares these capabilities; the caller closes it.

        Where a client costs a program, it may be one that was closed, in a session that is as new.
        """
        with self._keeping:
            kept = [each for each in self._kept if each.capabilities == capabilities]
            if kept and side is self.through:
                self._kept.remove(kept[0])
                kept[0].begin_anew()
                return kept[0]
        client = ListeningClient(self.carrier(side), capabilities)
        client.unheard = side.unheard
        client.keep_in(self._kept)
        return client

    def carrier(self, side: Side) -> Carrier:
        """Return a new transport of a client to a way; one over stdio has a relay of its own."""
        if side is not self.through:
            return OverHttp(side.server.url, self.transcript)
        url, shown = self.command_line.url, self.target.facts.client_headers()
        if self.target.transport == "sse":
            return OverSse(url, self.transcript, shown)
        if self.target.transport == "http":
            return OverHttp(url, self.transcript, shown)
        return OverStdio(self.command_line.words, self._env, self.transcript)

    def answer_as(self, case: RelayCase) -> None:
        """Have both servers answer calls of that case as it says; nothing if it says no answer."""
        if case.result or case.error:
            answer = Answer(result=bytes(case.result), error=bytes(case.error))
            for side in (self.direct, self.through):
                side.server.answers[case.id] = answer

    def stop_upstream(self) -> None:
        """End the server behind the relay; its ports refuse connections from then on."""
        if not self._has_stopped:
            self._has_stopped = True
            self.hub.remove(self.through.server)

    def renew(self) -> bool:
        """Have the servers answer as at first, a stopped one too; return whether the relay serves.

        A call of a tool has to reach the upstream and be answered, in the session that checks share
        or, of a relay with a URL, in a new one. A relay that has listed no tool serves as it did
        while it runs; one whose upstream has asked for tokens does not, as it may hold another.
        """
        if self.through.server.authority is not None:
            return False
        for side in (self.through, *self._directs):
            side.server.restore()
        if self._has_stopped:
            try:
                self.hub.add(self.through.server)
            except OSError:  # somebody else has one of its ports
                return False
            self._has_stopped = False
        if not self.through.has_tools:
            return self.alive()
        return self._serves() or (bool(self.command_line.url) and self._serves(anew=True))

    def _serves(self, *, anew: bool = False) -> bool:
        """Whether a call of the first listed tool reaches the upstream and is answered, within 3 s.

        With `anew` it is made in a new session, which checks share from then on.
        """
        if anew:
            self.through.forget_mains()
        mark, tool = self.through.server.journal.mark(), self.through.listing().names[0]
        shown = self.through.call(self.through.bare(tool), timeout=SERVES_S)
        arrived = bool(self.through.server.journal.calls(mark))
        return self.alive() and shown.kind == "result" and arrived


def _reached(server: RelayedServer, key: str, token: str) -> Reached:
    """Return how the relay reaches a server; the key is in the URL, the token is for a header."""
    url = f"{server.url}?api_key={quote(key, safe='')}"
    return Reached(command=server.command, url=url, token=token)
