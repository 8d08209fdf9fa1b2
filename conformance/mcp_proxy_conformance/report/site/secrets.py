"""Detection of secrets, and of unpinned versions such as `latest`, in the files of a record."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from mcp_proxy_conformance.report.document import Report
from mcp_proxy_conformance.report.from_record import SECRET
from mcp_proxy_conformance.verdict.credentials import PLANTED, SECRET_NAME, credentials
from mcp_proxy_conformance.verdict.redaction import REDACTED

LEAST, LONG, UNBROKEN = 8, 16, 20
"""Characters; a shorter value is not taken for a credential, a shorter one after the word Bearer,
and a shorter run of letters alone, in a sentence."""
_VALUE = rf"(?P<value>[^\s\"'\\,;&`]{{{LEAST},400}}+)"
_NAME = (
    r"(?P<name>token|secret|password|passwd|passphrase|pwd|credential|api[_-]?key|x-key|x-auth"
    r"|access[_-]?key|secret[_-]?key|private[_-]?key|signing[_-]?key)"
)
_HARMLESS = re.compile(r"(?:progress|next|page|continuation)[_-]?$")
"""A part of a name before the word token, in names of the protocol's own."""
_GAP = r"[ \t]{0,8}"
_ASSIGNED = re.compile(
    rf"{_NAME}(?:={_VALUE}|\\*[\"']?{_GAP}[:=]{_GAP}\[?{_GAP}\\*[\"']"
    rf"(?P<quoted>[^\s\"'\\]{{{LEAST},400}}+)(?=\\*[\"']))"
)
"""A value joined to its name, as in a query or the environment, or in quotes, as in JSON."""
_BESIDE = re.compile(
    rf"(?:{_NAME}[\"'`]?{_GAP}[:=]|(?<![\w-])--?[\w-]{{0,40}}?{_NAME.replace('name>', 'option>')})"
    rf"[ \t]{{1,8}}[\"']?{_VALUE}"
)
"""A value beside its name: after a colon, an equals sign or an option."""
_HEADER = re.compile(
    r"\b(?P<name>(?:proxy-)?authorization|(?:set-)?cookie|x-api-key)\\*[\"']?"
    rf"{_GAP}[:=]{_GAP}\\*[\"']?(?:(?:bearer|basic|token|digest|apikey|negotiate){_GAP})?+{_VALUE}"
)
_BEARER = re.compile(rf"\bbearer[ \t]{{1,8}}(?P<value>[\w.~+/=-]{{{LONG},}}+)")
_USER = re.compile(rf"\bhttps?://(?P<value>[^\s/@:\"'<>?#]{{{LEAST},400}}+)@")
_TOKEN = re.compile(
    r"\b(?:gh[pousr]_\w{20}|github_pat_\w{20}|glpat-[\w-]{16}|sk-[\w-]{20}|xox[abprs]-[\w-]{10}"
    r"|npm_\w{30}|hf_\w{30}|pypi-[\w-]{40}|[sr]k_live_\w{16}|AKIA[0-9A-Z]{16}|AIza[\w-]{30})"
    r"|(?<![\w-])eyJ[\w-]{10,}+\.[\w-]{10,}+\.|-----BEGIN [A-Z ]*PRIVATE KEY"
)
_IN_URL = re.compile(r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/@:\"'<>]+:(?!\(redacted\))[^\s/@\"'<>]+@")
_PLACEHOLDER = re.compile(r"\$?\{\w*\}|\$\(\S*|\$\w+|<[^<>]*>|\[\w*\]|\(redacted\)")
_END = re.compile(r"[ \t]*(?:$|[\"'`\\#])", re.MULTILINE)
_PART = re.compile(r"[A-Za-z0-9]+")
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


