"""Loader variants of HTTP: streams, redirects, further requests, shared cookies and sessions."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

import httpx2

from mcp_proxy_mutants.resilience.pieces import Attempt, over
from mcp_proxy_mutants.resilience.variant import Fresh, LoadVariant, load_variant
from mcp_proxy_reference.loader import Connect, Connection, Json, Session, Signal
from mcp_proxy_reference.sessions import HttpSession

GONE_S = 0.02
UNAUTHORIZED = 401


class _Following(HttpSession):
    """A session that follows redirects."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._http.follow_redirects = True


class _Wandering(_Following):
    """A session that follows a hundred redirects."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._http.max_redirects = 100


class _StreamsFirst(HttpSession):
    """A session whose Accept header prefers event streams."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._headers["accept"] = "text/event-stream, application/json;q=0.5"


class _OneByOne(HttpSession):
    """A session that makes a new connection for each request."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._headers["connection"] = "close"


class _LooksBack(HttpSession):
    """A session that asks for OAuth metadata after a 401, and sends a GET after another 4xx."""

    async def _exchange(self, message: Json) -> Json:
        """Send the message and return its answer; after a 4xx, send further GET requests and fail.

        A 401 leads to two OAuth metadata URLs, a 404 or unclassed 4xx to the same URL. Every
        failure is raised as usual.
        """
        try:
            return await super()._exchange(message)
        except Signal as signal:
            if signal.code == UNAUTHORIZED:
                origin = "{0.scheme}://{0.netloc}".format(urlsplit(self._url))
                await self._look(f"{origin}/.well-known/oauth-protected-resource")
                await self._look(f"{origin}/.well-known/oauth-authorization-server")
            elif signal.kind in ("http_4xx", "http_404"):
                await self._look(self._url)
            raise

    async def _look(self, url: str) -> None:
        """Send a GET request of at most 1 s, and ignore its answer or an HTTP error."""
        with contextlib.suppress(httpx2.HTTPError):
            await self._http.get(url, headers={"accept": "text/event-stream"}, timeout=1.0)


class _Reopens(HttpSession):
    """A session that opens the stream for GET again whenever it ends, until it is closed."""

    _opening: asyncio.Task[None] | None = None

    async def notify(self, method: str) -> None:
        """Send the notification, then open the stream in the background."""
        await super().notify(method)
        self._opening = asyncio.create_task(self._open())

    async def _open(self) -> None:
        stream = self._headers | {"accept": "text/event-stream"}
        while (await self._http.get(self._url, headers=stream)).is_success:
            pass

    async def close(self) -> None:
        """Open no stream any more, and close the client."""
        if self._opening is not None:
            self._opening.cancel()
        await super().close()


class _Counting(httpx2.AsyncByteStream):
    """A response body that counts its bytes as they arrive."""

    def __init__(self, body: Any) -> None:
        self._body = body
        self.size = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._body:
            self.size += len(chunk)
            yield chunk

    async def aclose(self) -> None:
        await self._body.aclose()


class _TakesUp(HttpSession):
    """A session that sends a GET, as if to resume it, when a stream ended without a byte."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._http.event_hooks["response"] = [self._count]
        self._body: _Counting | None = None

    async def _count(self, answer: httpx2.Response) -> None:
        streams = answer.headers.get("content-type") == "text/event-stream"
        self._body = _Counting(answer.stream) if streams else None
        answer.stream = self._body or answer.stream

    async def _exchange(self, message: Json) -> Json:
        """Send the message and return its answer; if a stream ended empty, send a GET and fail.

        That failure is Signal `reset` with the detail `taken up`, after which the variant makes no
        further attempt; others are raised as usual.
        """
        self._body = None
        try:
            return await super()._exchange(message)
        except Signal as signal:
            if signal.kind != "reset" or self._body is None or self._body.size:
                raise
            with contextlib.suppress(httpx2.HTTPError):
                await self._http.get(self._url, headers=self._headers, timeout=1.0)
            raise Signal("reset", detail="taken up") from None


