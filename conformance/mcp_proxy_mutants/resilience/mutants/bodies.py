"""Loader mutants that misread the body of an error, or judge a failure by text that they sent."""

import json
from collections.abc import Callable

from mcp_proxy_mutants.resilience.mutant import LoadMutant, load_mutant
from mcp_proxy_mutants.resilience.pieces import TIMELY, Hear, sends, taken
from mcp_proxy_reference.loader import AUTHORIZATION, SLOW, Connection, Signal

FORBIDDEN = 403


def _read(holds: Callable[[bytes], bool]) -> Hear:
    """Return a hook `heard`: a 403 is a timeout if `holds` accepts its body, else a denial.

    `holds` gets the body in lower case; other signals are unchanged.
    """

    def heard(signal: Signal, connection: Connection, attempts: int) -> Signal:
        del connection, attempts
        if signal.code != FORBIDDEN:
            return signal
        return Signal("authz_timeout" if holds(signal.body) else "denied", FORBIDDEN)

    return heard


def _marked(body: bytes) -> bool:
    """Whether the body has a word of authorization and one of slowness, as the reference wants."""
    return any(word in body for word in AUTHORIZATION) and any(word in body for word in SLOW)


def _is_json(body: bytes) -> bool:
    """Whether the body is a JSON object."""
    try:
        return isinstance(json.loads(body), dict)
    except ValueError:
        return False


def _from_text(signal: Signal, connection: Connection, attempts: int) -> bool:
    """Whether the signal is a denial, and the id, URL or headers sent hold a word of TIMELY."""
    del attempts
    return signal.kind == "denied" and any(word in sends(connection) for word in TIMELY)


def _text_denies(signal: Signal, connection: Connection, attempts: int) -> bool:
    """Whether the signal is a timeout, cut or 5xx, and the text sent has a word of denials.

    The text sent is the server's id, its URL and the header values; the words are 403, 401,
    forbidden, unauthorized and denied.
    """
    del attempts
    words = ("403", "401", "forbidden", "unauthorized", "denied")
    may_pass = signal.kind in ("http_5xx", "reset", "timeout")
    return may_pass and any(word in sends(connection) for word in words)


def _text_misses(signal: Signal, connection: Connection, attempts: int) -> bool:
    """Whether the signal is a cut or 5xx, and the text sent (id, URL, headers) contains 404."""
    del attempts
    return signal.kind in ("http_5xx", "reset") and "404" in sends(connection)


def _text_excuses(signal: Signal, connection: Connection, attempts: int) -> bool:
    """Whether the signal is a 404, closed port or unknown name, and the text sent excuses it.

    It does if it (id, URL, header values) has one of the words TIMELY.
    """
    del attempts
    lasting = signal.kind in ("http_404", "refused", "dns")
    return lasting and any(word in sends(connection) for word in TIMELY)


def _only(part: str) -> Callable[[Signal, Connection, int], bool]:
    """Return a condition for `taken`: a denial, and a word of TIMELY in one part of the text sent.

    The part is `id`, `path` (the URL up to its last slash), `query` or `headers`.
    """

    def reads(signal: Signal, connection: Connection, attempts: int) -> bool:
        del attempts
        text = {
            "id": connection.server_id,
            "path": (connection.url or "").partition("?")[0].rpartition("/")[0],
            "query": (connection.url or "").partition("?")[2],
            "headers": " ".join(connection.headers.values()),
        }[part]
        return signal.kind == "denied" and any(word in text.lower() for word in TIMELY)

    return reads


