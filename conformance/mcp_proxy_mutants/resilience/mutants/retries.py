"""Loader mutants of retries: too many, too few, after a final outcome, or wrongly counted."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

from mcp_proxy_mutants.resilience.mutant import LoadMutant, load_mutant
from mcp_proxy_mutants.resilience.pieces import (
    each,
    ended,
    failed,
    is_in,
    meaning,
    not_available,
    when,
)
from mcp_proxy_reference import loader as std
from mcp_proxy_reference.loader import Connect, Connection, Json, Outcome, Session, Signal, Status

Again = Callable[[Signal, Status, int, int], bool]


def _also(*kinds: str) -> Again:
    """Return a hook `again` (whether to retry) that is true after these kinds of signals, too.

    The maximum of attempts still holds.
    """
    return lambda signal, status, attempts, most: (
        (status == "transient" or signal.kind in kinds) and attempts < most
    )


def _not_after(*kinds: str) -> Again:
    """Return a hook `again` (whether to retry) that is false after these kinds of signals."""
    return lambda signal, status, attempts, most: (
        status == "transient" and signal.kind not in kinds and attempts < most
    )


def _up_to(bound: Callable[[int], int]) -> Again:
    """Return a hook `again` (whether to retry) that allows `bound(most)` attempts, not `most`."""
    return lambda _, status, attempts, most: status == "transient" and attempts < bound(most)


def _later(signal: Signal, status: Status, attempts: int, most: int) -> bool:
    """Whether to retry: after a transient failure, and from the second attempt on after any.

    Never at the maximum of attempts.
    """
    del signal
    return attempts < most and (status == "transient" or attempts > 1)


def _at_the_third(signal: Signal, status: Status, attempts: int, most: int) -> bool:
    """Whether to retry: after a transient failure; from the third on, after a denial or 404 too.

    Never at the maximum of attempts.
    """
    lasting = signal.kind in ("denied", "http_404")
    return attempts < most and (status == "transient" or (lasting and attempts > 2))  # noqa: PLR2004


async def _twice(connection: Connection, connect: Connect) -> tuple[list[Json], Session]:
    """Load the server, close the session, and load it again; the loader counts one attempt."""
    _, session = await std.attempt(connection, connect)
    await session.close()
    return await std.attempt(connection, connect)


async def _slow_twice(connection: Connection, connect: Connect) -> tuple[list[Json], Session]:
    """Load the server, and once more if that took 0.15 s or more; the loader counts one attempt."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    tools, session = await std.attempt(connection, connect)
    if loop.time() - began < 0.15:  # noqa: PLR2004 - a moment
        return tools, session
    await session.close()
    return await std.attempt(connection, connect)


async def _hidden(connection: Connection, connect: Connect) -> tuple[list[Json], Session]:
    """Attempt, and once more after a cut connection or a 5xx; the loader counts one attempt."""
    try:
        return await std.attempt(connection, connect)
    except Signal as signal:
        if signal.kind not in ("reset", "http_5xx"):
            raise
        return await std.attempt(connection, connect)


async def _hidden_after_denial(
    connection: Connection, connect: Connect
) -> tuple[list[Json], Session]:
    """Attempt, and once more after a denial; the loader counts one attempt."""
    try:
        return await std.attempt(connection, connect)
    except Signal as signal:
        if signal.kind != "denied":
            raise
        return await std.attempt(connection, connect)


def _given_up(outcome: Outcome) -> Outcome:
    """Return the outcome; a transient one after several attempts becomes permanent."""
    gave_up = outcome.status == "transient" and outcome.attempts > 1
    return failed(outcome, "permanent") if gave_up else outcome


def _lone(outcome: Outcome) -> Outcome:
    """Return the outcome; a transient one after a single attempt becomes permanent."""
    lone = outcome.status == "transient" and outcome.attempts == 1
    return failed(outcome, "permanent") if lone else outcome


def _healed(outcome: Outcome) -> Outcome:
    """Return the outcome; an available one after several attempts becomes transient."""
    again = outcome.status == "available" and outcome.attempts > 1
    return failed(outcome, "transient") if again else outcome


def _one_less(outcome: Outcome) -> Outcome:
    """Return the outcome with one attempt fewer than were made, at least 0."""
    return replace(outcome, attempts=max(outcome.attempts - 1, 0))


async def _again_in_secret(connection: Connection, connect: Connect) -> tuple[list[Json], Session]:
    """Attempt, and once more after two seconds if refused; the loader counts one attempt."""
    try:
        return await std.attempt(connection, connect)
    except Signal as signal:
        if signal.kind != "refused":
            raise
        await asyncio.sleep(2.0)
        return await std.attempt(connection, connect)


