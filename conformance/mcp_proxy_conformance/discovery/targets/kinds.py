"""Targets of each kind, built from a description; and what is known of a running endpoint."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from mcp_proxy_conformance.catalogue.surface import Surface, ToolTemplate
from mcp_proxy_conformance.discovery.targets.adapter import CAPABILITIES, ProxyTarget
from mcp_proxy_conformance.discovery.targets.command import CommandAdapter
from mcp_proxy_conformance.discovery.targets.launch import REFERENCE, mcpproxy
from mcp_proxy_conformance.discovery.targets.operator import OperatorAdapter
from mcp_proxy_conformance.discovery.targets.proxy_description import (
    LEAST,
    ProxyDescription,
    describe_surface,
)
from mcp_proxy_conformance.discovery.targets.warm_host import WarmHost
from mcp_proxy_conformance.targets.description import BadTarget, Description

DIRECT = ToolTemplate(tool="{server}__{tool}", arguments="{arguments:object}", endpoint="/mcp/all")
CODE = ToolTemplate(
    tool="code_execution",
    arguments={"code": "call_tool('{server}', '{tool}', {arguments})"},
    endpoint="/mcp/code",
)
UNSEEN = frozenset({"inspect", "counter", "indeterminate"})
"""Capabilities for which the real Go proxy has no surface."""


def target_of(described: Description) -> ProxyTarget:
    """Return the Target of a description, which may override the members of its kind.

    Without the capability `direct_endpoints` it has only the first endpoint and call of its
    surface. Raises BadTarget for what is no proxy, or a missing program.
    """
    if not isinstance(described, ProxyDescription):
        kind = described.kind
        raise BadTarget(f"only `run {kind}` judges a target of kind {kind!r}; use that command")
    if described.kind == "mcpproxy":
        target = _mcpproxy(described.binary)
    else:
        target = _reference() if described.kind == "reference" else _command(described.command)
    members: dict[str, Any] = {
        name: value
        for name in ("settle_s", "enforce_s", "ready_s", "surface", "name", "version")
        if (value := getattr(described, name)) is not None
    }
    if described.capabilities is not None:
        members["capabilities"] = frozenset(described.capabilities)
    if described.start_ahead is not None:
        members["ahead"] = described.start_ahead
    pins = _pins(described)
    return _narrowed(replace(target, upstreams=described.upstreams, pins=pins, **members))


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """Facts of a running endpoint: from its target file (`is_described`), else the defaults.

    `pins` maps pinned texts to the statuses that each conveys.
    """

    surface: Surface = field(default_factory=Surface)
    pins: Mapping[str, frozenset[str]] = field(default_factory=dict)
    name: str = ""
    version: str = ""
    is_described: bool = False


def knowledge_in(file: Path | None) -> Knowledge:
    """Return what a target file says of a running endpoint, the defaults for None.

    A file without a surface has the default surface of its kind. Raises BadTarget.
    """
    if file is None:
        return Knowledge()
    described = describe_surface(file)
    surface = described.surface
    if surface is None:
        surface = Surface() if described.kind == "command" else operator_surface()
    if described.kind == "mcpproxy" and described.surface is None:
        surface = msgspec.structs.replace(surface, inspect=None)
    return Knowledge(
        surface=surface,
        pins=_pins(described),
        name=described.name,
        version=described.version,
        is_described=True,
    )


def _pins(described: ProxyDescription) -> dict[str, frozenset[str]]:
    pinned = {text for texts in described.pins.values() for text in texts}
    return {
        text: frozenset(status for status, texts in described.pins.items() if text in texts)
        for text in pinned
    }


def _narrowed(target: ProxyTarget) -> ProxyTarget:
    if "direct_endpoints" in target.capabilities:
        return target
    surface = target.surface
    first = msgspec.structs.replace(
        surface, calls=surface.calls[:1], endpoints=surface.endpoints[:1]
    )
    return replace(target, surface=first)


def _reference() -> ProxyTarget:
    host = WarmHost(REFERENCE.host) if REFERENCE.host else None
    return ProxyTarget(
        kind="reference",
        make=partial(OperatorAdapter, REFERENCE, host),
        close=host.close if host else lambda: None,
        surface=operator_surface(),
        capabilities=CAPABILITIES,
        settle_s=0.05,  # it applies a change with the next request
        may_lie_in_memory=True,
    )


def _mcpproxy(path: str) -> ProxyTarget:
    binary = shutil.which(path)
    if binary is None:
        what = "is not executable" if Path(path).exists() else "does not exist"
        raise BadTarget(f"the binary {path} {what}; give the path of the program")
    surface = operator_surface()
    return ProxyTarget(
        kind="mcpproxy",
        make=partial(OperatorAdapter, mcpproxy(str(Path(binary).absolute()))),
        surface=msgspec.structs.replace(
            surface,
            calls=(*surface.calls, DIRECT, CODE),
            endpoints=(*surface.endpoints, "/mcp/code", "/mcp/all"),
            inspect=None,
        ),
        capabilities=CAPABILITIES - UNSEEN,
        settle_s=2.0,
        lasts_s=27.0,
        fading=frozenset({"quarantine"}),
        ahead=8,
        may_lie_in_memory=True,
    )


def _command(command: tuple[str, ...]) -> ProxyTarget:
    return ProxyTarget(
        kind="command",
        make=partial(CommandAdapter, command),
        command=command,
        capabilities=frozenset(LEAST),
    )


def operator_surface() -> Surface:
    """Return what the reference and the real Go proxy share: calls, endpoints, the inspect tool."""
    arguments = {"name": "{server}:{tool}", "args_json": "{arguments}"}
    return Surface(
        calls=tuple(
            ToolTemplate(tool=tool, arguments=arguments, endpoint=endpoint)
            for tool in ("call_tool_read", "call_tool_write", "call_tool_destructive")
            for endpoint in ("", "/mcp/call")
        ),
        endpoints=("/mcp", "/mcp/call"),
        inspect=ToolTemplate(
            tool="upstream_servers", arguments={"operation": "get", "name": "{server}"}
        ),
    )
