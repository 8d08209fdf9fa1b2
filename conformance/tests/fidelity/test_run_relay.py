"""`run relay` on the bundled relay, one that rounds integers, one that ends at once; bad usage."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from mcp_proxy_conformance.cli import main

LOSSY = """
import json
from mcp_relay_reference import remote
from mcp_relay_reference.__main__ import main

exchange = remote.Remote.exchange


def lossy(self, method, headers, session, body):
    if body:
        document = json.loads(body, parse_int=lambda text: int(float(text)))
        body = json.dumps(document).encode()
    return exchange(self, method, headers, session, body)


remote.Remote.exchange = lossy
main()
"""
LAW = "test_any_value_reaches_the_upstream_in_arguments"


def judged(out: Path, *words: str) -> tuple[int, dict[str, str]]:
    """Run `run relay` with these words; return (exit code, {clause: verdict})."""
    ended = CliRunner().invoke(main, ["run", "relay", "--out", str(out), *words])
    report = json.loads((out / "report.json").read_text(encoding="utf-8"))
    return ended.exit_code, {clause["id"]: clause["verdict"] for clause in report["clauses"]}


def test_the_bundled_relay_keeps_calls_and_lists(tmp_path: Path) -> None:
    """`run relay` of three clauses on the bundled relay exits with 0, and all three pass."""
    words = ["RLY.up.arguments.integers", "RLY.tools.paging.beyond-first", "RLY.apart.answers"]

    code, verdicts = judged(tmp_path, *[part for word in words for part in ("--only", word)])

    assert code == 0
    assert {verdicts[word] for word in words} == {"pass"}


def test_a_relay_that_rounds_integers_fails_with_the_smallest_value(tmp_path: Path) -> None:
    """A relay that rounds integers fails RLY.up.arguments.integers, exit 1, by the law.

    A case with one argument is written, and fails by itself, too.
    """
    program = tmp_path / "lossy.py"
    program.write_text(LOSSY, encoding="utf-8")

    words = (sys.executable, str(program), "--port", "{port}", "--upstream-url", "{upstream_url}")
    code, verdicts = judged(tmp_path / "out", "--check", LAW, "--", *words)
    case = tmp_path / "out" / "laws" / "arguments-0.json"
    written = json.loads(case.read_text(encoding="utf-8"))
    _, again = judged(tmp_path / "again", "--case", str(case), "--", *words)

    assert code == 1
    assert verdicts["RLY.up.arguments.integers"] == "fail"
    assert len(written["arguments"]) == 1
    assert again["RLY.up.arguments.integers"] == "fail"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--", "relay", "{port}"], "names no upstream"),
        (["--profile", "discovery"], "does not judge kind 'relay'"),
        (["--quick"], "choose a relay's with --only"),
    ],
)
def test_an_unusable_command_line_is_refused(
    words: list[str], message: str, tmp_path: Path
) -> None:
    """A relay's command without an upstream, another kind's profile, and --quick exit with 2.

    The output says why.
    """
    ended = CliRunner().invoke(main, ["run", "relay", "--out", str(tmp_path), *words])

    assert ended.exit_code == 2
    assert message in " ".join(ended.output.split())


def test_a_relay_that_does_not_start_is_no_verdict(tmp_path: Path) -> None:
    """`run relay` on a program that ends at once exits with 3."""
    code, _ = judged(
        tmp_path, "--", sys.executable, "-c", "raise SystemExit(7)", "{upstream_url}", "{port}"
    )

    assert code == 3