MUTANTS: tuple[LoadMutant, ...] = (
    load_mutant("closed-ports-tried-again", "A refused connection is permanent, but tried again.",
                "P2.once", again=lambda signal, status, attempts, most: attempts < most
                and (status == "transient" or signal.kind == "refused")),
    load_mutant("closed-ports-waited-for",
                "A refused connection is tried again within the same attempt.",
                "P2.once", attempt=_again_in_secret),
    load_mutant("never-again", "A server is tried only once, whatever fails.",
                "T4.retried", "T1.retried", "T2.retried", "T3.retried", "R2.heals",
                again=lambda *_: False),
    load_mutant("back-is-not-available", "A server that comes back at its second attempt may pass.",
                "R2.heals", edit=when(
                    lambda outcome: outcome["status"] == "available" and outcome["attempts"] > 1,
                    status="transient", tools=[], error="It failed at first.")),
    load_mutant("timeout-not-again", "After a timeout, there is no second attempt.",
                "T1.retried", "R2.heals", again=_not_after("timeout")),
    load_mutant("cut-not-again", "After a cut connection, there is no second attempt.",
                "T2.retried", "R2.heals", again=_not_after("reset")),
    load_mutant("server-error-not-again", "After a 5xx, there is no second attempt.",
                "T3.retried", "R2.heals", again=_not_after("http_5xx")),
    load_mutant("authorization-timeout-not-again",
                "After an authorization timeout, there is no second attempt.",
                "T4.retried", "R2.heals", again=_not_after("authz_timeout")),
    load_mutant("one-too-many", "The maximum limits the retries, not the attempts.",
                "O5.bounded", again=_up_to(lambda most: most + 1)),
    load_mutant("always-three", "Three attempts are made, whatever the maximum.",
                "O5.bounded", again=_up_to(lambda _: 3)),
    load_mutant("never-just-one", "With a maximum of one there are two attempts.",
                "O5.bounded", again=_up_to(lambda most: max(most, 2))),
    load_mutant("one-too-few", "The last attempt that is allowed is never made.",
                "T2.retried", "T1.retried", "T3.retried", "R2.heals",
                again=_up_to(lambda most: most - 1)),
    load_mutant("denial-again", "A denial is reported as denied, but tried again.",
                "D1.once", "D2.once", "R4.stops", again=_also("denied")),
    load_mutant("unauthorized-again", "A 401 is reported as denied, but tried again.",
                "D1.once", "R4.stops", "N1.request-text",
                again=lambda s, status, n, most: n < most
                and (status == "transient" or s.code == 401)),  # noqa: PLR2004
    load_mutant("not-found-again", "A 404 is reported as permanent, but tried again.",
                "P3.once", "R4.stops", again=_also("http_404")),
    load_mutant("all-again", "Every failure is tried again.",
                "P3.once", "D1.once", "D2.once", "R4.stops", again=_also(*std.MEANING)),
    load_mutant("later-denial-again", "After a first retry, every failure is tried again.",
                "R4.stops", again=_later),
    load_mutant("looked-at-first", "Each server is probed before it is loaded.",
                "R1.once", "O5.bounded", attempt=_twice),
    load_mutant("slow-loaded-again", "A server that answers slowly is loaded again.",
                "R1.once", attempt=_slow_twice),
    load_mutant("tries-below", "A client library below the loader retries by itself.",
                "O5.bounded", "O6.claimed", attempt=_hidden),
    load_mutant("new-token-below", "A client library below the loader retries after a denial.",
                "D1.once", "D2.once", "R4.stops", "O6.claimed", attempt=_hidden_after_denial),
    load_mutant("given-up-is-permanent",
                "A server whose attempts are used up is reported as permanent.",
                "T1.timeout", "T2.cut", "T3.server-error", "T4.authorization-timeout",
                together=ended(_given_up)),
    load_mutant("lone-attempt-is-permanent",
                "With a single attempt, a transient failure is reported as permanent.",
                "T1.timeout", "T2.cut", "T3.server-error", together=ended(_lone)),
    load_mutant("healed-is-starting", "A server that needed two attempts is reported as transient.",
                "R2.heals", together=ended(_healed)),
    load_mutant("claims-one", "One attempt is reported, however many were made.",
                "O6.claimed", edit=when(lambda _: True, attempts=1)),
    load_mutant("claims-retries", "The number of retries is reported instead of the attempts.",
                "O6.claimed", together=ended(_one_less)),
    load_mutant("claims-the-most",
                "For transient servers, the maximum is reported as the attempts.",
                "O6.claimed",
                again=_up_to(lambda most: min(most, 2)),
                edit=lambda answer, request: answer | {"outcomes": [
                    outcome
                    | ({"attempts": request["max_attempts"]} if is_in("transient")(outcome) else {})
                    for outcome in answer["outcomes"]]}),
    load_mutant("claims-none-when-denied", "For a denial, no attempt is reported.",
                "O6.claimed", edit=when(is_in("denied"), attempts=0)),
    load_mutant("claims-none-when-failed", "Attempts are reported only for available servers.",
                "O6.claimed", edit=when(not_available, attempts=None)),
    load_mutant("claims-in-words", "Attempts are reported as a string.",
                "O6.claimed",
                edit=each(lambda outcome: outcome | {"attempts": str(outcome["attempts"])})),
    load_mutant("denied-and-not-found-swapped", "Denials are permanent, and a 404 is a denial.",
                "D1.denied", "P3.not-found",
                meaning=meaning("permanent", "denied") | {"http_404": ("denied", "Denied.")}),
    load_mutant("third-denial-again", "A denial at the third attempt is tried again.",
                "R4.stops", again=_at_the_third),
    load_mutant("claims-true", "A single attempt is reported as true.",
                "O6.claimed", edit=when(lambda outcome: outcome["attempts"] == 1, attempts=True)),
)  # fmt: skip
