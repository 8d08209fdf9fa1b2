"""The scenarios of one run on a proxy: played each on a target of its own, failing ones again."""

from __future__ import annotations

import re
import threading
import time
import weakref
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import msgspec

from mcp_proxy_conformance.catalogue.json_file import write
from mcp_proxy_conformance.discovery.laws.names import SERVERS, SHARED, WORDS
from mcp_proxy_conformance.discovery.laws.player import PlayedWorld, play
from mcp_proxy_conformance.discovery.laws.statuses import PLACES
from mcp_proxy_conformance.discovery.scenarios import cases_of, plan_of, space
from mcp_proxy_conformance.discovery.targets.adapter import ProxyTarget
from mcp_proxy_conformance.discovery.targets.started import Started
from mcp_proxy_conformance.run.judgement import (
    Ending,
    attempt,
    confirmed,
    enough,
    is_known,
    reduced,
)
from mcp_proxy_conformance.run.space.covering import scenario
from mcp_proxy_conformance.run.space.observed import FOLDER, ObservedRows
from mcp_proxy_conformance.run.space.space import Row, Scenario
from mcp_proxy_conformance.run.space.symptoms import Observed, Symptom
from mcp_proxy_conformance.targets.target import AdapterError
from mcp_proxy_conformance.targets.waits import Repetition, during
from mcp_proxy_conformance.verdict.cited import CitedMessage
from mcp_proxy_conformance.verdict.comparison import Comparison
from mcp_proxy_conformance.verdict.result import Finding


@dataclass(slots=True)
class _Whole:
    """What all rows of a scenario showed, of which some may have been played after others."""

    compared: Comparison = field(default_factory=Comparison)
    rows: list[Observed] = field(default_factory=list)
    messages: dict[str, CitedMessage] = field(default_factory=dict)


