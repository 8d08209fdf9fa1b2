"""Listings and rejections for a scoped agent, with tools beyond its scope: FR-007."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on, stage
from mcp_proxy_conformance.catalogue.surface import STATUSES
from mcp_proxy_conformance.discovery.agents import beyond, names_beyond, scoped
from mcp_proxy_conformance.discovery.answer import Listing
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.counts import outside_entries
from mcp_proxy_conformance.discovery.rejections import own_words, status_of_lock, tells_reason
from mcp_proxy_conformance.verdict.result import NotApplicable

SCOPE = stage("scope")
each_agent = pytest.mark.parametrize(
    "agent", [name for name, servers in SCOPE.agents.items() if len(servers) == 1]
)


@requirement("FR-007.listing")
@on(SCOPE, needs=("agents",))
@each_agent
def test_a_listing_that_leaves_a_server_out_tells_no_counts_of_it(bench: Bench, agent: str) -> None:
    """The listing does not name the hidden server and counts none of its locked tools."""
    view = scoped(bench, agent)
    _require_counts_beyond(bench, agent)

    listing = _listing(view)

    _applies(not _shown(listing, agent), "the listing shows servers beyond the agent's scope")
    own = _own_locked(bench, agent)
    more: dict[str, list[int]] = {}
    for status, count in outside_entries(listing, view.surface.members):
        if count > own[status]:
            more.setdefault(status, []).append(count)
    named = names_beyond(SCOPE, agent, _text(listing))
    most: dict[str, Any] = {status: f"at most {own[status]}" for status in more}
    assert {"names beyond the scope": named, **more} == {"names beyond the scope": [], **most}


@requirement("FR-007.listing~shown")
@on(SCOPE, needs=("agents",))
@each_agent
def test_a_listing_that_shows_a_server_beyond_the_scope_has_no_counts_at_it(
    bench: Bench, agent: str
) -> None:
    """Entries of servers beyond the agent's scope, if listed at all, have no counts block."""
    view = scoped(bench, agent)
    _require_counts_beyond(bench, agent)

    listing = _listing(view)

    _applies(_shown(listing, agent), "the listing leaves out servers beyond the agent's scope")
    counts = {name: listing.counts(name) for name in _shown(listing, agent)}
    assert {name: block for name, block in counts.items() if block} == {}


@requirement("FR-007.rejection")
@on(SCOPE, needs=("agents",))
@each_agent
def test_calling_a_tool_beyond_the_scope_does_not_tell_why_it_is_locked(
    bench: Bench, agent: str
) -> None:
    """The refusal of the agent's call gives neither the text nor the class of the lock."""
    view = scoped(bench, agent)
    hidden = [k for k in bench.states if k.server in beyond(SCOPE, agent)]
    free = next(k for k in hidden if bench.states[k].callable)
    locked = [k for k in hidden if k in bench.armed.refused]
    kinds = {status_of_lock(bench.states[k]) for k in locked}
    bench.require(len(kinds) > 1, "fewer than 2 kinds of lock beyond the scope took effect")
    open_text = "" if view.call(free).reached else own_words(view, free)

    texts = {key: own_words(view, key) for key in locked}

    reasons = {k: tells_reason(bench, k, text, open_text) for k, text in texts.items()}
    assert {(key, part): texts[key] for key, part in reasons.items() if part} == {}


def _applies(condition: object, reason: str) -> None:
    if not condition:
        raise NotApplicable(reason)


def _require_counts_beyond(bench: Bench, agent: str) -> None:
    listing = bench.list()
    counted = any(listing.counts(name) for name in beyond(SCOPE, agent))
    bench.require(counted, "the administrator saw no counts of a server beyond the scope")


def _listing(view: Bench) -> Listing:
    """The agent's listing; an agent that is refused one is shown no server."""
    template = view.surface.listing
    reply = view.tool_call(template.tool, template.arguments, endpoint=template.endpoint)
    if reply.error is not None or reply.is_error:
        return Listing(reply=reply, servers={})
    return view.listing(reply)


def _shown(listing: Listing, agent: str) -> tuple[str, ...]:
    return tuple(name for name in beyond(SCOPE, agent) if name in listing.servers)


def _text(listing: Listing) -> str:
    reply = listing.reply
    return str(reply.error) if reply.error is not None else "\n".join(reply.texts)


def _own_locked(bench: Bench, agent: str) -> dict[str, int]:
    own = [s for k, s in bench.states.items() if k.server not in beyond(SCOPE, agent)]
    words = [status_of_lock(state) for state in own if not state.callable]
    return {status: words.count(status) for status in STATUSES}
