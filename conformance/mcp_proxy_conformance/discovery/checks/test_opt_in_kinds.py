"""Locked tools that the flag reveals, for each kind of lock: FR-001."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on
from mcp_proxy_conformance.catalogue.surface import STATUSES
from mcp_proxy_conformance.catalogue.world import USER, Step, ToolKey, server, tool, world
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.oracle import ABSENT as NOWHERE
from mcp_proxy_conformance.discovery.oracle import CALLABLE
from mcp_proxy_conformance.verdict.result import NotApplicable

FORGE = world(server("forge", tool("zorvik_list"), tool("mobel_drop", locked=USER)))
KEPT, DROPPED = ToolKey("forge", "zorvik_list"), ToolKey("forge", "mobel_drop")
TWO = world(server("forge", tool("zorvik_list")), server("vault", tool("tamupo_open")))
OPENED = ToolKey("vault", "tamupo_open")
WORDS = (*STATUSES, CALLABLE, NOWHERE)
LATE = Step(add=tool("fegadu_seal")[0], server="vault")


def judged(bench: Bench, keys: Sequence[ToolKey], least: int) -> dict[ToolKey, str]:
    """Map these tools to their own words, without those that their word never found while callable.

    Inconclusive if fewer than `least` are left.
    """
    words = {key: bench.tools[key].word for key in keys}
    relevant = {key: word for key, word in words.items() if bench.relevant(key, word)}
    bench.require(
        len(relevant) >= least,
        f"fewer than {least} such tools were found while callable and then locked",
    )
    return relevant


def revealed(bench: Bench, queries: dict[ToolKey, str]) -> list[ToolKey]:
    """Return those of the tools that the flag reveals to their queries, in the order of `queries`.

    Inconclusive if an entry has a name that is not that of a tool of this world.
    """
    entries = {key for query in queries.values() for key in bench.revealed(query)}
    named = entries <= bench.tools.keys()
    bench.require(
        named,
        "an entry's name is not the name of a tool of this world; see FR-003.name",
        "other_clause",
        needs=["FR-003.name"],
    )
    return [key for key, query in queries.items() if key in bench.revealed(query)]


@requirement("FR-001.reveals-user")
@on(FORGE, needs=("restart",))
def test_a_user_disabled_tool_is_still_revealed_after_a_restart(bench: Bench) -> None:
    """If a user lock still refuses calls after a restart, the flag still reveals the tool.

    Nothing else may be revealed to its word. Not applicable if the lock is gone, inconclusive if it
    had no effect before or no tool can be called afterwards.
    """
    bench.require(DROPPED in bench.armed.refused, "the lock had no effect", "no_effect")

    bench.operator.restart()

    bench.require(bench.ready(KEPT), "no tool could be called after the restart", "not_reached")
    if bench.call(DROPPED).reached:
        raise NotApplicable("the lock was gone after the restart")
    listed = bench.until(lambda: list(bench.revealed("mobel")), lambda keys: DROPPED in keys)
    assert listed == [DROPPED]


@requirement("FR-001.reveals-quarantined~restart")
@on(TWO, needs=("quarantine", "restart"))
def test_a_quarantined_tool_is_still_revealed_after_a_restart(bench: Bench) -> None:
    """Tools of a quarantined server that were known before a restart are revealed after it.

    Inconclusive if the quarantine has no effect, or no callable tool can be called after the
    restart.
    """
    bench.operator.lock("quarantine", "vault")
    bench.require(bench.refused(OPENED), "the lock had no effect", "no_effect")
    bench.operator.restart()

    bench.require(bench.ready(KEPT), "no tool could be called after the restart", "not_reached")
    listed = bench.until(lambda: list(bench.revealed(OPENED.tool)), lambda keys: OPENED in keys)

    assert listed == [OPENED]


@requirement("FR-001.reveals-quarantined~first-contact")
@on(TWO, needs=("quarantine", "restart"))
def test_a_tool_first_met_in_quarantine_is_revealed(bench: Bench) -> None:
    """The flag lists a tool that its server added during quarantine, when queried by name.

    The target is restarted after the tool is added; inconclusive if it is not ready again, or if
    the quarantine had no effect.
    """
    bench.operator.lock("quarantine", "vault")
    bench.require(bench.refused(OPENED), "the lock had no effect", "no_effect")
    bench.operator.change_upstream(LATE)
    bench.operator.restart()

    bench.require(bench.ready(KEPT), "no tool could be called after the restart", "not_reached")
    listed = bench.until(
        lambda: [k.tool for k in bench.revealed("fegadu_seal") if "fegadu" in k.tool], bool
    )

    observed = "listed" if listed else "not listed"
    assert {"vault:fegadu_seal": observed} == {"vault:fegadu_seal": "listed"}


@requirement("FR-001.server-off~listing")
@on(TWO, needs=("server_off",))
def test_the_listing_shows_a_server_that_was_switched_off(bench: Bench) -> None:
    """The server stays in the listing, and a usually constant member of its entry changes.

    Usually constant are members that two listings before have alike. Inconclusive if the lock
    has no effect.
    """
    usual, again = (bench.list().server("vault").members for _ in range(2))
    still = {name: value for name, value in usual.items() if again.get(name) == value}

    bench.operator.lock("server", "vault")

    bench.require(bench.refused(OPENED), "the lock had no effect", "no_effect")
    entry = bench.until(
        lambda: bench.list().servers.get("vault"),
        lambda entry: entry is not None and not still.items() <= entry.members.items(),
    )
    moved = entry is not None and any(entry.members.get(n) != v for n, v in still.items())
    observed = "changed" if moved else "missing" if entry is None else "unchanged"
    assert {"entry of vault": observed} == {"entry of vault": "changed"}
