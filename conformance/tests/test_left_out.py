"""Each specification can be left out: a tree without it judges by the others."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from importlib.metadata import distribution
from pathlib import Path

import pytest
from distributions import laid_out, ran

import mcp_proxy_conformance
from mcp_proxy_conformance.catalogue.specification import GROUP, specifications

TOP = Path(mcp_proxy_conformance.__file__).parents[2]
NAMES = [each.name for each in specifications()]
RUNS = {
    "discovery": "run reference --only FR-006.cap",
    "fidelity": "run relay --only RLY.up.arguments.text",
    "resilience": "run loader --only O1",
}
"""A short run of each."""
PARTS = (
    "conformance/mcp_proxy_conformance", "conformance/mcp_proxy_mutants", "reference", "fixtures",
    "schemas",
)  # fmt: skip
Ran = Callable[..., subprocess.CompletedProcess[str]]


def tree_without(name: str, place: Path) -> Ran:
    """Copy what is shipped, without a specification; return what runs its command line."""
    ignore = shutil.ignore_patterns("__pycache__", ".*_cache")
    for part in PARTS:
        shutil.copytree(TOP / part, place / part, ignore=ignore)
    for folder in (*PARTS[:2], "fixtures"):
        shutil.rmtree(place / folder / name)
    ours = distribution("mcp-proxy-conformance")
    entries = [each for each in ours.entry_points if each.group == GROUP]
    kept = {each.name: each.value for each in entries if each.name != name}
    laid_out(place / "conformance", ours.name, ours.version, kept)
    return lambda *words: ran(words, place, [place / "conformance", place / "reference"])


@pytest.mark.parametrize(
    "name",
    [NAMES[0], *(pytest.param(name, marks=pytest.mark.proof(parts=2)) for name in NAMES[1:])],
)
def test_a_specification_can_be_left_out(name: str, tmp_path: Path) -> None:
    """Without its folders and its entry point the others are listed, linted and run as before."""
    run = tree_without(name, tmp_path)

    listed, linted = run("list", "checks"), run("lint")
    others = {other: run(*words.split()) for other, words in RUNS.items() if other != name}

    assert (listed.returncode, f"{name}/" in listed.stdout) == (0, False)
    assert linted.stderr.endswith("findings: 0\n"), linted.stdout
    assert {other: done.returncode for other, done in others.items()} == dict.fromkeys(others, 0)
    assert run(*RUNS[name].split()).returncode != 0
