"""Trials that a selftest runs (mutants, variants, controls), in parts; checks not yet proven."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

from mcp_proxy_conformance.catalogue.index import Check, checks_in
from mcp_proxy_conformance.catalogue.requirement import (
    BESIDE,
    OF_PROXIES,
    OF_RELAYS,
    catalogue,
    folders_of,
    profile,
)
from mcp_proxy_conformance.selftest.controls import CONTROLS
from mcp_proxy_conformance.selftest.duels import Duel
from mcp_proxy_conformance.selftest.loader_controls import LOADER_CONTROLS
from mcp_proxy_conformance.selftest.matrix import Trial, row_of
from mcp_proxy_conformance.selftest.proofs import proofs
from mcp_proxy_conformance.selftest.removal import REMOVALS
from mcp_proxy_conformance.selftest.row import NEEDS, Kind, MatrixRow
from mcp_proxy_conformance.selftest.unchanged_target import Standing
from mcp_proxy_conformance.selftest.wire import WIRE_FAULTS

MOST_DUELS = 12
JUDGING = ("discovery", "robustness", "resilience", "fidelity", "integrity")
COUNTEREXAMPLES = ("fault", "wire")


def trials() -> list[Trial]:
    """Return all trials of the reference, in order: mutants, then variants, then controls.

    Mutants and variants are those of proxies, loaders and relays, with the mutants of the wire
    after those of proxies; controls are of proxies and loaders. Mutants of relays that break only
    untested clauses are left out. A mutant's trial has, as `first`, the check that runs first.
    """
    from mcp_proxy_mutants.loader.mutants import load_mutants  # noqa: PLC0415
    from mcp_proxy_mutants.loader.variants import load_variants  # noqa: PLC0415
    from mcp_proxy_mutants.proxy.mutants import mutants  # noqa: PLC0415
    from mcp_proxy_mutants.proxy.variants import variants  # noqa: PLC0415
    from mcp_proxy_mutants.relay.mutants import relay_mutants  # noqa: PLC0415
    from mcp_proxy_mutants.relay.variants import relay_variants  # noqa: PLC0415

    mutant_trials = [_counterexample("fault", mutant) for mutant in mutants()]
    mutant_trials += wire_trials()
    mutant_trials += [_counterexample("fault", mutant) for mutant in load_mutants()]
    mutant_trials += [
        replace(_counterexample("fault", mutant), profile=OF_RELAYS)
        for mutant in relay_mutants()
        if any(catalogue().clause(name).untested is None for name in mutant.breaks)
    ]
    firm = firm_checks()
    mutant_trials = _with_firsts(
        mutant_trials, lambda trial: [c.name for c in firm if set(c.clauses) & set(trial.clauses)]
    )
    mutant_trials += [
        Trial(kind="variant", changed=variant, clauses=variant.takes, profile=OF_PROXIES)
        for variant in variants()
    ]
    mutant_trials += [
        Trial(kind="variant", changed=variant, clauses=variant.takes, profile=variant.profile)
        for variant in load_variants()
    ]
    mutant_trials += [
        Trial(kind="variant", changed=variant, clauses=variant.takes, profile=OF_RELAYS)
        for variant in relay_variants()
    ]
    controls = (*CONTROLS, *LOADER_CONTROLS, *REMOVALS)
    return mutant_trials + [
        Trial(kind="control", changed=item, profile=item.profile) for item in controls
    ]


def wire_trials() -> list[Trial]:
    """Return the trials of the mutants that can be put in front of any target."""
    return [_counterexample("wire", mutant) for mutant in WIRE_FAULTS]


def _counterexample(kind: Kind, changed: Any) -> Trial:
    """Return the trial of a mutant by the first profile of JUDGING with a clause it breaks.

    If none has, it is judged by `discovery`.
    """
    broken = set(changed.breaks)
    own = next((name for name in JUDGING if broken.intersection(profile(name).clauses)), JUDGING[0])
    return Trial(kind=kind, changed=changed, clauses=changed.breaks, profile=own)


def in_front_of(base: Standing, wanted: Sequence[Trial]) -> tuple[list[MatrixRow], list[Trial]]:
    """Split the trials of wire mutants in front of a user's target, whose unchanged run is `base`.

    Return (rows, `unseeable`, of mutants of whose clauses no check passes on the unchanged target;
    the other trials, to be run, each with `base` and its first check).
    """
    unseeable, visible = [], []
    for trial in wanted:
        if why := base.blindness(trial.clauses):
            unseeable.append(row_of(trial, "unseeable", reason=why))
        else:
            visible.append(replace(trial, base=base))
    return unseeable, _with_firsts(
        visible, lambda candidate: base.able_to_convict(candidate.clauses)
    )


def part_of(wanted: Sequence[Trial], number: int, parts: int) -> list[Trial]:
    """Return part `number`, from 1, of the trials: every `parts`-th one."""
    return list(wanted[number - 1 :: parts])


def alone_in_part(number: int, parts: int) -> list[Check]:
    """Return the discovery checks that part `number`, from 1, of `parts` runs alone."""
    return list(checks_in("discovery")[number - 1 :: parts])


def set_aside_optional(wanted: Sequence[Trial]) -> tuple[list[MatrixRow], list[Trial]]:
    """Set aside the mutants all of whose clauses a run judges only with --soak or --baseline.

    Return (their rows, the trials left). A mutant of the reference that needs --baseline is not
    set aside, since the reference can be recorded.
    """
    skipped, rest = [], []
    for trial in wanted:
        known = [
            catalogue().clause(name) for name in trial.clauses if trial.kind in COUNTEREXAMPLES
        ]
        asked_by = [clause.asked_by for clause in known if clause.asked_by is not None]
        if known and len(asked_by) == len(known) and (trial.base or asked_by[0] != "baseline"):
            option = NEEDS[asked_by[0]]
            why = f"a run judges {known[0].id} only with that option"
            skipped.append(row_of(trial, option, reason=why))
        else:
            rest.append(trial)
    return skipped, rest


def firm_checks() -> list[Check]:
    """Return the checks that cite a required clause other than those judged only with --soak.

    They are those of the profiles in JUDGING.
    """
    return [
        check
        for folder in folders_of(BESIDE.join(JUDGING))
        for check in checks_in(folder)
        if any(_is_firm(clause) for clause in check.clauses)
    ]


def unproven(rows: Iterable[MatrixRow], tried: Collection[str] | None = None) -> list[Check]:
    """Return the required checks that did not kill the mutant that proofs.toml lists for them.

    With `tried`, the ids of the mutants that were run, only checks listed with one of these
    count.
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
    """Return a Duel for each check: the trials of the mutants on which it is to be run alone.

    That is its mutant in proofs.toml if `tried` has it, else up to MOST_DUELS mutants of `tried`
    that break a clause the check cites.
    """
    jobs = []
    for check in lazy:
        cited = frozenset(check.clauses)
        foes = [
            trial for trial in tried if trial.kind in COUNTEREXAMPLES and cited & set(trial.clauses)
        ]
        listed = [trial for trial in foes if trial.changed.id == proofs().get(check.name)]
        jobs.append(
            Duel(check=check.name, clauses=cited, trials=tuple(listed or foes[:MOST_DUELS]))
        )
    return jobs


def _with_firsts(unplaced: list[Trial], able: Callable[[Trial], list[str]]) -> list[Trial]:
    """Return the trials of mutants, each with the name of the check that is to run first on it.

    `able` names the checks to choose from for a trial: only those listed with the mutant in
    proofs.toml, if any, and of these one that is first for the fewest trials so far. The name is
    empty if there is none to choose from.
    """
    used: Counter[str] = Counter()
    listed: dict[str, list[str]] = {}
    for check, killed in proofs().items():
        listed.setdefault(killed, []).append(check)
    placed = []
    for trial in unplaced:
        names = able(trial)
        proving = [name for name in listed.get(trial.changed.id, ()) if name in names]
        first = min(proving or names, key=lambda name: used[name], default="")
        used[first] += 1
        placed.append(replace(trial, first=first))
    return placed


def _is_firm(clause_id: str) -> bool:
    """Whether the clause is required, and judged without the option --soak."""
    clause = catalogue().clause(clause_id)
    return clause.level == "required" and clause.asked_by != "soak"
