"""Variants of the transport, of the proxy's built-in tools and of their descriptions."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from mcp_proxy_mutants.discovery.gateway_changes import decide
from mcp_proxy_mutants.discovery.result_changes import ToolResult, beside
from mcp_proxy_mutants.discovery.variant import Fresh, Variant, variant
from mcp_proxy_reference.facts import Agent, Json
from mcp_proxy_reference.gateway import Gateway
from mcp_proxy_reference.policy import FLAG_SCHEMA, MAX_LIMIT, REMEDIATION

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
    """A `reply` decision that repeats the first answer to a request id within its session."""

    def __init__(self) -> None:
        """Begin with no answer."""
        self._answers: dict[tuple[str, str], Json] = {}

    async def __call__(self, _agent: Agent, session: str, message: Json, respond: Respond) -> Json:
        """Return the answer kept for this id in the session, or keep a new one.

        Without a session, nothing is kept.
        """
        if not session:
            return await respond()
        place = session, json.dumps(message["id"])
        if place not in self._answers:
            self._answers[place] = await respond()
        return self._answers[place]


class Envelope:
    """A `reply` decision that reverses the members of every other JSON-RPC envelope."""

    def __init__(self) -> None:
        """Begin with an envelope that is reversed."""
        self._turned = False

    async def __call__(
        self, _agent: Agent, _session: str, _message: Json, respond: Respond
    ) -> Json:
        """Return the answer, reversed every other time."""
        self._turned = not self._turned
        answer = await respond()
        return dict(reversed(answer.items())) if self._turned else answer


async def slower(_agent: Agent, _session: str, _message: Json, respond: Respond) -> Json:
    """Return the usual answer 10 ms later."""
    await asyncio.sleep(SLOWER_S)
    return await respond()


async def structured(_agent: Agent, _session: str, message: Json, respond: Respond) -> Json:
    """Return the reply; a document of a built-in tool is repeated as structured content.

    `isError` is false beside it, and `_meta` has a member.
    """
    answer = await respond()
    result = answer.get("result", {})
    if message["method"] == "tools/call" and _is_document(result):
        document = json.loads(result["content"][0]["text"])
        result |= {"structuredContent": document, "isError": False, "_meta": {"proxy": True}}
    return answer


def in_part(result: ToolResult) -> Json:
    """Return structured content without the locked tools, and `_meta` with words of the feature."""
    names = ("tools", "total", "servers")
    part = {name: result.document[name] for name in names if name in result.document}
    words = {"proxy/statuses": list(REMEDIATION), "disabled": False, "remediation": None}
    return {"structuredContent": part, "_meta": words}


async def note_beside(_agent: Agent, _session: str, message: Json, respond: Respond) -> Json:
    """Return the reply with the note moved from the document to a second text item."""
    answer = await respond()
    result = answer.get("result", {})
    if message["method"] == "tools/call" and _is_document(result):
        document = json.loads(result["content"][0]["text"])
        if note := document.pop("notice", None):
            texts = [json.dumps(document, ensure_ascii=False), note]
            result["content"] = [{"type": "text", "text": text} for text in texts]
    return answer


async def more_tools(_agent: Agent, _session: str, message: Json, respond: Respond) -> Json:
    """Return the reply; tools/list has four further built-in tools."""
    answer = await respond()
    if message["method"] == "tools/list":
        answer["result"]["tools"] = OTHERS[:2] + answer["result"]["tools"] + OTHERS[2:]
    return answer


async def rejected_as_error(_agent: Agent, _session: str, message: Json, respond: Respond) -> Json:
    """Return the reply; an error result of a tool becomes a JSON-RPC error with its text."""
    answer = await respond()
    result = answer.get("result", {})
    if message["method"] != "tools/call" or not result.get("isError"):
        return answer
    error = {"code": -32001, "message": result["content"][0]["text"]}
    return {"jsonrpc": "2.0", "id": message["id"], "error": error}


def described_servers(gateway: Gateway) -> None:
    """List the tools in the agent's scope, described, in a built-in tool's description."""

    async def reply(agent: Agent, _session: str, message: Json, respond: Respond) -> Json:
        answer = await respond()
        if message["method"] == "tools/list":
            known = gateway.known().items()
            texts = [
                f"{facts.tool.key}: {facts.tool.description} {json.dumps(facts.tool.schema)}"
                for server, offered in known
                if gateway.policy.scope(agent, server, "listing")
                for facts in offered
            ]
            answer["result"]["tools"][1]["description"] += " ".join([" For example:", *texts])
        return answer

    decide(gateway, reply=reply)


def _is_document(result: Mapping[str, Any]) -> bool:
    """Whether the result is no error and its text is a JSON object."""
    content = result.get("content") or [{}]
    return not result.get("isError") and str(content[0].get("text", "")).startswith("{")


VARIANTS: tuple[Variant, ...] = (
    variant("sse", "Answers are sent as event streams.", "byte-identity", answers="sse"),
    variant("slower", "Every answer takes 10 ms more.", reply=slower),
    variant("sessions-off", "There are no sessions.", sessions=False),
    variant(
        "reply-cache",
        "A request id that is repeated in a session gets the same answer again.",
        reply=Fresh(Cache),
    ),
    variant(
        "envelopes-turned",
        "Every other JSON-RPC message has its members in another order.",
        "byte-identity",
        reply=Fresh(Envelope),
    ),
    variant(
        "structured",
        "Answers have structured content besides the text.",
        "structured-content",
        reply=structured,
    ),
    variant(
        "note-beside-the-document",
        "The note is a text item of its own, after the document.",
        "note-place",
        note_member="content[]",
        reply=note_beside,
    ),
    variant(
        "structured-in-part",
        "Structured content has the callable tools only, and `_meta` words of the feature.",
        "structured-content",
        "other-use-of-words",
        swap=beside(in_part),
    ),
    variant(
        "more-tools",
        "There are further built-in tools, some of which mention words of the feature.",
        reply=more_tools,
    ),
    variant(
        "servers-in-tools-list",
        "tools/list shows the descriptions of the servers' tools.",
        "canary-elsewhere",
        "FR-003.canary~tools-list",
        swap=described_servers,
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
        "The schema declares only the flag's type, in a union with null.",
        flag_schema={"type": ["boolean", "null"]},
    ),
    variant(
        "flag-in-open-schema",
        "The schema accepts any value as the flag.",
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
        "The flag is described without a full stop, and differently at each endpoint.",
        "one-sentence",
        description=lambda endpoint: (
            f"At {endpoint}: up to {MAX_LIMIT} tools; locked ones too, given include_disabled=true"
        ),
    ),
)
