"""Spans of values in JSON bytes, beside the json module; lookups, cuts, malformed documents."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_proxy_conformance.wire import spans

if TYPE_CHECKING:
    from collections.abc import Iterator

_TEXT = st.text(st.characters(codec="utf-8"))
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner) | st.dictionaries(_TEXT, inner) | _TEXT,
    max_leaves=30,
)
_STYLE = st.sampled_from(
    [
        {"separators": (",", ":")},
        {"indent": "\t"},
        {"ensure_ascii": False},
        {"separators": (" ,\r\n", " : "), "ensure_ascii": False},
    ]
)


def _walk(node: spans.Node, value: Any) -> Iterator[tuple[spans.Node, Any]]:
    """Yield (node, the json module's value at its place) for a node and all below it."""
    yield node, value
    for i, item in enumerate(node.items):
        yield from _walk(item, value[i])
    for member in node.members:
        yield from _walk(member.value, value[member.key])


@settings(max_examples=200)
@given(_JSON, _STYLE)
def test_every_node_s_bytes_are_its_value(value: Any, style: dict[str, Any]) -> None:
    """Each span holds exactly the text of the value that the json module finds there."""
    raw = json.dumps(value, **style).encode("utf-8")

    root = spans.parse(raw)

    assert [json.loads(node.raw) for node, _ in _walk(root, value)] == [
        v for _, v in _walk(root, value)
    ]
    assert root.value() == value
    assert raw[root.start : root.end].strip() == root.raw


@settings(max_examples=300)
@given(
    st.binary(max_size=40)
    | st.text('[]{}",:01-.eE tfn\\u\ud800', max_size=30).map(
        lambda t: t.encode("utf-8", "surrogatepass")
    )
)
def test_what_json_refuses_is_malformed(raw: bytes) -> None:
    """Any bytes either raise Malformed, or parse to the value that the json module reads."""
    try:
        value = spans.parse(raw).value()
    except spans.Malformed:
        return

    assert json.dumps(value) == json.dumps(json.loads(raw))


@pytest.mark.parametrize(
    ("raw", "offset"),
    [
        (b"", 0),
        (b"\xef\xbb\xbf{}", 0),
        (b'{"a":NaN}', 5),
        (b"[Infinity]", 1),
        (b"{} {}", 3),
        (b'"\xff"', 1),
        (b'"\xed\xa0\x80"', 1),
        (b'["\\ud800"]', 1),
        (b'{"\\udc00x":1}', 1),
        (b'{"a":1,}', 7),
        (b"[1 2]", 3),
        (b'{"a" 1}', 1),
        (b"01", 1),
        (b'"\n"', 0),
        (b'"open', 0),
        (b"[" * 500, 400),
        (b"[" * 100_000, 400),
        (b"9" * 5_000, 0),
    ],
)
def test_a_malformed_document_names_its_byte(raw: bytes, offset: int) -> None:
    """Each malformed document raises Malformed with the byte offset of the defect."""
    with pytest.raises(spans.Malformed) as caught:
        spans.parse(raw)

    assert caught.value.offset == offset


def test_a_nesting_of_400_is_read() -> None:
    """A list nested 400 deep, the deepest allowed, is parsed."""
    raw = b"[" * 400 + b"]" * 400

    assert spans.parse(raw).span == (0, 800)


def test_member_finds_the_exact_bytes() -> None:
    """`member` returns the span of the exact bytes of the value at a path of keys and indexes.

    It returns None for a path that is absent.
    """
    raw = b'{"a" : [ 1, {"caf\\u00e9": 1.50e2} ]}'

    span = spans.member(raw, ["a", 1, "caf\u00e9"])

    assert span is not None
    assert raw[span.start : span.end] == b"1.50e2"
    assert spans.member(raw, ["b"]) is None
    assert spans.member(raw, ["a", 2]) is None
    assert spans.member(raw, ["a", 0, "x"]) is None


def test_duplicates_are_kept_and_the_last_wins() -> None:
    """Both members of one name are kept and reported as duplicates; lookups take the later."""
    node = spans.parse(b'{"a":1,"b":2,"\\u0061":3}')

    assert [member.key for member in node.members] == ["a", "b", "a"]
    assert node.duplicates() == ("a",)
    assert node.value() == {"a": 3, "b": 2}
    assert node.at(["a"]) == node.members[2].value


def test_cut_takes_overlapping_spans_in_any_order() -> None:
    """`cut` removes spans, in any order and overlapping.

    `replace` puts bytes in one span's place.
    """
    assert spans.cut(b"0123456789", [(6, 8), (1, 3), (2, 4), (7, 7)]) == b"04589"
    assert spans.cut(b"0123", []) == b"0123"
    assert spans.replace(b"0123", (1, 3), b"-") == b"0-3"


def test_deeper_levels_may_be_left_out_and_read_again() -> None:
    """`parse` with `keep` leaves deeper levels empty; `inside` reads them again.

    A defect in such a level raises Malformed at once.
    """
    raw = b'{"result": {"content": [{"type": "text", "text": "x"}, [1]]}}'

    shallow = spans.parse(raw, keep=3).at(["result", "content"])

    assert shallow is not None
    assert [item.members for item in shallow.items] == [(), ()]
    deep = [spans.inside(item) for item in shallow.items]
    assert deep[0] == spans.parse(raw).at(["result", "content", 0])
    assert deep[1].items[0].raw == b"1"
    with pytest.raises(spans.Malformed):
        spans.parse(b'{"result": {"content": [{"type": nonsense}]}}', keep=1)


def _cut(node: spans.Node, keep: int) -> spans.Node:
    """Return a node without what is nested in more than `keep` of its containers."""
    if keep == 0:
        return node._replace(items=(), members=())
    return node._replace(
        items=tuple(_cut(item, keep - 1) for item in node.items),
        members=tuple(m._replace(value=_cut(m.value, keep - 1)) for m in node.members),
    )


@settings(max_examples=300)
@given(_JSON, _STYLE, st.integers(0, 3), st.none() | st.tuples(st.integers(0), st.binary()))
def test_levels_left_out_are_read_as_strictly(
    value: Any, style: dict[str, Any], keep: int, defect: tuple[int, bytes] | None
) -> None:
    """With any `keep`, `parse` has the upper levels of the whole tree, or the same Malformed.

    Some documents have a defect: bytes put in somewhere.
    """
    raw = json.dumps(value, **style).encode("utf-8")
    if defect is not None:
        at = defect[0] % (len(raw) + 1)
        raw = spans.replace(raw, (at, at), defect[1])

    assert _parsed(raw, keep) == _parsed(raw, keep, cut=True)


def _parsed(raw: bytes, keep: int, *, cut: bool = False) -> object:
    """Return the tree `keep` levels deep, or (reason, offset) of Malformed.

    With `cut` the whole tree is parsed, and then cut.
    """
    try:
        return _cut(spans.parse(raw), keep) if cut else spans.parse(raw, keep)
    except spans.Malformed as error:
        return error.reason, error.offset


@given(_TEXT)
def test_a_string_literal_decodes_to_its_text(text: str) -> None:
    """Any text decodes from its plain and from its escaped JSON literal."""
    plain = json.dumps(text, ensure_ascii=False).encode("utf-8")

    assert spans.decode_string(plain) == text
    assert spans.decode_string(json.dumps(text).encode("ascii")) == text


def test_a_string_literal_must_be_one() -> None:
    """`decode_string` raises Malformed for a number, an open quote, a lone surrogate, nothing."""
    for literal in (b"1", b'"', b'"\\ud800"', b""):
        with pytest.raises(spans.Malformed):
            spans.decode_string(literal)


def test_a_hundred_kilobytes_take_no_time() -> None:
    """Parsing takes at most 60 ms of processor time for 100 KB, in the best of ten readings."""
    entry = {"name": "s:t", "description": "word " * 20, "inputSchema": {"type": "object"}, "n": 1}
    raw = json.dumps({"tools": [entry] * 600}).encode("ascii")
    times = []
    for _ in range(10):
        began = time.thread_time()
        spans.parse(raw)
        times.append(time.thread_time() - began)

    assert len(raw) > 100_000
    assert min(times) < 0.06 * len(raw) / 100_000
