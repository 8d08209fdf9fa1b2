"""State and privacy: opt-ins leave nothing on disk, and are counted in memory: FR-012, FR-013."""

from __future__ import annotations

from typing import Any

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on
from mcp_proxy_conformance.catalogue.surface import FLAG
from mcp_proxy_conformance.catalogue.world import CONFIG, server, tool, world
from mcp_proxy_conformance.discovery.agents import scoped
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.offered import Opened, conversations, offered_anywhere
from mcp_proxy_conformance.discovery.traces import SMITHY, kept_by_the_flag, operate, trial

FORGE = world(
    server("forge", tool("zorvik_list"), tool("mobel_drop"), tool("tarnix_push", locked=CONFIG)),
    server("barn", tool("tifka_show")),
    agents={"clerk": ("forge",)},
)
OPT_IN = "with the flag true"


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
