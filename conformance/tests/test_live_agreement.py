"""Live verdicts are the same from run to run, and a target that moves is not accused for it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mcp_proxy_conformance.counterexamples.live_trial import endpoint_of, seeded, tried_live
from mcp_proxy_conformance.counterexamples.matrix import Trial
from mcp_proxy_conformance.target.embedded import embedded
from mcp_proxy_conformance.target.started import Started
from mcp_proxy_reference.changed import Changed
from mcp_proxy_reference.variants import variants

PART = variants()[::8]


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Started]:
    """The reference, with locks laid by its operator."""
    target = embedded(Changed(id="itself", text="The reference itself."), settle_s=0.1)
    with seeded(target, tmp_path / "live") as found:
        yield found
    target.close()


def verdicts(report: dict[str, Any]) -> list[tuple[str, str, str]]:
    """The verdicts of all clauses, and their reasons."""
    return [(one["id"], one["verdict"], one["reason"]) for one in report["clauses"]]


def accused(report: dict[str, Any]) -> list[tuple[str, str]]:
    """The checks that convict, and why."""
    return [(r["check"], r["reason"]) for r in report["results"] if r["verdict"] == "fail"]


def test_five_runs_come_to_the_same(started: Started, tmp_path: Path) -> None:
    """Every clause, and every reason."""
    runs = [verdicts(tried_live(endpoint_of(started), tmp_path / str(n))) for n in range(5)]

    assert runs == [runs[0]] * 5
    assert {verdict for _, verdict, _ in runs[0]} == {"pass"}


@contextmanager
def moving(started: Started, every_s: float) -> Iterator[None]:
    """Meanwhile its operator locks and unlocks tools, over and over."""
    over = threading.Event()

    def move() -> None:
        locked = False
        while not over.wait(every_s):
            locked = not locked
            for kind, tools in (
                ("user", ["list_repos", "open_issue"]),
                ("config", ["list_issues"]),
            ):
                (started.lock if locked else started.unlock)(kind, "forge", tools)  # type: ignore[arg-type]

    thread = threading.Thread(target=move, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@pytest.mark.parametrize("every_s", [0.03, 0.1, 0.4])
def test_a_target_whose_locks_come_and_go_is_not_accused(
    started: Started, every_s: float, tmp_path: Path
) -> None:
    """What differs between its answers may leave clauses open, but breaks none."""
    with moving(started, every_s):
        report = tried_live(endpoint_of(started, rate=150), tmp_path)

    assert (accused(report), report["exit"] in (0, 4)) == ([], True)


@pytest.mark.parametrize("variant", PART, ids=lambda one: one.id)
def test_a_conforming_variant_is_not_accused(variant: Any, tmp_path: Path) -> None:
    """However different it looks, what it says holds together."""
    target = Trial(kind="variant", changed=variant).target()
    try:
        with seeded(target, tmp_path / "live") as found:
            report = tried_live(endpoint_of(found), tmp_path / "out")
    finally:
        target.close()

    assert accused(report) == []
    assert report["exit"] == 0
