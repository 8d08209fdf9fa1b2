"""Another transport, other built-in tools, other descriptions: what answers travel in."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from mcp_proxy_mutants.proxy.swapping import decide
from mcp_proxy_mutants.proxy.variant import Fresh, Variant, variant
from mcp_proxy_reference.facts import Agent, Json
from mcp_proxy_reference.gateway import Gateway
from mcp_proxy_reference.policy import FLAG_SCHEMA, MAX_LIMIT

Respond = Callable[[], Awaitable[Json]]
SLOWER_S = 0.01
SENTENCES = (
    "Some tools are locked. Set include_disabled to true to see them as well. "
    "With include_disabled, each comes with its status. The default of include_disabled is false."
)
OTHERS: list[Json] = [
    {
        "name": name,
        "description": text,
        "inputSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
    }
    for name, text in (
        ("read_cache", "Read a page of a long answer again."),
        ("quarantine_security", "Tell which servers are disabled or in quarantine, and why."),
        ("list_registries", "List places where servers can be found."),
        ("call_tool", "Call a tool. Deprecated, use call_tool_read."),
    )
]


class Cache:
    """Answers a request whose id was seen before in its session as it was answered then."""

    def __init__(self) -> None:
        self._told: dict[tuple[str, str], Json] = {}

    async def __call__(self, _agent: Agent, session: str, message: Json, respond: Respond) -> Json:
        """The answer that was given, if one was."""
        if not session:
            return await respond()
        place = session, json.dumps(message["id"])
        if place not in self._told:
            self._told[place] = await respond()
        return self._told[place]


class Envelope:
    """Envelopes with their members in another order each time."""

    def __init__(self) -> None:
        self._turned = False

    async def __call__(
        self, _agent: Agent, _session: str, _message: Json, respond: Respond
    ) -> Json:
        """The answer, turned around every other time."""
        self._turned = not self._turned
        told = await respond()
        return dict(reversed(told.items())) if self._turned else told


async def slower(_agent: Agent, _session: str, _message: Json, respond: Respond) -> Json:
    """The answer, a moment later."""
    await asyncio.sleep(SLOWER_S)
    return await respond()


async def structured(_agent: Agent, _session: str, message: Json, respond: Respond) -> Json:
    """Built-in tools answer with structured content beside the text, and say that all is well."""
    told = await respond()
    result = told.get("result", {})
    if message["method"] == "tools/call" and _is_document(result):
        document = json.loads(result["content"][0]["text"])
        result |= {"structuredContent": document, "isError": False, "_meta": {"proxy": True}}
    return told


async def more_tools(_agent: Agent, _session: str, message: Json, respond: Respond) -> Json:
    """There are further built-in tools."""
    told = await respond()
    if message["method"] == "tools/list":
        told["result"]["tools"] = OTHERS[:2] + told["result"]["tools"] + OTHERS[2:]
    return told


async def rejected_as_error(_agent: Agent, _session: str, message: Json, respond: Respond) -> Json:
    """What a tool reports as an error travels as a JSON-RPC error."""
    told = await respond()
    result = told.get("result", {})
    if message["method"] != "tools/call" or not result.get("isError"):
        return told
    error = {"code": -32001, "message": result["content"][0]["text"]}
    return {"jsonrpc": "2.0", "id": message["id"], "error": error}


def tell_of_servers(gateway: Gateway) -> None:
    """The tool that calls others tells of those in the agent's scope, in their servers' words."""

    async def told_of(agent: Agent, _session: str, message: Json, respond: Respond) -> Json:
        told = await respond()
        if message["method"] == "tools/list":
            known = gateway.known().items()
            texts = [
                f"{facts.tool.key}: {facts.tool.description} {json.dumps(facts.tool.schema)}"
                for server, offered in known
                if gateway.policy.scope(agent, server, "listing")
                for facts in offered
            ]
            told["result"]["tools"][1]["description"] += " ".join([" For example:", *texts])
        return told

    decide(gateway, reply=told_of)


def _is_document(result: Mapping[str, Any]) -> bool:
    content = result.get("content") or [{}]
    return not result.get("isError") and str(content[0].get("text", "")).startswith("{")


VARIANTS: tuple[Variant, ...] = (
    variant("sse", "Answers are streams of events.", "byte-identity", answers="sse"),
    variant("slower", "Every answer takes 10 ms more.", reply=slower),
    variant("sessions-off", "There are no sessions.", sessions=False),
    variant(
        "reply-cache",
        "A request is answered once; its id asked again in its session gets the same answer.",
        reply=Fresh(Cache),
    ),
    variant(
        "envelopes-turned",
        "The members of an envelope stand in another order every other time.",
        "byte-identity",
        reply=Fresh(Envelope),
    ),
    variant("structured", "Structured content stands beside the text.", reply=structured),
    variant(
        "more-tools",
        "There are further built-in tools, some with words of the feature.",
        reply=more_tools,
    ),
    variant(
        "servers-in-tools-list",
        "tools/list shows what servers say of their tools.",
        "canary-elsewhere",
        "FR-003.canary~tools-list",
        swap=tell_of_servers,
    ),
    variant(
        "rejected-as-error",
        "A rejection is a JSON-RPC error.",
        "rejection-is-error",
        reply=rejected_as_error,
    ),
    variant(
        "flag-not-in-schema",
        "The schema does not mention the flag.",
        "flag-in-schema",
        "FR-001.declared~property",
        flag_schema=None,
    ),
    variant(
        "flag-in-short-schema",
        "The schema knows the flag's type alone, in a union with null.",
        flag_schema={"type": ["boolean", "null"]},
    ),
    variant(
        "flag-in-open-schema",
        "The schema lets anything be the flag.",
        flag_schema={key: value for key, value in FLAG_SCHEMA.items() if key == "description"},
    ),
    variant(
        "described-at-length",
        "Several sentences of the description are about the flag.",
        "one-sentence",
        "FR-014.described~one-sentence",
        description=lambda _: SENTENCES,
    ),
    variant(
        "described-in-passing",
        "The flag is described without a full stop, in other words at each endpoint.",
        "one-sentence",
        description=lambda endpoint: (
            f"At {endpoint}: up to {MAX_LIMIT} tools; locked ones too, given include_disabled=true"
        ),
    ),
)
