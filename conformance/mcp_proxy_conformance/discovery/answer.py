"""Discovery answers, server listings and views of one server as values, read from raw replies."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from mcp_proxy_conformance.catalogue.bounded import nests_deeper
from mcp_proxy_conformance.catalogue.surface import Members
from mcp_proxy_conformance.catalogue.world import ToolKey
from mcp_proxy_conformance.discovery.answer_schemas import (
    exchange_findings,
    inspection_findings,
    listing_findings,
)
from mcp_proxy_conformance.discovery.repeats import expect_single, loads
from mcp_proxy_conformance.discovery.structured import expect_same_counts
from mcp_proxy_conformance.discovery.targets.known_tools import Known
from mcp_proxy_conformance.verdict.comparison import same
from mcp_proxy_conformance.verdict.result import (
    DeclarationFault,
    Finding,
    Inconclusive,
    Misshapen,
)
from mcp_proxy_conformance.wire.faults import ProtocolFault
from mcp_proxy_conformance.wire.jsonrpc import kind_of, quoted
from mcp_proxy_conformance.wire.reply import ToolReply

SHOWN = 200
LONGEST_NAME = 10_000
BESIDE = "content[]"
"""Name under which a body has the text items beside the document, as if they were a member."""
DEEPEST = 200
"""Maximum nesting depth of an answer; its schemas may be the deepest part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One tool that an answer lists, in `tools` or in `disabled`.

    `key` is its server and own name, `name` the name as sent, in whatever form; `members` are all
    of the entry as sent.
    """

    key: ToolKey
    name: str
    members: Mapping[str, Any]

    @property
    def description(self) -> str | None:
        """The description as sent, None when absent; a non-string is given as JSON."""
        text = self.members.get("description")
        return text if text is None or isinstance(text, str) else json.dumps(text)

    @property
    def status(self) -> str:
        """The status as sent; a non-string is given as JSON, an absent one as `null`."""
        status = self.members.get("status")
        return status if isinstance(status, str) else json.dumps(status)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One discovery answer (FR-001..FR-009), read under the member names declared for the target.

    `error` is the target's text when it answered with an error; then the rest is empty. `body` is
    the whole JSON document. `findings` are the breaches of its schema.
    """

    reply: ToolReply
    query: str
    error: str | None = None
    tools: tuple[Entry, ...] = ()
    disabled: tuple[Entry, ...] = ()
    remediation: Mapping[str, Any] | None = None
    note: str | None = None
    body: Mapping[str, Any]
    findings: tuple[Finding, ...] = ()

    def callables(self) -> tuple[ToolKey, ...]:
        """Return the callable tools in the order of the answer."""
        return tuple(entry.key for entry in self.tools)

    def statuses(self) -> dict[ToolKey, Any]:
        """Return the status of each locked entry, by tool; of several of one tool the last."""
        return {entry.key: self.reply.named(entry.status) for entry in self.disabled}

    def status(self, key: ToolKey) -> str:
        """Return the tool's status word in the answer, else `callable` or `absent`.

        A tool listed as locked and as callable has its status here. The word names the exchange.
        """
        usual = "callable" if key in self.callables() else "absent"
        return self.reply.named(str(self.statuses().get(key, usual)))

    def listed_twice(self) -> list[str]:
        """Return the tools that are listed more than once, as locked, as callable, or as both.

        Only entries that name their server are compared.
        """
        entries = [*self.disabled, *self.tools]
        listed = Counter(e.key for e in entries if isinstance(e.members.get("server"), str))
        return sorted(str(key) for key, times in listed.items() if times > 1)

    def text_without_echo(self) -> str:
        """Return the whole result as text, in which leaks of names can be searched.

        The request's query is removed where it is a whole word, as an answer may repeat it.
        Text items, structured content and `_meta` are there as sent and with escapes
        resolved.
        """
        raw = self.reply.result.decode("utf-8", "replace")
        text = f"{raw}\n{self.reply.text}"
        if "\\u" in raw:
            text += "\n" + json.dumps(self.reply.value(), ensure_ascii=False)
        if not self.query:
            return text
        kept, done, at = list[str](), 0, text.find(self.query)
        while at >= 0:  # a regular expression would look at each character of a long answer
            end = at + len(self.query)
            if _is_of_word(text[at - 1 : at]) or _is_of_word(text[end : end + 1]):
                at = text.find(self.query, at + 1)
                continue
            kept.append(text[done:at])
            done, at = end, text.find(self.query, end)
        return "".join([*kept, text[done:]])


