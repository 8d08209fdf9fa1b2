"""Laws of an agent's scope: what lies beyond it shows nowhere, and changes nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mcp_proxy_conformance.catalogue.case import When
from mcp_proxy_conformance.catalogue.surface import STATUSES
from mcp_proxy_conformance.catalogue.world import ToolState
from mcp_proxy_conformance.discovery.agents import beyond
from mcp_proxy_conformance.discovery.answer import Listing, read_listing
from mcp_proxy_conformance.discovery.arming import SHOW_LIMIT
from mcp_proxy_conformance.discovery.bench import ABSENT, Bench
from mcp_proxy_conformance.discovery.counts import outside_entries
from mcp_proxy_conformance.discovery.laws.look import Findings, Look, Told
from mcp_proxy_conformance.discovery.numbers import numbers_in
from mcp_proxy_conformance.discovery.oracle import counted_as, is_withheld
from mcp_proxy_conformance.discovery.rejections import own_words, tells_reason
from mcp_proxy_conformance.verdict.result import Inconclusive

MOST_QUERIES, MOST_CALLS = 4, 2


def hidden(look: Look, found: Findings) -> None:
    """No name, no status and no number of what lies beyond the scope is told to an agent."""
    for agent in look.narrow:
        for query in _telling(look, agent):
            look.ask(query, flag=True, anew=True)  # the administrator's, right before
            flagged = look.ask(query, flag=True, agent=agent, anew=True)
            look.ask(query, flag=ABSENT, anew=True)
            default = look.ask(query, flag=ABSENT, agent=agent, anew=True)
            if flagged is not None and flagged.answer.error is None:
                _flagged(look, found, flagged, agent)
            if default is not None and default.answer.error is None and flagged is not None:
                _default(look, found, default, flagged, agent)


def _flagged(look: Look, found: Findings, one: Told, agent: str) -> None:
    names = _names_in(look, agent, one.answer.text_without_echo(), one.of.query or "")
    outside = beyond(look.bench.world, agent)
    entries = {look.named(entry) for entry in one.answer.disabled}
    strays = sorted(str(key) for key in entries if key and key.server in outside)
    found.truth(["FR-007.hidden"], one.of, names + strays, holds=not (names + strays),
                wanted="nothing from beyond the scope")  # fmt: skip


def _default(look: Look, found: Findings, one: Told, flagged: Told, agent: str) -> None:
    names = _names_in(look, agent, one.answer.text_without_echo(), one.of.query or "")
    note = one.answer.note
    among = ["FR-007.note"] if any(name in (note or "") for name in names) else []
    found.truth(among or ["FR-002.no-locked-names"], one.of, names, holds=not names,
                wanted="no name from beyond the scope", shows=[])  # fmt: skip
    scope = look.bench.world.agents[agent]
    query = one.of.query or ""
    shown = look.bench.armed.shown.get(query, ())
    locked = [k for k, state in look.bench.states.items() if not state.callable
              and (look.bench.tools[k].holds(query) or k in shown)]  # fmt: skip
    if not flagged.answer.disabled:
        if not any(key.server in scope for key in locked):
            found.truth(["FR-007.note"], one.of, note, holds=not note,
                        wanted="no note of other servers")  # fmt: skip
        return
    own = max(sum(key.server in scope for key in locked), len(flagged.answer.disabled))
    numbers = numbers_in(note or "")
    wrong = [n for n in numbers if min(numbers) > own and n <= len(locked)]
    found.truth(["FR-007.note"], one.of, note, holds=not wrong, counts=bool(numbers),
                wanted=f"a number of no more than {own}")  # fmt: skip


def listings(look: Look, found: Findings) -> None:
    """A listing that leaves a server out tells no count of it."""
    counted = look.bench.list()
    for agent in look.narrow:
        outside = beyond(look.bench.world, agent)
        if not any(counted.counts(name) for name in outside):
            continue
        view = look.bench.as_agent(agent)
        listing = _listing(view)
        if any(name in listing.servers for name in outside):
            continue  # it shows them, and may (ruling scope-of-listing)
        text = str(listing.reply.error or "\n".join(listing.reply.texts))
        own = {k: s for k, s in look.bench.states.items() if k.server not in outside}
        most = {word: sum(k in look.unsure or _may_count(s, word) for k, s in own.items())
                for word in STATUSES}  # fmt: skip
        more = [
            f"{word}: {n}"
            for word, n in outside_entries(listing, view.surface.members)
            if n > most[word]
        ]
        told = _names_in(look, agent, text, "") + more
        found.truth(["FR-007.listing"], When(do="list", agent=agent), told, holds=not told,
                    wanted="nothing from beyond the scope")  # fmt: skip


def _may_count(state: ToolState, word: str) -> bool:
    """Whether a tool may be counted under that word; of shut servers it is open."""
    shut = state.server_off or state.quarantined
    return not state.callable and (shut or word in counted_as(state))


def refusals(look: Look, found: Findings) -> None:
    """A call beyond the scope is not told why the tool is locked."""
    for agent in look.narrow:
        view, outside = look.bench.as_agent(agent), beyond(look.bench.world, agent)
        free = [key for key in look.free if key.server in outside]
        kept = [key for key in look.keys if key.server in outside]
        if not free or not kept or view.call(free[0]).reached:
            continue
        open_text = own_words(view, free[0])
        for key in kept[:MOST_CALLS]:
            try:
                why = tells_reason(look.bench, key, own_words(view, key), open_text)
            except Inconclusive:
                continue
            of = When(do="call", tool=str(key), agent=agent)
            found.truth(["FR-007.rejection"], of, why, holds=not why, wanted="no reason told")


def unmoved(look: Look, found: Findings) -> None:
    """A step beyond the scope takes no locked tool of its own from an agent."""
    for agent, query, before in look.memory.pop("own before", ()):
        now = _own_locked(look, agent, query)
        of = When(do="discover", query=query, include_disabled=True, limit=SHOW_LIMIT, agent=agent)
        found.truth(["FR-007.before-cap"], of, now, holds=now >= before, counts=before > 0,
                    wanted=f"{before} locked tools of its own, as before")  # fmt: skip
        look.memory.setdefault("own again", []).append((agent, query, before))
    look.memory["own before"] = look.memory.pop("own again", [])


def bytes_kept(look: Look, found: Findings) -> None:
    """A step beyond the scope changes no byte of what an agent is answered."""
    for agent, query, before in look.memory.get("bytes before", ()):
        outside = beyond(look.bench.world, agent)
        locked = any(key.server in outside for key in look.proven)
        for flag, usual in before.items():
            one = look.ask(query, flag=flag, agent=agent, anew=True)
            if one is not None:
                seen = one.answer.reply.exact
                found.truth(["FR-007.non-interference"], one.of, seen == usual,
                            holds=seen == usual, wanted="the bytes of before",
                            counts=locked)  # fmt: skip


def remember(look: Look, agents: Iterable[str]) -> None:
    """What these agents are told now: what comes next lies beyond the scope of each."""
    own, exact = [], []
    for agent in set(agents) & set(look.narrow):
        for query in dict.fromkeys(one["query"] for one in look.bench.world.requests):
            own.append((agent, query, _own_locked(look, agent, query)))
            usual = [_bytes(look, agent, query) for _ in range(2)]
            if usual[0] == usual[1]:
                exact.append((agent, query, usual[0]))
    look.memory["own before"], look.memory["bytes before"] = own, exact


def _bytes(look: Look, agent: str, query: str) -> dict[Any, bytes]:
    told = {flag: look.ask(query, flag=flag, agent=agent, anew=True) for flag in (ABSENT, True)}
    return {flag: one.answer.reply.exact for flag, one in told.items() if one is not None}


def _own_locked(look: Look, agent: str, query: str) -> int:
    one = look.ask(query, flag=True, limit=SHOW_LIMIT, agent=agent, anew=True)
    if one is None or one.answer.error is not None:
        return 0
    outside = beyond(look.bench.world, agent)
    return sum(key.server not in outside for key in one.answer.statuses())


def _telling(look: Look, agent: str) -> list[str]:
    """Queries that reveal something beyond the scope to the administrator."""
    outside = beyond(look.bench.world, agent)
    hidden_keys = [key for key in look.keys if key.server in outside]
    words = [one["query"] for one in look.bench.world.requests if "agent" not in one]
    for key in hidden_keys:
        withheld = is_withheld(look.bench.states[key])
        words.append(key.tool if withheld else look.bench.tools[key].word)
    found = []
    for query in dict.fromkeys(words):
        one = look.ask(query, flag=True, limit=SHOW_LIMIT)
        if one is not None and any(key.server in outside for key in one.answer.statuses()):
            found.append(query)
    return found[-MOST_QUERIES:]


def _names_in(look: Look, agent: str, text: str, query: str) -> list[str]:
    """Servers, words and canaries beyond the scope that stand in a text, less those asked for."""
    world = look.bench.world
    outside = beyond(world, agent)
    wanted = [*outside]
    own = {tool.word for key, tool in look.bench.tools.items() if key.server not in outside}
    for key, tool in look.bench.tools.items():
        if key.server in outside and tool.word not in own:
            wanted += [tool.word, *tool.canaries]
    return sorted({name for name in wanted if name and name in text and name not in query})


def _listing(view: Bench) -> Listing:
    """The agent's listing; an agent that is refused one is shown no server."""
    template = view.surface.listing
    reply = view.tool_call(template.tool, template.arguments, endpoint=template.endpoint)
    if reply.error is not None or reply.is_error:
        return Listing(reply=reply, servers={})
    return read_listing(reply, view.surface.members)
