"""Runs with known failures: a proxy, a loader and an endpoint with faults, by the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner, Result
from faulty import with_faults
from told_runs import report, result

from mcp_proxy_conformance.cli import main
from mcp_proxy_conformance.counterexamples.live_trial import endpoint_of, seeded, tried_live
from mcp_proxy_conformance.counterexamples.trial import tried
from mcp_proxy_conformance.deviations import reading
from mcp_proxy_conformance.deviations.deviation import FILE
from mcp_proxy_conformance.given import Given
from mcp_proxy_conformance.resources import schemas_dir
from mcp_proxy_conformance.target import kinds
from mcp_proxy_conformance.target.embedded import embedded
from mcp_proxy_reference.faults import faults

FLAG, QUERY = "listed-flag-breaks", "quote-ends-the-search"
"""Faults of the reference that break ROB.flag and ROB.query alone."""
Write = Callable[..., None]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Writes the file of known failures into the working folder, an entry an id."""
    monkeypatch.chdir(tmp_path)

    def entry(wanted: str, expires: str) -> str:
        return (
            f'[[deviation]]\nid = "{wanted}"\nreason = "Known since the rewrite."\n'
            f'issue = "https://example.com/1"\nexpires = {expires}\n'
        )

    def written(*ids: str, name: str = FILE, expires: str = "2999-01-02") -> None:
        Path(name).write_text("".join(entry(one, expires) for one in ids), encoding="utf-8")

    return written


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Gives the reference these faults."""

    def give(*names: str) -> None:
        monkeypatch.setattr(kinds, "REFERENCE", with_faults(*names))

    return give


def run(*arguments: str, profile: str = "robustness") -> tuple[Result, dict[str, Any]]:
    """A run of the reference: what it printed, and its report, which is valid."""
    Path("out", "report.json").unlink(missing_ok=True)
    words = ["run", "reference", "--profile", profile, "--out", "out", *arguments]
    done = CliRunner().invoke(main, words)
    return done, reported(Path("out", "report.json"))


def reported(path: Path) -> dict[str, Any]:
    """The report if there is one, valid under its schema."""
    if not path.exists():
        return {}
    report: dict[str, Any] = json.loads(path.read_bytes())
    schema = json.loads((schemas_dir() / "report.schema.json").read_bytes())
    jsonschema.validate(report, schema, cls=jsonschema.Draft202012Validator)
    return report


def last(done: Result) -> str:
    """The last line that was printed."""
    return done.stdout.splitlines()[-1]


def test_a_run_whose_only_failures_are_known_passes_and_is_not_called_conformant(
    write: Write, broken: Any
) -> None:
    """Exit 0 under a headline of its own; the report tells what was used."""
    broken(FLAG, QUERY)
    write("ROB.flag", "test_any_text_can_be_a_query", "T1.timeout")

    done, report = run()

    verdicts = {one["id"]: one["verdict"] for one in report["clauses"]}
    states = [(one["line"], one["state"], one["results"]) for one in report["waivers"]]
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


def test_one_failure_that_is_known_excuses_no_other(write: Write, broken: Any) -> None:
    """Exit 1 for what no entry names."""
    broken(FLAG, QUERY)
    write("ROB.flag", name="known.toml")

    done, report = run("--deviations", "known.toml")

    assert (done.exit_code, report["why"]) == (1, "broken: ROB.query")
    assert report["waivers"][0]["file"] == "known.toml"


def test_an_entry_that_names_what_passes_is_stale(write: Write) -> None:
    """Exit 5 with its line, once a whole run has seen it pass; a part of one is no reason."""
    write("ROB.query", "ROB.flag")

    whole, report = run()
    part, _ = run("--check", "test_any_text_can_be_a_query")

    assert (whole.exit_code, report["exit"]) == (5, 5)
    assert f"{FILE}:6: ROB.flag passes now; take the entry out" in whole.stdout
    assert (part.exit_code, "not observed    ROB.query" in part.stdout) == (4, True)


@pytest.mark.parametrize(
    ("text", "exit_code", "words"),
    [
        ("id = 1", 2, f"{FILE}:1: there is no 'id'; known: deviation"),
        ("ROB.flags", 5, f"{FILE}:2: there is no clause, check or case 'ROB.flags'"),
        ("ROB.tools~text", 5, f"{FILE}:2: ROB.tools~text is advisory and never counts"),
    ],
)
def test_a_file_that_cannot_be_used_is_told_before_anything_is_started(
    write: Write, text: str, exit_code: int, words: str
) -> None:
    """One sentence, and no report of an earlier run is left."""
    write(text)
    if exit_code == 2:
        Path(FILE).write_text(text, encoding="utf-8")
    Path("out").mkdir()
    Path("out", "report.json").write_text("{}", encoding="utf-8")

    done = CliRunner().invoke(main, ["run", "reference", "--out", "out"])

    assert (done.exit_code, done.stdout) == (exit_code, "")
    assert done.stderr.startswith(words)
    assert not Path("out", "report.json").exists()


def test_an_expired_entry_is_told_before_anything_is_started(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit 5 from the day after its last."""
    write("ROB.flag", expires="2026-11-22")
    monkeypatch.setattr(reading, "today", lambda: date(2026, 11, 23))

    done, report = run()

    assert (done.exit_code, report) == (5, {})
    assert (
        done.stderr == f"{FILE}:5: ROB.flag has expired on 2026-11-22; mend it or set a new date\n"
    )


