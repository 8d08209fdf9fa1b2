"""Text of targets made inert: no terminal escape, no control character reaches a terminal."""

from __future__ import annotations

import re

_ACTIVE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u202a-\u202e\u2028\u2029\u2066-\u2069"
    "\ud800-\udfff\ufeff\ufffe\uffff]"
)


def inert(text: str) -> str:
    """Show every control and direction character as its escape; line breaks and tabs stay."""
    return _ACTIVE.sub(lambda found: found.group().encode("unicode_escape").decode(), text)


def first_line(text: str) -> str:
    """The first line of a text, for a table."""
    return text.partition("\n")[0]
