"""Mutants of robustness: on hostile input they leak traces, hang, keep failing, misread names."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from mcp_proxy_mutants.discovery.gateway_changes import own, put
from mcp_proxy_mutants.discovery.mutant import Fresh, Mutant, mutant
from mcp_proxy_mutants.discovery.pieces import FLAG, is_call, plus
from mcp_proxy_mutants.discovery.result_changes import Reply
from mcp_proxy_reference import policy as std
from mcp_proxy_reference.facts import Agent, Facts, Json
from mcp_proxy_reference.gateway import Gateway

Respond = Callable[[], Awaitable[Json]]
Hit = Callable[[Json], bool]
LONG, STUCK_S = 5_000, 60.0
PYTHON = 'Traceback (most recent call last):\n  File "/srv/search.py", line 41, in find\nKeyError'
GO = "panic: index out of range\n\ngoroutine 17 [running]:\nmain.find(0x1)\n\t/srv/find.go:41 +0x1d"
NODE = "TypeError: x is not a function\n    at find (/srv/search.js:41:7)"


def _arguments(message: Json) -> Json:
    """Return the arguments of the tool call in the message; empty if there are none."""
    params = message.get("params") or {}
    arguments = params.get("arguments") if isinstance(params, dict) else None
    return arguments if isinstance(arguments, dict) else {}


def _is_call(message: Json, name: str) -> bool:
    """Whether the message calls a built-in tool whose name begins with `name`."""
    params = message.get("params") or {}
    return message.get("method") == "tools/call" and str(params.get("name", "")).startswith(name)


def _query(holds: Callable[[Any], bool]) -> Hit:
    """Return a condition on messages: a discovery request for whose query `holds` is true."""
    return lambda message: (
        _is_call(message, "retrieve_tools") and holds(_arguments(message).get("query"))
    )


def _flag(holds: Callable[[Any], bool]) -> Hit:
    """Return a condition on messages: a discovery request with a flag for which `holds` is true."""
    return lambda message: (
        _is_call(message, "retrieve_tools")
        and FLAG in _arguments(message)
        and holds(_arguments(message)[FLAG])
    )


def _named(holds: Callable[[str], bool]) -> Hit:
    """Return a condition on messages: a call of an upstream tool for whose name `holds` is true."""
    return lambda message: (
        _is_call(message, "call_tool_") and holds(str(_arguments(message).get("name", "")))
    )


def _answered_by(hit: Hit, text: str) -> Reply:
    """Return a `reply` decision that answers requests that `hit` accepts with an error result.

    Its text, a stack trace or the like, is `text`.
    """

    async def reply(_agent: Agent, _session: str, message: Json, respond: Respond) -> Json:
        if not hit(message):
            return await respond()
        result = {"content": [{"type": "text", "text": text}], "isError": True}
        return {"jsonrpc": "2.0", "id": message["id"], "result": result}

    return reply


def _stuck(hit: Hit) -> Reply:
    """Return a `reply` decision that answers requests that `hit` accepts only after a minute."""

    async def reply(_agent: Agent, _session: str, message: Json, respond: Respond) -> Json:
        if hit(message):
            await asyncio.sleep(STUCK_S)
        return await respond()

    return reply


class Poisoned:
    """A `reply` decision: after a request that `hit` accepts, later calls of `tool` fail."""

    def __init__(self, hit: Hit, tool: str) -> None:
        """Keep the condition and the beginning of the tools' names; nothing is poisoned yet."""
        self._hit = hit
        self._tool = tool
        self._is_poisoned = False

    async def __call__(self, _agent: Agent, _session: str, message: Json, respond: Respond) -> Json:
        """Return the usual answer, or, once poisoned, an error for calls of tools named so.

        The request that poisons is still answered as usual.
        """
        was, self._is_poisoned = self._is_poisoned, self._is_poisoned or self._hit(message)
        if not was or not _is_call(message, self._tool):
            return await respond()
        result = {"content": [{"type": "text", "text": "Not available."}], "isError": True}
        return {"jsonrpc": "2.0", "id": message["id"], "result": result}


def _poisoned(hit: Hit, tool: str = "retrieve_tools") -> Fresh:
    """Return a fresh `reply` decision: after a request that `hit` accepts, calls of `tool` fail."""
    return Fresh(lambda: Poisoned(hit, tool))


async def _echoed_raw(_agent: Agent, _session: str, message: Json, respond: Respond) -> Json:
    """Return the answer with the query in it unescaped, control characters and quotes too.

    Errors are unchanged.
    """
    answer = await respond()
    query = _arguments(message).get("query")
    if isinstance(query, str) and not answer.get("result", {}).get("isError"):
        item = answer["result"]["content"][0]
        item["text"] = item["text"].replace(json.dumps(query, ensure_ascii=False), f'"{query}"')
    return answer


