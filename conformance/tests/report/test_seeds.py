"""The seeds of a record, reports of our own programs: their size, and the site that they make."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from site_links import broken_links

from mcp_proxy_conformance.cli import main
from mcp_proxy_conformance.report.site.folder import read_record
from mcp_proxy_conformance.report.site.history import pairs
from mcp_proxy_conformance.report.site.pages import pages
from mcp_proxy_conformance.report.site.positions import disagreements, positions

SEEDS = Path(__file__).with_name("record")
BRIEF_BYTES, SITE_BYTES, SECONDS = 200_000, 10_000_000, 10.0


def test_there_are_enough_and_each_is_brief() -> None:
    """There are at least 20 reports, of at most 200 kB each; no run of them broke."""
    files = list(SEEDS.glob("*/*/report.json"))

    assert len(files) >= 20
    assert max(path.stat().st_size for path in files) <= BRIEF_BYTES
    assert {build.report.exit for build in read_record(SEEDS).builds} <= {0, 1}


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


def test_the_table_of_relays_in_the_page_is_what_its_command_prints() -> None:
    """RELAYS.md has just those rows of `report --compare` on four seeds in which they differ."""
    builds = (
        "reference-relay/1.0.0",
        "worded-relay/1.2.0",
        "short-relay/2.1.0",
        "loose-relay/0.4.0",
    )
    files = [str(SEEDS / build / "report.json") for build in builds]
    page = (Path(__file__).parents[3] / ".github" / "RELAYS.md").read_text(encoding="utf-8")
    shown = page.partition("## Several relays")[2].partition("## Published")[0]

    done = CliRunner().invoke(main, ["report", "--compare", *files, "--format", "markdown"])

    rows = [line for line in done.stdout.splitlines() if line.startswith("|")]
    unlike = [line for line in rows if line.endswith("≠ |") or "fails" in line]
    assert [
        line for line in shown.splitlines() if line.endswith("≠ |") or "fails" in line
    ] == unlike