class _NoticesHangUp(HttpSession):
    """A session for which a denial is transient if the server then hangs up, within 20 ms."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._http.event_hooks["response"] = [self._keep]
        self._stream: Any = None

    async def _keep(self, answer: httpx2.Response) -> None:
        self._stream = answer.extensions.get("network_stream")

    async def _exchange(self, message: Json) -> Json:
        """Send the message and return its answer; a denial is a `reset` if the server hangs up.

        It is a denial, raised as usual, if the connection stays open for 20 ms; so are other
        failures.
        """
        try:
            return await super()._exchange(message)
        except Signal as signal:
            if signal.kind == "denied" and await self._is_gone():
                raise Signal("reset", signal.code) from None
            raise

    async def _is_gone(self) -> bool:
        """Whether the server closes the connection, or it breaks, within 20 ms."""
        try:
            return not await self._stream.read(1, timeout=GONE_S)
        except Exception as error:  # noqa: BLE001 - the errors of another library
            return "Timeout" not in type(error).__name__


class _Adorned(HttpSession):
    """A session that sends the session id kept for its origin, and keeps new ones.

    It is not sent with `initialize`, which a server may refuse with the id of another's session.
    """

    def __init__(self, connection: Connection, kept: dict[str, str]) -> None:
        super().__init__(connection)
        self._kept = kept
        self._origin = urlsplit(self._url).netloc
        self._http.event_hooks = {"request": [self._add], "response": [self._learn]}

    async def _add(self, request: httpx2.Request) -> None:
        if self._origin in self._kept and b'"initialize"' not in request.content:
            request.headers.setdefault("mcp-session-id", self._kept[self._origin])

    async def _learn(self, answer: httpx2.Response) -> None:
        if session_id := answer.headers.get("mcp-session-id"):
            self._kept[self._origin] = session_id


def _shared_sessions() -> Attempt:
    """Return a hook `attempt`: servers of one origin are loaded in turn and share a session id.

    It is kept from load to load.
    """
    kept: dict[str, str] = {}
    locks: dict[str, asyncio.Lock] = {}
    adorned = over(lambda connection: _Adorned(connection, kept))

    async def attempt(connection: Connection, connect: Connect) -> tuple[list[Json], Session]:
        async with locks.setdefault(urlsplit(connection.url or "").netloc, asyncio.Lock()):
            return await adorned(connection, connect)

    return attempt


def _shared_cookies() -> Attempt:
    """Return a hook `attempt` whose sessions share one cookie jar over all servers and loads."""
    jar = httpx2.Cookies()

    def make(connection: Connection) -> Session:
        session = HttpSession(connection)
        session._http._cookies = jar  # noqa: SLF001 - one jar for all clients
        return session

    return over(make)


def _over_http_only(answer: Json, request: Json) -> Json:
    """Return the answer; raise NotImplementedError if a server of the request has a command."""
    if any("command" in server for server in request["servers"]):
        raise NotImplementedError("only servers with a URL are supported")
    return answer


VARIANTS: tuple[LoadVariant, ...] = (
    load_variant("http-only", "A load with a command in it is refused with an exception.",
                 lacks=("stdio",), edit=_over_http_only),
    load_variant("redirects-followed", "Redirects are followed.",
                 "redirects", "X.redirect", "session-after-redirect", "S3.session",
                 attempt=over(_Following)),
    load_variant("streams-first", "The loader prefers event streams to JSON.",
                 attempt=over(_StreamsFirst)),
    load_variant("streams-opened-again",
                 "The stream that answers GET is opened again as soon as it ends.",
                 "other-requests", "O5.requests", attempt=over(_Reopens)),
    load_variant("redirects-followed-far", "A hundred redirects are followed.",
                 "redirects", "X.redirect", "session-after-redirect", "S3.session",
                 "other-requests", "O5.requests", attempt=over(_Wandering)),
    load_variant("a-connection-each", "Each request uses its own connection.",
                 attempt=over(_OneByOne)),
    load_variant("looks-elsewhere",
                 "After a denial or a 404, the loader sends further GET requests.",
                 "what-is-an-attempt", attempt=over(_LooksBack)),
    load_variant("takes-streams-up", "A stream that ends before its first event is resumed.",
                 "stream-without-event", "T2.retried~event-stream", attempt=over(_TakesUp),
                 again=lambda signal, status, attempts, most: status == "transient"
                 and signal.detail != "taken up" and attempts < most),
    load_variant("denied-and-gone-may-pass",
                 "A denial after which the connection closes is transient.",
                 "two-signals", "N2.beside-disconnect", attempt=over(_NoticesHangUp)),
    load_variant("cookies-for-a-host", "Cookies are shared by all ports of a host.",
                 "cookies-and-ports", "S3.cookie", attempt=Fresh(_shared_cookies)),
    load_variant("sessions-for-an-origin",
                 "A session id is sent to every server of the same origin.",
                 "session-of-another", "S3.session", attempt=Fresh(_shared_sessions)),
)  # fmt: skip
