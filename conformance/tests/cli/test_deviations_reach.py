"""Known failures in runs of loaders and endpoints, and in pytest; none in the selftest."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from known_failures import FLAG, QUERY, command, reported, write

from mcp_proxy_conformance.discovery.selftest.live_trial import (
    endpoint_of,
    started_with_locks,
    tried_live,
)
from mcp_proxy_conformance.discovery.targets.embedded import embedded
from mcp_proxy_conformance.run.request import Selection
from mcp_proxy_conformance.selftest.trial import trial, tried
from mcp_proxy_conformance.verdict.deviations.deviation import FILE
from mcp_proxy_mutants.discovery.mutants import mutants


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Change to an empty temporary folder for each test."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.proof(parts=6)
def test_a_loader_has_known_failures_too(tmp_path: Path) -> None:
    """Of three known failures of a loader that drops tools one is used, and its clause is waived.

    The two whose clauses pass are stale: exit 5.
    """
    program = tmp_path / "loader.py"
    program.write_text(LOADER, encoding="utf-8")
    write("O3.loaded", "O3.own-tools", "O1.one-each")

    done = command(
        "run", "loader", "--profile", "resilience-basic", "--out", "out", "--examples", "1",
        "--command", f"{sys.executable} {program}",
    )  # fmt: skip

    report = reported(Path("out", "report.json"))
    waived = {clause["id"] for clause in report["clauses"] if clause["verdict"] == "waived"}
    states = [waiver["state"] for waiver in report["waivers"]]
    assert (waived, states) == ({"O3.loaded"}, ["used", "stale", "stale"])
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
    """Return the mutant `cap-lets-one-more`, whose fault shows at an endpoint too."""
    return next(mutant for mutant in mutants() if mutant.id == "cap-lets-one-more")


def test_an_endpoint_has_known_failures_too(tmp_path: Path) -> None:
    """An endpoint whose one failure is known exits with 0, with --fail-on violated, too.

    A trial of the selftest on it ignores the file and exits with 1.
    """
    target = embedded(live_fault(), settle_s=0.1)
    write("FR-006.cap")
    try:
        with started_with_locks(target, tmp_path / "scratch") as started:
            headers = [f"{name}: {value}" for name, value in started.access.headers.items()]
            words = ["run", "endpoint", "--url", started.access.url, "--rate", "10000"]
            words += [part for header in headers for part in ("--header", header)]
            words += ["--listing", 'upstream_servers={"operation":"list"}', "--out", "out"]
            done = command(*words)
            soft = command(*words, "--fail-on", "violated")
            trial = tried_live(endpoint_of(started), tmp_path / "trial")
    finally:
        target.close()

    (waiver,) = reported(Path("out", "report.json"))["waivers"]
    assert (waiver["state"], done.exit_code, soft.exit_code) == ("used", 0, 0), done.output
    assert (trial["exit"], trial["waivers"]) == (1, [])


def test_no_file_excuses_a_counterexample(tmp_path: Path) -> None:
    """A trial of the selftest on a mutant fails, exit 1, though the folder's file waives it."""
    write("ROB.flag")
    (fault,) = (mutant for mutant in mutants() if mutant.id == FLAG)
    target = embedded(fault, settle_s=0.1)
    tried_trial = trial(target, Selection(clauses=frozenset({"ROB.flag"})), profile="robustness")
    try:
        verdicts = tried(tried_trial, tmp_path / "trial")
    finally:
        target.close()

    assert [result["verdict"] for result in verdicts.failed()] == ["fail"]
    assert verdicts.exit == 1


def test_the_selftest_does_not_read_the_file() -> None:
    """`selftest` exits with 0 though the working folder's file of known failures is unusable.

    It does not mention the file.
    """
    write("nonsense")
    done = subprocess.run(
        [sys.executable, "-m", "mcp_proxy_conformance", "selftest", "--only", FLAG],
        capture_output=True, text=True, check=False, timeout=110,
    )  # fmt: skip

    assert (done.returncode, FILE in done.stdout + done.stderr) == (0, False), done.stdout


def pytest_run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run pytest with the suite's plugin on the reference, profile `robustness`.

    Return its process. The module `faulty_run` in the working folder, which must exist, may bend
    the reference. It raises TimeoutExpired after 100 s.
    """
    environment = {name: v for name, v in os.environ.items() if not name.startswith("PYTEST")}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "mcp_proxy_conformance.plugin", "-p", "faulty_run",
         "--target", "reference", "--profile", "robustness", *arguments],
        capture_output=True, text=True, check=False, timeout=100,
        env=environment | {"PYTHONPATH": str(Path.cwd())},
    )  # fmt: skip


@pytest.mark.proof(parts=6)
def test_pytest_shows_a_waived_check_as_expected_to_fail() -> None:
    """Under pytest a known failure is an xfail with its reason and issue, and pytest exits with 0.

    With another failure besides, it exits with 1.
    """
    write("ROB.flag")
    plugin = Path("faulty_run.py")
    plugin.write_text(PLUGIN.format(tests=TESTS, names=[FLAG]), "utf-8")
    known = pytest_run("-rx")
    plugin.write_text(PLUGIN.format(tests=TESTS, names=[FLAG, QUERY]), "utf-8")
    other = pytest_run()

    assert (known.returncode, "1 xfailed" in known.stdout) == (0, True), known.stdout
    assert "Known since the rewrite. (https://example.com/1): " in known.stdout
    assert "fails           ROB.flag  Known since" in known.stdout
    assert (other.returncode, "1 failed" in other.stdout) == (1, True)


TESTS = str(Path(__file__).parents[1])
PLUGIN = """
import sys
sys.path.append({tests!r})
from faulty import with_faults
from mcp_proxy_conformance.discovery.targets import kinds
kinds.REFERENCE = with_faults(*{names})
"""


@pytest.mark.proof
def test_pytest_fails_for_an_entry_that_names_what_passes() -> None:
    """Under pytest an entry whose clause passes ends the run with 1.

    An unknown id is bad usage, exit 4. Both are printed with file and line.
    """
    Path("faulty_run.py").write_text("", encoding="utf-8")
    write("ROB.flag")
    stale = pytest_run()
    write("ROB.flags", name="known.toml")
    unknown = pytest_run("--deviations", "known.toml")

    assert (stale.returncode, unknown.returncode) == (1, 4)
    assert f"{FILE}:1: ROB.flag passes now; take the entry out" in stale.stdout
    assert "known.toml:2: there is no clause, check or case 'ROB.flags'" in unknown.stderr
