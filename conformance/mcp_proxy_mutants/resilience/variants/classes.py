"""Loader variants that choose a failure's class (transient, denied …) where none is specified."""

from collections import Counter

import httpx2

from mcp_proxy_mutants.resilience.pieces import (
    Ear,
    Hear,
    at,
    failed,
    hearing,
    is_in,
    meaning,
    over,
    taken,
    together,
    wrapping,
)
from mcp_proxy_mutants.resilience.variant import Fresh, LoadVariant, load_variant
from mcp_proxy_reference.loader import (
    Connection,
    Json,
    Outcome,
    Signal,
)
from mcp_proxy_reference.sessions import HttpSession

OPEN = ("http_4xx", "http_429", "redirect", "malformed", "rpc_error", "command")
"""Kinds of signals that the mapping does not name."""
PHRASES = (b"ext_authz", b"timeout", b"deadline", b"connection reset", b"timed out")
UNAUTHORIZED, FORBIDDEN = 401, 403


class _Deaf(Ear):
    """A session that ignores the failures of its notifications."""

    async def notify(self, method: str) -> None:
        """Send a notification by the wrapped session; a failure is ignored."""
        try:
            await self._session.notify(method)
        except Signal:
            return


class _NoList(Ear):
    """A session in which an unknown method tools/list lists no tools."""

    async def request(self, method: str, params: Json) -> Json:
        """Return the result of the request; a server without tools/list lists no tools.

        It is known by the error `Method not found` to the first page.
        """
        try:
            return await self._session.request(method, params)
        except Signal as signal:
            if method != "tools/list" or params or signal.detail != "Method not found":
                raise
            return {"tools": []}


LEAST_S = 0.5
"""A busy machine takes some time to make a connection."""


class _Impatient(HttpSession):
    """A session that treats a connection that is not made in time as refused."""

    def __init__(self, connection: Connection) -> None:
        """Make the session, whose client limits nothing but the time to connect.

        That is half a timeout, at least 0.5 s.
        """
        super().__init__(connection)
        self._http.timeout = httpx2.Timeout(None, connect=max(LEAST_S, connection.timeout / 2))

    async def _exchange(self, message: Json) -> Json:
        """Send the message and return its answer; a connection made too late counts as refused.

        Too late is after half of the timeout, but at least half a second.
        """
        try:
            return await super()._exchange(message)
        except Signal as signal:
            lost = isinstance(signal.__context__, httpx2.ConnectTimeout)
            raise Signal("refused") if lost else signal from None


def _marked(*marks: bytes, codes: tuple[int, ...] = (FORBIDDEN,)) -> Hear:
    """Return a hook `heard`: a response with one of these HTTP codes is a timeout or a denial.

    It is a timeout if its body has all marks; other signals are unchanged.
    """

    def heard(signal: Signal, connection: Connection, attempts: int) -> Signal:
        del connection, attempts
        if signal.code not in codes:
            return signal
        fits = all(mark in signal.body for mark in marks)
        return Signal("authz_timeout" if fits else "denied", signal.code, body=signal.body)

    return heard


def _in_order(signal: Signal, connection: Connection, attempts: int) -> Signal:
    """Return the signal; a 403 is transient only with `ext_authz` before `timeout`, else denied.

    Both must be in one line, and the body must not begin with a curly bracket.
    """
    del connection, attempts
    if signal.code != FORBIDDEN:
        return signal
    lines = signal.body.splitlines()
    fits = any(b"timeout" in line.partition(b"ext_authz")[2] for line in lines)
    fits = fits and not signal.body.startswith(b"{")
    return Signal("authz_timeout" if fits else "denied", signal.code, body=signal.body)


def _phrase(signal: Signal, connection: Connection, attempts: int) -> bool:
    """Whether the signal is a 403 whose body has at least one of the PHRASES.

    They are about timeouts or authorization.
    """
    del connection, attempts
    return signal.code == FORBIDDEN and any(phrase in signal.body for phrase in PHRASES)


def _in_turns() -> Hear:
    """Return a hook `heard`: kinds whose class is open are denied and permanent in turns.

    They alternate from load to load, for each server by itself, and begin with denied; later
    attempts of a load are unchanged.
    """
    heard_of: Counter[str] = Counter()

    def heard(signal: Signal, connection: Connection, attempts: int) -> Signal:
        if signal.kind not in OPEN or attempts > 1:
            return signal
        heard_of[connection.url or connection.server_id] += 1
        odd = heard_of[connection.url or connection.server_id] % 2
        return Signal("denied" if odd else "http_404", signal.code)

    return heard


