"""Runs with workers or in parts: one report; lost workers, signals, refused and default numbers."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import living_processes
import needs
import pytest
from click.testing import CliRunner
from xdist.remote import Producer

from mcp_proxy_conformance.catalogue.resources import schemas_dir
from mcp_proxy_conformance.catalogue.world import GENERATED
from mcp_proxy_conformance.cli import main, run_setup
from mcp_proxy_conformance.run.parallel.controller import Controller, StageScheduling
from mcp_proxy_conformance.run.parallel.shares import Share
from mcp_proxy_conformance.run.parallel.worker import SHARES

pytestmark = pytest.mark.timeout(900)
RUN = (sys.executable, "-m", "mcp_proxy_conformance", "run")
PYTEST = (sys.executable, "-m", "pytest", "-p", "mcp_proxy_conformance.plugin", "--out", "out")
FEW = "test_strange or as_many_locked or the_cap_holds or rejection-config or after_a_restart"
ADAPTER = json.dumps({"command": [sys.executable, "-m", "mcp_proxy_reference.adapter"]})
FATAL = "test_the_text_of_a_strange_tool_comes_back_as_it_is"
KINDS: dict[str, tuple[tuple[str, ...], str]] = {
    "the reference": (
        (*PYTEST, "--target=reference", "--profile=discovery+robustness", "-k", FEW), ""
    ),
    "an adapter": (
        (*PYTEST, "--target=command", "--target-options", ADAPTER, "-k", FEW), ""
    ),
    "a fault": (
        (*RUN, "reference", "--profile=robustness", "--out=out"), "quote-ends-the-search"
    ),
}  # fmt: skip
"""The command for each target, and its fault; faulty targets run in the process of the checks."""


def environment(**variables: str) -> dict[str, str]:
    """Return this process's environment with these variables.

    They include a plugin by which the reference runs inside of pytest.
    """
    here = {"PYTHONPATH": str(Path(__file__).parents[1]), "PYTEST_PLUGINS": "embedded_reference"}
    return os.environ | here | variables


def done(
    folder: Path, command: tuple[str, ...], env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command in this folder, made if missing; return the ended process.

    `env` is its environment, None this process's. TimeoutExpired after 400 s.
    """
    folder.mkdir(exist_ok=True)
    return subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=400
    )


def report(folder: Path) -> Any:
    """Return the report below `out` in the folder, which must fit its schema."""
    document = json.loads((folder / "out" / "report.json").read_bytes())
    schema = json.loads((schemas_dir() / "report.schema.json").read_bytes())
    jsonschema.validate(document, schema, cls=jsonschema.Draft202012Validator)
    return document


def untimed(document: Any) -> Any:
    """Remove from the report, and return, what depends on time: durations, numbers of messages.

    The evidence of laws goes, too, as how far a breach is shrunk depends on time.
    """
    del document["timing"]
    for result in document["results"]:
        if result["check"] == "test_scenario":
            del result["evidence"], result["reason"], result["story"]
        for citing in (result, *result["findings"]):
            citing["messages"] = _unnumbered(citing["messages"])
    document["messages"] = _unnumbered(document["messages"])
    return document