class PlayedScenarios(ObservedRows):
    """The scenarios of one run, by the ids of their cases; each is played when it is needed."""

    def __init__(
        self, target: ProxyTarget, scratch: Path, out: Path, scenarios: Mapping[str, Scenario], *,
        laws: Collection[str] = (), confirm: bool = True, excuses: bool = False,
    ) -> None:  # fmt: skip
        """Keep the settings; start no target yet.

        Only `laws` are tried, if any are named; cases of failing rows are written below `out`;
        `confirm`: whether failing scenarios are played again, as soon as they have failed;
        `excuses`: whether some failures are known and excused, so that each has to be told.
        """
        super().__init__(space(), scenarios)
        self._target, self._scratch, self._out = target, scratch, out
        self._laws, self._confirm, self._excuses = laws, confirm, excuses
        self._crew = ThreadPoolExecutor(target.ahead, thread_name_prefix="scenario")
        self._open, self._over = weakref.WeakSet[Started](), False
        self._again = ThreadPoolExecutor(1 + target.ahead // 2, thread_name_prefix="again")
        self._lock = threading.Lock()
        self._plays: dict[tuple[str, bool], Future[_Whole]] = {}
        self._confirmed, self._trying = Counter[str](), Counter[str]()
        self._most: dict[str, int] = {}

    def begin(self, names: Sequence[str]) -> None:
        """Begin to play these scenarios in the background, in this order."""
        for name in names:
            self._begun(name)

    def compared(self, name: str) -> Comparison:
        """Return what the laws say of a scenario, played now if need be.

        Raises AdapterError if the target cannot be started, or taken through its steps.
        """
        return self._begun(name).result().compared

    def messages(self, name: str) -> Mapping[str, CitedMessage]:
        """Return the messages that a scenario's findings were read from, by their place."""
        found = self._begun(name).result().messages
        return {f"scenario {name}/{each}": message for each, message in found.items()}

    def confirmed(self, name: str, ending: Ending) -> Ending:
        """Return a failure as far as the scenario shows it again, played whole on a fresh target.

        If enough other scenarios have confirmed all that it breaks, it stays open.
        """
        if ending.verdict != "fail":
            return ending
        if (name, True) not in self._plays and self._is_known(ending.broken):
            return enough(ending)
        with during(Repetition(law=f"scenario {name}")):
            again = self._begun(name, again=True)
            second = attempt(lambda: again.result().compared.conclude())  # noqa: PLW0108 - in it
        seen = {(each.path, clause) for each in ending.findings(()) for clause in each.clauses}
        common = reduced(second, lambda finding, clause: (finding.path, clause) in seen)
        firm = confirmed(ending, common)
        self._confirmed.update(firm.broken)
        return firm

    def _is_known(self, broken: Collection[str]) -> bool:
        """Whether that is known of clauses; never if failures are excused, as each counts then."""
        return not self._excuses and is_known(broken, self._confirmed)

    def _begun(self, name: str, *, again: bool = False) -> Future[_Whole]:
        """Begin to play a scenario, or to play it `again`, unless it was begun; return its future.

        A repetition is patient: what no call has shown gets all the time that it may take.
        """
        with self._lock:
            if (name, again) not in self._plays:
                crew, act = (self._again, self._again_of) if again else (self._crew, self._first_of)
                self._plays[name, again] = crew.submit(act, name)
            return self._plays[name, again]

    def _again_of(self, name: str) -> _Whole:
        return self._play(self._scenarios[name], patient=True)

    def _first_of(self, name: str) -> _Whole:
        """Play a scenario; if it fails, begin to play it again, unless enough others are."""
        whole = self._play(self._scenarios[name])
        if self._confirm:
            with self._lock:
                is_due = not is_known(whole.compared.broken, self._trying)
                self._trying.update(whole.compared.broken)
            if is_due:
                self._begun(name, again=True)
        return whole

    def _play(self, scenario: Scenario, *, patient: bool = False) -> _Whole:
        """Play a scenario on a fresh target; on several, if one does not last for all rows."""
        whole, left = _Whole(), [*scenario.rows]
        while left:
            most = self._most.get(scenario.id, len(left))
            part = Scenario(id=scenario.id, rows=tuple(left[:most]))
            played = self._part(part, patient=patient)
            if played.is_cut and len(part.rows) > 1:
                self._most[scenario.id] = len(part.rows) // 2
                continue
            self._add(whole, part, played)
            left = left[len(part.rows) :]
        for clause in whole.compared.broken:
            del whole.compared.observed[clause]
        return whole

    def _part(self, scenario: Scenario, *, patient: bool) -> PlayedWorld:
        """Play a scenario on one fresh target; once more if the adapter fails."""
        plan = plan_of(scenario, self._target.capabilities)
        once = partial(
            play, self._target, plan, self._scratch, self._laws, self._register, patient=patient,
            known=(lambda _: False) if patient else self._is_known,
        )  # fmt: skip
        try:
            return once()
        except AdapterError:
            return once()

    def _add(self, whole: _Whole, part: Scenario, played: PlayedWorld) -> None:
        """Add what a part of the rows showed; its messages get ids of their own."""
        before = f"{len(whole.rows)}." if whole.rows else ""
        found = [
            msgspec.structs.replace(each, messages=tuple(before + read for read in each.messages))
            for each in played.compared.findings
        ]
        whole.compared.findings += found
        whole.compared.observed.update(played.compared.observed)
        whole.compared.looked += played.compared.looked
        whole.messages |= {before + name: each for name, each in played.messages.items()}
        for number, row in enumerate(part.rows):
            if why := played.unarmed.get(number):
                seen = Observed(scenario=part.id, row=row, status="unarmed", reason=why)
            else:
                own = frozenset(self._symptom(each) for each in found if _is_about(each, number))
                seen = Observed(scenario=part.id, row=row, symptoms=own)
            whole.rows.append(seen)

    def _register(self, started: Started) -> None:
        """Note a started target for `close` to end.

        After `close`, end it at once and raise AdapterError.
        """
        with self._lock:
            self._open.add(started)
        if self._over:
            started.close()
            raise AdapterError("the run is over")

    def hurry(self) -> None:
        """Drop the scenarios that have not begun."""
        self._over = True
        for crew in (self._crew, self._again):
            crew.shutdown(wait=False, cancel_futures=True)

    def close(self) -> None:
        """Drop scenarios that have not begun, end the targets that run; wait for the threads."""
        self.hurry()
        with self._lock:
            left = [*self._open]
        with ThreadPoolExecutor(max(1, len(left))) as enders:
            list(enders.map(Started.close, left))  # those that have ended are not ended again
        for crew in (self._crew, self._again):
            crew.shutdown(wait=True)

    # -- the rows -----------------------------------------------------------------------------

    def _symptom(self, finding: Finding) -> Symptom:
        """Return the symptom of a finding: its path and status, without what only one row has."""
        kind = finding.path
        for matter in finding.about:
            kind = kind.replace(matter.name, "*")
        kind = re.sub("|".join(SERVERS), "*", re.sub(r'"(?:[^"\\]|\\.)*"', "*", kind))
        told = f" {finding.observed}" if finding.observed in PLACES else ""
        return Symptom(finding.clauses, re.sub(r", limit \d+|\d+", "", kind) + told)

    def _has_ended(self, name: str) -> bool:
        play = self._plays.get((name, False))
        return play is not None and play.done() and not play.cancelled() and not play.exception()

    def _rows(self, name: str) -> Iterator[Observed]:
        yield from self._begun(name).result().rows

    def _alone(self, rows: Sequence[Row], until: float) -> Sequence[Collection[Symptom]]:
        plays = [self._crew.submit(self._play, scenario([row])) for row in rows]
        wait(plays, max(0.0, until - time.monotonic()))
        return [self._symptoms(play) for play in plays]

    def _symptoms(self, play: Future[_Whole]) -> Collection[Symptom]:
        if not play.cancel() and play.done():
            with suppress(Exception):  # it could not be played
                return {*map(self._symptom, play.result().compared.findings)}
        return ()

    def _written(self, row: Row, symptom: Symptom) -> Path:
        case = next(cases_of(scenario([row])))
        case = msgspec.structs.replace(case, id=f"row-{case.id}", clauses=symptom.clauses)
        path = self._out / FOLDER / f"{case.id}.json"
        write(path, case)
        return path


def _is_about(finding: Finding, number: int) -> bool:
    """Whether a finding is about the row of that number: its server, its tool, or its query."""
    own = (f"{SERVERS[number]}:", WORDS[number], SHARED[number])
    told = (finding.path, *(matter.name for matter in finding.about))
    return any(word in text for word in own for text in told)
