"""Launch settings of the reference and the real Go proxy: commands, delays, config, environment."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

GENERAL = {
    "enable_socket": False,
    "tools_limit": 15,
    "tool_response_limit": 0,
    "quarantine_enabled": True,
    "check_server_repo": False,
    "docker_isolation": {"enabled": False},
    "telemetry": {"enabled": False},
    "update_check": {"enabled": False},
    "tokenizer": {"enabled": False},
    "sensitive_data_detection": {"enabled": False},
    "enable_code_execution": True,
}
QUIET = {
    "MCPPROXY_TELEMETRY": "false",
    "DO_NOT_TRACK": "1",
    "CI": "true",
    "MCPPROXY_DISABLE_AUTO_UPDATE": "true",
    "MCPPROXY_DISABLE_OAUTH": "true",
    "GOGC": "400",
    "DOCKER_HOST": "unix:///dev/null",
}
"""Variables of a program that is to ask nobody, to collect its garbage less often, and to find no
Docker: when it ends, the real proxy stops the containers of every proxy on the machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How one program behind the operator adapter is started, and how it differs from the others.

    `command` precedes `serve`; `says_address` programs choose their port and print it;
    `serves_stdio` programs speak MCP on their standard streams when they listen on `:0`;
    `host` is the command of a warm host, a process that forks instances of the same program;
    `first_action_s` is how long the first control action has to wait once the program is ready
    (and longer if that took long), `after_config_s` how long after a new config file, because a
    late reload may undo it, and `after_off_s` after a server was turned off, because one that is
    turned on at once may stay disconnected;
    `shows_config` programs show on the operator API which lists of the file are in effect; not all
    treat an empty allow list as a lock (`empty_allow_locks`).
    """

    command: tuple[str, ...]
    says_address: bool
    first_action_s: float = 0.0
    after_config_s: float = 0.0
    after_off_s: float = 0.0
    shows_config: bool = False
    empty_allow_locks: bool = True
    has_counter: bool = False
    breakable_store: str | None = None
    approve_first_contact: bool = False
    serves_stdio: bool = False
    host: tuple[str, ...] = ()


def mcpproxy(binary: str) -> Launch:
    """Return the launch of the real Go proxy at that path, with its measured delays."""
    return Launch(
        command=(binary,),
        says_address=False,
        first_action_s=2.6,
        after_config_s=1.2,
        after_off_s=0.6,
        shows_config=True,
        empty_allow_locks=False,
        approve_first_contact=True,
    )


REFERENCE = Launch(
    command=(sys.executable, "-m", "mcp_proxy_reference"),
    says_address=True,
    has_counter=True,
    breakable_store="proxy.db",
    serves_stdio=True,
    host=(sys.executable, "-m", "mcp_proxy_conformance.discovery.targets.warm_host_program")
    if hasattr(os, "fork")
    else (),
)
