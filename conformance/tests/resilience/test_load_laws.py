"""Laws of loads: changed loaders are convicted with a small case, fair ones are not accused."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from mcp_proxy_conformance.catalogue.index import checks
from mcp_proxy_conformance.catalogue.resources import schemas_dir
from mcp_proxy_conformance.cli import main
from mcp_proxy_conformance.resilience.driven_loader import LoadBench
from mcp_proxy_conformance.resilience.laws.generated_loads import GeneratedLoads
from mcp_proxy_conformance.resilience.laws.law import LAWS, Declared
from mcp_proxy_conformance.resilience.laws.worlds import WORDS
from mcp_proxy_conformance.resilience.load_case import LoadCase, read_own
from mcp_proxy_conformance.resilience.loader_target import embedded_target
from mcp_proxy_conformance.resilience.loads import Loads
from mcp_proxy_conformance.resilience.walk import Reads
from mcp_proxy_conformance.run.laws.engine import Laws, Tried
from mcp_proxy_conformance.run.request import Selection
from mcp_proxy_conformance.selftest.trial import trial, tried
from mcp_proxy_conformance.verdict.comparison import Comparison
from mcp_proxy_conformance.verdict.result import Finding, Inconclusive
from mcp_proxy_mutants.fresh import Fresh
from mcp_proxy_mutants.resilience.changed import ChangedLoad
from mcp_proxy_reference.loader import MEANING, Outcome

Json = dict[str, Any]
FEW = 6
MODULE = "resilience/checks/test_load_laws.py"
OF_CHECKS = {check.name: check.clauses for check in checks() if check.module == MODULE}


@contextmanager
def trying(
    changed: ChangedLoad, folder: Path, reads: Reads | None = None
) -> Iterator[Laws[LoadCase]]:
    """Yield the laws of loads with six generated examples, seed 0, on that loader.

    Loads and target are closed at the end.
    """
    target = embedded_target(changed)
    loads = Loads(target.loader, folder)
    declared = Declared(reads=reads or Reads())
    try:
        yield Laws(GeneratedLoads(loads, declared, examples=FEW, seed=0, out=folder))
    finally:
        loads.close()
        target.close()


def changed(name: str, edit: Any = None, **change: Any) -> ChangedLoad:
    """Return the reference's loader of that id, with these decisions replaced.

    `edit` changes its answers, if given.
    """
    return ChangedLoad(id=name, text=name, change=change, edit=edit)


def meaning(**classes: str) -> ChangedLoad:
    """Return the reference's loader that gives each kind of failure named here this status."""
    table = {kind: (status, MEANING[kind][1]) for kind, status in classes.items()}
    return changed(" ".join(classes), meaning={**MEANING, **table})


def claims_more(answer: Json, _: Json) -> Json:
    """Add 1 to the claimed attempts of each server that took more than one (O6.claimed)."""
    for outcome in answer["outcomes"]:
        outcome["attempts"] += outcome["attempts"] > 1
    return answer


def follows_the_first(answer: Json, _: Json) -> Json:
    """If the first server is denied, make all others denied too: order and company then matter.

    It breaks I3.order and I1.isolated.
    """
    first, *others = answer["outcomes"] or [{"status": ""}]
    for outcome in others if first["status"] == "denied" else ():
        outcome.update(status="denied", tools=[], error="The server denied access.")
    return answer


def keeps_tools(answer: Json, _: Json) -> Json:
    """Add the tool `kept` to each denied server, which must not have any (S2.no-tools)."""
    for outcome in answer["outcomes"]:
        outcome["tools"] += ["kept"] if outcome["status"] == "denied" else []
    return answer


def drops_the_denied(answer: Json, _: Json) -> Json:
    """Drop the outcomes of denied servers, unless there is one outcome only (O1.one-each)."""
    if len(answer["outcomes"]) > 1:
        answer["outcomes"] = [
            outcome for outcome in answer["outcomes"] if outcome["status"] != "denied"
        ]
    return answer


