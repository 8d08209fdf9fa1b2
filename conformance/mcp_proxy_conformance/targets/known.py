"""The tools of a world, found again in whatever form a target gives their names."""

from __future__ import annotations

import re
from collections.abc import Iterable

from mcp_proxy_conformance.catalogue.world import ToolKey


class Known:
    """The tools that entries may be about; made once for a world, asked for each entry."""

    def __init__(self, keys: Iterable[ToolKey] = ()) -> None:
        self._keys = frozenset(keys)
        self._longest_first: dict[str, list[str]] = {}
        for key in sorted(self._keys, key=lambda key: (-len(key.tool), key.tool)):
            if key.tool:
                self._longest_first.setdefault(key.server, []).append(key.tool)

    def key(self, server: str, name: str) -> ToolKey:
        """The key of an entry told as `name` of `server`; without a server, of any.

        The bare tool name, or it behind or before the server's name and separators. Told with
        another server than its own, a tool is found by its name, if no other has that.
        """
        if not server:
            return self._of_any(name)
        told = ToolKey(server, name)
        if told in self._keys:
            return told
        for tool in self._longest_first.get(server, ()):
            if tool in name:
                rest = name.replace(tool, "", 1).replace(server, "", 1)
                if not re.search(r"[A-Za-z0-9]", rest):
                    return ToolKey(server, tool)
        return self._of_another(name) or told

    def _of_another(self, name: str) -> ToolKey | None:
        """The tool that alone has that name, told with a server that has none of it."""
        fit = [key for key in self._keys if key.tool and key.tool in name]
        longest = max((len(key.tool) for key in fit), default=0)
        fit = [key for key in fit if len(key.tool) == longest]
        return fit[0] if len(fit) == 1 else None

    def _of_any(self, name: str) -> ToolKey:
        spelt = [k for k in self._keys if k.server in name and k.tool in name] or [
            k for k in self._keys if k.tool == name
        ]
        longest = max(spelt, key=lambda k: (len(k.tool), k), default=None)
        return longest or ToolKey("", name)
