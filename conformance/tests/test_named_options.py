"""Options that sentences of a run name exist where the user is: in pytest, or at an endpoint."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Collection, Iterator
from pathlib import Path

import mcp_proxy_conformance
from mcp_proxy_conformance.discovery.live.endpoint import OTHERS, VARIABLES

PACKAGE = Path(mcp_proxy_conformance.__file__).parent
PINNED = json.loads(Path(__file__).with_name("pinned.json").read_text(encoding="utf-8"))
OF_COMMANDS = ("cli/", "report/", "selftest/", "discovery/baseline/", "upstream/", "targets/relay")
"""Modules whose sentences only commands print, or whose options are those of other programs."""
LIVE = ("discovery/live/", "checks/live/", "run/subjects/endpoint.py")
OF_ENDPOINTS = {*VARIABLES, *OTHERS}
OF_PYTEST = {*PINNED["options of the plugin"], "--timeout", "--tx", "--snapshot-update"}
"""The plugin's, and those that plugins which it brings along add."""
COMMAND = re.compile(r"`(?:mcp-proxy-conformance )?([a-z]+(?: [a-z]+)?) (--[a-z-]+)[^`]*`")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")


def sentences(tree: ast.AST) -> Iterator[str]:
    """Yield the texts in a module that have a blank, docstrings left out."""
    skipped = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        match node:
            case ast.JoinedStr(values=parts):
                skipped |= {id(part) for part in parts}
                text = "".join(str(p.value) if isinstance(p, ast.Constant) else "{}" for p in parts)
            case ast.Constant(value=str(text)) if id(node) not in skipped:
                pass
            case _:
                continue
        if " " in text:
            yield text


def strange(text: str, known: Collection[str]) -> list[str]:
    """Return the options in a text that are neither known nor of the command named with them."""
    wrong = [
        option
        for command, option in COMMAND.findall(text)
        if option not in PINNED[f"options of mcp-proxy-conformance {command}"]
    ]
    return wrong + [word for word in OPTION.findall(COMMAND.sub("", text)) if word not in known]


def test_each_option_in_a_sentence_exists_where_it_is_read() -> None:
    """Sentences on an endpoint name options that variables or a remark explain in pytest.

    All others name those that pytest has, too; one of a command alone is named with it.
    """
    wrong = []
    for path in sorted(PACKAGE.rglob("*.py")):
        name = str(path.relative_to(PACKAGE))
        if name.startswith(OF_COMMANDS):
            continue
        known = OF_ENDPOINTS if name.startswith(LIVE) else OF_PYTEST
        for text in sentences(ast.parse(path.read_text(encoding="utf-8"))):
            wrong += [f"{name}: {option} in {text!r}" for option in strange(text, known)]

    assert wrong == []


def test_variables_and_others_are_options_of_an_endpoint() -> None:
    """Each option that a variable stands for, or of which a sentence says whose it is, exists."""
    assert OF_ENDPOINTS - {*PINNED["options of mcp-proxy-conformance run endpoint"]} == set()


def test_a_strange_option_is_found() -> None:
    """An option that neither pytest nor the command beside it has is found, once each."""
    text = "give --query, a longer --seed, `run --settle` or `run endpoint --settle`"

    assert strange(text, OF_PYTEST) == ["--settle", "--query"]
