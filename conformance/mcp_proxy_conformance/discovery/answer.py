"""Discovery answers and server listings as values, with the raw bytes beside them."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from mcp_proxy_conformance.catalogue.bounded import nests_deeper
from mcp_proxy_conformance.catalogue.surface import Members
from mcp_proxy_conformance.catalogue.world import ToolKey
from mcp_proxy_conformance.targets.known import Known
from mcp_proxy_conformance.verdict.result import DeclarationFault, Inconclusive, Misshapen
from mcp_proxy_conformance.wire.faults import ProtocolFault
from mcp_proxy_conformance.wire.reply import ToolReply

SHOWN = 200
LONGEST_NAME = 10_000
DEEPEST = 200
"""Levels of an answer that are read; its schemas may be the deepest part of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One entry of `tools` or `disabled`: its canonical key, and its members as told."""

    key: ToolKey
    name: str
    members: Mapping[str, Any]

    @property
    def description(self) -> str | None:
        """The description told, None when the member is absent."""
        told = self.members.get("description")
        return told if told is None or isinstance(told, str) else json.dumps(told)

    @property
    def status(self) -> str:
        """The status told; whatever is no string, as JSON, so that it equals no status word."""
        told = self.members.get("status")
        return told if isinstance(told, str) else json.dumps(told)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One discovery answer (FR-001..FR-009), its words normalised through the surface names.

    `error` is the target's text when it answered with an error; then the rest is empty.
    """

    reply: ToolReply
    query: str
    error: str | None = None
    tools: tuple[Entry, ...] = ()
    disabled: tuple[Entry, ...] = ()
    remediation: Mapping[str, Any] | None = None
    note: str | None = None
    body: Mapping[str, Any]
    has_disabled: bool = False

    def callables(self) -> tuple[ToolKey, ...]:
        """The callable tools, in the order told."""
        return tuple(entry.key for entry in self.tools)

    def statuses(self) -> dict[ToolKey, Any]:
        """The status of each locked entry."""
        return {entry.key: entry.status for entry in self.disabled}

    def status(self, key: ToolKey) -> str:
        """Where the answer puts a tool: its status word, else `callable` or `absent`.

        That it stands among the callable ones too is another matter (FR-004.once).
        """
        usual = "callable" if key in self.callables() else "absent"
        return str(self.statuses().get(key, usual))

    def text_without_echo(self) -> str:
        """Everything told, as text, less the request's own query wherever it stands alone."""
        told = self.reply.result.decode("utf-8", "replace") + "\n" + self.reply.text
        if not self.query:
            return told
        kept, done, at = list[str](), 0, told.find(self.query)
        while at >= 0:  # a regular expression would look at each character of a long answer
            end = at + len(self.query)
            if _is_of_word(told[at - 1 : at]) or _is_of_word(told[end : end + 1]):
                at = told.find(self.query, at + 1)
                continue
            kept.append(told[done:at])
            done, at = end, told.find(self.query, end)
        return "".join([*kept, told[done:]])


def _is_of_word(letter: str) -> bool:
    return letter == "_" or (letter.isascii() and letter.isalnum())


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerEntry:
    """One server of the listing; `counts` is None when the member is absent."""

    name: str
    members: Mapping[str, Any]
    has_counts: bool
    counts: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The server listing (FR-010) by server name."""

    reply: ToolReply
    servers: Mapping[str, ServerEntry]

    def server(self, name: str) -> ServerEntry:
        """A server's entry; Inconclusive when the listing leaves it out."""
        if name not in self.servers:
            raise Inconclusive(f"the listing does not show the server {name}", cause="not_listed")
        return self.servers[name]

    def counts(self, server: str) -> Any:
        """The counts block of a listed server, None when absent."""
        entry = self.servers.get(server)
        return entry.counts if entry else None


def read_answer(reply: ToolReply, query: str, members: Members, known: Known) -> Answer:
    """The answer in normal form; raises Misshapen when it has not the shape that was named."""
    body = _body(reply)
    if body is None:
        return Answer(reply=reply, query=query, error=_error_text(reply), body={})
    note = body.get(members.note)
    if note is not None and not isinstance(note, str):
        raise Misshapen(
            f"member {members.note!r} is {note!r:.{SHOWN}}; a note is one string", "FR-009.one-line"
        )
    remediation = body.get(members.remediation)
    if remediation is not None and not isinstance(remediation, dict):
        raise Misshapen(
            f"member {members.remediation!r} is no object: {remediation!r:.{SHOWN}}", "FR-005.keys"
        )
    return Answer(
        reply=reply,
        query=query,
        tools=_entries(body, members.tools, known),
        disabled=_entries(body, members.disabled, known, "FR-003.members"),
        remediation=remediation,
        note=note,
        body=body,
        has_disabled=members.disabled in body,
    )


