"""Clauses broken by repeated members of an answer or listing, and by its structured content."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

import pytest

from mcp_proxy_conformance.catalogue.surface import Members
from mcp_proxy_conformance.discovery.answer import read_answer, read_listing
from mcp_proxy_conformance.discovery.structured import expect_agreement
from mcp_proxy_conformance.discovery.targets.known_tools import Known
from mcp_proxy_conformance.verdict.result import Misshapen
from mcp_proxy_conformance.wire import Reply, ToolReply, jsonrpc
from mcp_proxy_conformance.wire.transcript import Message

NAMES = Members()
ENTRY = '{"name":"drop","server":"forge","status":"disabled_by_user"}'


def reply(text: str, **beside: Any) -> ToolReply:
    """Return a reply to request 1 whose result has one text item, and other members beside it."""
    result = json.dumps({"content": [{"type": "text", "text": text}], **beside}).encode()
    message = Message(
        id=1, edge="client", direction="sent", at=0.0, peer="p", body=b"", note="", headers=()
    )
    return ToolReply.of(
        Reply(envelope=jsonrpc.parse(b'{"jsonrpc":"2.0","id":1,"result":%b}' % result), status=200,
              headers=(), seconds=0.0, sent=message, received=message)
    )  # fmt: skip


def clauses(
    text: str, *, listing: bool = False, single: Collection[str] = (), flagged: bool = True,
    **beside: Any,
) -> set[str]:  # fmt: skip
    """Return the clauses that reading an answer, or a listing, of this text finds broken.

    The answer is to `drop` with limit 2; `beside` are members beside the text. For a listing the
    flag does not count, and `single` are names of one server each.
    """
    try:
        sent = reply(text, **beside)
        if listing:
            read_listing(sent, NAMES, single)
            return set()
        answer = read_answer(sent, "drop", NAMES, Known())
        expect_agreement(sent, answer.body, NAMES, Known(), flagged=flagged, limit=2)
    except Misshapen as error:
        return {*error.clauses}
    return set()


@pytest.mark.parametrize(
    ("text", "broken"),
    [
        (f'{{"tools":[],"tools":[],"disabled":[{ENTRY}]}}', set()),
        (f'{{"disabled":[{ENTRY[:-1]},"status":"disabled_by_user"}}]}}', set()),
        (f'{{"disabled":[{ENTRY[:-1]},"status":"disabled_by_config"}}]}}', {"FR-003.members"}),
        (f'{{"disabled":[{ENTRY[:-1]},"x":{{"a":1,"a":2}}}}]}}', {"FR-003.members"}),
        (f'{{"disabled":[],"disabled":[{ENTRY}]}}', {"FR-004.once"}),
        ('{"remediation":{},"remediation":{}}', {"FR-005.once"}),
        ('{"remediation":{"a":"x","a":"y"}}', {"FR-005.once"}),
        ('{"remediation":{"a":"x","a":"x"}}', set()),
        ('{"notice":"x","notice":"x"}', {"FR-009.one-line"}),
        ('{"tools":[{"inputSchema":{"a":1,"a":2}}]}', {"no name"}),
    ],
)
def test_a_repeated_member_counts_where_it_says_two_things(text: str, broken: set[str]) -> None:
    """A member that occurs twice with two values breaks a clause; with equal values it does not.

    Section, map and note may occur once only. A repeat in a callable tool's schema breaks none.
    """
    assert clauses(text) == (set() if broken == {"no name"} else broken)


@pytest.mark.parametrize(
    ("entry", "broken"),
    [
        ('"tools":{"callable":1,"callable":1}', set()),
        ('"tools":{"callable":1,"callable":2}', {"FR-010.sum"}),
        ('"tools":{"callable":1},"tools":{"callable":1}', {"FR-010.block"}),
        ('"env":{"A":"1","A":"2"}', set()),
    ],
)
def test_a_repeated_count_is_seen_in_a_listing(entry: str, broken: set[str]) -> None:
    """In a listing, a count with two values breaks FR-010.sum, a second block FR-010.block.

    Equal counts, and repeats outside of blocks, break none.
    """
    assert clauses(f'{{"servers":[{{"name":"forge",{entry}}}]}}', listing=True) == broken


@pytest.mark.parametrize(
    ("counts", "single", "broken"),
    [
        (({"callable": 1, "disabled_by_user": 1}, {}), ["forge"], {"FR-010.block"}),
        (({}, {"callable": 1, "disabled_by_user": 1}), ["forge"], {"FR-010.block"}),
        (({"callable": 1, "disabled_by_user": 1},) * 2, ["forge"], set()),
        (({"callable": 1, "disabled_by_user": 1}, {}), [], set()),
    ],
)
def test_unlike_counts_of_one_server_are_seen(
    counts: tuple[dict[str, int], ...], single: list[str], broken: set[str]
) -> None:
    """A listing that shows one server twice, with unlike counts, breaks FR-010.block.

    Entries with equal counts break none, nor do servers that may only have the same name.
    """
    servers = [{"name": "forge"} | ({"tools": block} if block else {}) for block in counts]

    assert clauses(json.dumps({"servers": servers}), listing=True, single=single) == broken


SECTION = [json.loads(ENTRY)]
BODY = {"tools": [], "disabled": SECTION, "remediation": {"disabled_by_user": "Ask."}}


@pytest.mark.parametrize(
    ("content", "broken"),
    [
        ({}, set()),
        (BODY, set()),
        ({"tools": []}, set()),
        ({"disabled": [{"name": "drop"}]}, set()),
        ({"disabled": [{**SECTION[0], "status": "disabled_by_config"}]}, {"FR-003.members"}),
        ({"disabled": [{**SECTION[0], "inputSchema": {"type": "object"}}]}, {"FR-003.members"}),
        ({"disabled": [{**SECTION[0], "description": "Drop."}]}, {"FR-003.withheld"}),
        ({"disabled": [{"name": n, "server": "s"} for n in "ab"]}, {"FR-006.cap"}),
        ({"remediation": {"disabled_by_user": "Ask them."}}, {"FR-005.once"}),
        ({"remediation": {"pending_approval": "Approve."}}, {"FR-005.keys"}),
        ({"tools": SECTION}, {"FR-004.once"}),
        ({"notice": "1 is locked."}, {"FR-009.one-line"}),
    ],
)
def test_structured_content_may_say_less_and_nothing_else(
    content: dict[str, Any], broken: set[str]
) -> None:
    """Structured content may leave out parts of the text's document.

    To add one, or alter its value, breaks the clause on that part.
    """
    assert clauses(json.dumps(BODY), structuredContent=content) == broken


def test_structured_content_has_no_section_without_the_flag() -> None:
    """Without the flag, an empty locked section in structured content breaks FR-002.no-section."""
    content: dict[str, Any] = {"tools": [], "disabled": []}

    broken = clauses('{"tools":[]}', flagged=False, structuredContent=content)

    assert broken == {"FR-002.no-section"}


def test_structured_content_of_a_listing_has_the_same_counts() -> None:
    """In structured content, a counts block that the text lacks breaks SC-005.absent.

    Another number than the text's breaks FR-010.block.
    """
    text = '{"servers":[{"name":"a"},{"name":"b","tools":{"callable":1}}]}'
    entries = [{"name": "a", "tools": {}}], [{"name": "b", "tools": {"callable": 2}}]

    broken = [
        clauses(text, listing=True, structuredContent={"servers": servers}) for servers in entries
    ]

    assert broken == [{"SC-005.absent"}, {"FR-010.block"}]


@pytest.mark.parametrize("listing", [False, True])
def test_a_document_in_structured_content_alone_is_pointed_at(listing: bool) -> None:
    """Where the text is prose and the document structured content, the message says so."""
    sent = reply("See the structured content.", structuredContent={"tools": []})

    with pytest.raises(Misshapen, match="stands in structuredContent alone"):
        read_listing(sent, NAMES) if listing else read_answer(sent, "drop", NAMES, Known())
