"""One run: the target, its pool of started stages, and the results gathered so far."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mcp_proxy_conformance.catalogue.requirement import Judgement, Profile, catalogue
from mcp_proxy_conformance.discovery import presence
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.live.endpoint import secrets
from mcp_proxy_conformance.report.cited import Cited, StageTold, cited
from mcp_proxy_conformance.run.collected import Place, address, clauses_of, named
from mcp_proxy_conformance.run.judging import Ending, judge, told, with_log
from mcp_proxy_conformance.run.sharding import Shard
from mcp_proxy_conformance.run.stage_record import StageRecord
from mcp_proxy_conformance.targets.adapter import AdapterError, Target
from mcp_proxy_conformance.targets.pool import Pool, Wanted
from mcp_proxy_conformance.targets.started import Started
from mcp_proxy_conformance.verdict.comparison import plain
from mcp_proxy_conformance.verdict.deviations.deviation import Deviation
from mcp_proxy_conformance.verdict.deviations.waiving import waived
from mcp_proxy_conformance.verdict.outcome import (
    BROKEN,
    CONFORMANT,
    INCOMPLETE,
    VIOLATED,
    Outcome,
)
from mcp_proxy_conformance.verdict.redaction import Redactor
from mcp_proxy_conformance.verdict.result import (
    Cause,
    Finding,
    Misshapen,
    NotApplicable,
    Result,
    Verdict,
)
from mcp_proxy_conformance.wire.faults import ProtocolFault, Unreachable
from mcp_proxy_conformance.wire.transcript import Message

PASS_EXCERPT, PRESENCE_EXCERPT = 4, 8
SECOND = "#second"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What an ending says: its verdict, the clauses that it is about, and those that hold."""

    verdict: Verdict
    clauses: tuple[str, ...]
    judgement: Judgement
    findings: tuple[Finding, ...] = ()
    observed: tuple[str, ...] = ()
    cause: Cause = ""
    reason: str = ""


