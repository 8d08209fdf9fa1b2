"""Loader of one upstream MCP server's tools: attempts, retries, and the classified outcome.

Errors become typed signals first; one table turns a signal into a status. Nothing is classified
by a URL, a server name or an exception's text, and no outcome carries a secret.
"""

from __future__ import annotations

import asyncio
import random
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol
from urllib.parse import urlsplit

import httpx2

Status = Literal["available", "transient", "permanent", "denied"]
Json = dict[str, Any]

REVISION = "2025-11-25"
MAX_PAGES = 100
REQUESTS_PER_ATTEMPT = 3
AUTHORIZATION = (b"ext_authz", b"authorization service")
SLOW = (b"timeout", b"timed out", b"deadline", b"unavailable")

MEANING: Mapping[str, tuple[Status, str]] = {
    "timeout": ("transient", "The server did not answer in time."),
    "reset": ("transient", "The connection was closed before the answer was complete."),
    "http_5xx": ("transient", "The server reported an internal error."),
    "http_429": ("transient", "The server asked for fewer requests."),
    "authz_timeout": ("transient", "The authorization service in front did not answer in time."),
    "denied": ("denied", "The server denied access."),
    "refused": ("permanent", "Nothing listens at the server's address."),
    "dns": ("permanent", "The server's host name is unknown."),
    "redirect": ("permanent", "The server redirects elsewhere."),
    "http_404": ("permanent", "The server has nothing at this path."),
    "http_4xx": ("permanent", "The server refused the request."),
    "malformed": ("permanent", "The server's answer is not a valid MCP message."),
    "rpc_error": ("permanent", "The server answered with a JSON-RPC error."),
    "configuration": ("permanent", "The connection has no usable URL and no usable command."),
    "command": ("permanent", "The server's command could not be started."),
}