MUTANTS: tuple[LoadMutant, ...] = (
    load_mutant("exact-phrase-only",
                "A 403 is transient only with the exact phrase `ext_authz timeout`.",
                "T4.authorization-timeout", heard=_read(lambda body: b"ext_authz timeout" in body)),
    load_mutant("json-bodies-only", "A 403 is a denial unless its body is JSON.",
                "T4.authorization-timeout",
                heard=_read(lambda body: _marked(body) and _is_json(body))),
    load_mutant("only-a-bodys-beginning", "Only the first twelve bytes of a 403's body are read.",
                "T4.authorization-timeout", heard=_read(lambda body: _marked(body[:12]))),
    load_mutant("declared-signature-not-read", "Declared timeout signatures are ignored.",
                "T4.declared", signatures=("gate fell asleep",)),
    load_mutant("declared-signature-is-permanent",
                "A 403 with a declared timeout signature is permanent.",
                "T4.declared", signatures=("gate fell asleep",),
                heard=taken("http_4xx", lambda s, *_: b"gate fell asleep" in s.body)),
    load_mutant("first-signature-only", "Only one of two declared timeout signatures is read.",
                "T4.declared", signatures=("gate fell asleep", "guard is away"),
                heard=taken("authz_timeout", lambda s, *_: b"gate fell asleep" in s.body)),
    load_mutant("empty-bodies-may-pass", "A 403 without a body is transient.",
                "D1.denied", "D1.once",
                heard=_read(lambda body: _marked(body) or not body.strip())),
    load_mutant("pages-may-pass", "A 403 with an HTML page is transient.",
                "D2.once", "D2.ambiguous",
                heard=_read(lambda body: _marked(body) or b"<html" in body)),
    load_mutant("unknown-bodies-may-pass",
                "A 403 is transient unless its body names a policy or a denial.",
                "D2.ambiguous", "D2.once",
                heard=_read(lambda body: b"policy" not in body and b"denied" not in body)),
    load_mutant("reads-bodies-to-128-bytes",
                "Of a 403's body only the first 128 bytes are read for the signature of a timeout.",
                "T4.authorization-timeout", "T4.retried",
                heard=_read(lambda body: _marked(body[:128]))),
    load_mutant("json-may-pass", "A 403 with a JSON body is transient.",
                "D2.once", "D1.denied", "D2.ambiguous", heard=_read(_is_json)),
    load_mutant("role-denials-may-pass",
                "A 403 whose body names RBAC is treated as an authorization timeout.",
                "D2.once", "D2.ambiguous",
                heard=_read(lambda body: _marked(body) or b"rbac" in body)),
    load_mutant("long-waits-may-pass",
                "A 403 whose body says that something took too long is transient.",
                "D2.once", "D2.ambiguous",
                heard=_read(lambda body: _marked(body) or b"too long" in body)),
    load_mutant("expired-tickets-may-pass",
                "A 403 whose JSON says that something has expired is transient.",
                "D2.once", "D2.ambiguous",
                heard=_read(lambda body: _marked(body) or (_is_json(body) and b"expired" in body))),
    load_mutant("numbers-may-pass", "A number in the body of a 403 makes it transient.",
                "D2.once", "D2.ambiguous",
                heard=_read(lambda body: _marked(body) or b"1009" in body)),
    load_mutant("marks-in-any-error-may-pass",
                "The signature of a timeout makes a 404 transient too.",
                "P3.once", "P3.not-found",
                heard=taken("authz_timeout", lambda s, *_: any(word in s.body for word in SLOW))),
    load_mutant("words-of-denial-deny", "A 5xx whose body mentions a denial is reported as denied.",
                "T3.server-error", "T3.retried",
                heard=taken("denied", lambda s, *_: b"denied" in s.body or b"forbidden" in s.body)),
    load_mutant("sent-text-is-read",
                "Sent ids, URLs and headers are searched for words about timeouts.",
                "N1.request-text", heard=taken("authz_timeout", _from_text)),
    load_mutant("sent-ids-are-read", "A server's id is searched for words about timeouts.",
                "N1.request-text", heard=taken("authz_timeout", _only("id"))),
    load_mutant("sent-paths-are-read", "A URL's path is searched for words about timeouts.",
                "N1.request-text", heard=taken("authz_timeout", _only("path"))),
    load_mutant("sent-queries-are-read", "A URL's query is searched for words about timeouts.",
                "N1.request-text", heard=taken("authz_timeout", _only("query"))),
    load_mutant("sent-headers-are-read", "Sent headers are searched for words about timeouts.",
                "N1.request-text", heard=taken("authz_timeout", _only("headers"))),
    load_mutant("sent-text-denies",
                "Words about denials in an id or a URL turn a failure into a denial.",
                "T3.server-error", "T2.cut", "T1.timeout", heard=taken("denied", _text_denies)),
    load_mutant("sent-number-is-not-found",
                "The number 404 in an id or a URL is read as the status code.",
                "T3.server-error", "T2.cut", heard=taken("http_404", _text_misses)),
    load_mutant("sent-text-excuses",
                "Words about timeouts in an id or a URL make a lasting failure transient.",
                "P2.refused", "P3.not-found", heard=taken("timeout", _text_excuses)),
    load_mutant("sent-text-of-401-is-read",
                "For a 401, sent ids, URLs and headers are searched for words about timeouts.",
                "N1.request-text",
                heard=taken("timeout", lambda s, c, n: s.code == 401 and _from_text(s, c, n))),  # noqa: PLR2004
)  # fmt: skip
