"""Parts of which changed loaders are made: ears, attempts, tables and ends."""

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
Told = dict[str, Any]
Loads = Sequence[Callable[[], Awaitable[Outcome]]]
Attempt = Callable[[Connection, Connect], Awaitable[tuple[list[Json], Session]]]
TIMELY = ("timeout", "timed out", "connection", "reset", "503", "ssl", "unavailable")
"""Words that a hasty reader takes for a passing cause wherever they stand."""


def meaning(status: Status, *kinds: str) -> dict[str, tuple[Status, str]]:
    """The table with rows of another class."""
    return {**MEANING, **{kind: (status, MEANING[kind][1]) for kind in kinds}}


def taken(kind: str, when: Callable[[Signal, Connection, int], bool]) -> Hear:
    """Some signals are taken for one of that kind."""

    def heard(signal: Signal, connection: Connection, attempts: int) -> Signal:
        if not when(signal, connection, attempts):
            return signal
        return Signal(kind, signal.code, signal.detail, signal.body)

    return heard


def code(*codes: int) -> Callable[[Signal, Connection, int], bool]:
    """Answers of these codes."""
    return lambda signal, _, __: signal.code in codes


def sends(connection: Connection) -> str:
    """All that a loader itself says to a server or of it."""
    sent = [connection.server_id, connection.url or "", *connection.headers.values()]
    return " ".join(sent).lower()


class Ear:
    """A session that hears the signals of its requests in its own way."""

    def __init__(self, session: Session, hear: Callable[[str, Signal], Signal]) -> None:
        """`hear` gets the request's method and its signal."""
        self._session = session
        self._hear = hear

    async def request(self, method: str, params: Json) -> Json:
        """The result of one JSON-RPC call."""
        try:
            return await self._session.request(method, params)
        except Signal as signal:
            raise self._hear(method, signal) from None

    async def notify(self, method: str) -> None:
        """Send one notification."""
        try:
            await self._session.notify(method)
        except Signal as signal:
            raise self._hear(method, signal) from None

    async def close(self) -> None:
        """End the connection."""
        await self._session.close()


def hearing(hear: Callable[[str, Signal], Signal], attempt: Attempt = std.attempt) -> Attempt:
    """An attempt whose session hears so."""

    async def heard(connection: Connection, connect: Connect) -> tuple[list[Json], Session]:
        async def connected(to: Connection) -> Session:
            return Ear(await connect(to), hear)

        return await attempt(connection, connected)

    return heard


def at(method: str, kind: str, *kinds: str) -> Attempt:
    """Signals of these kinds at that request are taken for another; all if none is named."""

    def hear(asked: str, signal: Signal) -> Signal:
        fits = asked == method and signal.kind in (kinds or MEANING)
        return Signal(kind, signal.code, signal.detail, signal.body) if fits else signal

    return hearing(hear)


def handed(change: Callable[[Connection], Connection], attempt: Attempt = std.attempt) -> Attempt:
    """An attempt at a changed connection."""
    return lambda connection, connect: attempt(change(connection), connect)


def over(make: Callable[[Connection], Session], attempt: Attempt = std.attempt) -> Attempt:
    """An attempt over sessions of another kind, where there is a URL."""

    async def made(connection: Connection, connect: Connect) -> tuple[list[Json], Session]:
        async def connected(to: Connection) -> Session:
            return make(to) if to.url else await connect(to)

        return await attempt(connection, connected)

    return made


def ended(change: Callable[[Outcome], Outcome]) -> Callable[[Loads], Awaitable[list[Outcome]]]:
    """Each outcome is changed at the end."""
    return together(lambda outcomes: [change(one) for one in outcomes])


def together(
    change: Callable[[list[Outcome]], list[Outcome]],
) -> Callable[[Loads], Awaitable[list[Outcome]]]:
    """The outcomes of a load are changed at its end."""

    async def loaded(loads: Loads) -> list[Outcome]:
        return change(await std.side_by_side(loads))

    return loaded


def failed(outcome: Outcome, status: Status, **members: Any) -> Outcome:
    """The outcome as a failure of that class."""
    return replace(outcome, status=status, tools=(), error=outcome.error or "It failed.", **members)


def each(change: Callable[[Told], Told]) -> Callable[[Json, Json], Json]:
    """Each outcome of the answer is changed; the warnings stay."""
    return lambda told, _: told | {"outcomes": [change(one) for one in told["outcomes"]]}


def when(condition: Callable[[Told], bool], **members: Any) -> Callable[[Json, Json], Json]:
    """Outcomes that meet a condition have other members."""
    return each(lambda one: one | members if condition(one) else one)


def is_in(*statuses: str) -> Callable[[Told], bool]:
    """Outcomes of these classes."""
    return lambda one: one["status"] in statuses


def not_available(one: Told) -> bool:
    """Outcomes of every other class."""
    return bool(one["status"] != "available")


def warns(
    change: Callable[[Mapping[str, list[str]], list[Told]], dict[str, list[str]]],
) -> Callable[[Json, Json], Json]:
    """Other warnings, made of those that are due and of the outcomes."""
    return lambda told, _: told | {"warnings": change(told["warnings"], told["outcomes"])}
