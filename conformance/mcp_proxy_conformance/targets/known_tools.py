"""Known tools of a world, recognised in whatever form a target gives their names."""

from __future__ import annotations

import re
from collections.abc import Iterable

from mcp_proxy_conformance.catalogue.world import ToolKey


class Known:
    """Finds out which tool of a world a target means by a name in its answers."""

    def __init__(self, keys: Iterable[ToolKey] = ()) -> None:
        """Keep the world's tools; the longest names are matched first."""
        self._keys = frozenset(keys)
        self._longest_first: dict[str, list[str]] = {}
        for key in sorted(self._keys, key=lambda key: (-len(key.tool), key.tool)):
            if key.tool:
                self._longest_first.setdefault(key.server, []).append(key.tool)

    def key(self, server: str, name: str) -> ToolKey:
        """Return the world's tool that is listed as `name` of `server` ("": of any server).

        Matches the bare tool name, or the name behind or before the server's name and separators.
        Listed with another server than its own, a tool is matched by its name, if that is unique.
        Without a match, return the server and name as listed.
        """
        if not server:
            return self._of_any(name)
        listed = ToolKey(server, name)
        if listed in self._keys:
            return listed
        for tool in self._longest_first.get(server, ()):
            if tool in name:
                rest = name.replace(tool, "", 1).replace(server, "", 1)
                if not re.search(r"[A-Za-z0-9]", rest):
                    return ToolKey(server, tool)
        return self._of_another(name) or listed

    def _of_another(self, name: str) -> ToolKey | None:
        """Return the tool of any server with the longest name in `name`; None if not unique."""
        fit = [key for key in self._keys if key.tool and key.tool in name]
        longest = max((len(key.tool) for key in fit), default=0)
        fit = [key for key in fit if len(key.tool) == longest]
        return fit[0] if len(fit) == 1 else None

    def _of_any(self, name: str) -> ToolKey:
        """Return the tool whose name and server's name occur in `name`, else one with that name.

        Of several the one with the longest name; without any, the name under the empty server.
        """
        spelt = [k for k in self._keys if k.server in name and k.tool in name] or [
            k for k in self._keys if k.tool == name
        ]
        longest = max(spelt, key=lambda k: (len(k.tool), k), default=None)
        return longest or ToolKey("", name)
