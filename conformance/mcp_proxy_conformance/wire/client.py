"""The suite's MCP client over streamable HTTP, by handshake or stateless; it changes no byte."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from mcp_proxy_conformance.wire import jsonrpc, revisions
from mcp_proxy_conformance.wire.connection import DIRECT, Dialing
from mcp_proxy_conformance.wire.conversation import Conversation, handshake_result, refused
from mcp_proxy_conformance.wire.faults import ProtocolFault
from mcp_proxy_conformance.wire.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcp_proxy_conformance.wire.held_answers import Held
    from mcp_proxy_conformance.wire.http import HttpResponse
    from mcp_proxy_conformance.wire.response import Event
    from mcp_proxy_conformance.wire.transcript import Transcript

Wire = Literal["auto", "handshake", "stateless"]
Way = Wire | Literal["stdio"]
"""The wire of a conversation, or a program's standard streams in place of HTTP."""
FORBIDDEN = (401, 403)


class Client(Conversation):
    """A conversation over HTTP with one endpoint, in the handshake era or the stateless one."""

    def __init__(
        self,
        url: str,
        *,
        transcript: Transcript,
        headers: Mapping[str, str] | None = None,
        timeout: float = 10.0,
        wire: Wire = "auto",
        dialing: Dialing = DIRECT,
        held: Held | None = None,
    ) -> None:
        """Connect to nothing yet; ValueError for an unusable URL or header.

        `headers` go with every request, `timeout` is that of a request in seconds; `wire` is the
        era to speak (`auto`: a handshake, else the stateless one); `dialing` sets certificates,
        proxy and redirects; `held` counts the memory of answers, if given.
        """
        self.url = url
        self._requested: Wire = wire
        self._transcript = transcript
        self._headers = dict(headers or {})
        self._dialing = dialing
        self._session = Session(url, transcript=transcript, headers=self._headers, dialing=dialing)
        super().__init__(self._session, timeout, held)

    @property
    def wire(self) -> str:
        """The wire in use, such as `handshake 2025-06-18 (http)`, or `unopened`."""
        if not self._session.revision:
            return "unopened"
        kind = "stateless" if self._session.stateless else "handshake"
        return f"{kind} {self._session.revision} (http)"

    @property
    def session(self) -> str | None:
        """The session's id, None if the target issued none, or none is open."""
        return self._session.id

    def sibling(self) -> Client:
        """Return another client with the same settings, unopened, for a session of its own."""
        return Client(
            self.url,
            transcript=self._transcript,
            headers=self._headers,
            timeout=self.timeout,
            wire=self._requested,
            dialing=self._dialing,
            held=self._held,
        )

    def post(
        self,
        body: bytes,
        *,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
        until: Callable[[Event], bool] = lambda _: False,
    ) -> HttpResponse:
        """Post any bytes in the session, opened if needed, and return the HTTP response, unparsed.

        Its status may be any; a stream is read up to the event that `until` accepts, else to its
        end. `headers` replace those of the same name. Raises Unreachable without a whole answer in
        `timeout` seconds (by default the client's), ProtocolFault for one that is not HTTP or too
        large.
        """
        self.open()
        return self._session.post(body, headers or {}, self._seconds(timeout), until)

    def _settle(self) -> None:
        """Agree on a revision as the requested wire says: by handshake, stateless, or `auto`.

        `auto` tries a handshake, and the stateless revision after a ProtocolFault without HTTP
        status 401 or 403; if both fail by one, that of the handshake is raised. An Unreachable is
        raised at once.
        """
        if self._requested == "stateless":
            self._discover()
            return
        try:
            self._shake_hands()
        except ProtocolFault as refusal:
            if self._requested == "handshake" or refusal.status in FORBIDDEN:
                raise
            self._session.forget()
            try:
                self._discover()
            except ProtocolFault:
                raise refusal from None

    def _discover(self) -> None:
        """Agree on the stateless revision by `server/discover`; keep the answer as `opening`.

        Raises ProtocolFault if the target does not list that revision.
        """
        self._session.revision = revisions.LATEST_STATELESS
        reply = self._session.ask("server/discover", None, self.timeout)
        versions = handshake_result(reply).get("supportedVersions")
        if not isinstance(versions, list) or revisions.LATEST_STATELESS not in versions:
            observed = f"the versions {jsonrpc.quoted(versions)}"
            raise refused(reply, f"support for {revisions.LATEST_STATELESS}", observed)
        self.opening = reply
