"""Each specification can be left out: a tree without it judges by the others."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import distribution
from pathlib import Path

import pytest

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
    """Copy what is shipped, without a specification; return what runs the command line of that."""
    ignore = shutil.ignore_patterns("__pycache__", ".*_cache")
    for part in PARTS:
        shutil.copytree(TOP / part, place / part, ignore=ignore)
    for folder in (
        "conformance/mcp_proxy_conformance",
        "conformance/mcp_proxy_mutants",
        "fixtures",
    ):
        shutil.rmtree(place / folder / name)
    ours = distribution("mcp-proxy-conformance")
    about = place / "conformance" / f"mcp_proxy_conformance-{ours.version}.dist-info"
    about.mkdir()
    kept = [each for each in ours.entry_points if each.group == GROUP and each.name != name]
    lines = [f"[{GROUP}]", *(f"{each.name} = {each.value}" for each in kept)]
    (about / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
    (about / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {ours.name}\nVersion: {ours.version}\n", encoding="utf-8"
    )
    paths = os.pathsep.join(str(place / part) for part in ("conformance", "reference"))
    environment = os.environ | {"PYTHONPATH": paths}

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        """Run the command line with these words; TimeoutExpired after 100 s."""
        return subprocess.run(
            [sys.executable, "-m", "mcp_proxy_conformance", *words], cwd=place, env=environment,
            capture_output=True, text=True, check=False, timeout=100,
        )  # fmt: skip

    return run


@pytest.mark.parametrize(
    "name",
    [NAMES[0], *(pytest.param(name, marks=pytest.mark.proof(parts=2)) for name in NAMES[1:])],
)
def test_a_specification_can_be_left_out(name: str, tmp_path: Path) -> None:
    """Without its folders and its entry point the others are listed, linted and run as before."""
    ran = tree_without(name, tmp_path)

    listed, linted = ran("list", "checks"), ran("lint")
    others = {other: ran(*words.split()) for other, words in RUNS.items() if other != name}

    assert (listed.returncode, f"{name}/" in listed.stdout) == (0, False)
    assert linted.stderr.endswith("findings: 0\n"), linted.stdout
    assert {other: done.returncode for other, done in others.items()} == dict.fromkeys(others, 0)
    assert ran(*RUNS[name].split()).returncode != 0
