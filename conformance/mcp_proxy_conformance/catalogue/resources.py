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
    """Return the folder of the data files, a folder for each specification."""
    return _data() / "fixtures"


def case_files(specification: str) -> list[Path]:
    """Return the files of cases of a specification, one an area, sorted by name."""
    return sorted((fixtures_dir() / specification).glob("*.json"))


def schemas_dir() -> Path:
    """Return the folder of JSON Schemas (draft 2020-12)."""
    return _data() / "schemas"
