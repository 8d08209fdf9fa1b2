"""Detection of a secret in an answer: plain, percent-encoded or in base64."""

from __future__ import annotations

import base64
import contextlib
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from mcp_proxy_conformance.verdict.redaction import in_base64


def shows(secret: str, line: bytes) -> bool:
    """Whether the secret occurs in a line of JSON: plain, percent-encoded, or in base64.

    The secret itself may be percent-encoded, or Basic credentials in base64, whose password
    counts too. Strings of the JSON are also looked at decoded.
    """
    texts = [line.decode(errors="replace"), *_texts(json.loads(line or b"null"))]
    whole = "\n".join([*texts, *map(unquote, texts)])
    plain = {secret, unquote(secret), *_out_of_base64(secret)}
    letters = whole.replace("-", "+").replace("_", "/")
    return any(form in whole for form in plain) or any(
        form in letters for text in plain for form in in_base64(text.encode())
    )


def _out_of_base64(secret: str) -> Iterator[str]:
    """Yield the password if the secret is USER:PASSWORD in base64; else nothing."""
    with contextlib.suppress(ValueError):
        _, colon, password = base64.b64decode(secret, validate=True).decode().partition(":")
        if colon:
            yield password


def _texts(value: Any) -> Iterator[str]:
    """Yield every string inside a JSON value, names of members too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for pair in value.items():
            yield from _texts(list(pair))
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
