"""State and privacy: opt-ins leave nothing on disk, and are counted in memory: FR-012, FR-013."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on
from mcp_proxy_conformance.catalogue.surface import FLAG
from mcp_proxy_conformance.catalogue.world import CONFIG, USER, key, server, tool, world
from mcp_proxy_conformance.discovery.agents import scoped
from mcp_proxy_conformance.discovery.bench import ABSENT, Bench
from mcp_proxy_conformance.discovery.offered import Opened, conversations, offered_anywhere
from mcp_proxy_conformance.discovery.requests import in_words
from mcp_proxy_conformance.discovery.traces import SMITHY, kept_by_the_flag, operate, trial
from mcp_proxy_conformance.targets.state_folder import marks, things
from mcp_proxy_conformance.targets.waits import poll

FORGE = world(
    server("forge", tool("zorvik_list"), tool("mobel_drop"), tool("tarnix_push", locked=CONFIG)),
    server("barn", tool("tifka_show")),
    agents={"clerk": ("forge",)},
)
MOBEL = key("forge:mobel_drop")
CALLS = 50
NOTHING = "quolvexi"
OPT_IN = "with the flag true"
WHILE_S = 1.0
"""Seconds that a temporary file may be there while another file is replaced by it."""


@requirement("FR-012.no-new-state")
@on(FORGE, needs=("state",))
def test_opt_in_calls_leave_nothing_behind_in_the_state_folder(bench: Bench) -> None:
    """Calls with the flag leave no file or table that default calls do not leave, even at exit.

    What is gone within the settle time, or what a second target leaves without the flag, does
    not count. Inconclusive unless the folder changes when a tool is locked.
    """
    _control_write(bench)
    before = _left_behind(bench, ABSENT)

    new = _left_behind(bench, flag=True, ended=True) - before
    if new:  # a file may be there for a moment, while another one is replaced
        new = _still_there(bench, new)
    if new:  # a program may write at times of its own: so may a twin that is never asked for more
        with bench.twin() as twin:
            _control_write(twin)
            new -= _left_behind(twin, ABSENT) | _left_behind(twin, ABSENT, ended=True)

    assert new == set()


@requirement("FR-012.no-new-state", "FR-013.in-memory")
@on(SMITHY, needs=("state",), long=True)
def test_opt_in_calls_leave_no_content_that_default_calls_do_not_leave(bench: Bench) -> None:
    """In files and tables, calls with the flag leave nothing that default calls do not leave.

    Nor do they change what is written when the operator acts afterwards. Logs of all calls are left
    to another check. Inconclusive if calls go wrong, or a lock does not show in the folder.
    """
    comparison = kept_by_the_flag(bench)

    comparison.conclude()


@requirement("FR-013.in-memory~log")
@on(SMITHY, needs=("state",), long=True)
def test_a_log_of_all_calls_does_not_tell_those_with_the_flag(bench: Bench) -> None:
    """A file or table that holds the queries of all calls holds neither the flag nor a status.

    Inconclusive if calls go wrong, or a lock does not show in the state folder.
    """
    kept = trial(bench, flag=True).in_logs

    assert kept == set()


@requirement("FR-013.counts")
@on(FORGE, needs=("counter",))
def test_the_counter_counts_each_opt_in_call_and_no_other(bench: Bench) -> None:
    """Each call with the flag adds one to the counter, whatever it reveals; no other call does.

    Eight calls are made, with the flag true, false or absent; one with the flag reveals
    nothing.
    """
    read = bench.operator.adapter.counter
    flags = (ABSENT, True, False, True, True, ABSENT)
    requests = [*(("tarnix", flag) for flag in flags), (NOTHING, ABSENT), (NOTHING, True)]

    counts = [read(), *(_counted(bench, flag, query=query) for query, flag in requests)]
    steps = [after - before for before, after in pairwise(counts)]

    names = [(f"request {n}", _in_words(*request)) for n, request in enumerate(requests, start=1)]
    growth = dict(zip(names, steps, strict=True))
    assert growth == dict(zip(names, (0, 1, 0, 1, 1, 0, 0, 1), strict=True))


@requirement("FR-013.counts")
@on(FORGE, needs=("counter",))
def test_the_counter_counts_whoever_opts_in_and_wherever(bench: Bench) -> None:
    """Opt-in calls count at every endpoint, in every revision, by administrator and agents.

    Calls with the flag false or absent add nothing there. Inconclusive if a call is answered with
    an error, or an agent finds no callable tool.
    """
    forms = {"without the flag": {}, "with the flag false": {FLAG: False}, OPT_IN: {FLAG: True}}

    growth = {
        (caller, place, form): _growth(bench, opened, flag)
        for (caller, place), opened in _callers(bench).items()
        for form, flag in forms.items()
    }

    assert growth == {place: int(place[-1] == OPT_IN) for place in growth}


@requirement("FR-013.counts")
@on(FORGE, needs=("counter", "restart"))
def test_a_restart_forgets_the_count(bench: Bench) -> None:
    """After a restart, the counter is 0, whatever the operator did since the last opt-in.

    Inconclusive unless the counter was above 0 after a call with the flag.
    """
    bench.require(
        _counted(bench, flag=True) > 0, "the counter did not grow with a call that has the flag"
    )

    operate(bench)
    bench.operator.restart()
    count = bench.operator.adapter.counter()

    assert {"after a restart": count} == {"after a restart": 0}


def _control_write(bench: Bench) -> None:
    """Lock a tool; raise Inconclusive unless the state folder shows that unrelated write.

    Return when the settle time is over.
    """
    folder = bench.operator.folder / "target"
    before = marks(folder)
    bench.operator.lock(USER, "forge", ["mobel_drop"])
    bench.require(bench.refused(MOBEL), "the lock had no effect", "no_effect")
    written = bench.until(lambda: marks(folder), lambda latest: latest != before)
    bench.require(
        written != before, "nothing changed in the state folder when the user locked a tool"
    )
    bench.settle()


def _left_behind(bench: Bench, flag: Any, *, ended: bool = False) -> set[str]:
    """Make fifty calls with this form of the flag; return the state folder's files and tables then.

    With `ended` the program is restarted before that, if it can be, since it may write as it
    ends. Inconclusive if the last answer is an error, or reveals nothing with the flag true.
    """
    for _ in range(CALLS):
        answer = bench.discover("tarnix", include_disabled=flag)
    bench.require(answer.error is None, f"discovery answered with an error: {answer.error}")
    bench.require_revealed(flag is not True or answer.disabled)
    if ended and "restart" in bench.operator.target.capabilities:
        bench.operator.restart()
    return things(bench.operator.folder / "target")


def _still_there(bench: Bench, names: set[str]) -> set[str]:
    """Watch the state folder; return those of `names` that were there at every look.

    It takes the settle time, at least one second, and ends at once when none is left.
    """
    left = set(names)

    def look() -> set[str]:
        """Drop names that are gone from the folder, and return those that are left."""
        left.intersection_update(things(bench.operator.folder / "target"))
        return left

    return poll(look, lambda names: not names, max(WHILE_S, bench.operator.target.settle_s))


def _in_words(query: str, flag: Any) -> str:
    """Render a request in words, without the flag if that is ABSENT."""
    return in_words({"query": query} if flag is ABSENT else {"query": query, FLAG: flag})


def _callers(bench: Bench) -> dict[tuple[str, str], Opened]:
    """Map (caller, place) to a function that opens a conversation with the target there.

    Places are those that offer discovery to the caller, an administrator or an agent. A program
    over stdio is left out, since it has a count of its own.
    """
    callers = {"the administrator": bench}
    callers |= {f"agent {name}": scoped(bench, name) for name in bench.world.agents}
    offering = {caller: offered_anywhere(view) for caller, view in callers.items()}
    return {
        (caller, f"at {place}"): opened
        for caller, view in callers.items()
        for place, opened in conversations(view.started, view.agent).items()
        if place != "stdio" and place in offering[caller]
    }


def _growth(bench: Bench, opened: Opened, flag: dict[str, bool]) -> int:
    """Make one call in that conversation; return by how much the counter has grown with it.

    `flag` has the flag as an argument of the call, or is empty. Inconclusive on an error.
    """
    names = bench.surface
    before = bench.operator.adapter.counter()
    with opened() as client:
        reply = client.call_tool(names.discovery_tool, {names.query: "tarnix", **flag})
    refused = reply.error is not None or reply.is_error
    bench.require(not refused, "discovery answered with an error")
    return bench.operator.adapter.counter() - before


def _counted(bench: Bench, flag: Any, *, query: str = "tarnix") -> int:
    bench.discover(query, include_disabled=flag)
    return bench.operator.adapter.counter()
