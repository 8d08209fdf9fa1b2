"""Answers of any kind: whatever a target sends is read or refused, never a fault of the suite."""

from __future__ import annotations

import json
from typing import Any

import hypothesis
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_proxy_conformance.catalogue.surface import Members
from mcp_proxy_conformance.catalogue.world import Tool, ToolKey
from mcp_proxy_conformance.discovery.answer import read_answer, read_listing
from mcp_proxy_conformance.discovery.targets.known_tools import Known
from mcp_proxy_conformance.report.difference import sentences
from mcp_proxy_conformance.run.judgement import Ending, attempt
from mcp_proxy_conformance.verdict.comparison import of_sides, plain, same
from mcp_proxy_conformance.verdict.redaction import Redactor
from mcp_proxy_conformance.verdict.result import Finding
from mcp_proxy_conformance.wire import Reply, ToolReply, jsonrpc
from mcp_proxy_conformance.wire.transcript import Message

MEMBERS = Members()
KNOWN = Known({ToolKey("forge", "merge"): Tool(name="merge", description="Merge.", word="merge")})
NAMES = st.sampled_from(
    [MEMBERS.tools, MEMBERS.disabled, MEMBERS.remediation, MEMBERS.note, MEMBERS.servers, "name",
     "server", "status", "description", "inputSchema", "x"]
)  # fmt: skip
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.integers(10**30, 10**40), st.floats(), st.text(),
    st.sampled_from(["merge", "forge", "forge:merge", "disabled_by_user", "", "\x00", "\ud800"]),
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=25,
)


def read(text: str) -> Ending:
    """Return the ending of a check that reads this text as an answer and as a listing.

    It also compares the parts, and writes and redacts them as for a report.
    """

    def check() -> None:
        """Read the text as an answer and as a listing, and write its parts as for a report."""
        content = json.dumps([{"type": "text", "text": text}]).encode()
        envelope = jsonrpc.parse(b'{"jsonrpc":"2.0","id":1,"result":{"content":%b}}' % content)
        message = Message(
            id=1, edge="client", direction="sent", at=0.0, peer="p", body=b"", note="", headers=()
        )
        reply = ToolReply.of(
            Reply(envelope=envelope, status=200, headers=(), seconds=0.0, sent=message,
                  received=message)
        )  # fmt: skip
        answer = read_answer(reply, "merge", MEMBERS, KNOWN, flag=True, limit=3)
        document = plain(Finding(path="x", clauses=("FR-004.enum",), observed=answer.body))
        entries = [(entry.key, entry.status, entry.description) for entry in answer.disabled]
        assert same(answer.body, answer.body) or "NaN" in text
        sentences(of_sides(("==", {"x": answer.body}, {"x": entries}), ("FR-004.enum",)))
        msgspec.json.encode(
            Redactor(["a-secret-of-many-letters"]).tree(msgspec.to_builtins(document))
        )
        read_listing(reply, MEMBERS)

    return attempt(check)


@hypothesis.seed(20)
@hypothesis.settings(max_examples=300)
@given(st.dictionaries(NAMES, VALUES, max_size=6), st.booleans())
def test_no_answer_is_a_fault_of_the_suite(body: dict[str, Any], twice: bool) -> None:
    """Reading any of 300 generated answers never ends in an error blamed on the suite.

    They have numbers of any size, NaN, lone surrogates, repeated members and odd entries.
    """
    text = json.dumps(body)
    text = f"{text[:-1]}, {text[1:]}" if twice and body else text

    ending = read(text)

    assert (ending.blame, ending.reason if ending.blame == "suite" else "") != (
        "suite",
        ending.reason,
    )


@pytest.mark.parametrize("depth", [199, 201, 399, 950, 100_000])
@pytest.mark.parametrize("form", ['{"a":%s}', '{"tools":%s}', '{"disabled":[{"name":"a","x":%s}]}'])
def test_neither_is_one_that_nests(form: str, depth: int) -> None:
    """Reading an answer nested up to 100,000 levels passes, or is inconclusive.

    It is blamed on nobody or the target.
    """
    ending = read(form % ("[" * depth + "]" * depth))

    assert ending.verdict in ("pass", "inconclusive")
    assert ending.blame in ("", "target")


@pytest.mark.parametrize("member", ["tools", "disabled"])
@pytest.mark.parametrize("of", ["name", "server"])
def test_a_name_of_any_length_is_no_breach_and_takes_no_time(member: str, of: str) -> None:
    """Reading a name of six million characters, a tool's or a server's, is inconclusive.

    The reason says how long names may be.
    """
    entry = {"name": "forge:add", "server": "forge", "status": "disabled_by_user"}
    body = {"tools": [], "disabled": [], member: [entry | {of: "x" * 6_000_000}]}

    ending = read(json.dumps(body))

    assert (ending.verdict, "names of at most 10000" in ending.reason) == ("inconclusive", True)
