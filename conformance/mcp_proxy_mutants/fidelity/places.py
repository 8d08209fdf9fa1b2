"""Makers of filters that change one part of messages: arguments, listed tools, results, errors."""

from collections.abc import Callable
from typing import Any

from mcp_proxy_mutants.fidelity.changed import Down, Up
from mcp_proxy_mutants.fidelity.json_text import Json, mapped

Change = Callable[[Json], Json]


def called(change: Change) -> Up:
    """Return a filter that changes the params, {} without any, of each call."""

    def up(message: dict[str, Json]) -> Json:
        if message.get("method") != "tools/call":
            return message
        return message | {"params": change(message.get("params") or {})}

    return up


def arguments(change: Change) -> Up:
    """Return a filter that changes the arguments of each call that has some, as a whole."""
    return called(
        lambda params: (
            params | {"arguments": change(params["arguments"])} if "arguments" in params else params
        )
    )


def values(change: Change) -> Up:
    """Return a filter that changes every value in the arguments of each call, inner ones first."""
    return arguments(lambda given: mapped(given, change))


def texts(change: Callable[[str], str]) -> Up:
    """Return a filter that changes every text within the arguments of each call; not names."""
    return values(lambda value: change(value) if is_text(value) else value)


def is_text(value: Json) -> bool:
    """Whether a value is a JSON text; numbers are texts of a class of their own."""
    return type(value) is str


def answered(method: str, change: Change) -> Down:
    """Return a filter that changes the results, but not errors, of requests of a method."""

    def down(message: dict[str, Json], asked: dict[str, Json]) -> Json:
        if asked.get("method") != method or not isinstance(message.get("result"), dict):
            return message
        return message | {"result": change(message["result"])}

    return down


def listed(change: Change) -> Down:
    """Return a filter that changes each listed tool; None leaves a tool out."""

    def page(result: dict[str, Json]) -> Json:
        tools = [change(tool) for tool in result.get("tools", [])]
        return result | {"tools": [tool for tool in tools if tool is not None]}

    return answered("tools/list", page)


def member(name: str, change: Change) -> Down:
    """Return a filter that changes the member `name` of each listed tool that has it."""
    return listed(lambda tool: tool | {name: change(tool[name])} if name in tool else tool)


def returned(change: Change) -> Down:
    """Return a filter that changes the results of calls, but not JSON-RPC errors."""
    return answered("tools/call", change)


def items(change: Callable[[list[Any]], list[Any]]) -> Down:
    """Return a filter that changes the content of results of calls, as a list."""
    return returned(
        lambda result: (
            result | {"content": change(result["content"])}
            if isinstance(result.get("content"), list)
            else result
        )
    )


def each_item(kind: str, change: Change) -> Down:
    """Return a filter that changes each content item of that type, such as `text`."""
    return items(
        lambda content: [change(item) if item.get("type") == kind else item for item in content]
    )


def structured(change: Change) -> Down:
    """Return a filter that changes structured content, where a result of a call has any."""
    return returned(
        lambda result: (
            result | {"structuredContent": change(result["structuredContent"])}
            if "structuredContent" in result
            else result
        )
    )


def failed(change: Change) -> Down:
    """Return a filter that changes the JSON-RPC errors that calls are answered with."""

    def down(message: dict[str, Json], asked: dict[str, Json]) -> Json:
        if asked.get("method") != "tools/call" or not isinstance(message.get("error"), dict):
            return message
        return message | {"error": change(message["error"])}

    return down


def without(value: dict[str, Json], *names: str) -> dict[str, Json]:
    """Return a copy of an object without the members of these names."""
    return {name: inner for name, inner in value.items() if name not in names}
