"""The operator's config file: read, checked and rewritten."""

import copy
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec

Json = dict[str, Any]


class ConfigError(Exception):
    """The configuration cannot be used; the message is one sentence that names the culprit."""


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """One upstream server of the file; empty `enabled_tools` allow nothing, None is no list."""

    name: Annotated[str, msgspec.Meta(pattern=r"\A[^:]+\Z")]
    url: str | None = None
    command: str | None = None
    protocol: str | None = None
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    headers: dict[str, str] = {}
    enabled: bool = True
    quarantined: bool = False
    skip_quarantine: bool = False
    disabled_tools: frozenset[str] = frozenset()
    enabled_tools: frozenset[str] | None = None

    def denies(self, tool: str) -> bool:
        """Whether the tool is missing on the allow list or, without one, is on the deny list."""
        if self.enabled_tools is not None:
            return tool not in self.enabled_tools
        return tool in self.disabled_tools


class Settings(msgspec.Struct, kw_only=True):
    """Contents of the configuration file; keys that this proxy does not use are ignored."""

    listen: str = ""
    data_dir: str = ""
    api_key: str = ""
    tools_limit: int = 0
    quarantine_enabled: bool = True
    servers: list[Server] = msgspec.field(name="mcpServers", default_factory=list)

    def __post_init__(self) -> None:
        """Default the API key to the environment's, and the limit of tools to 15."""
        self.api_key = self.api_key or os.environ.get("MCPPROXY_API_KEY", "")
        self.tools_limit = self.tools_limit or 15


class Config(NamedTuple):
    """A checked configuration beside the document that it was read from."""

    document: Json
    settings: Settings
    servers: Mapping[str, Server]

    def trusts(self, server: Server) -> bool:
        """Whether the server's tools need no approval: it is marked so, or approval is off."""
        return server.skip_quarantine or not self.settings.quarantine_enabled


def read(path: Path) -> Config:
    """Read the config file; ConfigError if it is unreadable, invalid or contradictory.

    Contradictory are a repeated server name, and both lists on one server.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        settings = msgspec.convert(_without_nulls(document), Settings)
    except OSError as error:
        raise ConfigError(f"The configuration {path} cannot be read: {error.strerror}.") from None
    except msgspec.ValidationError as error:
        raise ConfigError(f"The configuration {path} cannot be used: {error}.") from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"The configuration {path} is not valid JSON: {error}.") from None
    servers: dict[str, Server] = {}
    for number, server in enumerate(settings.servers):
        where = f"mcpServers[{number}]"
        if server.name in servers:
            raise ConfigError(f"{where}.name repeats the server name {server.name}.")
        if server.disabled_tools and server.enabled_tools is not None:
            raise ConfigError(f"{where}: disabled_tools and enabled_tools exclude each other.")
        servers[server.name] = server
    return Config(document, settings, servers)


def rewrite(path: Path, config: Config, server: str, **changes: bool) -> Config:
    """Change members of one server in the file, atomically; return the configuration read back.

    A server that is not in the file is ignored; `config` stays as it is. Raises ConfigError or
    OSError.
    """
    document = copy.deepcopy(config.document)
    for entry in document["mcpServers"]:
        if entry["name"] == server:
            entry.update(changes)
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    scratch.write_text(json.dumps(document, indent=1), encoding="utf-8")
    scratch.replace(path)
    return read(path)


def _without_nulls(value: Any) -> Any:
    """Return the JSON value without the members, at any depth, that are null."""
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return value