class Signal(Exception):
    """A failure as it was observed: a key of `MEANING`, and the HTTP status if any."""

    def __init__(
        self, kind: str, code: int | None = None, detail: str = "", body: bytes = b""
    ) -> None:
        """Keep the kind (a key of `MEANING`) and the answer's HTTP status, error text and body."""
        super().__init__(kind)
        self.kind = kind
        self.code = code
        self.detail = detail
        self.body = body


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """How one server is reached: a URL (streamable HTTP) or a command (stdio)."""

    server_id: str
    url: str | None = None
    command: str | None = None
    args: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout: float = 5.0
    call_timeout: float = 60.0

    def allows(self, method: str) -> float:
        """Return the timeout in seconds of a request: `tools/call` has one of its own."""
        return self.call_timeout if method == "tools/call" else self.timeout


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Result of loading one server: tools only if available, else an error text."""

    server_id: str
    status: Status
    attempts: int
    tools: Sequence[Json] = ()
    error: str | None = None


class Session(Protocol):
    """A connection to one server: JSON-RPC calls that raise `Signal`, and an end."""

    async def request(self, method: str, params: Json) -> Json:
        """Send one JSON-RPC request and return its result; raises Signal for any failure."""
        ...

    async def notify(self, method: str) -> None:
        """Send one notification; raises Signal for any failure."""
        ...

    async def close(self) -> None:
        """Close the connection or end the process."""
        ...


Connect = Callable[[Connection], Awaitable[Session]]


def by_status(code: int, body: bytes) -> Signal:
    """Return the signal of an HTTP status that is no success; `body` is in lower case.

    Only a 403's body is read: words of a slow authorization service make it `authz_timeout`, and
    `denied` otherwise.
    """
    authorization = any(word in body for word in AUTHORIZATION)
    if code == httpx2.codes.FORBIDDEN and authorization and any(word in body for word in SLOW):
        return Signal("authz_timeout", code, body=body)
    kind = {401: "denied", 403: "denied", 404: "http_404", 429: "http_429"}.get(code)
    if kind is None:
        kind = "http_5xx" if code >= 500 else "redirect" if code < 400 else "http_4xx"  # noqa: PLR2004
    return Signal(kind, code, body=body)


def by_error(error: BaseException) -> Signal:
    """Return the signal of a transport error, by its chained causes.

    The first timeout, unknown host or refused connection among them decides; else a bad URL is
    `configuration`, a failed connection `refused`, and anything else `reset`.
    """
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, (httpx2.TimeoutException, TimeoutError)):
            return Signal("timeout")
        if isinstance(cause, socket.gaierror):
            return Signal("dns")
        if isinstance(cause, ConnectionRefusedError):
            return Signal("refused")
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, (httpx2.InvalidURL, httpx2.UnsupportedProtocol)):
        return Signal("configuration")
    return Signal("refused" if isinstance(error, httpx2.ConnectError) else "reset")


async def handshake(session: Session) -> list[Json]:
    """Send `initialize` and its notification, and return the tools of all pages.

    Raises Signal for the first failure.
    """
    client = {"name": "mcp-proxy-reference", "version": "1"}
    hello = {"protocolVersion": REVISION, "capabilities": {}, "clientInfo": client}
    await session.request("initialize", hello)
    await session.notify("notifications/initialized")
    return await list_tools(session)


async def list_tools(session: Session) -> list[Json]:
    """Return the tools of all pages.

    Raises Signal `malformed` for a malformed page or tool, a repeated cursor or more than 101
    pages.
    """
    tools: list[Json] = []
    cursors: set[str] = set()
    cursor: str | None = None
    while len(cursors) <= MAX_PAGES:
        page = await session.request("tools/list", {} if cursor is None else {"cursor": cursor})
        listed, cursor = page.get("tools"), page.get("nextCursor")
        if not isinstance(listed, list) or not all(map(_is_tool, listed)):
            break
        tools += listed
        if cursor is None:  # an empty string is a cursor, not the end
            return tools
        if not isinstance(cursor, str) or cursor in cursors:
            break
        cursors.add(cursor)
    raise Signal("malformed")


def _is_tool(tool: object) -> bool:
    """Whether an entry is an object with a text `name` and an object `inputSchema`.

    Its description, unless empty or null, must be a text.
    """
    return (
        isinstance(tool, dict)
        and isinstance(tool.get("name"), str)
        and isinstance(tool.get("description") or "", str)
        and isinstance(tool.get("inputSchema"), dict)
    )


async def attempt(connection: Connection, connect: Connect) -> tuple[list[Json], Session]:
    """Connect and list the tools within one deadline for all; return tools and session.

    After three times the connection's timeout, TimeoutError is raised; other failures are a Signal.
    The session is closed on failure, else left open.
    """
    async with asyncio.timeout(REQUESTS_PER_ATTEMPT * connection.timeout):
        session = await connect(connection)
        try:
            return await handshake(session), session
        except BaseException:
            await session.close()
            raise


def usable(connection: Connection) -> bool:
    """Whether the connection has an http(s) URL with a host, or no URL but a command.

    A port must not be 0.
    """
    if not connection.url:
        return bool(connection.command)
    try:
        url = urlsplit(connection.url)
        return url.scheme in {"http", "https"} and bool(url.hostname) and url.port != 0
    except ValueError:
        return False


def pause(attempts: int, base: float) -> float:
    """Return the seconds before the next attempt: `base`, doubled each time, 20 % jitter.

    `attempts` is the number made; after the first it is `base`.
    """
    return base * (1 << attempts - 1) * random.uniform(0.8, 1.2)  # noqa: S311 - jitter


async def side_by_side(loads: Sequence[Callable[[], Awaitable[Outcome]]]) -> list[Outcome]:
    """Run all loads concurrently and return their outcomes in order of the loads."""
    return list(await asyncio.gather(*(run() for run in loads)))


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadPolicy:
    """The decisions of a load; mutants and variants of the loader replace some of them.

    `heard` returns the signal that an attempt's signal counts as; `again` is whether to try again
    after a signal and its status, given the attempts made and their maximum; `says` returns the
    error of a signal, from the default text.
    """

    usable: Callable[[Connection], bool] = usable
    attempt: Callable[[Connection, Connect], Awaitable[tuple[list[Json], Session]]] = attempt
    heard: Callable[[Signal, Connection, int], Signal] = lambda signal, _, __: signal
    meaning: Mapping[str, tuple[Status, str]] = field(default_factory=lambda: MEANING)
    again: Callable[[Signal, Status, int, int], bool] = lambda _, status, attempts, most: (
        status == "transient" and attempts < most
    )
    pause: Callable[[int, float], float] = pause
    says: Callable[[Signal, Connection, str], str | None] = lambda _, __, text: text
    together: Callable[[Sequence[Callable[[], Awaitable[Outcome]]]], Awaitable[list[Outcome]]] = (
        side_by_side
    )


async def load(
    connection: Connection,
    connect: Connect,
    *,
    max_attempts: int = 3,
    base_backoff: float = 0.25,
    policy: LoadPolicy | None = None,
) -> tuple[Outcome, Session | None]:
    """Load one server's tools, retrying while transient; return the outcome and the open session.

    The session is None unless the server is available; the caller closes it. Failures are outcomes,
    and not raised. An unusable connection has no attempt; there is a pause before each further one.
    """
    policy = policy or LoadPolicy()
    name, signal, attempts = connection.server_id, Signal("configuration"), 0
    goes_on = policy.usable(connection)
    while goes_on:
        attempts += 1
        try:
            tools, session = await policy.attempt(connection, connect)
        except Signal as observed:
            signal = policy.heard(observed, connection, attempts)
        except TimeoutError:
            signal = policy.heard(Signal("timeout"), connection, attempts)
        else:
            done = Outcome(server_id=name, status="available", attempts=attempts, tools=tools)
            return done, session
        goes_on = policy.again(signal, policy.meaning[signal.kind][0], attempts, max_attempts)
        if goes_on:
            await asyncio.sleep(policy.pause(attempts, base_backoff))
    status, text = policy.meaning[signal.kind]
    error = policy.says(signal, connection, text)
    return Outcome(server_id=name, status=status, attempts=attempts, error=error), None
