"""Laws of the counts of locked tools per server, and of the counter of requests with the flag."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from mcp_proxy_conformance.discovery.answer import ServerEntry
from mcp_proxy_conformance.discovery.bench import ABSENT
from mcp_proxy_conformance.discovery.case import When
from mcp_proxy_conformance.discovery.contents import strings
from mcp_proxy_conformance.discovery.counts import (
    KEYS,
    REASONS,
    block,
    integral,
    judged,
    of_users,
    shut,
    states_of,
    tallies_allowed,
    tally,
)
from mcp_proxy_conformance.discovery.laws.look import Findings, Look
from mcp_proxy_conformance.discovery.oracle import counted_as
from mcp_proxy_conformance.discovery.remediation import tells_user_act
from mcp_proxy_conformance.verdict.result import Inconclusive, Misshapen, NotApplicable

LISTING = When(do="list")
SHOWN = 3
"""Allowed tallies that a finding names."""
MOST = 14
"""Tools that may be counted under two words; more would have too many tallies."""


def counts(look: Look, findings: Findings) -> None:
    """Law: each tool is counted once, under a word of its locks; no locks, no block of counts.

    Servers that are on, those that are shut, and the views of single servers are judged; a
    listing without the declared shape is a breach.
    """
    try:
        servers = judged(look.home)
    except (Inconclusive, NotApplicable):
        servers = ()
    try:
        entries = look.home.list().servers
        alive = any(isinstance(entry.counts, dict) and entry.counts for entry in entries.values())
        doubtful = {key.server for key in look.unsure}
        for name in servers:
            if name in entries and name not in doubtful:
                _server(look, findings, entries[name], alive=alive)
        for name in shut(look.bench):
            if name in entries:
                _shut(look, findings, entries[name], alive=alive)
    except Misshapen as error:
        if error.clauses:
            findings.truth(error.clauses, LISTING, str(error), holds=False, wanted="")
        return
    _inspected(look, findings, entries, servers)


def _server(look: Look, findings: Findings, entry: ServerEntry, *, alive: bool) -> None:
    """Judge the counts of an enabled server: none without locks, else integers that fit its locks.

    There may be no zero, no locked tool's name and, under config locks alone, no act of the
    user. `alive`: some server has counts, so that their absence means something.
    """
    states = states_of(look.bench, entry.name)
    if all(state.callable for state in states):
        if any(state.lost for state in states):
            return  # they may count as unknown
        findings.truth(["SC-005.absent"], LISTING, entry.has_counts, counts=alive,
                       holds=not entry.has_counts, wanted="", topic=f"counts of {entry.name}",
                       shows=["SC-005.absent"])  # fmt: skip
        return
    counted = block(entry)
    odd = {
        word: number for word, number in counted.items() if word in KEYS and not integral(number)
    }
    findings.truth(["FR-010.block"], LISTING, odd or counted or None,
                   counts=bool(counted), holds=bool(counted) and not odd,
                   wanted="a block of integers", topic=f"counts of {entry.name}")  # fmt: skip
    unclear = sum(len(counted_as(state)) > 1 for state in states)
    if counted and not odd and unclear <= MOST:
        allowed = tallies_allowed(states)
        observed = tally(entry)
        more = _surplus(look, entry)
        twice = sum(observed.values()) > len(states)
        denied = any(state.config for state in states)
        cited = ["FR-010.sum", *(["SC-003.listing"] if more and denied else [])]
        cited += ["FR-004.once"] if twice else []
        findings.truth(cited, LISTING, observed, holds=observed in allowed,
                       shows=["FR-010.sum", *(["SC-003.listing"] if denied else [])],
                       wanted=_in_words(allowed),
                       topic=f"counts of {entry.name}")  # fmt: skip
    zero = [word for word in REASONS if not counted.get(word, 1)]
    findings.truth(["FR-010.zero-omitted"], LISTING, zero, holds=not zero, counts=bool(counted),
                   wanted="", topic=f"reasons of {entry.name}")  # fmt: skip
    names = [key.tool for key, state in look.bench.states.items() if not state.callable
             and key.server == entry.name and key.tool in json.dumps(counted)]  # fmt: skip
    findings.truth(["FR-010.no-names"], LISTING, names, holds=not names, counts=bool(counted),
                   wanted="", topic=f"counts of {entry.name}")  # fmt: skip
    if all(state.config and not (state.user or state.approval) for state in states
           if not state.callable):  # fmt: skip
        acts = [text for text in strings(counted) if tells_user_act(text)]
        findings.truth(["SC-003.listing"], LISTING, acts, holds=not acts, counts=bool(counted),
                       wanted="", topic=f"texts of {entry.name}")  # fmt: skip


def _shut(look: Look, findings: Findings, entry: ServerEntry, *, alive: bool) -> None:
    """Judge the counts, if any, of a server that is off or in quarantine.

    No callable tool may be counted, no more tools than it has, and under a user's reason no
    more than may have it. `alive`: some server has counts.
    """
    states = states_of(look.bench, entry.name)
    observed = tally(entry)
    callables = observed.get("callable", 0)
    bench, name = look.bench, entry.name
    quarantined = any(key.server == name for key in bench.locked(quarantined=True))
    off = any(key.server == name for key in bench.locked(server_off=True))
    kinds = ["FR-010.quarantined"] if quarantined else []
    kinds += ["FR-010.server-off"] if off else []
    if kinds:
        findings.truth(kinds, LISTING, callables, holds=not callables, counts=alive, wanted="0",
                       topic=f"callable tools of {entry.name}")  # fmt: skip
    numbers = [number for number in observed.values() if integral(number)]
    findings.truth(["FR-004.once"], LISTING, observed, holds=sum(numbers) <= len(states),
                   counts=bool(observed), wanted=f"{len(states)} tools in all",
                   topic=f"counts of {entry.name}")  # fmt: skip
    if any(state.config for state in states):
        findings.truth(["SC-003.listing"], LISTING, observed, counts=bool(observed),
                       holds=not _surplus(look, entry),
                       wanted=f"at most {_in_words([of_users(states)])}",
                       topic=f"reasons of users for {entry.name}")  # fmt: skip


def _in_words(tallies: Iterable[Any]) -> str:
    """Return the first three of the tallies in words, joined by `or`; an empty one is `none`."""
    shown = [
        ", ".join(f"{word}: {number}" for word, number in sorted((tally or {}).items())) or "none"
        for tally in list(tallies)[:SHOWN]
    ]
    return " or ".join(shown)


def _surplus(look: Look, entry: ServerEntry) -> bool:
    """Whether more tools are counted as disabled_by_user or pending_approval than may be."""
    most, tallied = of_users(states_of(look.bench, entry.name)), tally(entry)
    numbers = {word: n for word in most if isinstance(n := tallied.get(word, 0), int)}
    return any(number > most[word] for word, number in numbers.items())


def _inspected(look: Look, findings: Findings, entries: Any, servers: tuple[str, ...]) -> None:
    """Compare the counts in the view of each of these servers with its counts in the listing.

    It does nothing if the target does not declare such views.
    """
    if (
        look.bench.surface.inspect is None
        or "inspect" not in look.bench.started.target.capabilities
    ):
        return
    for name in servers:
        if name in entries:
            view, listed = look.home.inspect(name), entries[name]
            denied = any(state.config for state in states_of(look.bench, name))
            users = ["SC-003.listing"] if denied and _surplus(look, view) else []
            findings.truth(["FR-010.inspect", *users], LISTING, view.counts,
                           shows=["FR-010.inspect"],
                           holds=_numbers(view) == _numbers(listed),
                           counts=listed.has_counts,
                           wanted=_in_words([listed.counts]), topic=f"view of {name}")  # fmt: skip


def _numbers(entry: ServerEntry) -> tuple[bool, Any]:
    """Return (whether the entry has counts, those not zero of `callable` and the reasons).

    Counts that are not an object are returned as sent.
    """
    counts = tally(entry) if isinstance(entry.counts, dict) else entry.counts
    return entry.has_counts, counts


def counter(look: Look, findings: Findings) -> None:
    """Law: the counter grows by one with each request whose flag is true, and with no other.

    The last look judges it; after a restart it must be 0. Raises NotApplicable if no counter is
    declared.
    """
    look.bench.needs("counter")
    read = look.bench.operator.adapter.counter
    if "after restart" in look.memory:
        count = look.memory["after restart"]
        findings.truth(
            ["FR-013.counts"],
            LISTING,
            count,
            holds=count == 0,
            wanted="0",
            topic="counter after a restart",
        )
    if not look.memory["last"]:
        return
    query = look.bench.world.requests[0]["query"] if look.bench.world.requests else "quolvexi"
    readings = [read()]
    for flag, word in ((True, query), (ABSENT, query), (False, query), (True, "quolvexi"),
                       (True, query), (True, query)):  # fmt: skip
        last = look.ask(word, flag=flag, anew=True)
        readings.append(read())
    steps = [after - before for before, after in pairwise(readings)]
    wanted = [1, 0, 0, 1, 1, 1]
    of_all = last.request if last is not None else LISTING
    findings.truth(
        ["FR-013.counts"], of_all, steps, holds=steps == wanted,
        wanted=", ".join(map(str, wanted)), topic="steps of the counter",
    )  # fmt: skip
