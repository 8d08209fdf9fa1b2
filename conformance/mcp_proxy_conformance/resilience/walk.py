"""Walk of a server's script: the (status, attempts) pairs with which its load may end."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from urllib.parse import urlsplit

from mcp_proxy_conformance.resilience.load_case import (
    HEALTHY_PATH,
    ITSELF,
    LATER_PAGE,
    MISSING_PATH,
    Behaviour,
    LoadServer,
    Status,
)

AVAILABLE: frozenset[Status] = frozenset({"available"})
TRANSIENT: frozenset[Status] = frozenset({"transient"})
PERMANENT: frozenset[Status] = frozenset({"permanent"})
DENIED: frozenset[Status] = frozenset({"denied"})
FAILED = TRANSIENT | PERMANENT | DENIED
STATUSES = FAILED | AVAILABLE
WORDS: tuple[Status, ...] = ("available", "transient", "permanent", "denied")
"""The statuses, in the order of reports."""
MARKS = ("ext_authz", "timeout")
"""The words of an authorization service that timed out, in the body of a 403."""
METHOD_NOT_FOUND = -32601
SIGNATURE = "{signature}"
"""The placeholder, in a body, for a timeout signature that the loader declares."""
TIES = (
    *MARKS, "timed out", "time-out", "deadline", "upstream", "connect", "reset", "unavailable",
    "gateway",
)  # fmt: skip
"""A 403 with one of these in its body may be related to a timeout or to a connection."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """The classification of one attempt at a server, as the source leaves it to a loader.

    Attributes:
        classes: The classes that the source allows for it.
        retried: Whether it must lead to a second attempt where one is allowed.
        counted: Whether the attempts can be counted at the server.
    """

    classes: frozenset[Status]
    retried: bool = False
    counted: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Reads:
    """The loader's declarations (how it reads a failure) that affect how a load may end.

    Attributes:
        classifies: It distinguishes the classes of failure and retries the transient one only.
        retries: It tries again after a transient failure.
        stdio: It starts servers by a command; otherwise it is given none.
        signatures: The texts in the body of a 403 that it treats as a timeout.
    """

    classifies: bool = True
    retries: bool = True
    stdio: bool = True
    signatures: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """The allowed ends of a server's load: pairs of a status and the attempts at the server.

    Attributes:
        ends: The pairs; the number is meaningless if attempts cannot be counted.
        counted: Whether the attempts can be counted at the server.
        tools: The server's tools if it is available; None if others may be there too.
    """

    ends: frozenset[tuple[Status, int]]
    counted: bool
    tools: tuple[str, ...] | None

    @property
    def statuses(self) -> frozenset[Status]:
        """Every status that is allowed."""
        return frozenset(status for status, _ in self.ends)

    @property
    def attempts(self) -> tuple[int, int] | None:
        """The fewest and the most attempts, as a pair; None if they cannot be counted."""
        numbers = [number for _, number in self.ends]
        return (min(numbers), max(numbers)) if self.counted else None


def walk(
    server: LoadServer, max_attempts: int, *, loads: int = 1, reads: Reads | None = None
) -> Allowed:
    """Return the ends that the source allows for the last of `loads` loads of this server.

    Its script continues from load to load; `max_attempts` bounds one load; `reads` None is a
    loader that classifies and retries.
    """
    reads = reads or Reads()
    before, ends = frozenset({0}), frozenset[tuple[Status, int]]()
    for _ in range(loads):
        paths = [(s, end) for s in before for end in _ends(server, max_attempts, s, reads)]
        ends = frozenset(end for _, end in paths)
        before = frozenset(start + number for start, (_, number) in paths)
    signals = [signal_of(behaviour, server.timeout_s, reads) for behaviour in server.script]
    led_away = any(
        behaviour.do == "redirect" and behaviour.to not in (HEALTHY_PATH, MISSING_PATH, ITSELF)
        for behaviour in server.script
    )
    tools = server.listed if any(status == "available" for status, _ in ends) else ()
    return Allowed(
        ends=ends,
        counted=all(signal.counted for signal in signals),
        tools=None if led_away else tools,
    )


def _ends(
    server: LoadServer, max_attempts: int, start: int, reads: Reads
) -> set[tuple[Status, int]]:
    """Return the allowed (status, attempts) pairs of one load; `start`: attempts of loads before.

    With a malformed connection there is no attempt.
    """
    if server.script[0].do == "malformed":
        return {(s, 0) for s in signal_of(server.script[0], server.timeout_s, reads).classes}
    ends: set[tuple[Status, int]] = set()
    is_certain = False
    for number in range(1, max_attempts + 1):
        signal = signal_of(server.behaviour(start + number), server.timeout_s, reads)
        ends |= {(status, number) for status in signal.classes - TRANSIENT}
        if not signal.classes & (TRANSIENT if reads.classifies else FAILED):
            break
        is_certain = signal.retried and number == 1 and reads.retries and reads.classifies
        if number == max_attempts or not is_certain:
            ends.add(("transient", number))
    return ends


def signal_of(behaviour: Behaviour, timeout_s: float, reads: Reads | None = None) -> Signal:
    """Return how an attempt that meets this behaviour may be classified.

    On the notification of the handshake `available` is allowed too, as a client may go on; a
    failure of a later page may have any class of failure. An answer beyond `timeout_s` seconds
    is late. `reads` None: no signatures.
    """
    signal = _signal(behaviour, timeout_s, (reads or Reads()).signatures)
    if behaviour.on == LATER_PAGE and not signal.classes & AVAILABLE:
        return Signal(classes=FAILED)
    if behaviour.on != "notifications/initialized" or behaviour.do == "malformed":
        return signal
    return Signal(classes=signal.classes | AVAILABLE, counted=signal.counted)


def _signal(behaviour: Behaviour, timeout_s: float, signatures: Sequence[str]) -> Signal:
    """Return how an attempt that meets this behaviour, on any request, may be classified.

    A failure that the source does not name may have any class of failure.
    """
    match "close" if hangs_up(behaviour) else behaviour.do:
        case "healthy" | "stream" | "set_cookie" | "session" | "guarded":
            return Signal(classes=AVAILABLE)
        case "slow" if (behaviour.seconds or 0) < timeout_s:
            return Signal(classes=AVAILABLE)
        case "slow" | "silence" | "chatter" | "reset" | "close" | "cut_json":
            return Signal(classes=TRANSIENT, retried=True)
        case "cut_sse":
            begun = behaviour.where != "before"
            return Signal(classes=TRANSIENT, retried=begun, counted=begun)
        case "status":
            by_code = _by_code(
                behaviour.code or 0, behaviour.body or "", behaviour.on, tuple(signatures)
            )
            return by_code if behaviour.by is None else Signal(classes=by_code.classes | TRANSIENT)
        case "redirect":
            leads = behaviour.to not in (MISSING_PATH, ITSELF)
            works = AVAILABLE if leads else frozenset[Status]()
            return Signal(classes=FAILED | works, counted=False)
        case "jsonrpc_error" | "result" if behaviour.code in (METHOD_NOT_FOUND, None):
            return Signal(classes=FAILED | AVAILABLE)  # may be taken for a server without tools
        case "refused" | "refused_at_first" | "refuses" | "unresolvable":
            return Signal(classes=PERMANENT, counted=False)
        case "backlog":
            return Signal(classes=TRANSIENT | PERMANENT, counted=False)
        case "malformed":
            return _by_connection(behaviour.connection or {})
        case "banner" | "plain_for_tls" | "stdio_missing" | "stdio_exits" | "stdio_garbage":
            return Signal(classes=FAILED, counted=False)
        case _:
            return Signal(classes=FAILED)


def hangs_up(behaviour: Behaviour) -> bool:
    """Whether a program ends that has answered initialize, and so closes its connection."""
    return behaviour.do == "exits" and behaviour.on == "tools/list"


@cache
def _by_code(code: int, body: str, on: str, signatures: tuple[str, ...]) -> Signal:
    """Return how an answer with this status code to the request `on` may be classified.

    Of a 401 or 403 the body decides too; other codes below 500 but 404 may have any class of
    failure.
    """
    declared = any(text.lower() in body.lower() for text in (SIGNATURE, *signatures))
    is_marked = is_timeout_signature(body) or declared
    if code >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return Signal(classes=TRANSIENT, retried=True)
    if code == HTTPStatus.NOT_FOUND:
        return Signal(classes=PERMANENT if on in {"initialize", "any"} else PERMANENT | TRANSIENT)
    if code == HTTPStatus.UNAUTHORIZED:
        marked = is_marked or all(mark in body.lower() for mark in MARKS)
        return Signal(classes=DENIED | TRANSIENT if marked else DENIED)
    if code != HTTPStatus.FORBIDDEN:
        return Signal(classes=FAILED)
    if is_marked:
        return Signal(classes=TRANSIENT, retried=True)
    return Signal(classes=DENIED | TRANSIENT if has_tie(body) else DENIED)


@cache
def is_timeout_signature(body: str) -> bool:
    """Whether a body is not JSON, and a line of it has `ext_authz`, then `timeout`.

    Both words in lower case.
    """
    return body[:1] not in ("{", "[", '"') and re.search(".*".join(MARKS), body) is not None


@cache
def has_tie(body: str) -> bool:
    """Whether the body of a 403 has one of TIES, which may relate it to a timeout.

    Upper and lower case do not matter.
    """
    return any(tie in body.lower() for tie in TIES)


def _by_connection(connection: dict[str, object]) -> Signal:
    """Return how a malformed connection is classified: permanent.

    Attempts are `counted` only if it has no usable target: neither a URL with a host nor a command.
    """
    url = connection.get("url")
    lacks_host = isinstance(url, str) and not urlsplit(url).hostname
    is_hopeless = connection.get("command") is None and (url is None or lacks_host)
    return Signal(classes=PERMANENT, counted=is_hopeless)
