"""Locked tools called while a target comes up, or called and then unlocked: FR-011."""

from __future__ import annotations

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on
from mcp_proxy_conformance.catalogue.world import CONFIG, USER, ToolKey, server, tool, world
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.locked_entries import ask
from mcp_proxy_conformance.targets.waits import poll

HELD = world(
    server(
        "forge",
        tool("zorvik_list"),
        tool("mobel_drop", locked=USER),
        tool("tunrag_wipe", locked=CONFIG),
    )
)
FORGE = world(server("forge", tool("zorvik_list"), tool("mobel_drop"), tool("tunrag_wipe")))
FREE = ToolKey("forge", "zorvik_list")
DROP, WIPE = ToolKey("forge", "mobel_drop"), ToolKey("forge", "tunrag_wipe")


@requirement("FR-011.never-reaches")
@on(HELD, needs=("restart",))
def test_no_call_reaches_a_locked_tool_while_the_target_comes_up(bench: Bench) -> None:
    """While the target comes up after a restart, no call reaches a config- or user-locked tool.

    All are called again and again until a call of a callable tool is reached; inconclusive if
    that does not happen within the time to be ready, or if a lock was not proven before.
    """
    bench.require({DROP, WIPE} <= set(bench.armed.refused), "the locks had no effect", "no_effect")
    bench.operator.restart()

    with bench.untouched(DROP, WIPE):
        back = poll(lambda: _reaches_free_tool(bench), bool, bench.operator.target.ready_s)

    bench.require(back, "no tool could be called after the restart", "not_reached")


@requirement("FR-011.not-unlocked")
@on(FORGE)
def test_a_refused_call_leaves_no_lock_behind(bench: Bench) -> None:
    """A tool that was discovered and called while config locked it is callable after its unlock.

    A second tool, locked and unlocked with it but never discovered or called, is the control:
    inconclusive unless it is callable again, or if the lock has no effect.
    """
    bench.operator.lock(CONFIG, "forge", [DROP.tool, WIPE.tool])
    bench.require(bench.refused(DROP), "the lock had no effect", "no_effect")
    bench.settled(lambda: ask(bench, DROP).status(DROP), "disabled_by_config")
    bench.operator.unlock(CONFIG, "forge", [DROP.tool, WIPE.tool])
    bench.require(bench.reached(WIPE), "lifting the lock had no effect", "no_effect")

    reached = bench.until(lambda: bench.call(DROP).reached, bool)

    assert {str(DROP): reached} == {str(DROP): True}


def _reaches_free_tool(bench: Bench) -> bool:
    """Call both locked tools, a callable one, and the locked ones again.

    Return whether the callable one was reached. Calls of locked ones are not judged here: the
    caller counts those that reached the upstream.
    """
    for key in (DROP, WIPE):
        bench.call(key)
    reached = bench.call(FREE).reached
    for key in (DROP, WIPE):
        bench.call(key)
    return reached
