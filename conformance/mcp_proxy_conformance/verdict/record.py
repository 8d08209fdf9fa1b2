"""Record of a run: everything that its report is made from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from mcp_proxy_conformance.catalogue.requirement import Profile, catalogue
from mcp_proxy_conformance.verdict.cited import CitedMessage, CitedStage
from mcp_proxy_conformance.verdict.coverage import Coverage
from mcp_proxy_conformance.verdict.deviations.deviation import Deviation
from mcp_proxy_conformance.verdict.outcome import GREEN, Outcome
from mcp_proxy_conformance.verdict.result import NotApplicable, Result


class Shard(msgspec.Struct, frozen=True, kw_only=True):
    """One part, `number` of `of`, of a run that `--shard` divides.

    `order` maps the address of each check of all parts, in the order of the run, to the name of
    the target that it shares, or to the address itself.
    """

    number: int
    of: int
    order: dict[str, str] = {}

    @property
    def name(self) -> str:
        """The part as users write it, e.g. 1/3."""
        return f"{self.number}/{self.of}"


@dataclass(slots=True, kw_only=True)
class RunState:
    """The state of a run so far: its results, and how it ended.

    `stages` are targets that workers or other parts of the run started, `messages` those that
    results cite, by place and number. `narrowed`: a part of the profile was left out; `asked`: the
    only clauses that were asked for, None if none were named; `missing`: parts that nobody handed
    over.
    """

    results: list[Result] = field(default_factory=list)
    stages: list[CitedStage] = field(default_factory=list)
    messages: dict[str, CitedMessage] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    interrupted: bool = False
    cut_short: str = ""
    stopped: Outcome | None = None
    narrowed: bool = False
    asked: frozenset[str] | None = None
    shard: Shard | None = None
    missing: str = ""
    wire: str = ""

    @property
    def partial(self) -> str:
        """Why the run covers only a part of the profile, in a phrase; "" if it covers all."""
        left_out = "the rest of the profile was left out" if self.narrowed else ""
        return self.missing or (f"this is part {self.shard.name}" if self.shard else left_out)

    @property
    def broken(self) -> frozenset[str]:
        """The clauses of all failed results, waived ones included."""
        failed = [r for r in self.results if r.verdict in ("fail", "waived")]
        return frozenset(clause for result in failed for clause in result.clauses)

    @property
    def complete(self) -> bool:
        """Whether the run was not interrupted, stopped or cut short, and left nothing out."""
        return not (self.interrupted or self.partial or self.cut_short or self.stopped)


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetFacts:
    """Facts of the target for its report; `lines` are lines of the target file, by member.

    `declared` are declarations that were taken on the word of that file, by member.
    """

    kind: str
    name: str = ""
    version: str = ""
    capabilities: frozenset[str] = frozenset()
    file: str | None = None
    lines: Mapping[str, int] = field(default_factory=dict)
    declared: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """A run in the form from which its report is made.

    `beyond`: clauses that are not judged, whatever cites them; `credentials`: headers that grant
    access to the target, besides those of the stages; `unsettled`: why a run that leaves clauses
    open is incomplete, empty if their names say it; `requests`: the number sent, if counted;
    `coverage`: of the space that its scenarios play, if there is one;
    `date`: when it began, in ISO 8601 and UTC; `command`: the halves of the
    command line, between which `--check NAME` is inserted.
    """

    profile: Profile
    target: TargetFacts
    state: RunState
    deviations: tuple[Deviation, ...] = ()
    beyond: Mapping[str, NotApplicable] = field(default_factory=dict)
    stages: tuple[CitedStage, ...] = ()
    credentials: tuple[Mapping[str, str], ...] = ()
    green: Outcome = GREEN
    unsettled: str = ""
    requests: int | None = None
    coverage: Coverage | None = None
    seconds: float = 0.0
    date: str = ""
    command: tuple[str, str] = ("", "")


def not_declared(needs: Iterable[str], capabilities: frozenset[str]) -> NotApplicable | None:
    """Return a NotApplicable for the first of `needs` not in `capabilities`; None if all are."""
    for word in needs:
        if word not in capabilities:
            return NotApplicable(f"{word} is not declared", cause="not_declared")
    return None


def beyond(profile: Profile, capabilities: frozenset[str]) -> dict[str, NotApplicable]:
    """Map each clause of the profile that needs an undeclared capability to the reason."""
    needs = {clause: catalogue().clause(clause).capability for clause in profile.clauses}
    reasons = {clause: not_declared(words, capabilities) for clause, words in needs.items()}
    return {clause: why for clause, why in reasons.items() if why is not None}
