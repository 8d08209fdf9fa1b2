"""Lint of files with any bytes in them: it ends in findings, never in an exception."""

from __future__ import annotations

import json
from pathlib import Path

import needs
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sound_case import LOAD, SOUND, shipped_json

from mcp_proxy_conformance.authoring.linter import lint
from mcp_proxy_conformance.catalogue.resources import fixtures_dir

pytestmark = [needs.discovery, needs.resilience]
SEEDS = [*(json.dumps(data).encode() for data in (SOUND, shipped_json(LOAD))), *(
    (fixtures_dir() / name).read_bytes() for name in (
        "discovery/stages/scope.json", "resilience/page.json", "discovery/frozen.toml",
        "discovery/profiles/robustness.toml", "discovery/requirements/robustness.toml",
    )
)]  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=6), below),
    max_leaves=8,
)


@st.composite
def spliced(draw: st.DrawFn) -> bytes:
    """Draw the bytes of a shipped file, up to 40 of which are replaced by up to 8 others."""
    seed = draw(st.sampled_from(SEEDS))
    start = draw(st.integers(0, len(seed)))
    end = draw(st.integers(start, min(len(seed), start + 40)))
    return seed[:start] + draw(st.binary(max_size=8)) + seed[end:]


@st.composite
def replaced(draw: st.DrawFn) -> bytes:
    """Draw the bytes of a case, a stage or a file of cases, any JSON value as one member."""
    document = json.loads(draw(st.sampled_from(SEEDS[:4])))
    document[draw(st.sampled_from(sorted(document)))] = draw(JSON)
    return json.dumps(document).encode()


@pytest.mark.proof
@settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=st.binary(max_size=60) | spliced() | replaced(), suffix=st.sampled_from(["json", "toml"])
)
@example(data=b"[" * 100_000, suffix="json")
@example(data=b"a = " + b"[" * 100_000, suffix="toml")
@example(data=b'{"when": 1e999, "given": {"stage": "\\ud800"}}', suffix="json")
def test_no_bytes_break_it(data: bytes, suffix: str, tmp_path: Path) -> None:
    """`lint` of any bytes, as .json or .toml, raises nothing.

    Each finding has a line, a fault and a repair, in one line of text.
    """
    path = tmp_path / f"own-word.{suffix}"
    path.write_bytes(data)

    findings = lint([path]).findings

    assert [
        finding
        for finding in findings
        if finding.line < 1 or not finding.fault or not finding.repair
    ] == []
    assert [finding for finding in findings if "\n" in finding.in_words()] == []
