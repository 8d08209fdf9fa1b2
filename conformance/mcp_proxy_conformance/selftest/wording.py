"""Wording of a failure's reason: whether it is plain, without Python outside quotation marks."""

from __future__ import annotations

import re

_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*(?:"(?:\.\.\.)?|\.\.\. \(\d+ characters\)$)')
_MEMBER = re.compile(r"(?<=\w)\[[^\[\]]*\]")
"""A step in the path of a member, such as `[forge:mobel_drop]`."""
_PYTHON = re.compile(
    r"\b(?:None|True|False|nan)\b|'\w+'|\(\)|\(\s*['\"]|\b\w+\(\w|<class|object at 0x"
)
_OBJECT = re.compile(r"\{:[^;]*")
"""An object of JSON, without what is quoted in it, to its end or that of the value."""
_BRACKET = re.compile(r"[\[\]{}]")


def is_plain(sentence: str, *, of_messages: bool = False) -> bool:
    """Whether the sentence has no Python literal, call, repr or bracket outside texts and objects.

    A step in a path, such as `a[0]`, is ignored. `of_messages` allows brackets and braces, since
    such a sentence may have objects and lists of JSON.
    """
    text = _OBJECT.sub("", _MEMBER.sub("", _QUOTED.sub("", sentence)))
    return not _PYTHON.search(text) and (of_messages or not _BRACKET.search(text))
