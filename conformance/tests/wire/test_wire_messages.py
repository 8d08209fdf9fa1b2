"""Messages of the wire without a network: events, ids, envelopes, header values, the transcript."""

from __future__ import annotations

import json
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_proxy_conformance.wire import ProtocolFault, jsonrpc, revisions
from mcp_proxy_conformance.wire.response import Event, EventReader
from mcp_proxy_conformance.wire.transcript import Transcript

_STREAM = (
    b"\xef\xbb\xbf: hello\r\n\r\nevent: message\ndata: one\n\nid: 7\rdata:two\rdata:  three\r\r"
    b"retry: 5\r\nevent: ping\r\n\r\ndata\r\n\r\ndata: cut"
)
_EVENTS = [
    Event(data=b"one"),
    Event(data=b"two\n three", id="7"),
    Event(data=b"", id="7"),
]


@given(st.sets(st.integers(0, len(_STREAM))))
def test_events_are_the_same_however_the_stream_is_cut(cuts: set[int]) -> None:
    """However a stream is cut into pieces, even between CR and LF, its events are the same.

    Comments, events of other types and an unfinished last event are left out.
    """
    reader, at, events = EventReader(), 0, list[Event]()
    for cut in [*sorted(cuts), len(_STREAM)]:
        events += reader.feed(_STREAM[at:cut])
        at = cut

    assert events == _EVENTS


def test_ids_are_never_used_twice() -> None:
    """Two thousand ids that four threads take are all different."""
    taken: list[int] = []
    work = [
        threading.Thread(target=lambda: taken.extend(jsonrpc.fresh_id() for _ in range(500)))
        for _ in range(4)
    ]
    for thread in work:
        thread.start()
    for thread in work:
        thread.join()

    assert len(set(taken)) == 2000


def test_a_request_is_compact_and_keeps_the_given_bytes() -> None:
    """`request` writes compact JSON with the bytes of its params unchanged, and no absent member.

    `dumps` escapes a lone surrogate, but no other letter.
    """
    assert jsonrpc.request("m", b'{ "a": 1.0 }', 5) == (
        b'{"jsonrpc":"2.0","id":5,"method":"m","params":{ "a": 1.0 }}'
    )
    assert jsonrpc.request("n", None, None) == b'{"jsonrpc":"2.0","method":"n"}'
    assert jsonrpc.dumps("caf\u00e9\u2028") == '"caf\u00e9\u2028"'.encode()
    assert jsonrpc.dumps("\ud800") == b'"\\ud800"'


def test_an_envelope_keeps_the_bytes_of_its_result() -> None:
    """The result of a parsed message has the target's exact bytes, spaces and escapes included."""
    envelope = jsonrpc.parse(b' {"result": { "b":1.0,"a":"\\u00e9" },"id":3,"jsonrpc":"2.0"}\n')

    assert envelope.result == b'{ "b":1.0,"a":"\\u00e9" }'
    assert (envelope.id, envelope.error, envelope.method) == (3, None, None)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"<html>",
        b"{}",
        b"[]",
        b'{"jsonrpc":"2.0","id":1}',
        b'{"jsonrpc":"1.0","id":1,"result":{}}',
        b'{"id":1,"result":{}}',
        b'{"jsonrpc":"2.0","id":1,"result":{},"result":{}}',
        b'{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}',
        b'{"jsonrpc":"2.0","id":1,"result":[]}',
        b'{"jsonrpc":"2.0","id":true,"result":{}}',
        b'{"jsonrpc":"2.0","id":1,"error":"no"}',
        b'{"jsonrpc":"2.0","id":1,"error":{"code":"x","message":""}}',
        b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":null}}',
        b'{"jsonrpc":"2.0","id":1,"method":"m","result":{}}',
        b'{"jsonrpc":"2.0","id":1,"method":7}',
    ],
)
def test_what_is_no_envelope_is_the_target_s_fault(raw: bytes) -> None:
    """Bytes that are not one JSON-RPC message raise ProtocolFault with the expected form."""
    with pytest.raises(ProtocolFault, match=r"^expected .*, but the target sent "):
        jsonrpc.parse(raw)


def test_a_fault_quotes_no_more_than_200_bytes() -> None:
    """A fault on a megabyte of nonsense has 200 bytes as excerpt and a text below 400 letters."""
    with pytest.raises(ProtocolFault) as caught:
        jsonrpc.parse(b"x" * 1_000_000)

    assert caught.value.excerpt == b"x" * 200
    assert len(str(caught.value)) < 400


def test_the_stateless_meta_stands_before_the_given_bytes() -> None:
    """`with_meta` puts `_meta` before the other members of params, whose bytes are kept.

    Without params it makes them. Params with a `_meta`, or not an object, are unchanged.
    """
    spliced = revisions.with_meta(b'{ "a": 1.0}')

    assert spliced.endswith(b', "a": 1.0}')
    assert json.loads(spliced)["_meta"][revisions.META_VERSION] == "2026-07-28"
    assert json.loads(revisions.with_meta(b"{}")).keys() == {"_meta"}
    assert json.loads(revisions.with_meta(None)).keys() == {"_meta"}
    for kept in (b"[1]", b"{nonsense", b'{"_meta":{}}'):
        assert revisions.with_meta(kept) == kept


def test_a_name_that_no_header_carries_is_wrapped() -> None:
    """`header_value` wraps in base64 a name that a header cannot hold, or one that looks wrapped.

    So it does the empty name and one that begins with a space; a plain one is unchanged.
    """
    assert revisions.header_value("forge:list") == "forge:list"
    assert revisions.header_value("caf\u00e9") == "=?base64?Y2Fmw6k=?="
    assert revisions.header_value(" a").startswith("=?base64?")
    assert revisions.header_value("=?base64?eA==?=").startswith("=?base64?PT")
    assert revisions.header_value("").startswith("=?base64?")


def test_a_transcript_counts_from_one_and_marks_the_latest() -> None:
    """Messages have the ids 1, 2, ...; `since` returns those after a mark, from any thread.

    `get` raises LookupError for an unknown id.
    """
    transcript = Transcript()
    first = transcript.record(edge="client", direction="sent", peer="p", raw=b"1", note="")
    mark = transcript.mark()
    thread = threading.Thread(
        target=transcript.record,
        kwargs={"edge": "upstream", "direction": "received", "peer": "s", "raw": b"2", "note": ""},
    )
    thread.start()
    thread.join()

    (second,) = transcript.since(mark)

    assert (first.id, second.id) == (1, 2)
    assert transcript.get(2) is second
    assert transcript.since(0) == (first, second)
    assert 0 <= first.at <= second.at
    with pytest.raises(LookupError):
        transcript.get(3)