def read_listing(reply: ToolReply, members: Members) -> Listing:
    """The listing in normal form; raises Misshapen."""
    body = read_body(reply)
    told = body.get(members.servers)
    if not isinstance(told, list):
        raise Misshapen(f"the server listing has no list {members.servers!r}: {body!r:.{SHOWN}}")
    entries = [server_entry(one, members) for one in told]
    return Listing(reply=reply, servers={entry.name: entry for entry in entries})


def read_inspected(reply: ToolReply, members: Members) -> ServerEntry:
    """The view of one server, told by itself or as a list of one; raises Misshapen."""
    body = read_body(reply)
    told = body.get(members.inspected)
    if isinstance(told, list) and len(told) == 1:
        told = told[0]
    if told is None or isinstance(told, list):
        raise Misshapen(f"inspecting a server tells no {members.inspected!r}: {body!r:.{SHOWN}}")
    return server_entry(told, members)


def read_body(reply: ToolReply) -> dict[str, Any]:
    """The JSON object that a built-in tool answered; raises Misshapen for an error too."""
    body = _body(reply)
    if body is None:
        raise Misshapen(f"a built-in tool answered an error: {_error_text(reply):.{SHOWN}}")
    return body


def server_entry(told: Any, members: Members) -> ServerEntry:
    """One server as listed or inspected; raises Misshapen."""
    if not isinstance(told, dict) or not isinstance(told.get(members.server_name), str):
        raise Misshapen(f"a listed server has no name: {told!r:.{SHOWN}}")
    _expect_short(told[members.server_name])
    return ServerEntry(
        name=told[members.server_name],
        members=told,
        has_counts=members.counts in told,
        counts=told.get(members.counts),
    )


def _entries(
    body: Mapping[str, Any], member: str, known: Known, *clauses: str
) -> tuple[Entry, ...]:
    told = body.get(member)
    if told is None:
        return ()
    if not isinstance(told, list):
        raise Misshapen(f"member {member!r} is no list: {told!r:.{SHOWN}}", *clauses)
    found = []
    for one in told:
        if not isinstance(one, dict) or not isinstance(one.get("name"), str):
            raise Misshapen(f"an entry of {member!r} has no name: {one!r:.{SHOWN}}", *clauses)
        server = one.get("server")
        name = one["name"]
        key = known.key(server if isinstance(server, str) else "", name)
        _expect_short(key.server, key.tool)
        found.append(Entry(key=key, name=name, members=one))
    return tuple(found)


def _expect_short(*names: str) -> None:
    """Raise ProtocolFault for names that are too long to be looked for in texts."""
    for name in names:
        if len(name) > LONGEST_NAME:
            most = f"names of at most {LONGEST_NAME} characters"
            raise ProtocolFault("size", most, f"one of {len(name)}", name[:SHOWN].encode())


def _body(reply: ToolReply) -> dict[str, Any] | None:
    """The JSON document of an answer; None when the answer is an error."""
    if reply.error is not None or reply.is_error:
        return None
    text = reply.text
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        raise Misshapen(f"the text item is no JSON document: {text:.{SHOWN}}") from None
    if not isinstance(body, dict):
        raise Misshapen(f"the text item is no JSON object: {text:.{SHOWN}}")
    if text.count("{") + text.count("[") > DEEPEST and nests_deeper(body, DEEPEST):
        told = f"the text item nests deeper than {DEEPEST} levels"
        raise Misshapen(f"{told}: {text:.{SHOWN}}")
    return body


def _error_text(reply: ToolReply) -> str:
    if reply.error is not None:
        return json.dumps(reply.error)
    return "\n".join(reply.texts)


CAPABILITY = {
    "disabled_by_config": "config",
    "disabled_by_user": "user",
    "pending_approval": "approval",
    "server_disabled": "server_off",
    "server_quarantined": "quarantine",
}
"""What a target that tells this status can do; no answer of it goes with an unlaid lock."""


def expect_declared(answer: Answer, capabilities: Collection[str]) -> None:
    """No locked entry has the status of a lock that the target does not declare.

    Raises:
        DeclarationFault: One has; the declaration is wrong, or else the target.
    """
    for entry in answer.disabled:
        word = CAPABILITY.get(entry.status)
        if word is not None and word not in capabilities:
            raise DeclarationFault(
                f"{entry.key} is told as {entry.status}, though {word} is not declared; declare"
                f" {word} if the target has it, so that it is checked"
            )
