"""Runs of a proxy with known failures: waived, stale, expired or unknown ones; and --fail-on."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import needs
import pytest
from click.testing import Result
from faulty import with_faults
from hostile_kinds import KINDS
from hostile_target import serving
from known_failures import FLAG, QUERY, command, reported, write

from mcp_proxy_conformance.discovery.targets import kinds
from mcp_proxy_conformance.verdict.deviations.deviation import FILE


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Change to an empty temporary folder for each test."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that bends the reference, in this test, by the mutants of these ids."""

    def give(*names: str) -> None:
        """Replace the reference by one with the mutants of these ids."""
        monkeypatch.setattr(kinds, "REFERENCE", with_faults(*names))

    return give


def run(*arguments: str, profile: str = "robustness") -> tuple[Result, dict[str, Any]]:
    """Run `run reference --out out` with these words; return (result, report).

    The report must fit its schema; it is {} if none is written. An earlier one is removed before.
    """
    Path("out", "report.json").unlink(missing_ok=True)
    words = ["run", "reference", "--profile", profile, "--out", "out", *arguments]
    done = command(*words)
    return done, reported(Path("out", "report.json"))


def last(done: Result) -> str:
    """Return the last line that the command printed on standard output."""
    return done.stdout.splitlines()[-1]


@needs.resilience
def test_a_run_whose_only_failures_are_known_passes_and_is_not_called_conformant(
    broken: Any,
) -> None:
    """A run whose failures are all known exits with 0, `passes with 2 deviations`.

    Their clauses are waived. The report has each entry's line, state and number of results.
    """
    broken(FLAG, QUERY)
    write("ROB.flag", "test_any_text_can_be_a_query", "T1.timeout")

    done, report = run()

    verdicts = {clause["id"]: clause["verdict"] for clause in report["clauses"]}
    states = [(waiver["line"], waiver["state"], waiver["results"]) for waiver in report["waivers"]]
    assert (done.exit_code, report["exit"], report["headline"]) == (
        0,
        0,
        "passes with 2 deviations",
    )
    assert (verdicts["ROB.flag"], verdicts["ROB.query"], verdicts["ROB.tools"]) == (
        "waived",
        "waived",
        "pass",
    )
    assert states == [(1, "used", 1), (6, "used", 1), (11, "unobserved", 0)]
    assert report["waivers"][0]["file"] == FILE
    assert last(done).startswith("passes with 2 deviations: waived: ROB.query, ROB.flag")
    assert "conformant:" not in done.stdout


def test_one_failure_that_is_known_excuses_no_other(broken: Any) -> None:
    """Of two broken clauses the file of --deviations names one: exit 1 for the other."""
    broken(FLAG, QUERY)
    write("ROB.flag", name="known.toml")

    done, report = run("--deviations", "known.toml")

    assert (done.exit_code, report["why"]) == (1, "broken: ROB.query")
    assert report["waivers"][0]["file"] == "known.toml"


def test_an_entry_that_names_what_passes_is_stale() -> None:
    """In a whole run, a known failure whose clause passes is stale: exit 5 with its file and line.

    In a run of one check that does not observe it, it is not: exit 0.
    """
    write("ROB.query", "ROB.flag")

    whole, report = run()
    part, _ = run("--check", "test_any_text_can_be_a_query")

    assert (whole.exit_code, report["exit"]) == (5, 5)
    assert f"{FILE}:6: ROB.flag passes now; take the entry out" in whole.stdout
    assert (part.exit_code, "not observed    ROB.query" in part.stdout) == (0, True)


@pytest.mark.parametrize(
    ("text", "exit_code", "words"),
    [
        ("id = 1", 2, f"{FILE}:1: unknown member 'id'; known: deviation"),
        ("ROB.flags", 5, f"{FILE}:2: there is no clause, check or case 'ROB.flags'"),
        ("ROB.tools~text", 5, f"{FILE}:2: ROB.tools~text is advisory and never counts"),
    ],
)
def test_a_file_that_cannot_be_used_is_reported_before_anything_is_started(
    text: str, exit_code: int, words: str
) -> None:
    """An unusable file of known failures ends `run` with one sentence, before a target is started.

    Exit 2 if it is malformed, 5 for an unknown or advisory id. An earlier report is removed.
    """
    write(text)
    if exit_code == 2:
        Path(FILE).write_text(text, encoding="utf-8")
    Path("out").mkdir()
    Path("out", "report.json").write_text("{}", encoding="utf-8")

    done = command("run", "reference", "--out", "out")

    assert (done.exit_code, done.stdout) == (exit_code, "")
    assert done.stderr.startswith(words)
    assert not Path("out", "report.json").exists()


