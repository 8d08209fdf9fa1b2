"""Secrets and moving versions in the files of a record: what keeps a build out of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from mcp_proxy_conformance.report.document import Report
from mcp_proxy_conformance.report.from_record import SECRET
from mcp_proxy_conformance.verdict.credentials import PLANTED, SECRET_NAME, credentials
from mcp_proxy_conformance.verdict.redaction import REDACTED

LEAST = 8
"""Characters; a shorter value is not taken for a credential."""
_HEADER = re.compile(
    r"\b(?P<name>(?:proxy-)?authorization|(?:set-)?cookie|x-api-key)\\*[\"']?\s*[:=]\s*\\*[\"']?"
    r"(?:(?:bearer|basic|token)\s+)?+(?!\(redacted\)|[{$<\[])[^\s\"'\\,;{}()<>]{8}",
    re.IGNORECASE,
)
_TOKEN = re.compile(
    r"\b(?:gh[pousr]_\w{20}|github_pat_\w{20}|glpat-[\w-]{16}|sk-[\w-]{20}|xox[abprs]-[\w-]{10}"
    r"|npm_\w{30}|AKIA[0-9A-Z]{16}|AIza[\w-]{30}|eyJ[\w-]{10,500}\.[\w-]{10,2000}\.)"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY"
)
_BEARER = re.compile(r"\bbearer\s+(?!\(redacted\)|[{$<\[])[\w.~+/=-]{16}", re.IGNORECASE)
_IN_URL = re.compile(r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/@:\"'<>]+:(?!\(redacted\))[^\s/@\"'<>]+@")
_LATEST = re.compile(r"[@:]latest\b", re.IGNORECASE)
_DIGIT = re.compile(r"[0-9]")
_DEV = re.compile(r"(?<![a-z])dev(?![a-z]|[._-]?[0-9])", re.IGNORECASE)
"""The word of a version in development, without a number: `1.0.dev3` is a release."""
_WORDS = re.compile(r"[A-Za-z]+")
MOVING = frozenset(
    {
        "latest",
        "nightly",
        "snapshot",
        "head",
        "main",
        "master",
        "edge",
        "unknown",
        "development",
        "develop",
        "trunk",
        "canary",
    }
)
"""Words of a version that mean another build tomorrow."""


def secret_of(text: str) -> str:
    """Return what kind of secret a text has, as a noun phrase; "" if none was found."""
    header = _HEADER.search(text)
    if header is not None:
        return f"a value of the header {header['name']}"
    for pattern, noun in (
        (_TOKEN, "what looks like an access token or a private key"),
        (_BEARER, "a bearer token"),
        (_IN_URL, "a user and a password in a URL"),
        (PLANTED, "a credential that the suite planted"),
    ):
        if pattern.search(text):
            return noun
    return ""


def secret_header(report: Report) -> str:
    """Return the name of the first header of a message whose value was not redacted; or ""."""
    return next(
        (
            name
            for message in report.messages.values()
            for name, value in message.headers.items()
            if name.lower() in SECRET and value != REDACTED
        ),
        "",
    )


def secret_member(members: dict[str, Any]) -> str:
    """Return the first member of a target file that holds a credential, or ""."""
    for name, value in _members(members):
        words = [str(word) for word in value] if isinstance(value, list) else []
        for found in credentials(words=words, environment={}):
            if _is_literal(found):
                return name
        if isinstance(value, str) and SECRET_NAME.search(name) and _is_literal(value):
            return name
    return ""


def _members(members: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield (name, value) of all members, those of tables at any depth too."""
    for name, value in members.items():
        yield name, value
        tables = value if isinstance(value, list) else [value]
        for table in tables:
            if isinstance(table, dict):
                yield from _members(table)


def _is_literal(value: str) -> bool:
    """Whether a value is a credential itself: long enough, and not a placeholder."""
    return len(value) >= LEAST and not any(mark in value for mark in ("{", "$", REDACTED))


def is_pinned(version: str) -> bool:
    """Whether a version names one build for ever: it has a digit and no word that moves."""
    words = {word.lower() for word in _WORDS.findall(version)}
    moves = not words.isdisjoint(MOVING) or _DEV.search(version)
    return bool(_DIGIT.search(version)) and not moves


def moving_in(text: str) -> bool:
    """Whether a text names the newest version of something, such as `package@latest`."""
    return bool(_LATEST.search(text))
