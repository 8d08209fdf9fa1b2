"""A load laid beside what its case allows: outcomes, attempts, tools, warnings, secrets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from mcp_proxy_conformance.discovery.expectation import Sides
from mcp_proxy_conformance.resilience.controls import LoadOf, allowed, basis, status_of
from mcp_proxy_conformance.resilience.declared import are_tools_of
from mcp_proxy_conformance.resilience.load_case import CONTROLS, Expected
from mcp_proxy_conformance.resilience.loading import Outcome
from mcp_proxy_conformance.resilience.loads import Load
from mcp_proxy_conformance.resilience.showing import shows
from mcp_proxy_conformance.resilience.warnings import WORDS, warnings
from mcp_proxy_conformance.verdict import Inconclusive, NotApplicable

DIRECT = frozenset({"O1.one-each", "O2.word"})
"""Of these clauses the controls are judged like any other server before a case rests on them."""
SPEAKS: Mapping[str, tuple[str, ...]] = {
    "status of": (
        "T1.timeout", "T2.cut", "T3.server-error", "T3.notification", "T4.authorization-timeout",
        "T4.declared", "P1.unknown-name", "P2.refused", "P3.not-found", "P4.malformed",
        "D1.denied", "D2.ambiguous", "I1.isolated", "I3.order", "I5.clears", "N1.request-text",
        "R2.heals", "O3.loaded", "N2.", "X.",
    ),
    "attempts of": (
        "T1.retried", "T2.retried", "T3.retried", "T4.retried", "T4.declared",
        "P1.unknown-name~once",
        "P2.refused~once", "P3.once", "P4.no-traffic", "D1.once", "D2.once", "O5.bounded",
        "R1.once", "R2.heals", "R3.limit", "R4.stops", "N1.request-text",
    ),
    "beside others": ("I1.isolated",),
    "tools of": ("O3.", "S2.no-tools", "I1.isolated"),
    "word of": ("O2.word",),
    "no tools of": ("O3.no-tools", "S2.no-tools"),
    "outcomes": ("O1.one-each", "I6.none"),
    "the load": ("I4.bounded",),
    "error of": ("O4.",),
    "no error of": ("O4.error~null",),
    "lines of": ("O4.error~one-line",),
    "quoted by": ("S1.secrets~server-text",),
    "attempts claimed of": ("O6.claimed",),
    "secrets": ("S1.",),
    "sent to": ("S3.",),
    "warnings": ("W1.", "I6.silent"),
    "wording of": ("W1.lines~wording",),
    "again: attempts claimed of": ("O6.claimed",),
    "again: status of": ("I5.clears", "X."),
    "again: tools of": ("I5.clears",),
    "again: as before": ("X.",),
}  # fmt: skip
"""The beginning of an expectation's path, and of the clauses that it can break."""
OF_ANY_FAILED = (
    "word of",
    "no tools of",
    "outcomes",
    "the load",
    "error of",
    "lines of",
    "quoted",
    "secrets",
)
"""Paths that are judged where a server may have been failed by another."""
LONG_WORD = 9
"""Letters of a word that an error holds by chance no more."""


def judged(
    load: Load,
    load_of: LoadOf,
    *,
    classifies: bool,
    warns: bool,
    claims: bool,
    prefix: str = "",
) -> Sides:
    """What was observed and what is allowed, by path.

    `load_of` gives further loads, see `basis`. `classifies`, `warns`, `claims`: what the loader
    declares; the rest is not looked at. `prefix`: what it declares to put before names of tools.

    Raises:
        Inconclusive: Nothing shows that the observation means anything.
        NotApplicable: This machine cannot play one of its faults.
    """
    sides_of = partial(_sides, classifies=classifies, warns=warns, claims=claims, prefix=prefix)
    direct = DIRECT.intersection(load.case.clauses)
    if direct and not load.unmet and not load.loaded.hung:
        sides = _cited(sides_of(load), direct)
        if sides.observed != sides.expected:
            return sides
    chosen = basis(load, load_of, classifies=classifies)
    clauses = chosen.load.case.clauses
    sides = sides_of(chosen.load)
    return _cited(sides if chosen.apart else _beside(sides, clauses), clauses)


def _sides(load: Load, *, classifies: bool, warns: bool, claims: bool, prefix: str) -> Sides:
    case, sides = load.case, Sides()
    sides.truth("the load", "hung" if load.loaded.hung else "ended", holds=not load.loaded.hung,
                wanted="ended within ten times its timeouts and pauses")  # fmt: skip
    if load.loaded.hung:
        return sides
    ids = sorted(one.server_id for one in case.servers())
    told = sorted(one.server_id for one in load.loaded.told.outcomes)
    sides.one_of("outcomes", told, [ids])
    wanted = case.then | (CONTROLS if case.given.controls else {})
    for name, expected in wanted.items():
        outcome = load.loaded.outcome(name)
        if outcome is None:
            due = allowed(expected, classifies=classifies)
            sides.one_of(f"status of {name}", status_of(None, classifies=classifies), due)
        else:
            says = {"classifies": classifies, "claims": claims}
            _outcome(sides, load, outcome, expected, prefix=prefix, **says)
    _secrets(sides, load)
    _shared(sides, load)
    if warns:
        warnings(sides, load)
    for name, expected in (case.again or {}).items():
        _again(sides, load, name, expected, classifies=classifies, claims=claims)
    return sides


def spoken_against(path: str) -> tuple[str, ...]:
    """The beginnings of the clauses that a difference at that path can break."""
    return tuple(one for topic in SPEAKS if path.startswith(topic) for one in SPEAKS[topic])


