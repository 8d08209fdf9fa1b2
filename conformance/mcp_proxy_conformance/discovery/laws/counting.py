"""Laws of the server listing's counts, and of the counter of opt-ins."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

from mcp_proxy_conformance.catalogue.case import When
from mcp_proxy_conformance.discovery.answer import ServerEntry
from mcp_proxy_conformance.discovery.bench import ABSENT
from mcp_proxy_conformance.discovery.counts import (
    KEYS,
    REASONS,
    block,
    integral,
    judged,
    states_of,
    tallies_allowed,
    tally,
)
from mcp_proxy_conformance.discovery.laws.look import Findings, Look
from mcp_proxy_conformance.discovery.locked import strings
from mcp_proxy_conformance.discovery.oracle import counted_as
from mcp_proxy_conformance.discovery.remediation import tells_user_act
from mcp_proxy_conformance.verdict.result import Inconclusive, Misshapen, NotApplicable

LISTING = When(do="list")
USERS = ("disabled_by_user", "pending_approval")
MOST = 14
"""Tools that may be counted under two words; more would have too many tallies."""


def counts(look: Look, found: Findings) -> None:
    """Each tool is counted once under a word of its locks; a callable server has no block."""
    try:
        servers = judged(look.bench)
    except (Inconclusive, NotApplicable):
        servers = ()
    try:
        entries = look.bench.list().servers
        alive = any(isinstance(entry.counts, dict) and entry.counts for entry in entries.values())
        doubtful = {key.server for key in look.unsure}
        for name in servers:
            if name in entries and name not in doubtful:
                _server(look, found, entries[name], alive=alive)
        for name in {key.server for key in look.bench.locked(quarantined=True)} & set(entries):
            callables = block(entries[name]).get("callable", 0)
            found.truth(
                ["FR-010.quarantined"], LISTING, callables, holds=not callables, counts=alive,
                wanted=f"no callable tool of {name}, in quarantine",
            )  # fmt: skip
    except Misshapen as error:
        if error.clauses:
            found.truth(
                error.clauses, LISTING, str(error), holds=False, wanted="a listing as named"
            )
        return
    _inspected(look, found, entries, servers)


def _server(look: Look, found: Findings, entry: ServerEntry, *, alive: bool) -> None:
    states = states_of(look.bench, entry.name)
    if all(state.callable for state in states):
        found.truth(["SC-005.absent"], LISTING, entry.has_counts, counts=alive,
                    holds=not entry.has_counts, wanted=f"no counts of {entry.name}",
                    shows=["SC-005.absent"])  # fmt: skip
        return
    told = block(entry)
    odd = {word: number for word, number in told.items() if word in KEYS and not integral(number)}
    found.truth(["FR-010.block"], LISTING, {"block": bool(told), "odd": odd}, counts=bool(told),
                holds=bool(told) and not odd, wanted=f"integers for {entry.name}")  # fmt: skip
    unclear = sum(len(counted_as(state)) > 1 for state in states)
    if told and not odd and unclear <= MOST:
        allowed = tallies_allowed(states)
        seen = tally(entry)
        more = _surplus(look, entry)
        twice = sum(seen.values()) > len(states)
        denied = any(state.config for state in states)
        cited = ["FR-010.sum", *(["SC-003.listing"] if more and denied else [])]
        cited += ["FR-004.once"] if twice else []
        found.truth(cited, LISTING, seen, holds=seen in allowed,
                    shows=["FR-010.sum", *(["SC-003.listing"] if denied else [])],
                    wanted=f"{' or '.join(map(str, allowed[:3]))} for {entry.name}",
                    topic=f"counts of {entry.name}")  # fmt: skip
    zero = [word for word in REASONS if not told.get(word, 1)]
    found.truth(["FR-010.zero-omitted"], LISTING, zero, holds=not zero, counts=bool(told),
                wanted=f"no reason of 0 for {entry.name}")  # fmt: skip
    names = [key.tool for key, state in look.bench.states.items() if not state.callable
             and key.server == entry.name and key.tool in json.dumps(told)]  # fmt: skip
    found.truth(["FR-010.no-names"], LISTING, names, holds=not names, counts=bool(told),
                wanted=f"no name of a tool in the counts of {entry.name}")  # fmt: skip
    if all(state.config and not (state.user or state.approval) for state in states
           if not state.callable):  # fmt: skip
        acts = [text for text in strings(told) if tells_user_act(text)]
        found.truth(["SC-003.listing"], LISTING, acts, holds=not acts, counts=bool(told),
                    wanted=f"no act of the user for {entry.name}")  # fmt: skip


def _surplus(look: Look, entry: ServerEntry) -> bool:
    """Whether more tools are counted under a user's reason than may have it."""
    states, told = states_of(look.bench, entry.name), tally(entry)
    most = {word: sum(word in counted_as(state) for state in states) for word in USERS}
    numbers = {word: n for word in USERS if isinstance(n := told.get(word, 0), int)}
    return any(number > most[word] for word, number in numbers.items())


def _inspected(look: Look, found: Findings, entries: Any, servers: tuple[str, ...]) -> None:
    """The view of one server shows the block of the listing."""
    if (
        look.bench.surface.inspect is None
        or "inspect" not in look.bench.started.target.capabilities
    ):
        return
    for name in servers:
        if name in entries:
            view, listed = look.bench.inspect(name), entries[name]
            seen = (view.has_counts, view.counts)
            denied = any(state.config for state in states_of(look.bench, name))
            users = ["SC-003.listing"] if denied and _surplus(look, view) else []
            found.truth(["FR-010.inspect", *users], LISTING, seen, shows=["FR-010.inspect"],
                        holds=seen == (listed.has_counts, listed.counts),
                        counts=listed.has_counts,
                        wanted=f"the view of {name} as it is listed")  # fmt: skip


def counter(look: Look, found: Findings) -> None:
    """It grows by one with each request that has the flag, by none with another."""
    look.bench.needs("counter")
    read = look.bench.operator.adapter.counter
    if "after restart" in look.memory:
        seen = look.memory["after restart"]
        found.truth(["FR-013.counts"], LISTING, seen, holds=seen == 0, wanted="0 after a restart")
    if not look.memory["last"]:
        return
    query = look.bench.world.requests[0]["query"] if look.bench.world.requests else "quolvexi"
    told = [read()]
    for flag, word in ((True, query), (ABSENT, query), (False, query), (True, "quolvexi"),
                       (True, query), (True, query)):  # fmt: skip
        of = look.ask(word, flag=flag, anew=True)
        told.append(read())
    steps = [after - before for before, after in pairwise(told)]
    wanted = [1, 0, 0, 1, 1, 1]
    of_all = of.of if of is not None else LISTING
    found.truth(["FR-013.counts"], of_all, steps, holds=steps == wanted, wanted=f"steps {wanted}")
