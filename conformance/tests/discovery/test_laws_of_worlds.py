"""Laws of discovery: changed proxies are convicted with a small case, fair ones not accused."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from mcp_proxy_conformance.catalogue.case_file import BadCase
from mcp_proxy_conformance.catalogue.index import checks
from mcp_proxy_conformance.catalogue.resources import schemas_dir
from mcp_proxy_conformance.cli import main
from mcp_proxy_conformance.discovery.case import When, read_own
from mcp_proxy_conformance.discovery.laws.generated_worlds import (
    GeneratedWorlds,
    LawOptions,
    generated,
)
from mcp_proxy_conformance.discovery.laws.law import LAWS
from mcp_proxy_conformance.discovery.laws.plan import Plan, is_sensible
from mcp_proxy_conformance.discovery.laws.smaller_plans import size
from mcp_proxy_conformance.discovery.laws.written_case import written
from mcp_proxy_conformance.discovery.targets.adapter import CAPABILITIES
from mcp_proxy_conformance.discovery.targets.embedded import embedded
from mcp_proxy_conformance.run.laws.engine import Laws, Tried
from mcp_proxy_conformance.run.request import Selection
from mcp_proxy_conformance.selftest.trial import trial, tried
from mcp_proxy_conformance.verdict.result import Finding, Inconclusive
from mcp_proxy_mutants.discovery.changed import Changed
from mcp_proxy_mutants.discovery.changed_parts import Request
from mcp_proxy_mutants.fresh import Fresh
from mcp_proxy_reference.facts import Facts, Status
from mcp_proxy_reference.policy import cap, classify, locked_entry

SETTLE_S = 0.1
MODULE = "discovery/checks/test_laws.py"
OF_CHECKS = {check.name: check.clauses for check in checks() if check.module == MODULE}
LEAST = frozenset({"config", "user"})


def changed(name: str, **change: Any) -> Changed:
    """Return the reference with these decisions of its policy replaced, as a Changed of that id."""
    return Changed(id=name, text=name, change=change)


@contextmanager
def trying(
    proxy: Changed, folder: Path, *, can: frozenset[str] = CAPABILITIES, **options: Any
) -> Iterator[Laws[Plan]]:
    """Yield the laws of discovery on that proxy, which declares these capabilities.

    Only the fixed worlds are played, for each law apart. Laws and target are closed at the end.
    """
    target = replace(embedded(proxy, settle_s=SETTLE_S), capabilities=can)
    asks = LawOptions(examples=0, apart=True, **options)
    laws = Laws(GeneratedWorlds(target, folder / "scratch", folder, asks))
    try:
        yield laws
    finally:
        laws.close()
        target.close()


def user_first(facts: Facts) -> Status:
    """Return the reference's status of a tool, but a user's lock first (FR-004.precedence)."""
    return "disabled_by_user" if facts.disabled_by_user else classify(facts)


def moody() -> Any:
    """Return an entry decision whose status is a word `mood_N`, another one for each target.

    No repetition then shows the same breach.
    """
    word = f"mood_{next(MOODS)}"

    return lambda facts, status, withheld: locked_entry(facts, status, withheld) | {"status": word}


def listed_map(document: dict[str, Any], request: Request) -> dict[str, Any]:
    """Return the answer with the texts of the map as a list, if its limit is five."""
    if request.limit != 5 or "remediation" not in document:
        return document
    return document | {"remediation": [*document["remediation"].values()]}


MOODS = count()


def test_the_same_seed_gives_the_same_worlds() -> None:
    """`generated` yields the same worlds for a seed, others for another after the first three."""
    first_worlds, again, other = (generated(6, seed, CAPABILITIES) for seed in (0, 0, 1))

    assert first_worlds == again != other
    assert first_worlds[:3] == other[:3]


@pytest.mark.parametrize("can", [CAPABILITIES, LEAST, LEAST | {"agents", "server_off"}])
def test_every_step_of_a_world_is_legal_where_it_stands(can: frozenset[str]) -> None:
    """Each step of generated worlds is possible where it stands, and its kind is declared.

    Worlds have one to six servers, and some more than 20 tools.
    """
    plans = generated(60, 2, can)

    kinds = {step.lock or step.unlock for plan in plans for step in plan.world.steps} - {None}
    assert [plan for plan in plans if not is_sensible(plan.world)] == []
    assert "approval" in can or not kinds & {"approval", "quarantine"}
    assert max(len(plan.world.tools()) for plan in plans) > 20
    assert {len(plan.world.servers) for plan in plans} >= {1, 2, 3, 4, 5, 6}


def test_what_is_written_is_valid_under_the_schemas(tmp_path: Path) -> None:
    """A case and a stage written of a generated world, for any request, fit their schemas.

    Read again, the stage has the same steps.
    """
    schemas = [
        Draft202012Validator(json.loads((schemas_dir() / f"{name}.schema.json").read_bytes()))
        for name in ("case", "stage")
    ]
    for plan in generated(25, 1, CAPABILITIES):
        for of in _requests(plan):
            path = written(plan, of, {"FR-004.precedence"}, tmp_path)
            if path is not None:
                [(case, world)] = read_own(path)
                stage = path.with_name(f"{case.given.stage}.json")
                for schema, file in zip(schemas, (path, stage), strict=True):
                    schema.validate(json.loads(file.read_bytes()))
                assert world.steps == plan.world.steps


def _requests(plan: Plan) -> list[When]:
    """Return five requests on the last tool of the world, to be written into a case and read back.

    They are a discovery for each form of the flag (absent, true, false), a listing, and a call.
    """
    key, tool = list(plan.world.tools().items())[-1]
    forms = [When(do="discover", query=tool.word, include_disabled=f) for f in (None, True, False)]
    return [*forms, When(do="list"), When(do="call", tool=str(key))]


WRONG = [
    pytest.param(
        changed("user-first", classify=user_first),
        "statuses",
        {"FR-004.precedence", "SC-003.discovery"},
        marks=pytest.mark.proof,
    ),
    (
        changed("eleven", cap=lambda wanted: cap(wanted) + 1),
        "cap",
        {"FR-006.cap", "FR-006.odd-limits"},
    ),
    (changed("map-listed-at-five", answer=listed_map), "schemas", {"FR-005.keys"}),
    pytest.param(
        changed("silent", note=lambda *_: None),
        "notes",
        {"FR-009.note", "SC-006.every-kind", "FR-009.tight-limit", "SC-002.two-steps"},
        marks=pytest.mark.proof,
    ),
]


@pytest.mark.parametrize(
    ("wrong", "law", "clauses"), WRONG, ids=lambda value: getattr(value, "id", "")
)
def test_a_changed_proxy_is_convicted_with_a_small_case(
    wrong: Changed, law: str, clauses: set[str], tmp_path: Path
) -> None:
    """A proxy with one fault breaks its law, only these clauses, and a smaller case is written.

    The evidence has its world in one line, and how to run it again.
    """
    with trying(wrong, tmp_path) as laws:
        compared = laws.compared(law)
        evidence, basis = laws.evidence, laws.basis
        first = generated(0, 0, CAPABILITIES)[0]
    (path,) = (tmp_path / "laws").glob("law-*.json")
    [(case, world)] = read_own(path)

    assert compared.findings
    assert set(compared.broken) <= clauses
    assert set(case.clauses) <= set(compared.broken)
    assert size(Plan(world, (0,)))[1] < size(first)[1]
    assert evidence[0].startswith("world(server(")
    assert evidence[1] == f"run it again with the same command and --case {path}"
    assert "from seed 0" in basis[0]


FAIR = [changed("as-it-is"), changed("five-at-most", cap=lambda wanted: min(cap(wanted), 5))]


@pytest.mark.proof(parts=4)
@pytest.mark.parametrize("fair", FAIR, ids=lambda proxy: proxy.id)
def test_a_fair_proxy_breaks_no_law(fair: Changed, tmp_path: Path) -> None:
    """The reference, and one with a lower cap, break no law; each law observes a clause.

    No case is written.
    """
    target = embedded(fair, settle_s=SETTLE_S)
    laws = Laws(GeneratedWorlds(target, tmp_path / "scratch", tmp_path, LawOptions(examples=1)))
    try:
        by_law = {law: laws.compared(law) for law in LAWS}
    finally:
        laws.close()
        target.close()

    assert {law: compared.findings for law, compared in by_law.items()} == {law: [] for law in LAWS}
    assert {law for law, compared in by_law.items() if not compared.observed} == set()
    assert not (tmp_path / "laws").exists()


@pytest.mark.proof
def test_a_proxy_that_changes_its_mind_is_not_judged(tmp_path: Path) -> None:
    """On a proxy whose status words differ at each start, a law is inconclusive: seen only once."""
    with (
        trying(changed("moody", locked_entry=Fresh(moody)), tmp_path) as laws,
        pytest.raises(Inconclusive, match="only once: world"),
    ):
        laws.compared("statuses").conclude()


def test_a_law_that_saw_nothing_proves_nothing(tmp_path: Path) -> None:
    """If the flag reveals nothing, the law `entries` is inconclusive: no world led to an entry."""
    hidden = changed("hidden", sections=lambda *_: dict[str, Any]())
    with (
        trying(hidden, tmp_path) as laws,
        pytest.raises(Inconclusive, match="no generated world led to"),
    ):
        laws.compared("entries").conclude()


def test_a_check_cites_what_its_law_can_convict_of() -> None:
    """Each check of discovery laws cites exactly the clauses of one law, and each law has a check.

    Checks of once generated worlds do not count.
    """
    cited = {
        frozenset(clause_ids)
        for name, clause_ids in OF_CHECKS.items()
        if "once_generated" not in name
    }

    assert cited == {frozenset(law.clauses) for law in LAWS.values()}


@pytest.mark.proof
def test_a_run_comes_to_the_same_twice_and_reports_its_seed(tmp_path: Path) -> None:
    """A proxy with a cap too high has the same failing verdicts in two runs of a law.

    The evidence has the number of worlds and the seed.
    """
    runs = []
    for name in ("one", "two"):
        law_trial = trial(
            embedded(changed("eleven", cap=lambda wanted: cap(wanted) + 1), settle_s=SETTLE_S),
            selection=Selection(
                clauses=frozenset({"FR-006.odd-limits"}),
                alone="test_no_answer_in_any_world_exceeds_its_cap",
            ),
        )
        verdicts = tried(law_trial, tmp_path / name)
        runs.append([(r["check"], r["verdict"], r["clauses"]) for r in verdicts.every])
    report = json.loads((tmp_path / "two" / "report.json").read_text(encoding="utf-8"))

    assert runs[0] == runs[1]
    assert runs[0][0][1] == "fail"
    assert "worlds generated from seed 0" in report["results"][0]["story"][-1]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{}", "missing required field `id`"),
        (None, "cannot read "),
        ('{"area": "nowhere"}', "no check has the area 'nowhere'"),
    ],
)
def test_a_case_of_ones_own_that_cannot_be_used_is_refused(
    text: str | None, sentence: str, tmp_path: Path
) -> None:
    """`read_own` raises BadCase for a file that is missing, incomplete or of an unknown area."""
    path = tmp_path / "own.json"
    if text is not None:
        whole = {
            "id": "own", "area": "law", "title": "Own.", "source": ["FR-004"],
            "clauses": ["FR-004.enum"], "given": {"stage": "mixed"},
            "when": {"do": "discover", "query": "a"}, "then": {"note": "any"},
        }  # fmt: skip
        path.write_text(json.dumps(whole | json.loads(text)) if text != "{}" else text)

    with pytest.raises(BadCase, match=sentence):
        read_own(path)


def test_a_run_tries_the_cases_of_ones_own_and_nothing_else(tmp_path: Path) -> None:
    """`run --case` with a file of written cases judges these alone, and they pass."""
    plan = generated(0, 0, CAPABILITIES)[1]
    paths = [written(plan, of, {"FR-004.precedence"}, tmp_path) for of in _requests(plan)[:2]]
    cases = [json.loads(path.read_bytes()) for path in paths if path is not None]
    (tmp_path / "own.json").write_text(json.dumps({"area": "law", "cases": cases}))

    done = CliRunner().invoke(
        main,
        ["run", "reference", "--case", str(tmp_path / "own.json"), "--out", str(tmp_path / "out")],
    )

    report = json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))
    verdicts = {result["case"]: result["verdict"] for result in report["results"]}
    assert (verdicts, done.exit_code) == ({case["id"]: "pass" for case in cases}, report["exit"])


def test_breaches_of_two_laws_are_repeated_at_once(tmp_path: Path) -> None:
    """While one law's breach is repeated, another law's repetition begins; both are findings."""
    both, plan = Barrier(2, timeout=5), generated(0, 0, CAPABILITIES)[0]

    class Broken(GeneratedWorlds):
        """Worlds that break two laws; each law's repetition waits for the other's."""

        def tried_on_all(self, law: str) -> list[Tried[Plan]]:
            """Return one trial, in which `LAW.broken`, a clause of this law's name, is broken."""
            clauses: tuple[str, ...] = (f"{law}.broken",)
            finding = Finding(path=law, clauses=clauses, allowed="kept", observed="broken")
            findings = {(law, clauses): finding}
            return [Tried(example=plan, found=findings, observed=Counter(), broken=clauses)]

        def broken(self) -> list[str]:
            """Return the names of both laws."""
            return ["first", "second"]

        def seen_again(self, law: str, example: Plan) -> list[Tried[Plan]]:
            """Wait until the other law's breach is repeated, too; return the same trial."""
            del example
            both.wait()
            return self.tried_on_all(law)

        def smaller(self, tried: Tried[Plan]) -> Iterator[list[Plan]]:
            """Yield no smaller worlds."""
            del tried
            yield from ()

        def written(self, law: str, tried: Tried[Plan], *, in_time: bool) -> list[str]:
            """Return the law's name as the evidence."""
            del tried, in_time
            return [law]

    target = replace(embedded(changed("two-laws"), settle_s=SETTLE_S))
    laws = Laws(Broken(target, tmp_path / "scratch", tmp_path, LawOptions()))
    try:
        shown = [(laws.compared(law).broken, laws.evidence) for law in ("first", "second")]
    finally:
        laws.close()
        target.close()

    assert shown == [(("first.broken",), ("first",)), (("second.broken",), ("second",))]
