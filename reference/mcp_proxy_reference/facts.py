"""Facts about a tool and the requesting agent, on which every decision is based."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

Json = dict[str, Any]
Status = Literal[
    "server_disabled",
    "disabled_by_config",
    "disabled_by_user",
    "pending_approval",
    "disabled_unknown",
    "server_quarantined",
]
Approval = Literal["approved", "pending", "changed"]
Purpose = Literal["search", "quarantine", "note", "listing", "call"]
"""What a scope is asked for; `quarantine`: the locked tools that are not in the search index."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Tool:
    """A tool as its server lists it; `digest` is the hash of all that an approval is for."""

    server: str
    name: str
    description: str
    schema: Json
    annotations: Json
    digest: str

    @cached_property
    def key(self) -> str:
        """The tool's address, `server:name`."""
        return f"{self.server}:{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The facts that decide if a tool may be called; `approval` is None if unreadable.

    `enabled` and `quarantined` are its server's; `denied`: by the config, for this tool.
    """

    tool: Tool
    enabled: bool
    quarantined: bool
    denied: bool
    approval: Approval | None
    disabled_by_user: bool
    approved_description: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """The requesting agent; `servers` None means every server, as for the administrator."""

    name: str
    servers: frozenset[str] | None
    permissions: frozenset[str]


ADMINISTRATOR = Agent(
    name="administrator", servers=None, permissions=frozenset({"read", "write", "destructive"})
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A tool that matches a query, and whether it may be called; `score` from the index."""

    facts: Facts
    score: float | None
    may_call: bool
