"""A load laid beside what its case allows: outcomes, attempts, tools, warnings, secrets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from mcp_proxy_conformance.discovery.expectation import Sides
from mcp_proxy_conformance.resilience.load_case import CONTROLS, Expected
from mcp_proxy_conformance.resilience.loading import Loaded, Outcome
from mcp_proxy_conformance.resilience.loads import Load
from mcp_proxy_conformance.resilience.showing import shows
from mcp_proxy_conformance.verdict import Inconclusive, NotApplicable

SIGNATURE = "{signature}"
"""In a case, what the loader declares to take for a timeout in the body of a 403."""
JUDGE_CONTROLS = frozenset({"I1.isolated", "O1.one-each", "O2.word"})
"""Cases of these clauses judge the controls like any other server before they rest on them."""
AGAIN = ("again", "retry", "retri", "starting", "later", "soon", "temporar", "shortly")
ATTENTION = ("attention", "check", "fix", "action", "configur", "repair", "look", "mend")
"""Words that have the sense of the two warnings, or parts of such words."""
FAILED = frozenset({"transient", "permanent", "denied"})
WORDS = FAILED | {"available"}
SPEAKS: Mapping[str, tuple[str, ...]] = {
    "status of": (
        "T1.timeout", "T2.cut", "T3.server-error", "T3.notification", "T4.authorization-timeout",
        "T4.declared", "P1.unknown-name", "P2.refused", "P3.not-found", "P4.malformed",
        "D1.denied", "D2.ambiguous", "I1.isolated", "I3.order", "I5.clears", "N1.request-text",
        "R2.heals", "O3.loaded", "X.",
    ),
    "attempts of": (
        "T1.retried", "T2.retried", "T3.retried", "T4.retried", "T4.declared",
        "P1.unknown-name~once",
        "P2.refused~once", "P3.once", "P4.no-traffic", "D1.once", "D2.once", "O5.bounded",
        "R1.once", "R2.heals", "R3.limit", "R4.stops", "N1.request-text",
    ),
    "word of": ("O2.word",),
    "tools of": ("O3.", "S2.no-tools", "I1.isolated"),
    "outcomes": ("O1.one-each", "I6.none"),
    "the load": ("I4.bounded",),
    "error of": ("O4.",),
    "error beside success of": ("O4.error~null",),
    "lines in the error of": ("O4.error~one-line",),
    "attempts claimed of": ("O6.claimed",),
    "secrets": ("S1.",),
    "sent to": ("S3.",),
    "warnings": ("W1.", "I6.silent"),
    "wording of": ("W1.lines~wording",),
    "again: attempts claimed of": ("O6.claimed",),
    "again: status of": ("I5.clears", "X."),
    "again: tools of": ("I5.clears",),
}  # fmt: skip
"""The beginning of an expectation's path, and of the clauses that it can break."""


def judged(load: Load, *, classifies: bool, warns: bool, claims: bool) -> Sides:
    """What was observed and what is allowed, by path.

    `classifies`, `warns`, `claims`: what the loader declares; the rest is not looked at.

    Raises:
        Inconclusive: A control is not as expected, and the case is not about that.
        NotApplicable: This machine cannot play one of its faults.
    """
    case, sides = load.case, Sides()
    if load.unmet:
        raise NotApplicable("; ".join(load.unmet.values()))
    if any(one.body == SIGNATURE for own in case.given.servers for one in own.script):
        raise NotApplicable("no signature of a timeout is declared")
    sides.truth("the load", "hung" if load.loaded.hung else "ended", holds=not load.loaded.hung,
                wanted="ended within ten times its timeouts and pauses")  # fmt: skip
    if load.loaded.hung:
        if not any(clause.startswith("I4") for clause in case.clauses):
            raise Inconclusive("the load did not come to an end; see I4.bounded")
        return sides
    ids = sorted(one.server_id for one in case.servers())
    told = sorted(one.server_id for one in load.loaded.told.outcomes)
    sides.one_of("outcomes", told, [ids])
    judges_controls = not JUDGE_CONTROLS.isdisjoint(case.clauses)
    if case.given.controls and not judges_controls:
        _controls(load)
    wanted = case.then | (CONTROLS if case.given.controls else {})
    for name, expected in wanted.items():
        outcome = load.loaded.outcome(name)
        if outcome is not None:
            _outcome(sides, load, outcome, expected, classifies=classifies, claims=claims)
        else:
            allowed = _allowed(expected, classifies=classifies)
            sides.one_of(f"status of {name}", "no outcome", allowed)
    _secrets(sides, load)
    _shared(sides, load)
    if warns:
        if any(one.startswith("W1") for one in case.clauses):
            _expect_warnings(load.loaded)
        _warnings(sides, load.loaded)
    for name, expected in (case.again or {}).items():
        _again(sides, load, name, expected, classifies=classifies, claims=claims)
    sides = _cited(sides, case.clauses)
    if case.given.controls and judges_controls and sides.observed == sides.expected:
        _controls(load)
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


