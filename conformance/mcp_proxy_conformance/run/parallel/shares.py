"""Shares: what parts of one run hand over, and how they are brought together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from mcp_proxy_conformance.verdict.cited import Cited, StageTold
from mcp_proxy_conformance.verdict.outcome import WORST_FIRST, Outcome
from mcp_proxy_conformance.verdict.record import RunState, Shard
from mcp_proxy_conformance.verdict.result import Result

GROWING, WHOLE = ".part", ".jsonl"
"""What the name of a share ends with while its worker goes on, and from then on."""


class Began(msgspec.Struct, frozen=True, tag="began"):
    """The process that makes the share."""

    pid: int


class Collected(msgspec.Struct, frozen=True, tag="collected"):
    """The checks by their node ids, each with the name of its place, and which part they are."""

    places: dict[str, str]
    shard: Shard | None = None


class Found(msgspec.Struct, frozen=True, kw_only=True, tag="found"):
    """What one check found; `at` is its place in the order of the whole run.

    `stages` are those that it started, and those whose ways in it has changed.
    """

    at: int
    results: tuple[Result, ...] = ()
    messages: dict[str, Cited] = {}
    stages: tuple[StageTold, ...] = ()
    wire: str = ""


class Ended(msgspec.Struct, frozen=True, kw_only=True, tag="ended"):
    """How a part of a run ended, in the words of `RunState`."""

    narrowed: bool = False
    interrupted: bool = False
    cut_short: str = ""
    faults: tuple[str, ...] = ()
    stopped: Outcome | None = None


Line = Began | Collected | Found | Ended


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """A share; without an `ended` it was broken off."""

    pid: int = 0
    places: dict[str, str] = {}
    shard: Shard | None = None
    found: tuple[Found, ...] = ()
    ended: Ended | None = None


class Writer:
    """Appends to a share; what was written stays, whatever happens to the process."""

    def __init__(self, folder: Path, name: str) -> None:
        """Begin the share of that name."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path = folder / f"{name}{GROWING}"
        self._file = self._path.open("wb", buffering=0)

    def write(self, line: Line) -> None:
        """Append one line."""
        self._file.write(msgspec.json.encode(line) + b"\n")

    def close(self) -> None:
        """The share is whole."""
        self._file.close()
        self._path.rename(self._path.with_suffix(WHOLE))


def shares_in(folder: Path) -> dict[str, Share]:
    """Every share by its name, those that still grow or were broken off included."""
    paths = sorted(path for path in folder.glob("*") if path.suffix in (GROWING, WHOLE))
    return {path.stem: _read(_told(path).split(b"\n")) for path in paths}


def _told(path: Path) -> bytes:
    """What is in a share, which may have become whole since its name was read."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return path.with_suffix(WHOLE).read_bytes()


def _read(lines: Iterable[bytes]) -> Share:
    """The lines in their order; one that was not written to its end is left out."""
    share = Share()
    for line in lines:
        with suppress(msgspec.DecodeError):
            match msgspec.json.decode(line, type=Line):
                case Began(pid):
                    share = msgspec.structs.replace(share, pid=pid)
                case Collected(places, shard):
                    share = msgspec.structs.replace(share, places=places, shard=shard)
                case Ended() as ended:
                    share = msgspec.structs.replace(share, ended=ended)
                case found:
                    share = msgspec.structs.replace(share, found=(*share.found, found))
    return share


def gather(run: RunState, shares: Sequence[Share]) -> frozenset[int]:
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
    run.stages.extend(names.stages())
    for share in shares:
        run.shard = share.shard or run.shard
        if share.ended is not None:
            _end(run, share.ended)
    return frozenset(told)


def _in_order(shares: Sequence[Share]) -> list[tuple[int, Found]]:
    """What was found, by the places of the checks, with the number of its share."""
    every = [(number, found) for number, share in enumerate(shares) for found in share.found]
    return sorted(every, key=lambda one: (one[1].at, one[0]))


def _end(run: RunState, ended: Ended) -> None:
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
