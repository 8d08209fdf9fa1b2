"""Queue of words to query a discovery tool with; spelling of tool names, learnt from answers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mcp_proxy_conformance.catalogue.world import ToolKey
from mcp_proxy_conformance.discovery.answer import Entry

VERBS = (
    "delete", "create", "list", "update", "remove", "search", "send", "write", "execute", "admin",
)  # fmt: skip
IDLE = frozenset(
    {"the", "and", "for", "with", "from", "this", "that", "are", "was", "has", "have", "not", "all",
     "any", "can", "will", "you", "your", "its", "into", "when", "use", "used", "using", "tool",
     "tools", "server", "servers", "name", "string", "object", "value", "returns", "return"}
)  # fmt: skip
NOWHERE = "quolvexi"
"""A made-up word that no tool has."""
WORD = re.compile(r"[A-Za-z][a-z]+|[A-Z]{3,}(?![a-z])|[^\W\d_A-Za-z]{2,}")
LEAST, MOST = 3, 40


class WordQueue:
    """A queue of words without repetition, the most promising first."""

    def __init__(self, first: Iterable[str], verbs: Iterable[str] = VERBS) -> None:
        """Queue the words `first`, unchanged, before all others, then the verbs."""
        self._named = list(dict.fromkeys(first))
        self._heard: dict[str, None] = dict.fromkeys(verbs)
        self._given: set[str] = set()

    def hear(self, *texts: Any) -> None:
        """Queue the words of these texts, in lower case; values that are not texts are ignored.

        Words without meaning, such as `the`, and those of under 3 or over 40 letters are
        left out, and what comes after 1000 characters of a text.
        """
        for text in texts:
            if isinstance(text, str):
                words = (word.lower() for word in WORD.findall(text[:1000]))
                kept = (w for w in words if LEAST <= len(w) <= MOST and w not in IDLE)
                self._heard |= dict.fromkeys(kept)

    def next(self) -> str | None:
        """Return the next word, named ones first and none twice; None when there is none left."""
        for word in (*self._named, *self._heard):
            if word not in self._given:
                self._given.add(word)
                return word
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """An endpoint's spelling of tools: with the server's name before or after their own, or bare.

    Learnt from all listed entries; separately for locked ones, which may have bare names.
    """

    servers: tuple[str, ...]
    qualified: Mapping[bool, bool]

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> Names:
        """Infer the spelling from these entries.

        Names of locked, or of callable, entries are qualified unless one with a server member
        lacks that server's name.
        """
        entries = list(entries)
        servers = {
            server for entry in entries if isinstance(server := entry.members.get("server"), str)
        }
        qualified = {
            kind: all(bare(entry.members["server"], entry.name) != entry.name for entry in entries
                      if _is_locked(entry) == kind and isinstance(entry.members.get("server"), str))
            for kind in (False, True)
        }  # fmt: skip
        return cls(
            servers=tuple(sorted(servers, key=lambda server: (-len(server), server))),
            qualified=qualified,
        )

    def key(self, entry: Entry) -> ToolKey:
        """Return the tool of an entry; without a server member, by a known server's name in it.

        The longest such name counts; the server is "" if there is none.
        """
        named = entry.members.get("server")
        if isinstance(named, str):
            own = bare(named, entry.name) if self.qualified[_is_locked(entry)] else entry.name
            return ToolKey(named, own)
        for server in self.servers:
            if bare(server, entry.name) != entry.name:
                return ToolKey(server, bare(server, entry.name))
        return ToolKey("", entry.name)


def bare(server: str, name: str) -> str:
    """Return a tool's name without its server's name, before or after it, and the signs between.

    A name without them is returned unchanged.
    """
    before = re.match(rf"{re.escape(server)}[^A-Za-z0-9]+(?=.)", name) if server else None
    if before is not None:
        return name[before.end() :]
    behind = re.search(rf"(?<=.)[^A-Za-z0-9]+{re.escape(server)}$", name) if server else None
    return name if behind is None else name[: behind.start()]


def is_of(entry: Entry, key: ToolKey) -> bool:
    """Whether an entry may belong to the tool of that key, by its name.

    That is the tool's, alone or with the server's name before or after it. An entry without a
    server member may belong to any server.
    """
    server = entry.members.get("server", key.server)
    return server == key.server and key.tool in (entry.name, bare(key.server, entry.name))


def _is_locked(entry: Entry) -> bool:
    """Whether an entry is that of a locked tool: it has a status."""
    return "status" in entry.members