def _empty(outcome: Outcome) -> Outcome:
    """Return the outcome; an available server without tools is permanent."""
    none = is_in("available")({"status": outcome.status}) and not outcome.tools
    return failed(outcome, "permanent") if none else outcome


def _unknown_transport(answer: Json, request: Json) -> Json:
    """Return the answer with servers of an unknown transport as transient, and then no warnings.

    Without such a server it is unchanged.
    """
    known = (None, "streamable-http", "stdio")
    names = {
        server["server_id"] for server in request["servers"] if server.get("transport") not in known
    }
    if not names:
        return answer
    outcomes = [
        outcome | ({"status": "transient"} if outcome["server_id"] in names else {})
        for outcome in answer["outcomes"]
    ]
    return answer | {"outcomes": outcomes, "warnings": {}}


VARIANTS: tuple[LoadVariant, ...] = (
    load_variant("full-backlog-is-refused",
                 "A connection timeout is treated as a refused connection.",
                 "which-timeout", "T1.timeout~connect", attempt=over(_Impatient)),
    load_variant("deaf-to-notifications", "Failures of notifications/initialized are ignored.",
                 "faults-of-the-notification", attempt=wrapping(_Deaf)),
    load_variant("one-phrase-is-enough", "A single phrase about a timeout makes a 403 transient.",
                 "timeout-signature", "T4.authorization-timeout~single-phrase",
                 heard=taken("authz_timeout", _phrase)),
    load_variant("both-marks-to-the-letter",
                 "A 403 is transient only with both `ext_authz` and `timeout`.",
                 "timeout-signature", "T4.authorization-timeout~single-phrase",
                 heard=_marked(b"ext_authz", b"timeout")),
    load_variant("marks-in-one-order",
                 "A 403 is transient only if plain text has `ext_authz` and then `timeout`.",
                 "timeout-signature", "T4.authorization-timeout~single-phrase",
                 "T4.authorization-timeout~spelling", heard=_in_order),
    load_variant("signature-of-its-own", "A declared timeout signature makes a 403 transient too.",
                 "timeout-signature", signatures=("gate fell asleep",),
                 heard=taken("authz_timeout", lambda signal, *_: signal.code == FORBIDDEN
                             and b"gate fell asleep" in signal.body)),
    load_variant("timed-out-401-may-pass", "The signature of a timeout makes a 401 transient too.",
                 "timed-out-401", "D1.denied~timed-out",
                 heard=_marked(b"ext_authz", b"timeout", codes=(UNAUTHORIZED, FORBIDDEN))),
    load_variant("lost-session-begins-anew", "A 404 within a session starts a new session.",
                 "later-not-found", "P3.not-found~later",
                 attempt=at("tools/list", "reset", "http_404")),
    load_variant("lost-notification-begins-anew",
                 "A 404 to notifications/initialized starts a new session.",
                 "later-not-found",
                 attempt=hearing(lambda method, signal: Signal("reset")
                                 if signal.kind == "http_404" and method != "initialize"
                                 else signal)),
    load_variant("unknown-transport-may-pass", "An unknown transport is reported as transient.",
                 "which-is-malformed", "P4.malformed~transport", edit=_unknown_transport),
    load_variant("unnamed-may-pass", "A failure that the mapping does not name is transient.",
                 "outside-the-mapping", "X.other-codes", "X.not-mcp", "X.rpc-error", "X.stdio",
                 "X.redirect", meaning=meaning("transient", *OPEN)),
    load_variant("unnamed-is-denied", "A failure that the mapping does not name is denied.",
                 "outside-the-mapping", "X.other-codes", "X.not-mcp", "X.rpc-error", "X.stdio",
                 "X.redirect", meaning=meaning("denied", *OPEN)),
    load_variant("unnamed-in-turns",
                 "A failure that the mapping does not name is denied and permanent in turns.",
                 "outside-the-mapping", "X.other-codes", "X.not-mcp", "X.rpc-error", "X.stdio",
                 heard=Fresh(_in_turns)),
    load_variant("no-list-is-no-tools",
                 "A server that does not know tools/list is available without tools.",
                 "outside-the-mapping", "server-without-tools", attempt=wrapping(_NoList)),
    load_variant("empty-is-permanent", "A server without tools is reported as permanent.",
                 "server-without-tools", "O3.loaded~none",
                 together=together(lambda outcomes: [_empty(outcome) for outcome in outcomes])),
)  # fmt: skip
