"""Two requests to a started target: a discovery call, and a tool call that its upstream counts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from mcp_proxy_conformance.catalogue.surface import FLAG
from mcp_proxy_conformance.catalogue.world import ToolKey
from mcp_proxy_conformance.discovery.answer import Answer, read_answer
from mcp_proxy_conformance.discovery.structured import expect_agreement
from mcp_proxy_conformance.discovery.targets.started import Started
from mcp_proxy_conformance.verdict.comparison import note_exchange
from mcp_proxy_conformance.verdict.exchanges import Named
from mcp_proxy_conformance.verdict.result import Misshapen
from mcp_proxy_conformance.wire.client import Client, Way
from mcp_proxy_conformance.wire.faults import ProtocolFault, Unreachable
from mcp_proxy_conformance.wire.reply import ToolReply
from mcp_proxy_conformance.wire.transcript import last_exchange


class _Absent:
    """Type of ABSENT, the value of an argument that is not sent at all."""

    def __repr__(self) -> str:
        """Return the name of the value."""
        return "ABSENT"


ABSENT: Any = _Absent()
ANSWERED = "answered"
"""Mark of a target that has answered a request without the flag."""


WORDS = {"include_disabled": "flag", "list": "listing of servers", "do": ""}
"""Members of a request that go by another word in a sentence."""


def in_words(request: Mapping[str, Any], **unsaid: Any) -> Named:
    """Return the arguments of a request as a part of a sentence: `query "mobel", flag true`.

    In a finding's place it names the requests with these arguments, and with those `unsaid`.
    """
    parts = []
    for name, value in request.items():
        word = WORDS.get(name, name)
        plain = name in ("agent", "server", "tool", "do")
        text = str(value) if plain else json.dumps(value, ensure_ascii=False, default=str)
        parts.append(word if name == "list" and value is True else f"{word} {text}".strip())
    return Named(", ".join(parts), {**request, **unsaid}.items())


def exchanged(
    started: Started, tool: str, arguments: Mapping[str, Any], asked: Mapping[str, Any], *,
    agent: str | None = None, endpoint: str = "", wire: Way = "auto", apart: bool = False,
) -> ToolReply:  # fmt: skip
    """Call a tool of the target itself; note the exchange for findings, by the members `asked`.

    `apart`: in a session of its own, over HTTP only. Raises Unreachable without an answer,
    ProtocolFault for an invalid one.
    """
    request = members(agent, endpoint, wire, asked)
    request += [("own", name) for name in started.asked_for.get(asked.get("query", ""), ())]
    since = started.transcript.mark()
    client = started.conversation(agent, endpoint, wire)
    own = client.sibling() if apart and isinstance(client, Client) else nullcontext(client)
    try:
        with own as conversation:
            reply = conversation.call_tool(tool, arguments)
    except (ProtocolFault, Unreachable):
        note_exchange(last_exchange(started.transcript.since(since), {"client"}), request)
        raise
    note_exchange(reply.messages, request)
    return reply


def members(
    agent: str | None, endpoint: str, wire: Way, asked: Mapping[str, Any]
) -> list[tuple[str, Any]]:
    """Return the members by which a place names a request: the view's, then those `asked`."""
    every = {"agent": agent or "", "endpoint": endpoint, "wire": wire, **asked}
    return [(name, value) for name, value in every.items() if value is not ABSENT]


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """The result of one tool call through the proxy: its reply, and whether the upstream saw it."""

    key: ToolKey
    reply: ToolReply
    reached: bool

    @property
    def served(self) -> bool:
        """Whether the upstream saw the call and its answer is not an error: it is not locked."""
        return self.reached and self.reply.error is None and not self.reply.is_error

    @property
    def text(self) -> str:
        """All the words of the answer: an error's message, else its text items, one per line.

        As a finding's value they name the exchange.
        """
        if self.reply.error is not None:
            return self.reply.named(str(self.reply.error.get("message", self.reply.error)))
        return self.reply.named("\n".join(self.reply.texts))


def call(
    started: Started,
    key: ToolKey,
    arguments: dict[str, Any] | None = None,
    *,
    surface: int = 0,
    agent: str | None = None,
    wire: Way = "auto",
) -> Called:
    """Call a tool through the proxy once, and observe whether its upstream counted the call.

    `surface` is the number of the declared way to call a tool, from 0. Without arguments those
    are sent that the tool's schema requires. A refusal is returned; raises Unreachable without an
    answer, ProtocolFault for an invalid one.
    """
    template, upstream = started.target.surface.calls[surface], started.servers[key.server]
    known = started.tools.get(key)
    if arguments is None and known is not None:
        arguments = dict.fromkeys(known.input_schema.get("required", ()), "any")
    tool, filled = template.filled(key, arguments or {})
    before = upstream.calls(key.tool)
    asked: dict[str, Any] = {"tool": str(key), "surface": surface, "endpoint": ""}
    reply = exchanged(
        started, tool, filled, asked, agent=agent, endpoint=template.endpoint, wire=wire
    )
    reached = upstream.calls(key.tool) > before
    if agent is None and wire != "stdio" and not surface:
        started.effects.called(key, reached=reached)
    if reached:
        note_exchange(reply.messages, [*asked.items(), ("reached", True)])
    return Called(key=key, reply=reply, reached=reached)


def discover(
    started: Started,
    query: str,
    *,
    include_disabled: Any = ABSENT,
    limit: Any = ABSENT,
    endpoint: str = "",
    agent: str | None = None,
    wire: Way = "auto",
) -> Answer:
    """Make one discovery call and return the answer; an ABSENT argument is not sent.

    Its schema breaches are kept in `started.findings`. Raises Misshapen if it cannot be read
    (with the flag that breaks FR-001.accepts, if an answer without it was read before),
    ProtocolFault if it is not a message of the protocol or too large, Unreachable without one.
    """
    names = started.target.surface
    arguments = {names.query: query}
    if include_disabled is not ABSENT:
        arguments[FLAG] = include_disabled
    if limit is not ABSENT:
        arguments[names.limit] = limit
    asked = {"query": query, "include_disabled": include_disabled, "limit": limit}
    try:
        reply = exchanged(
            started, names.discovery_tool, arguments, asked, agent=agent, endpoint=endpoint,
            wire=wire,
        )  # fmt: skip
        answer = read_answer(
            reply, query, names.members, started.known,
            flag=False if include_disabled is ABSENT else include_disabled, limit=limit,
        )  # fmt: skip
        bound = limit if isinstance(limit, (int, float)) else None
        flagged = include_disabled is True
        expect_agreement(reply, answer.body, names.members, started.known, flagged=flagged,
                         limit=bound)  # fmt: skip
    except (Misshapen, ProtocolFault) as error:
        too_large = isinstance(error, ProtocolFault) and error.kind == "size"
        named = too_large or (isinstance(error, Misshapen) and error.clauses)
        if include_disabled is True and ANSWERED in started.seen and not named:
            raise Misshapen(str(error), "FR-001.accepts") from None
        raise
    started.found(answer.findings, in_words(arguments), reply.messages)
    if include_disabled is not True:
        started.seen.add(ANSWERED)
    return answer
