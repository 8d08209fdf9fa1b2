"""Blame for a load: clauses broken by a wrong status or number of attempts, and clauses shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from itertools import product
from typing import Literal

from mcp_proxy_conformance.resilience.load_case import LATER_PAGE, Behaviour, LoadServer
from mcp_proxy_conformance.resilience.walk import (
    AVAILABLE,
    TRANSIENT,
    WORDS,
    Allowed,
    Reads,
    hangs_up,
    has_tie,
    is_timeout_signature,
    signal_of,
    walk,
)

Topic = Literal["status", "attempts"]
NOTIFICATION = "notifications/initialized"
SECOND = 2
TRANSPORTS = ("stdio", "streamable-http")
"""Transports that a connection may name."""
UNANSWERED = ("silence", "chatter", "slow")
CUTS = ("reset", "close", "cut_json", "cut_sse")

OF_ATTEMPTS = frozenset({
    "T1.retried", "T2.retried", "T3.retried", "T4.retried", "P3.once", "D1.once", "D2.once",
    "P2.once", "P4.no-traffic", "O5.bounded", "R1.once", "R2.heals", "R4.stops", "R3.limit",
    "T2.retried~event-stream", "P1.unknown-name~once",
})  # fmt: skip
"""The clauses about the number of attempts."""
OF_STATUS = frozenset({
    "T1.timeout", "T2.cut", "T3.server-error", "T3.notification", "T4.authorization-timeout",
    "T4.declared", "P1.unknown-name", "P2.refused", "P3.not-found", "P4.malformed", "D1.denied",
    "D2.ambiguous", "R2.heals", "O3.loaded", "T1.timeout~connect", "T1.notification",
    "T2.notification", "T4.authorization-timeout~single-phrase", "P3.not-found~later",
    "P4.malformed~transport", "D1.notification", "D1.denied~timed-out", "R2.heals~later",
    "O3.loaded~none", "N2.beside-disconnect", "X.other-codes", "X.redirect", "X.not-mcp",
    "X.rpc-error", "X.stdio", "X.failed", "O3.later-page", "T4.authorization-timeout~spelling",
})  # fmt: skip
"""The clauses about the status of a server."""
OF_ANY_FAILURE = ("X.failed", "O3.later-page")
"""The clauses that only a server told as available can break; the table alone blames them."""


@dataclass(frozen=True, slots=True)
class Clauses:
    """The clauses that a loader breaks by a wrong reaction to one behaviour of a server.

    `status`: by reporting a wrong status; `alone`: by no second attempt; `further`: by another
    attempt. Empty where the source leaves it open.
    """

    status: str = ""
    alone: str = ""
    further: str = ""


@dataclass(frozen=True, slots=True)
class Blame:
    """One thing wrong with how a load of a server ended, and the clauses that it breaks."""

    topic: Topic
    clauses: tuple[str, ...]


def clauses_of(behaviour: Behaviour, timeout_s: float, signatures: Sequence[str] = ()) -> Clauses:
    """Return the clauses that a wrong reaction to this behaviour in a first attempt breaks.

    Members are "" where the source is open, as for most faults of a later page. An answer
    beyond `timeout_s` seconds is late; `signatures` are texts in the body of a 403 that the
    loader declares to mean a timeout.
    """
    if signal_of(behaviour, timeout_s).classes == AVAILABLE:
        return Clauses("O3.loaded", "R1.once", "R1.once")
    if behaviour.on == LATER_PAGE:
        return Clauses()
    if behaviour.do == "status":
        return _by_code(behaviour, signatures)
    if behaviour.on == NOTIFICATION:
        return _by_notification(behaviour)
    if behaviour.do in UNANSWERED or behaviour.by in ("silence", "drip"):
        return Clauses("T1.timeout", "T1.retried")
    if behaviour.do in CUTS or hangs_up(behaviour):
        return Clauses("T2.cut", "T2.retried")
    if behaviour.do in ("refused", "refused_at_first", "refuses"):
        return Clauses("P2.refused")
    if behaviour.do == "malformed":
        known = (behaviour.connection or {}).get("transport", "stdio") in TRANSPORTS
        return Clauses("P4.malformed" if known else "P4.malformed~transport")
    return Clauses()


def _by_notification(behaviour: Behaviour) -> Clauses:
    """Return the clauses for a server that leaves the notification unanswered or cuts its answer.

    T1.notification for silence or lateness, T2.notification for a cut, else none.
    """
    if behaviour.do in UNANSWERED or behaviour.by in ("silence", "drip"):
        return Clauses("T1.notification")
    return Clauses("T2.notification") if behaviour.do in CUTS else Clauses()


def _by_code(behaviour: Behaviour, signatures: Sequence[str]) -> Clauses:
    """Return the clauses for a server that answers with this behaviour's status code.

    The body decides between those of a 401 or 403; the notification has its own. All are empty if
    the answer is cut too, or the source is open.
    """
    code, body = behaviour.code or 0, behaviour.body or ""
    if behaviour.by is not None:
        return Clauses()
    if behaviour.on == NOTIFICATION:
        is_denied = code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
        if is_denied and not has_tie(body):
            return Clauses("D1.notification")
        is_error = code >= HTTPStatus.INTERNAL_SERVER_ERROR
        return Clauses("T3.notification") if is_error else Clauses()
    if code >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return Clauses("T3.server-error", "T3.retried")
    if code == HTTPStatus.FORBIDDEN and is_timeout_signature(body):
        return Clauses("T4.authorization-timeout", "T4.retried")
    if code == HTTPStatus.FORBIDDEN and any(mark.lower() in body.lower() for mark in signatures):
        return Clauses("T4.declared")
    if code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        if has_tie(body):
            return Clauses()
        is_said = code == HTTPStatus.UNAUTHORIZED or not body or "polic" in body.lower()
        return Clauses(
            *(("D1.denied", "", "D1.once") if is_said else ("D2.ambiguous", "", "D2.once"))
        )
    if code == HTTPStatus.NOT_FOUND and behaviour.on != "tools/list":
        return Clauses("P3.not-found", "", "P3.once")
    return Clauses()


def _of_status(behaviour: Behaviour, timeout_s: float, reads: Reads, status: object) -> str:
    """Return the clause that reporting this wrong status for the behaviour breaks; "" if none.

    A failure reported as available breaks the behaviour's own clause, if it has one and the
    loader classifies failures; else X.failed, or O3.later-page on a later page.
    """
    clause = clauses_of(behaviour, timeout_s, reads.signatures).status
    fails = not signal_of(behaviour, timeout_s, reads).classes & AVAILABLE
    if not fails or status != "available" or (clause and reads.classifies):
        return clause
    return "O3.later-page" if behaviour.on == LATER_PAGE else "X.failed"


def is_open(behaviour: Behaviour) -> bool:
    """Whether the source does not determine a status for this behaviour."""
    return not clauses_of(behaviour, 1.0).status


def shown_by(server: LoadServer, most: int, status: object, reads: Reads) -> set[str]:
    """Return the clauses that are seen to hold when the load of a server ends in an allowed way.

    They are about its status and attempts (at most `most`), without O3.loaded. The status clause is
    among them only if `status`, as reported, fits the first behaviour, or if `reads`, the loader's
    declarations, has signatures: texts of a 403 that mean a timeout; X.failed and O3.later-page
    only if it is not `available`.
    """
    clauses = clauses_of(server.behaviour(1), server.timeout_s, reads.signatures)
    held = shown(server, most, reads.signatures) - {"O3.loaded"}
    if (
        status not in signal_of(server.behaviour(1), server.timeout_s).classes
        and not reads.signatures
    ):
        held.discard(clauses.status)
    return held | ({_of_failure(server, reads)} - {""} if status != "available" else set())


def _of_failure(server: LoadServer, reads: Reads) -> str:
    """Return X.failed or O3.later-page if the status `available` breaks it; else "".

    It is decided by the server's first behaviour.
    """
    clause = _of_status(server.behaviour(1), server.timeout_s, reads, "available")
    return clause if clause in OF_ANY_FAILURE else ""


def shown(server: LoadServer, most: int, signatures: Sequence[str] = ()) -> set[str]:
    """Return the clauses that a load of this server can show, as another end would break them.

    They follow from its first behaviour, from whether it heals in the second, and from a later
    failure that must end the load before attempt `most`.
    """
    first, second = server.behaviour(1), server.behaviour(2)
    clauses = clauses_of(first, server.timeout_s, signatures)
    passing = bool(clauses.alone) and clauses.status != "O3.loaded"
    breakable = {clauses.status, clauses.further, clauses.alone if most > 1 else ""}
    breakable |= {"O5.bounded"} if passing else set()
    if _ends_at(server, most):
        breakable.add("R4.stops")
    if clauses.alone and clauses.status != "O3.loaded" and _is_well(second, server) and most > 1:
        breakable.add("R2.heals")
    return breakable - {""}


def _ends_at(server: LoadServer, most: int) -> int:
    """Return the number, below `most`, of the first attempt that is surely not transient.

    It must end the load. 0 if there is none, or if that attempt may succeed or cannot be
    counted.
    """
    for number in range(1, most):
        signal = signal_of(server.behaviour(number), server.timeout_s)
        if signal.classes != TRANSIENT:
            lasting = not signal.classes & (TRANSIENT | AVAILABLE) and signal.counted
            return number if lasting else 0
    return 0


def blamed(
    server: LoadServer, most: int, status: object, attempts: int | None, reads: Reads
) -> tuple[Blame, ...]:
    """Return what is wrong with a load of this server with this status and number of attempts.

    Empty if that is allowed or only advised against. `most` bounds the attempts. Only the status is
    judged if `attempts` is None, or says nothing: the server cannot count attempts at it, or its
    connection is malformed. Otherwise an end is blamed on stopping too early, on a wrong status, or
    on going on after an attempt that had to be the last.
    """
    return _blamed(walk(server, most, reads=reads), server, most, (status, attempts), reads)


def breakable(server: LoadServer, most: int, reads: Reads) -> set[str]:
    """Return the clauses that a load of this server may break, by any status and any attempts."""
    allowed = walk(server, most, reads=reads)
    ends = product((*WORDS, "failed"), range(most + 2))
    blames = (_blamed(allowed, server, most, end, reads) for end in ends)
    return {clause for several in blames for blame in several for clause in blame.clauses}


def _blamed(
    allowed: Allowed, server: LoadServer, most: int, end: tuple[object, int | None], reads: Reads
) -> tuple[Blame, ...]:
    status, attempts = end
    if attempts is None or not allowed.counted or server.script[0].do == "malformed":
        script = server.script[-1:] if server.script[-1].do == "refuses" else server.script[:most]
        clauses = [_of_status(behaviour, server.timeout_s, reads, status)
                   for behaviour in script]  # fmt: skip
        known = status in allowed.statuses or not all(clauses)
        if attempts is not None and attempts > most:
            known = known or _fits(server, attempts, status)
        firm = clauses[:1] + [clause for clause in clauses[1:] if clause != "O3.loaded"]
        return () if known else (Blame("status", tuple(dict.fromkeys(firm))),)
    if (status, attempts) in allowed.ends:
        return ()
    if attempts > most:
        return (Blame("attempts", ("O5.bounded",)),)
    number = _last_due(server, attempts)
    if number == attempts:
        blames = [_ended(server, attempts, status, most, reads)]
    else:
        blames = [_went_on(server, number)]
        if status not in allowed.statuses and not _fits(server, attempts, status):
            blames.append(_misread(server, number, status, reads))
    kept = [Blame(blame.topic, tuple(filter(None, blame.clauses))) for blame in blames]
    return tuple(blame for blame in kept if blame.clauses)


def _fits(server: LoadServer, attempts: int, status: object) -> bool:
    """Whether the status is right for what attempt number `attempts` met, even one too many."""
    return status in signal_of(server.behaviour(attempts), server.timeout_s).classes


def _last_due(server: LoadServer, attempts: int) -> int:
    """Return the number of the first attempt that had to be the last one, else `attempts`.

    Such an attempt met a success, or a failure that cannot be transient.
    """
    ends = (
        number
        for number in range(1, attempts)
        if not signal_of(server.behaviour(number), server.timeout_s).classes & TRANSIENT
    )
    return next(ends, attempts)


def _went_on(server: LoadServer, number: int) -> Blame:
    """Return the blame for a further attempt after number `number`, which had to be the last.

    After a success it is R1.once or R2.heals; after a failure R4.stops and, for the first
    attempt, the failure's own clause.
    """
    behaviour = server.behaviour(number)
    if _is_well(behaviour, server):
        return Blame("attempts", (_of_health(server, number, "R1.once"),))
    further = clauses_of(behaviour, server.timeout_s).further if number == 1 else ""
    return Blame("attempts", (further, "R4.stops"))


def _misread(server: LoadServer, number: int, status: object, reads: Reads) -> Blame:
    """Return the blame for a status that does not fit what attempt `number` met.

    Its clause is "" if none demands the right one.
    """
    behaviour = server.behaviour(number)
    if _is_well(behaviour, server):
        return Blame("status", (_of_health(server, number, "O3.loaded"),))
    return Blame("status", (_of_status(behaviour, server.timeout_s, reads, status),))


def _ended(server: LoadServer, attempts: int, status: object, most: int, reads: Reads) -> Blame:
    """Return the blame for stopping after `attempts` attempts: a missing retry or a wrong status.

    The retry is missing after no attempt, or if `transient` is allowed and reported; R2.heals
    is broken too if the next attempt is healthy.
    """
    last, following = server.behaviour(max(attempts, 1)), server.behaviour(attempts + 1)
    clauses = clauses_of(last, server.timeout_s)
    if attempts == 0:
        return Blame("attempts", (clauses.alone,))
    if status == "transient" and signal_of(last, server.timeout_s).classes & TRANSIENT:
        heals = "R2.heals" if _is_well(following, server) and most > 1 else ""
        return Blame("attempts", (clauses.alone, heals))
    return _misread(server, attempts, status, reads)


def _of_health(server: LoadServer, number: int, at_once: str) -> str:
    """Return the clause about a server that is healthy in attempt `number`; "" if none demands it.

    `at_once` is that for the first attempt, with ~none for O3.loaded without tools; in the
    second it is R2.heals, if the first must be retried.
    """
    if number == 1:
        return f"{at_once}~none" if at_once == "O3.loaded" and not server.tools else at_once
    is_heal = number == SECOND and clauses_of(server.behaviour(1), server.timeout_s).alone
    return "R2.heals" if is_heal else ""


def _is_well(behaviour: Behaviour, server: LoadServer) -> bool:
    """Whether this behaviour of the server gives a right answer in time."""
    return signal_of(behaviour, server.timeout_s).classes == AVAILABLE
