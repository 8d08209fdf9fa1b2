"""Table of the laws of discovery (rules for any world after any steps): their judges."""

from __future__ import annotations

from collections.abc import Callable

from mcp_proxy_conformance.discovery.laws import (
    answers,
    calls,
    counts,
    entries,
    scopes,
    silence,
    statuses,
)
from mcp_proxy_conformance.discovery.laws.look import Findings, Look

Judge = Callable[[Look, Findings], None]

LAWS: dict[str, tuple[Judge, ...]] = {
    "accepts": (answers.accepts,),
    "statuses": (statuses.revealed, statuses.by_group, statuses.listed, statuses.follows),
    "steady": (statuses.steady,),
    "once": (answers.once,),
    "cap": (answers.capped,),
    "keys": (answers.keys,),
    "callables": (answers.callables,),
    "unasked": (answers.unasked,),
    "absent is false": (answers.absent_is_false,),
    "silence": (silence.silent,),
    "entries": (entries.members, entries.names, entries.descriptions, entries.canaries),
    "remedies": (entries.texts_of_map,),
    "notes": (silence.noted,),
    "counts": (counts.counts,),
    "counter": (counts.counter,),
    "scope": (scopes.hidden, scopes.listings, scopes.inspections, scopes.unmoved),
    "interference": (scopes.bytes_kept,),
    "refusals": (
        calls.policy, calls.unlike_users, calls.distinct, calls.pointing, calls.while_lost,
    ),
    "calls": (calls.refused, calls.unlifted),
    "schemas": (answers.schemas,),
}  # fmt: skip
"""The functions that judge each law at a target, by its name in `CLAUSES`."""
