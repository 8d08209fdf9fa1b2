"""Traces that calls with the flag leave in a target's state folder, and that others do not."""

from __future__ import annotations

import re
import time
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from msgspec import structs

from mcp_proxy_conformance.catalogue.surface import FLAG
from mcp_proxy_conformance.catalogue.world import (
    CONFIG,
    USER,
    LockKind,
    Step,
    key,
    server,
    tool,
    world,
)
from mcp_proxy_conformance.discovery.bench import ABSENT, Bench
from mcp_proxy_conformance.discovery.targets.stored_content import (
    Places,
    Trace,
    changed,
    spelled,
    stored,
    traced,
)
from mcp_proxy_conformance.targets.target import AdapterError, Refused, Unsupported
from mcp_proxy_conformance.verdict.comparison import Comparison

AGENT = "wicketbrim"
SMITHY = world(
    server(
        "forge",
        tool("zorvik_list", "Zorvik lists sable oaken things."),
        tool("tarnix_push", "Tarnix pushes amber lurid things.", locked=CONFIG),
        tool("mobel_drop"),
    ),
    server("shed", tool("bitoko_lend"), trusted=False),
    agents={AGENT: ("forge",)},
)
SMITHY = structs.replace(
    SMITHY,
    steps=(
        *SMITHY.steps,
        Step(unlock="approval", server="shed", tools=("bitoko_lend",)),
        Step(add=tool("fegadu_seal")[0], server="shed"),
        Step(change="bitoko_lend", server="shed", description="Lend bitoko, at once."),
        Step(refresh="shed"),
    ),
)
"""A world with a tool that config denies, one that waits for its first approval, one changed."""
USUAL = ("zorvik", "oaken sable", "quolvexi brandu")
"""Queries of calls without the flag; the last one matches nothing."""
USING = ("wembridas quolti",)
"""Queries of calls with the flag that match nothing: only their use could be stored."""
REVEALING = ("tarnix", "lurid amber", "bitoko_lend", "fegadu_seal")
TIMES = 6
TWINS = 2
"""Further targets that must keep what the first one kept."""
WATCH_S = 3.0
"""Seconds of default calls in which content that changes by itself is to show."""
MOBEL, ZORVIK = key("forge:mobel_drop"), key("forge:zorvik_list")

