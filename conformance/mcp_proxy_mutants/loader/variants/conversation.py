"""Variants of the conversation: one page, a probe, no handshake, a request sent once more."""

from mcp_proxy_mutants.loader.pieces import Attempt, over
from mcp_proxy_mutants.loader.variant import LoadVariant, load_variant
from mcp_proxy_reference import loader as std
from mcp_proxy_reference.loader import Connect, Connection, Json, Session, Signal
from mcp_proxy_reference.sessions import HttpSession

STATELESS = "2026-07-28"
META = "io.modelcontextprotocol/"


class _Kept:
    """A session that passes everything on."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def request(self, method: str, params: Json) -> Json:
        """Send one JSON-RPC request and return its result."""
        return await self._session.request(method, params)

    async def notify(self, method: str) -> None:
        """Send one notification."""
        await self._session.notify(method)

    async def close(self) -> None:
        """End the connection."""
        await self._session.close()


class _OnePage(_Kept):
    """A session that drops the cursor of the next page."""

    async def request(self, method: str, params: Json) -> Json:
        """Send one JSON-RPC request and return its result."""
        result = await super().request(method, params)
        return {name: value for name, value in result.items() if name != "nextCursor"}


class _OnceMore(_Kept):
    """A session that requests the list once more after a code of the 500s."""

    async def request(self, method: str, params: Json) -> Json:
        """Send one JSON-RPC request and return its result."""
        try:
            return await super().request(method, params)
        except Signal as signal:
            if method != "tools/list" or signal.kind != "http_5xx":
                raise
        return await super().request(method, params)


class _Modern(HttpSession):
    """A session of the revision that has no handshake."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._headers["mcp-protocol-version"] = STATELESS

    async def request(self, method: str, params: Json) -> Json:
        """Send one JSON-RPC request with its client metadata and return its result."""
        meta = {
            f"{META}protocolVersion": STATELESS,
            f"{META}clientInfo": {"name": "mcp-proxy-reference", "version": "1"},
            f"{META}clientCapabilities": {},
        }
        self._headers["mcp-method"] = method
        return await super().request(method, params | {"_meta": meta})


def _in(make: type[_Kept]) -> Attempt:
    """Return an attempt in a session of that kind."""

    async def attempt(connection: Connection, connect: Connect) -> tuple[list[Json], Session]:
        async def connected(to: Connection) -> Session:
            return make(await connect(to))

        return await std.attempt(connection, connected)

    return attempt


async def _without_handshake(
    connection: Connection, connect: Connect
) -> tuple[list[Json], Session]:
    """Request the list at once, without a handshake, where there is a URL."""
    if not connection.url:
        return await std.attempt(connection, connect)
    session = _Modern(connection)
    try:
        return await std.list_tools(session), session
    except BaseException:
        await session.close()
        raise


async def _discovering(connection: Connection, connect: Connect) -> tuple[list[Json], Session]:
    """Probe the server for its revision, then continue with the handshake in any case."""
    if connection.url:
        probe = _Modern(connection)
        try:
            await probe.request("server/discover", {})
        except Signal:
            pass
        finally:
            await probe.close()
    return await std.attempt(connection, connect)


class _Named(HttpSession):
    """A session with another user agent and other request numbers."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._headers["user-agent"] = "another-loader/2"
        self._sent = 1000


VARIANTS: tuple[LoadVariant, ...] = (
    load_variant("one-page", "Only one page of tools is loaded.",
                 "pages-of-tools", "O3.loaded~pages", attempt=_in(_OnePage)),
    load_variant("list-asked-once-more", "A failed list is requested again in the same session.",
                 "what-is-an-attempt", attempt=_in(_OnceMore)),
    load_variant("no-handshake",
                 "The list is requested without a handshake, in the stateless revision.",
                 "what-is-an-attempt", attempt=_without_handshake),
    load_variant("era-probed-first",
                 "The loader asks the server for its protocol era before the handshake.",
                 "what-is-an-attempt", attempt=_discovering),
    load_variant("another-client", "The client has another name and other request ids.",
                 attempt=over(_Named)),
)  # fmt: skip
