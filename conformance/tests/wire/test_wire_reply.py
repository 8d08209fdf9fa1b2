"""A tool's result: its one text to the byte, all texts, structured content, `isError`."""

from __future__ import annotations

import pytest

from mcp_proxy_conformance.wire import ProtocolFault, Reply, ToolReply, jsonrpc
from mcp_proxy_conformance.wire.transcript import Message

_MESSAGE = Message(
    id=1, edge="client", direction="sent", at=0.0, peer="p", body=b"", note="", headers=()
)


def reply(members: bytes) -> ToolReply:
    """Return a ToolReply whose result is an object of these members, given as encoded JSON."""
    envelope = jsonrpc.parse(b'{"jsonrpc":"2.0","id":1,"result":{%b}}' % members)
    return ToolReply.of(
        Reply(
            envelope=envelope,
            status=200,
            headers=(),
            seconds=0.0,
            sent=_MESSAGE,
            received=_MESSAGE,
        )
    )


@pytest.mark.parametrize(
    "members",
    [
        b"",
        b'"content":{}',
        b'"content":[]',
        b'"content":[7]',
        b'"content":[{"type":"text"}]',
        b'"content":[{"type":"text","text":7}]',
        b'"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]',
    ],
)
def test_a_result_without_one_text_is_a_fault_when_asked(members: bytes) -> None:
    """Without exactly one text item, `text`, `document`, `frame` and `exact` raise ProtocolFault.

    To make the reply and to read `is_error` raises nothing.
    """
    answer = reply(members)

    assert answer.is_error is False
    for member in ("text", "document", "frame", "exact"):
        with pytest.raises(ProtocolFault):
            getattr(answer, member)


def test_the_text_is_exact() -> None:
    """`text` is decoded; in `frame` its literal is empty, in `exact` it is the decoded text.

    All other bytes of the result are kept; `is_error` and `structured` are read.
    """
    members = b' "content":[{"type":"image"},{"text":"\\u00e9\\n{}","type":"text"}] ,"isError":true'

    answer = reply(members + b',"structuredContent":[1]')

    assert (answer.texts, answer.is_error, answer.structured) == (("\u00e9\n{}",), True, [1])
    assert answer.document == "\u00e9\n{}".encode()
    assert answer.frame == answer.result.replace(b'"\\u00e9\\n{}"', b'""')
    assert answer.exact == answer.result.replace(b'"\\u00e9\\n{}"', answer.document)


@pytest.mark.parametrize("besides", [1, jsonrpc.FEW + 1])
def test_the_text_is_the_same_beside_many_other_values(besides: int) -> None:
    """The text is found in a small message, and in one so large that inner levels are cut."""
    item = b'"content":[{"text":"a","type":"text","_meta":{"b":[1]}}]'
    answer = reply(b'%b,"other":[%b]' % (item, b",".join([b"0"] * besides)))

    assert (answer.text, answer.frame.startswith(b'{"content":[{"text":"",')) == ("a", True)


def test_all_texts_are_given_where_there_are_several() -> None:
    """`texts` has the texts of all text items in order, without items of other types."""
    answer = reply(
        b'"content":[{"type":"text","text":"a"},{"type":"x"},{"type":"text","text":"b"}]'
    )

    assert answer.texts == ("a", "b")


def test_is_error_must_be_a_boolean() -> None:
    """`isError` as the string "false" raises ProtocolFault."""
    with pytest.raises(ProtocolFault, match='a boolean as "isError"'):
        _ = reply(b'"content":[],"isError":"false"').is_error
