"""Loader mutants of time limits: endless waits, limits that are too short, misread timeouts."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import httpx2

from mcp_proxy_mutants.resilience.mutant import LoadMutant, load_mutant
from mcp_proxy_mutants.resilience.pieces import Attempt, Ear, at, handed, hearing
from mcp_proxy_reference import loader as std
from mcp_proxy_reference.loader import Connect, Connection, Json, Session, Signal, handshake
from mcp_proxy_reference.sessions import HttpSession

NEVER_S = 3600.0


def _patient(connection: Connection) -> Connection:
    """Return the connection with a timeout of an hour."""
    return replace(connection, timeout=NEVER_S)


def _hasty(connection: Connection) -> Connection:
    """Return the connection with a 25th of its timeout."""
    return replace(connection, timeout=connection.timeout / 25)


class _BetweenBytes(HttpSession):
    """A session that limits only the time between two bytes, not the whole answer."""

    def __init__(self, connection: Connection) -> None:
        """Make the session: a request may take an hour, two bytes may be one timeout apart."""
        super().__init__(_patient(connection))
        self._http.timeout = httpx2.Timeout(connection.timeout)


class _BeforeHeaders(HttpSession):
    """A session that limits the time until the headers, not that of the body."""

    def __init__(self, connection: Connection) -> None:
        """Make the session: a request may take an hour, its headers one timeout."""
        super().__init__(_patient(connection))
        self._http = _ToHeaders(connection.timeout, secure=self._url.startswith("https:"))


class _ToHeaders(httpx2.AsyncClient):
    """HTTP client that limits the time until an answer's headers."""

    def __init__(self, seconds: float, *, secure: bool) -> None:
        """Make a client that waits `seconds` for headers; it verifies certificates if `secure`."""
        super().__init__(verify=secure, trust_env=False, timeout=None)
        self._seconds = seconds

    async def send(self, request: httpx2.Request, **chosen: object) -> httpx2.Response:
        """Send a request and return the response once its headers came; TimeoutError if too late.

        Its body has no limit.
        """
        return await asyncio.wait_for(
            super().send(request, **chosen),  # type: ignore[arg-type]
            self._seconds,
        )


def _over(make: Callable[[Connection], HttpSession]) -> Attempt:
    """Return a hook `attempt` without a deadline for the whole; `make` makes a URL's session."""

    async def attempt(connection: Connection, connect: Connect) -> tuple[list[Json], Session]:
        session = make(connection) if connection.url else await connect(connection)
        try:
            return await handshake(session), session
        except BaseException:
            await session.close()
            raise

    return attempt


async def _until_ready(connection: Connection, connect: Connect) -> tuple[list[Json], Session]:
    """Attempt again after each timeout, without end; the loader counts that as one attempt."""
    while True:
        try:
            return await std.attempt(connection, connect)
        except Signal as signal:
            if signal.kind != "timeout":
                raise


async def _asleep_after_stdio_failure(
    connection: Connection, connect: Connect
) -> tuple[list[Json], Session]:
    """Attempt as usual, but sleep for an hour when a stdio server fails.

    The failure is raised after that; one of a URL at once.
    """
    try:
        return await std.attempt(connection, connect)
    except (Signal, TimeoutError):
        if connection.command:
            await asyncio.sleep(NEVER_S)
        raise


async def _asleep_after_cut_chunk(
    connection: Connection, connect: Connect
) -> tuple[list[Json], Session]:
    """Attempt as usual, but sleep for an hour when a chunked response breaks off.

    The failure is raised after that.
    """
    try:
        return await std.attempt(connection, connect)
    except Signal as signal:
        if signal.kind == "reset" and "chunk" in str(signal.__context__):
            await asyncio.sleep(NEVER_S)
        raise


def _asleep_after(method: str, *kinds: str) -> Attempt:
    """Return a hook `attempt` that sleeps for an hour after a signal of `kinds` at `method`.

    The load then never ends in time (O5).
    """

    async def attempt(connection: Connection, connect: Connect) -> tuple[list[Json], Session]:
        came: list[Signal] = []

        def hear(sent: str, signal: Signal) -> Signal:
            if sent == method and signal.kind in kinds:
                came.append(signal)
            return signal

        try:
            return await hearing(hear)(connection, connect)
        except Signal:
            if came:
                await asyncio.sleep(NEVER_S)
            raise

    return attempt


