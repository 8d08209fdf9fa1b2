"""Credentials: found in URLs, headers, the environment and the words of a command."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import parse_qsl, unquote, urlsplit

HARMLESS = frozenset(
    {"accept", "accept-language", "content-type", "user-agent", "origin", "referer",
     "mcp-protocol-version", "mcp-method", "mcp-name"}
)  # fmt: skip
"""Headers whose values are not credentials."""
SECRET_NAME = re.compile(
    r"(?:^|[^a-z])(?:key|code|sig|auth|jwt|pw|pat)(?:$|[^a-z])"
    r"|(?:^|[^a-z])(?:pass|creds?|dsn)(?:$|[^a-z])|token|secret|passw|passphrase|passwd|pwd|credential"
    r"|apikey|api_?key|bearer|signature|authorization|cookie|webhook",
    re.IGNORECASE,
)
PLANTED = re.compile(r"canary(?:[/+]|%2[fFbB])(?:of|in)[a-z/+%0-9A-F-]{1,40}-[0-9a-f]{6}=?")
"""Credentials that the suite gives to clients and relays, as they are or in a URL."""
LEAST_OF_ENVIRONMENT = 8
PLACES = ("PWD", "OLDPWD", "SSH_AUTH_SOCK")
"""Variables whose names merely resemble those of secrets."""


def credentials(
    *,
    words: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    url: str = "",
    headers: Sequence[Mapping[str, str]] = (),
) -> Iterator[str]:
    """Yield the credentials in these places, and the parts of each that give it away.

    `words` are those of a command. Values of its options and of variables count if they are named
    as a secret, values of headers unless harmless, the secret parts of any URL. `environment` is by
    default this process's; its values under eight characters are left out, unless in a URL.
    """
    environment = os.environ if environment is None else environment
    yield from _of_url(url)
    for fields in headers:
        for name, value in fields.items():
            yield from () if name.lower() in HARMLESS else _of_value(value)
    for name in list(environment):  # another thread may take a name out in between
        value = environment.get(name, "")
        yield from _of_url(value) if "://" in value else ()
        if name not in PLACES and SECRET_NAME.search(name):
            yield from [value] if len(value) >= LEAST_OF_ENVIRONMENT else []
    for before, word in zip(("", *words), words, strict=False):
        yield from _of_url(word) if "://" in word else ()
        name, equals, value = word.lstrip("-").partition("=")
        if equals and SECRET_NAME.search(name):
            yield value
        elif before.startswith("-") and "=" not in before and SECRET_NAME.search(before):
            yield word


def _of_url(url: str) -> Iterator[str]:
    """Yield the secret parts of a URL, as they are and decoded; nothing if it is invalid.

    They are the userinfo (`user:password`), also in base64, its password, or the user if there is
    none, and parameters named as a secret.
    """
    try:
        parts = urlsplit(url)
        userinfo, at, _ = parts.netloc.rpartition("@")
        members = parse_qsl(parts.query, keep_blank_values=True)
    except ValueError:
        return
    if at:
        user, colon, word = userinfo.partition(":")
        yield from (userinfo, unquote(userinfo))
        yield from (word, unquote(word)) if colon else (user, unquote(user))
        yield base64.b64encode(unquote(userinfo).encode()).decode()
    for name, value in members:
        if SECRET_NAME.search(name):
            yield value
            match = re.search(rf"(?:^|&){re.escape(name)}=([^&]*)", parts.query)
            yield from [match[1]] if match else []


def _of_value(value: str) -> Iterator[str]:
    """Yield a header's value, its part after the scheme, a Basic password, and cookies' values.

    Basic credentials are also yielded decoded; if they cannot be, nothing follows.
    """
    yield value
    scheme, space, rest = value.partition(" ")
    if space:
        yield rest.strip()
    if space and scheme.lower() == "basic":
        try:
            opened = base64.b64decode(rest.strip(), validate=True).decode()
        except ValueError:
            return
        yield from (opened, opened.partition(":")[2])
    for part in value.split(";") if "=" in value else ():
        yield part.partition("=")[2].strip()
