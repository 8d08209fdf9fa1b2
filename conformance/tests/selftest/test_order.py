"""Order of checks: backwards or alone they have the usual verdicts; `differing` names others."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from mcp_proxy_conformance.selftest.order import differing

SELFTEST = (sys.executable, "-m", "mcp_proxy_conformance", "selftest")
WAYS = ("order-backwards", "order-alone")


@pytest.mark.proof
@pytest.mark.timeout(300)
def test_the_checks_say_the_same_in_reverse_and_alone(tmp_path: Path) -> None:
    """`selftest` finds that checks run backwards, and alone, have their usual verdicts: exit 0.

    It tries one of 80 parts of the checks, on the reference, in 280 s at most.
    """
    report = tmp_path / "self.json"
    only = [f"--only={way}" for way in WAYS]

    done = subprocess.run(
        [*SELFTEST, *only, "--part", "7/80", "--json", str(report)],
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )

    rows = json.loads(report.read_text(encoding="utf-8"))["rows"]
    assert [(row["id"], row["cell"], row["reason"]) for row in rows] == [
        (way, "behaved", "") for way in WAYS
    ]
    assert done.returncode == 0


def test_a_check_whose_verdict_depends_on_the_order_is_named() -> None:
    """`differing` maps each check with a differing verdict to a sentence on its first such case.

    A verdict that only one of the two runs has differs, too.
    """
    in_order = {("a", "x"): "pass", ("a", "y"): "pass", ("b", None): "pass"}

    differences = differing(
        in_order, {("a", "y"): "fail", ("b", None): "pass", ("c", None): "fail"}
    )

    assert differences == {
        "a": "a[x]: pass in the usual order, no verdict in this run",
        "c": "c: no verdict in the usual order, fail in this run",
    }