def _is_of_word(letter: str) -> bool:
    """Whether this is an ASCII letter, a digit or an underscore; false for an empty string."""
    return letter == "_" or (letter.isascii() and letter.isalnum())


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerEntry:
    """One server of the listing; `counts` is None when the member is absent.

    `findings` are the breaches of the schema, and `reply` the answer, where it was read as the view
    of a single server.
    """

    name: str
    members: Mapping[str, Any]
    has_counts: bool
    counts: Any = None
    findings: tuple[Finding, ...] = ()
    reply: ToolReply | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The server listing (FR-010) by server name, and the breaches of its schema."""

    reply: ToolReply
    servers: Mapping[str, ServerEntry]
    findings: tuple[Finding, ...] = ()

    def server(self, name: str) -> ServerEntry:
        """Return a server's entry; raises Inconclusive when the listing leaves it out."""
        if name not in self.servers:
            raise Inconclusive(f"the listing does not show the server {name}", cause="not_listed")
        return self.servers[name]

    def counts(self, server: str) -> Any:
        """Return the counts block of a server, None when it or the server is absent."""
        entry = self.servers.get(server)
        return entry.counts if entry else None


def read_answer(
    reply: ToolReply, query: str, members: Members, known: Known, *,
    flag: Any = False, limit: Any = None,
) -> Answer:  # fmt: skip
    """Read a reply of the discovery tool to this query; its schema breaches are in `findings`.

    Raises Misshapen if it lacks the declared shape or repeats a member of it, ProtocolFault for
    a malformed result or a too long name. An error becomes an answer with `error`. `members` are
    the target's own names of members, `known` finds the tool that a name means; `flag` and `limit`
    are those that were sent.
    """
    body = _body(reply)
    if body is None:
        return Answer(reply=reply, query=query, error=_error_text(reply), body={})
    expect_single(reply.text, body, members)
    note = body.get(members.note)
    if note is not None and not isinstance(note, str):
        raise Misshapen(
            f'the member "{members.note}" is {kind_of(note)}, not a string', "FR-009.one-line"
        )
    remediation = body.get(members.remediation)
    if remediation is not None and not isinstance(remediation, dict):
        raise Misshapen(
            f'the member "{members.remediation}" is {kind_of(remediation)}, not an object',
            "FR-005.keys",
        )
    return Answer(
        reply=reply,
        query=query,
        tools=_entries(body, members.tools, known),
        disabled=_entries(body, members.disabled, known, "FR-003.members"),
        remediation=remediation,
        note=None if note is None else reply.named(note),
        body=body,
        findings=exchange_findings(body, members, flag=flag, limit=limit),
    )


def read_listing(reply: ToolReply, members: Members, single: Collection[str] = ()) -> Listing:
    """Read a reply of the listing tool; its schema breaches are in `findings`.

    `members` are the target's own names of members. Of servers with equal names the last counts;
    those in `single` are known to be one server each.
    Raises Misshapen for an error, repeated members, other counts in structured content or in
    another entry of a `single` server, or no list of servers; ProtocolFault for a malformed result
    or a too long name.
    """
    body = read_body(reply)
    expect_single(reply.text, body, members)
    expect_same_counts(reply, body, members)
    listed = body.get(members.servers)
    if not isinstance(listed, list):
        raise Misshapen(f'the server listing has no list "{members.servers}": {as_json(body)}')
    entries = [server_entry(server, members) for server in listed]
    _expect_equal_counts([entry for entry in entries if entry.name in single])
    return Listing(
        reply=reply,
        servers={entry.name: entry for entry in entries},
        findings=listing_findings(listed, members),
    )


def read_inspected(reply: ToolReply, members: Members) -> ServerEntry:
    """Read a reply with the view of one server, sent alone or as a list of one.

    Its schema breaches are in `findings`; `members` are the target's own names of members. Raises
    Misshapen for an error, repeated members, other counts in structured content or no server.
    """
    body = read_body(reply)
    expect_single(reply.text, body, members)
    expect_same_counts(reply, body, members)
    inspected = body.get(members.inspected)
    if isinstance(inspected, list) and len(inspected) == 1:
        inspected = inspected[0]
    if inspected is None or isinstance(inspected, list):
        raise Misshapen(f'the view of one server has no "{members.inspected}": {as_json(body)}')
    entry = server_entry(inspected, members)
    return replace(entry, findings=inspection_findings(inspected, members), reply=reply)


def read_body(reply: ToolReply) -> dict[str, Any]:
    """Return the JSON object that a built-in tool answered; raise Misshapen for anything else.

    An error is Misshapen too.
    """
    body = _body(reply)
    if body is None:
        raise Misshapen(f"a built-in tool answered with an error: {_error_text(reply):.{SHOWN}}")
    return body


