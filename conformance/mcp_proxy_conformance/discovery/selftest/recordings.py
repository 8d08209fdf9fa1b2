"""Recordings of the reference's answers, for mutants whose clauses compare with an older build."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from mcp_proxy_conformance.catalogue.requirement import catalogue
from mcp_proxy_conformance.discovery.baseline.manifest import Kind, write
from mcp_proxy_conformance.discovery.baseline.recorder import record
from mcp_proxy_conformance.discovery.selftest.changed import SETTLE_S, mutated
from mcp_proxy_conformance.discovery.targets.embedded import embedded
from mcp_proxy_conformance.selftest.forked_jobs import forked
from mcp_proxy_conformance.selftest.matrix import Trial
from mcp_proxy_conformance.selftest.unchanged_target import NotTried

CHANGED = "SUITE.changed"
"""The clause that compares with a build that has the feature."""


class NotRecorded(NotTried):
    """The reference could not be recorded; the message says why."""


def with_recordings(trials: Sequence[Trial], folder: Path) -> list[Trial]:
    """Return the trials; those whose clauses need a recording have it as their baseline.

    One recording of the reference is made now for each kind needed, in a forked process, into
    `folder`. Raises NotRecorded if one could not be made.
    """
    wanted = {trial.changed.id: kind for trial in trials if (kind := _kind(trial)) is not None}

    def work(kind: Kind) -> None:
        """Record the reference of this kind into the folder named after it."""
        write(_recording(kind, folder / f"{kind}-scratch"), folder / kind)

    for outcome in forked(work, sorted(set(wanted.values())), folder / "recordings"):
        if outcome.failure:
            raise NotRecorded(
                f"the {outcome.job} reference could not be recorded: {outcome.failure}"
            )
    kinds = [(trial, wanted.get(trial.changed.id)) for trial in trials]
    return [
        replace(trial, make=partial(mutated, trial.changed, baseline=folder / kind))
        if kind
        else trial
        for trial, kind in kinds
    ]


def _kind(trial: Trial) -> Kind | None:
    """Return the kind of recording that a mutant's clauses compare with; None if they need none.

    It is `previous` for the clause on changes of a build, else `pre_feature`. None for
    variants, controls and mutants of the wire.
    """
    if trial.kind != "fault":
        return None
    comparing = [name for name in trial.clauses if catalogue().clause(name).asked_by == "baseline"]
    if not comparing:
        return None
    return "previous" if CHANGED in comparing else "pre_feature"


def _recording(kind: Kind, scratch: Path) -> Any:
    """Record the reference: without the flag for `pre_feature`, unchanged for any other kind.

    Return the recording; the target, whose files are in `scratch`, is closed.
    """
    from mcp_proxy_mutants.discovery.changed import Changed  # noqa: PLC0415 - other targets do without
    from mcp_proxy_mutants.discovery.featureless import FEATURELESS  # noqa: PLC0415

    unchanged = Changed(id="unchanged", text="The unchanged reference.")
    target = embedded(FEATURELESS if kind == "pre_feature" else unchanged, settle_s=SETTLE_S)
    try:
        return record(target, scratch, kind)
    finally:
        target.close()
