"""The kinds of target that can be named on the command line."""

from __future__ import annotations

from difflib import get_close_matches
from functools import partial

from mcp_proxy_conformance.discovery.surface import Surface, ToolTemplate
from mcp_proxy_conformance.target.adapter import CAPABILITIES, Target
from mcp_proxy_conformance.target.operator import REFERENCE, OperatorAdapter
from mcp_proxy_conformance.target.warm import WarmHost

KINDS = ("reference",)


class BadTarget(ValueError):
    """No such kind of target; the message names the nearest one."""


def target_of(kind: str) -> Target:
    """The target of a kind, by its name on the command line; raises BadTarget."""
    if kind != "reference":
        near = get_close_matches(kind, KINDS, 1) or KINDS
        raise BadTarget(f"there is no target kind {kind!r}; did you mean {near[0]!r}?")
    host = WarmHost(REFERENCE.host) if REFERENCE.host else None
    return Target(
        kind="reference",
        make=partial(OperatorAdapter, REFERENCE, host),
        close=host.close if host else lambda: None,
        surface=operator_surface(),
        capabilities=CAPABILITIES,
        settle_s=1.0,
    )


def operator_surface() -> Surface:
    """The surface that the reference and the real Go proxy share."""
    arguments = {"name": "{server}:{tool}", "args_json": "{arguments}"}
    return Surface(
        calls=tuple(
            ToolTemplate(tool=tool, arguments=arguments, endpoint=endpoint)
            for tool in ("call_tool_read", "call_tool_write", "call_tool_destructive")
            for endpoint in ("", "/mcp/call")
        ),
        endpoints=("/mcp", "/mcp/call"),
    )
