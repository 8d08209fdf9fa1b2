"""Removal controls of loaders: if no server fails in a clause's way, the clause may not pass."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcp_proxy_conformance.catalogue.requirement import catalogue, profile
from mcp_proxy_conformance.resilience import loads
from mcp_proxy_conformance.resilience.loader_description import OF_LOADERS
from mcp_proxy_conformance.resilience.loader_target import embedded_target
from mcp_proxy_conformance.run.request import Selection
from mcp_proxy_conformance.selftest.trial import trial, tried
from mcp_proxy_mutants.resilience.changed import ChangedLoad

CLAUSES = [
    clause
    for clause in (catalogue().clause(clause_id) for clause_id in profile("resilience").clauses)
    if clause.asked_by is None
]
PATIENCE = 0.2
AS_IT_IS = ChangedLoad(id="as it is", text="Nothing is changed.")
Script = dict[str, Any]


def ids(*prefixes: str) -> frozenset[str]:
    """Return the clauses of resilience whose ids begin with one of these prefixes.

    Clauses that only --soak or a baseline asks are left out.
    """
    return frozenset(clause.id for clause in CLAUSES if clause.id.startswith(prefixes))


def healthy(*words: str, codes: tuple[int, ...] = ()) -> Callable[[Script], Script]:
    """Return a function that makes some behaviours of a server's script healthy.

    They are those of these words (`do`) or HTTP status codes.
    """

    def played(script: Script) -> Script:
        """Return a copy of the script with those behaviours replaced by healthy ones."""
        steps = [
            {"do": "healthy"}
            if step["do"] in (*words, "refuses") or step.get("code") in codes
            else step
            for step in script["script"]
        ]
        return script | {"script": steps}

    return played


REMOVED: dict[str, tuple[Callable[[Script], Script], frozenset[str]]] = {
    "silence": (
        healthy("silence", "chatter", "slow", "backlog", "status", "close", "cut_sse"), ids("T1"),
    ),
    "cut connections": (
        healthy("reset", "close", "cut_json", "cut_sse", "status", "silence"), ids("T2"),
    ),
    "errors of servers": (healthy("status"), ids("T3", "T4", "D1", "D2", "P3", "X.other")),
    "refused connections": (healthy("refused", "refused_at_first", "status"), ids("P2", "P3")),
    "what cannot be connected to": (
        healthy("malformed", "stdio_missing", "unresolvable"), ids("P4.malformed", "P1"),
    ),
    "tools": (
        lambda script: script | {"tools": [], "gone": []},
        ids("O3.own-tools", "O3.loaded~pages"),
    ),
}  # fmt: skip
"""The replacement of a server's behaviour, and the clauses that are left without an observation."""


@pytest.mark.timeout(400)
@pytest.mark.proof(parts=6)
@pytest.mark.parametrize("subject", REMOVED)
def test_nothing_is_said_to_hold_of_what_no_server_did(
    subject: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one kind of failure removed from all servers, no clause about that kind passes."""
    played, clauses = REMOVED[subject]
    script = loads.scripted
    monkeypatch.setattr(loads, "scripted", lambda server: played(script(server)))
    target = embedded_target(AS_IT_IS, patience=PATIENCE)

    verdicts = tried(
        trial(target, Selection(clauses=clauses), profile="resilience", examples=0), tmp_path
    )

    assert sorted(clauses.intersection(verdicts.clauses_passed)) == []


@pytest.mark.usefixtures("few_scenarios")
@pytest.mark.parametrize("word", sorted({word for row in CLAUSES for word in row.capability}))
def test_what_a_loader_does_not_declare_does_not_apply(word: str, tmp_path: Path) -> None:
    """If a loader does not declare a capability, each clause that needs it is not applicable."""
    assert word in OF_LOADERS
    own = frozenset(row.id for row in CLAUSES if word in row.capability)
    target = embedded_target(AS_IT_IS, [word], patience=PATIENCE)

    verdicts = tried(trial(target, Selection(clauses=own), profile="resilience"), tmp_path)

    assert {name: verdicts.clauses[name] for name in own} == dict.fromkeys(own, "not_applicable")
