"""An agent's scope in listings, inspections and rejections: nothing of other servers: FR-007."""

from __future__ import annotations

import pytest

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on, stage
from mcp_proxy_conformance.catalogue.world import (
    CONFIG,
    USER,
    LockKind,
    ToolKey,
    server,
    tool,
    world,
)
from mcp_proxy_conformance.discovery.agents import beyond, listing_of, scoped
from mcp_proxy_conformance.discovery.answer import Listing
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.rejections import own_words, reason_given_away, status_of_lock
from mcp_proxy_conformance.discovery.requests import in_words
from mcp_proxy_conformance.verdict.comparison import Comparison
from mcp_proxy_conformance.verdict.result import NotApplicable

SCOPE = stage("scope")
ALIKE = world(
    server("forge", tool("zorvik_list"), tool("mobel_drop", locked=CONFIG)),
    server("forgery", tool("tamupo_open"), tool("bitoko_lend", locked=CONFIG)),
    server("vault", tool("tarnix_push"), tool("fegadu_seal", locked=USER)),
    agents={"short": ("forge",), "long": ("forgery",)},
)
OPEN_ELSEWHERE = (ToolKey("vault", "tarnix_push"), ToolKey("forgery", "tamupo_open"))
"""Callable tools beyond the scope of the agent `short`."""
each_agent = pytest.mark.parametrize(
    "agent", [name for name, servers in SCOPE.agents.items() if len(servers) == 1]
)


@requirement("FR-007.listing~shown")
@on(SCOPE, needs=("agents",))
@each_agent
def test_a_listing_that_shows_a_server_beyond_the_scope_has_no_counts_at_it(
    bench: Bench, agent: str
) -> None:
    """Entries of servers beyond the agent's scope, if listed at all, have no counts block.

    Not applicable if none is listed; inconclusive if the administrator sees no counts of such a
    server.
    """
    view = scoped(bench, agent)
    _require_counts_beyond(bench, agent)

    listing = listing_of(view)

    _require_applicable(
        _shown_beyond(listing, agent), "the listing leaves out servers beyond the agent's scope"
    )
    counts = {name: listing.counts(name) for name in _shown_beyond(listing, agent)}
    assert {name: block for name, block in counts.items() if block} == {}


@requirement("FR-007.listing", "FR-010.block")
@on(ALIKE, fresh=True, needs=("agents",))
def test_who_listed_before_moves_no_listing(bench: Bench) -> None:
    """Whether agent or administrator lists first does not change what either is listed.

    After a lock the agent lists first, after another one the administrator. A server that the
    agent's first listing leaves out stays left out, and the administrator sees counts of each
    server with a locked tool. Not applicable if the first listing shows servers beyond the scope;
    inconclusive if a lock has no effect.
    """
    view = scoped(bench, "short")
    _lay(bench, USER, OPEN_ELSEWHERE[0])
    first = listing_of(view)
    _require_applicable(
        "vault" not in first.servers, "the listing shows servers beyond the agent's scope"
    )
    compared, locked = Comparison(), {key.server for key in bench.armed.refused}

    for turn, key in enumerate((None, OPEN_ELSEWHERE[1]), 1):
        if key is not None:
            _lay(bench, USER, key)
        counted = bench.until(
            lambda: {name for name, server in bench.list().servers.items() if server.counts},
            lambda servers: servers >= locked,
        )
        compared.one_of(f"servers with counts, administrator, turn {turn}", sorted(counted),
                        (sorted(counted | locked),), breaks=["FR-010.block"])  # fmt: skip
        shown = sorted({*listing_of(view).servers} - {*first.servers})
        compared.one_of(f"servers beyond the scope, turn {turn}", shown, ([],),
                        breaks=["FR-007.listing"])  # fmt: skip

    compared.conclude()


def _lay(bench: Bench, kind: LockKind, key: ToolKey) -> None:
    bench.operator.lock(kind, key.server, [key.tool])
    bench.require(bench.refused(key), "a lock had no effect", "no_effect")


@requirement("FR-007.hidden")
@on(SCOPE, needs=("agents",))
@each_agent
def test_no_refusal_names_locked_tools_beyond_the_scope(bench: Bench, agent: str) -> None:
    """The refusal of an agent's call has no name or planted text of a locked tool beyond its scope.

    What the call itself names does not count. Tools beyond the scope, and names that no tool has on
    any server, are called in every way. Inconclusive if no lock beyond the scope took effect.
    """
    view = scoped(bench, agent)
    hidden = [k for k in bench.armed.refused if k.server in beyond(SCOPE, agent)]
    bench.require(hidden, "no lock beyond the scope took effect", "no_effect")
    near = [ToolKey(server, f"{hidden[0].tool[:-1]}x") for server in bench.started.servers]
    ways = range(len(bench.surface.calls))

    calls = {
        f"{key} in way {way}": view.call(key, surface=way)
        for way in ways
        for key in (*hidden[:4], *near)
    }

    named = {
        made: _locked_names(bench, agent, c.reply.raw.decode("utf-8", "replace"), str(c.key))
        for made, c in calls.items()
        if not c.reached
    }
    assert {call: names for call, names in named.items() if names} == {}


