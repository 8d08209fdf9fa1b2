"""Full-text search over tool names and descriptions; no user text can make it fail."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise

from mcp_proxy_reference.facts import Tool

MAX_TERMS = 64
CJK = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
_WORD = re.compile(rf"[{CJK}]+|[^\W_{CJK}]+")
_IS_CJK = re.compile(rf"[{CJK}]")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@lru_cache(maxsize=4096)
def terms(text: str) -> tuple[str, ...]:
    """The searchable terms of a text; one tokeniser for the index and for queries."""
    found: list[str] = []
    for word in _WORD.findall(text):
        if _IS_CJK.match(word):
            found += [*word, *(a + b for a, b in pairwise(word))]
            continue
        parts = _CAMEL.sub(" ", word).lower().split()
        found += parts if len(parts) == 1 else [word.lower(), *parts]
    return tuple(found)


class Index:
    """The tools one scope can see; nothing outside that scope moves a score in it."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools = {tool.key: tool for tool in tools}
        self._rows = sqlite3.connect(":memory:")
        self._rows.execute("create virtual table t using fts5(key unindexed, name, description)")
        self._rows.executemany(
            "insert into t values (?, ?, ?)",
            (
                (key, " ".join(terms(tool.name)), " ".join(terms(tool.description)))
                for key, tool in self._tools.items()
            ),
        )

    def find(self, query: str) -> list[tuple[Tool, float]]:
        """The matching tools with their scores, best first, ties by key."""
        wanted = list(dict.fromkeys(terms(query)))[:MAX_TERMS]
        if not wanted:
            return []
        rows = self._rows.execute(
            "select key, -bm25(t) from t where t match ? order by bm25(t), key",
            (" OR ".join(f'"{term}"' for term in wanted),),
        )
        return [(self._tools[key], score) for key, score in rows]

    def close(self) -> None:
        """Free the index."""
        self._rows.close()
