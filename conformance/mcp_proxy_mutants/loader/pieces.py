"""Pieces to build changed loaders from: hooks of LoadPolicy, sessions and conditions."""

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
    """Return the table of signals and statuses with these kinds in another class."""
    return {**MEANING, **{kind: (status, MEANING[kind][1]) for kind in kinds}}


def taken(kind: str, when: Callable[[Signal, Connection, int], bool]) -> Hear:
    """Return a hook `heard` that replaces the signals for which `when` is true by one of `kind`."""

    def heard(signal: Signal, connection: Connection, attempts: int) -> Signal:
        if not when(signal, connection, attempts):
            return signal
        return Signal(kind, signal.code, signal.detail, signal.body)

    return heard


def code(*codes: int) -> Callable[[Signal, Connection, int], bool]:
    """Return a condition for `taken`: the HTTP status is one of these."""
    return lambda signal, _, __: signal.code in codes


def sends(connection: Connection) -> str:
    """Return the text that the loader itself sends: id, URL and header values, in lower case."""
    sent = [connection.server_id, connection.url or "", *connection.headers.values()]
    return " ".join(sent).lower()


class Ear:
    """A session that passes all on to another one, and replaces the signals it raises by `hear`."""

    def __init__(self, session: Session, hear: Callable[[str, Signal], Signal]) -> None:
        """Wrap a session; `hear` is called with the method and the signal, and returns another."""
        self._session = session
        self._hear = hear

    async def request(self, method: str, params: Json) -> Json:
        """Send a request by the wrapped session; a signal it raises is replaced."""
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


def hearing(hear: Callable[[str, Signal], Signal], attempt: Attempt = std.attempt) -> Attempt:
    """Return a hook `attempt` whose session replaces signals by `hear`."""

    async def heard(connection: Connection, connect: Connect) -> tuple[list[Json], Session]:
        async def connected(to: Connection) -> Session:
            return Ear(await connect(to), hear)

        return await attempt(connection, connected)

    return heard


def at(method: str, kind: str, *kinds: str) -> Attempt:
    """Return a hook `attempt`: signals of `kinds` (default: all) at `method` become `kind`."""

    def hear(sent: str, signal: Signal) -> Signal:
        fits = sent == method and signal.kind in (kinds or MEANING)
        return Signal(kind, signal.code, signal.detail, signal.body) if fits else signal

    return hearing(hear)


def handed(change: Callable[[Connection], Connection], attempt: Attempt = std.attempt) -> Attempt:
    """Return a hook `attempt` that reaches a server by a changed connection."""
    return lambda connection, connect: attempt(change(connection), connect)


def over(make: Callable[[Connection], Session], attempt: Attempt = std.attempt) -> Attempt:
    """Return a hook `attempt` that uses sessions from `make` for URLs; stdio as usual."""

    async def made(connection: Connection, connect: Connect) -> tuple[list[Json], Session]:
        async def connected(to: Connection) -> Session:
            return make(to) if to.url else await connect(to)

        return await attempt(connection, connected)

    return made


def ended(change: Callable[[Outcome], Outcome]) -> Callable[[Loads], Awaitable[list[Outcome]]]:
    """Return a hook `together` that changes each outcome once the load is over."""
    return together(lambda outcomes: [change(outcome) for outcome in outcomes])


def together(
    change: Callable[[list[Outcome]], list[Outcome]],
) -> Callable[[Loads], Awaitable[list[Outcome]]]:
    """Return a hook `together` that changes the list of outcomes once the load is over."""

    async def loaded(loads: Loads) -> list[Outcome]:
        return change(await std.side_by_side(loads))

    return loaded


def failed(outcome: Outcome, status: Status, **members: Any) -> Outcome:
    """Return the outcome as a failure with that status, without tools."""
    return replace(outcome, status=status, tools=(), error=outcome.error or "It failed.", **members)


def each(change: Callable[[OutcomeEntry], OutcomeEntry]) -> Callable[[Json, Json], Json]:
    """Return a hook `tell` that changes each outcome of the answer."""
    return lambda answer, _: (
        answer | {"outcomes": [change(outcome) for outcome in answer["outcomes"]]}
    )


def when(condition: Callable[[OutcomeEntry], bool], **members: Any) -> Callable[[Json, Json], Json]:
    """Return a hook `tell` that replaces members of the outcomes that meet a condition."""
    return each(lambda outcome: outcome | members if condition(outcome) else outcome)


def is_in(*statuses: str) -> Callable[[OutcomeEntry], bool]:
    """Return a condition on an outcome: its status is one of these."""
    return lambda outcome: outcome["status"] in statuses


def not_available(outcome: OutcomeEntry) -> bool:
    """Whether the outcome is in any class but `available`."""
    return bool(outcome["status"] != "available")


def warns(
    change: Callable[[Mapping[str, list[str]], list[OutcomeEntry]], dict[str, list[str]]],
) -> Callable[[Json, Json], Json]:
    """Return a hook `tell` that makes the warnings from the usual ones and the outcomes."""
    return lambda answer, _: answer | {"warnings": change(answer["warnings"], answer["outcomes"])}
