"""Upstream servers: one loaded, refreshed and called over its session, or several loaded once."""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence
from functools import partial

from mcp_proxy_reference.loader import (
    MEANING,
    Connection,
    Json,
    LoadPolicy,
    Outcome,
    Session,
    Signal,
    list_tools,
    load,
)
from mcp_proxy_reference.sessions import connect

log = logging.getLogger("mcp_proxy_reference")

RETRY_AFTER_S = 10.0
SESSION_LOST = {"http_404", "http_4xx"}


async def load_all(
    connections: Sequence[Connection],
    *,
    max_attempts: int = 3,
    base_backoff: float = 0.25,
    policy: LoadPolicy | None = None,
) -> list[Outcome]:
    """Load all servers, close their sessions, return the outcomes in order.

    They are loaded concurrently unless the policy has it otherwise.
    """
    policy = policy or LoadPolicy()

    async def load_one(connection: Connection) -> Outcome:
        """Load one server, close its session, and return the outcome."""
        outcome, session = await load(
            connection,
            connect,
            max_attempts=max_attempts,
            base_backoff=base_backoff,
            policy=policy,
        )
        if session is not None:
            await session.close()
        return outcome

    return await policy.together([partial(load_one, connection) for connection in connections])


def in_a_line(outcome: Outcome) -> str:
    """Return an outcome as a log line, without server text or credentials."""
    detail = outcome.error or f"{len(outcome.tools)} tools."
    return f"{outcome.server_id}: {outcome.status} at attempt {outcome.attempts}. {detail}"


class UpstreamError(Exception):
    """A call got no result; the message is a sentence for the caller."""


class Upstream:
    """One upstream server, loaded in a background task; `take` gets each outcome."""

    def __init__(self, connection: Connection, take: Callable[[Outcome], None]) -> None:
        """Begin to load the server, in a task that also loads it again later."""
        self.connection = connection
        self.outcome: Outcome | None = None
        self.loaded = asyncio.Event()
        self._take = take
        self._session: Session | None = None
        self._lock = asyncio.Lock()
        self._changed = asyncio.Event()
        self._connect = partial(connect, changed=self._changed.set)
        self.task = asyncio.create_task(self._follow())

    async def load(self, max_attempts: int = 3) -> Outcome:
        """Load the tools, hand the outcome to `take`, log it and return it.

        The open session is used; if there is none or it fails, a new one is opened.
        """
        async with self._lock:
            if self._session is not None:
                try:
                    tools = await list_tools(self._session)
                except Signal:
                    await self._end()
                else:
                    name = self.connection.server_id
                    outcome = Outcome(server_id=name, status="available", attempts=1, tools=tools)
            if self._session is None:
                outcome, self._session = await load(
                    self.connection, self._connect, max_attempts=max_attempts
                )
        self.outcome = outcome
        is_well = outcome.status == "available"
        log.log(logging.INFO if is_well else logging.WARNING, "%s", in_a_line(outcome))
        self._take(outcome)
        self.loaded.set()
        return outcome

    async def call(self, tool: str, arguments: Json, *, again: bool = True) -> Json:
        """Call a tool and return the server's result.

        Without a session, one is opened first; if the server has lost the session, the call is
        repeated once, in a new one. UpstreamError if there is no result.
        """
        if (session := self._session) is None:
            outcome = await self.load(max_attempts=1)
            if (session := self._session) is None:
                raise UpstreamError(outcome.error)
        try:
            return await session.request("tools/call", {"name": tool, "arguments": arguments})
        except Signal as signal:
            lost = signal.kind in SESSION_LOST
            if lost or (signal.kind == "reset" and self.connection.command):
                await self._end()
            if lost and again:
                return await self.call(tool, arguments, again=False)
            refused = signal.detail and f"The server refused the call: {signal.detail}"
            raise UpstreamError(refused or MEANING[signal.kind][1]) from None

    async def _follow(self) -> None:
        """Load now, when the server announces changes, and 10 s after a transient failure.

        When cancelled, close the session.
        """
        try:
            while True:
                outcome = await self.load()
                pause = RETRY_AFTER_S if outcome.status == "transient" else None
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._changed.wait(), pause)
                self._changed.clear()
        finally:
            self.loaded.set()
            async with self._lock:
                await self._end()

    async def _end(self) -> None:
        """Close the session, if one is open, and forget it."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()
