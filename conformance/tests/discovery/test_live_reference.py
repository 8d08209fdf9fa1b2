"""`run endpoint` on the locked reference, over HTTP, stdio or by pytest: verdicts, options."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from mcp_proxy_conformance.catalogue.requirement import profile
from mcp_proxy_conformance.catalogue.world import server, tool, world
from mcp_proxy_conformance.cli import main
from mcp_proxy_conformance.discovery.live.live_bench import UNSEEN
from mcp_proxy_conformance.discovery.selftest.live_trial import EXPECTED
from mcp_proxy_conformance.discovery.targets.kinds import target_of
from mcp_proxy_conformance.discovery.targets.started import Started
from mcp_proxy_conformance.targets.description import describe
from mcp_proxy_conformance.targets.process import Spawned
from mcp_proxy_mutants.fidelity.mutants.sessions import USERS

FAST = ["--rate", "10000"]
LISTING = ["--listing", 'upstream_servers={"operation":"list"}']


@pytest.fixture(scope="module")
def knowledge(tmp_path_factory: pytest.TempPathFactory, started: Started) -> list[str]:
    """Return options with all that an operator may know of the started reference.

    They are its expected locks, one agent, a target file and two locked tools to call.
    """
    folder = tmp_path_factory.mktemp("knowledge")
    locks, file = folder / "locks.toml", folder / "target.toml"
    lines = [f'"{key}" = "{status}"' for key, status in EXPECTED.items()]
    locks.write_text("\n".join(lines), encoding="utf-8")
    file.write_text('kind = "reference"\n', encoding="utf-8")
    (name, headers), *_ = started.access.agents.items()
    agent = [f"{name}={header}: {value}" for header, value in headers.items()]
    calls = ["--call", "forge:delete_repo", "--call", "forge:create_token"]
    return ["--expect", str(locks), "--target-file", str(file), "--as", *agent, *calls]


def run(out: Path, *options: str) -> tuple[int, dict[str, Any], str]:
    """Run `run endpoint --rate 10000` into `out`; return (exit code, report, printed text)."""
    done = CliRunner().invoke(main, ["run", "endpoint", *FAST, "--out", str(out), *options])
    report = json.loads((out / "report.json").read_bytes())
    return done.exit_code, report, done.output


def verdicts(report: dict[str, Any]) -> dict[str, str]:
    """Return {clause: its verdict} of a report."""
    return {clause["id"]: clause["verdict"] for clause in report["clauses"]}


def calls(started: Started) -> int:
    """Return the number of tool calls that the reference's upstreams received."""
    return sum(upstream.calls() for upstream in started.servers.values())


@pytest.fixture
def stream(started: Started, tmp_path: Path) -> Iterator[str]:
    """Yield the URL of the event stream of a relay that serves the reference over HTTP+SSE."""
    words = (sys.executable, "-m", "mcp_proxy_mutants.fidelity", "relay-serves-sse")
    command = (*words, "--upstream-url", started.access.url)
    relay = Spawned(command, env=dict(os.environ), log=tmp_path / "relay.log")
    try:
        line = relay.first_line(time.monotonic() + 20)
        yield json.loads(line)["url"].removesuffix("/mcp") + "/sse"
    finally:
        relay.end()


@pytest.mark.parametrize("member", ["disabled", "remediation", "note", "counts"])
def test_a_member_under_another_name_is_asked_for(
    started: Started, tmp_path: Path, member: str
) -> None:
    """A target file that misnames a member of answers ends the run with 2; nothing is judged.

    The reason names the key to set.
    """
    file = tmp_path / "target.toml"
    file.write_text(f'kind = "reference"\n[surface.members]\n{member} = "elsewhere"\n', "utf-8")

    code, report, _ = run(tmp_path / "out", "--url", started.access.url, "--target-file", str(file))

    assert code == 2
    assert f"set surface.members.{member} " in report["why"]
    assert report["results"] == []


