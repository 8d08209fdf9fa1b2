"""What the selftest tries, and which check is the first on each counterexample."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

from mcp_proxy_conformance.catalogue.index import Check, checks_in
from mcp_proxy_conformance.catalogue.requirement import OF_PROXIES, catalogue, profile
from mcp_proxy_conformance.selftest.controls import CONTROLS
from mcp_proxy_conformance.selftest.duels import Duel
from mcp_proxy_conformance.selftest.loader_controls import LOADER_CONTROLS
from mcp_proxy_conformance.selftest.matrix import Trial, made
from mcp_proxy_conformance.selftest.proofs import proofs
from mcp_proxy_conformance.selftest.removal import REMOVALS
from mcp_proxy_conformance.selftest.row import NEEDS, Kind, Row
from mcp_proxy_conformance.selftest.standing import Standing
from mcp_proxy_conformance.selftest.wire import WIRE_FAULTS

MOST_DUELS = 12
JUDGING = ("discovery", "robustness", "resilience")
COUNTEREXAMPLES = ("fault", "wire")


def trials() -> list[Trial]:
    """All of them; each check is the first on what it is listed with, then on about as many."""
    from mcp_proxy_mutants.loader.mutants import load_mutants  # noqa: PLC0415
    from mcp_proxy_mutants.loader.variants import load_variants  # noqa: PLC0415
    from mcp_proxy_mutants.proxy.mutants import mutants  # noqa: PLC0415 - as in targets/embedded.py
    from mcp_proxy_mutants.proxy.variants import variants  # noqa: PLC0415

    found = [_counterexample("fault", one) for one in mutants()]
    found += wire_trials()
    found += [_counterexample("fault", one) for one in load_mutants()]
    firm = firm_checks()
    found = _firsts(found, lambda one: [c.name for c in firm if set(c.clauses) & set(one.clauses)])
    found += [
        Trial(kind="variant", changed=one, clauses=one.takes, profile=OF_PROXIES)
        for one in variants()
    ]
    found += [
        Trial(kind="variant", changed=one, clauses=one.takes, profile=one.profile)
        for one in load_variants()
    ]
    controls = (*CONTROLS, *LOADER_CONTROLS, *REMOVALS)
    return found + [Trial(kind="control", changed=one, profile=one.profile) for one in controls]


def wire_trials() -> list[Trial]:
    """The counterexamples that stand in front of any target."""
    return [_counterexample("wire", one) for one in WIRE_FAULTS]


def _counterexample(kind: Kind, changed: Any) -> Trial:
    """Judged by the profile that has the clauses it breaks."""
    broken = set(changed.breaks)
    own = next((one for one in JUDGING if broken.intersection(profile(one).clauses)), JUDGING[0])
    return Trial(kind=kind, changed=changed, clauses=changed.breaks, profile=own)


def in_front_of(base: Standing, found: Sequence[Trial]) -> tuple[list[Row], list[Trial]]:
    """Rows for those that nothing on that target could show, and trials of the others."""
    told, seen = [], []
    for trial in found:
        if why := base.blindness(trial.clauses):
            told.append(made(trial, "unseeable", reason=why))
        else:
            seen.append(replace(trial, base=base))
    return told, _firsts(seen, lambda one: base.convicting(one.clauses))


def part_of(found: Sequence[Trial], number: int, parts: int) -> list[Trial]:
    """Every so-manieth counterexample, variant and control."""
    return list(found[number % parts :: parts])


def every(number: int, parts: int) -> list[Check]:
    """Every so-manieth check."""
    return list(checks_in("discovery")[number - 1 :: parts])


def asked_for(found: Sequence[Trial]) -> tuple[list[Row], list[Trial]]:
    """Rows for those whose clauses are only looked at when an option asks, and the others.

    Of the reference there are recordings to compare with, so what needs one is tried on it.
    """
    told, rest = [], []
    for trial in found:
        known = [catalogue().clause(one) for one in trial.clauses if trial.kind in COUNTEREXAMPLES]
        asked_by = [clause.asked_by for clause in known if clause.asked_by is not None]
        if known and len(asked_by) == len(known) and (trial.base or asked_by[0] != "baseline"):
            option = NEEDS[asked_by[0]]
            why = f"a run looks at {known[0].id} only with that option"
            told.append(made(trial, option, reason=why))
        else:
            rest.append(trial)
    return told, rest


def firm_checks() -> list[Check]:
    """The checks that can convict, but for those that need a soak."""
    return [
        check
        for folder in JUDGING
        for check in checks_in(folder)
        if any(_is_firm(clause) for clause in check.clauses)
    ]


def unproven(rows: Iterable[Row], tried: Collection[str] | None = None) -> list[Check]:
    """The checks that were not seen to kill what the list of proofs says.

    `tried`: only those that are listed with one of these; None is all.
    """
    killers = {row.id: row.by for row in rows if row.cell == "killed"}
    listed = {check.name: proofs().get(check.name, "") for check in firm_checks()}
    return [
        check
        for check in firm_checks()
        if (tried is None or listed[check.name] in tried)
        and check.name not in killers.get(listed[check.name], ())
    ]


def duels_of(lazy: Iterable[Check], tried: Sequence[Trial]) -> list[Duel]:
    """Each of these checks against the counterexample it is listed with, else of its clauses."""
    jobs = []
    for check in lazy:
        cited = frozenset(check.clauses)
        foes = [one for one in tried if one.kind in COUNTEREXAMPLES and cited & set(one.clauses)]
        listed = [one for one in foes if one.changed.id == proofs().get(check.name)]
        jobs.append(
            Duel(check=check.name, clauses=cited, trials=tuple(listed or foes[:MOST_DUELS]))
        )
    return jobs


def _firsts(found: list[Trial], able: Callable[[Trial], list[str]]) -> list[Trial]:
    used: Counter[str] = Counter()
    listed: dict[str, list[str]] = {}
    for check, killed in proofs().items():
        listed.setdefault(killed, []).append(check)
    placed = []
    for trial in found:
        names = able(trial)
        proving = [name for name in listed.get(trial.changed.id, ()) if name in names]
        first = min(proving or names, key=lambda name: used[name], default="")
        used[first] += 1
        placed.append(replace(trial, first=first))
    return placed


def _is_firm(clause_id: str) -> bool:
    clause = catalogue().clause(clause_id)
    return clause.judgement == "F" and clause.asked_by != "soak"