def _losing(strange: Callable[[Facts], bool]) -> Callable[[Gateway], None]:
    """Return a gateway change that hides all tools of a server if `strange` is true of one."""

    def swap(gateway: Gateway) -> None:
        known = own(gateway, "known")

        def without() -> dict[str, list[Facts]]:
            tools: dict[str, list[Facts]] = known()
            return {name: [] if any(map(strange, all_)) else all_ for name, all_ in tools.items()}

        put(gateway, known=without)

    return swap


MUTANTS: tuple[Mutant, ...] = (
    mutant(
        "no-query-breaks",
        "A search without a query is answered with a stack trace.",
        "ROB.arguments",
        reply=_answered_by(_query(lambda q: q is None), GO),
    ),
    mutant(
        "numbered-query-stays-open",
        "A request with a number as the query is never answered.",
        "ROB.arguments",
        reply=_stuck(_query(lambda q: isinstance(q, int))),
    ),
    mutant(
        "stray-call-breaks",
        "A call to a tool name with line breaks is answered with a stack trace.",
        "ROB.call",
        reply=_answered_by(_named(lambda name: "\n" in name), PYTHON),
    ),
    mutant(
        "stray-call-poisons",
        "After a call to a tool of an unknown server, no call arrives.",
        "ROB.call",
        reply=_poisoned(_named(lambda name: name.startswith(":")), "call_tool_"),
    ),
    mutant(
        "listed-flag-breaks",
        "A request with a list as the flag is answered with a stack trace.",
        "ROB.flag",
        reply=_answered_by(_flag(lambda flag: isinstance(flag, list)), NODE),
    ),
    mutant(
        "object-flag-poisons",
        "After a request with an object as the flag, no search succeeds.",
        "ROB.flag",
        reply=_poisoned(_flag(lambda flag: isinstance(flag, dict))),
    ),
    mutant(
        "quote-ends-the-search",
        "A query with an unclosed quotation mark is answered with a stack trace.",
        "ROB.query",
        reply=_answered_by(_query(lambda q: q == '"'), PYTHON),
    ),
    mutant(
        "long-query-stays-open",
        "A query of more than 5 000 characters is never answered.",
        "ROB.query",
        reply=_stuck(_query(lambda q: len(str(q)) > LONG)),
    ),
    mutant(
        "nul-poisons-the-search",
        "After a query with a NUL character, no search succeeds.",
        "ROB.query",
        reply=_poisoned(_query(lambda q: "\x00" in str(q))),
    ),
    mutant(
        "query-echoed-raw",
        "The answer repeats the query without escaping it.",
        "ROB.query",
        reply=_echoed_raw,
    ),
    mutant(
        "inherited-name-loses-the-server",
        "A server with a tool named __proto__ has no tools.",
        "ROB.tools",
        swap=_losing(lambda facts: facts.tool.name == "__proto__"),
    ),
    mutant(
        "owner-up-to-the-last-colon",
        "A locked entry names everything before the last colon of the address as the server.",
        "ROB.owner",
        locked_entry=plus(lambda facts, *_: {"server": facts.tool.key.rpartition(":")[0]}),
    ),
    mutant(
        "refusals-end-at-a-colon",
        "A call of a tool with a colon in its name is refused as that of an unknown tool.",
        "ROB.owner",
        rejection=lambda facts, texts: (
            f"There is no tool {facts.tool.name.rpartition(':')[2]}."
            if ":" in facts.tool.name
            else std.rejection(facts, texts)
        ),
    ),
    mutant(
        "names-end-at-a-colon",
        "A locked entry's name ends at the colon in it.",
        "ROB.owner",
        locked_entry=plus(lambda facts, *_: {"name": ":".join(facts.tool.key.split(":")[:2])}),
    ),
    mutant(
        "locks-end-at-a-colon",
        "Tools with a colon in their names are listed as locked, but can be called.",
        "ROB.owner",
        may_call=lambda facts, surface: (
            (is_call(surface) and ":" in facts.tool.name) or std.may_call(facts, surface)
        ),
    ),
    mutant(
        "owner-between-the-colons",
        "A locked entry names the last but one part of the address as the server.",
        "ROB.owner",
        locked_entry=plus(lambda facts, *_: {"server": facts.tool.key.split(":")[-2]}),
    ),
    mutant(
        "open-schema-loses-the-server",
        "A server with a tool schema that refers to itself has no tools.",
        "ROB.tools",
        swap=_losing(lambda facts: "$ref" in json.dumps(facts.tool.schema)),
    ),
)