def remembers() -> Any:
    """Return a change of answers: a server once permanent keeps that outcome in later loads.

    It breaks I5.clears where the server has healed. Servers are known by their URLs.
    """
    failed: dict[str, Json] = {}

    def edit(answer: Json, request: Json) -> Json:
        """Keep each permanent outcome by URL; give each server the kept one of its URL, if any."""
        urls = {server["server_id"]: str(server.get("url")) for server in request["servers"]}
        for outcome in answer["outcomes"]:
            if outcome["status"] == "permanent":
                failed[urls[outcome["server_id"]]] = dict(outcome)
            outcome.update(failed.get(urls[outcome["server_id"]], {}))
        return answer

    return edit


def by_turns() -> Any:
    """Return a change of answers by which all servers have the next of four statuses, by load.

    No repetition then shows the same breach. Nothing else of the outcomes changes.
    """
    turn = count()

    def edit(answer: Json, _: Json) -> Json:
        """Give all servers of this load the next status, and return the answer."""
        word = WORDS[next(turn) % len(WORDS)]
        for outcome in answer["outcomes"]:
            outcome["status"] = word
        return answer

    return edit


WRONG: list[tuple[ChangedLoad, str, tuple[str, ...]]] = [
    (meaning(http_404="transient"), "status", ("P3.not-found",)),
    (meaning(timeout="permanent"), "status", ("T1.timeout", "T1.notification")),
    (meaning(denied="permanent"), "status", ("D1.denied", "D2.ambiguous", "D1.notification")),
    (meaning(denied="transient"), "attempts", ("D1.once", "D2.once", "R4.stops")),
    (
        changed("one-too-many", again=lambda _, s, n, most: s == "transient" and n <= most),
        "attempts",
        ("O5.bounded",),
    ),
    (
        changed("never-again", again=lambda *_: False),
        "attempts",
        ("R2.heals", "T1.retried", "T2.retried", "T3.retried", "T4.retried"),
    ),
    (
        changed(
            "goes-on-later",
            again=lambda _, s, n, most: (
                n < most and (s == "transient" or (s == "permanent" and n > 1))
            ),
        ),
        "attempts",
        ("R4.stops",),
    ),
    (changed("claims-more", claims_more), "claims", ("O6.claimed",)),
    (changed("follows-the-first", follows_the_first), "order", ("I3.order",)),
    (changed("follows-the-first", follows_the_first), "isolation", ("I1.isolated",)),
    (changed("keeps-tools", keeps_tools), "outcomes", ("O3.no-tools", "S2.no-tools")),
    (changed("drops-the-denied", drops_the_denied), "outcomes", ("O1.one-each",)),
    (changed("remembers", Fresh(remembers)), "clears", ("I5.clears",)),
]


def small_case(folder: Path) -> LoadCase:
    """Return the load case of the only file in `laws` below the folder."""
    (path,) = (folder / "laws").iterdir()
    [case] = read_own(path)
    return case


def judged_again(wrong: ChangedLoad, case: LoadCase, folder: Path) -> Comparison:
    """Return the Comparison of a load case on that loader, as a check makes it.

    Loads and target are closed.
    """
    target = embedded_target(wrong)
    loads = Loads(target.loader, folder)
    try:
        return LoadBench(loads, target).judged(case)
    finally:
        loads.close()
        target.close()


QUICK = ("http_404", "one-too-many", "drops-the-denied")
"""The loaders that every call of pytest tries; the others are part of the proof."""


@pytest.mark.parametrize(
    ("wrong", "law", "clauses"),
    [
        pytest.param(
            *row,
            marks=() if row[0].id in QUICK else pytest.mark.proof(parts=10),
            id=f"{row[0].id}-{row[1]}",
        )
        for row in WRONG
    ],
)
def test_a_changed_loader_is_convicted_with_a_small_case(
    wrong: ChangedLoad, law: str, clauses: tuple[str, ...], tmp_path: Path
) -> None:
    """A loader with one fault breaks its law, only these clauses, and a small case is written.

    It has at most two servers and three behaviours, and breaks its clauses by itself, too. A
    finding on status or attempts has its server's script.
    """
    with trying(wrong, tmp_path) as laws:
        compared = laws.compared(law)
        evidence = laws.evidence
        case = small_case(tmp_path)
        again = judged_again(wrong, case, tmp_path)

    assert compared.findings
    assert law not in ("status", "attempts") or any(each.about for each in compared.findings)
    assert set(compared.broken) <= set(clauses)
    assert set(compared.broken) >= set(case.clauses)
    assert set(again.broken) >= set(case.clauses)
    assert len(case.given.servers) <= 2
    assert sum(len(server.script) for server in case.given.servers) <= 3
    assert evidence[0].startswith(f"at most {case.given.max_attempts} attempts; ")
    assert f"--case {tmp_path}/laws/{case.id}.json" in evidence[1]


