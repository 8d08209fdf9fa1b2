"""Loader variants of the requests sent: one page, a probe, no handshake, a repeated list."""

from mcp_proxy_mutants.resilience.pieces import Ear, over, wrapping
from mcp_proxy_mutants.resilience.variant import LoadVariant, load_variant
from mcp_proxy_reference import loader as std
from mcp_proxy_reference.loader import Connect, Connection, Json, Session, Signal
from mcp_proxy_reference.sessions import HttpSession

STATELESS = "2026-07-28"
META = "io.modelcontextprotocol/"


class _OnePage(Ear):
    """A wrapped session whose lists have one page: `nextCursor` is dropped."""

    async def request(self, method: str, params: Json) -> Json:
        """Return the result of the request without `nextCursor`."""
        result = await super().request(method, params)
        return {name: value for name, value in result.items() if name != "nextCursor"}


class _OnceMore(Ear):
    """A wrapped session that repeats a `tools/list` once after a 5xx."""

    async def request(self, method: str, params: Json) -> Json:
        """Return the result of the request; a tools/list that gets a 5xx is sent once more."""
        try:
            return await super().request(method, params)
        except Signal as signal:
            if method != "tools/list" or signal.kind != "http_5xx":
                raise
        return await super().request(method, params)


class _Modern(HttpSession):
    """An HTTP session in the stateless revision 2026-07-28, without a handshake."""

    def __init__(self, connection: Connection) -> None:
        """Make the session with the header of the stateless revision."""
        super().__init__(connection)
        self._headers["mcp-protocol-version"] = STATELESS

    async def request(self, method: str, params: Json) -> Json:
        """Return the result of the request, sent with the stateless `_meta` and header."""
        meta = {
            f"{META}protocolVersion": STATELESS,
            f"{META}clientInfo": {"name": "mcp-proxy-reference", "version": "1"},
            f"{META}clientCapabilities": {},
        }
        self._headers["mcp-method"] = method
        return await super().request(method, params | {"_meta": meta})


async def _without_handshake(
    connection: Connection, connect: Connect
) -> tuple[list[Json], Session]:
    """Load the tools over HTTP by the stateless revision, without `initialize`; stdio as usual."""
    if not connection.url:
        return await std.attempt(connection, connect)
    session = _Modern(connection)
    try:
        return await std.list_tools(session), session
    except BaseException:
        await session.close()
        raise


async def _discovering(connection: Connection, connect: Connect) -> tuple[list[Json], Session]:
    """Send `server/discover` and ignore an answer or failure (HTTP only), then attempt as usual."""
    if connection.url:
        probe = _Modern(connection)
        try:
            await probe.request("server/discover", {})
        except Signal:
            pass
        finally:
            await probe.close()
    return await std.attempt(connection, connect)


async def _handshake_first(connection: Connection, connect: Connect) -> tuple[list[Json], Session]:
    """Attempt as usual; if that is refused over HTTP, list the tools without a handshake.

    Refused means a JSON-RPC error or a 4xx without a class of its own; other failures are raised.
    """
    try:
        return await std.attempt(connection, connect)
    except Signal as signal:
        if not connection.url or signal.kind not in ("http_4xx", "rpc_error"):
            raise
    return await _without_handshake(connection, connect)


class _Named(HttpSession):
    """A session with another user agent and other request numbers."""

    def __init__(self, connection: Connection) -> None:
        """Make the session with another user agent; its request numbers begin after 1000."""
        super().__init__(connection)
        self._headers["user-agent"] = "another-loader/2"
        self._sent = 1000


VARIANTS: tuple[LoadVariant, ...] = (
    load_variant("one-page", "Only one page of tools is loaded.",
                 "pages-of-tools", "O3.loaded~pages", attempt=wrapping(_OnePage)),
    load_variant("list-asked-once-more", "A failed list is requested again in the same session.",
                 "what-is-an-attempt", attempt=wrapping(_OnceMore)),
    load_variant("no-handshake",
                 "The list is requested without a handshake, in the stateless revision.",
                 "what-is-an-attempt", attempt=_without_handshake),
    load_variant("era-probed-first",
                 "The loader asks the server for its protocol era before the handshake.",
                 "what-is-an-attempt", attempt=_discovering),
    load_variant("era-guessed-last",
                 "If the handshake is refused, the list is requested without one.",
                 "what-is-an-attempt", "X.other-codes", "X.rpc-error", attempt=_handshake_first),
    load_variant("another-client", "The client has another name and other request ids.",
                 attempt=over(_Named)),
)  # fmt: skip