def _again(
    sides: Sides, load: Load, name: str, expected: Expected, *, classifies: bool, claims: bool
) -> None:
    second = load.again.outcome(name) if load.again is not None else None
    status = _status(second, classifies=classifies) if second else "no outcome"
    sides.one_of(f"again: status of {name}", status, _allowed(expected, classifies=classifies))
    if second is not None and status != "available":
        sides.one_of(f"again: tools of {name}", second.tools or [], [[]])
    if second is not None and claims and name in load.seen_again:
        path = f"again: attempts claimed of {name}"
        sides.one_of(path, second.attempts, [load.seen_again[name]])


def _controls(load: Load) -> None:
    """One server is loaded and one is not; the class of its failure is for other cases."""
    for name, expected in CONTROLS.items():
        outcome = load.loaded.outcome(name)
        status = _status(outcome, classifies=False) if outcome else "without an outcome"
        if status not in _allowed(expected, classifies=False):
            raise Inconclusive(f"the control server {name} is {status}; see I1.isolated")


def _outcome(
    sides: Sides,
    load: Load,
    outcome: Outcome,
    expected: Expected,
    *,
    classifies: bool,
    claims: bool,
) -> None:
    name, status = outcome.server_id, _status(outcome, classifies=classifies)
    sides.one_of(f"status of {name}", status, _allowed(expected, classifies=classifies))
    if classifies:
        sides.one_of(f"word of {name}", status, WORDS)
    seen, most = load.seen.get(name), load.case.given.max_attempts
    if seen is not None and expected.attempts is not None:
        low, high = expected.attempts.min, min(expected.attempts.max, most)
        sides.truth(f"attempts of {name}", seen, holds=low <= seen <= high,
                    wanted=f"{low} to {high} seen")  # fmt: skip
    if seen is not None and claims:
        told = str(outcome.attempts) if isinstance(outcome.attempts, bool) else outcome.attempts
        sides.one_of(f"attempts claimed of {name}", told, [seen])
    tools = outcome.tools if isinstance(outcome.tools, list) else [outcome.tools or ()]
    tools = [tool for tool in tools if tool != ()]
    listed = expected.tools if status == "available" else ()
    if listed is not None:
        sides.truth(
            f"tools of {name}", tools, holds=_same(tools, listed), wanted=str(sorted(listed))
        )
    said = isinstance(outcome.error, str) and bool(outcome.error.strip())
    if status != "available":
        sides.truth(f"error of {name}", outcome.error, holds=said, wanted="a text")
        lines = str(outcome.error).strip().splitlines()
        sides.truth(f"lines in the error of {name}", lines, holds=len(lines) == 1, wanted="one")
    else:
        sides.one_of(f"error beside success of {name}", outcome.error, [None])


def _status(outcome: Outcome, *, classifies: bool) -> str:
    """The status word; of a loader that does not classify, available or failed."""
    if classifies or outcome.status == "available":
        return str(outcome.status)
    return "failed"


def _allowed(expected: Expected, *, classifies: bool) -> tuple[str, ...]:
    if classifies:
        return expected.status
    return tuple({word if word == "available" else "failed" for word in expected.status})


def _same(told: Iterable[Any], listed: Iterable[str]) -> bool:
    """Whether each tool told is one that was listed, behind the loader's prefix if it has one."""
    names, wanted = [str(one) for one in told], sorted(listed)
    if len(names) != len(wanted):
        return False
    return all(any(name.endswith(one) for name in names) for one in wanted)


def _secrets(sides: Sides, load: Load) -> None:
    if secrets := load.case.given.secrets:
        found = [one for one in secrets if shows(one, load.loaded.line)]
        sides.one_of("secrets in the answer", found, [[]])


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


def _named(server_id: str, text: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(server_id)}(?![\w-])", text) is not None


def _expect_warnings(loaded: Loaded) -> None:
    if not any(loaded.told.warnings.values()):
        raise Inconclusive("a loader that declares warnings has none of servers that failed")


def _warnings(sides: Sides, loaded: Loaded) -> None:
    lines = {word: "\n".join(told) for word, told in loaded.told.warnings.items()}
    by_status = {one.server_id: one.status for one in loaded.told.outcomes}
    transient, permanent = lines.get("transient", ""), lines.get("permanent", "")
    wrong = [
        name
        for name, status in by_status.items()
        if (_named(name, transient) and status in ("permanent", "denied"))
        or (_named(name, permanent) and status == "transient")
    ]
    sides.one_of("warnings of another class", wrong, [[]])
    silent = not any(lines.values()) or any(status in FAILED for status in by_status.values())
    sides.truth("warnings", lines, holds=silent, wanted="none where nothing failed")
    for text, sense in ((transient, AGAIN), (permanent, ATTENTION)):
        said = not text or any(word in text.lower() for word in sense)
        sides.truth(f"wording of {text!r}", said, holds=said, wanted=f"one of {sense}")
    if transient and permanent:
        bare = [sorted(_wording(text, by_status)) for text in (transient, permanent)]
        differ = bare[0] != bare[1]
        sides.truth("warnings of both classes", bare, holds=differ, wanted="lines that differ")


def _wording(text: str, names: Iterable[str]) -> set[str]:
    """What is left of lines without names, numbers and the marks of lists."""
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, "")
    return {re.sub(r"[\s\d,;:.()\[\]{}'\"]", "", line) for line in text.splitlines()}
