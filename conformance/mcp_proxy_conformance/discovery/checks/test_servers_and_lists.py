"""Locked tools sharing a name, on stdio servers, or off an allow list: FR-001, FR-004, FR-006."""

from __future__ import annotations

from msgspec import structs

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on
from mcp_proxy_conformance.catalogue.world import CONFIG, Step, ToolKey, server, tool, world
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.oracle import BY_APPROVAL
from mcp_proxy_conformance.verdict.result import NotApplicable

DROP = "mobel_drop"
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
