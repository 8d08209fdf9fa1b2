"""Comparison of an answer's structured content with its text, which it must not contradict."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from mcp_proxy_conformance.catalogue.surface import Members
from mcp_proxy_conformance.discovery.oracle import cap
from mcp_proxy_conformance.discovery.targets.known_tools import Known
from mcp_proxy_conformance.verdict.comparison import same
from mcp_proxy_conformance.verdict.result import Misshapen
from mcp_proxy_conformance.wire.reply import ToolReply

Json = Mapping[str, Any]


def expect_agreement(
    reply: ToolReply, body: Json, names: Members, known: Known, *, flagged: bool,
    limit: float | None,
) -> None:  # fmt: skip
    """Raise Misshapen if an answer's structured content contradicts its text.

    So too if both together list more locked tools than the limit, or ten. `names` are the
    target's own names of members, `body` is the JSON of the text, `flagged` whether the flag was
    true, `known` finds the tool that a name means; what the content leaves out is not a
    contradiction.
    """
    content = _content(reply)
    for said, clause in _of_answer(content, body, names, flagged=flagged) if content else ():
        raise Misshapen(f"the structured content {said}", clause)
    sections = [_entries(part.get(names.disabled)) for part in (content, body)]
    tools = {
        known.key(str(entry.get("server", "")), str(entry.get("name", "")))
        for section in sections
        for entry in section
    }
    if sections[0] and max(len(tools), len(sections[0])) > cap(limit):
        raise Misshapen(f"text and structured content list {len(tools)} locked tools", "FR-006.cap")


def expect_same_counts(reply: ToolReply, body: Json, names: Members) -> None:
    """Raise Misshapen if structured content gives a server other counts than the text does.

    `body` is the JSON of the text, `names` are the target's names of members; servers that the text
    does not list are left out.
    """
    content = _content(reply)
    counted = dict(_counts(body, names))
    for server, block in _counts(content, names):
        if server in counted and not same(block, counted[server]):
            clause = "SC-005.absent" if counted[server] is ... else "FR-010.block"
            raise Misshapen(f"the structured content gives {server} other counts", clause)


def counts_in_content(reply: ToolReply, names: Members, servers: Collection[str]) -> dict[str, Any]:
    """Return the counts, not empty, that structured content gives these servers, by server."""
    counted = _counts(_content(reply), names)
    return {
        name: block for name, block in counted if name in servers and block and block is not ...
    }


def _content(reply: ToolReply) -> Json:
    """Return the structured content of a reply, {} for an error or if it is not an object."""
    content = None if reply.error is not None else reply.structured
    return content if isinstance(content, dict) else {}


def _of_answer(
    content: Json, body: Json, names: Members, *, flagged: bool
) -> Iterator[tuple[str, str]]:
    """Yield (what the content does, the clause that this breaks) for each contradiction.

    Compared are sections without the flag, the note, locked entries, the map, and locked tools
    that are listed as callable.
    """
    section, remedies = content.get(names.disabled), content.get(names.remediation)
    if not flagged:
        for name in (names.disabled, names.remediation):
            if name in content and name not in body:
                yield f'has the member "{name}" without the flag', "FR-002.no-section"
    if content.get(names.note) is not None and not same(content[names.note], body.get(names.note)):
        silent = body.get(names.note) is None and bool(body.get(names.tools))
        yield "has another note", "FR-009.silent" if silent else "FR-009.one-line"
    entries = _entries(section)
    if section is not None and not same(section, body.get(names.disabled)):
        yield from _of_section(entries, _entries(body.get(names.disabled)))
    if isinstance(remedies, dict) and not same(remedies, body.get(names.remediation)):
        yield from _of_map(remedies, body.get(names.remediation) or {})
    listed = {_key(entry) for entry in _entries(content.get(names.tools))}
    if listed & {_key(entry) for entry in _entries(body.get(names.disabled))}:
        yield "lists a locked tool as callable", "FR-004.once"


def _of_section(entries: list[Json], listed: list[Json]) -> Iterator[tuple[str, str]]:
    """Yield (what the content's locked entries do otherwise than the text's, the clause).

    These are statuses, descriptions and schemas; entries that the text lacks are left out.
    """
    own = {_key(entry): entry for entry in listed}
    for entry in entries:
        other = own.get(_key(entry))
        if other is None:
            continue
        if "status" in entry and not same(entry["status"], other.get("status")):
            yield f"gives {_key(entry)} another status", "FR-003.members"
        if any("schema" in name.lower() for name in entry.keys() - other.keys()):
            yield f"has a schema of {_key(entry)}", "FR-003.members"
        text = entry.get("description")
        if text and not same(text, other.get("description")):
            withheld = not other.get("description")
            clause = "FR-003.withheld" if withheld else "FR-003.description"
            yield f"describes {_key(entry)} otherwise", clause


def _of_map(remedies: Json, listed: Json) -> Iterator[tuple[str, str]]:
    """Yield (what the content's remediation map does otherwise than the text's, the clause).

    These are further keys, and other texts.
    """
    if more := sorted(remedies.keys() - listed.keys()):
        yield f"explains {', '.join(more)}, which the text does not", "FR-005.keys"
    if any(not same(remedies[word], listed[word]) for word in remedies.keys() & listed.keys()):
        yield "has another map", "FR-005.once"


def _entries(section: Any) -> list[Json]:
    """Return the objects in a list of entries; none if it is not a list."""
    listed = section if isinstance(section, list) else ()
    return [entry for entry in listed if isinstance(entry, dict)]


def _key(entry: Json) -> str:
    """Return "SERVER NAME" of an entry."""
    return f"{entry.get('server', '')} {entry.get('name', '')}"


def _counts(body: Json, names: Members) -> Iterator[tuple[str, Any]]:
    """Yield (server, its counts) of a listing or a view of one; `...` if it has no counts."""
    listed = body.get(names.servers, body.get(names.inspected))
    for entry in _entries(listed if isinstance(listed, list) else [listed]):
        yield str(entry.get(names.server_name)), entry.get(names.counts, ...)