def _unnumbered(messages: Iterable[str]) -> list[str]:
    """Return the places of messages without their numbers, sorted, each once."""
    return sorted({name.rpartition("/")[0] for name in messages})


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(kind, marks=() if kind == "a fault" else pytest.mark.proof(parts=4))
        for kind in KINDS
    ],
)
def alone(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Run a kind of target in one process; return (command, environment, exit code, report).

    The environment is None for this process's own; the report is `untimed`.
    """
    command, fault = KINDS[request.param]
    folder = tmp_path_factory.mktemp("alone")
    env = environment(BENT=fault) if fault else None
    came = done(folder, command, env)
    return command, env, came.returncode, untimed(report(folder))


def test_several_processes_report_what_one_does(alone: Any, tmp_path: Path) -> None:
    """A run with `-n 2` has the same report and exit code as in one process.

    It leaves no other files.
    """
    command, env, code, serial = alone

    came = done(tmp_path, (*command, "-n", "2"), env)

    assert untimed(report(tmp_path)) == serial
    assert came.returncode == code
    assert serial["results"]
    assert {path.name for path in (tmp_path / "out").iterdir()} <= {
        "report.json", "run.log", "logs", "laws",
    }  # fmt: skip


@pytest.mark.parametrize("alone", ["a fault"], indirect=True)
def test_all_parts_merged_are_the_report_of_one_run(alone: Any, tmp_path: Path) -> None:
    """`report merge` of two --shard parts, in any order, is the report of a whole run.

    One part alone, or merged without the other, is not complete.
    """
    command, env, code, serial = alone
    parts = {name: tmp_path / name for name in ("1", "2")}
    for name, folder in parts.items():
        done(folder, (*command, "--shard", f"{name}/2"), env)
    part_one, part_two = (str(folder / "out" / "report.json") for folder in parts.values())
    whole, less = tmp_path / "whole" / "out" / "report.json", tmp_path / "less.json"

    came = CliRunner().invoke(main, ["report", "merge", part_two, part_one, "--out", str(whole)])
    CliRunner().invoke(main, ["report", "merge", part_two, "--out", str(less)])

    assert came.exit_code == code
    assert untimed(report(tmp_path / "whole")) == serial
    assert [report(folder)["complete"] for folder in parts.values()] == [False, False]
    assert "shard" not in json.loads(less.read_bytes())
    assert json.loads(less.read_bytes())["complete"] is False


@pytest.mark.proof
def test_a_lost_worker_is_replaced_and_its_results_stay(tmp_path: Path) -> None:
    """If a worker is killed once in a check, the run is complete and conformant, exit 0.

    Another worker runs that check again, no earlier one; a second stage is started.
    """
    env = environment(FATAL=FATAL, FATAL_ONCE=str(tmp_path / "once"))
    command = (*RUN, "reference", "--profile=robustness", "--out=out", "-n", "2")

    came = done(tmp_path, command, env)

    merged = report(tmp_path)
    assert (came.returncode, merged["headline"], merged["complete"]) == (0, "conformant", True)
    names = [result["reproduce"] for result in merged["results"]]
    assert len(names) == len(set(names))
    shared = [stage["place"] for stage in merged["stages"] if "::" not in stage["place"]]
    messages = {
        place for name in merged["messages"] if "::" not in (place := name.rpartition("/")[0])
    }
    assert shared == ["hostile", "hostile 2"]
    assert messages == {"hostile", "hostile 2"}


@pytest.mark.proof
def test_a_check_that_ends_every_worker_is_a_fault_of_the_suite(tmp_path: Path) -> None:
    """A check that kills each worker that runs it ends the run with 70, and is named.

    Earlier results stay in the report, and no process is left.
    """
    command = (*RUN, "reference", "--profile=robustness", "--out=out", "-n", "2")

    came = done(tmp_path, command, environment(FATAL=FATAL))

    final = report(tmp_path)
    assert (came.returncode, final["headline"]) == (70, "fault of the suite")
    assert FATAL in final["why"]
    assert final["results"]
    assert living_processes.naming(tmp_path) == []


@pytest.mark.proof(parts=4)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_ends_its_workers_and_reports(
    number: signal.Signals, tmp_path: Path
) -> None:
    """SIGINT or SIGTERM ends a run with workers with 130, and reports the results so far.

    No process and no worker's file is left.
    """
    shares = tmp_path / "out" / SHARES
    run = subprocess.Popen(
        [*RUN, "reference", f"--out={tmp_path / 'out'}", "-n", "2"],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509
    )
    deadline = time.monotonic() + 100
    while not any(b'"found"' in share.read_bytes() for share in shares.glob("*.part")):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    run.send_signal(number)
    output, _ = run.communicate(timeout=100)

    final = report(tmp_path)
    assert (run.returncode, final["exit"], final["complete"]) == (130, 130, False)
    assert final["results"]
    assert output.decode().splitlines()[-1].startswith("interrupted: ")
    assert living_processes.naming(tmp_path) == []
    assert not shares.exists()


@pytest.mark.parametrize("more", [(), pytest.param(("-n", "2"), marks=pytest.mark.proof)])
def test_an_interruption_that_nobody_heard_of_ends_the_run(
    more: tuple[str, ...], tmp_path: Path
) -> None:
    """A KeyboardInterrupt that a check swallows ends the run after that check, exit 130.

    The check has no result.
    """
    command = (*RUN, "reference", "--profile=robustness", "--out=out", *more)

    came = done(tmp_path, command, environment(DEAF=FATAL))

    final = report(tmp_path)
    assert (final["complete"], final["results"] != []) == (False, True)
    assert came.returncode == final["exit"] == 130
    assert FATAL not in {result["check"] for result in final["results"]}


@pytest.mark.proof(parts=6)
def test_a_worker_whose_targets_do_not_start_is_reported(tmp_path: Path) -> None:
    """If targets start in one of two workers only, the other's checks are errors of the adapter.

    The run exits with 3.
    """
    adapter = tmp_path / "adapter.py"
    adapter.write_text(
        "import os, runpy\n"
        "if os.environ.get('PYTEST_XDIST_WORKER') == 'gw1': raise SystemExit('none here')\n"
        "runpy.run_module('mcp_proxy_reference.adapter', run_name='__main__')\n",
        encoding="utf-8",
    )
    options = json.dumps({"command": [sys.executable, str(adapter)]})
    env = {name: v for name, v in os.environ.items() if not name.startswith("PYTEST_XDIST")}
    kind = (*PYTEST, "--target=command", "--target-options", options, "-k", FEW)

    done(tmp_path, (*kind, "-n", "2"), env)

    final = report(tmp_path)
    errors = [result for result in final["results"] if result["verdict"] == "error"]
    assert (final["exit"], {result["blame"] for result in errors}) == (3, {"adapter"})


@pytest.mark.proof(parts=4)
def test_a_relay_is_judged_in_three_processes_as_in_one(tmp_path: Path) -> None:
    """A whole run of the bundled relay, `-n 3`, has the verdicts of `-n 1`, and exits with 0."""
    runs = [
        (done(tmp_path / number, (*RUN, "relay", "-n", number, "--out=out")).returncode,
         {clause["id"]: clause["verdict"] for clause in report(tmp_path / number)["clauses"]})
        for number in ("1", "3")
    ]  # fmt: skip

    assert runs[0] == runs[1]
    assert runs[0][0] == 0


@needs.resilience
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("reference", "-n", "0"), "'0' is neither a number from 1 to 9999 nor auto"),
        (("reference", "-n", "9" * 5000), "is neither a number from 1 to 9999 nor auto"),
        (("reference", "--shard", f"1/{'9' * 5000}"), "write 1/3 for the first of three"),
        (("reference", "--shard", "1/3000000000"), "write 1/3 for the first of three"),
        (("endpoint", "--url", "http://127.0.0.1:1/mcp", "-n", "2"), "one budget and one rate"),
        (("-n", "2", "endpoint", "--url", "http://127.0.0.1:1/mcp"), "one budget and one rate"),
        (("loader", "-n", "2"), "leave -n out"),
        (("reference", "--shard", "4/3"), "write 1/3 for the first of three"),
    ],
)
def test_what_cannot_be_divided_is_refused(
    arguments: tuple[str, ...], words: str, tmp_path: Path
) -> None:
    """An impossible -n or --shard, and any -n for an endpoint or a loader, exits with 2 and why."""
    came = done(tmp_path, (*RUN, *arguments))

    assert (came.returncode, words in came.stderr) == (2, True)


@pytest.mark.parametrize(
    ("kind", "given", "variable", "number"),
    [
        ("reference", None, "", "3"),
        ("reference", "auto", "7", "3"),
        ("mcpproxy", None, "", "10"),
        ("command", None, "auto", "10"),
        ("relay", None, "", "6"),
        ("command", None, "1", None),
        ("command", "1", "5", None),
        ("command", "12", "1", "12"),
        ("command", None, "5", "5"),
        ("loader", None, "5", None),
    ],
)
def test_a_whole_run_uses_the_processors(
    kind: str, given: str | None, variable: str, number: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On three processors: three workers for the reference, ten, at most, for other proxies.

    Six are for relays, none for loaders. -n, then the variable, prevail; 1 is this process. A run
    of some clauses has workers only by -n.
    """
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 5}, raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    monkeypatch.setenv(run_setup.PROCESSES, variable)
    options = {"processes": given, "check": (), "only": (), "case": None, "quick": False}

    assert run_setup.processes_of(options, kind) == number
    assert run_setup.processes_of(options | {"only": ("FR-001",)}, kind) == {
        None: None, "1": None, "auto": number
    }.get(given, given)  # fmt: skip


