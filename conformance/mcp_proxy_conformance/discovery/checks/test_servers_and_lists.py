"""Locked tools sharing a name, on stdio servers, or off an allow list: FR-001, FR-004, FR-006."""

from __future__ import annotations

from msgspec import structs

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on, stage
from mcp_proxy_conformance.catalogue.world import CONFIG, USER, Step, ToolKey, server, tool, world
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.grounds import compare_places
from mcp_proxy_conformance.discovery.oracle import BY_APPROVAL
from mcp_proxy_conformance.verdict.comparison import Comparison
from mcp_proxy_conformance.verdict.result import NotApplicable

SCOPE = stage("scope")
DROP = "mobel_drop"
NAMESAKES = world(
    server("forge", tool("zorvik_list"), tool(DROP, locked=CONFIG)),
    server("vault", tool("tarnix_push"), tool(DROP)),
)
TRIPLETS = world(
    server("forge", tool("zorvik_list"), tool(DROP, locked=CONFIG)),
    server("vault", tool("tarnix_push"), tool(DROP, locked=(USER, CONFIG))),
    server("barn", tool("tifka_show"), tool(DROP, locked=USER)),
)
TRIPLET = tuple(ToolKey(name, DROP) for name in ("forge", "vault", "barn"))
LOCKED, FREE = ToolKey("forge", DROP), ToolKey("vault", DROP)
WITHHELD = structs.replace(
    world(
        server("forge", tool("zorvik_list"), tool(DROP)),
        server("attic", tool("wibnot_show"), tool(DROP)),
        server("shed", tool("tarnix_push"), tool(DROP), trusted=False),
    ),
    steps=(
        Step(unlock="approval", server="shed", tools=("tarnix_push", DROP)),
        Step(change=DROP, server="shed", description="Drop mobel, at once."),
        Step(refresh="shed"),
        Step(lock=CONFIG, server="forge", tools=(DROP,)),
        Step(lock="quarantine", server="attic"),
    ),
)
EMPTIED = world(
    server(
        "forge",
        tool("zorvik_list", locked=CONFIG),
        tool(DROP, locked=CONFIG),
        allow=(DROP, "zorvik_list"),
    ),
    server("vault", tool("tarnix_push")),
)

LISTED = structs.replace(
    world(
        server("forge", tool("zorvik_list"), trusted=False, allow=("zorvik_list",)),
        server("vault", tool("tarnix_push"), trusted=False),
    ),
    steps=(
        Step(unlock="approval", server="forge", tools=("zorvik_list",)),
        Step(unlock="approval", server="vault", tools=("tarnix_push",)),
        Step(add=tool(DROP)[0], server="forge"),
        Step(refresh="forge"),
        Step(add=tool("fegadu_seal")[0], server="vault"),
        Step(refresh="vault"),
    ),
)
UNLISTED, PENDING = ToolKey("forge", DROP), ToolKey("vault", "fegadu_seal")


@requirement("FR-006.callables")
@on(NAMESAKES)
def test_a_callable_tool_stays_so_beside_a_locked_namesake(bench: Bench) -> None:
    """A tool stays callable beside a locked tool of the same name on another server.

    The flagged answer to their shared word must list it so within the settle time. Inconclusive
    if the lock has no effect, or the word did not find the tool while it was callable.
    """
    bench.require(LOCKED in bench.armed.refused, "the lock had no effect", "no_effect")
    bench.require(
        bench.relevant(FREE, "mobel"), "the query did not find the tool while it was callable"
    )

    status = bench.settled(
        lambda: bench.widest("mobel", include_disabled=True).status(FREE), "callable"
    )

    assert {str(FREE): status} == {str(FREE): "callable"}


@requirement("FR-001.reveals-config")
@on(NAMESAKES)
def test_a_locked_tool_is_revealed_beside_a_callable_namesake(bench: Bench) -> None:
    """A locked tool is revealed beside a callable tool of the same name on another server.

    Inconclusive if the lock has no effect, or the word did not find the tool while it was
    callable.
    """
    bench.require(LOCKED in bench.armed.refused, "the lock had no effect", "no_effect")
    bench.require(
        bench.relevant(LOCKED, "mobel"), "the query did not find the tool while it was callable"
    )

    listed = bench.settled(lambda: _is_listed(bench, LOCKED), expected=True)

    assert {str(LOCKED): listed} == {str(LOCKED): True}


@requirement("FR-001.reveals-config", "FR-001.reveals-user", "FR-004.precedence")
@on(TRIPLETS, long=True)
def test_locked_namesakes_are_revealed_each_by_its_own_server(bench: Bench) -> None:
    """Locked tools of one name on three servers are as many entries, each with its own status.

    They are asked for by word and by name. Inconclusive if a lock has no effect, or the word
    did not find a tool while it was callable.
    """
    bench.require(set(TRIPLET) <= set(bench.armed.refused), "a lock had no effect", "no_effect")
    unshown = [str(key) for key in TRIPLET if not bench.relevant(key, "mobel")]
    bench.require(not unshown, f"not found while callable: {', '.join(unshown)}")

    answers = bench.until(
        lambda: [bench.widest(query, include_disabled=True) for query in ("mobel", DROP)],
        lambda now: all(set(TRIPLET) <= answer.statuses().keys() for answer in now),
    )

    compared = Comparison()
    for key in TRIPLET:
        places = {answer.status(key) for answer in answers}
        compare_places(compared, key, bench.states[key], places)
    compared.conclude()