def test_every_clause_is_observed_within_the_budget(
    started: Started, knowledge: list[str], tmp_path: Path
) -> None:
    """With all options, `run endpoint` on the reference exits with 0, and each clause passes.

    It takes 300 requests at most and calls no upstream tool; the headline is `consistent with`.
    """
    code, report, printed = run(tmp_path, "--url", started.access.url, *knowledge)

    assert (code, set(verdicts(report).values())) == (0, {"pass"})
    assert report["headline"] == f"consistent with {profile('discovery-live').name}"
    assert report["timing"]["requests"] <= 300
    assert "conformant" not in printed
    assert report["target"]["name"] == "mcp-proxy-reference"
    assert calls(started) == 0


def test_an_endpoint_of_the_older_transport_is_judged(
    started: Started, stream: str, tmp_path: Path
) -> None:
    """With --wire sse, the locked reference is judged over HTTP+SSE as over streamable HTTP.

    The relay that serves it so wants a token.

    Without the option the run ends with 3 and names it; at a URL without a stream, --wire sse ends
    it with 3, too.
    """
    _, usual, _ = run(tmp_path / "usual", "--url", started.access.url)
    token = ("--header", f"Authorization: Bearer {USERS[0]}")
    code, report, _ = run(tmp_path / "sse", "--url", stream, "--wire", "sse", *token)
    without, _, advice = run(tmp_path / "without", "--url", stream)
    wrong, _, sentence = run(tmp_path / "wrong", "--url", started.access.url, "--wire", "sse")

    assert (code, verdicts(report)) == (0, verdicts(usual))
    assert report["target"]["wire"].endswith(" (sse)")
    assert (without, "give --wire sse, or the URL" in advice) == (3, True)
    assert (wrong, "does not serve HTTP+SSE" in sentence) == (3, True)


@pytest.mark.parametrize(
    ("wire", "spoken"), [("handshake", "handshake 2025"), ("stateless", "stateless 2026-07-28")]
)
def test_nothing_need_be_known_on_either_wire(
    started: Started, wire: str, spoken: str, tmp_path: Path
) -> None:
    """With only --wire, `run endpoint` on the reference exits with 0; no upstream tool is called.

    The reason of each clause that does not pass names an option.
    """
    code, report, printed = run(tmp_path, "--url", started.access.url, "--wire", wire)

    open_ = {
        clause["id"]: clause["reason"]
        for clause in report["clauses"]
        if clause["verdict"] != "pass"
    }
    assert (code, report["target"]["wire"].startswith(spoken)) == (0, True)
    assert [reason for reason in open_.values() if "--" not in reason] == []
    assert {"FR-010.block", "FR-007.hidden", "FR-001.reveals-user"} <= open_.keys()
    assert "only retrieve_tools is called" in printed
    assert calls(started) == 0


@pytest.mark.proof
def test_one_file_is_enough_for_pytest(
    started: Started, knowledge: list[str], tmp_path: Path
) -> None:
    """A test file of one import judges the endpoint in the environment, by pytest, exit 0.

    Without a URL it has one error that names the variable. No upstream tool is called.
    """
    test = "from mcp_proxy_conformance.discovery.live.every_check import *\n"
    (tmp_path / "test_live.py").write_text(test, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-W", "error", "-rs", "test_live.py"]
    expected = {"MCP_PROXY_CONFORMANCE_EXPECT": knowledge[1]}
    named = {"MCP_PROXY_CONFORMANCE_URL": started.access.url, **expected}

    known, unnamed = (
        subprocess.run(
            command, cwd=tmp_path, env=os.environ | variables, capture_output=True, text=True,
            check=False, timeout=100,
        )
        for variables in (named, {})
    )  # fmt: skip

    report = json.loads((tmp_path / "mcp-proxy-conformance-out" / "report.json").read_bytes())
    assert (known.returncode, "passed" in known.stdout, report["exit"]) == (0, True, 0)
    assert verdicts(report)["FR-001.reveals-config"] == "pass"
    assert "add --call (--call: `mcp-proxy-conformance run endpoint`)" in known.stdout
    assert (unnamed.returncode, "set MCP_PROXY_CONFORMANCE_URL" in unnamed.stdout) == (1, True)
    assert "1 error" in unnamed.stdout
    assert calls(started) == 0


@pytest.mark.proof
def test_one_file_says_once_that_its_endpoint_is_not_there(tmp_path: Path) -> None:
    """The one-line test file has one error, with the reason, if nothing listens at the URL.

    Exit 1.
    """
    test = "from mcp_proxy_conformance.discovery.live.every_check import *\n"
    (tmp_path / "test_live.py").write_text(test, encoding="utf-8")

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_live.py"],
        cwd=tmp_path, env=os.environ | {"MCP_PROXY_CONFORMANCE_URL": "http://127.0.0.1:1/mcp"},
        capture_output=True, text=True, check=False, timeout=100,
    )  # fmt: skip

    assert (done.returncode, done.stdout.count("\nERROR ")) == (1, 1)
    assert "the connection was refused" in done.stdout
    assert "correct MCP_PROXY_CONFORMANCE_URL" in done.stdout


