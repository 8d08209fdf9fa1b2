"""Loader mutants that take one failure for another, at any request or at one method only."""

from mcp_proxy_mutants.resilience.mutant import LoadMutant, load_mutant
from mcp_proxy_mutants.resilience.pieces import at, hearing, meaning, taken
from mcp_proxy_reference.loader import Signal


def _json_cut(method: str, signal: Signal) -> Signal:
    """Return the signal; `reset` becomes `malformed` if the body broke off."""
    del method
    context = signal.__context__
    incomplete = "incomplete" in str(context) or "peer closed" in str(context)
    return Signal("malformed") if signal.kind == "reset" and incomplete else signal


def _closed(method: str, signal: Signal) -> Signal:
    """Return the signal; `reset` becomes `refused` if the server closed without a response."""
    del method
    ended = "without sending" in str(signal.__context__)
    return Signal("refused") if signal.kind == "reset" and ended else signal


def _stream(method: str, signal: Signal) -> Signal:
    """Return the signal; `reset` becomes `refused` if reading failed, as by a TCP reset."""
    del method
    context = repr(signal.__context__)
    return Signal("refused") if signal.kind == "reset" and "ReadError" in context else signal


MUTANTS: tuple[LoadMutant, ...] = (
    load_mutant("denial-lost", "A 403 or 401 is treated as a failed connection.",
                "D1.denied", "D1.once", "D2.ambiguous",
                heard=taken("reset", lambda s, *_: s.kind == "denied")),
    load_mutant("denial-lost-at-the-listing",
                "A denial of tools/list is treated as a cut connection.",
                "D1.once", "D1.denied", "R4.stops", attempt=at("tools/list", "reset", "denied")),
    load_mutant("denial-may-pass-at-the-listing", "Once a session is open, a denial is transient.",
                "D1.once", "D1.denied", "D2.ambiguous",
                attempt=at("tools/list", "http_429", "denied")),
    load_mutant("not-found-lost", "A 404 is treated as a failed connection.",
                "P3.not-found", "P3.once", heard=taken("reset", lambda s, *_: s.code == 404)),  # noqa: PLR2004
    load_mutant("server-error-lost", "A 5xx is treated as an invalid answer.",
                "T3.server-error", "T3.retried",
                heard=taken("malformed", lambda s, *_: s.kind == "http_5xx")),
    load_mutant("server-error-permanent-at-the-listing",
                "Once a session is open, a 5xx is permanent.",
                "T3.server-error", "T3.retried", attempt=at("tools/list", "rpc_error", "http_5xx")),
    load_mutant("timeout-permanent-at-the-listing",
                "Once a session is open, a timeout is permanent.",
                "T1.timeout", "T1.retried", attempt=at("tools/list", "rpc_error", "timeout")),
    load_mutant("cut-permanent-at-the-listing",
                "Once a session is open, a cut connection is permanent.",
                "T2.cut", "T2.retried", attempt=at("tools/list", "rpc_error", "reset")),
    load_mutant("authorization-timeout-denied-at-the-listing",
                "Once a session is open, every 403 is a denial.",
                "T4.authorization-timeout", attempt=at("tools/list", "denied", "authz_timeout")),
    load_mutant("notification-error-is-permanent",
                "A 5xx to notifications/initialized is permanent.",
                "T3.notification",
                attempt=at("notifications/initialized", "rpc_error", "http_5xx")),
    load_mutant("notification-error-is-denied", "A 5xx to notifications/initialized is a denial.",
                "T3.notification", attempt=at("notifications/initialized", "denied", "http_5xx")),
    load_mutant("torn-answer-makes-no-sense", "An answer that breaks off is treated as invalid.",
                "T2.cut", "T2.retried", attempt=hearing(_json_cut)),
    load_mutant("closed-before-the-answer-is-refused",
                "A connection that closes without an answer is treated as a closed port.",
                "T2.cut", "T2.retried", attempt=hearing(_closed)),
    load_mutant("reset-before-the-answer-is-refused",
                "A connection that is reset is treated as a closed port.",
                "T2.cut", "T2.retried", attempt=hearing(_stream)),
    load_mutant("failure-is-a-failure", "Every failure is reported as permanent.",
                "T1.timeout", "T2.cut", "T3.server-error", "D1.denied",
                meaning=meaning("permanent", "timeout", "reset", "http_5xx", "denied")),
    load_mutant("failure-may-pass", "Every failure is reported as transient.",
                "P1.unknown-name", "P2.refused", "P3.not-found", "D1.denied",
                meaning=meaning("transient", "dns", "refused", "http_404", "denied")),
)  # fmt: skip
