"""Pieces of changed loaders: hooks (functions for `LoadPolicy`), sessions and conditions."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mcp_proxy_reference import loader as std
from mcp_proxy_reference.loader import (
    MEANING,
    Connect,
    Connection,
    Json,
    Outcome,
    Session,
    Signal,
    Status,
)

Hear = Callable[[Signal, Connection, int], Signal]
OutcomeEntry = dict[str, Any]
Loads = Sequence[Callable[[], Awaitable[Outcome]]]
Attempt = Callable[[Connection, Connect], Awaitable[tuple[list[Json], Session]]]
TIMELY = ("timeout", "timed out", "connection", "reset", "503", "ssl", "unavailable")
"""Words that a careless search of texts takes for a sign of a transient failure."""


def meaning(status: Status, *kinds: str) -> dict[str, tuple[Status, str]]:
    """Return the reference's table with these kinds of signals as `status`, their texts unchanged.

    It maps each kind of signal to (status, error text).
    """
    return {**MEANING, **{kind: (status, MEANING[kind][1]) for kind in kinds}}


def taken(kind: str, when: Callable[[Signal, Connection, int], bool]) -> Hear:
    """Return a hook `heard`: a signal (failure) for which `when` is true counts as one of `kind`.

    Its status code, detail and body are unchanged.
    """

    def heard(signal: Signal, connection: Connection, attempts: int) -> Signal:
        if not when(signal, connection, attempts):
            return signal
        return Signal(kind, signal.code, signal.detail, signal.body)

    return heard


def code(*codes: int) -> Callable[[Signal, Connection, int], bool]:
    """Return a condition for `taken`: the signal's HTTP status is one of these."""
    return lambda signal, _, __: signal.code in codes


def sends(connection: Connection) -> str:
    """Return what the loader sends to the server in lower case: its id, URL and header values."""
    sent = [connection.server_id, connection.url or "", *connection.headers.values()]
    return " ".join(sent).lower()


def _as_it_is(method: str, signal: Signal) -> Signal:
    """Return the signal unchanged, whatever the method."""
    del method
    return signal


class Ear:
    """A session that passes all on to another one, and replaces the signals it raises by `hear`."""

    def __init__(self, session: Session, hear: Callable[[str, Signal], Signal] = _as_it_is) -> None:
        """Wrap a session; `hear` is called with the method and the signal, and returns another."""
        self._session = session
        self._hear = hear

    async def request(self, method: str, params: Json) -> Json:
        """Send a request by the wrapped session, return its result; replace a signal it raises."""
        try:
            return await self._session.request(method, params)
        except Signal as signal:
            raise self._hear(method, signal) from None

    async def notify(self, method: str) -> None:
        """Send a notification by the wrapped session; a signal it raises is replaced."""
        try:
            await self._session.notify(method)
        except Signal as signal:
            raise self._hear(method, signal) from None

    async def close(self) -> None:
        """Close the wrapped session."""
        await self._session.close()


def wrapping(wrap: Callable[[Session], Session]) -> Attempt:
    """Return a hook `attempt` (one try to load) whose session is the one that `wrap` returns."""

    async def wrapped(connection: Connection, connect: Connect) -> tuple[list[Json], Session]:
        async def connected(to: Connection) -> Session:
            return wrap(await connect(to))

        return await std.attempt(connection, connected)

    return wrapped


def hearing(hear: Callable[[str, Signal], Signal]) -> Attempt:
    """Return a hook `attempt` (one try to load) in whose session `hear` replaces signals.

    `hear` gets the method and the signal.
    """
    return wrapping(lambda session: Ear(session, hear))


def at(method: str, kind: str, *kinds: str) -> Attempt:
    """Return a hook `attempt`: failures of `method` become `kind`.

    All, or only those of `kinds`.
    """

    def hear(sent: str, signal: Signal) -> Signal:
        fits = sent == method and signal.kind in (kinds or MEANING)
        return Signal(kind, signal.code, signal.detail, signal.body) if fits else signal

    return hearing(hear)


def handed(change: Callable[[Connection], Connection]) -> Attempt:
    """Return a hook `attempt` that tries the server by the connection that `change` returns."""
    return lambda connection, connect: std.attempt(change(connection), connect)


def over(make: Callable[[Connection], Session]) -> Attempt:
    """Return a hook `attempt` with sessions from `make` for servers with a URL; stdio as usual."""

    async def made(connection: Connection, connect: Connect) -> tuple[list[Json], Session]:
        async def connected(to: Connection) -> Session:
            return make(to) if to.url else await connect(to)

        return await std.attempt(connection, connected)

    return made


def ended(change: Callable[[Outcome], Outcome]) -> Callable[[Loads], Awaitable[list[Outcome]]]:
    """Return a hook `together` (a whole load) that passes each outcome through `change`."""
    return together(lambda outcomes: [change(outcome) for outcome in outcomes])


def together(
    change: Callable[[list[Outcome]], list[Outcome]],
) -> Callable[[Loads], Awaitable[list[Outcome]]]:
    """Return a hook `together` (a whole load) that passes its outcomes through `change` at the end.

    All servers are loaded at once, as usual.
    """

    async def loaded(loads: Loads) -> list[Outcome]:
        return change(await std.side_by_side(loads))

    return loaded


def failed(outcome: Outcome, status: Status, **members: Any) -> Outcome:
    """Return the outcome as a failure with that status, no tools and its error or `It failed.`.

    `members` replace others of its members.
    """
    return replace(outcome, status=status, tools=(), error=outcome.error or "It failed.", **members)


def each(change: Callable[[OutcomeEntry], OutcomeEntry]) -> Callable[[Json, Json], Json]:
    """Return a hook `edit` that passes each outcome of the answer through `change`."""
    return lambda answer, _: (
        answer | {"outcomes": [change(outcome) for outcome in answer["outcomes"]]}
    )


def when(condition: Callable[[OutcomeEntry], bool], **members: Any) -> Callable[[Json, Json], Json]:
    """Return a hook `edit` that replaces members of those outcomes that meet the condition."""
    return each(lambda outcome: outcome | members if condition(outcome) else outcome)


def is_in(*statuses: str) -> Callable[[OutcomeEntry], bool]:
    """Return a condition on an outcome: its status is one of these."""
    return lambda outcome: outcome["status"] in statuses


def not_available(outcome: OutcomeEntry) -> bool:
    """Whether the outcome has any status but `available`."""
    return bool(outcome["status"] != "available")


def warns(
    change: Callable[[Mapping[str, list[str]], list[OutcomeEntry]], dict[str, list[str]]],
) -> Callable[[Json, Json], Json]:
    """Return a hook `edit` whose warnings `change` makes of the usual ones and the outcomes.

    Warnings are lists of lines by status.
    """
    return lambda answer, _: answer | {"warnings": change(answer["warnings"], answer["outcomes"])}
