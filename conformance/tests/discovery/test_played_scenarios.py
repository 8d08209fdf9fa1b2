"""Scenarios of discovery: changed proxies are convicted with a small row, fair ones not accused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from mcp_proxy_conformance.catalogue.case_file import BadCase
from mcp_proxy_conformance.cli import main
from mcp_proxy_conformance.discovery.laws.clauses import CLAUSES
from mcp_proxy_conformance.discovery.played_scenarios import PlayedScenarios
from mcp_proxy_conformance.discovery.scenarios import (
    ScenarioCase,
    plan_of,
    played_space,
    read_own,
    scenarios,
)
from mcp_proxy_conformance.discovery.targets.adapter import CAPABILITIES
from mcp_proxy_conformance.discovery.targets.embedded import embedded
from mcp_proxy_conformance.run.judgement import Ending, attempt
from mcp_proxy_conformance.run.space.covering import given, scenario
from mcp_proxy_conformance.run.space.space import Row
from mcp_proxy_mutants.discovery.changed import Changed
from mcp_proxy_mutants.fresh import Fresh
from mcp_proxy_reference.facts import Facts, Status
from mcp_proxy_reference.policy import cap, classify, locked_entry

BOTH: Row = {"lock": "config-user"}
MOODS = count()


def changed(name: str, **change: Any) -> Changed:
    """Return the reference with these decisions of its policy replaced, as a Changed of that id."""
    return Changed(id=name, text=name, change=change)


def user_first(facts: Facts) -> Status:
    """Return the reference's status of a tool, but a user's lock first (FR-004.precedence)."""
    return "disabled_by_user" if facts.disabled_by_user else classify(facts)


def moody() -> Any:
    """Return an entry decision whose status is a word `mood_N`, another one for each target."""
    word = f"mood_{next(MOODS)}"

    return lambda facts, status, withheld: locked_entry(facts, status, withheld) | {"status": word}


@contextmanager
def playing(
    proxy: Changed, folder: Path, *rows: tuple[Row, ...], **options: Any
) -> Iterator[tuple[PlayedScenarios, list[str]]]:
    """Yield the scenarios of these rows on that proxy, and their names; end all afterwards."""
    known = {own.id: own for own in map(scenario, rows)}
    target = embedded(proxy, settle_s=0.1, enforce_s=0.5)
    played = PlayedScenarios(target, folder / "scratch", folder, known, **options)
    try:
        yield played, [*known]
    finally:
        played.close()
        target.close()


def ended(played: PlayedScenarios, name: str) -> Ending:
    """Return how a scenario ends, its failure confirmed."""
    ending = attempt(lambda: played.compared(name).conclude())
    return played.confirmed(name, ending)


def test_a_changed_proxy_is_convicted_with_the_smallest_row(tmp_path: Path) -> None:
    """A proxy that tells a user's lock first breaks precedence, shown by a row of its own.

    The story says wherever it shows, and how the row, which is written as a case, is run again.
    """
    many = (
        {"lock": "config"},
        {"lock": "user"},
        {**BOTH, "name": "signs"},
        {**BOTH, "limit": "one"},
    )
    with playing(changed("user-first", classify=user_first), tmp_path, many) as (played, (name,)):
        ending = ended(played, name)
        story = [*played.story(name, ending.findings(()))]
    own = [case.case for path in (tmp_path / "cases").glob("*.json") for case in read_own(path)]

    assert ending.verdict == "fail"
    assert {"FR-004.precedence", "SC-003.discovery"} <= ending.broken
    assert any("wherever lock=config-user (2 of 2" in line for line in story)
    assert any("alone, with lock=config-user: run it again with --case" in line for line in story)
    assert own
    assert all(isinstance(case, ScenarioCase) and case.rows == (BOTH,) for case in own)


def test_a_row_of_ones_own_is_played_alone(tmp_path: Path) -> None:
    """`run --case` with a file of rows plays that scenario alone, and it passes."""
    case = {"id": "own", "clauses": ["FR-004.precedence"], "rows": [BOTH]}
    (tmp_path / "own.json").write_text(json.dumps(case))

    done = CliRunner().invoke(
        main,
        ["run", "reference", "--case", str(tmp_path / "own.json"), "--out", str(tmp_path / "out")],
    )

    report = json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))
    verdicts = [
        (result["check"], result["case"], result["verdict"]) for result in report["results"]
    ]
    assert (verdicts, done.exit_code) == ([("test_scenario", "own", "pass")], report["exit"])


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ('[{"lock": "glue"}]', "it has lock=glue, which the space lacks"),
        ('[{"colour": "red"}]', "it has colour=red, which the space lacks"),
        ("7", "Expected `array`, got `int`"),
        ("[]", "it has no row"),
    ],
)
def test_a_row_of_ones_own_that_cannot_be_played_is_refused(
    rows: str, sentence: str, tmp_path: Path
) -> None:
    """`read_own` raises BadCase for rows with values that the space lacks, or of another form."""
    path = tmp_path / "own.json"
    path.write_text(f'{{"id": "own", "clauses": ["FR-004.enum"], "rows": {rows}}}')

    with pytest.raises(BadCase, match=sentence):
        read_own(path)


def test_a_proxy_that_changes_its_mind_is_not_judged(tmp_path: Path) -> None:
    """On a proxy whose status words differ at each start, a scenario stays open: seen only once."""
    proxy = changed("moody", locked_entry=Fresh(moody))
    with playing(proxy, tmp_path, ({"lock": "config"},)) as (played, (name,)):
        ending = ended(played, name)

    assert "FR-004.precedence" not in ending.broken
    assert ending.verdict in ("fail", "inconclusive")


def test_what_enough_scenarios_confirm_is_not_tried_again(tmp_path: Path) -> None:
    """A third scenario that breaks the same clauses stays open, but not with excused failures."""
    rows = [({**BOTH, "description": word},) for word in ("plain", "lines", "markup")]
    for excuses, verdict in ((False, "inconclusive"), (True, "fail")):
        proxy = changed("user-first", classify=user_first)
        with playing(proxy, tmp_path, *rows, excuses=excuses) as (played, names):
            verdicts = [ended(played, name).verdict for name in names]

        assert verdicts == ["fail", "fail", verdict]


def test_a_lock_that_cannot_be_laid_leaves_its_row_unarmed(tmp_path: Path) -> None:
    """A row whose lock has no effect was not looked at, and says why."""
    proxy = changed("lets-through", may_call=lambda *_: True)
    with playing(proxy, tmp_path, ({"lock": "user"}, {"lock": "none"})) as (played, (name,)):
        ended(played, name)
        statuses = [(row.status, row.reason) for row in played.of(name)]

    assert statuses == [("unarmed", "the lock had no effect"), (None, "")]


@pytest.mark.proof(parts=4)
@pytest.mark.parametrize("fair", [
    changed("as-it-is"), changed("five-at-most", cap=lambda wanted: min(cap(wanted), 5)),
], ids=lambda proxy: proxy.id)  # fmt: skip
def test_a_fair_proxy_breaks_no_law(fair: Changed, tmp_path: Path) -> None:
    """The reference, and one with a lower cap, break no law; all of the space is looked at.

    Each law observes a clause.
    """
    with playing(fair, tmp_path, *(each.rows for each in scenarios())) as (played, names):
        played.begin(names)
        compared = [played.compared(name) for name in names]
        coverage = played.coverage(CAPABILITIES, None)

    observed = {clause for each in compared for clause in each.observed}
    assert [each.findings for each in compared] == [[] for _ in names]
    assert [name for name, its in CLAUSES.items() if not observed & {*its}] == []
    assert coverage is not None
    assert not coverage.missed


def test_the_same_seed_draws_the_same_scenarios() -> None:
    """Scenarios drawn from the space are the same for a seed, others for another."""
    first, again, other = (
        given(played_space(), CAPABILITIES, examples=3, seed=seed)[-3:] for seed in (0, 0, 1)
    )

    assert first == again != other


@pytest.mark.parametrize("can", [CAPABILITIES, {"config", "user"}, {"config", "user", "agents"}])
def test_no_scenario_needs_what_is_not_declared(can: frozenset[str]) -> None:
    """The worlds of drawn scenarios have only locks and agents that the target declares."""
    plans = map(partial(plan_of, can=can), given(played_space(), can, examples=20, seed=2))

    worlds = [plan.world for plan in plans]
    kinds = {step.lock or step.unlock for world in worlds for step in world.steps} - {None}
    assert "approval" in can or not kinds & {"approval", "quarantine"}
    assert "agents" in can or not any(world.agents for world in worlds)