def secret_of(text: str, *, prose: bool = False) -> str:
    """Return what kind of secret a text has, as a noun phrase; "" if none was found.

    In `prose`, a word after the name of a header or an option counts as a secret value only if it
    looks random, unlike the words of a sentence.
    """
    for pattern, noun in (
        (_TOKEN, "what looks like an access token or a private key"),
        (_IN_URL, "a user and a password in a URL"),
        (PLANTED, "a credential that the suite planted"),
    ):
        if pattern.search(text):
            return noun
    lower = text.lower()  # which is searched faster than without regard to case
    for header in _HEADER.finditer(lower):
        if _is_value(header, prose=prose):
            return f"a value of the header {header['name']}"
    for assignment in _ASSIGNED.finditer(lower):
        if not _is_ours(assignment) and _is_literal(assignment["value"] or assignment["quoted"]):
            return f"a secret value named {assignment['name']}"
    if any(_is_value(bearer, prose=True) for bearer in _BEARER.finditer(lower)):
        return "a bearer token"
    if any(_is_random(user["value"]) or not prose for user in _USER.finditer(lower)):
        return "a token in a URL"
    for pair in _BESIDE.finditer(lower):
        is_meant = pair["option"] or not (prose or _is_ours(pair))
        if is_meant and _is_value(pair, prose=prose):
            return f"a secret value named {pair['name'] or pair['option']}"
    return ""


def secret_header(report: Report) -> str:
    """Return the name of the first header, in all messages, that shows a secret; "" if none does.

    `authorization` and other headers that are always secret do so unless redacted; others that are
    named as a secret, if their value has eight characters or more besides placeholders.
    """
    return next(
        (
            name
            for message in report.messages.values()
            for name, value in message.headers.items()
            if (name.lower() in SECRET and value != REDACTED)
            or (SECRET_NAME.search(name) and _is_literal(value))
        ),
        "",
    )


def secret_member(members: dict[str, Any]) -> str:
    """Return the name of the first member of a target file that holds a credential; "" without.

    A list of words is also read as a command, whose options may be named as a secret.
    """
    for name, value in _members(members):
        words = [str(word) for word in value] if isinstance(value, list) else []
        texts = [text for text in (words or [value]) if isinstance(text, str)]
        if any(map(_is_literal, credentials(words=words, environment={}))):
            return name
        if any(
            secret_of(text) or (SECRET_NAME.search(name) and _is_literal(text)) for text in texts
        ):
            return name
    return ""


def _members(members: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield (name, value) of all members, those of tables at any depth too."""
    for name, value in members.items():
        yield name, value
        for inner in value if isinstance(value, list) else [value]:
            if isinstance(inner, dict):
                yield from _members(inner)
            elif isinstance(inner, list):
                yield from _members({name: inner})


def _is_ours(match: re.Match[str]) -> bool:
    """Whether a matched name ends one of the protocol's own, such as progressToken: no secret."""
    return bool(_HARMLESS.search(match.string[max(0, match.start() - LONG) : match.start()]))


def _is_value(match: re.Match[str], *, prose: bool) -> bool:
    """Whether the group `value` of a match is a credential.

    In prose, and where more text follows on its line, it must look random; at the end of a line, or
    before a quotation mark, a backslash or #, eight characters without placeholders are enough.
    """
    if prose or not _END.match(match.string, match.end("value")):
        return _is_random(match["value"])
    return _is_literal(match["value"])


def _is_random(value: str) -> bool:
    """Whether a value is unlike the words of a sentence: eight or more letters and digits mixed.

    So is a run of 20 letters or digits alone. Placeholders, such as `<token>`, do not count.
    """
    return _is_literal(value) and any(
        len(part) >= UNBROKEN
        or (len(part) >= LEAST and not part.isalpha() and not part.isdecimal())
        for part in _PART.findall(_PLACEHOLDER.sub(" ", value))
    )


def _is_literal(value: str) -> bool:
    """Whether a value without its placeholders, such as `<token>`, has eight characters or more."""
    return len(_PLACEHOLDER.sub("", value)) >= LEAST


def is_pinned(version: str) -> bool:
    """Whether a version names one build for ever: it has a digit and no word such as `latest`."""
    words = {word.lower() for word in _WORDS.findall(version)}
    moves = not words.isdisjoint(MOVING) or _DEV.search(version)
    return bool(_DIGIT.search(version)) and not moves


def moving_in(text: str) -> bool:
    """Whether a text names the newest version of something, such as `package@latest`."""
    return bool(_LATEST.search(text))
