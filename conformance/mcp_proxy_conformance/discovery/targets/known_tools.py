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
        In another form, or listed with another server than its own, a tool is matched by the
        longest name in `name`, and of namesakes by the server that `name` spells or that is given.
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
        return self._otherwise_spelt(listed)

    def _otherwise_spelt(self, listed: ToolKey) -> ToolKey:
        """Return the tool with the longest name in the listed one, or the listed one if none fits.

        Of several namesakes, the one whose server (the longest) the rest of the name spells, else
        that of the server it is listed with; if that leaves none or several, the listed one.
        """
        fit = [key for key in self._keys if key.tool and key.tool in listed.tool]
        longest = max((len(key.tool) for key in fit), default=0)
        namesakes = [key for key in fit if len(key.tool) == longest]
        spelt = [
            key for key in namesakes if key.server in listed.tool.replace(key.tool, "", 1)
        ] or [key for key in namesakes if key.server == listed.server]
        of_longest = max((len(key.server) for key in spelt), default=0)
        nearest = [key for key in spelt or namesakes if len(key.server) >= of_longest]
        return nearest[0] if len(nearest) == 1 else listed

    def _of_any(self, name: str) -> ToolKey:
        """Return the tool whose name and server's occur in `name`, else one with exactly that name.

        Of several the one with the longest name; without any, the name under the empty server.
        """
        spelt = [k for k in self._keys if k.server in name and k.tool in name] or [
            k for k in self._keys if k.tool == name
        ]
        longest = max(spelt, key=lambda k: (len(k.tool), k), default=None)
        return longest or ToolKey("", name)