def test_a_file_that_is_named_must_be_there(write: Write) -> None:
    """Exit 2; without a name none has to be."""
    del write
    done, _ = run("--deviations", "nowhere.toml")

    assert (done.exit_code, "nowhere.toml:1: cannot be read" in done.stderr) == (2, True)


def test_a_case_that_a_check_has_not_ends_the_run_before_its_first_check(write: Write) -> None:
    """Exit 5; the cases of a check are known when all are collected."""
    check = "test_no_more_locked_tools_come_back_than_the_limit_or_ten"
    write(f"{check}[99]")

    done, report = run(profile="discovery")

    nearest = f"the nearest is '{check}[9]'"
    assert (done.exit_code, report["results"], report["headline"]) == (5, [], "unknown deviation")
    assert report["why"] == f"{FILE}:1: there is no '{check}[99]'; {nearest}"


def test_a_file_that_is_begun_from_a_report_makes_its_run_pass(write: Write, broken: Any) -> None:
    """Once its reasons and issues are filled in, and not before."""
    del write
    broken(FLAG, QUERY)
    failed, _ = run()
    begun = CliRunner().invoke(main, ["deviations", "init", "out/report.json"])
    unfilled, _ = run()
    text = Path(FILE).read_text(encoding="utf-8")
    text = text.replace('reason = ""', 'reason = "Known since the rewrite."')
    Path(FILE).write_text(
        text.replace('issue = ""', 'issue = "https://example.com/1"'), encoding="utf-8"
    )
    filled, _ = run()

    codes = [one.exit_code for one in (failed, begun, unfilled, filled)]
    assert codes == [1, 0, 2, 0]
    assert f"{FILE}:7: reason says nothing" in unfilled.stderr


@pytest.mark.parametrize(
    ("name", "line"), [(FILE, "run"), ("my known.toml", "run --deviations 'my known.toml'")]
)
def test_what_begins_a_file_says_how_a_run_reads_it(
    write: Write, tmp_path: Path, name: str, line: str
) -> None:
    """One of another name is read by runs that name it alone."""
    del write
    path = tmp_path / "report.json"
    path.write_text(json.dumps(report(result("fail"))), encoding="utf-8")

    done = CliRunner().invoke(main, ["deviations", "init", str(path), "--out", name])

    told = f"{name}: fill in each reason and issue, then: mcp-proxy-conformance {line}\n"
    assert (done.exit_code, done.output) == (0, told)


@pytest.mark.parametrize(
    ("options", "exit_code", "line"),
    [
        ([], 4, "exit 4"),
        (["--fail-on", "incomplete"], 4, "exit 4"),
        (
            ["--fail-on", "violated"],
            0,
            "exit 0 because of --fail-on violated, the report's own is 4",
        ),
    ],
)
def test_what_is_incomplete_may_pass_the_gate_of_who_asks_for_it(
    write: Write, options: list[str], exit_code: int, line: str
) -> None:
    """The report keeps the true exit code."""
    del write
    done, report = run("--check", "test_any_text_can_be_a_query", *options)

    assert (done.exit_code, report["exit"]) == (exit_code, 4)
    assert last(done).startswith("partial: ")
    assert f"; {line}; report: " in last(done)


def test_nothing_but_incompleteness_is_softened(write: Write, broken: Any) -> None:
    """1, 2, 3 and 5 stay, whatever --fail-on says."""
    soft = ["--fail-on", "violated"]
    write("ROB.query")
    stale, _ = run(*soft)
    unreadable, _ = run(*soft, "--deviations", "nowhere.toml")
    dead = CliRunner().invoke(main, ["run", "command", *soft, "--out", "out", "--", "/no/such"])
    Path(FILE).unlink()
    broken(FLAG)
    violated, _ = run(*soft)

    codes = [one.exit_code for one in (violated, unreadable, dead, stale)]
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
def test_a_run_that_judged_nothing_passes_no_gate(write: Write, options: tuple[str, ...]) -> None:
    """Exit 4, also for those who ask for violations alone."""
    del write
    done, report = run(*options, "--fail-on", "violated")

    assert (done.exit_code, report["results"]) == (4, [])
    assert "; exit 4; report: " in last(done)


def test_a_loader_has_known_failures_too(write: Write, tmp_path: Path) -> None:
    """One that drops tools breaks two clauses, which are waived, and nothing else."""
    program = tmp_path / "loader.py"
    program.write_text(LOADER, encoding="utf-8")
    write("O3.loaded", "O3.own-tools", "O1.one-each")

    done = CliRunner().invoke(
        main,
        ["run", "loader", "--profile", "resilience-basic", "--out", "out", "--examples", "1",
         "--command", f"{sys.executable} {program}"],
    )  # fmt: skip

    report = reported(Path("out", "report.json"))
    waived = {one["id"] for one in report["clauses"] if one["verdict"] == "waived"}
    states = [one["state"] for one in report["waivers"]]
    assert (waived, states) == ({"O3.loaded", "O3.own-tools"}, ["used", "used", "stale"])
    assert done.exit_code == 5


