"""What the source text allows: the walk of a script by the table of signals and classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import urlsplit

from mcp_proxy_conformance.catalogue.load_case import Behaviour, Server, Status

AVAILABLE: frozenset[Status] = frozenset({"available"})
TRANSIENT: frozenset[Status] = frozenset({"transient"})
PERMANENT: frozenset[Status] = frozenset({"permanent"})
DENIED: frozenset[Status] = frozenset({"denied"})
FAILED = TRANSIENT | PERMANENT | DENIED
MARKS = ("ext_authz", "timeout")
"""A 403 with both in its body comes from an authorization service that ran out of time."""
SIGNATURE = "{signature}"
"""Stands in a body for a timeout signature that the loader declares."""
TIES = (
    *MARKS, "timed out", "time-out", "deadline", "upstream", "connect", "reset", "unavailable",
    "gateway",
)  # fmt: skip
"""A 403 with one of these in its body may be tied to a timeout or to a connection."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """What one attempt may be classified as.

    Attributes:
        classes: The classes that a fair reader may give it.
        retried: Whether it is certain to lead to a second attempt where one is allowed.
        counted: Whether the attempts can be counted at the server.
    """

    classes: frozenset[Status]
    retried: bool = False
    counted: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Reads:
    """What the loader declares that bears on how a load may end.

    Attributes:
        classifies: It tells the classes of failure apart, and goes on after the passing one only.
        retries: It tries again after a passing failure.
        signatures: What in the body of a 403 it takes for the mark of a timeout.
    """

    classifies: bool = True
    retries: bool = True
    signatures: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """How the load of a server may end: pairs of a status and the attempts that the server saw.

    Attributes:
        ends: The pairs; the attempts of those that cannot be counted mean nothing.
        counted: Whether the attempts can be counted at the server.
        tools: The server's tools when it is available; None when others may be there too.
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
        """The fewest and the most attempts, None when they cannot be counted."""
        numbers = [number for _, number in self.ends]
        return (min(numbers), max(numbers)) if self.counted else None


def walk(
    server: Server, max_attempts: int, *, loads: int = 1, reads: Reads | None = None
) -> Allowed:
    """Tell how the load of that server may end, the last one of so many.

    Args:
        server: The server and its script.
        max_attempts: The bound of attempts of one load.
        loads: How often it is loaded; its script goes on from load to load.
        reads: What the loader declares; one that tells the classes apart and retries if None.
    """
    reads = reads or Reads()
    before, ends = frozenset({0}), frozenset[tuple[Status, int]]()
    for _ in range(loads):
        found = [(s, end) for s in before for end in _ends(server, max_attempts, s, reads)]
        ends = frozenset(end for _, end in found)
        before = frozenset(start + number for start, (_, number) in found)
    signals = [signal_of(one, server.timeout_s, reads) for one in server.script]
    led_away = any(one.do == "redirect" and one.to != "healthy path" for one in server.script)
    tools = server.tools if any(status == "available" for status, _ in ends) else ()
    return Allowed(
        ends=ends,
        counted=all(signal.counted for signal in signals),
        tools=None if led_away else tools,
    )


def _ends(server: Server, max_attempts: int, start: int, reads: Reads) -> set[tuple[Status, int]]:
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


def signal_of(one: Behaviour, timeout_s: float, reads: Reads | None = None) -> Signal:
    """Tell what an attempt that meets this behaviour may be classified as."""
    signal = _signal(one, timeout_s, (reads or Reads()).signatures)
    if one.on != "notifications/initialized" or one.do == "malformed":
        return signal
    return Signal(classes=signal.classes | AVAILABLE, counted=signal.counted)


def _signal(one: Behaviour, timeout_s: float, signatures: Sequence[str]) -> Signal:
    match one.do:
        case "healthy" | "stream" | "set_cookie" | "session":
            return Signal(classes=AVAILABLE)
        case "slow" if (one.seconds or 0) < timeout_s:
            return Signal(classes=AVAILABLE)
        case "slow" | "silence" | "reset" | "close" | "cut_json":
            return Signal(classes=TRANSIENT, retried=True)
        case "cut_sse":
            is_inside = one.where == "inside"
            return Signal(classes=TRANSIENT, retried=is_inside, counted=is_inside)
        case "status":
            by_code = _by_code(one.code or 0, (one.body or "").lower(), one.on, signatures)
            return by_code if one.by is None else Signal(classes=by_code.classes | TRANSIENT)
        case "redirect":
            return Signal(classes=FAILED | AVAILABLE, counted=False)
        case "refused" | "unresolvable":
            return Signal(classes=PERMANENT, counted=False)
        case "backlog":
            return Signal(classes=TRANSIENT | PERMANENT, counted=False)
        case "malformed":
            return _by_connection(one.connection or {})
        case "banner" | "plain_for_tls" | "stdio_missing" | "stdio_exits" | "stdio_garbage":
            return Signal(classes=FAILED, counted=False)
        case _:
            return Signal(classes=FAILED)


def _by_code(code: int, body: str, on: str, signatures: Sequence[str]) -> Signal:
    declared = any(one.lower() in body for one in (SIGNATURE, *signatures))
    is_marked = all(mark in body for mark in MARKS) or declared
    if code >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return Signal(classes=TRANSIENT, retried=True)
    if code == HTTPStatus.NOT_FOUND:
        return Signal(classes=PERMANENT if on in {"initialize", "any"} else PERMANENT | TRANSIENT)
    if code == HTTPStatus.UNAUTHORIZED:
        return Signal(classes=DENIED | TRANSIENT if is_marked else DENIED)
    if code != HTTPStatus.FORBIDDEN:
        return Signal(classes=FAILED)
    if is_marked:
        return Signal(classes=TRANSIENT, retried=True)
    return Signal(classes=DENIED | TRANSIENT if any(tie in body for tie in TIES) else DENIED)


def _by_connection(connection: dict[str, object]) -> Signal:
    """None of it can be used: no URL and no command, or a URL without a host; else it is open."""
    url = connection.get("url")
    lacks_host = isinstance(url, str) and not urlsplit(url).hostname
    is_hopeless = connection.get("command") is None and (url is None or lacks_host)
    return Signal(classes=PERMANENT, counted=is_hopeless)