async def one_by_one(loads: Sequence[Any]) -> list[Outcome]:
    """Run the loads of servers one after the other, and return their outcomes in that order."""
    return [await load() for load in loads]


FAIR = [
    changed("as-it-is"),
    changed("equal-pauses", pause=lambda _, base: base),
    changed("one-by-one", together=one_by_one),
    changed("twice-at-most", again=lambda _, s, n, most: s == "transient" and n < min(most, 2)),
]


@pytest.mark.proof(parts=8)
@pytest.mark.parametrize("fair", FAIR, ids=lambda loader: loader.id)
def test_a_fair_loader_breaks_no_law(fair: ChangedLoad, tmp_path: Path) -> None:
    """A conforming loader with other pauses, order or fewer attempts breaks no law.

    No case is written.
    """
    with trying(fair, tmp_path) as laws:
        by_law = {law: laws.compared(law) for law in LAWS}

    assert {law: compared.findings for law, compared in by_law.items()} == {law: [] for law in LAWS}
    assert not (tmp_path / "laws").exists()


@pytest.mark.proof
def test_a_loader_that_neither_classifies_nor_retries_breaks_no_law_of_its_own(
    tmp_path: Path,
) -> None:
    """A loader that declares neither `classifies` nor `retries` breaks none of four laws.

    It reports `available` or `failed`, and tries once.
    """

    def edit(answer: Json, _: Json) -> Json:
        """Make each server that is not available `failed`; return the answer."""
        for outcome in answer["outcomes"]:
            outcome["status"] = "available" if outcome["status"] == "available" else "failed"
        return answer

    plain = changed("plain", edit, again=lambda *_: False)
    with trying(plain, tmp_path, Reads(classifies=False, retries=False)) as laws:
        comparisons = [laws.compared(law) for law in ("outcomes", "order", "isolation", "clears")]

    assert [comparison.findings for comparison in comparisons] == [[], [], [], []]


@pytest.mark.proof
def test_a_loader_that_changes_its_mind_is_not_judged(tmp_path: Path) -> None:
    """On a loader with another status in each load, a law is inconclusive: seen only once."""
    with (
        trying(changed("by-turns", Fresh(by_turns)), tmp_path) as laws,
        pytest.raises(Inconclusive, match="only once: at most "),
    ):
        laws.compared("status").conclude()


class Played(GeneratedLoads):
    """Fixed loads of which `found(law, load)` says, without making them, what a law finds wrong."""

    found: Callable[[str, LoadCase], Sequence[Finding]]

    def tried(self, law: str, examples: Sequence[LoadCase]) -> list[Tried[LoadCase]]:
        """Return a trial of each load."""
        return [self._of_law(law, example, self.found(law, example)) for example in examples]

    def seen_again(self, law: str, example: LoadCase) -> list[Tried[LoadCase]]:
        """Return two trials that are like the first one."""
        return self.tried(law, [example] * 2)

    def _of_law(self, law: str, example: LoadCase, findings: Sequence[Finding]) -> Tried[LoadCase]:
        broken = tuple(clause for finding in findings for clause in finding.clauses)
        held = [clause for clause in LAWS[law].clauses if clause not in broken]
        found = {(finding.path, finding.clauses): finding for finding in findings}
        return Tried(example=example, found=found, observed=Counter(held), broken=broken)

    def written(self, law: str, tried: Tried[LoadCase], *, in_time: bool) -> list[str]:
        """Write nothing."""
        del law, tried, in_time
        return []

    def expect_control(self) -> None:
        """Do nothing, as if a server was available."""


def played(
    folder: Path, law: str, found: Callable[[str, LoadCase], Sequence[Finding]]
) -> Comparison:
    """Return what a law comes to on the fixed loads of a run."""
    target = embedded_target(changed("as-it-is"))
    loads = Loads(target.loader, folder)
    examples = Played(loads, Declared(reads=Reads()), examples=0, seed=0, out=folder)
    examples.found = found
    laws = Laws(examples)
    try:
        return laws.compared(law)
    finally:
        laws.close()
        loads.close()
        target.close()