LOADER = """
import json, sys
from mcp_proxy_reference.load import answered

for line in sys.stdin:
    told = answered(line)
    for one in told.get("ok", {}).get("outcomes", [])[1:]:
        if one["status"] == "available":
            one["tools"] = one["tools"][::-1][:1]
    print(json.dumps(told), flush=True)
"""


def live_fault() -> Any:
    """The reference with a fault that an endpoint shows."""
    return next(one for one in faults() if one.id == "cap-lets-one-more")


def test_an_endpoint_has_known_failures_too(write: Write, tmp_path: Path) -> None:
    """What it shows of them is waived; the rest of the headline is not that of a clean look."""
    target = embedded(live_fault(), settle_s=0.1)
    write("FR-006.cap")
    try:
        with seeded(target, tmp_path / "scratch") as started:
            headers = [f"{name}: {value}" for name, value in started.access.headers.items()]
            words = ["run", "endpoint", "--url", started.access.url, "--rate", "10000"]
            words += [part for one in headers for part in ("--header", one)]
            words += ["--listing", 'upstream_servers={"operation":"list"}', "--out", "out"]
            done = CliRunner().invoke(main, words)
            soft = CliRunner().invoke(main, [*words, "--fail-on", "violated"])
            trial = tried_live(endpoint_of(started), tmp_path / "trial")
    finally:
        target.close()

    (waiver,) = reported(Path("out", "report.json"))["waivers"]
    assert (waiver["state"], done.exit_code, soft.exit_code) == ("used", 0, 0), done.output
    assert (trial["exit"], trial["waivers"]) == (1, [])


def test_no_file_excuses_a_counterexample(write: Write, tmp_path: Path) -> None:
    """A trial of the selftest convicts, whatever lies in the working folder."""
    write("ROB.flag")
    (fault,) = (one for one in faults() if one.id == FLAG)
    target = embedded(fault, settle_s=0.1)
    given = Given(target=target, profile="robustness", clauses=frozenset({"ROB.flag"}))
    try:
        verdicts = tried(given, tmp_path / "trial")
    finally:
        target.close()

    assert [one["verdict"] for one in verdicts.failed()] == ["fail"]
    assert verdicts.exit == 1


def test_the_selftest_does_not_read_the_file(write: Write) -> None:
    """Even one that cannot be used is none of its business."""
    write("nonsense")
    done = subprocess.run(
        [sys.executable, "-m", "mcp_proxy_conformance", "selftest", "--only", FLAG],
        capture_output=True, text=True, check=False, timeout=110,
    )  # fmt: skip

    assert (done.returncode, FILE in done.stdout + done.stderr) == (0, False), done.stdout


def pytest_run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Plain pytest in the working folder, on a faulty reference that an adapter starts."""
    environment = {name: v for name, v in os.environ.items() if not name.startswith("PYTEST")}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "mcp_proxy_conformance.plugin", "-p", "faulty_run",
         "--target", "reference", "--profile", "robustness", *arguments],
        capture_output=True, text=True, check=False, timeout=100,
        env=environment | {"PYTHONPATH": str(Path.cwd())},
    )  # fmt: skip


def test_pytest_shows_a_waived_check_as_expected_to_fail(write: Write) -> None:
    """Its exit code is 0, and each known failure is told; a fault that is not known still fails."""
    write("ROB.flag")
    plugin = Path("faulty_run.py")
    plugin.write_text(PLUGIN.format(tests=str(Path(__file__).parent), names=[FLAG]), "utf-8")
    known = pytest_run("-rx")
    plugin.write_text(PLUGIN.format(tests=str(Path(__file__).parent), names=[FLAG, QUERY]), "utf-8")
    other = pytest_run()

    assert (known.returncode, "1 xfailed" in known.stdout) == (0, True), known.stdout
    assert "Known since the rewrite. (https://example.com/1): " in known.stdout
    assert "fails           ROB.flag  Known since" in known.stdout
    assert (other.returncode, "1 failed" in other.stdout) == (1, True)


PLUGIN = """
import sys
sys.path.append({tests!r})
from faulty import with_faults
from told_runs import report, result
from mcp_proxy_conformance.target import kinds
kinds.REFERENCE = with_faults(*{names})
"""


def test_pytest_fails_for_an_entry_that_names_what_passes(write: Write) -> None:
    """As it does for what is strictly expected to fail; a bad file is bad usage."""
    Path("faulty_run.py").write_text("", encoding="utf-8")
    write("ROB.flag")
    stale = pytest_run()
    write("ROB.flags", name="known.toml")
    unknown = pytest_run("--deviations", "known.toml")

    assert (stale.returncode, unknown.returncode) == (1, 4)
    assert f"{FILE}:1: ROB.flag passes now; take the entry out" in stale.stdout
    assert "known.toml:2: there is no clause, check or case 'ROB.flags'" in unknown.stderr