@dataclass(slots=True)
class Run:
    """The state of one run, made by the plugin and read by the report."""

    target: Target
    profile: Profile
    out: Path
    confirm: bool = True
    keep: bool = False
    deviations: tuple[Deviation, ...] = ()
    results: list[Result] = field(default_factory=list)
    stages: dict[str, StageRecord] = field(default_factory=dict)
    gathered: list[StageTold] = field(default_factory=list)
    messages: dict[str, Cited] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    interrupted: bool = False
    cut_short: str = ""
    stopped: Outcome | None = None
    narrowed: bool = False
    shard: Shard | None = None
    missing: str = ""
    began: float = field(default_factory=time.monotonic)
    wire: str = ""
    scratch_name: str = "scratch"
    _uses: Counter[str] = field(default_factory=Counter)
    _current: dict[str, StageRecord] = field(default_factory=dict)
    _pool: Pool | None = None

    @property
    def green(self) -> Outcome:
        """What a run comes to in which every clause passes or does not apply."""
        return Outcome("conformant", CONFORMANT, "every clause passes or does not apply")

    @property
    def partial(self) -> str:
        """That a part of the profile was left out, and why; empty where none was."""
        left_out = "the rest of the profile was left out" if self.narrowed else ""
        return self.missing or (f"this is the part {self.shard.name}" if self.shard else left_out)

    @property
    def told_stages(self) -> list[StageTold]:
        """Every started stage, those that others started for this run included."""
        return [*self.gathered, *(record.told() for record in self.stages.values())]

    @property
    def credentials(self) -> list[Mapping[str, str]]:
        """Headers by which the target lets somebody in."""
        return [headers for one in self.told_stages for headers in one.credentials]

    @property
    def requests(self) -> int | None:
        """How many were sent, where that is counted."""
        return None

    @property
    def redactor(self) -> Redactor:
        """What takes credentials out of everything that is told: here the environment's."""
        return Redactor(secrets("", ()))

    def unsettled(self, clauses: list[str]) -> str:
        """Why a run is incomplete that left these clauses open."""
        return f"not settled: {', '.join(clauses)}"

    @property
    def scratch(self) -> Path:
        """Where targets keep what they need while they run."""
        return self.out / self.scratch_name

    @property
    def pool(self) -> Pool:
        """The pool of this run, made when first asked for."""
        if self._pool is None:
            self._pool = Pool(self.target, self.scratch, keep=self.keep)
        return self._pool

    def look(self) -> None:
        """Look whether there is anything to check; if not, `stopped` says what the run came to."""
        try:
            started = Started(self.target, presence.WORLD, self.scratch, keep=self.keep)
        except AdapterError as error:
            self.stopped = Outcome("target or adapter broke", BROKEN, str(error))
            return
        try:
            with started.expected_alive():
                found = presence.missing(started)
        except (AdapterError, Unreachable, ProtocolFault) as error:
            self.stopped = Outcome("target or adapter broke", BROKEN, str(error))
        except Misshapen:
            pass  # the checks say more of it
        else:
            self.wire = started.client(endpoint=self.target.surface.endpoints[0]).wire
            self._stop_for(found, started)
        finally:
            started.close()

    def _stop_for(self, found: presence.Missing | None, started: Started) -> None:
        if found is None:
            return
        seen = started.transcript.since(0)[-PRESENCE_EXCERPT:]
        cited_as = {f"{presence.WORLD.id}/{message.id}": message for message in seen}
        self.messages |= {name: cited(message) for name, message in cited_as.items()}
        if found.violated and "FR-014.described" not in self.profile.clauses:
            return
        if not found.violated:
            self.stopped = Outcome("incomplete", INCOMPLETE, found.why)
            return
        self.stopped = Outcome("violated", VIOLATED, found.why)
        self.results.append(presence.breach(found.why, presence.WORLD.id, tuple(cited_as)))

    def plan(self, places: list[Place]) -> None:
        """What the collected checks will need, in their order."""
        self.count(places)
        self.soon(places)

    def count(self, places: list[Place]) -> None:
        """How many checks there are for each place: after the last one its target ends."""
        self._uses = Counter(place.name for place in places if not self.lacking(place))

    def soon(self, places: list[Place]) -> None:
        """What the next checks need, in their order: it is started ahead."""
        first: dict[str, Wanted] = {}
        slow = self.confirm and not math.isinf(self.target.lasts_s)
        for at, place in enumerate(p for p in places if not self.lacking(p)):
            first.setdefault(place.name, Wanted(place.name, place.world, at))
            if slow and not place.fresh:  # a second one only on demand would keep the run waiting
                second = place.name + SECOND
                first.setdefault(second, Wanted(second, place.world, at, spare=True))
        self.pool.plan(list(first.values()))

    def lacking(self, place: Place) -> NotApplicable | None:
        """Why its checks do not apply: a capability not declared, an option not given."""
        if "soak" in place.needs and not self.target.soak_s:
            return not_asked("--soak SECONDS")
        if "baseline" in place.needs and self.target.baseline is None:
            return not_asked("--baseline FOLDER")
        return self.not_declared(word for word in place.needs if word not in ("soak", "baseline"))

    def not_declared(self, needs: Iterable[str]) -> NotApplicable | None:
        """The first of these capabilities that the target does not declare, as a reason."""
        for word in needs:
            if word not in self.target.capabilities:
                return NotApplicable(f"{word} is not declared", cause="not_declared")
        return None

    def beyond(self, clause_id: str) -> NotApplicable | None:
        """Why nothing is said of a clause, whatever cites it: a capability not declared."""
        return self.not_declared(catalogue().clause(clause_id).capability)

    def bench(self, place: Place) -> Bench:
        """A bench on the target of that place; raises AdapterError when it cannot be had."""
        ready = self.pool.get(place.name, place.world, shared=not place.fresh)
        current = self._current.get(place.name)
        if current is None or current.ready is not ready:
            number = sum(one.name == place.name for one in self.stages.values()) + 1
            name = place.name if number == 1 else f"{place.name} {number}"
            stage = place.world.id or place.name
            current = StageRecord(place=name, name=place.name, stage=stage, ready=ready)
            self.stages[name] = self._current[place.name] = current
        return Bench(ready.started, ready.armed)

    def current(self, name: str) -> StageRecord | None:
        """The stage that checks of the place of that name work on, or worked on last."""
        return self._current.get(name)

    def judged(self, call: Callable[[Bench], Any], bench: Bench, place: Place) -> Ending:
        """How a check ends on that bench, confirmed on a second target where it is shared."""
        second = None if place.fresh or not self.confirm else partial(self.second_bench, place)
        return judge(call, bench, second)

    def second_bench(self, place: Place) -> Bench:
        """A bench on another target of the same stage, kept for later confirmations."""
        ready = self.pool.get(place.name + SECOND, place.world)
        return Bench(ready.started, ready.armed)

    def done_with(self, place: Place) -> None:
        """One check less needs that place; the last one ends its target."""
        self._uses[place.name] -= 1
        if self._uses[place.name] <= 0:
            self.pool.release(place.name)
            self.pool.release(place.name + SECOND)

    def record(self, item: pytest.Item, place: Place, ending: Ending, *, seconds: float) -> Result:
        """Turn an ending into a result and remember the messages it rests on."""
        cited_clauses = clauses_of(item)
        ending, seen = self._rests_on(place, ending)
        self.messages |= {name: cited(message) for name, message in seen.items()}
        found = self._found(ending, cited_clauses)
        evidence = _evidence(ending, found)
        check, case = named(item)
        result = Result(
            check=check,
            case=case,
            clauses=found.clauses,
            judgement=found.judgement,
            verdict=found.verdict,
            reason="" if found.verdict == "pass" else found.reason or told(ending, evidence),
            cause=found.cause,
            hint="" if found.verdict == "pass" else ending.hint,
            findings=tuple(map(plain, found.findings)),
            observed=found.observed,
            unseen=tuple(c for c in cited_clauses if c not in (*found.clauses, *found.observed)),
            blame="" if found.verdict in ("pass", "not_applicable") else ending.blame,
            stage=place.world.id or place.name,
            evidence=(*evidence, *self._more_evidence(place, ending)),
            cut=self._cut(self._current.get(place.name)),
            messages=tuple(seen),
            reproduce=address(item),
            timing={"seconds": round(seconds, 4)},
        )
        self.results.append(waived(result, self.deviations))
        return self.results[-1]

    def _found(self, ending: Ending, cited_clauses: tuple[str, ...]) -> Found:
        """What an ending says of which clause; nothing of one beyond profile or declaration.

        A check speaks of clauses of its own judgement; what convicts counts wherever it is seen.
        """
        judged = {one for one in self.profile.clauses if self.beyond(one) is None}
        broken = [c for f in ending.findings(cited_clauses) for c in f.clauses if c in judged]
        kind = _judgement(cited_clauses[0])
        kind = "F" if any(_judgement(clause) == "F" for clause in broken) else kind
        judged = {clause for clause in judged if _judgement(clause) == kind}
        broken = list(dict.fromkeys(clause for clause in broken if clause in judged))
        within = tuple(
            msgspec.structs.replace(one, clauses=kept)
            for one in ending.findings(cited_clauses)
            if (kept := tuple(clause for clause in one.clauses if clause in judged))
        )
        compared = ending.comparison
        unsettled = (
            {clause for one in compared.open for clause in one.clauses} if compared else set()
        )
        seen = {*compared.observed} if compared is not None else set()
        if ending.verdict == "pass" and compared is None:
            seen = {*cited_clauses}
        seen = (seen & judged) - {*broken} - unsettled
        observed = tuple(clause for clause in self.profile.clauses if clause in seen)
        found = Found(
            verdict=ending.verdict, clauses=cited_clauses, judgement=kind, observed=observed
        )
        if broken:
            return replace(found, verdict="fail", clauses=tuple(broken), findings=within)
        is_open = bool(unsettled & {*cited_clauses})
        elsewhere = ending.verdict == "inconclusive" and compared is not None and bool(unsettled)
        if not is_open and (elsewhere or ending.verdict in ("pass", "fail")):
            if found.observed:  # what is broken or open beside is told by others
                return replace(found, verdict="pass", clauses=found.observed)
            return replace(found, verdict="not_applicable", clauses=(), cause="not_observed",
                           reason="nothing of what it cites was there")  # fmt: skip
        left = unsettled if is_open else {*cited_clauses} - seen
        verdict: Verdict = "inconclusive" if ending.verdict == "fail" else ending.verdict
        clauses = tuple(clause for clause in cited_clauses if clause in left) or cited_clauses
        return replace(found, verdict=verdict, cause=ending.cause, clauses=clauses)

    def as_judged(self, ending: Ending, cited_clauses: tuple[str, ...]) -> Ending:
        """The ending as it counts: what says nothing of the cited clauses is no failure here."""
        if not cited_clauses:
            return ending
        found = self._found(ending, cited_clauses)
        if found.verdict in ("pass", "not_applicable") and found.verdict != ending.verdict:
            return replace(ending, verdict=found.verdict, reason=found.reason, error=None)
        return ending

    def _rests_on(self, place: Place, ending: Ending) -> tuple[Ending, dict[str, Message]]:
        """The ending as it is told, and the messages that it rests on by their names."""
        record = self._current.get(place.name)
        if record is None:
            return ending, {}
        started = record.ready.started
        started.log_wanted |= ending.verdict in ("fail", "error")
        seen = () if ending.since is None else started.transcript.since(ending.since)
        if ending.verdict == "pass":
            seen = seen[-PASS_EXCERPT:]
        wire = started.client().wire
        self.wire = self.wire or (wire if wire != "unopened" else "")
        return with_log(ending, started), {f"{record.place}/{one.id}": one for one in seen}

    @staticmethod
    def _cut(record: StageRecord | None) -> tuple[str, ...]:
        """What the check that just ended left out of its comparisons."""
        if record is None:
            return ()
        cut = tuple(sorted(record.ready.started.cut))
        record.ready.started.cut.clear()
        return cut

    def _more_evidence(self, place: Place, ending: Ending) -> tuple[str, ...]:
        """What else a result rests on."""
        del place, ending
        return ()

    def finish(self) -> None:
        """Do what the report is to know of."""

    def close(self) -> None:
        """End every target."""
        if self._pool is not None:
            self._pool.close()
        self.target.close()


def _judgement(clause_id: str) -> Judgement:
    return catalogue().clause(clause_id).judgement


def not_asked(option: str) -> NotApplicable:
    """The reason of a check that an option would have asked for."""
    return NotApplicable(f"not asked for; {option} does", cause="not_asked")


def _evidence(ending: Ending, found: Found) -> tuple[str, ...]:
    """Lines on what differs: of a plain assertion both sides, else its findings alone."""
    if not found.findings:
        return ()
    # deepdiff takes a fifth of a second to import, and a green run never needs it
    from mcp_proxy_conformance.report.difference import difference  # noqa: PLC0415

    if ending.comparison is None or not ending.comparison.findings:
        return tuple(difference(*ending.sides)) if ending.sides is not None else ()
    left, right = ({one.path: getattr(one, side) for one in found.findings}
                   for side in ("observed", "allowed"))  # fmt: skip
    return tuple(difference("==", left, right))