@pytest.mark.parametrize(("lapses", "is_open"), [(1, False), (2, True), (5, True)])
def test_one_breach_that_does_not_come_again_is_a_lapse_and_two_are_not(
    lapses: int, tmp_path: Path, *, is_open: bool
) -> None:
    """Of loads, a breach that no repetition shows leaves its clause observed, two leave it open."""
    finding = Finding(
        path="status", clauses=("T1.timeout",), allowed="transient", observed="denied"
    )
    left = [finding] * lapses

    compared = played(tmp_path, "status", lambda _, __: [left.pop()] if left else [])

    assert compared.findings == []
    assert [each.clauses for each in compared.open] == ([finding.clauses] if is_open else [])
    assert ("T1.timeout" in compared.observed) is not is_open


@pytest.mark.parametrize("isolates", [True, False])
def test_attempts_that_only_other_servers_change_are_blamed_on_isolation_if_it_is_broken(
    tmp_path: Path, *, isolates: bool
) -> None:
    """A number of attempts that is wrong only beside other servers counts if the loader isolates.

    Else its clause is open, as the breach of I1.isolated explains it.
    """
    finding = Finding(path="attempts", clauses=("T1.retried",), allowed=2, observed=1)

    def found(law: str, example: LoadCase) -> list[Finding]:
        is_swayed = len(example.given.servers) > 1 and not (isolates and law == "isolation")
        return [finding] if is_swayed else []

    compared = played(tmp_path, "attempts", found)

    assert compared.findings == ([finding] if isolates else [])
    assert [each.clauses for each in compared.open] == ([] if isolates else [finding.clauses])


def test_a_check_cites_what_its_law_can_convict_of() -> None:
    """Each check of load laws cites exactly the clauses of one law, and each law has a check.

    Checks of once generated loads do not count.
    """
    cited = {
        frozenset(clause_ids)
        for name, clause_ids in OF_CHECKS.items()
        if "once_generated" not in name
    }

    assert cited == {frozenset(law.clauses) for law in LAWS.values()}


@pytest.mark.proof
def test_a_run_says_the_same_twice_and_leads_to_a_case_of_its_own(tmp_path: Path) -> None:
    """A loader with one attempt too many has the same failing verdicts in two runs.

    The evidence names a case file, which is valid, and passes on the reference's loader.
    """
    wrong = changed("one-too-many", again=lambda _, s, n, most: s == "transient" and n <= most)
    runs = []
    for name in ("one", "two"):
        law_trial = trial(
            embedded_target(wrong),
            profile="resilience",
            selection=Selection(
                clauses=frozenset({"O5.bounded"}),
                alone="test_any_script_is_tried_as_often_as_its_signals_ask",
            ),
        )
        verdicts = tried(law_trial, tmp_path / name)
        runs.append([(r["check"], r["case"], r["verdict"], r["clauses"]) for r in verdicts.every])
    report = json.loads((tmp_path / "two" / "report.json").read_text(encoding="utf-8"))
    (law,) = [
        result for result in report["results"] if result["check"].startswith("test_any_script_is")
    ]
    path = next((tmp_path / "two" / "laws").iterdir())

    schema = json.loads((schemas_dir() / "load-case.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator(schema).validate(json.loads(path.read_text(encoding="utf-8")))
    done = CliRunner().invoke(
        main, ["run", "loader", "-v", "--case", str(path), "--out", str(tmp_path / "three")]
    )

    assert runs[0] == runs[1]
    assert (law["verdict"], law["clauses"]) == ("fail", ["O5.bounded"])
    again, basis = law["story"][-2:]
    assert again == f"run it again with the same command and --case {path}"
    assert basis.startswith("29 loads generated from seed 0, ")
    assert "pass            O5.bounded" in done.output
    assert "partial: " in done.output


def test_what_is_drawn_leaves_nothing_in_the_working_folder(tmp_path: Path) -> None:
    """`drawn` leaves no file in the working folder."""
    code = (
        "from hypothesis import strategies as st;"
        "from mcp_proxy_conformance.run.laws.generation import drawn;"
        "assert drawn(st.text(), 50, 1)"
    )

    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)

    assert list(tmp_path.iterdir()) == []
