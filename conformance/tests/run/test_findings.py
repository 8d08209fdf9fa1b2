"""Findings of the clauses that differences break, and of no others; confirmed by a second look."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from mcp_proxy_conformance.catalogue.requirement import catalogue, profile
from mcp_proxy_conformance.cli import main
from mcp_proxy_conformance.discovery.targets.embedded import embedded
from mcp_proxy_conformance.report.reader import read_report
from mcp_proxy_conformance.resilience.loader_target import embedded_target
from mcp_proxy_conformance.run.judgement import attempt, confirmed
from mcp_proxy_conformance.run.request import Selection
from mcp_proxy_conformance.selftest.trial import trial, tried
from mcp_proxy_conformance.verdict.comparison import Comparison, of_sides, same
from mcp_proxy_conformance.verdict.deviations.draft import broken
from mcp_proxy_mutants.discovery.changed import Changed
from mcp_proxy_mutants.discovery.mutants import mutants
from mcp_proxy_mutants.resilience.changed import ChangedLoad
from mcp_proxy_mutants.resilience.mutants import load_mutants
from mcp_proxy_reference.policy import counts

PROXIES = {mutant.id: mutant for mutant in mutants()}
LOADERS = {mutant.id: mutant for mutant in load_mutants()}


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        (1, 1, True),
        (True, 1, False),
        (1.0, 1, False),
        ([1, "a"], (1, "a"), True),
        ({"a": 1}, {"a": True}, False),
        ({"a": 1}, {"a": 1, "b": 1}, False),
        (None, 0, False),
        ("1", 1, False),
        (b"a", b"a", True),
    ],
)
def test_values_are_equal_with_their_json_types(left: Any, right: Any, equal: bool) -> None:
    """`same` is false for values of different JSON types, as 1 and true, or 1 and 1.0.

    A list is the same as a tuple; an object with one more member is not.
    """
    assert same(left, right) is equal


def test_a_failing_assertion_has_a_finding_for_each_member() -> None:
    """`of_sides` of two unequal dicts has a finding for each member that differs or is missing.

    Equal members have none.
    """
    sides = ("==", {"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 3, "d": 4})

    findings = of_sides(sides, ("FR-006.cap",))

    assert {finding.path: (finding.allowed, finding.observed) for finding in findings} == {
        "b": (3, 2), "c": (None, 3), "d": (4, None),
    }  # fmt: skip


def test_what_holds_is_observed_and_what_differs_is_broken() -> None:
    """A value that is allowed has its `shows` observed, one that is not has its `breaks` broken.

    `conclude` then fails.
    """
    compared = Comparison()
    compared.one_of("a", 1, (1, 2), breaks=["FR-006.cap", "FR-005.keys"], shows=["FR-006.cap"])
    compared.one_of("b", 3, (1, 2), breaks=["FR-009.note"], shows=["FR-009.count"])

    ending = attempt(compared.conclude)

    assert ending.verdict == "fail"
    assert (compared.broken, set(compared.observed)) == (("FR-009.note",), {"FR-006.cap"})


def test_only_what_a_second_look_shows_too_is_broken() -> None:
    """`confirmed` keeps, of a failure, the clauses that a second failure breaks, too.

    If there are none it is inconclusive, and what was observed stays.
    """

    def failing(*clauses: str) -> Any:
        """Return a failed ending that breaks these clauses, and has FR-006.cap observed."""
        compared = Comparison()
        compared.one_of("held", 1, (1,), breaks=["FR-006.cap"])
        for clause in clauses:
            compared.one_of(clause, 1, (2,), breaks=[clause])
        return attempt(compared.conclude)

    both = confirmed(failing("FR-009.note", "FR-009.count"), failing("FR-009.note"))
    none = confirmed(failing("FR-009.note"), failing("FR-009.count"))

    assert (both.verdict, both.comparison and both.comparison.broken) == ("fail", ("FR-009.note",))
    assert both.comparison is not None
    assert "FR-009.count" in both.comparison.open[0].reason
    assert (none.verdict, none.cause) == ("inconclusive", "disagrees")
    assert none.comparison is not None
    assert set(none.comparison.observed) == {"FR-006.cap"}


def block_without_sum(tools: Any) -> Any:
    """Return the reference's counts with `disabled_unknown` 0 added; None if it gives none."""
    block = counts(tools)
    return block if block is None else {"disabled_unknown": 0, **block}


def proxy(**change: Any) -> Changed:
    """Return the reference with these decisions of its policy replaced, as a Changed."""
    return Changed(id="changed", text="It is changed.", change=change)


