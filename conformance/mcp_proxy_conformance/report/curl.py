"""A request as a line for a POSIX shell, which sends the very bytes that the suite sent."""

from __future__ import annotations

import re
import shlex
from typing import Any

from mcp_proxy_conformance.verdict.escaping import inert

SENT = frozenset(
    {"content-type", "accept", "mcp-session-id", "mcp-protocol-version", "mcp-method", "mcp-name",
     "authorization"}
)  # fmt: skip
"""Headers that change what a server answers; the others are of the connection."""
_NO_UTF8 = re.compile(r"\\x[89a-f][0-9a-f]")
"""How a report shows a byte that is no text; JSON has no such escape."""


def curl(message: dict[str, Any]) -> str:
    """The message of a report as one line; empty where the report does not hold all its bytes."""
    if message["cut"] or _NO_UTF8.search(message["body"]):
        return ""
    words = ["curl", "-sg", word(message["peer"])]
    for name, value in message["headers"].items():
        if name.lower() in SENT:
            words += ["-H", word(f"{name}: {value}" if value.strip() else f"{name};")]
    body = message["body"]
    if _is_plain(body):
        return " ".join([*words, "--data-raw", word(body)])
    return f"printf '{_octal(body)}' | {' '.join([*words, '--data-binary', '@-'])}"


def word(text: str) -> str:
    """The text as one word of a shell, on one line, without a character that steers anything."""
    if _is_plain(text):
        return text if shlex.quote(text) == text else quoted(text)
    return f"\"$(printf '{_octal(text)}')\""


def quoted(text: str) -> str:
    """The text in single quotes."""
    escaped = text.replace("'", "'\\''")
    return f"'{escaped}'"


def _is_plain(text: str) -> bool:
    """Whether it is shown as it is, wherever it is shown, and stays on its line."""
    return inert(text) == text and "\n" not in text and "\t" not in text


def _octal(text: str) -> str:
    """The text as a format of printf(1): what is not harmless there as octal bytes."""
    plain = (" " <= one <= "~" and one not in "'\\%-" for one in text)
    return "".join(
        one if keep else "".join(f"\\{byte:03o}" for byte in one.encode("utf-8", "replace"))
        for one, keep in zip(text, plain, strict=True)
    )
