"""Which clauses an outcome breaks that the walk does not allow, and which a server can show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Literal

from mcp_proxy_conformance.catalogue.load_case import Behaviour, Server
from mcp_proxy_conformance.resilience.walk import (
    AVAILABLE,
    MARKS,
    TIES,
    TRANSIENT,
    Reads,
    signal_of,
    walk,
)

Topic = Literal["status", "attempts"]
NOTIFICATION = "notifications/initialized"
SECOND = 2
TRANSPORTS = ("stdio", "streamable-http")
"""How a connection says that a server is reached."""
CUTS = ("reset", "close", "cut_json", "cut_sse")

OF_ATTEMPTS = frozenset({
    "T1.retried", "T2.retried", "T3.retried", "T4.retried", "P3.once", "D1.once", "D2.once",
    "P4.no-traffic", "O5.bounded", "R1.once", "R2.heals", "R4.stops", "R3.limit",
    "T2.retried~event-stream", "P1.unknown-name~once", "P2.refused~once",
})  # fmt: skip
"""The clauses of how often a server is tried."""
OF_STATUS = frozenset({
    "T1.timeout", "T2.cut", "T3.server-error", "T3.notification", "T4.authorization-timeout",
    "T4.declared", "P1.unknown-name", "P2.refused", "P3.not-found", "P4.malformed", "D1.denied",
    "D2.ambiguous", "R2.heals", "O3.loaded", "T1.timeout~connect", "T1.timeout~notification",
    "T2.cut~notification", "T4.authorization-timeout~single-phrase", "P3.not-found~later",
    "P4.malformed~transport", "D1.denied~notification", "D1.denied~timed-out", "R2.heals~later",
    "O3.loaded~none", "N2.beside-disconnect", "X.other-codes", "X.redirect", "X.not-mcp",
    "X.rpc-error", "X.stdio",
})  # fmt: skip
"""The clauses of the class that a server is told as."""


@dataclass(frozen=True, slots=True)
class Clauses:
    """Of one behaviour: what another class breaks, a lone attempt, and a further attempt.

    Empty where the source leaves it open.
    """

    status: str = ""
    alone: str = ""
    further: str = ""


@dataclass(frozen=True, slots=True)
class Blame:
    """What an outcome is blamed for, and the clauses that it breaks."""

    topic: Topic
    clauses: tuple[str, ...]


def clauses_of(one: Behaviour, timeout_s: float, signatures: Sequence[str] = ()) -> Clauses:
    """The clauses that convict of a first attempt that meets this behaviour.

    `signatures`: what the loader declares as the marks of a timeout.
    """
    if signal_of(one, timeout_s).classes == AVAILABLE:
        return Clauses("O3.loaded", "R1.once", "R1.once")
    if one.do == "status":
        return _by_code(one, signatures)
    if one.on == NOTIFICATION:
        return Clauses()
    if one.do in ("silence", "slow"):
        return Clauses("T1.timeout", "T1.retried")
    if one.do in CUTS:
        return Clauses("T2.cut", "T2.retried")
    if one.do == "refused":
        return Clauses("P2.refused")
    if one.do == "malformed":
        known = (one.connection or {}).get("transport", "stdio") in TRANSPORTS
        return Clauses("P4.malformed" if known else "P4.malformed~transport")
    return Clauses()


def _by_code(one: Behaviour, signatures: Sequence[str]) -> Clauses:
    code, body = one.code or 0, (one.body or "").lower()
    if one.by is not None:
        return Clauses()
    if one.on == NOTIFICATION:
        is_error = code >= HTTPStatus.INTERNAL_SERVER_ERROR
        return Clauses("T3.notification") if is_error else Clauses()
    if code >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return Clauses("T3.server-error", "T3.retried")
    if code == HTTPStatus.FORBIDDEN and all(mark in body for mark in MARKS):
        return Clauses("T4.authorization-timeout", "T4.retried")
    if code == HTTPStatus.FORBIDDEN and any(mark.lower() in body for mark in signatures):
        return Clauses("T4.declared")
    if code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        if any(tie in body for tie in TIES):
            return Clauses()
        is_said = code == HTTPStatus.UNAUTHORIZED or not body or "polic" in body
        return Clauses(
            *(("D1.denied", "", "D1.once") if is_said else ("D2.ambiguous", "", "D2.once"))
        )
    if code == HTTPStatus.NOT_FOUND and one.on != "tools/list":
        return Clauses("P3.not-found", "", "P3.once")
    return Clauses()


def is_open(one: Behaviour) -> bool:
    """Whether the source text has no word that convicts on the class of this behaviour."""
    return not clauses_of(one, 1.0).status


def shown_by(server: Server, most: int, status: object, reads: Reads) -> set[str]:
    """The clauses of the table that an allowed end of that status shows to hold."""
    told = clauses_of(server.behaviour(1), server.timeout_s, reads.signatures)
    found = shown(server, most, reads.signatures) - {"O3.loaded"}
    if (
        status not in signal_of(server.behaviour(1), server.timeout_s).classes
        and not reads.signatures
    ):
        found.discard(told.status)
    return found


def shown(server: Server, most: int, signatures: Sequence[str] = ()) -> set[str]:
    """The clauses that a load of this server can convict of, whatever comes before."""
    first, second = server.behaviour(1), server.behaviour(2)
    told = clauses_of(first, server.timeout_s, signatures)
    passing = bool(told.alone) and told.status != "O3.loaded"
    found = {told.status, told.further, told.alone if most > 1 else ""}
    found |= {"O5.bounded"} if passing else set()
    if _ends_at(server, most):
        found.add("R4.stops")
    if told.alone and told.status != "O3.loaded" and _is_well(second, server) and most > 1:
        found.add("R2.heals")
    return found - {""}


def _ends_at(server: Server, most: int) -> int:
    """The attempt before the last one that ends permanent or denied; 0 if none does."""
    for number in range(1, most):
        signal = signal_of(server.behaviour(number), server.timeout_s)
        if signal.classes != TRANSIENT:
            lasting = not signal.classes & (TRANSIENT | AVAILABLE) and signal.counted
            return number if lasting else 0
    return 0


def blamed(
    server: Server, most: int, status: object, seen: int | None, reads: Reads
) -> tuple[Blame, ...]:
    """What that end of a load breaks; nothing when it is allowed, or what says no only advises."""
    allowed = walk(server, most, reads=reads)
    if seen is None or not allowed.counted or server.script[0].do == "malformed":
        clauses = [clauses_of(one, server.timeout_s, reads.signatures).status
                   for one in server.script[:most]]  # fmt: skip
        known = status in allowed.statuses or not all(clauses)
        firm = clauses[:1] + [one for one in clauses[1:] if one != "O3.loaded"]
        return () if known else (Blame("status", tuple(dict.fromkeys(firm))),)
    if (status, seen) in allowed.ends:
        return ()
    if seen > most:
        return (Blame("attempts", ("O5.bounded",)),)
    number = _last_due(server, seen)
    if number == seen:
        found = [_ended(server, seen, status, most, reads)]
    else:
        found = [_went_on(server, number)]
        if status not in allowed.statuses:
            found.append(_misread(server, number, reads))
    kept = [Blame(one.topic, tuple(filter(None, one.clauses))) for one in found]
    return tuple(one for one in kept if one.clauses)


def _last_due(server: Server, seen: int) -> int:
    """The first of the attempts made that should have been the last one, else the last made."""
    ends = (
        number
        for number in range(1, seen)
        if not signal_of(server.behaviour(number), server.timeout_s).classes & TRANSIENT
    )
    return next(ends, seen)


def _went_on(server: Server, number: int) -> Blame:
    """What a further attempt after that one breaks."""
    one = server.behaviour(number)
    if _is_well(one, server):
        return Blame("attempts", (_of_health(server, number, "R1.once"),))
    further = clauses_of(one, server.timeout_s).further if number == 1 else ""
    return Blame("attempts", (further, "R4.stops"))


def _misread(server: Server, number: int, reads: Reads) -> Blame:
    """What another class than that attempt's breaks."""
    one = server.behaviour(number)
    if _is_well(one, server):
        return Blame("status", (_of_health(server, number, "O3.loaded"),))
    return Blame("status", (clauses_of(one, server.timeout_s, reads.signatures).status,))


def _ended(server: Server, seen: int, status: object, most: int, reads: Reads) -> Blame:
    """What the last attempt that was made should have led to."""
    one, following = server.behaviour(max(seen, 1)), server.behaviour(seen + 1)
    told = clauses_of(one, server.timeout_s)
    if seen == 0:
        return Blame("attempts", (told.alone,))
    if status == "transient" and signal_of(one, server.timeout_s).classes & TRANSIENT:
        heals = "R2.heals" if _is_well(following, server) and most > 1 else ""
        return Blame("attempts", (told.alone, heals))
    return _misread(server, seen, reads)


def _of_health(server: Server, number: int, at_once: str) -> str:
    """The clause that speaks of a server that is well in that attempt; later ones only advise."""
    if number == 1:
        return f"{at_once}~none" if at_once == "O3.loaded" and not server.tools else at_once
    is_heal = number == SECOND and clauses_of(server.behaviour(1), server.timeout_s).alone
    return "R2.heals" if is_heal else ""


def _is_well(one: Behaviour, server: Server) -> bool:
    return signal_of(one, server.timeout_s).classes == AVAILABLE
