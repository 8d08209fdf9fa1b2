"""--only, --check, --quick, --fail-fast, --quiet, --verbose: what is judged, printed, refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import needs
import pytest
from click.testing import CliRunner, Result

from mcp_proxy_conformance.catalogue.requirement import UnknownClause, catalogue
from mcp_proxy_conformance.cli import main

NEVER = ["--timeout-signature", "what nobody ever sends"]
"""A signature unknown to the reference's loader: T4.declared is broken."""
DECLARED = "test_load_case[authorization-declared]"


def run(out: Path, *words: str) -> tuple[Result, dict[str, Any]]:
    """Run `run` with these words into `out`; return (result, report), {} without a report."""
    done = CliRunner().invoke(main, ["run", *words, "--out", str(out)])
    path = out / "report.json"
    return done, json.loads(path.read_bytes()) if path.exists() else {}


def observed(report: dict[str, Any]) -> set[str]:
    """Return the clauses that have at least one result in the report."""
    return {clause["id"] for clause in report["clauses"] if clause["results"]}


@needs.discovery
def test_a_requirement_is_all_of_its_clauses() -> None:
    """`meant` of a requirement are all of its clauses, of a clause itself.

    Any other id raises UnknownClause, which names the nearest.
    """
    assert catalogue().meant("FR-006.cap") == ("FR-006.cap",)
    assert {"FR-006.cap", "FR-006.fills"} < set(catalogue().meant("FR-006"))
    with pytest.raises(UnknownClause, match=r"'FR-06'; the nearest is 'FR-006'"):
        catalogue().meant("FR-06")


@needs.resilience
@pytest.mark.proof
def test_only_what_is_asked_for_is_judged(tmp_path: Path) -> None:
    """A run with --only a requirement, and --only a clause, judges these alone: partial, exit 0.

    The last line says so, and names the report.
    """
    done, report = run(tmp_path, "loader", "--only", "T1", "--only", "D1.denied")

    last_line = done.stdout.splitlines()[-1]
    assert (done.exit_code, report["headline"], report["complete"]) == (0, "partial", False)
    assert {"T1.timeout", "T1.retried", "D1.denied"} <= observed(report)
    assert not {"O1.one", "N2.none"} & observed(report)
    assert last_line.startswith("partial: judged clauses: ")
    assert f"exit 0; report: {tmp_path / 'report.json'}" in last_line


@pytest.mark.proof
def test_a_quick_run_is_of_one_world(tmp_path: Path) -> None:
    """With --quick all checks of the stage `mixed` run, and no others: partial, exit 0."""
    done, report = run(tmp_path, "reference", "--quick")

    assert (done.exit_code, report["headline"]) == (0, "partial")
    assert {result["stage"] for result in report["results"]} == {"mixed"}
    assert {"FR-001.reveals-config", "FR-004.precedence", "FR-005.keys"} <= observed(report)


@pytest.mark.proof
def test_what_nobody_asked_for_is_left_out(tmp_path: Path) -> None:
    """With --only a clause that passes, no clause is inconclusive; exit 0."""
    done, report = run(tmp_path, "reference", "--only", "FR-006.cap")

    verdicts = {clause["id"]: (clause["verdict"], clause["cause"]) for clause in report["clauses"]}
    assert done.exit_code == 0
    assert verdicts["FR-006.cap"] == ("pass", "")
    assert "inconclusive" not in {verdict for verdict, _ in verdicts.values()}
    assert "1 inconclusive" not in done.stdout


@needs.resilience
def test_a_part_that_is_broken_is_violated(tmp_path: Path) -> None:
    """With --only a broken clause the run is violated, exit 1, and says how to reproduce it.

    The last line counts the clauses that were not run.
    """
    done, report = run(tmp_path, "loader", *NEVER, "--only", "T4.declared")

    last_line = done.stdout.splitlines()[-1]
    assert (done.exit_code, report["headline"]) == (1, "violated")
    assert "clauses fails (T4.declared); " in last_line
    assert "others were not run; exit 1" in last_line
    assert (
        f"Reproduce with: mcp-proxy-conformance run loader {NEVER[0]} '{NEVER[1]}'" in done.stdout
    )
    assert f"--check '{DECLARED}'" in done.stdout


