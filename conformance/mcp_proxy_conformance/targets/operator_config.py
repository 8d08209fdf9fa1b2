"""The config file of an operator-driven target, always written whole from our own copy."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mcp_proxy_conformance.catalogue.world import Server, World
from mcp_proxy_conformance.targets.adapter import Upstream

Lists = dict[str, tuple[frozenset[str], frozenset[str] | None]]


class OperatorConfig:
    """Our copy of the config: what a target writes into its file is never read back."""

    def __init__(
        self, path: Path, world: World, upstreams: Mapping[str, Upstream], base: dict[str, Any]
    ) -> None:
        """Lay out the servers of `world` after the general settings of `base`."""
        self._path = path
        self._base = base
        self._servers = {one.name: _server_entry(one, upstreams[one.name]) for one in world.servers}

    def write(self) -> None:
        """Replace the file in one move, so that no reader sees half of it."""
        text = json.dumps(self._base | {"mcpServers": list(self._servers.values())}, indent=1)
        fresh = self._path.with_suffix(".new")
        fresh.write_text(text, encoding="utf-8")
        os.replace(fresh, self._path)  # noqa: PTH105 - Path.replace is the same call

    def deny(self, server: str, tools: Sequence[str]) -> None:
        """Lock tools: onto the deny list, or off the allow list where the server has one."""
        entry = self._servers[server]
        if "enabled_tools" in entry:
            locked = set(tools)
            entry["enabled_tools"] = [t for t in entry["enabled_tools"] if t not in locked]
        else:
            entry["disabled_tools"] = [*dict.fromkeys([*entry.get("disabled_tools", []), *tools])]

    def keeps_some(self, server: str, tools: Sequence[str]) -> bool:
        """Whether the server has no allow list, or one that would keep a tool without these."""
        allowed = self._servers[server].get("enabled_tools")
        return allowed is None or bool(set(allowed) - set(tools))

    def permit(self, server: str, tools: Sequence[str]) -> None:
        """Lift the config lock of these tools."""
        entry = self._servers[server]
        if "enabled_tools" in entry:
            entry["enabled_tools"] = [*dict.fromkeys([*entry["enabled_tools"], *tools])]
        else:
            freed = set(tools)
            kept = [t for t in entry.get("disabled_tools", []) if t not in freed]
            entry["disabled_tools"] = kept

    def lists(self) -> Lists:
        """The tools denied and the only ones allowed, by server."""
        return _lists(self._servers.values())

    def switch(self, server: str, member: str, *, to: bool) -> None:
        """Remember what the REST API set, so that the next whole file says so too."""
        self._servers[server][member] = to


def listed(answer: dict[str, Any]) -> Lists | None:
    """The same, as an operator API tells its configuration; None when it tells none."""
    told = answer.get("data", answer)
    told = told.get("config", told) if isinstance(told, dict) else {}
    servers = told.get("mcpServers")
    return _lists(servers) if isinstance(servers, list) else None


def _lists(servers: Iterable[dict[str, Any]]) -> Lists:
    return {
        one["name"]: (frozenset(one.get("disabled_tools") or ()), _allowed(one)) for one in servers
    }


def _allowed(server: dict[str, Any]) -> frozenset[str] | None:
    told = server.get("enabled_tools")
    return None if told is None else frozenset(told)


def _server_entry(server: Server, upstream: Upstream) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": server.name, "enabled": True, "quarantined": False}
    if upstream.url is not None:
        entry |= {"url": upstream.url, "protocol": "streamable-http"}
    else:
        command = upstream.command or ()
        entry |= {"command": command[0], "args": list(command[1:]), "protocol": "stdio"}
    if server.trusted:
        entry["skip_quarantine"] = True
    if server.deny:
        entry["disabled_tools"] = list(server.deny)
    if server.allow is not None:
        entry["enabled_tools"] = list(server.allow)
    return entry