def test_a_program_on_its_standard_streams_is_looked_at(started: Started, tmp_path: Path) -> None:
    """`run endpoint --stdio` judges the reference's stdio program, exit 0.

    No upstream tool is called.
    """
    assert started.access.stdio is not None
    command = ["env", *(f"{k}={v}" for k, v in started.access.stdio_env.items())]
    program = shlex.join([*command, *started.access.stdio])

    code, report, _ = run(tmp_path, "--stdio", program, *LISTING)

    assert (code, report["target"]["wire"][-7:]) == (0, "(stdio)")
    assert verdicts(report)["FR-006.cap"] == "pass"
    assert calls(started) == 0


def test_without_any_lock_the_run_is_incomplete(tmp_path: Path) -> None:
    """`run endpoint` on a reference without locks exits with 4, and names --expect.

    FR-001.accepts, which needs no lock, passes.
    """
    target = target_of(describe(kind="reference", file=None, given={}, environment={}))
    try:
        bare = Started(target, world(server("forge", tool("list_repos"))), tmp_path / "target")
        code, report, printed = run(tmp_path / "out", "--url", bare.access.url)
        bare.close()
    finally:
        target.close()

    assert (code, report["why"]) == (4, UNSEEN)
    assert "no locked tool was seen; name one with --expect" in printed
    assert verdicts(report)["FR-001.accepts"] == "pass"


@pytest.mark.parametrize(
    ("lock", "exit_code", "sentence"),
    [
        ('"forge:drop_database" = "disabled_by_config"', 1, "FR-001.reveals-config"),
        ('"forge:delete_repo" = "disabled_by_user"', 1, "FR-004.precedence"),
        ('"forge:list_repos" = "disabled_by_user"', 4, "forge:list_repos is listed as callable"),
        ('"forge:delete_rep" = "disabled_by_config"', 4, "did you mean forge:delete_repo?"),
        (
            '"attic:send_letter" = "disabled_by_user"',
            4,
            "may explain another status",
        ),
    ],
)
def test_what_its_operator_knows_becomes_a_verdict(
    started: Started, lock: str, exit_code: int, sentence: str, tmp_path: Path
) -> None:
    """A lock named by --expect that is not shown is a breach, exit 1.

    Exit 4 if the tool is callable or unknown, or another lock may explain its status.
    """
    file = tmp_path / "locks.toml"
    file.write_text(lock, encoding="utf-8")

    code, _, printed = run(tmp_path / "out", "--url", started.access.url, "--expect", str(file))

    assert (code, sentence in printed) == (exit_code, True)


def test_a_call_of_an_unlocked_tool_is_not_made(started: Started, tmp_path: Path) -> None:
    """`--call` of a tool that is not locked calls nothing, exit 4.

    So does --call without a target file, which would name the call tool.
    """
    file = tmp_path / "target.toml"
    file.write_text('kind = "reference"\n', encoding="utf-8")
    options = ["--url", started.access.url, "--call", "forge:list_repos"]

    code, _, printed = run(tmp_path / "out", *options, "--target-file", str(file))
    other, _, unnamed = run(tmp_path / "out", *options)

    assert (code, "is not listed as locked, so it was not called" in printed) == (4, True)
    assert (other, "no call tool was named" in unnamed) == (4, True)
    assert calls(started) == 0