@needs.discovery
@needs.resilience
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--only", "FR-06"], "no requirement or clause 'FR-06'; the nearest is 'FR-006'"),
        (["--only", "T1"], "the profile discovery+robustness has no clause of T1; name a"),
        (["--only", "FR-006", "--only", ""], "no requirement or clause ''"),
        (["--check", "test_nothing_of_that_name"], "there is no check or case"),
        (
            ["--check", "FR-009.note"],
            "'FR-009.note' is a clause, not a check; use --only FR-009.note",
        ),
        (["--check", "FR-009"], "'FR-009' is a requirement, not a check; use --only FR-009"),
        (["--quiet", "--verbose"], "contradict each other; leave one out"),
        (
            ["loader", "--quick"],
            "--quick is a part of a proxy's run; choose a loader's with --only",
        ),
    ],
)
def test_a_choice_that_cannot_be_meant_is_refused(
    words: list[str], sentence: str, tmp_path: Path
) -> None:
    """An unknown, unfit or contradictory selection exits with 2 and one sentence; no report."""
    done, report = run(tmp_path, *words)

    assert (done.exit_code, report) == (2, {})
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1


@needs.discovery
def test_counts_of_locks_that_no_capability_lays_do_not_apply(tmp_path: Path) -> None:
    """A case of counts whose locks need `config` is not applicable without that capability."""
    case = "test_the_listing_counts_tools_by_reason[counts-five-hundred]"

    _, report = run(tmp_path, f"--check={case}", "--capabilities=user,quarantine")

    assert {result["verdict"] for result in report["results"]} == {"not_applicable"}


@needs.resilience
def test_checks_and_cases_can_be_named_together(tmp_path: Path) -> None:
    """With --check twice, a case and a check with its case, exactly these two cases are run."""
    names = ["denied-forbidden", DECLARED]

    _, report = run(tmp_path, "loader", *(word for name in names for word in ("--check", name)))

    assert {result["case"] for result in report["results"]} == {
        "denied-forbidden",
        "authorization-declared",
    }


@needs.resilience
@pytest.mark.proof(parts=6)
def test_a_run_can_end_at_its_first_failure(tmp_path: Path) -> None:
    """With --fail-fast a run ends at its first failure, exit 1; later checks are not run.

    The report has all results so far, and says so of the other clauses.
    """
    done, report = run(tmp_path, "loader", *NEVER, "--fail-fast")

    last = report["results"][-1]
    unseen = [clause for clause in report["clauses"] if not clause["results"]]
    assert (done.exit_code, report["exit"], report["complete"]) == (1, 1, False)
    assert (last["verdict"], last["clauses"]) == ("fail", ["T4.declared"])
    assert {clause["reason"] for clause in unseen} == {"the run ended before it was observed"}
    assert [result["verdict"] for result in report["results"]].count("fail") == 1
    assert (
        f"{len([clause for clause in unseen if clause['level'] == 'required'])} not run"
        in done.stdout
    )


@needs.discovery
@pytest.mark.parametrize(("words", "heard"), [([], 1), (["--quiet"], 0), (["--verbose"], 1)])
def test_progress_is_a_few_plain_lines_where_there_is_no_terminal(
    words: list[str], heard: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a terminal, standard error has the number of checks, in plain lines.

    With --quiet it has not, and standard output is one line.
    """
    monkeypatch.delenv("FORCE_COLOR", raising=False)

    done, _ = run(tmp_path, "reference", "--check", "limits-11-at-10", *words)

    counts = [line for line in done.stderr.splitlines() if line.startswith("1 of 1 checks, 0:")]
    assert (done.exit_code, len(counts)) == (0, heard)
    assert done.stdout.splitlines()[-1].endswith(f"; report: {tmp_path / 'report.json'}")
    assert "\x1b" not in done.stdout + done.stderr
    assert (len(done.stdout.splitlines()) == 1) is ("--quiet" in words)
