"""Shares of one run brought together, in the order of a run in one process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from mcp_proxy_conformance.report.cited import StageTold
from mcp_proxy_conformance.run.parallel.share import Ended, Found, Share
from mcp_proxy_conformance.run.session import Run
from mcp_proxy_conformance.verdict.outcome import WORST_FIRST


def gather(run: Run, shares: Sequence[Share]) -> frozenset[int]:
    """Add what the shares hold to the run; returns the places of the checks that they tell of.

    A check that two shares tell of counts once, as the first of them has it. Stages that have a
    name in common get numbers, as one that is started again does.
    """
    names, told = _Names(), set()
    for number, found in _in_order(shares):
        for stage in found.stages:
            names.add(number, stage)
        run.wire = run.wire or found.wire
        if found.at in told:
            continue
        told.add(found.at)
        run.messages |= {names.message(number, n): one for n, one in found.messages.items()}
        for one in found.results:
            cited = tuple(names.message(number, name) for name in one.messages)
            run.results.append(msgspec.structs.replace(one, messages=cited))
    run.gathered.extend(names.stages())
    for share in shares:
        run.shard = share.shard or run.shard
        if share.ended is not None:
            _end(run, share.ended)
    return frozenset(told)


def _in_order(shares: Sequence[Share]) -> list[tuple[int, Found]]:
    """What was found, by the places of the checks, with the number of its share."""
    every = [(number, found) for number, share in enumerate(shares) for found in share.found]
    return sorted(every, key=lambda one: (one[1].at, one[0]))


def _end(run: Run, ended: Ended) -> None:
    run.narrowed |= ended.narrowed
    run.interrupted |= ended.interrupted
    run.cut_short = run.cut_short or ended.cut_short
    run.faults += [fault for fault in ended.faults if fault not in run.faults]
    stops = [one for one in (run.stopped, ended.stopped) if one is not None]
    run.stopped = min(stops, key=lambda one: WORST_FIRST.index(one.exit), default=None)


class _Names:
    """The stages of all shares, each by a name that no other one has."""

    def __init__(self) -> None:
        self._stages: dict[tuple[int, str], StageTold] = {}
        self._places: dict[tuple[int, str], str] = {}
        self._numbers: Counter[str] = Counter()

    def add(self, number: int, stage: StageTold) -> None:
        """Name a stage of the share of that number; what is told of it again replaces the first."""
        key = number, stage.place
        if key not in self._places:
            self._numbers[stage.name] += 1
            count = self._numbers[stage.name]
            self._places[key] = stage.name if count == 1 else f"{stage.name} {count}"
        self._stages[key] = msgspec.structs.replace(stage, place=self._places[key])

    def message(self, number: int, name: str) -> str:
        """What a message of that share is called among those of all."""
        place, slash, told = name.rpartition("/")
        return f"{self._places.get((number, place), place)}{slash}{told}"

    def stages(self) -> list[StageTold]:
        """In the order in which they were added."""
        return list(self._stages.values())
