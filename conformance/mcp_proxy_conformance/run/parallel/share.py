"""What one part of a run hands over: what each check found, as it ends, and how the part ended."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import msgspec

from mcp_proxy_conformance.report.cited import Cited, StageTold
from mcp_proxy_conformance.run.sharding import Shard
from mcp_proxy_conformance.verdict.outcome import Outcome
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
    """How a part of a run ended, in the words of `Run`."""

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
