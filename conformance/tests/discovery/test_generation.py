"""Generated values: the same for the same seed, whatever modules are loaded."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
from hypothesis import strategies as st

from mcp_proxy_conformance.run.laws.generation import drawn


def test_the_values_of_a_seed_do_not_depend_on_the_modules_that_are_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By one seed, 300 integers are the same before and after a module with integers is loaded."""
    before = drawn(st.integers(), 300, seed=7)
    (tmp_path / "numbers_of_its_own.py").write_text(f"NUMBERS = {list(range(70_001, 70_400))}\n")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("numbers_of_its_own")

    after = drawn(st.integers(), 300, seed=7)

    assert after == before
