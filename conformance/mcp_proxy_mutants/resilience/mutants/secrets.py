"""Loader mutants that reveal secrets of URLs and headers in errors, outcomes and warnings."""

import base64
import json
from collections.abc import Callable
from urllib.parse import quote, unquote, urlsplit

from mcp_proxy_mutants.resilience.mutant import LoadMutant, load_mutant
from mcp_proxy_reference.loader import Connection, Json, Signal

Says = Callable[[Signal, Connection, str], str]


def _url(connection: Connection) -> str:
    """Return the server's URL as it was given; empty over stdio."""
    return connection.url or ""


def _password(url: str) -> str:
    """Return the URL's password as it is spelled there; empty if there is none or no such URL."""
    try:
        return urlsplit(url).password or ""
    except ValueError:
        return ""


def _authorization(connection: Connection) -> str:
    """Return the Authorization header that is sent to the server; empty if there is none."""
    return connection.headers.get("Authorization", "")


def _basic(connection: Connection) -> str:
    """Return user and password of the URL, decoded, in base64, as in a Basic Authorization header.

    Those that it lacks are empty.
    """
    parts = urlsplit(_url(connection))
    pair = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
    return base64.b64encode(pair.encode()).decode()


def _decoded(connection: Connection) -> str:
    """Return user and password of a Basic Authorization header as `user:password`; else empty."""
    kind, _, credentials = _authorization(connection).partition(" ")
    return base64.b64decode(credentials).decode() if kind == "Basic" else ""


def _after(kinds: tuple[str, ...], text: Callable[[Connection], str]) -> Says:
    """Return a hook `says`: errors of signals of these kinds end with `text` in brackets.

    `text` gets the connection; other errors are unchanged.
    """
    return lambda signal, connection, due: (
        f"{due} ({text(connection)})" if signal.kind in kinds else due
    )


def _says(text: Callable[[Connection], str]) -> Says:
    """Return a hook `says`: every error ends with `text` of the connection, in brackets."""
    return lambda _, connection, due: f"{due} ({text(connection)})"


def _raw(signal: Signal, connection: Connection, due: str) -> str:
    """Return the HTTP client's exception with the server's URL as the error, not the usual text."""
    del due
    return f"{signal.__context__ or signal!r} for url '{_url(connection)}'"


def _in_warnings(answer: Json, request: Json) -> Json:
    """Return the answer; each line of a warning ends with the URLs of all servers."""
    urls = ", ".join(str(server.get("url")) for server in request["servers"])
    warnings = {
        word: [f"{line} ({urls})" for line in own] for word, own in answer["warnings"].items()
    }
    return answer | {"warnings": warnings}


def _in_a_member(answer: Json, request: Json) -> Json:
    """Return the answer; each outcome has a member `headers`, those sent to its server."""
    sent = {server["server_id"]: server.get("headers") for server in request["servers"]}
    return answer | {
        "outcomes": [
            outcome | {"headers": sent[outcome["server_id"]]} for outcome in answer["outcomes"]
        ]
    }


def _hidden_in(spell: Callable[[bytes], str]) -> Says:
    """Return a hook `says`: errors end with the Authorization header and URL password, encoded.

    `spell` encodes the two, joined as bytes.
    """
    return _says(lambda c: spell((_authorization(c) + _password(_url(c))).encode()))


MUTANTS: tuple[LoadMutant, ...] = (
    load_mutant("urls-in-errors", "Errors contain the URL as it was given.",
                "S1.secrets", says=_says(_url)),
    load_mutant("raw-exceptions", "The error is the exception's text with the URL.",
                "S1.secrets", says=_raw),
    load_mutant("urls-when-refused", "The error of a closed port contains the URL.",
                "S1.secrets", says=_after(("refused",), _url)),
    load_mutant("urls-when-unknown", "The error of an unknown host name contains the URL.",
                "S1.secrets", says=_after(("dns",), _url)),
    load_mutant("urls-when-late", "The error of a timeout contains the URL.",
                "S1.secrets", says=_after(("timeout",), _url)),
    load_mutant("urls-when-cut", "The error of a cut connection contains the URL.",
                "S1.secrets", says=_after(("reset",), _url)),
    load_mutant("urls-when-broken", "The error of a 5xx contains the URL.",
                "S1.secrets", says=_after(("http_5xx",), _url)),
    load_mutant("urls-when-not-found", "The error of a 404 contains the URL.",
                "S1.secrets", says=_after(("http_404",), _url)),
    load_mutant("urls-when-unusable", "The error of a malformed connection contains its URL.",
                "S1.secrets", says=_after(("configuration",), _url)),
    load_mutant("queries-in-errors",
                "Errors contain the query of the URL, without user and password.",
                "S1.secrets", says=_says(lambda c: urlsplit(_url(c)).query)),
    load_mutant("passwords-in-errors", "Errors contain the password of the URL, decoded.",
                "S1.secrets", says=_says(lambda c: unquote(_password(_url(c))))),
    load_mutant("headers-in-errors", "Errors contain the headers that were sent.",
                "S1.secrets", says=_says(lambda c: json.dumps(dict(c.headers)))),
    load_mutant("headers-when-denied", "The error of a denial contains the token that was denied.",
                "S1.secrets", says=_after(("denied",), _authorization)),
    load_mutant("headers-when-refused", "The error of a closed port contains the headers.",
                "S1.secrets", says=_after(("refused",), _authorization)),
    load_mutant("tokens-in-base64", "Errors contain the token in base64.",
                "S1.secrets", says=_hidden_in(lambda raw: base64.b64encode(raw).decode())),
    load_mutant("basic-in-errors", "Errors contain user and password as Basic credentials.",
                "S1.secrets", says=_says(_basic)),
    load_mutant("tokens-percent-encoded", "Errors contain the token, percent-encoded.",
                "S1.secrets", says=_hidden_in(lambda raw: quote(raw, safe=""))),
    load_mutant("urls-in-warnings", "Warnings contain the URLs of servers.",
                "S1.secrets", edit=_in_warnings),
    load_mutant("headers-in-outcomes", "Outcomes contain the headers that were sent.",
                "S1.secrets", edit=_in_a_member),
    load_mutant("request-in-the-answer", "The answer contains the whole request.",
                "S1.secrets", edit=lambda answer, request: answer | {"asked": request}),
    load_mutant("basic-decoded", "Errors contain the password of Basic credentials, decoded.",
                "S1.secrets", says=_says(_decoded)),
)  # fmt: skip
