"""Options that sentences of a run name exist where the user is: in pytest, or at an endpoint."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import mcp_proxy_conformance
from mcp_proxy_conformance.discovery.live.endpoint import OTHERS, VARIABLES

PACKAGE = Path(mcp_proxy_conformance.__file__).parent
PINNED = json.loads(Path(__file__).with_name("pinned.json").read_text(encoding="utf-8"))
ELSEWHERE = (
    "cli/", "report/", "selftest/", "discovery/commands/", "discovery/selftest/",
    "discovery/baseline/", "fidelity/commands", "resilience/commands", "upstream/",
)  # fmt: skip
"""Modules whose sentences only commands print, or whose options are those of other programs."""
LIVE = ("discovery/live/",)
OF_ENDPOINTS = {*VARIABLES, *OTHERS}
OF_PYTEST = {*PINNED["options of the plugin"], "--timeout", "--tx", "--snapshot-update"}
"""The plugin's, and those of plugins that come with it."""
NAMED = re.compile(r"(?:`(?:mcp-proxy-conformance )?([a-z ]+) )?(?<![\w-])(--[a-z][a-z-]+)")
"""An option, and the command before it in backticks, if any."""


def test_each_option_in_a_sentence_exists_where_it_is_read() -> None:
    """Sentences on an endpoint name options that variables or a remark explain in pytest.

    All others name those that pytest has, too; one of a command alone is named with it. A sentence
    is a text with a blank that is no docstring.
    """
    wrong = []
    for path in PACKAGE.rglob("*.py"):
        name = str(path.relative_to(PACKAGE))
        known = OF_ENDPOINTS if name.startswith(LIVE) else OF_PYTEST
        nodes = [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
        docstrings = [node.value for node in nodes if isinstance(node, ast.Expr)]
        for node in [] if name.startswith(ELSEWHERE) else nodes:
            if isinstance(node, ast.Constant) and " " in str(node.value):
                for command, option in NAMED.findall(str(node.value)):
                    of = PINNED.get(f"options of mcp-proxy-conformance {command}", known)
                    wrong += [f"{name}: {option}"] * (option not in of and node not in docstrings)

    assert wrong == []


def test_variables_and_others_are_options_of_an_endpoint() -> None:
    """Each option that a variable stands for, or of which a sentence says whose it is, exists."""
    assert OF_ENDPOINTS - {*PINNED["options of mcp-proxy-conformance run endpoint"]} == set()