@requirement("FR-007.hidden", "FR-007.note", "FR-007.listing")
@on(ALIKE, needs=("agents",))
@pytest.mark.parametrize("agent", sorted(ALIKE.agents))
def test_a_server_of_a_similar_name_is_beyond_the_scope(bench: Bench, agent: str) -> None:
    """One server's name begins with another's; their agents see each its own, on every surface.

    The other server's locked tool is absent from the agent's flagged answers, brings no note
    and, if the listing hides servers, no counts. Inconclusive if the flag reveals it to nobody.
    """
    view, compared = scoped(bench, agent), Comparison()
    other = {"short": "forgery", "long": "forge"}[agent]
    hidden = [key for key in bench.armed.refused if key.server == other]
    revealed = bench.until(
        lambda: [key for key in hidden if key in bench.revealed(bench.tools[key].word)],
        lambda keys: len(keys) == len(hidden),
    )
    bench.require(revealed, "the flag revealed no locked tool of the other server to anybody")

    for key in revealed:
        word = bench.tools[key].word
        flagged, default = view.widest(word, include_disabled=True), view.discover(word)
        compared.one_of(f"status of {key}", flagged.status(key), ("absent",),
                        breaks=["FR-007.hidden"])  # fmt: skip
        if not default.tools:
            due = flagged.statuses().keys() - set(hidden)
            path = f"{in_words({'query': word})}, note"
            compared.truth(path, default.note, holds=bool(due) or not default.note,
                           allowed="no note", breaks=["FR-007.note"])  # fmt: skip
    listing = listing_of(view)
    if "vault" not in listing.servers:  # it hides what is beyond the scope
        compared.one_of(f"counts of {other}", listing.counts(other), (None,),
                        breaks=["FR-007.listing"])  # fmt: skip
    compared.conclude()


@requirement("FR-007.rejection")
@on(SCOPE, needs=("agents",))
@each_agent
def test_calling_a_tool_beyond_the_scope_does_not_tell_why_it_is_locked(
    bench: Bench, agent: str
) -> None:
    """The refusal of the agent's call gives neither text, status, remedy nor class of the lock.

    A refusal that equals the one for an unlocked tool of that server is right. Inconclusive if
    fewer than two kinds of lock there took effect.
    """
    view = scoped(bench, agent)
    hidden = [k for k in bench.states if k.server in beyond(SCOPE, agent)]
    free = next(k for k in hidden if bench.states[k].callable)
    locked = [k for k in hidden if k in bench.armed.refused]
    kinds = {status_of_lock(bench.states[k]) for k in locked}
    bench.require(len(kinds) > 1, "fewer than 2 kinds of lock beyond the scope took effect")
    open_text = "" if view.call(free).reached else own_words(view, free)

    texts = {key: own_words(view, key) for key in locked}

    reasons = {k: reason_given_away(bench, k, text, open_text) for k, text in texts.items()}
    assert {(key, part): texts[key] for key, part in reasons.items() if part} == {}


def _locked_names(bench: Bench, agent: str, text: str, named: str) -> list[str]:
    """Return words and canaries, of locked tools beyond the agent's scope, that a text contains.

    Those that occur in `named`, what the request contained, are left out.
    """
    hidden = [bench.tools[k] for k in bench.armed.refused if k.server in beyond(SCOPE, agent)]
    words = [word for tool in hidden for word in (tool.word, *tool.canaries)]
    return [word for word in words if word in text and word not in named]


def _require_applicable(condition: object, reason: str) -> None:
    if not condition:
        raise NotApplicable(reason)


def _require_counts_beyond(bench: Bench, agent: str) -> None:
    """Raise Inconclusive unless the administrator sees counts of a server beyond the scope."""
    listing = bench.list()
    counted = any(listing.counts(name) for name in beyond(SCOPE, agent))
    bench.require(counted, "the administrator saw no counts of a server beyond the scope")


def _shown_beyond(listing: Listing, agent: str) -> tuple[str, ...]:
    """Return the servers beyond the agent's scope that its listing shows."""
    return tuple(name for name in beyond(SCOPE, agent) if name in listing.servers)