def _cited(sides: Sides, clauses: Iterable[str]) -> Sides:
    """What bears on one of these clauses; the rest is judged by the cases of other ones."""
    cited = tuple(clauses)
    kept = [p for p in sides.expected if any(c.startswith(spoken_against(p)) for c in cited)]
    if not kept:
        raise NotApplicable("what the case looks at is not declared by this loader")
    return Sides({p: sides.observed[p] for p in kept}, {p: sides.expected[p] for p in kept})


def _beside(sides: Sides, clauses: Iterable[str]) -> Sides:
    """What can be judged where a server may have been failed by another: each clause, or nothing.

    The rest speaks of isolation alone.
    """
    names = {p: p if p.startswith(OF_ANY_FAILED) else f"beside others: {p}" for p in sides.expected}
    spoken = tuple(one for path in names.values() for one in spoken_against(path))
    if "I1.isolated" not in clauses and not all(one.startswith(spoken) for one in clauses):
        raise Inconclusive("a server is failed by another that fails; see I1.isolated")
    return Sides(
        {names[path]: seen for path, seen in sides.observed.items()},
        {names[path]: wanted for path, wanted in sides.expected.items()},
    )


def _again(
    sides: Sides, load: Load, name: str, expected: Expected, *, classifies: bool, claims: bool
) -> None:
    second = load.again.outcome(name) if load.again is not None else None
    status = status_of(second, classifies=classifies)
    sides.one_of(f"again: status of {name}", status, allowed(expected, classifies=classifies))
    if any(clause.startswith("X.") for clause in load.case.clauses):
        before = status_of(load.loaded.outcome(name), classifies=classifies)
        sides.one_of(f"again: as before, {name}", status, [before])
    if second is not None and status != "available":
        sides.one_of(f"again: tools of {name}", second.tools or [], [[]])
    if second is not None and claims and name in load.seen_again:
        path = f"again: attempts claimed of {name}"
        sides.one_of(path, second.attempts, [load.seen_again[name]])


def _outcome(
    sides: Sides,
    load: Load,
    outcome: Outcome,
    expected: Expected,
    *,
    classifies: bool,
    claims: bool,
    prefix: str,
) -> None:
    name, status = outcome.server_id, status_of(outcome, classifies=classifies)
    sides.one_of(f"status of {name}", status, allowed(expected, classifies=classifies))
    if classifies:
        sides.one_of(f"word of {name}", outcome.status, WORDS)
    seen, most = load.seen.get(name), load.case.given.max_attempts
    if seen is not None and expected.attempts is not None:
        low, high = expected.attempts.min, min(expected.attempts.max, most)
        sides.truth(f"attempts of {name}", seen, holds=low <= seen <= high,
                    wanted=f"{low} to {high} seen")  # fmt: skip
    if seen is not None and claims:
        told = str(outcome.attempts) if isinstance(outcome.attempts, bool) else outcome.attempts
        sides.one_of(f"attempts claimed of {name}", told, [seen])
    tools = _listed(outcome.tools)
    if status != "available":
        sides.one_of(f"no tools of {name}", tools, [[]])
        _error(sides, load, outcome)
        return
    sides.one_of(f"no error of {name}", outcome.error, [None])
    if (listed := expected.tools) is not None:
        holds = are_tools_of(name, tools, listed, prefix)
        sides.truth(f"tools of {name}", tools, holds=holds, wanted=str(sorted(listed)))


def _listed(told: Any) -> list[Any]:
    """The tools told; what is no list and not empty counts as one."""
    if isinstance(told, list):
        return told
    return [told] if told else []


def _error(sides: Sides, load: Load, outcome: Outcome) -> None:
    name, told = outcome.server_id, outcome.error
    said = isinstance(told, str) and bool(told.strip())
    sides.truth(f"error of {name}", told, holds=said, wanted="a text")
    if not said:
        return
    lines = len(told.strip().splitlines())
    sides.truth(f"lines of the error of {name}", told, holds=lines == 1, wanted="one line")
    sent = next((one.script for one in load.case.servers() if one.server_id == name), ())
    words = {word for one in sent for word in (one.body or "").split() if len(word) >= LONG_WORD}
    sides.one_of(f"quoted by the error of {name}", sorted(w for w in words if w in told), [[]])


def _secrets(sides: Sides, load: Load) -> None:
    _expect_handed_on(load)
    if secrets := load.case.given.secrets:
        found = [one for one in secrets if shows(one, load.loaded.line)]
        sides.one_of("secrets in the answer", found, [[]])


def _expect_handed_on(load: Load) -> None:
    """The loader used what it was given: a request that was seen holds the header or the query."""
    if "S1.secrets" not in load.case.clauses:
        return
    for one in load.case.given.servers:
        asked = [seen for seen in load.servers.log(one.server_id) if seen.verb]
        sent = " ".join(f"{seen.path} {seen.authorization}" for seen in asked)
        held = [secret for secret in load.case.given.secrets if secret in sent]
        if load.case.given.secrets and asked and not held and not one.userinfo:
            raise Inconclusive(f"the secret handed over with {one.server_id} was never sent to it")


def _shared(sides: Sides, load: Load) -> None:
    """Cookies and session ids of one server in the requests to another (S3)."""
    names = [one.server_id for one in load.case.servers()]
    for owner in names:
        token = load.servers.token(owner)
        for other in names:
            if other != owner:
                told = any(token in one for one in _sent(load, other))
                sides.one_of(f"sent to {other}: what {owner} gave", told, [False])


def _sent(load: Load, server_id: str) -> Iterator[str]:
    for seen in load.servers.log(server_id):
        yield f"{seen.cookie or ''} {seen.session or ''}"
