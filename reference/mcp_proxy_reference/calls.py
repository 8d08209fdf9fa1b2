"""Calling a tool through the proxy: the lock is decided here, before anything is sent."""

from __future__ import annotations

import json
from collections.abc import Mapping

from mcp_proxy_reference.facts import Agent, Json, Tool
from mcp_proxy_reference.gateway import Gateway, Records
from mcp_proxy_reference.policy import ArgumentError, permission
from mcp_proxy_reference.store import StoreError
from mcp_proxy_reference.upstream import UpstreamError


async def call_tool(
    gateway: Gateway, agent: Agent, surface: str, arguments: Mapping[str, object]
) -> Json:
    """The upstream's own result, or an error result with the reason why nothing was sent.

    Raises:
        ArgumentError: the arguments cannot be passed on.
    """
    policy, name = gateway.policy, arguments.get("name")
    if not isinstance(name, str):
        raise ArgumentError("name must be the address of a tool, server:tool.")
    tool = _find(gateway, agent, name)
    if tool is None:
        return text_result(policy.unknown(name), is_error=True)
    facts = gateway.facts(tool, _records(gateway, tool))
    if not policy.may_call(facts, surface):
        text = policy.rejection(facts, policy.remediation)
        return text_result(text, is_error=policy.rejection_is_error)

    kind, wanted = surface.removeprefix("call_tool_"), permission(tool.annotations)
    if kind not in agent.permissions:
        raise ArgumentError(f"This agent token does not permit {surface}.")
    if wanted == "destructive" != kind:
        raise ArgumentError("This tool is destructive: call it with call_tool_destructive.")
    try:
        return await gateway.upstream(tool.server).call(tool.name, _passed_on(arguments))
    except UpstreamError as error:
        return text_result(str(error), is_error=True)


def text_result(text: str, *, is_error: bool = False) -> Json:
    """A tool result of one text item; the error mark is absent when there is none."""
    result: Json = {"content": [{"type": "text", "text": text}]}
    return result | {"isError": True} if is_error else result


def _find(gateway: Gateway, agent: Agent, name: str) -> Tool | None:
    server, _, tool = name.partition(":")
    if server not in gateway.config.servers or not gateway.policy.scope(agent, server, "call"):
        return None
    return gateway.tools(server).get(tool)


def _records(gateway: Gateway, tool: Tool) -> Records | None:
    try:
        record = gateway.store.record(tool)
    except StoreError:
        return None
    return {(tool.server, tool.name): record} if record else {}


def _passed_on(arguments: Mapping[str, object]) -> Json:
    text = arguments.get("args_json") or "{}"
    try:
        passed = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        passed = None
    if not isinstance(passed, dict):
        raise ArgumentError("args_json must be a string that holds a JSON object.")
    return passed
