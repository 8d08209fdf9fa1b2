"""The operator's configuration file: read, checked, followed while it changes, rewritten."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Json = dict[str, Any]
Signature = tuple[int, int, int]

KEYS: Mapping[str, type] = {
    "listen": str,
    "data_dir": str,
    "api_key": str,
    "enable_socket": bool,
    "tools_limit": int,
    "tool_response_limit": int,
    "quarantine_enabled": bool,
    "check_server_repo": bool,
    "docker_isolation": dict,
    "telemetry": dict,
    "update_check": dict,
    "tokenizer": dict,
    "mcpServers": list,
}
SERVER_KEYS: Mapping[str, type] = {
    "name": str,
    "url": str,
    "protocol": str,
    "command": str,
    "args": list,
    "env": dict,
    "headers": dict,
    "enabled": bool,
    "quarantined": bool,
    "skip_quarantine": bool,
    "disabled_tools": list,
    "enabled_tools": list,
}
WORDS: Mapping[type, str] = {
    str: "a string",
    bool: "true or false",
    int: "a whole number",
    dict: "an object",
    list: "a list",
}


class ConfigError(Exception):
    """The configuration cannot be used; the message is one sentence that names the culprit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """One upstream server; `enabled_tools` None means no allow list, an empty one allows nothing."""

    name: str
    url: str | None = None
    command: str | None = None
    protocol: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    enabled: bool = True
    quarantined: bool = False
    skip_quarantine: bool = False
    disabled_tools: frozenset[str] = frozenset()
    enabled_tools: frozenset[str] | None = None

    def denies(self, tool: str) -> bool:
        """Whether the operator's lists lock the tool."""
        if self.enabled_tools is not None:
            return tool not in self.enabled_tools
        return tool in self.disabled_tools


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """A checked configuration and the file's signature when it was read."""

    path: Path
    signature: Signature
    document: Json
    servers: Mapping[str, Server]

    @property
    def api_key(self) -> str:
        """The operator's key; the environment stands in where the file has none."""
        return self.document.get("api_key") or os.environ.get("MCPPROXY_API_KEY", "")

    @property
    def tools_limit(self) -> int:
        """How many tools a discovery answers when it is not told."""
        return self.document.get("tools_limit") or 15

    def trusts(self, server: Server) -> bool:
        """Whether whatever the server offers counts as approved."""
        return server.skip_quarantine or self.document.get("quarantine_enabled") is False


def read(path: Path) -> Config:
    """Read and check the file."""
    try:
        signed = signature(path)  # first, so that a change during the read is seen later
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"The configuration {path} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"The configuration {path} is not valid JSON: {error}.") from None
    if not isinstance(document, dict):
        raise ConfigError(f"The configuration {path} must be a JSON object.")
    _check(document, KEYS, "")
    servers: dict[str, Server] = {}
    for number, entry in enumerate(document.get("mcpServers") or []):
        server = _server(entry, f"mcpServers[{number}]")
        if server.name in servers:
            raise ConfigError(f"mcpServers[{number}].name repeats the server name {server.name}.")
        servers[server.name] = server
    return Config(path=path, signature=signed, document=document, servers=servers)


def signature(path: Path) -> Signature:
    """What changes whenever the file does."""
    stat = path.stat()
    return stat.st_mtime_ns, stat.st_size, stat.st_ino


def rewrite(config: Config, server: str, **changes: bool) -> Config:
    """The configuration with members of one server changed, in the file as well."""
    document = copy.deepcopy(config.document)
    for entry in document["mcpServers"]:
        if entry["name"] == server:
            entry.update(changes)
    scratch = config.path.with_name(f".{config.path.name}.{os.getpid()}")
    scratch.write_text(json.dumps(document, indent=1), encoding="utf-8")
    scratch.replace(config.path)
    return read(config.path)


def _server(entry: object, where: str) -> Server:
    if not isinstance(entry, dict):
        raise ConfigError(f"{where} must be an object.")
    _check(entry, SERVER_KEYS, f"{where}.")
    known = {key: value for key, value in entry.items() if key in SERVER_KEYS and value is not None}
    name = known.get("name", "")
    if not name or ":" in name:
        raise ConfigError(f"{where}.name must be a name without a colon.")
    for key, kind in (("args", tuple), ("disabled_tools", frozenset), ("enabled_tools", frozenset)):
        if key not in known:
            continue
        if not all(isinstance(item, str) for item in known[key]):
            raise ConfigError(f"{where}.{key} must be a list of strings.")
        known[key] = kind(known[key])
    for key in ("env", "headers"):
        if not all(isinstance(item, str) for item in known.get(key, {}).values()):
            raise ConfigError(f"{where}.{key} must be an object of strings.")
    if known.get("disabled_tools") and "enabled_tools" in known:
        raise ConfigError(f"{where}: disabled_tools and enabled_tools exclude each other.")
    return Server(**known)


def _check(document: Json, keys: Mapping[str, type], where: str) -> None:
    for key, kind in keys.items():
        value = document.get(key)
        fits = isinstance(value, kind) and (kind is not int or not isinstance(value, bool))
        if value is not None and not fits:
            raise ConfigError(f"{where}{key} must be {WORDS[kind]}.")