async def _never(connection: Connection, connect: Connect) -> tuple[list[Json], Session]:
    """Sleep for an hour, then attempt as usual."""
    await asyncio.sleep(NEVER_S)
    return await std.attempt(connection, connect)


def _unless_accepted(then: Callable[[], Awaitable[None]]) -> Attempt:
    """Return a hook `attempt` that awaits `then` once notifications/initialized has timed out.

    Unless `then` raises, the timeout is raised after that; other failures are raised at once.
    """

    async def attempt(connection: Connection, connect: Connect) -> tuple[list[Json], Session]:
        unanswered: list[str] = []

        class _Noted(Ear):
            """A session that notes a notification until its answer came."""

            async def notify(self, method: str) -> None:
                unanswered.append(method)
                await super().notify(method)
                unanswered.clear()

        async def connected(to: Connection) -> Session:
            return _Noted(await connect(to))

        try:
            return await std.attempt(connection, connected)
        except (Signal, TimeoutError) as failure:
            if unanswered and getattr(failure, "kind", "timeout") == "timeout":
                await then()
            raise

    return attempt


def _as(kind: str) -> Callable[[], Awaitable[None]]:
    """Return an async function that raises a Signal of that kind when awaited."""

    async def then() -> None:
        raise Signal(kind)

    return then


MUTANTS: tuple[LoadMutant, ...] = (
    load_mutant("no-timeout", "The loader waits for answers without a timeout.",
                "I4.bounded", attempt=handed(_patient)),
    load_mutant("no-timeout-of-the-body",
                "After the headers of an answer, there is no timeout.",
                "I4.bounded", attempt=_over(_BeforeHeaders)),
    load_mutant("timeout-between-bytes", "An answer has no timeout while bytes arrive.",
                "I4.bounded", attempt=_over(_BetweenBytes)),
    load_mutant("waits-until-ready", "A silent server is asked again without end.",
                "I4.bounded", attempt=_until_ready),
    load_mutant("listens-for-ever", "A program that prints garbage is read without end.",
                "I4.bounded", attempt=_asleep_after_stdio_failure),
    load_mutant("torn-streams-never-end",
                "After an event stream breaks off, the loader waits without end.",
                "I4.bounded", attempt=_asleep_after_cut_chunk),
    load_mutant("nonsense-is-not-the-end",
                "After an answer that is not MCP, the loader waits for another one without end.",
                "I4.bounded", attempt=_asleep_after("tools/list", "malformed")),
    load_mutant("greeted-by-nonsense",
                "A server that greets with nonsense is waited for without end.",
                "I4.bounded", attempt=_asleep_after("initialize", "malformed")),
    load_mutant("waits-to-be-accepted",
                "The answer to the notification is waited for without end.",
                "I4.bounded", attempt=_unless_accepted(lambda: asyncio.sleep(NEVER_S))),
    load_mutant("silent-notification-is-permanent",
                "A notification without an answer in time is a permanent failure.",
                "T1.notification", attempt=_unless_accepted(_as("malformed"))),
    load_mutant("silent-notification-is-denied",
                "A notification without an answer in time is a denial.",
                "T1.notification", attempt=_unless_accepted(_as("denied"))),
    load_mutant("second-pause-never-ends", "The pause before the third attempt never ends.",
                "I4.bounded",
                pause=lambda attempts, base: (
                    NEVER_S if attempts > 1 else std.pause(attempts, base)
                )),
    load_mutant("hangs-everywhere", "No load ends, not even one of healthy servers.",
                "I4.bounded", attempt=_never),
    load_mutant("too-hasty", "A server gets only a fraction of its timeout.",
                "R1.once", "O3.loaded", attempt=handed(_hasty)),
    load_mutant("silence-is-malformed", "A timeout is treated as an invalid message.",
                "T1.timeout", "T1.retried", attempt=at("initialize", "malformed", "timeout")),
)  # fmt: skip
