"""Wording of a failure's reason: whether it is plain, without Python outside quotation marks."""

from __future__ import annotations

import re

_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*(?:"(?:\.\.\.)?|\.\.\. \(\d+ characters\)$)')
_MEMBER = re.compile(r"(?<=\w)\[[^\[\]]*\]")
"""A step in the path of a member, such as `[forge:mobel_drop]`."""
_PYTHON = re.compile(
    r"\b(?:None|True|False|nan)\b|[\[\]{}]|'\w+'|\(\)|\(\s*['\"]|\b\w+\(\w|<class|object at 0x"
)


def is_plain(sentence: str) -> bool:
    """Whether the sentence has no Python literal, call or repr outside of quotation marks."""
    return _PYTHON.search(_MEMBER.sub("", _QUOTED.sub("", sentence))) is None