@requirement("FR-001.reveals-quarantined", "FR-001.reveals-changed", "FR-001.reveals-config")
@on(WITHHELD)
def test_withheld_namesakes_are_revealed_beside_a_locked_one(bench: Bench) -> None:
    """A quarantined and a changed tool are revealed beside a config-locked one of the same name.

    They are asked for by that name, and each must have its own status. Inconclusive if fewer
    than two of them are refused.
    """
    bench.needs_one_of("approval", "quarantine")
    locked = [key for key in bench.armed.refused if key.tool == DROP]
    bench.require(len(locked) > 1, "fewer than 2 of the namesakes were locked", "no_effect")

    answer = bench.until(
        lambda: bench.widest(DROP, include_disabled=True),
        lambda now: set(locked) <= now.statuses().keys(),
    )

    compared = Comparison()
    for key in locked:
        compare_places(compared, key, bench.states[key], {answer.status(key)})
    compared.conclude()


@requirement("SC-005.absent")
@on(NAMESAKES)
def test_a_locked_namesake_elsewhere_brings_a_server_no_counts(bench: Bench) -> None:
    """A server has no counts block if only a tool of the same name elsewhere is locked.

    Inconclusive if the lock has no effect, or no counts block was seen.
    """
    bench.require(LOCKED in bench.armed.refused, "the lock had no effect", "no_effect")
    bench.expect_block()

    has_counts = bench.settled(lambda: bench.list().server("vault").has_counts, expected=False)

    assert {"vault": has_counts} == {"vault": False}


@requirement("FR-001.reveals-config")
@on(EMPTIED, needs=("allow_list",))
def test_an_allow_list_left_empty_locks_all_tools_of_its_server(bench: Bench) -> None:
    """Every tool of a server whose allow list is empty is revealed as locked.

    Its two tools are taken off the list; not applicable if the target still serves a call of one,
    inconclusive if an entry has an unknown name.
    """
    locked = [ToolKey("forge", DROP), ToolKey("forge", "zorvik_list")]
    if not set(locked) <= set(bench.armed.refused):
        raise NotApplicable("the target treats an empty allow list as no allow list")
    wanted = dict.fromkeys(locked, True)

    listed = bench.settled(lambda: {k: _is_listed(bench, k) for k in locked}, wanted)

    assert listed == wanted


@requirement("FR-001.reveals-config")
@on(SCOPE)
def test_config_locks_are_revealed_on_servers_of_standard_streams(bench: Bench) -> None:
    """The flag reveals config-locked tools of servers over stdio, for their own words.

    Inconclusive if none of them was found while callable, or an entry has an unknown name.
    """
    listed = _listed_over_stdio(bench, bench.locked(config=True))

    assert listed == dict.fromkeys(listed, True)


@requirement("FR-001.reveals-user")
@on(SCOPE)
def test_user_locks_are_revealed_on_servers_of_standard_streams(bench: Bench) -> None:
    """The flag reveals user-locked tools of servers over stdio, for their own words.

    Inconclusive if none of them was found while callable, or an entry has an unknown name.
    """
    listed = _listed_over_stdio(bench, bench.locked(user=True))

    assert listed == dict.fromkeys(listed, True)


@requirement("FR-004.config-skips-quarantine")
@on(LISTED, needs=("allow_list", "approval"))
def test_a_tool_that_no_allow_list_names_never_waits_for_approval(bench: Bench) -> None:
    """A new tool outside its server's allow list is not pending; a new tool elsewhere is.

    The latter is the control: inconclusive unless it is refused and the flag lists it as
    `pending_approval`.
    """
    bench.require(
        {UNLISTED, PENDING} <= set(bench.armed.refused), "a lock had no effect", "no_effect"
    )
    waits = bench.settled(
        lambda: bench.widest(PENDING.tool, include_disabled=True).status(PENDING),
        "pending_approval",
    )
    bench.require(waits == "pending_approval", "no pending tool was revealed")

    place = bench.until(
        lambda: bench.widest(UNLISTED.tool, include_disabled=True).status(UNLISTED),
        lambda place: place not in BY_APPROVAL,
    )

    waiting = {str(UNLISTED): place} if place in BY_APPROVAL else {}
    assert waiting == {}


def _listed_over_stdio(bench: Bench, locked: tuple[ToolKey, ...]) -> dict[ToolKey, bool]:
    """Map those of `locked` that are on a stdio server to whether the flag lists them as locked.

    Only tools that their own word found while they were callable count; inconclusive if there
    are none, not applicable if no server is over stdio.
    """
    here = [k for k in locked if bench.world.server(k.server).transport == "stdio"]
    if not any(server.transport == "stdio" for server in bench.world.servers):
        raise NotApplicable("no upstream of this stage runs over stdio")
    relevant = [key for key in here if bench.relevant(key, bench.tools[key].word)]
    bench.require(relevant, "no tool of a stdio server was found while callable and then locked")
    return {key: _is_listed(bench, key) for key in relevant}


def _is_listed(bench: Bench, key: ToolKey) -> bool:
    """Whether the flag lists the tool as locked for its own word.

    Inconclusive if it does not, but an entry has a name that is none of this world's tools.
    """
    listed = bench.widest(bench.tools[key].word, include_disabled=True).statuses().keys()
    named = key in listed or listed <= bench.tools.keys()
    bench.require(
        named,
        "an entry's name is not the name of a tool of this world; see FR-003.name",
        "other_clause",
        needs=["FR-003.name"],
    )
    return key in listed
