"""Shares, the result files of a run's workers: written line by line, read, and merged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from mcp_proxy_conformance.verdict.cited import CitedMessage, CitedStage
from mcp_proxy_conformance.verdict.outcome import WORST_FIRST, Outcome
from mcp_proxy_conformance.verdict.record import RunState, Shard
from mcp_proxy_conformance.verdict.result import Result

GROWING, WHOLE = ".part", ".jsonl"
"""Suffixes of a share's file while its worker runs, and afterwards."""


class Began(msgspec.Struct, frozen=True, tag="began"):
    """First line of a share: the id of the process that writes it."""

    pid: int


class Collected(msgspec.Struct, frozen=True, tag="collected"):
    """Line of a share: the collected checks by node id, with their places, and the shard.

    `long` are the places whose checks take long.
    """

    places: dict[str, str]
    long: tuple[str, ...] = ()
    shard: Shard | None = None


class CheckResults(msgspec.Struct, frozen=True, kw_only=True, tag="found"):
    """Line of a share: the results of one check; `at` is its place in the whole run's order.

    `stages` are those that it started, and those whose access it has changed.
    """

    at: int
    results: tuple[Result, ...] = ()
    messages: dict[str, CitedMessage] = {}
    stages: tuple[CitedStage, ...] = ()
    wire: str = ""


class PartEnd(msgspec.Struct, frozen=True, kw_only=True, tag="ended"):
    """Last line of a share: how its part of the run ended, in the terms of `RunState`."""

    narrowed: bool = False
    interrupted: bool = False
    cut_short: str = ""
    faults: tuple[str, ...] = ()
    stopped: Outcome | None = None


Line = Began | Collected | CheckResults | PartEnd


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a share's file; `ended` is None if its worker was lost."""

    pid: int = 0
    places: dict[str, str] = {}
    long: tuple[str, ...] = ()
    shard: Shard | None = None
    checks: tuple[CheckResults, ...] = ()
    ended: PartEnd | None = None


class Writer:
    """Writes a share's file line by line, unbuffered: a lost worker loses only its last check."""

    def __init__(self, folder: Path, name: str) -> None:
        """Open the file `NAME.part`, emptied; make the folder, private to the user, if missing."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path = folder / f"{name}{GROWING}"
        self._file = self._path.open("wb", buffering=0)

    def write(self, line: Line) -> None:
        """Append one line of JSON to the share's file, at once."""
        self._file.write(msgspec.json.encode(line) + b"\n")

    def close(self) -> None:
        """Close the file and rename it from .part to .jsonl, which says that the share is whole."""
        self._file.close()
        self._path.rename(self._path.with_suffix(WHOLE))


def shares_in(folder: Path) -> dict[str, Share]:
    """Read every share of a folder, as {name: share}, also those unfinished or of lost workers.

    Lines that are incomplete or invalid are skipped. Empty if there is no such folder.
    """
    paths = sorted(path for path in folder.glob("*") if path.suffix in (GROWING, WHOLE))
    return {path.stem: _read(_content(path).split(b"\n")) for path in paths}


def writers(folder: Path) -> dict[str, int]:
    """Return {name: process id} for the shares of a folder that are not finished.

    Without those whose first line is not written yet.
    """
    pids = {}
    for path in sorted(folder.glob(f"*{GROWING}")):
        with suppress(FileNotFoundError), path.open("rb") as file:  # finished meanwhile
            pids[path.stem] = _read([file.readline()]).pid
    return {name: pid for name, pid in pids.items() if pid}


def _content(path: Path) -> bytes:
    """Return the bytes of a share's file; if it is gone, those of its name with .jsonl.

    Raises FileNotFoundError if there is neither.
    """
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return path.with_suffix(WHOLE).read_bytes()


def _read(lines: Iterable[bytes]) -> Share:
    """Parse the lines of a share's file into one Share, skipping incomplete or invalid ones."""
    share = Share()
    for line in lines:
        with suppress(msgspec.DecodeError):
            match msgspec.json.decode(line, type=Line):
                case Began(pid):
                    share = msgspec.structs.replace(share, pid=pid)
                case Collected(places, long, shard):
                    share = msgspec.structs.replace(share, places=places, long=long, shard=shard)
                case PartEnd() as ended:
                    share = msgspec.structs.replace(share, ended=ended)
                case entry:
                    share = msgspec.structs.replace(share, checks=(*share.checks, entry))
    return share


def gather(run: RunState, shares: Sequence[Share]) -> frozenset[int]:
    """Add the shares to the run's state, in the checks' order; return the numbers of these checks.

    A check's number is its place in the whole run's order. A check in two shares counts once, as in
    the first. Stages of the same name get numbers, as do the names of their messages. Ends, shard
    and wire are merged too.
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
    """Return (index of the share, entry) for all entries, in the order of their checks."""
    entries = [(number, entry) for number, share in enumerate(shares) for entry in share.checks]
    return sorted(entries, key=lambda pair: (pair[1].at, pair[0]))


def _end(run: RunState, ended: PartEnd) -> None:
    """Merge the end of a share into the run's state: flags, new faults, the worst outcome.

    The first reason why the run was cut short is kept.
    """
    run.narrowed |= ended.narrowed
    run.interrupted |= ended.interrupted
    run.cut_short = run.cut_short or ended.cut_short
    run.faults += [fault for fault in ended.faults if fault not in run.faults]
    stops = [outcome for outcome in (run.stopped, ended.stopped) if outcome is not None]
    run.stopped = min(stops, key=lambda outcome: WORST_FIRST.index(outcome.exit), default=None)


class _Names:
    """Gives the stages of all shares unique names, and their messages names that match."""

    def __init__(self) -> None:
        """Begin without stages."""
        self._stages: dict[tuple[int, str], CitedStage] = {}
        self._places: dict[tuple[int, str], str] = {}
        self._numbers: Counter[str] = Counter()

    def add(self, number: int, stage: CitedStage) -> None:
        """Record a stage of share `number` under a unique name: namesakes get 2, 3 and so on.

        A later record of the same stage replaces the earlier one.
        """
        key = number, stage.place
        if key not in self._places:
            self._numbers[stage.name] += 1
            count = self._numbers[stage.name]
            self._places[key] = stage.name if count == 1 else f"{stage.name} {count}"
        self._stages[key] = msgspec.structs.replace(stage, place=self._places[key])

    def message(self, number: int, name: str) -> str:
        """Return a message's name under its stage's unique name; unchanged if that is unknown."""
        place, slash, rest = name.rpartition("/")
        return f"{self._places.get((number, place), place)}{slash}{rest}"

    def stages(self) -> list[CitedStage]:
        """Return the stages, renamed, in the order in which they were first added."""
        return list(self._stages.values())