ACCUSED = [
    (PROXIES["cap-lets-one-more"], {"FR-006.cap", "FR-006.odd-limits"}),
    (
        proxy(note=lambda *_: None),
        {"FR-009.note", "FR-009.tight-limit", "SC-006.every-kind"},
    ),
    (proxy(counts=block_without_sum), {"FR-010.zero-omitted"}),
]


@pytest.mark.proof(parts=6)
@pytest.mark.parametrize(("changed", "clauses"), ACCUSED)
def test_a_proxy_with_one_fault_is_accused_of_that_alone(
    changed: Changed, clauses: set[str], tmp_path: Path
) -> None:
    """A proxy with one fault fails exactly these clauses, of all those of seven requirements.

    A file of known failures begun from the report has no others.
    """
    target = embedded(changed, settle_s=0.1)
    near = {"FR-001", "FR-003", "FR-005", "FR-006", "FR-009", "FR-010", "SC-006"}
    clause_ids = frozenset(
        clause_id for clause_id in catalogue().clauses if clause_id.partition(".")[0] in near
    )

    verdicts = tried(trial(target, Selection(clauses=clause_ids)), tmp_path)

    firm = {
        clause_id for clause_id in clause_ids if catalogue().clause(clause_id).level == "required"
    }
    failed = {clause_id for clause_id in firm if verdicts.clauses.get(clause_id) == "fail"}
    report = read_report(tmp_path / "report.json")
    assert failed == clauses
    assert set(broken(report.clauses, report.results)) == clauses


SLOW = ("T1", "I4", "S1", "X")
"""Requirements whose loads wait for silent servers, and those on other subjects."""
QUICK = Selection(
    clauses=frozenset(
        clause_id
        for clause_id in profile("resilience").clauses
        if clause_id.partition(".")[0] not in SLOW
    )
)
LOADS = [
    ("not-found-may-pass", {"P3.not-found", "P3.once", "R4.stops"}),
    ("server-error-is-permanent", {"T3.server-error", "T3.notification", "T3.retried", "R2.heals"}),
]


@pytest.mark.proof(parts=4)
@pytest.mark.parametrize(("name", "most"), LOADS)
@pytest.mark.timeout(400)
@pytest.mark.usefixtures("few_scenarios")
def test_a_loader_that_is_wrong_on_one_signal_fails_its_clauses(
    name: str, most: set[str], tmp_path: Path
) -> None:
    """A loader that is wrong on one kind of failure fails all clauses that it is listed to break.

    Beyond them it fails at most those given. Loads that wait for silent servers are left out.
    """
    target = embedded_target(LOADERS[name])

    sure = trial(target, QUICK, profile="resilience", examples=0, confirm=True)
    verdicts = tried(sure, tmp_path)

    firm = [
        clause_id
        for clause_id in verdicts.clauses
        if catalogue().clause(clause_id).level == "required"
    ]
    failed = {clause_id for clause_id in firm if verdicts.clauses[clause_id] == "fail"}
    assert set(LOADERS[name].breaks) <= failed <= most | set(LOADERS[name].breaks)


@pytest.mark.proof
@pytest.mark.usefixtures("few_scenarios")
def test_too_few_attempts_are_not_too_many(tmp_path: Path) -> None:
    """A loader that never tries again fails T3.retried, but not O5.bounded."""
    never = ChangedLoad(
        id="never", text="It never tries again.", change={"again": lambda *_: False}
    )
    quick = trial(embedded_target(never), QUICK, profile="resilience", examples=0)

    verdicts = tried(quick, tmp_path)

    assert verdicts.clauses["O5.bounded"] != "fail"
    assert verdicts.clauses["T3.retried"] == "fail"


@pytest.mark.proof
def test_no_clause_passes_of_which_nothing_was_there(tmp_path: Path) -> None:
    """With `agents` and `quarantine` undeclared, their clauses are not applicable, with that cause.

    So they are though --only asks for them.
    """
    out = str(tmp_path / "out")
    options = ["--capabilities", "config,user", "--only", "FR-007"]
    options += ["--only", "FR-001.reveals-quarantined", "--examples", "1", "--out", out]

    CliRunner().invoke(main, ["run", "reference", *options])

    report = json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))
    verdicts = {clause["id"]: (clause["verdict"], clause["cause"]) for clause in report["clauses"]}
    absent = [
        clause_id
        for clause_id in verdicts
        if clause_id.startswith(("FR-007", "FR-001.reveals-quarantined"))
    ]
    assert {verdicts[clause_id] for clause_id in absent} == {("not_applicable", "not_declared")}
