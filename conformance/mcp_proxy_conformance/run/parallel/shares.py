"""Shares: the results that parts of one run hand over, and how they are gathered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from mcp_proxy_conformance.verdict.cited import CitedMessage, StageTold
from mcp_proxy_conformance.verdict.outcome import WORST_FIRST, Outcome
from mcp_proxy_conformance.verdict.record import RunState, Shard
from mcp_proxy_conformance.verdict.result import Result

GROWING, WHOLE = ".part", ".jsonl"
"""Suffixes of a share's file while its worker runs, and afterwards."""


class Began(msgspec.Struct, frozen=True, tag="began"):
    """The process that writes the share."""

    pid: int


class Collected(msgspec.Struct, frozen=True, tag="collected"):
    """The checks by their node ids, each with the name of its place, and the shard of the run."""

    places: dict[str, str]
    shard: Shard | None = None


class CheckResults(msgspec.Struct, frozen=True, kw_only=True, tag="found"):
    """The results of one check; `at` is its place in the order of the whole run.

    `stages` are those that it started, and those whose access it has changed.
    """

    at: int
    results: tuple[Result, ...] = ()
    messages: dict[str, CitedMessage] = {}
    stages: tuple[StageTold, ...] = ()
    wire: str = ""


class PartEnd(msgspec.Struct, frozen=True, kw_only=True, tag="ended"):
    """The end of a part of a run, in the terms of `RunState`."""

    narrowed: bool = False
    interrupted: bool = False
    cut_short: str = ""
    faults: tuple[str, ...] = ()
    stopped: Outcome | None = None


Line = Began | Collected | CheckResults | PartEnd


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a share; `ended` is None if it was broken off."""

    pid: int = 0
    places: dict[str, str] = {}
    shard: Shard | None = None
    found: tuple[CheckResults, ...] = ()
    ended: PartEnd | None = None


class Writer:
    """Appends to a share; written lines stay, whatever happens to the process."""

    def __init__(self, folder: Path, name: str) -> None:
        """Begin the share of that name."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path = folder / f"{name}{GROWING}"
        self._file = self._path.open("wb", buffering=0)

    def write(self, line: Line) -> None:
        """Append one line."""
        self._file.write(msgspec.json.encode(line) + b"\n")

    def close(self) -> None:
        """Mark the share as whole."""
        self._file.close()
        self._path.rename(self._path.with_suffix(WHOLE))


def shares_in(folder: Path) -> dict[str, Share]:
    """Return every share by its name, those that still grow or were broken off included."""
    paths = sorted(path for path in folder.glob("*") if path.suffix in (GROWING, WHOLE))
    return {path.stem: _read(_content(path).split(b"\n")) for path in paths}


def _content(path: Path) -> bytes:
    """Return the bytes of a share, which may have become whole since its name was read."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return path.with_suffix(WHOLE).read_bytes()


def _read(lines: Iterable[bytes]) -> Share:
    """Read the lines in their order; a line that was not completed is left out."""
    share = Share()
    for line in lines:
        with suppress(msgspec.DecodeError):
            match msgspec.json.decode(line, type=Line):
                case Began(pid):
                    share = msgspec.structs.replace(share, pid=pid)
                case Collected(places, shard):
                    share = msgspec.structs.replace(share, places=places, shard=shard)
                case PartEnd() as ended:
                    share = msgspec.structs.replace(share, ended=ended)
                case entry:
                    share = msgspec.structs.replace(share, found=(*share.found, entry))
    return share


def gather(run: RunState, shares: Sequence[Share]) -> frozenset[int]:
    """Add the content of the shares to the run; returns the places of the checks in them.

    A check in two shares counts once, as in the first of them. Stages with a common name get
    numbers, as a stage that is started again does.
    """
    names, judged = _Names(), set()
    for number, entry in _in_order(shares):
        for stage in entry.stages:
            names.add(number, stage)
        run.wire = run.wire or entry.wire
        if entry.at in judged:
            continue
        judged.add(entry.at)
        run.messages |= {names.message(number, n): message for n, message in entry.messages.items()}
        for result in entry.results:
            cited = tuple(names.message(number, name) for name in result.messages)
            run.results.append(msgspec.structs.replace(result, messages=cited))
    run.stages.extend(names.stages())
    for share in shares:
        run.shard = share.shard or run.shard
        if share.ended is not None:
            _end(run, share.ended)
    return frozenset(judged)


def _in_order(shares: Sequence[Share]) -> list[tuple[int, CheckResults]]:
    """Return the entries of all shares in the order of the checks, with the number of the share."""
    entries = [(number, entry) for number, share in enumerate(shares) for entry in share.found]
    return sorted(entries, key=lambda pair: (pair[1].at, pair[0]))


def _end(run: RunState, ended: PartEnd) -> None:
    run.narrowed |= ended.narrowed
    run.interrupted |= ended.interrupted
    run.cut_short = run.cut_short or ended.cut_short
    run.faults += [fault for fault in ended.faults if fault not in run.faults]
    stops = [outcome for outcome in (run.stopped, ended.stopped) if outcome is not None]
    run.stopped = min(stops, key=lambda outcome: WORST_FIRST.index(outcome.exit), default=None)


class _Names:
    """The stages of all shares, each by a unique name."""

    def __init__(self) -> None:
        self._stages: dict[tuple[int, str], StageTold] = {}
        self._places: dict[tuple[int, str], str] = {}
        self._numbers: Counter[str] = Counter()

    def add(self, number: int, stage: StageTold) -> None:
        """Name a stage of the share of that number; a later record of it replaces the first."""
        key = number, stage.place
        if key not in self._places:
            self._numbers[stage.name] += 1
            count = self._numbers[stage.name]
            self._places[key] = stage.name if count == 1 else f"{stage.name} {count}"
        self._stages[key] = msgspec.structs.replace(stage, place=self._places[key])

    def message(self, number: int, name: str) -> str:
        """Return the name of a message of that share among those of all shares."""
        place, slash, rest = name.rpartition("/")
        return f"{self._places.get((number, place), place)}{slash}{rest}"

    def stages(self) -> list[StageTold]:
        """Return the stages in the order in which they were added."""
        return list(self._stages.values())
