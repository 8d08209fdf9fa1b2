"""Each specification can be left out: a tree without it judges by the others, and is tested."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

import needs
import pytest
from distributions import laid_out, ran, with_path
from proof_parts import PART

import mcp_proxy_conformance
from mcp_proxy_conformance.catalogue.specification import GROUP

pytestmark = [needs.discovery, needs.fidelity, needs.resilience]
TOP = Path(mcp_proxy_conformance.__file__).parents[2]
RUNS = {
    "discovery": "run reference --only FR-006.cap",
    "fidelity": "run relay --only RLY.up.arguments.text",
    "resilience": "run loader --check test_load_case[none-outcomes]",
}
"""A short run of each."""
ROOMS = ("catalogue", "verdict", "authoring", "report", "selftest", "targets", "cli", "run")
"""Rooms whose tests need a specification or another."""
QUICK = 3
"""So many of them are tried with a commit; all take minutes."""


@pytest.fixture
def tree(name: str, tmp_path: Path) -> Path:
    """Return a copy of the repository without a specification's folders and entry point."""
    ignore = shutil.ignore_patterns("__pycache__", ".*_cache", ".venv", ".git")
    place = Path(shutil.copytree(TOP, tmp_path / "tree", ignore=ignore))
    for folder in (
        *(
            place / "conformance" / part
            for part in ("mcp_proxy_conformance", "mcp_proxy_mutants", "tests")
        ),
        place / "fixtures",
    ):
        shutil.rmtree(folder / name)
    ours = distribution("mcp-proxy-conformance")
    entries = [each for each in ours.entry_points if each.group == GROUP]
    kept = {each.name: each.value for each in entries if each.name != name}
    laid_out(place / "conformance", ours.name, ours.version, kept)
    return place


@pytest.mark.parametrize(
    "name",
    ["discovery", *(pytest.param(n, marks=pytest.mark.proof(parts=2)) for n in needs.NAMES[1:])],
)
def test_a_specification_can_be_left_out(name: str, tree: Path) -> None:
    """Without its folders and its entry point the others are listed, linted and run as before."""
    paths = [tree / "conformance", tree / "reference"]
    listed, linted = ran(["list", "checks"], tree, paths), ran(["lint"], tree, paths)
    others = {
        other: ran(words.split(), tree, paths).returncode
        for other, words in RUNS.items()
        if other != name
    }

    assert (listed.returncode, f"{name}/" in listed.stdout) == (0, False)
    assert linted.stderr.endswith("findings: 0\n"), linted.stdout
    assert others == dict.fromkeys(others, 0)
    assert ran(RUNS[name].split(), tree, paths).returncode != 0


@pytest.mark.proof(parts=3)
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", needs.NAMES)
def test_what_is_left_passes_its_tests(name: str, tree: Path) -> None:
    """Without it all tests can be collected, and those of rooms pass (in a part: of a few)."""
    del name
    paths = [tree / "conformance", tree / "reference"]
    rooms = ROOMS[:QUICK] if PART in os.environ else ROOMS
    tests = [sys.executable, "-m", "pytest", "-q", "-m", "not proof"]
    tests += ["-p", "no:cacheprovider", "--snapshot-warn-unused"]  # of tests that are left out

    for words in (
        ["--collect-only", "-n0"],
        ["-n2", *(f"conformance/tests/{room}" for room in rooms)],
    ):
        done = subprocess.run(
            [*tests, *words], cwd=tree, env=with_path(paths), text=True, capture_output=True,
            check=False, timeout=550, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-5000:]
