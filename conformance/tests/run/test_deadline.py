"""The time limit of a run (`--timeout`) of any kind; `within` interrupts what is too slow."""

from __future__ import annotations

import json
import shlex
import sys
import time
from pathlib import Path

import needs
import pytest
from click.testing import CliRunner

from mcp_proxy_conformance.cli import main
from mcp_proxy_conformance.run.deadline import OutOfTime, postponed, within

MUTE = (sys.executable, "-c", "import time; time.sleep(600)")
ENDING_S = 20.0
"""Seconds that a step already begun may take to end."""


@needs.discovery
@needs.resilience
# An interruption while a file is opened leaves that file to the collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    ("words", "seconds", "sentence"),
    [
        (["reference"], 4, "the time limit (--timeout) of 4 s was reached"),
        pytest.param(
            ["reference", "-n", "2"],
            4,
            "the time limit (--timeout) of 4 s was reached",
            marks=pytest.mark.proof(parts=4),
        ),
        pytest.param(
            ["loader"],
            4,
            "the time limit (--timeout) of 4 s was reached",
            marks=pytest.mark.proof(parts=4),
        ),
        (["command", "--", *MUTE], 2, "2 s was reached before the target was ready"),
        (
            ["loader", "--command", shlex.join(MUTE)],
            2,
            "the time limit (--timeout) of 2 s was reached before the target",
        ),
    ],
    ids=["checks", "workers", "loads", "a mute adapter", "a mute loader"],
)
def test_a_run_ends_with_its_time(
    words: list[str], seconds: int, sentence: str, tmp_path: Path
) -> None:
    """A run of any kind ends within 20 s of its --timeout, exit 4, with that as its reason.

    Checks that were cut short are inconclusive; no reason has words of pytest.
    """
    kind, *more = words
    began = time.monotonic()

    done = CliRunner().invoke(
        main, ["run", kind, "--timeout", str(seconds), "--out", str(tmp_path), *more]
    )

    report = json.loads((tmp_path / "report.json").read_bytes())
    cut = [result for result in report["results"] if result["cause"] == "cut_short"]
    assert time.monotonic() - began < seconds + ENDING_S
    assert done.exit_code == 4, done.output
    assert sentence in report["why"]
    assert sentence in " ".join(done.output.split())
    assert {result["verdict"] for result in cut} <= {"inconclusive"}
    assert all("pytest" not in result["reason"] for result in report["results"])


def test_what_computes_is_interrupted_and_what_is_in_time_is_not() -> None:
    """`within` ends a block that computes for ever, and catches every Exception, by OutOfTime.

    In a block that ends in time nothing is raised, then or later.
    """
    late = OutOfTime("over", of_run=True)

    def computes() -> None:
        """Compute for ever, in spite of any Exception."""
        while True:
            try:
                sum(range(1000))
            except Exception:  # noqa: BLE001, S112 - as a check of anybody may
                continue

    with pytest.raises(OutOfTime), within(0.05, late):
        computes()
    with within(0.05, late):
        pass
    time.sleep(0.1)


def test_an_alarm_is_postponed_to_the_end_of_a_block() -> None:
    """An alarm that is due in a `postponed` block is raised after the block, which ends first."""
    ended = []

    def work() -> None:
        """Take longer than the alarm allows, in a postponed block and then after it."""
        with postponed():
            time.sleep(0.15)
            ended.append(True)
        time.sleep(10)

    with pytest.raises(OutOfTime), within(0.05, OutOfTime("over", of_run=True)):
        work()
    assert ended == [True]