def test_a_number_of_processes_that_is_none_is_named(tmp_path: Path) -> None:
    """`0` in the environment's variable for processes ends `run` with 2, and names the variable."""
    came = CliRunner().invoke(main, ["run", "--out", str(tmp_path)], env={run_setup.PROCESSES: "0"})

    assert came.exit_code == 2
    assert f"{run_setup.PROCESSES} is '0'; set a number from 1 to 9999" in came.output


def test_a_worker_that_is_ending_is_not_soon_interrupted_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A worker that does not end gets SIGTERM at once, and again only after more than 10 s each."""
    now, kills = [0.0], list[float]()
    monkeypatch.setattr(Controller, "__init__", lambda _: None)
    monkeypatch.setattr(Controller, "_growing", lambda _: {"gw0": 4711})
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(time, "sleep", lambda s: now.__setitem__(0, now[0] + s))
    monkeypatch.setattr(os, "kill", lambda *_: kills.append(now[0]))

    Controller().pytest_sessionfinish()  # type: ignore[call-arg]

    gaps = [later - sooner for sooner, later in itertools.pairwise(kills)]
    assert (kills[0], len(gaps) > 0, all(gap > 10 for gap in gaps)) == (0.0, True, True)


class FakeNode:
    """A worker that records the numbers of the checks that it is sent."""

    shutting_down = False

    def __init__(self, name: str) -> None:
        """Begin with no checks sent; `name` is the gateway's id."""
        self.gateway = SimpleNamespace(id=name)
        self.given: list[int] = []

    def send_runtest_some(self, numbers: list[int]) -> None:
        """Record the numbers of the checks to run."""
        self.given += numbers

    def shutdown(self) -> None:
        """Do nothing; the worker need not end."""


