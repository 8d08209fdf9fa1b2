"""Resources of the package: folders of fixtures, schemas and checks, installed or in a checkout."""

from __future__ import annotations

from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
LOGS = "logs"
"""Folder beside the report for the output of targets."""


@cache
def _data() -> Path:
    """Return the folder that has fixtures and schemas: the package's, or a checkout's top."""
    packaged = PACKAGE / "data"
    return packaged if packaged.is_dir() else PACKAGE.parents[1]


def fixtures_dir() -> Path:
    """Return the folder of requirement catalogues, profiles, stages and cases."""
    return _data() / "fixtures"


def case_files(kind: str) -> list[Path]:
    """Return the files of cases of a kind, one an area, sorted by name.

    The kinds are `discovery`, `resilience` (load) and `fidelity` (relay).
    """
    return sorted((fixtures_dir() / kind).glob("*.json"))


def target_files(kind: str) -> dict[str, Path]:
    """Return the target files of known loaders or relays (`kind`) by their names, in order."""
    files = {file.stem: file for file in (fixtures_dir() / "targets" / kind).glob("*.toml")}
    return dict(sorted(files.items()))


def schemas_dir() -> Path:
    """Return the folder of JSON Schemas (draft 2020-12)."""
    return _data() / "schemas"
