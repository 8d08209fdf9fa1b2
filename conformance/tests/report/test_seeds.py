"""The seeds of a record, reports of our own programs: their size, and the site that they make."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from site_links import broken_links

from mcp_proxy_conformance.report.site.folder import read_record
from mcp_proxy_conformance.report.site.history import pairs
from mcp_proxy_conformance.report.site.pages import pages
from mcp_proxy_conformance.report.site.positions import disagreements, positions

SEEDS = Path(__file__).with_name("record")
BRIEF_BYTES, SITE_BYTES, SECONDS = 200_000, 10_000_000, 10.0


def test_there_are_enough_and_each_is_brief() -> None:
    """There are at least 20 reports, of at most 200 kB each."""
    sizes = [path.stat().st_size for path in SEEDS.glob("*/*/report.json")]

    assert len(sizes) >= 20
    assert max(sizes) <= BRIEF_BYTES


@pytest.mark.proof
def test_they_make_a_small_site_in_time() -> None:
    """The site has at most 10 MB, takes at most 10 s of a processor, and every link leads on.

    Made twice, it has the same bytes.
    """
    began = time.process_time()
    files = pages(read_record(SEEDS))
    seconds = time.process_time() - began

    assert seconds <= SECONDS
    assert sum(map(len, files.values())) <= SITE_BYTES
    assert broken_links(files) == []
    assert files == pages(read_record(SEEDS))


@pytest.mark.proof
def test_they_show_history_and_disagreements() -> None:
    """Some builds regress and some mend; each kind of target is there; clauses are disputed."""
    record = read_record(SEEDS)
    steps = [step for name in record.implementations for step in pairs(record.of(name))]

    assert {build.report.target.kind for build in record.builds} == {
        "reference", "command", "loader", "relay",
    }  # fmt: skip
    assert any(step.regressions for step in steps)
    assert any(step.mends for step in steps)
    assert len(disagreements(positions(record))) >= 3
    notes = {note.kind for build in record.builds for note in build.notes}
    assert {"partial", "deviations"} <= notes
