"""The GitHub action, its steps run as a runner does: hostile inputs, verdicts, annotations."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import hostile_target
import pytest
from action_runner import ACTION, Job, action, commands
from hostile_kinds import KINDS

from mcp_proxy_conformance.catalogue.requirement import profile
from mcp_proxy_conformance.discovery.selftest.live_trial import started_with_locks
from mcp_proxy_conformance.discovery.targets.embedded import embedded
from mcp_proxy_mutants.discovery.changed import Changed
from mcp_proxy_mutants.discovery.mutants import mutants

REFERENCE = Changed(id="itself", text="The reference itself.")
NAMES = (
    "target", "url", "command", "binary", "headers", "profile", "deviations", "baseline", "fail-on",
    "options",
)  # fmt: skip
QUICK = "--profile robustness"
PROGRAM = Path(sys.executable).with_name("mcp-proxy-conformance")
HOSTILE = (
    "-x", "--help", "a b", "it's", '"', "$(touch pwned)", "`touch pwned`", "; touch pwned", "&&",
    "| touch pwned", "> pwned", "\ntouch pwned\n", "${IFS}", "$PATH", "*", "~", "%0A", "\\",
    "::add-mask::a", "${{ github.token }}",
)  # fmt: skip
LINE = (
    f"-x 'a b' $(touch pwned) `touch pwned`; touch pwned\n touch pwned & | {HOSTILE[-1]}\n::error::"
)
PROOF = pytest.mark.proof(parts=6)


@pytest.fixture
def job(tmp_path: Path) -> Job:
    """Return a job in an empty workspace, in which the suite under test is already installed."""
    job = Job(workspace=tmp_path / "work space", temporary=tmp_path / "runner temp")
    job.workspace.mkdir()
    programs = job.temporary / "mcp-proxy-conformance" / "bin"
    programs.mkdir(parents=True)
    (programs / PROGRAM.name).symlink_to(PROGRAM)
    return job


@contextmanager
def serving(changed: Changed) -> Iterator[str]:
    """Serve the changed reference in this process, with locks of every kind; yield its URL.

    It ends with the block.
    """
    target = embedded(changed, settle_s=0.1)
    with (
        tempfile.TemporaryDirectory() as scratch,
        started_with_locks(target, Path(scratch)) as started,
    ):
        yield started.access.url
    target.close()


def adapter(folder: Path) -> Path:
    """Write an adapter program that records its arguments in argv.json beside it, then exits.

    Return its path.
    """
    path = folder / "an adapter.py"
    path.write_text(
        "import json, pathlib, sys\n"
        "told = json.dumps(sys.argv[1:])\n"
        "(pathlib.Path(__file__).parent / 'argv.json').write_text(told)\n",
        encoding="utf-8",
    )
    return path


def test_no_input_stands_in_a_script() -> None:
    """Neither of the action's two scripts contains an expression `${{`, `eval` or `source`."""
    steps = action()["runs"]["steps"]
    scripts = [step["run"] for step in steps if "run" in step]

    assert [script for script in scripts if re.search(r"\$\{\{|\beval\b|\bsource\b", script)] == []
    assert len(scripts) == 2


def test_every_input_reaches_a_step_and_every_output_comes_from_one() -> None:
    """Each input that the action declares is used by a step.

    Each output is the equally named one of the step `gate`.
    """
    document, text = action(), ACTION.read_text(encoding="utf-8").partition("\nruns:")[2]

    assert [name for name in document["inputs"] if f"inputs.{name}" not in text] == []
    assert {output["value"] for output in document["outputs"].values()} == {
        f"${{{{ steps.gate.outputs.{name} }}}}" for name in document["outputs"]
    }


