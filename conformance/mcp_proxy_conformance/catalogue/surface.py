"""Surface of a target: its names for tools, arguments and members; and the status words."""

from __future__ import annotations

import json
from typing import Any, Literal

import msgspec

from mcp_proxy_conformance.catalogue.world import ToolKey


class ToolTemplate(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A tool call with holes: `{server}`, `{tool}`, `{arguments}` may occur anywhere in a string.

    `{arguments}` becomes JSON text; a value that is exactly `{arguments:object}` becomes the
    object itself, and may replace all the arguments. `endpoint` is a path on the target's host;
    empty means the target's own URL.
    """

    tool: str
    arguments: dict[str, Any] | Literal["{arguments:object}"] = {}
    endpoint: str = ""

    def filled(self, target: ToolKey, arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """Return (tool name, arguments) of a call to `target`: the template with its holes filled.

        Holes are `{server}`, `{tool}`, and `{arguments}` as JSON text; a value that is exactly
        `{arguments:object}` becomes the object.
        """
        holes = {
            "{server}": target.server,
            "{tool}": target.tool,
            "{arguments}": json.dumps(arguments, separators=(",", ":")),
        }

        def fill(value: Any) -> Any:
            """Return the value with holes in texts filled, inside lists and objects too.

            Names of members stay.
            """
            if isinstance(value, dict):
                return {name: fill(inner) for name, inner in value.items()}
            if isinstance(value, list):
                return [fill(inner) for inner in value]
            if value == "{arguments:object}":
                return arguments
            if isinstance(value, str):
                for hole, text in holes.items():
                    value = value.replace(hole, text)
            return value

        return fill(self.tool), fill(self.arguments)

    @property
    def names_the_tool(self) -> bool:
        """Whether the filled template depends on the tool's name, so that it can call any tool."""
        first, second = (self.filled(ToolKey("", name), {}) for name in ("a", "b"))
        return first != second


class Members(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The member names under which the answers hold what the checks need."""

    tools: str = "tools"
    disabled: str = "disabled"
    remediation: str = "remediation"
    note: str = "notice"
    servers: str = "servers"
    server_name: str = "name"
    counts: str = "tools"
    inspected: str = "server"


class Surface(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The names of one target's surface; the flag's name is the source's and not mappable."""

    discovery_tool: str = "retrieve_tools"
    query: str = "query"
    limit: str = "limit"
    listing: ToolTemplate = ToolTemplate(tool="upstream_servers", arguments={"operation": "list"})
    inspect: ToolTemplate | None = None
    calls: tuple[ToolTemplate, ...] = (
        ToolTemplate(
            tool="call_tool_read",
            arguments={"name": "{server}:{tool}", "args_json": "{arguments}"},
        ),
    )
    endpoints: tuple[str, ...] = ("",)
    members: Members = Members()


FLAG = "include_disabled"
STATUSES = (
    "disabled_by_config",
    "disabled_by_user",
    "pending_approval",
    "server_disabled",
    "disabled_unknown",
    "server_quarantined",
)
