"""`gate`: a CI job's inputs as words of `run`, its outputs, summary and reports; bad inputs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import needs
import pytest
from action_runner import parsed
from click.testing import CliRunner, Result
from hand_written_reports import BAD, CLEAN, HOSTILE, ONE, coverage, report, result, typed
from hypothesis import given
from hypothesis import strategies as st

from mcp_proxy_conformance.cli import main
from mcp_proxy_conformance.cli.gate import HELP, PREFIX
from mcp_proxy_conformance.cli.gate_inputs import BadInput, Inputs, run_words, with_out
from mcp_proxy_conformance.cli.gate_job import SUMMARY_MOST, Job, as_outputs, summary_of
from mcp_proxy_conformance.cli.run import run

QUICK = "--profile robustness"


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        (Inputs(target="reference"), ["reference"]),
        (Inputs(url="http://h/mcp"), ["endpoint", "--url=http://h/mcp"]),
        (Inputs(binary="./my proxy"), ["mcpproxy", "--binary=./my proxy"]),
        (Inputs(command="node 'a b.mjs' -x"), ["command", "--", "node", "a b.mjs", "-x"]),
        (Inputs(command="go run\n  ./adapter\n"), ["command", "--", "go", "run", "./adapter"]),
        (Inputs(target="loader", command="l 'a b'"), ["loader", "--command=l 'a b'"]),
        (
            Inputs(target="relay", command="r {port} {upstream}"),
            ["relay", "--", "r", "{port}", "{upstream}"],
        ),
        (Inputs(target="relay"), ["relay"]),
        (Inputs(target="endpoint", command="p serve"), ["endpoint", "--stdio=p serve"]),
        (
            Inputs(url="u", headers="A: 1\n\nB: 2\n"),
            ["endpoint", "--url=u", "--header=A: 1", "--header=B: 2"],
        ),
        (
            Inputs(
                target="reference", fail_on="violated", baseline="b", deviations="-d", space="2"
            ),
            ["reference", "--deviations=-d", "--baseline=b", "--fail-on=violated", "--space=2"],
        ),
        (
            Inputs(options="--seed 7 --profile 'x y'", profile="discovery", command="a"),
            ["command", "--seed", "7", "--profile", "x y", "--profile=discovery", "--", "a"],
        ),
        (Inputs(options="--target-file t.toml"), ["--target-file", "t.toml"]),
        (Inputs(target_file="my t.toml"), ["--target-file=my t.toml"]),
        (Inputs(url="u", target_file="t"), ["endpoint", "--url=u", "--target-file=t"]),
    ],
)
def test_inputs_mean_a_run(inputs: Inputs, words: list[str]) -> None:
    """`run_words` turns a job's inputs into words of `run`, an adapter's command last, after `--`.

    The kind is `target`, or follows from the input that names a target. `described` would mean
    that a target file in the working folder names one.
    """
    assert run_words(inputs, described=False) == words


@pytest.mark.parametrize(
    ("inputs", "sentence"),
    [
        (Inputs(), "no target is named; give command"),
        (Inputs(target="refrence"), "did you mean 'reference'?"),
        (
            Inputs(target="--help"),
            "the kinds are reference, mcpproxy, command, loader, relay, endpoint",
        ),
        (Inputs(url="u", command="c"), "url and command each name a target"),
        (Inputs(target="reference", url="u"), "url does not go with kind reference"),
        (Inputs(target="mcpproxy", command="c"), "command does not go with kind mcpproxy"),
        (Inputs(command="c", headers="A: b"), "headers does not go with kind command"),
        (Inputs(command="'"), "command cannot be read: No closing quotation"),
        (Inputs(command=" \n"), "command is blank"),
        (Inputs(url="u", options="-- x"), "options contains `--`"),
        (Inputs(url="u", options="-v --only FR-006"), "options contains --only, with which a run"),
        (Inputs(url="u", options="--check=x"), "options contains --check"),
        (Inputs(url="u", options="--shard 1/2"), "options contains --shard"),
        (Inputs(command="c", options="--quick"), "options contains --quick"),
    ],
)
def test_inputs_that_mean_no_run_are_refused(inputs: Inputs, sentence: str) -> None:
    """`run_words` raises BadInput, with a repair, for inputs that are not one whole run.

    They name no target or two, do not fit the kind, cannot be split, or ask for a part of a run.
    """
    with pytest.raises(BadInput, match=r".+; .+") as error:
        run_words(inputs, described=False)

    assert sentence in str(error.value)


def test_the_folder_of_the_report_is_the_gates() -> None:
    """`with_out` puts the gate's --out after the options' own, and before the adapter's words."""
    words = run_words(Inputs(options="--out x", command="a --out y"), described=False)

    assert with_out(words, "/o") == [
        "command", "--out", "x", "--out=/o", "--", "a", "--out", "y"
    ]  # fmt: skip