def test_it_is_valid() -> None:
    """The action's file, action.yml, fits the published schema of GitHub actions."""
    command = [sys.executable, "-m", "check_jsonschema"]
    done = subprocess.run(
        [*command, "--builtin-schema", "vendor.github-actions", ACTION],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("step", ["install", "gate"])
def test_a_script_has_nothing_that_shellcheck_minds(step: str) -> None:
    """The script of the action's step passes shellcheck as bash."""
    (script,) = (entry["run"] for entry in action()["runs"]["steps"] if entry.get("id") == step)
    done = subprocess.run(
        [Path(sys.executable).parent / "shellcheck", "--shell=bash", "--norc", "-"],
        input=script, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert (done.returncode, done.stdout) == (0, "")


def test_the_words_of_a_command_reach_the_adapter_as_they_are(job: Job) -> None:
    """Hostile words of an adapter's command reach the adapter unchanged; no shell obeys any.

    As it answers nothing, the job ends with 3 and a report.
    """
    words = [sys.executable, str(adapter(job.workspace)), *HOSTILE]

    job.uses({"command": shlex.join(words), "options": QUICK}, only="gate")

    assert json.loads((job.workspace / "argv.json").read_bytes()) == list(HOSTILE)
    assert list(job.workspace.rglob("pwned")) == []
    assert (job.code, job.outputs["exit-code"]) == (3, "3")
    assert json.loads(Path(job.outputs["report"]).read_bytes())["target"]["kind"] == "command"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("command", LINE),
        *(("options", words) for words in ("--help", "'", "--")),
        *(pytest.param(n, LINE, marks=PROOF) for n in NAMES if n != "command"),
    ],
)
def test_an_input_that_means_nothing_ends_with_a_sentence(job: Job, name: str, value: str) -> None:
    """A hostile line as one input, or a bad option, ends the job with 2 or 3.

    It prints `error` commands only, no traceback, and no shell obeys the line.
    """
    meant = {} if name in ("target", "url", "binary") else {"command": "false"}
    meant = {"url": "http://127.0.0.1:1/mcp"} if name == "headers" else meant

    job.uses({**meant, name: value}, only="gate")

    assert (job.code, job.outputs["verdict"], list(job.workspace.rglob("pwned"))) in [
        (2, "no report", []),
        (2, "error in the declaration", []),
        (3, "target or adapter broke", []),
    ]
    assert {command for command, *_ in commands(job.printed)} == {"error"}
    assert "Traceback" not in job.printed


@pytest.mark.proof(parts=6)
def test_it_installs_the_checkout_that_it_comes_from(tmp_path: Path) -> None:
    """Without the input `version`, the step `install` installs the suite of the action's checkout.

    The step `gate` then starts the adapter, which answers nothing: exit 3.
    """
    job = Job(workspace=tmp_path / "elsewhere", temporary=tmp_path / "runner temp")
    job.workspace.mkdir()
    job.temporary.mkdir()
    words = [sys.executable, str(adapter(job.workspace))]

    job.uses({}, only="install")
    installed = (job.code, job.printed)
    job.uses({"command": shlex.join(words), "options": QUICK}, only="gate")

    assert installed == (0, "")
    assert (job.code, json.loads((job.workspace / "argv.json").read_bytes())) == (3, [])


@pytest.mark.proof(parts=4)
@pytest.mark.parametrize("version", ["$(touch pwned)", LINE])
def test_a_version_that_is_none_installs_nothing(version: str, tmp_path: Path) -> None:
    """A hostile `version` ends the job with a failure before any check.

    Nothing is installed, and no shell obeys it.
    """
    job = Job(workspace=tmp_path, temporary=tmp_path / "t")
    job.temporary.mkdir()

    job.uses({"version": version})

    assert (job.code != 0, job.outputs["verdict"]) == (True, "")
    assert list(tmp_path.rglob("pwned")) == []
    assert not (job.temporary / "mcp-proxy-conformance" / "bin" / "mcp-proxy-conformance").exists()


def test_a_conforming_target_passes_and_everything_is_reported(job: Job) -> None:
    """On the reference the job passes, and writes five report files that are not empty.

    It prints one notice, titled by the verdict; its summary is the Markdown report.
    """
    with serving(REFERENCE) as url:
        job.uses({"url": url, "options": "--rate 10000"}, only="gate")

    outputs = dict(job.outputs)
    verdict, code = outputs.pop("verdict"), outputs.pop("exit-code")
    assert (job.code, code, verdict) == (
        0,
        "0",
        f"consistent with {profile('discovery-live').name}",
    )
    assert [Path(path).stat().st_size > 0 for path in outputs.values()] == [True] * 5
    assert job.summary == Path(outputs["markdown"]).read_text(encoding="utf-8")
    assert [(command, properties["title"]) for command, properties, _ in commands(job.printed)] == [
        ("notice", verdict)
    ]


