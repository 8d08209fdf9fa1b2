"""Agreement of live runs: fair and changing targets are not accused, breaches seen twice are."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcp_proxy_conformance.discovery.selftest.changed import varied
from mcp_proxy_conformance.discovery.selftest.live_trial import (
    endpoint_of,
    started_with_locks,
    tried_live,
)
from mcp_proxy_conformance.discovery.selftest.rewriting_server import RewritingAdapter
from mcp_proxy_conformance.discovery.selftest.wire import WIRE_FAULTS
from mcp_proxy_conformance.discovery.targets.embedded import embedded
from mcp_proxy_conformance.discovery.targets.started import Started
from mcp_proxy_mutants.discovery.changed import Changed
from mcp_proxy_mutants.discovery.variants import variants

PART = variants()[::8]
PROOF = pytest.mark.proof(parts=6)


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Started]:
    """Yield the reference, started with locks of every kind; it ends after the test."""
    target = embedded(Changed(id="itself", text="The reference itself."), settle_s=0.1)
    with started_with_locks(target, tmp_path / "live") as running:
        yield running
    target.close()


def verdicts(report: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return (clause, verdict, reason) of each clause of the report."""
    return [(clause["id"], clause["verdict"], clause["reason"]) for clause in report["clauses"]]


def accused(report: dict[str, Any]) -> list[tuple[str, str]]:
    """Return (check, reason) of each failure in the report."""
    return [(r["check"], r["reason"]) for r in report["results"] if r["verdict"] == "fail"]


@pytest.mark.proof
def test_five_runs_come_to_the_same(started: Started, tmp_path: Path) -> None:
    """Five runs on one unchanged endpoint have equal verdicts and reasons; every clause passes."""
    runs = [verdicts(tried_live(endpoint_of(started), tmp_path / str(n))) for n in range(5)]

    assert runs == [runs[0]] * 5
    assert {verdict for _, verdict, _ in runs[0]} == {"pass"}


@contextmanager
def moving(started: Started, every_s: float) -> Iterator[None]:
    """Lock and unlock three tools in turn, every `every_s` seconds, during the block."""
    over = threading.Event()

    def move() -> None:
        """Lock the tools, then unlock them, every `every_s` seconds, until the block is over."""
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
    """A live run has no failure, and exits with 0 or 4, while the locks of its endpoint change."""
    with moving(started, every_s):
        report = tried_live(endpoint_of(started, rate=150), tmp_path)

    assert (accused(report), report["exit"] in (0, 4)) == ([], True)


@pytest.mark.parametrize(
    "variant",
    [*PART[::4], *(pytest.param(v, marks=PROOF) for n, v in enumerate(PART) if n % 4)],
    ids=lambda variant: variant.id,
)
def test_a_conforming_variant_is_not_accused(variant: Any, tmp_path: Path) -> None:
    """A live run on a conforming variant of the reference, with tools locked, exits with 0.

    No check fails. Every eighth variant is tried: of these each fourth in every run of the tests,
    the others as parts of the proof only.
    """
    target = varied(variant)
    try:
        with started_with_locks(target, tmp_path / "live") as running:
            report = tried_live(endpoint_of(running), tmp_path / "out")
    finally:
        target.close()

    assert accused(report) == []
    assert report["exit"] == 0


@pytest.mark.parametrize(("until", "exit_code"), [(150, 4), (10_000, 1)])
def test_a_breach_counts_only_when_it_is_seen_again(
    started: Started, until: int, exit_code: int, tmp_path: Path
) -> None:
    """A note that is missing only in the first answers leaves its check inconclusive, exit 4.

    If it is missing in all answers, the check fails with its messages, exit 1.
    """
    (usual,) = (fault for fault in WIRE_FAULTS if fault.id == "note-absent")
    edit = usual.document
    assert edit is not None

    def at_first(x: Any, answer: Any) -> Any:
        """Return the answer without its note among the first `until - 1`, later None: no change."""
        x.memory["number"] = x.memory.get("number", 0) + 1
        return edit(x, answer) if x.memory["number"] < until else None

    before = RewritingAdapter(
        started.adapter, replace(usual, document=at_first), started.target.surface
    )
    url = before._behind(started.access).url
    report = tried_live(replace(endpoint_of(started), url=url, call=()), tmp_path)
    before._servers[0].shutdown()
    before._servers[0].server_close()

    results = {r["check"]: r for r in report["results"]}
    result = results["test_a_live_answer_without_a_callable_tells_of_the_locked_one"]
    assert (report["exit"], result["verdict"]) == (
        exit_code,
        "fail" if exit_code == 1 else "inconclusive",
    )
    assert "does not agree with itself" in result["reason"] or exit_code == 1
    assert bool(result["messages"]) == (exit_code == 1)