USUAL_QUERY, QUERY, CALLER, SET, STATUS = "default query", "query", "caller", "flag", "status"
TRACES = {
    USUAL_QUERY: spelled(*USUAL[1:]),
    QUERY: spelled(*USING, REVEALING[1]),
    CALLER: spelled(AGENT),
    SET: Trace(exact=(re.compile(rb"%s\W{0,8}(?:true|1)" % FLAG.encode()),)),
    STATUS: spelled("disabled_by_config"),
}
IN_MEMORY, NO_NEW_STATE = "FR-013.in-memory", "FR-012.no-new-state"
BY_USE, BY_ACTS, BY_ANSWER, AT_EXIT = (
    "bytes change by use",
    "bytes change by the operator's acts after use",
    "bytes change by answers",
    "bytes change at exit",
)
BY_BYTES = (BY_USE, BY_ACTS, BY_ANSWER, AT_EXIT)
BREAKS = {
    BY_USE: (NO_NEW_STATE, IN_MEMORY),
    BY_ACTS: (NO_NEW_STATE, IN_MEMORY),
    BY_ANSWER: (NO_NEW_STATE,),
    AT_EXIT: (NO_NEW_STATE,),
    QUERY: (IN_MEMORY,),
    CALLER: (IN_MEMORY,),
    SET: (IN_MEMORY,),
    STATUS: (NO_NEW_STATE,),
}
Kept = tuple[str, str]
"""A place in the state folder, and what is kept there: a trace, or other bytes than before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traces:
    """Traces of discovery calls in a target's state folder, from one trial.

    `kept`: what the last calls, made in the form on trial, left there; `logs`: the files and tables
    that also hold the queries of default calls.
    """

    kept: set[Kept] = field(default_factory=set)
    logs: set[str] = field(default_factory=set)

    @property
    def beside_logs(self) -> set[Kept]:
        """What is kept outside of logs of all calls: a breach if only calls with the flag do it."""
        return {(place, what) for place, what in self.kept if _table(place) not in self.logs}

    @property
    def in_logs(self) -> set[Kept]:
        """The flag, or a status that it revealed, in a log of all calls, which may hold neither."""
        traced = {(place, what) for place, what in self.kept if what in (SET, STATUS)}
        return traced - self.beside_logs


def trial(bench: Bench, flag: Any, *, operated: bool = False) -> Traces:
    """Make default calls, then calls with this form of the flag; return what the later ones left.

    The state folder is read after each round and compared with the reading before; a tool is locked
    first, and the target restarted after either kind. `operated`: the operator acts after each
    round too. Bytes that change in default calls as well do not count. Inconclusive if calls go
    wrong, or the lock is not seen in the folder.
    """
    looks = [_written(bench)]
    acted: list[int] = []

    def look() -> None:
        """Read the state folder and append the reading to `looks`."""
        looks.append(_read(bench))

    def act() -> None:
        """Let the operator act if `operated`; append a reading to `looks` either way."""
        if operated:
            operate(bench)
        acted.append(len(looks))
        look()

    for _ in range(2):
        _call(bench, USUAL, ABSENT)
        look()
    act()
    _restart(bench)
    look()
    _call(bench, USUAL, ABSENT)
    look()
    act()
    steps = enumerate(pairwise(looks), start=1)
    usual = set().union(*(changed(*pair) for at, pair in steps if at not in acted))
    before = len(looks) - 1
    _call(bench, USING, flag)
    look()
    act()
    _call(bench, REVEALING, flag)
    look()
    _restart(bench)
    look()
    kept = {
        (place, what) for at in looks[before + 1 :] for place, what in traced(looks[before], at)
    }
    for step, what in enumerate(BY_BYTES, start=before):
        if what != BY_ACTS:
            kept |= {(place, what) for place in changed(looks[step], looks[step + 1]) - usual}
    first, second, third = (looks[at] for at in acted)
    kept |= {(place, BY_ACTS) for place in _other(second, third) - _other(first, second)}
    logs = {_table(p) for at in looks for p, content in at.items() if USUAL_QUERY in content.traces}
    return Traces(kept={trace for trace in kept if trace[1] in BREAKS}, logs=logs)


def operate(bench: Bench) -> None:
    """Set and lift a lock of each kind that the target has, approve, refresh, wait until ready.

    Acts on whole servers come last. An approval of what is approved, or of a trusted server's
    tool, may fail in any way.
    """
    operator, server, tool = bench.operator, ZORVIK.server, (ZORVIK.tool,)
    locks: dict[LockKind, tuple[str, ...]] = {
        CONFIG: tool, USER: tool, "quarantine": (), "server": (),
    }  # fmt: skip
    for kind, tools in locks.items():
        with suppress(Refused, Unsupported):
            operator.lock(kind, server, tools)
            bench.refused(ZORVIK)
            operator.unlock(kind, server, tools)
            bench.reached(ZORVIK)
        if kind == USER:
            with suppress(Refused, Unsupported, AdapterError):
                operator.unlock("approval", server, tools)
            with suppress(Refused, Unsupported):
                operator.refresh(server)
    bench.ready(ZORVIK)


def kept_by_the_flag(bench: Bench) -> Comparison:
    """Compare what calls with the flag leave in the state folder with what calls without it leave.

    What is suspected must be left by two further targets as well, and not by one without the
    flag, watched for longer. Inconclusive if a call goes wrong.
    """
    kept = trial(bench, flag=True, operated=True).beside_logs
    for _ in range(TWINS):
        if kept:
            with bench.twin() as twin:
                kept &= trial(twin, flag=True, operated=True).beside_logs
    if kept:
        with bench.twin() as twin:
            kept -= trial(twin, ABSENT, operated=True).kept
            moving = _moving(twin)
            kept = {(p, what) for p, what in kept if what not in BY_BYTES or p not in moving}
    comparison = Comparison()
    for place, what in sorted(kept):
        comparison.truth(
            place, f"{what}, by calls with the flag only", holds=False,
            allowed="nothing that default calls do not leave", breaks=BREAKS[what],
        )  # fmt: skip
    for clause in {IN_MEMORY, NO_NEW_STATE} - set(comparison.broken):
        comparison.truth("state folder", "as after default calls", holds=True,
                         allowed="", breaks=[clause])  # fmt: skip
    return comparison


def _moving(bench: Bench) -> set[str]:
    """Return the places in the state folder that change during three seconds of default calls."""
    looks, end = [_read(bench)], time.monotonic() + WATCH_S
    while time.monotonic() < end:
        _call(bench, (*USUAL, *USING, *REVEALING), ABSENT)
        looks.append(_read(bench))
    return set().union(*(changed(*pair) for pair in pairwise(looks)))


def _other(before: Places, after: Places) -> set[str]:
    """Return the places that are new in `after`, or whose content differs."""
    return changed(before, after) | (after.keys() - before.keys())


def _table(place: str) -> str:
    """Return the file that a place is in and, of a database, with its table."""
    file, sign, column = place.rpartition("#")
    return f"{file}#{column.partition('.')[0]}" if sign else place


def _written(bench: Bench) -> Places:
    """Lock a tool by the user, require that the state folder shows it, and return the reading.

    Inconclusive if the lock has no effect, or changes nothing in the folder.
    """
    before = _read(bench)
    bench.operator.lock(USER, MOBEL.server, [MOBEL.tool])
    bench.require(bench.refused(MOBEL), "the lock had no effect", "no_effect")
    after = bench.until(lambda: _read(bench), lambda latest: latest != before)
    bench.require(after != before, "nothing changed in the state folder when a tool was locked")
    bench.settle()
    return _read(bench)


def _call(bench: Bench, queries: tuple[str, ...], flag: Any) -> None:
    """Send each query six times in this form of the flag, as the administrator and each agent.

    Inconclusive on an error, or if the flag true reveals nothing where it must.
    """
    views = [bench, *(bench.as_agent(agent) for agent in bench.world.agents)]
    for query in queries * TIMES:
        for view in views:
            answer = view.discover(query, include_disabled=flag)
            bench.require(answer.error is None, f"discovery is answered with {answer.error}")
            due = flag is True and query == REVEALING[0]
            bench.require_revealed(not due or answer.disabled)


def _restart(bench: Bench) -> None:
    """Restart the target if it declares that; wait until a tool works and the settle time is over.

    Inconclusive if none does.
    """
    if "restart" in bench.operator.target.capabilities:
        bench.operator.restart()
        bench.require(bench.ready(ZORVIK), "no tool is callable after a restart", "not_reached")
        bench.settle()


def _read(bench: Bench) -> Places:
    """Return the content of the files in the target's state folder, and the traces in each."""
    return stored(bench.operator.folder / "target", TRACES)