def test_a_violation_fails_the_job_after_its_reports_are_written(job: Job) -> None:
    """On a mutant the job exits with 1 and one `error` command titled by the broken clause.

    The reports are written before; the summary begins with `violated`.
    """
    (fault,) = (mutant for mutant in mutants() if mutant.id == "cap-lets-one-more")
    with serving(fault) as url:
        job.uses({"url": url, "options": "--rate 10000"}, only="gate")

    report = json.loads(Path(job.outputs["report"]).read_bytes())
    [(level, properties, text)] = commands(job.printed)
    assert (job.code, job.outputs["verdict"]) == (1, report["headline"])
    assert (level, properties) == ("error", {"title": "FR-006.cap"})
    assert text.startswith("An answer has at most")
    assert job.summary.startswith("# `violated`")


def test_a_known_failure_passes_and_a_stale_one_fails_at_its_line(job: Job) -> None:
    """With one file of known failures, the job passes on a mutant and fails on the reference.

    That is exit 5, with the file and line of the stale entry.
    """
    entry = (
        '[[deviation]]\nid = "FR-006.cap"\nreason = "Known, and mended with the next index."\n'
        'issue = "https://example.com/issues/17"\nexpires = 9999-12-31\n'
    )
    (job.workspace / "known.toml").write_text(f"# known\n{entry}", encoding="utf-8")
    (fault,) = (mutant for mutant in mutants() if mutant.id == "cap-lets-one-more")
    inputs = {"options": "--rate 10000", "deviations": "known.toml"}

    with serving(fault) as url:
        job.uses({"url": url, **inputs}, only="gate")
    waived = (job.code, job.outputs["verdict"])
    with serving(REFERENCE) as url:
        job.uses({"url": url, **inputs}, only="gate")

    [(level, properties, _)] = commands(job.printed)
    assert (waived, job.code) == ((0, "passes with 1 deviation"), 5)
    assert (level, properties["file"], properties["line"]) == ("error", "known.toml", "2")


def test_what_is_only_incomplete_passes_when_violations_alone_are_to_fail(job: Job) -> None:
    """On an incomplete run the job exits with 4, and with `fail-on: violated` with 0.

    The verdict is `incomplete` in both.
    """
    codes = []
    with hostile_target.serving(KINDS["1e999"]()) as url:
        for fail_on in ("", "violated"):
            inputs = {"url": url, "options": "--rate 10000", "fail-on": fail_on}
            job.uses(inputs, only="gate")
            codes.append((job.code, job.outputs["exit-code"], job.outputs["verdict"]))

    assert codes == [(4, "4", "incomplete"), (0, "0", "incomplete")]


@pytest.mark.proof
def test_the_target_file_of_the_working_folder_says_what_is_judged(job: Job) -> None:
    """With a target file in `working-directory`, the job needs no input for the target.

    The adapter is run in that folder, and the report is written below it.
    """
    inner = job.workspace / "in ner"
    inner.mkdir()
    words = json.dumps([sys.executable, adapter(inner).name, "from the file"])
    described = f'kind = "command"\ncommand = {words}\n'
    (inner / "mcp-proxy-conformance.toml").write_text(described, encoding="utf-8")

    job.uses({"working-directory": "in ner", "options": QUICK}, only="gate")

    assert (job.code, json.loads((inner / "argv.json").read_bytes())) == (3, ["from the file"])
    assert Path(job.outputs["report"]).parent == inner / "mcp-proxy-conformance-out"


def test_without_anything_to_judge_nothing_passes(job: Job) -> None:
    """Without any input the job exits with 2 and asks for a target; earlier reports are removed.

    The summary begins with `no report`.
    """
    left = job.workspace / "mcp-proxy-conformance-out"
    left.mkdir()
    for name in ("report.json", "junit.xml"):
        (left / name).write_text("{}", encoding="utf-8")

    job.uses({}, only="gate")

    assert (job.code, job.outputs["verdict"], job.outputs["report"]) == (2, "no report", "")
    assert "no target is named; give command" in job.printed
    assert (list(left.iterdir()), job.summary[:18]) == ([], "# `no report`: exi")