def test_a_target_file_that_lies_there_is_enough() -> None:
    """Without inputs, but with a target file in the folder, `run_words` is empty."""
    assert run_words(Inputs(), described=True) == []


@given(st.dictionaries(st.text(st.characters(codec="ascii"), min_size=1), st.text()))
def test_outputs_are_read_as_what_they_were(outputs: dict[str, str]) -> None:
    """Any outputs written by `as_outputs` are read as they were by a runner, but for line ends."""
    named = {f"n{at}": value for at, value in enumerate(outputs.values())}
    whole = {name: "\n".join(value.splitlines()) for name, value in named.items()}

    assert parsed(as_outputs(whole)) == whole


def test_a_summary_is_never_longer_than_a_job_takes() -> None:
    """`summary_of` a long report is shorter than SUMMARY_MOST and says that results are left out.

    That of a short report has its one result.
    """
    long = report(*[result("fail", text=f"{HOSTILE} {'x' * 9000}")] * 60)
    long["results"][0]["evidence"] = ["y" * SUMMARY_MOST]

    summary = summary_of(1, typed(long))

    assert len(summary.encode()) < SUMMARY_MOST
    assert summary.startswith("# `violated`")
    assert summary.endswith("they are in the report.\n")
    assert summary_of(1, typed(ONE)).count("## ") == 1


def test_nothing_is_published_outside_of_github(tmp_path: Path) -> None:
    """Without the variables of GitHub, `Job.publish` returns an empty text and writes no file."""
    job = Job.of({}, tmp_path)

    assert job.publish(1, typed(BAD), tmp_path) == ""
    assert list(tmp_path.iterdir()) == []


def test_no_exit_code_is_output_if_the_summary_cannot_be_written(tmp_path: Path) -> None:
    """If the summary cannot be written, `Job.publish` raises OSError and writes no output."""
    files = {"GITHUB_OUTPUT": "outputs", "GITHUB_STEP_SUMMARY": "no folder/summary"}
    job = Job.of({name: str(tmp_path / file) for name, file in files.items()}, tmp_path)

    with pytest.raises(OSError, match="no folder"):
        job.publish(0, typed(ONE), tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("working", "folder"), [("w", "."), ("w/in", "in"), ("elsewhere", "")])
def test_files_are_named_as_the_repository_does(tmp_path: Path, working: str, folder: str) -> None:
    """`Job.folder` is the working folder from the workspace: `.` at its top, empty if outside."""
    environment = {"GITHUB_WORKSPACE": str(tmp_path / "w")}

    assert Job.of(environment, tmp_path / working).folder == folder


def gated(out: Path, **environment: str) -> Result:
    """Run `gate` in this process with these inputs, and OUT, as environment variables."""
    named = {PREFIX + name: value for name, value in environment.items()}
    return CliRunner().invoke(main, ["gate"], env={**named, f"{PREFIX}OUT": str(out)})


@needs.discovery
def test_an_empty_variable_is_no_input(tmp_path: Path) -> None:
    """`gate` with every input empty but target and options judges the reference, exit 0.

    All five reports are written.
    """
    empty = {name.upper(): "" for name in HELP}

    done = gated(tmp_path, **empty | {"TARGET": "reference", "OPTIONS": QUICK})

    written = {path.name for path in tmp_path.iterdir() if path.is_file()}
    assert (done.exit_code, json.loads((tmp_path / "report.json").read_bytes())["exit"]) == (0, 0)
    assert written >= {"junit.xml", "report.html", "report.json", "report.md", "report.sarif"}


@pytest.mark.parametrize(
    ("options", "members", "end"),
    [
        ("", {}, (4, "incomplete")),
        ("--fail-on incomplete --fail-on=violated", {}, (0, "incomplete")),
        ("", {"complete": False, "headline": "partial"}, (0, "partial")),
        ("", {"coverage": None}, (0, "conformant")),
    ],
)
def test_a_gate_wants_all_pairs_looked_at(
    options: str, members: dict[str, object], end: tuple[int, str], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """`gate` ends as after an incomplete run if a complete one left out pairs of its space."""
    found = json.dumps(CLEAN | {"coverage": coverage("the time was over")} | members)

    def ran(*_: object, **__: object) -> None:
        (tmp_path / "report.json").write_text(found, encoding="utf-8")
        sys.exit(0)

    monkeypatch.setattr(run, "main", ran)

    done = gated(tmp_path, TARGET="reference", OPTIONS=options)

    written = json.loads((tmp_path / "report.json").read_bytes())
    assert (done.exit_code, written["headline"]) == end
    assert ("5 pairs" in done.output) == ("incomplete" in end)


def test_a_folder_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    """If the report's folder cannot be made, `gate` exits with 2 and one line."""
    (tmp_path / "file").write_text("")

    done = gated(tmp_path / "file" / "out", TARGET="reference", OPTIONS=QUICK)

    assert (done.exit_code, done.output.count("\n")) == (2, 1)
    assert "cannot be written" in done.output
