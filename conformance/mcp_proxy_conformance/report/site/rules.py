"""Rules for keepers of a record: the suite's Markdown page of them, converted to HTML."""

from __future__ import annotations

import re
from collections.abc import Iterator

from markupsafe import Markup, escape

from mcp_proxy_conformance.catalogue.resources import record_rules

_BLOCKS = re.compile(
    r"^```\w*\n(?P<code>.*?)^```$|(?P<text>(?:(?!```)[^\n]+\n?)+)", re.MULTILINE | re.DOTALL
)
_CODE = re.compile(r"`([^`]+)`")
_LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")
_TITLE = re.compile(r"(#{1,3}) (.+)")


def rules() -> Markup:
    """Return the page's headings, paragraphs, lists and code as HTML; links become plain text."""
    return Markup("\n").join(_blocks(record_rules()))


def _blocks(text: str) -> Iterator[Markup]:
    """Yield each block of a Markdown text as HTML."""
    for match in _BLOCKS.finditer(text):
        code, block = match["code"], (match["text"] or "").strip()
        if code is not None:
            yield Markup("<pre>{}</pre>").format(code.rstrip())
        elif title := _TITLE.fullmatch(block):
            level = len(title[1])
            yield Markup("<h{0}>{1}</h{0}>").format(level, _inline(title[2]))
        elif block.startswith("- "):
            items = re.split(r"\n(?=- )", block)
            rows = (Markup("<li>{}</li>").format(_inline(item[2:])) for item in items)
            yield Markup("<ul>{}</ul>").format(Markup("").join(rows))
        elif block:
            yield Markup("<p>{}</p>").format(_inline(block))


def _inline(text: str) -> Markup:
    """Return a text as HTML on one line: `code` marked, links as their text, all of it escaped."""
    parts = _CODE.split(_LINK.sub(r"\1", " ".join(text.split())))
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if number % 2 else escape(part)
        for number, part in enumerate(parts)
    )
