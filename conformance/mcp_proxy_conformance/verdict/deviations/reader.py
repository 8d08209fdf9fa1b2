"""Reader of a deviations file: its faults, twenty at most, each with its line and its repair."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from mcp_proxy_conformance.catalogue.bounded import read_bytes, toml
from mcp_proxy_conformance.catalogue.toml_lines import TomlLines
from mcp_proxy_conformance.verdict.deviations.deviation import (
    FILE,
    BadDeviations,
    Deviation,
    Fault,
    today,
    why_not,
)

TABLE = "deviation"
MEMBERS = ("id", "reason", "issue", "expires")
MOST, SHOWN, MOST_OF_REASON = 1 << 20, 80, 1000
"""Bytes that a file may have, and characters of a wrong name and of a reason that are used."""
MANY = 20
"""Faults of one file that are reported."""
_UNDONE = ("todo", "tbd", "tba", "fixme", "xxx")
"""Words that begin a placeholder of a reason."""
_EMPTY = ("reason", "why", "because", "placeholder", "unknown", "none", "null")
"""Words that are not a reason on their own."""


@dataclass(frozen=True, slots=True)
class EntryLines:
    """The line numbers of an entry, by its index in the file."""

    file: TomlLines
    number: int

    @property
    def header(self) -> int:
        """The line on which the entry begins."""
        return self.file.line((TABLE, self.number))

    def of(self, member: str) -> int:
        """Return the line of the entry's member, or that of its header if it is not found."""
        return self.file.line((TABLE, self.number, member))


def read_named(file: Path | None) -> tuple[Deviation, ...]:
    """Return the deviations of a file that hold today in UTC.

    None is the default file in the working folder, () if that does not exist. Raises
    BadDeviations.
    """
    if file is None and not Path(FILE).exists():
        return ()
    return read(file or Path(FILE))


def read(file: Path, on: date | None = None) -> tuple[Deviation, ...]:
    """Return the deviations of a file that hold on the day `on`, by default today in UTC.

    Raises BadDeviations with up to twenty faults, each with its line and repair; expired
    entries are faults.
    """
    text = _text(file)
    sound: list[Deviation] = []
    faults: list[Fault] = []
    for entry in _read(text, str(file), on or today()):
        if isinstance(entry, Deviation):
            sound.append(entry)
        elif len(faults) < MANY:
            faults.append(entry)
        else:
            break
    if faults:
        raise BadDeviations(faults)
    return tuple(sound)


def _text(file: Path) -> str:
    """Return the text of a deviations file, with LF line ends.

    Raises BadDeviations if it cannot be read, has more than 1 MiB, or is not UTF-8.
    """
    try:
        raw = read_bytes(file, MOST)
    except (OSError, ValueError) as error:
        if getattr(error, "errno", 0) == errno.EFBIG:
            problem = f"has more than {MOST} bytes; keep only the known failures in it"
            raise BadDeviations([_fault(str(file), 1, problem)]) from None
        why = getattr(error, "strerror", None) or error
        repair = "name another file, or let `deviations init` write one"
        raise BadDeviations([_fault(str(file), 1, f"cannot be read: {why}; {repair}")]) from None
    try:
        return raw.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        problem = "is not UTF-8; save the file in that encoding"
        raise BadDeviations([_fault(str(file), line, problem)]) from None


