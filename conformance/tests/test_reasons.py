"""A search of the source for decisions that depend on the words of a reason; there are none.

Reasons are sentences for people; code decides by `cause`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import mcp_proxy_conformance

PACKAGE = Path(mcp_proxy_conformance.__file__).parent
RENDERERS = (
    "report/",
    "cli/",
    "discovery/commands/",
    "verdict/headline.py",
    "verdict/deviations/writing.py",
)
"""Modules that make sentences for people, and may cut and wrap them."""
WORDS = ("reason", "why")
READS = frozenset({
    "startswith", "endswith", "partition", "rpartition", "split", "splitlines", "find", "index",
    "count", "removeprefix", "removesuffix", "lower", "casefold", "match", "search", "fullmatch",
    "strip", "replace",
})  # fmt: skip


def is_reason(node: ast.AST) -> bool:
    """Return whether an expression is an attribute, item or variable named `reason` or `why`.

    `str` of one counts, too.
    """
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name in WORDS
        case ast.Subscript(slice=ast.Constant(value=name)):
            return name in WORDS
        case ast.Call(func=ast.Name(id="str"), args=[inner]):
            return is_reason(inner)
    return False


def readings(tree: ast.AST) -> Iterator[int]:
    """Yield the line numbers at which code reads the words of a reason.

    That is by a method of texts, a pattern or a comparison, except with None or an empty text.
    """
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=value, attr=name), args=args):
                if name in READS and any(map(is_reason, (value, *args))):
                    yield node.lineno
            case ast.Compare(left=left, ops=ops, comparators=others):
                sides = [
                    side
                    for side in (left, *others)
                    if not (isinstance(side, ast.Constant) and side.value in ("", None))
                ]
                identity = all(isinstance(operator, ast.Is | ast.IsNot) for operator in ops)
                if not identity and len(sides) == len(others) + 1 and any(map(is_reason, sides)):
                    yield node.lineno


def test_nothing_but_a_renderer_reads_a_reason() -> None:
    """No module reads the words of a reason, but those that make sentences for people."""
    places = [
        f"{path.relative_to(PACKAGE)}:{line}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if not str(path.relative_to(PACKAGE)).startswith(RENDERERS)
        for line in readings(ast.parse(path.read_text(encoding="utf-8")))
    ]

    assert places == []


@pytest.mark.parametrize(
    "text",
    [
        'one.reason.startswith("not asked for")',
        'result["reason"].endswith("x")',
        '"is not declared" in reason',
        "reason == why",
        're.search("x", one.reason)',
        'str(one["reason"]).partition("\\n")',
    ],
)
def test_each_way_of_reading_is_found(text: str) -> None:
    """A line of code that reads a reason, in each known way, is found."""
    assert list(readings(ast.parse(text))) == [1]


@pytest.mark.parametrize("text", ["one.reason or 1", 'reason == ""', "reason is None", "f(reason)"])
def test_what_reads_no_words_is_none(text: str) -> None:
    """Code that passes a reason on, or asks whether there is one, is not found."""
    assert list(readings(ast.parse(text))) == []
