"""GATE.md: its valid CI files, its lines run, its adapter for a target in a container."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import needs
import pytest
import yaml
from action_runner import TOP, action
from pages import blocks

from mcp_proxy_reference import adapter

PAGE = "GATE.md"
ON_GITHUB, ON_GITLAB, WITH_TOKEN = (yaml.safe_load(text) for text in blocks(PAGE, "yaml"))
[LINES] = blocks(PAGE, "sh")
BOXES = Path(__file__).parents[1] / "boxes.py"
QUICK = ["--check", "test_the_cap_holds_on_every_endpoint"]
LONG_S = 400


def shell(script: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run lines in sh in this folder until one fails; return the ended process.

    Its environment is PATH, HOME, SUITE and these variables. It raises TimeoutExpired after 400 s.
    """
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return subprocess.run(
        ["sh", "-e", "-c", script],
        cwd=folder,
        env={**kept, "SUITE": str(TOP), **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=LONG_S,
    )


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder like a user's repository, with the reference's adapter in conformance/."""
    folder = tmp_path_factory.mktemp("repository")
    (folder / "conformance").mkdir()
    shutil.copy(adapter.__file__, folder / "conformance" / "adapter.py")
    return folder


def valid(schema: str, document: Any, path: Path) -> tuple[int, str]:
    """Write the document as YAML to the path; return (exit code, complaints) of its validation.

    `schema` is the name of one that check_jsonschema has.
    """
    path.write_text(yaml.safe_dump({("on" if k is True else k): v for k, v in document.items()}))
    done = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, path],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stderr


def test_the_job_for_github_is_valid_and_names_inputs_and_outputs_that_are(tmp_path: Path) -> None:
    """The page's workflow for GitHub fits the published schema, with the steps for a token, too.

    It gives the action declared inputs only, and uses declared outputs only.
    """
    steps = [*ON_GITHUB["jobs"]["conformance"]["steps"], *WITH_TOKEN]
    whole = {**ON_GITHUB, "jobs": {"conformance": {"runs-on": "ubuntu-latest", "steps": steps}}}
    declared, text = action(), "".join(blocks(PAGE, "yaml"))

    own = [step["with"] for step in steps if "/.github/actions/conformance@" in step["uses"]]
    named = set(re.findall(r"steps\.gate\.outputs\.([a-z-]+)", text))
    assert valid("vendor.github-workflows", ON_GITHUB, tmp_path / "job.yml") == (0, "")
    assert valid("vendor.github-workflows", whole, tmp_path / "whole.yml") == (0, "")
    assert (len(own), {name for inputs in own for name in inputs} - declared["inputs"].keys()) == (
        2,
        set(),
    )
    assert named - declared["outputs"].keys() == set()


def test_the_page_lists_every_input_and_output() -> None:
    """GATE.md lists every input of the action in its list of inputs, and names every output."""
    declared = action()
    text = " ".join((TOP / ".github" / PAGE).read_text(encoding="utf-8").split())

    listed = text.partition("All inputs are optional:")[2].partition("`$HOME`")[0]
    assert [name for name in declared["inputs"] if f"`{name}`" not in listed] == []
    assert [name for name in declared["outputs"] if f"`{name}`" not in text] == []


def test_the_job_for_gitlab_is_valid(tmp_path: Path) -> None:
    """The job for GitLab in GATE.md fits the published schema."""
    assert valid("vendor.gitlab-ci", ON_GITLAB, tmp_path / ".gitlab-ci.yml") == (0, "")


@pytest.mark.proof(parts=6)
@pytest.mark.timeout(LONG_S)
def test_the_lines_for_any_ci_and_the_job_for_gitlab_judge_the_target(workspace: Path) -> None:
    """The lines of GATE.md install the suite and judge: exit 3 for an adapter that ends at once.

    The job for GitLab passes the reference. The files that it keeps are written in both.
    """
    job = ON_GITLAB["conformance"]
    broken = workspace / "broken"
    (broken / "conformance").mkdir(parents=True)
    (broken / "conformance" / "adapter.py").write_text("raise SystemExit(5)", encoding="utf-8")
    path = f"{broken / '.conformance' / 'bin'}{os.pathsep}{os.environ['PATH']}"

    stopped = shell(LINES, broken)
    options = "--profile robustness --fail-on violated"
    variables = {"PATH": path, "MCP_PROXY_CONFORMANCE_GATE_OPTIONS": options}
    passed = shell("\n".join(job["script"]), workspace, **variables)

    assert (stopped.returncode, "ended with exit code 5" in stopped.stdout) == (3, True)
    assert (passed.returncode, "\nconformant: " in passed.stdout) == (0, True)
    kept = [*job["artifacts"]["paths"], job["artifacts"]["reports"]["junit"]]
    for place in (broken, workspace):
        assert [name for name in kept if not (place / name).stat().st_size] == []


def in_boxes(folder: Path, *options: str) -> int:
    """Run one check by the page's adapter for containers, in a box; return the exit code.

    Network namespaces stand in for containers: a `docker` is written to `folder`, with the page's
    files.
    """
    (folder / "bin").mkdir()
    (folder / "boxes").mkdir()
    for name, words in {
        "docker": f'"{sys.executable}" "{BOXES}"',
        "python3": sys.executable,
    }.items():
        program = folder / "bin" / name
        program.write_text(f'#!/bin/sh\nexec {words} "$@"\n', encoding="utf-8")
        program.chmod(0o755)
    (folder / "contained.py").write_text(blocks(PAGE, "python")[0], encoding="utf-8")
    (folder / "mcp-proxy-conformance.toml").write_text(blocks(PAGE, "toml")[0], encoding="utf-8")
    suite = [sys.executable, "-m", "mcp_proxy_conformance", "run", *QUICK, *options]
    done = subprocess.run(
        [*NAMESPACES, sys.executable, BOXES, "bridge", *suite],
        cwd=folder,
        env={
            **os.environ,
            "BOXES": str(folder / "boxes"),
            "ENTRYPOINT": f"{sys.executable} {BOXES} proxy",
            "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
        },
        capture_output=True, text=True, check=False, timeout=110,
    )  # fmt: skip
    return done.returncode


NAMESPACES = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
NAMESPACES[1:1] = [] if not hasattr(os, "geteuid") or os.geteuid() == 0 else ["--map-root-user"]


def boxes_work() -> bool:
    """Return whether unshare and ip exist here and can make namespaces, a bridge and a mount."""
    if shutil.which("unshare") is None or shutil.which("ip") is None:
        return False
    links = "ip link add name br9 type bridge && ip link add name v9 type veth peer name c9"
    trial = f"{links} && mount -t tmpfs t /mnt"
    done = subprocess.run([*NAMESPACES, "sh", "-c", trial], capture_output=True, check=False)
    return done.returncode == 0


@needs.discovery
@pytest.mark.skipif(not boxes_work(), reason="no network namespaces can be made here")
def test_a_target_in_a_network_of_its_own_is_judged(tmp_path: Path) -> None:
    """A target in a network of its own, reached over its mapped port, passes the one check.

    Exit 0.
    """
    code = in_boxes(tmp_path)

    report = json.loads((tmp_path / "mcp-proxy-conformance-out/report.json").read_bytes())
    assert (code, report["headline"]) == (0, "partial")
    assert [result["verdict"] for result in report["results"]] == ["pass"]


@pytest.mark.proof
@pytest.mark.skipif(not boxes_work(), reason="no network namespaces can be made here")
def test_a_target_that_cannot_reach_the_upstreams_is_not_judged(tmp_path: Path) -> None:
    """If upstreams listen on the suite's loopback only, a target in a box passes nothing.

    The results are errors or inconclusive; exit 3 or 4.
    """
    host = ["--upstream-host", "127.0.0.1", "--upstream-bind", "127.0.0.1", "--ready", "1"]

    code = in_boxes(tmp_path, *host)

    report = json.loads((tmp_path / "mcp-proxy-conformance-out/report.json").read_bytes())
    verdicts = [result["verdict"] for result in report["results"]]
    assert (code in (3, 4), set(verdicts) <= {"error", "inconclusive"}) == (True, True)
    assert verdicts != []