def test_an_expired_entry_is_reported_before_anything_is_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On the day after an entry's `expires`, `run` exits with 5 and its line.

    Nothing is started.
    """
    write("ROB.flag", expires="2026-11-22")
    monkeypatch.setattr(
        "mcp_proxy_conformance.verdict.deviations.reader.today", lambda: date(2026, 11, 23)
    )

    done, report = run()

    assert (done.exit_code, report) == (5, {})
    assert (
        done.stderr
        == f"{FILE}:5: ROB.flag expired on 2026-11-22; fix the failure or set a new date\n"
    )


def test_a_file_that_is_named_must_be_there() -> None:
    """--deviations with a missing file exits with 2 and names it."""
    done, _ = run("--deviations", "nowhere.toml")

    assert (done.exit_code, "nowhere.toml:1: cannot be read" in done.stderr) == (2, True)


def test_a_case_that_a_check_has_not_ends_the_run_before_its_first_check() -> None:
    """An entry for a case that its check lacks ends `run` with 5 before any check.

    The reason names the nearest case.
    """
    check = "test_a_server_of_a_similar_name_is_beyond_the_scope"
    write(f"{check}[lonk]")

    done, report = run(profile="discovery")

    nearest = f"the nearest is '{check}[long]'"
    assert (done.exit_code, report["results"], report["headline"]) == (5, [], "unknown deviation")
    assert report["why"] == f"{FILE}:1: there is no case '{check}[lonk]'; {nearest}"


@pytest.mark.proof
def test_a_file_that_is_begun_from_a_report_makes_its_run_pass(broken: Any) -> None:
    """A file that `deviations init` begins from a failed run ends `run` with 2.

    Once its reasons and issues are filled in, the run passes, exit 0.
    """
    broken(FLAG, QUERY)
    failed, _ = run()
    begun = command("deviations", "init", "out/report.json")
    unfilled, _ = run()
    text = Path(FILE).read_text(encoding="utf-8")
    text = text.replace('reason = ""', 'reason = "Known since the rewrite."')
    Path(FILE).write_text(
        text.replace('issue = ""', 'issue = "https://example.com/1"'), encoding="utf-8"
    )
    filled, _ = run()

    codes = [ended.exit_code for ended in (failed, begun, unfilled, filled)]
    assert codes == [1, 0, 2, 0]
    assert f"{FILE}:8: reason gives no reason" in unfilled.stderr


@pytest.mark.parametrize(
    ("options", "exit_code", "line"),
    [
        ([], 4, "exit 4"),
        (["--fail-on", "incomplete"], 4, "exit 4"),
        (
            ["--fail-on", "violated"],
            0,
            "exit 0 because of --fail-on violated, otherwise 4",
        ),
    ],
)
def test_what_is_incomplete_may_pass_the_gate_of_who_asks_for_it(
    options: list[str], exit_code: int, line: str
) -> None:
    """A `run endpoint` that is incomplete exits with 4, or with 0 by --fail-on violated.

    The report has 4 in both; the last line says that the option changed the code.
    """
    with serving(KINDS["1e999"]()) as url:
        words = ["run", "endpoint", "--url", url, "--rate", "10000", "--out", "out"]
        done = command(*words, *options)

    assert (done.exit_code, reported(Path("out", "report.json"))["exit"]) == (exit_code, 4)
    assert last(done).startswith("incomplete: ")
    assert f"; {line}; report: " in last(done)


@pytest.mark.proof
def test_nothing_but_incompleteness_is_softened(broken: Any) -> None:
    """With --fail-on violated, the exit codes 1, 2, 3 and 5 stay as they are."""
    soft = ["--fail-on", "violated"]
    write("ROB.query")
    stale, _ = run(*soft)
    unreadable, _ = run(*soft, "--deviations", "nowhere.toml")
    dead = command("run", "command", *soft, "--out", "out", "--", "/no/such")
    Path(FILE).unlink()
    broken(FLAG)
    violated, _ = run(*soft)

    codes = [ended.exit_code for ended in (violated, unreadable, dead, stale)]
    assert codes == [1, 2, 3, 5]


@pytest.mark.parametrize(
    "options",
    [
        ("--check", "test_any_text_can_be_a_query[of-no-case]"),
        ("--check", "test_any_text_can_be_a_query", "--profile", "discovery"),
        ("--shard", "500/500"),
        ("--shard", "500/500", "-n", "2"),
    ],
)
def test_a_run_that_judged_nothing_passes_no_gate(options: tuple[str, ...]) -> None:
    """A run in which no check was judged exits with 4, with --fail-on violated, too."""
    done, report = run(*options, "--fail-on", "violated")

    assert (done.exit_code, report["results"]) == (4, [])
    assert "; exit 4; report: " in last(done)
