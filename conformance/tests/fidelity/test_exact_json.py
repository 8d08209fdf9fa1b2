"""JSON without loss: numbers by value, differences by path and kind, tokens in order."""

from __future__ import annotations

import pytest

from mcp_proxy_conformance.fidelity import exact_json
from mcp_proxy_conformance.fidelity.exact_json import Difference, differences, read


def differences_between(
    allowed: bytes, observed: bytes, *, additions: bool = False
) -> list[Difference]:
    """Return the differences between two JSON documents, given as bytes.

    With `additions`, members that only `observed` has are none.
    """
    return list(differences(read(allowed), read(observed), additions=additions))


@pytest.mark.parametrize(
    ("allowed", "observed"),
    [
        (b"1", b"1.0"),
        (b"100", b"1e2"),
        (b"0.1", b"0.10"),
        (b"-0.0", b"0"),
        (b"3.14159265358979323846", b"3.141592653589793"),
        (b'{"a":1,"b":2}', b'{"b":2,"a":1}'),
        (b'{"a":1,"a":2}', b'{"a":2}'),
        (b'"\\u00e9"', '"é"'.encode()),
        (b'"a\\ud83d"', b'"a\\uD83D"'),
    ],
)
def test_values_of_equal_meaning_do_not_differ(allowed: bytes, observed: bytes) -> None:
    """Numbers of equal value, and other spellings or orders of the same, do not differ.

    Nor do decimal fractions that are the same double.
    """
    assert differences_between(allowed, observed) == []


@pytest.mark.parametrize(
    ("allowed", "observed", "kind"),
    [
        (b"9007199254740993", b"9007199254740992", "integer"),
        (b"9007199254740993", b"9007199254740992.0", "integer"),
        (b"1e400", b"1e401", "number"),
        (b"1e-400", b"0", "number"),
        (b"0.1", b"0.2", "number"),
        (b"1", b'"1"', "integer"),
        (b"true", b"1", "other"),
        (b"null", b"{}", "other"),
        (b'"a"', b'"b"', "text"),
        (b'{"a":null}', b"{}", "member"),
        (b"{}", b'{"a":null}', "other"),
    ],
)
def test_other_values_differ_by_kind(allowed: bytes, observed: bytes, kind: str) -> None:
    """A difference has a kind: integer, number, text, member (missing), or other."""
    assert [each.kind for each in differences_between(allowed, observed)] == [kind]


def test_a_difference_has_its_path_and_both_sides() -> None:
    """A difference has the path of the innermost value that differs, and both sides as written."""
    allowed, observed = b'{"rows":[{"n":1.50}]}', b'{"rows":[{"n":2}]}'

    assert differences_between(allowed, observed) == [
        Difference(path="rows[0].n", allowed="1.50", observed="2", kind="number")
    ]


def test_further_members_may_be_no_difference() -> None:
    """With `additions`, members that only the observed document has are no difference."""
    assert differences_between(b'{"a":{}}', b'{"a":{"b":1},"c":2}', additions=True) == []


def test_tokens_are_compared_as_they_are_written() -> None:
    """`same_tokens` is false for other spellings, other orders and repeated members."""
    pairs = [(b"1", b"1.0"), (b'{"a":1,"b":2}', b'{"b":2,"a":1}'), (b'{"a":1,"a":2}', b'{"a":2}')]

    assert [exact_json.same_tokens(read(one), read(other)) for one, other in pairs] == [False] * 3


@pytest.mark.parametrize("document", [b"NaN", b"[Infinity]", b"{", b"\xff"])
def test_what_is_not_json_is_refused(document: bytes) -> None:
    """`read` raises ValueError for NaN, infinities, cut documents and bytes that are not UTF-8."""
    with pytest.raises(ValueError, match=r"JSON|Expecting|decode"):
        read(document)