def scheduled(*, fail_fast: bool) -> tuple[list[str], list[str]]:
    """Return the names of the checks that each of two workers is given, in order.

    After a first share each has ended two checks. Three checks are on a stage, three on generated
    worlds, two are long.
    """
    crowd = {f"crowd {number}": "crowd" for number in range(3)}
    laws = {f"law {number}": f"{GENERATED}values" for number in range(3)}
    places = laws | crowd | {name: name for name in ("a", "long", "longer")}
    option = SimpleNamespace(loadscopereorder=True)
    config: Any = SimpleNamespace(getvalue=lambda _: ["popen", "popen"], option=option)
    share = Share(places=places, long=("long", "longer"))
    scheduling = StageScheduling(config, Producer("test"), lambda: share, fail_fast=fail_fast)
    nodes: list[Any] = [FakeNode("gw0"), FakeNode("gw1")]
    for node in nodes:
        scheduling.add_node(node)
        scheduling.add_node_collection(node, [*places])
    scheduling.schedule()
    for at in range(2):
        for node in nodes:
            scheduling.mark_test_complete(node, node.given[at])
    first, second = ([[*places][number] for number in node.given] for node in nodes)
    return first, second


def test_what_takes_longest_begins_first() -> None:
    """Workers first get checks on generated worlds and of the largest stage, then long ones.

    No worker has two long checks.
    """
    laws, crowd = ([f"{name} {number}" for number in range(3)] for name in ("law", "crowd"))

    assert scheduled(fail_fast=False) == ([*laws, "long", "a"], [*crowd, "longer"])


def test_what_takes_longest_begins_last_if_the_first_failure_ends_the_run() -> None:
    """With --fail-fast a stage with many checks comes first, worlds and long checks come last."""
    laws, crowd = ([f"{name} {number}" for number in range(3)] for name in ("law", "crowd"))

    assert scheduled(fail_fast=True) == ([*crowd, "long", "longer"], ["a", *laws])
