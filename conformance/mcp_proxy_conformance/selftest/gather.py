"""Trials that a selftest runs (mutants, variants, controls), in parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mcp_proxy_conformance.catalogue.index import Check, checks_in
from mcp_proxy_conformance.catalogue.requirement import catalogue
from mcp_proxy_conformance.catalogue.specification import specifications
from mcp_proxy_conformance.selftest.matrix import Trial, row_of
from mcp_proxy_conformance.selftest.proof import proofs
from mcp_proxy_conformance.selftest.row import NEEDS, MatrixRow
from mcp_proxy_conformance.selftest.unchanged_target import Standing

COUNTEREXAMPLES = ("fault", "wire")


def trials() -> list[Trial]:
    """Return all trials of the references, in order: mutants, then variants, then controls.

    Mutants that are for an untested clause are left out.
    """
    every = proofs().values()
    mutants = [
        trial
        for proof in every
        for trial in proof.mutants
        if catalogue().clause(trial.clauses[0]).untested is None
    ]
    controls = [
        Trial(kind="control", changed=item, make=item.target, profile=item.profile)
        for proof in every
        for item in proof.controls
    ]
    return [*mutants, *(trial for proof in every for trial in proof.variants), *controls]


def in_front_of(base: Standing, wanted: Sequence[Trial]) -> tuple[list[MatrixRow], list[Trial]]:
    """Split the trials of wire mutants in front of a user's target, whose unchanged run is `base`.

    Return (rows, `unseeable`, of mutants of whose clauses no check passes on the unchanged target;
    the other trials, to be run, each with `base`).
    """
    unseeable, visible = [], []
    for trial in wanted:
        if why := base.blindness(trial.clauses):
            unseeable.append(row_of(trial, "unseeable", reason=why))
        else:
            visible.append(replace(trial, base=base))
    return unseeable, visible


def part_of(wanted: Sequence[Trial], number: int, parts: int) -> list[Trial]:
    """Return part `number`, from 1, of the trials: every `parts`-th one."""
    return list(wanted[number - 1 :: parts])


def alone_in_part(number: int, parts: int) -> list[Check]:
    """Return the checks that part `number`, from 1, of `parts` runs alone.

    They are those of the first folder of each specification whose checks share targets.
    """
    folders = {each.name: each.checks[0] for each in specifications()}
    shared = [folders[name] for name, proof in proofs().items() if proof.unchanged is not None]
    return [check for folder in shared for check in checks_in(folder)][number - 1 :: parts]


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