def _read(text: str, file: str, on: date) -> Iterator[Deviation | Fault]:
    """Yield every usable deviation of a file's text, and every fault with its line.

    An id named twice is a fault, as is an unknown table. `file` is its name for messages.
    """
    try:
        document = toml(text)
    except (ValueError, RecursionError) as error:
        yield _syntax_fault(text, file, error)
        return
    lines = TomlLines(text)
    for name in document:
        if name != TABLE:
            yield _fault(file, lines.line((name,)), _unknown(name, (TABLE,)))
    entries = document.get(TABLE, [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        yield _fault(
            file, lines.line((TABLE,)), f"{TABLE} is not a list; begin each with [[{TABLE}]]"
        )
        return
    first: dict[str, int] = {}
    for number, entry in enumerate(entries):
        place = EntryLines(lines, number)
        yield from _entry(entry, place, file, on)
        for wanted in filter(_is_text, _ids(entry)):
            if wanted in first:
                twice = f"{wanted[:SHOWN]!r} is also on line {first[wanted]}; keep only one of them"
                yield _fault(file, place.of("id"), twice)
            else:
                first[wanted] = place.header


def _entry(
    entry: dict[str, Any], place: EntryLines, file: str, on: date
) -> Iterator[Deviation | Fault]:
    """Yield a deviation for each id of an entry or, if it cannot be used, each of its faults.

    These are unknown, missing and malformed members; without any, ids that cannot be waived,
    and an expired date.
    """
    faults = [
        *(_fault(file, place.of(n), _unknown(n, MEMBERS)) for n in entry if n not in MEMBERS),
        *(
            _fault(file, place.of(name), problem)
            for name in MEMBERS
            if (problem := _complaint(name, entry.get(name)))
        ),
    ]
    yield from faults
    for wanted in _ids(entry) if not faults else ():
        faults = []
        deviation = Deviation(**entry | {"id": wanted}, file=file, line=place.header)
        if problem := why_not(deviation.id):
            faults.append(Fault(file=file, line=place.of("id"), text=problem, kind="outdated"))
        if deviation.expires < on:
            problem = (
                f"{deviation.id} expired on {deviation.expires}; fix the failure or set a new date"
            )
            faults.append(Fault(file=file, line=place.of("expires"), text=problem, kind="outdated"))
        yield from faults or (deviation,)


def _ids(entry: Mapping[str, Any]) -> list[Any]:
    """Return the ids of an entry as a list, of whatever type; [None] without any."""
    wanted = entry.get("id")
    return list(wanted) if isinstance(wanted, list) else [wanted]


def _is_text(value: object) -> bool:
    """Whether the value is a text that is not blank."""
    return isinstance(value, str) and bool(value.strip())


def _complaint(name: str, value: Any) -> str:
    """Return what is wrong with the member `name` of an entry, with the repair; else "".

    The value None means that it is missing.
    """
    if value is None:
        return f"{name} is missing; an entry has {', '.join(MEMBERS)}"
    if name == "expires":
        fine = type(value) is date  # a time of day is a date, too
        return "" if fine else "expires is not a date; write it as 2027-01-31, without quotes"
    if name == "id" and isinstance(value, list):
        sound = value and all(map(_is_text, value))
        return "" if sound else "id is a list with something else than names; put each in quotes"
    if not isinstance(value, str):
        return f"{name} is not a text; put it in quotes"
    if name == "id":
        return "" if value.strip() else "id is empty; name a clause, a check or a case"
    if name == "reason":
        problem = "reason gives no reason; say why this failure is not fixed yet"
        return "" if _is_reason(value) else problem
    return "" if _is_link(value) else "issue is not a link; give the http(s) address of the issue"


def _is_reason(value: str) -> bool:
    """Whether the text has words, is not begun as a placeholder, and is not one empty word."""
    words = re.findall(r"\w+", value[:MOST_OF_REASON].lower())
    return bool(words) and words[0] not in _UNDONE and not (words[0] in _EMPTY and not words[1:])


def _is_link(value: str) -> bool:
    """Whether the text is an http or https URL with a host, printable and without blanks."""
    try:
        parts = urlsplit(value)
    except ValueError:
        return False
    sound = value.isprintable() and " " not in value
    return sound and parts.scheme in ("http", "https") and bool(parts.hostname)


def _syntax_fault(text: str, file: str, error: Exception) -> Fault:
    """Return the fault of a text that is not TOML, at the parser's line, else at the last one.

    One that nests too deeply is at line 1.
    """
    at = re.search(r" \(at line (\d+), column \d+\)$", str(error))
    line = int(at[1]) if at else text.rstrip("\n").count("\n") + 1
    if isinstance(error, RecursionError):
        return _fault(file, 1, f"nests too deeply; write each entry as [[{TABLE}]]")
    why = str(error).partition(" (at ")[0]
    return _fault(file, line, f"is not TOML: {why}; see schemas/deviations.schema.json")


def _unknown(name: str, known: tuple[str, ...]) -> str:
    """Return the sentence on an unknown member, with the nearest known name or all of them."""
    name = name[:SHOWN]
    near = get_close_matches(name, known, 1)
    repair = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
    return f"unknown member {name!r}; {repair}"


def _fault(file: str, line: int, text: str) -> Fault:
    """Return a Fault of kind `form`: the file is malformed at that line."""
    return Fault(file=file, line=line, text=text)
