"""The selftest: forked jobs and their limits, rows of trials, `--full`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import needs
import pytest

from mcp_proxy_conformance.catalogue.resources import schemas_dir
from mcp_proxy_conformance.report.selftest import lines
from mcp_proxy_conformance.selftest import matrix
from mcp_proxy_conformance.selftest.document import of_rows
from mcp_proxy_conformance.selftest.forked_jobs import forked
from mcp_proxy_conformance.selftest.proof import proofs
from mcp_proxy_conformance.selftest.row import MatrixRow

COMMAND = [sys.executable, "-m", "mcp_proxy_conformance", "selftest"]


def selftest(report: Path, *arguments: str) -> tuple[subprocess.CompletedProcess[str], Any]:
    """Run `selftest --json` with these arguments; return (ended process, its document).

    The document is None if none was written. It raises TimeoutExpired after 110 s.
    """
    done = subprocess.run(
        [*COMMAND, "--json", str(report), *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
    )
    return done, json.loads(report.read_text(encoding="utf-8")) if report.exists() else None


def validate(document: Any) -> None:
    """Raise ValidationError unless the document fits the selftest's schema."""
    schema = json.loads((schemas_dir() / "selftest.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(document, schema, cls=jsonschema.Draft202012Validator)


def test_a_job_that_breaks_hangs_or_dies_costs_nothing_but_its_row(tmp_path: Path) -> None:
    """Of four forked jobs one returns its value; one raises, one exits with 9 and one hangs.

    Each of these three has its own failure, and all end within 30 s.
    """

    def work(job: str) -> str:
        """Raise, exit with 9 or sleep for 60 s if the job says so, else return it in capitals."""
        if job == "raises":
            raise ValueError("boom")
        if job == "dies":
            os._exit(9)
        if job == "hangs":
            time.sleep(60)
        return job.upper()

    began = time.monotonic()
    outcomes = {
        o.job: o for o in forked(work, ["fine", "raises", "dies", "hangs"], tmp_path, limit_s=1)
    }

    assert outcomes["fine"].value == "FINE"
    assert "ValueError: boom" in outcomes["raises"].failure
    assert outcomes["dies"].failure == "its process ended with the code 9"
    assert outcomes["hangs"].failure.startswith("it did not end within")
    assert time.monotonic() - began < 30


def test_a_job_that_is_late_may_end_what_it_started(tmp_path: Path) -> None:
    """A forked job that exceeds its limit gets SIGTERM, and has time to act on it.

    Its outcome is a failure.
    """

    def work(job: str) -> None:
        """Sleep for 60 s; on SIGTERM write a file named after the job, then exit."""
        signal.signal(signal.SIGTERM, lambda *_: sys.exit((tmp_path / job).write_text("asked")))
        time.sleep(60)

    (outcome,) = forked(work, ["late"], tmp_path / "jobs", limit_s=0.5)

    assert outcome.failure.startswith("it did not end within")
    assert (tmp_path / "late").read_text(encoding="utf-8") == "asked"


@needs.discovery
def test_it_prints_what_each_row_came_to(tmp_path: Path) -> None:
    """`selftest` on four ids exits with 0: two mutants are killed and two controls behave.

    The mutants are convicted of the clause that they are for; the document is valid.
    """
    chosen = ("block-has-an-example", "false-spaced", "echo", "web-page")

    done, document = selftest(tmp_path / "self.json", *(f"--only={name}" for name in chosen))

    validate(document)
    cells = {row["id"]: row["cell"] for row in document["rows"]}
    assert cells == {
        "block-has-an-example": "killed",
        "false-spaced": "killed",
        "echo": "behaved",
        "web-page": "behaved",
    }
    assert done.returncode == 0
    assert "all trials went as expected" in done.stdout
    mutants = [row for row in document["rows"] if row["cell"] == "killed"]
    assert [row["id"] for row in mutants if row["clauses"][0] not in row["convicted"]] == []


@pytest.mark.proof
def test_in_full_checks_that_a_mutant_needs_are_listed(tmp_path: Path) -> None:
    """With `selftest --full` the only killer of a mutant is in `alone`, and no check is spare.

    A mutant that needs --soak is not tried, and its row says so.
    """
    done, document = selftest(
        tmp_path / "self.json", "--full", "--only=no-query-breaks", "--only=dropped-in-time"
    )

    validate(document)
    rows = {row["id"]: row for row in document["rows"]}
    assert {name: row["cell"] for name, row in rows.items()} == {
        "no-query-breaks": "killed",
        "dropped-in-time": "needs --soak",
    }
    assert done.returncode == 0
    assert document["alone"] == rows["no-query-breaks"]["by"]
    assert document["spare"] == []


def test_a_check_whose_kills_others_share_is_spare() -> None:
    """With `full`, a check that is the only killer of some mutant is `alone`, any other `spare`.

    Without it both lists are empty.
    """
    killers = {"one": ("test_a", "test_b"), "two": ("test_a",), "three": ("test_b", "test_c")}
    rows = [
        MatrixRow(id=name, kind="fault", text="", clauses=(), cell="killed", by=by)
        for name, by in killers.items()
    ]

    full, less = of_rows(rows, full=True), of_rows(rows, full=False)

    assert (full["alone"], full["spare"]) == (["test_a"], ["test_b", "test_c"])
    assert (less["alone"], less["spare"]) == ([], [])


@needs.resilience
@pytest.mark.usefixtures("few_scenarios")
def test_a_mutant_is_killed_by_a_finding_on_the_clause_that_it_is_for(tmp_path: Path) -> None:
    """A mutant that is convicted of another clause only is killed for another reason.

    It is one of a loader, since all checks run on a mutant that its own do not kill.
    """
    (known,) = (
        trial for trial in proofs()["resilience"].mutants if trial.changed.id == "exact-phrase-only"
    )
    other = "O1.one-each"
    trials = [known, replace(known, clauses=(other, *known.clauses))]

    cells = [row.cell for row in matrix.rows(trials, tmp_path, full=False)]

    assert cells == ["killed", "killed for another reason"]


def test_with_full_it_tells_what_kills_and_what_is_convicted_beside() -> None:
    """Killed mutants are counted by the kinds of their killers, and by clauses not their own."""
    row = MatrixRow(id="one", kind="fault", text="It.", clauses=("A", "B"), cell="killed")
    rows = [
        replace(row, convicted=("A", "C", "D"), sources=("cases", "laws")),
        replace(row, id="two", convicted=("A", "B"), sources=("laws",)),
        replace(row, id="three", cell="survived", convicted=("C",)),
    ]

    told = lines(of_rows(rows, full=True))

    assert told[2:4] == [
        "  2 mutants are killed by laws 2, cases 1, checks 0",
        "  1 are convicted of clauses that they do not name, on average of 1.00",
    ]
    assert not any("killed by" in line for line in lines(of_rows(rows, full=False)))


def test_an_unknown_name_is_refused(tmp_path: Path) -> None:
    """`selftest --only` with an unknown id ends with exit 2 and names it; nothing is tried."""
    done, document = selftest(tmp_path / "self.json", "--only=no-such-fault")

    assert (done.returncode, document) == (2, None)
    assert "'no-such-fault'" in done.stderr
