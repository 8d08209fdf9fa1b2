"""Status line of a run for a terminal or log: checks done, time left, failures, current wait."""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field

from mcp_proxy_conformance.report.colour import tinted
from mcp_proxy_conformance.targets.waits import (
    Arrival,
    End,
    LoadEnd,
    Lock,
    News,
    Probe,
    Repetition,
    Reply,
    Settling,
    Setup,
    Tools,
    Wait,
    Waiting,
)

NARROW, BAR = 70, 8
"""Columns below which there is no bar; its share of them, as a divisor."""
WIDE, SMALL = 100, 5
"""Columns below which the bar makes room for failures; its own columns then."""
MINUTE, HOUR = 60, 3600
STEPS = ((10, 1), (60, 5), (300, 10), (HOUR, 60))
"""(seconds, step): an estimate below so many seconds is a multiple of the step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Progress of a run: checks done, and of how many; seconds; its current work, in words.

    `part` is from 0 to 1; `left_s` is None where it cannot be estimated; `ended` are the numbers of
    checks that did not pass, by verdict; `brief` says what it does in fewer words, if not empty.
    """

    done: int = 0
    of: int = 0
    part: float = 0.0
    elapsed_s: float = 0.0
    left_s: float | None = None
    ended: Mapping[str, int] = field(default_factory=dict)
    doing: str = ""
    brief: str = ""


def line(status: Status, columns: int, *, colour: bool, ascii_only: bool) -> str:
    """Return the status in one line of at most `columns` columns, coloured if `colour`.

    A bar is shown from 70 columns on; what the run does is abbreviated or left out for want of
    room. With `ascii_only`, the bar and the dots of an abbreviation are ASCII.
    """
    more = "..." if ascii_only else "…"
    marks = _marks(status)
    head = [
        ("", word)
        for word in filter(
            None, ((f"{status.done}/{status.of}" if status.of else ""), _times(status))
        )
    ] + marks
    if status.of and columns >= NARROW:
        size = SMALL if len(head) > len(("count", "times")) and columns < WIDE else columns // BAR
        head.insert(0, ("", _bar(status.part, size, ascii_only=ascii_only)))
    plain_head = "  ".join(text for _, text in head)
    if width(plain_head) > columns:
        return cut(plain_head, columns, more)
    left = columns - width(plain_head) - 2
    doing = status.doing if width(status.doing) <= left else status.brief or status.doing
    doing = cut(doing, left, more) if left > len(more) else ""
    shown = [tinted(text, verdict) if colour else text for verdict, text in head]
    return "  ".join([*shown, *([doing] if doing else [])])


def log_line(status: Status) -> str:
    """Return the status as a line of a log, of any length; its parts are joined by commas."""
    count = f"{status.done} of {status.of} checks" if status.of else ""
    words = [count, _times(status), *(text for _, text in _marks(status)), status.doing]
    return ", ".join(filter(None, words))


def _times(status: Status) -> str:
    """Return the elapsed time and, if it is known, an estimate of the time left."""
    left = "" if status.left_s is None else f" ~{duration(_rounded(status.left_s))} left"
    return f"{duration(status.elapsed_s)}{left}"


def _rounded(seconds: float) -> float:
    """Return the seconds rounded to a multiple of their step in STEPS, and at least one step.

    Beyond the table the step is a minute.
    """
    step = next((step for below, step in STEPS if seconds < below), MINUTE)
    return max(step, round(seconds / step) * step)


def _marks(status: Status) -> list[tuple[str, str]]:
    """Return ("fail", "N failed") and ("inconclusive", "N open"), the latter of all other verdicts.

    A mark whose number is zero is left out.
    """
    failed = status.ended.get("fail", 0)
    others = sum(status.ended.values()) - failed
    marks = [("fail", f"{failed} failed", failed), ("inconclusive", f"{others} open", others)]
    return [(verdict, text) for verdict, text, number in marks if number]


def _bar(part: float, columns: int, *, ascii_only: bool) -> str:
    """Return a bar of `columns` characters, filled by `part` (0 to 1); # and . if `ascii_only`."""
    full, rest = ("#", ".") if ascii_only else ("█", "░")
    filled = int(part * columns)
    return full * filled + rest * (columns - filled)


def duration(seconds: float) -> str:
    """Return minutes and seconds like 1:05; from an hour on, hours, minutes and seconds.

    A fraction of a second is cut off.
    """
    whole = int(seconds)
    hours, minutes = whole // HOUR, whole % HOUR // MINUTE
    return (
        f"{hours}:{minutes:02}:{whole % MINUTE:02}" if hours else f"{minutes}:{whole % MINUTE:02}"
    )


def width(text: str) -> int:
    """Return the columns that a text takes on a terminal: combining ones none, wide ones two."""
    return sum(map(_columns, text))


def _columns(character: str) -> int:
    """Return 0 for a combining character, 2 for a wide one, else 1."""
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def cut(text: str, columns: int, more: str) -> str:
    """Return the text if it fits in `columns`, else as much of it as fits, followed by `more`."""
    if width(text) <= columns:
        return text
    end, room = 0, columns - len(more)
    while room >= 0 and end < len(text):
        room -= _columns(text[end])
        end += room >= 0
    return (text[:end].rstrip() + more)[:columns]


def sentence(waiting: Waiting, *, is_brief: bool = False) -> str:
    """Return what is waited for, in words; in fewer for a wait with a time, if `is_brief`.

    Raises ValueError for an unknown wait.
    """
    if what := _awaited(waiting.wait):
        return _timed(waiting, what[is_brief], is_brief=is_brief)
    match waiting.wait:
        case Probe():
            return "looking at the target first"
        case Setup() if waiting.beside:
            return f"starting {waiting.beside + 1} targets"
        case Setup(place=place):
            return f"starting {target_of(place)}"
        case Arrival(place=place):
            return f"waiting to start {target_of(place)}"
        case LoadEnd(case=case, others=others):
            return f"waiting for the load {case}{f' and {others} others' if others else ''}"
        case Reply(number=number, most=most):
            return f"waiting for the answer to request {number} of at most {most}"
        case Repetition(law=law):
            return f"repeating a breach of the law {law}, on smaller examples too"
        case End():
            return "ending the targets"
    raise ValueError(f"a wait without words: {waiting.wait}")


def _awaited(wait: Wait) -> tuple[str, str] | None:
    """Return (words, fewer words) for a wait that is timed; None for other waits."""
    match wait:
        case Tools(server=server):
            return f"the tools of upstream {server}", f"tools of {server}"
        case Lock(tool=tool):
            return f"the lock of {tool}", f"lock of {tool}"
        case News(server=server):
            return f"new tools of upstream {server}", f"new tools of {server}"
        case Settling():
            return "answers to follow the operator", "answers to settle"
    return None


def _timed(waiting: Waiting, what: str, *, is_brief: bool) -> str:
    """Return `what` with the seconds of the wait so far, and its limit if that is at least 1 s."""
    seconds, within = time.monotonic() - waiting.since, waiting.wait.within_s
    if within < 1:
        return f"waiting {seconds:.0f} s for {what}"
    spent, most = f"{min(seconds, within):.0f}", f"{within:.0f} s"
    return (
        f"waiting {spent}/{most}: {what}" if is_brief else f"waiting {spent} of {most} for {what}"
    )


def target_of(place: str) -> str:
    """Return a place's target in words: "the target of NAME".

    It is "a second target of NAME" if the place's name has a #.
    """
    name, again, _ = place.rpartition("::")[2].partition("#")
    return f"{'a second' if again else 'the'} target of {name}"
