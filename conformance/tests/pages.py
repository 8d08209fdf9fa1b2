"""Pages of the documentation: their fenced code blocks, by language."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

GITHUB = Path(__file__).parents[2] / ".github"
_BLOCK = re.compile(r"^( *)```(\w+)\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)


def blocks(page: str, language: str) -> list[str]:
    """Return every fenced block of that language on a page of `.github`, in order, unindented."""
    matches = _BLOCK.findall((GITHUB / page).read_text(encoding="utf-8"))
    return [textwrap.dedent(text) for _, name, text in matches if name == language]
