"""Faults that change what default output was, in both forms of the flag alike: SC-001, SC-005."""

import json
from typing import Any

from mcp_proxy_mutants.proxy.mutant import Mutant, mutant
from mcp_proxy_mutants.proxy.wrapping import Request
from mcp_proxy_reference.facts import Facts, Json, Match
from mcp_proxy_reference.policy import callable_entry, note
from mcp_proxy_reference.tools import render

SCORE = 3


def _escaped(document: Json) -> str:
    return render(document).replace("/", r"\/")


def _pretty(document: Json) -> str:
    return json.dumps(document, ensure_ascii=False, indent=1)


def _versioned(document: Json, request: Request) -> Json:
    return document if request.flag else {"version": 2, **document}


def _rounded(hit: Match) -> Json:
    entry = callable_entry(hit)
    return entry | {"score": round(entry["score"], SCORE)}


def _locks_told(entry: Json, tools: Any) -> Json:
    return entry | {"locked": sum(not _free(facts) for facts in tools)}


def _free(facts: Facts) -> bool:
    return not (facts.denied or facts.disabled_by_user)


def _reworded(flag: bool, callables: int, locked: Any) -> str | None:
    told = note(flag, callables, locked)
    return f"Nothing callable: {told}" if told else None


MUTANTS: tuple[Mutant, ...] = (
    mutant("answers-in-a-newer-format", "Every default answer begins with the number of a format.",
           "SC-001.baseline", answer=_versioned),
    mutant("answers-spread-over-lines", "Answers are spread over lines for people to read.",
           "SC-001.baseline", "SC-005.baseline", render=_pretty),
    mutant("slashes-escaped", "Slashes are escaped in all answers.",
           "SC-005.baseline", render=_escaped),
    mutant("entries-tell-their-locks", "Every server's entry tells how many tools are locked.",
           "SC-005.baseline", server_entry=_locks_told),
    mutant("scores-rounded-anew", "Scores have fewer decimals than in the build before.",
           "SUITE.changed", callable_entry=_rounded),
    mutant("note-worded-anew", "The note has other words than in the build before.",
           "SUITE.changed", note=_reworded),
)  # fmt: skip
