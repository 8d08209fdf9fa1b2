"""Trials that a selftest runs (mutants, variants, controls), in parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from mcp_proxy_conformance.catalogue.index import Check, checks_in
from mcp_proxy_conformance.catalogue.requirement import (
    catalogue,
    profile,
)
from mcp_proxy_conformance.discovery.specification import OF_PROXIES
from mcp_proxy_conformance.discovery.specification import SPECIFICATION as DISCOVERY
from mcp_proxy_conformance.fidelity.specification import OF_RELAYS
from mcp_proxy_conformance.selftest.controls import CONTROLS
from mcp_proxy_conformance.selftest.loader_controls import LOADER_CONTROLS
from mcp_proxy_conformance.selftest.matrix import Trial, row_of
from mcp_proxy_conformance.selftest.removal import REMOVALS
from mcp_proxy_conformance.selftest.row import NEEDS, Kind, MatrixRow
from mcp_proxy_conformance.selftest.unchanged_target import Standing
from mcp_proxy_conformance.selftest.wire import WIRE_FAULTS

JUDGING = ("discovery", "robustness", "resilience", "fidelity", "integrity")
COUNTEREXAMPLES = ("fault", "wire")


def trials() -> list[Trial]:
    """Return all trials of the reference, in order: mutants, then variants, then controls.

    Mutants and variants are those of proxies, loaders and relays, with the mutants of the wire
    after those of proxies; controls are of proxies and loaders. Mutants of relays that break only
    untested clauses are left out.
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
        if catalogue().clause(mutant.breaks[0]).untested is None
    ]
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
    """Return the trial of a mutant by the first profile of JUDGING with the clause that it proves.

    If none has it, it is judged by `discovery`.
    """
    proven = changed.breaks[0]
    own = next((name for name in JUDGING if proven in profile(name).clauses), JUDGING[0])
    return Trial(kind=kind, changed=changed, clauses=changed.breaks, profile=own)


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
    """Return the discovery checks that part `number`, from 1, of `parts` runs alone."""
    return list(checks_in(DISCOVERY.checks[0])[number - 1 :: parts])


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
