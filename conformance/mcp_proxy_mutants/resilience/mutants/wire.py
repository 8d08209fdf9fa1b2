"""Loader mutants that misread HTTP: event streams, headers, error bodies, and timeouts."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import httpx2

from mcp_proxy_mutants.resilience.mutant import Fresh, LoadMutant, load_mutant
from mcp_proxy_mutants.resilience.pieces import Attempt, code, over, taken
from mcp_proxy_reference import loader as std
from mcp_proxy_reference.loader import Connect, Connection, Json, Session, Signal
from mcp_proxy_reference.sessions import HttpSession

SERVER_ERROR = 500
FORBIDDEN = 403


class _Heads(HttpSession):
    """Base session that keeps the headers of the last answer."""

    def __init__(self, connection: Connection) -> None:
        """Make the session, whose client calls `_keep` for each response."""
        super().__init__(connection)
        self._http.event_hooks["response"] = [self._keep]
        self._head = httpx2.Headers()

    async def _keep(self, answer: httpx2.Response) -> None:
        """Keep the headers of the response."""
        self._head = answer.headers

    @property
    def _media(self) -> str:
        """The media type of the last response; empty if it named none."""
        return str(self._head.get("content-type", ""))


class _Obeys(_Heads):
    """A session that turns a failure with `Retry-After` into a 5xx with these seconds."""

    async def _exchange(self, message: Json) -> Json:
        """Send the message and return its answer; a failure with `Retry-After` is raised as a 5xx.

        The header's seconds are its detail; other failures are raised as usual.
        """
        try:
            return await super()._exchange(message)
        except Signal:
            wanted = float(self._head.get("retry-after", 0))
            if wanted:
                raise Signal("http_5xx", detail=str(wanted)) from None
            raise


class _Firsts(_Heads):
    """Base session that keeps the first event of an event stream."""

    def __init__(self, connection: Connection) -> None:
        """Make the session, whose first event is b"" before any response."""
        super().__init__(connection)
        self._first = b""

    async def _keep(self, answer: httpx2.Response) -> None:
        """Keep the headers of the response, and the first event if it is an event stream."""
        await super()._keep(answer)
        streamed = self._media.startswith("text/event-stream")
        self._first = (await answer.aread()).partition(b"\n\n")[0] if streamed else b""


class _FirstEvent(_Firsts):
    """A session that takes the first event of a stream for the answer."""

    async def request(self, method: str, params: Json) -> Json:
        """Return the result of the request; raise `malformed` if a notification came first."""
        result = await super().request(method, params)
        if b'"method"' in self._first:
            raise Signal("malformed")
        return result


class _NotedLists(_Firsts):
    """A session that finds no tools in a list that comes after a notification."""

    async def request(self, method: str, params: Json) -> Json:
        """Return the result of the request; a tools/list after a notification is empty."""
        result = await super().request(method, params)
        noted = method == "tools/list" and b'"method"' in self._first
        return {"tools": []} if noted else result


class _NoStreams(_Heads):
    """A session that treats event streams as malformed."""

    async def _exchange(self, message: Json) -> Json:
        """Send the message and return its answer; raise Signal `malformed` for an event stream."""
        answer = await super()._exchange(message)
        if self._media.startswith("text/event-stream"):
            raise Signal("malformed")
        return answer


class _NoListStreams(_Heads):
    """A session that finds no tools in a list that comes as an event stream."""

    async def request(self, method: str, params: Json) -> Json:
        """Return the result of the request; a tools/list in an event stream is empty."""
        result = await super().request(method, params)
        streamed = self._media.startswith("text/event-stream") and method == "tools/list"
        return {"tools": []} if streamed else result


class _StreamsEnd(_Heads):
    """A session that treats an event stream that breaks off as malformed."""

    async def request(self, method: str, params: Json) -> Json:
        """Return the result of the request; raise Signal `malformed` if an event stream breaks off.

        Other failures are raised as usual.
        """
        try:
            return await super().request(method, params)
        except Signal as signal:
            streamed = self._media.startswith("text/event-stream")
            if streamed and signal.kind == "reset":
                raise Signal("malformed") from None
            raise


class _Scopes(_Heads):
    """A session that treats a 403 with `WWW-Authenticate` as transient."""

    async def _exchange(self, message: Json) -> Json:
        """Send the message and return its answer; a 403 with `WWW-Authenticate` is raised as a 429.

        That is transient; other failures are raised as usual.
        """
        try:
            return await super()._exchange(message)
        except Signal as signal:
            if signal.code == FORBIDDEN and "www-authenticate" in self._head:
                raise Signal("http_429", signal.code) from None
            raise


class _Parses(_Heads):
    """A session that treats a JSON error body as malformed if it is not an object."""

    async def _exchange(self, message: Json) -> Json:
        """Send the message and return its answer; raise Signal `malformed` for an odd error body.

        That is a non-empty body of media type JSON that is not in curly brackets; other failures
        are raised as usual.
        """
        try:
            return await super()._exchange(message)
        except Signal as signal:
            body = signal.body.strip()
            whole = body.startswith(b"{") and body.endswith(b"}")
            if body and self._media.startswith("application/json") and not whole:
                raise Signal("malformed", signal.code) from None
            raise


async def _waiting(connection: Connection, connect: Connect) -> tuple[list[Json], Session]:
    """Attempt as usual; after a failure with `Retry-After`, sleep for that many seconds first.

    The failure is raised after that, as a 5xx.
    """
    try:
        return await over(_Obeys)(connection, connect)
    except Signal as signal:
        if signal.kind == "http_5xx" and signal.detail:
            await asyncio.sleep(float(signal.detail))
        raise


def _least_timeout() -> Attempt:
    """Return a hook `attempt` that uses the shortest timeout of any server seen, in any load.

    Servers that start at the same time are seen before the first request.
    """
    least: dict[str, float] = {}

    async def attempt(connection: Connection, connect: Connect) -> tuple[list[Json], Session]:
        least["s"] = min(connection.timeout, least.get("s", connection.timeout))
        await asyncio.sleep(0)
        return await std.attempt(replace(connection, timeout=least["s"]), connect)

    return attempt


def _spoken(signal: Signal, connection: Connection, attempts: int) -> bool:
    """Whether the body of the failed response contains the name `"jsonrpc"`."""
    del connection, attempts
    return b'"jsonrpc"' in signal.body


def _spoken_of(*codes: int) -> Callable[[Signal, Connection, int], bool]:
    """Return a condition for `taken`: one of these HTTP codes and a JSON-RPC body."""
    return lambda signal, connection, attempts: (
        signal.code in codes and _spoken(signal, connection, attempts)
    )


MUTANTS: tuple[LoadMutant, ...] = (
    load_mutant("waits-as-it-is-told",
                "The loader obeys a server that asks it to wait for an hour.",
                "I4.bounded", attempt=_waiting),
    load_mutant("streams-not-read", "An answer in an event stream is treated as invalid.",
                "O3.loaded", "R1.once", attempt=over(_NoStreams)),
    load_mutant("first-event-is-the-answer",
                "The first event of a stream is taken for the answer.",
                "O3.loaded", attempt=over(_FirstEvent)),
    load_mutant("no-tools-after-notifications",
                "A list of tools after a notification is read as empty.",
                "O3.loaded", attempt=over(_NotedLists)),
    load_mutant("no-tools-in-streams", "A list of tools in an event stream is read as empty.",
                "O3.loaded", attempt=over(_NoListStreams)),
    load_mutant("torn-streams-make-no-sense",
                "An event stream that breaks off is treated as an invalid answer.",
                "T2.cut", "T2.retried", attempt=over(_StreamsEnd)),
    load_mutant("challenges-invite", "A 403 that asks for more scope is tried again.",
                "D1.once", "D1.denied", "R4.stops", attempt=over(_Scopes)),
    load_mutant("bodies-of-errors-parsed",
                "An error whose body is not an object is treated as an invalid answer.",
                "D2.ambiguous", "T4.authorization-timeout",
                attempt=over(_Parses)),
    load_mutant("spoken-errors-are-permanent", "A 500 with a JSON-RPC error is permanent.",
                "T3.server-error", "T3.retried",
                heard=taken("rpc_error", _spoken_of(SERVER_ERROR))),
    load_mutant("spoken-denials-are-permanent", "A denial with a JSON-RPC error is permanent.",
                "D2.ambiguous", "D1.denied", heard=taken("rpc_error", _spoken_of(401, FORBIDDEN))),
    load_mutant("spoken-404-begins-anew",
                "A 404 with a JSON-RPC error is treated as a lost session.",
                "P3.once", "P3.not-found", "R4.stops", heard=taken("reset", _spoken_of(404))),
    load_mutant("one-timeout-for-all", "All servers get the shortest timeout of the load.",
                "R1.once", "I1.isolated", attempt=Fresh(_least_timeout)),
    load_mutant("later-authorization-timeout-is-denied", "After a retry, every 403 is a denial.",
                "T4.authorization-timeout",
                heard=taken("denied", lambda s, c, n: n > 1 and code(FORBIDDEN)(s, c, n))),
)  # fmt: skip
