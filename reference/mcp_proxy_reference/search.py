"""Full-text search over tool names and descriptions; no user text can make it fail."""

import re
import sqlite3
import weakref
from collections.abc import Sequence
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
    """Return the search terms of a text: words in lower case, and parts of words.

    Those are the parts of camelCase, and single CJK characters and pairs; a run of CJK is no word.
    """
    tokens: list[str] = []
    for word in _WORD.findall(text):
        if _IS_CJK.match(word):
            tokens += [*word, *(a + b for a, b in pairwise(word))]
            continue
        parts = _CAMEL.sub(" ", word).lower().split()
        tokens += parts if len(parts) == 1 else [word.lower(), *parts]
    return tuple(tokens)


class Index:
    """Full-text index (SQLite FTS5) of the tools of one scope, so that no other affects scores."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        """Index the names and descriptions of these tools, in memory."""
        self._rows = sqlite3.connect(":memory:", check_same_thread=False)
        weakref.finalize(self, self._rows.close)
        self._rows.execute("create virtual table t using fts5(key unindexed, name, description)")
        texts = [(tool.key, " ".join(terms(tool.name)), terms(tool.description)) for tool in tools]
        rows = [(key, name, " ".join(description)) for key, name, description in texts]
        self._rows.executemany("insert into t values (?, ?, ?)", rows)

    def find(self, query: str) -> list[tuple[str, float]]:
        """Return (key, score) of the tools with any term of the query, best first, ties by key.

        Only the first 64 terms of the query count; without a term, the result is empty.
        """
        wanted = list(dict.fromkeys(terms(query)))[:MAX_TERMS]
        if not wanted:
            return []
        return self._rows.execute(
            "select key, -bm25(t) from t where t match ? order by bm25(t), key",
            (" OR ".join(f'"{term}"' for term in wanted),),
        ).fetchall()
