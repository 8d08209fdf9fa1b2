"""The specifications that a test of a room needs: in a tree without one of them it is left out.

`@needs.discovery` marks a test, or a parameter of it; `pytestmark = needs.discovery` a file. A file
that imports a specification needs no mark, nor does one that lies in its folder.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mcp_proxy_conformance.catalogue.specification import specifications

NAMES = ("discovery", "fidelity", "resilience")
MISSING = {*NAMES}.difference(each.name for each in specifications())
ANY = "|".join(NAMES)
IMPORT = re.compile(rf"^from mcp_proxy_\w+\.({ANY})\b", re.MULTILINE)
MARKS = re.compile("^pytestmark = .*", re.MULTILINE)
HELPER = re.compile(r"^(?:from|import) (\w+)", re.MULTILINE)
HERE = Path(__file__).parent
discovery, fidelity, resilience = map(pytest.mark.needs, NAMES)
every = pytest.mark.needs(*NAMES)


def is_left_out(item: pytest.Item) -> bool:
    """Whether a test needs a specification that is not installed."""
    return any(name in MISSING for mark in item.iter_markers("needs") for name in mark.args)


def of_file(file: Path) -> set[str]:
    """Return the specifications that a file of tests needs, or one of this folder in its place."""
    text = file.read_text(encoding="utf-8")
    helpers = [HERE / f"{name}.py" for name in HELPER.findall(text)]
    read = [of_file(helper) for helper in helpers if helper.is_file() and helper != file]
    marked = re.findall(rf"needs\.({ANY})\b", "".join(MARKS.findall(text)))
    return {*IMPORT.findall(text), *marked}.union(*read)
