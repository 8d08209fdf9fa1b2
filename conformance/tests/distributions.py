"""Distributions laid out without an installer."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from mcp_proxy_conformance.catalogue.specification import GROUP


def laid_out(place: Path, name: str, version: str, named: Mapping[str, str]) -> None:
    """Write a distribution's metadata; `named` are its specifications: {name: `module:name`}."""
    about = place / f"{name.replace('-', '_')}-{version}.dist-info"
    about.mkdir()
    lines = [f"[{GROUP}]", *(f"{entry} = {at}" for entry, at in named.items()), ""]
    (about / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
    facts = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    (about / "METADATA").write_text(facts, encoding="utf-8")


def with_path(paths: Sequence[Path]) -> dict[str, str]:
    """Return the environment, with these folders on Python's path."""
    return os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths))}


def ran(
    words: Sequence[str], folder: Path, paths: Sequence[Path]
) -> subprocess.CompletedProcess[str]:
    """Run our command line in a folder; TimeoutExpired after 100 s."""
    return subprocess.run(
        [sys.executable, "-m", "mcp_proxy_conformance", *words], cwd=folder, env=with_path(paths),
        text=True, capture_output=True, check=False, timeout=100, stdin=subprocess.DEVNULL,
    )  # fmt: skip
