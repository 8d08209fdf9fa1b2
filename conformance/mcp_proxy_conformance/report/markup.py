"""The suite's own sentences as Markdown: backticks become code, other marks are escaped."""

from __future__ import annotations

import re

from mcp_proxy_conformance.report.markdown import cell
from mcp_proxy_conformance.verdict.redaction import inert

_MARKS = re.compile(r"([\\`*_\[\]<>|~&$])")


def prose(text: str) -> str:
    """Return the suite's own text as Markdown on one line; parts in paired backticks become code.

    Other marks are escaped; with an odd number of backticks, all are.
    """
    words = " ".join(inert(text).split())
    parts = words.split("`")
    if len(parts) % 2 == 0:
        return _MARKS.sub(r"\\\1", words)
    return "".join(
        cell(part) if number % 2 else _MARKS.sub(r"\\\1", part) for number, part in enumerate(parts)
    )