def server_entry(entry: Any, members: Members) -> ServerEntry:
    """Read one server's entry in a listing or a view; `members` are the target's names of members.

    Raises Misshapen if it has no name, ProtocolFault if that is too long.
    """
    if not isinstance(entry, dict) or not isinstance(entry.get(members.server_name), str):
        raise Misshapen(f"a listed server has no name: {as_json(entry)}")
    _expect_short(entry[members.server_name])
    return ServerEntry(
        name=entry[members.server_name],
        members=entry,
        has_counts=members.counts in entry,
        counts=entry.get(members.counts),
    )


def _expect_equal_counts(entries: Iterable[ServerEntry]) -> None:
    """Raise Misshapen if two entries of one server have unlike counts, or only one has any."""
    first: dict[str, ServerEntry] = {}
    for entry in entries:
        other = first.setdefault(entry.name, entry)
        if entry.has_counts != other.has_counts or not same(entry.counts, other.counts):
            raise Misshapen(
                f"the listing shows {entry.name} twice, with unlike counts", "FR-010.block"
            )


def _entries(
    body: Mapping[str, Any], member: str, known: Known, *clauses: str
) -> tuple[Entry, ...]:
    """Read the tools under this member of an answer; none if it is absent or null.

    `known` finds the tool that a name means. Raises Misshapen, which names `clauses`, for anything
    but a list of objects with a name; ProtocolFault for a too long name.
    """
    listed = body.get(member)
    if listed is None:
        return ()
    if not isinstance(listed, list):
        raise Misshapen(f'the member "{member}" is {kind_of(listed)}, not an array', *clauses)
    entries = []
    for number, item in enumerate(listed, 1):
        if not isinstance(item, dict) or not isinstance(item.get("name"), str):
            raise Misshapen(
                f'entry {number} of "{member}" has no string "name", a fixed name: {as_json(item)}',
                *clauses,
            )
        server = item.get("server")
        name = item["name"]
        key = known.key(server if isinstance(server, str) else "", name)
        _expect_short(key.server, key.tool)
        entries.append(Entry(key=key, name=name, members=item))
    return tuple(entries)


def as_json(value: Any) -> str:
    """Return the first 200 characters of a value's JSON, for a message."""
    return quoted(value)[:SHOWN]


def _expect_short(*names: str) -> None:
    """Raise ProtocolFault for a name of over 10,000 characters; texts are searched for names."""
    for name in names:
        if len(name) > LONGEST_NAME:
            most = f"names of at most {LONGEST_NAME} characters"
            raise ProtocolFault(
                "size", most, f"one of {len(name)} characters", name[:SHOWN].encode()
            )


STRUCTURED_ALONE = (
    "the document stands in structuredContent alone, and the suite reads the text item, where MCP"
    " asks servers to repeat it"
)


def _body(reply: ToolReply) -> dict[str, Any] | None:
    """Return the JSON object that is an answer's text; None for an error reply.

    Further text items are its member BESIDE. Raises Misshapen if the text is not a JSON object,
    or nests more than 200 levels deep; ProtocolFault if not just one text item can be it.
    """
    if reply.error is not None or reply.is_error:
        return None
    text = reply.text
    try:
        body = loads(text)
    except (ValueError, RecursionError):
        apart = f"; {STRUCTURED_ALONE}" if isinstance(reply.structured, dict) else ""
        reason = f"the text item is not a JSON document: {quoted(text[:SHOWN])}{apart}"
        raise Misshapen(reason) from None
    if not isinstance(body, dict):
        raise Misshapen(f"the text item is {kind_of(body)}, not an object")
    if text.count("{") + text.count("[") > DEEPEST and nests_deeper(body, DEEPEST):
        reason = f"the text item is nested more than {DEEPEST} levels deep"
        raise Misshapen(reason)
    beside = reply.beside
    return body | {BESIDE: "\n".join(beside)} if beside else body


def _error_text(reply: ToolReply) -> str:
    """Return an error reply's text: its JSON-RPC error as JSON, else its text items, one a line."""
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
"""The capability that each status implies: a target that reports it must declare the lock."""


def expect_declared(answer: Answer, capabilities: Collection[str]) -> None:
    """Raise DeclarationFault if a locked entry has the status of a lock that is not declared.

    Either the declaration or the target is wrong then.
    """
    for entry in answer.disabled:
        word = CAPABILITY.get(entry.status)
        if word is not None and word not in capabilities:
            raise DeclarationFault(
                f"{entry.key} has the status {entry.status}, but {word} is not declared; add {word}"
                " to the declared capabilities, or correct the status in the target"
            )
