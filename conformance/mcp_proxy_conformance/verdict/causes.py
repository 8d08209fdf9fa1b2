"""Root causes of a run's failures: results grouped by a shared clause, lock, text or reason."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import msgspec

from mcp_proxy_conformance.catalogue.requirement import UnknownClause, catalogue
from mcp_proxy_conformance.catalogue.surface import FLAG, STATUSES
from mcp_proxy_conformance.verdict.result import ClauseVerdict, Finding, Lack, Result, Verdict

Rule = Literal[
    "never_revealed",
    "taken_for",
    "same_state",
    "same_text",
    "same_origin",
    "same_clause",
    "same_reason",
    "alone",
]
"""Why results belong to one cause; each word is explained by the function of its name."""
LOCK_OF: Mapping[str, str] = {
    "FR-001.reveals-config": "config",
    "FR-001.reveals-user": "user",
    "FR-001.reveals-pending": "pending",
    "FR-001.reveals-changed": "changed",
    "FR-001.reveals-quarantined": "quarantined",
}
"""The lock under which the flag must reveal a tool, by the clause that says so."""
LOCKED_BY: Mapping[str, str] = {
    "config": "that the operator's config denies",
    "user": "that the user disabled",
    "pending": "that awaits approval",
    "changed": "that has changed since its approval",
    "quarantined": "of a quarantined server",
    "server_off": "of a server that is switched off",
}
"""The lock on a tool, in words."""
STATUS_OF: Mapping[str, str] = {
    "disabled_by_config": "denied by config",
    "disabled_by_user": "disabled by the user",
    "pending_approval": "waiting for approval",
    "server_disabled": "on a server that is off",
    "server_quarantined": "on a quarantined server",
    "disabled_unknown": "locked for an unknown reason",
}
"""The lock that a status names, in words."""
OF_REVEALED = ("FR-001", "FR-003", "FR-004", "FR-005", "FR-006", "FR-007", "SC-002")
"""Requirements on what the flag reveals: a tool that it never reveals can meet none of them."""
MOST_STATES = 4
"""Combinations of locks that a sentence names."""
MOST_ACTS = 2
"""Acts that a sentence names."""
MOST_LACKS = 3
"""Things that an open result lacks that a sentence names, and tools of one."""
LEAST_TEXT = 12
"""Characters of an observed text that two clauses do not share by chance."""


class RootCause(msgspec.Struct, frozen=True, kw_only=True):
    """A cause of failures: one thing to mend, and all that follows from it.

    `id` is the same in every run that shows the cause. `sentence` says what is wrong with the
    target, `why` what its results have in common, by the `rule`; `mend` what to do first. `clause`
    is the clause to look at first, `breaks` are all broken ones, `leaves_open` those that cannot be
    settled before; `results` and `open_results` are the names of the results with these verdicts,
    the one to look at first before the others. `waived`: deviations excuse all of its failures.
    """

    id: str
    verdict: Verdict
    sentence: str
    rule: Rule
    why: str
    mend: str = ""
    clause: str
    breaks: tuple[str, ...] = ()
    leaves_open: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    open_results: tuple[str, ...] = ()
    waived: bool = False


@dataclass(frozen=True, slots=True)
class _Item:
    """One finding of a failed result, or of one without findings the failure itself."""

    result: Result
    finding: Finding

    @property
    def clauses(self) -> AbstractSet[str]:
        """The clauses that the finding breaks."""
        return frozenset(self.finding.clauses)

    @property
    def states(self) -> AbstractSet[tuple[str, ...]]:
        """The known states of the tools or servers that it is about."""
        return frozenset(matter.state for matter in self.finding.about if matter.state)


@dataclass(slots=True)
class _Group:
    """Findings of one cause; `first` is the clause to look at first, if the rule knows it."""

    id: str
    rule: Rule
    why: str
    items: list[_Item]
    sentence: str = ""
    mend: str = ""
    first: str = ""
    lock: str = ""
    opens: list[Result] = field(default_factory=list)

    @property
    def clauses(self) -> Counter[str]:
        """The number of results that break each of its clauses."""
        pairs = {(item.result.name, clause) for item in self.items for clause in item.clauses}
        return Counter(clause for _, clause in pairs)

    @property
    def states(self) -> frozenset[tuple[str, ...]]:
        """The known states of the tools or servers that its findings are about."""
        return frozenset(state for item in self.items for state in item.states)

    @property
    def origins(self) -> frozenset[str]:
        """The acts that its findings are observations of, as far as they are named."""
        return frozenset(item.finding.origin for item in self.items) - {""}


def causes(clauses: Sequence[ClauseVerdict], results: Sequence[Result]) -> list[RootCause]:
    """Return the causes of all failed, broken and open results that count, gravest first.

    Required results count, and those that blame the suite. A result is under each cause of one
    of its findings; causes of errors, then of open results, come last.
    """
    order = {clause.id: number for number, clause in enumerate(clauses)}
    firm = [result for result in results if result.level == "required" or result.blame == "suite"]
    failed = [result for result in firm if result.verdict in ("fail", "waived")]
    rest = [item for result in failed for item in _items(result)]
    groups: list[_Group] = []
    for rule in (never_revealed, taken_for):
        fresh, rest = rule(rest, results)
        groups += fresh
    rest = _joined(groups, rest)
    groups += same_origin(same_text(same_state(by_clause(rest, order))))
    opens = [result for result in firm if result.verdict == "inconclusive"]
    unsettled = follow(groups, opens)
    verdicts = {clause.id: clause.verdict for clause in clauses}
    of_groups = [_of_group(group, order, verdicts) for group in groups]
    of_groups.sort(key=partial(_gravity, order))
    errors = [result for result in firm if result.verdict == "error"]
    return _numbered([*of_groups, *same_reason(errors), *same_reason(unsettled)])


def _gravity(order: Mapping[str, int], cause: RootCause) -> tuple[bool, int, int, int]:
    """Return the sort key of a cause, the gravest first and waived ones last.

    Its parts: waived; minus the number of clauses that it breaks or leaves open; minus that of
    its failed and open results; the number of its first clause in `order`.
    """
    clauses, results = (*cause.breaks, *cause.leaves_open), (*cause.results, *cause.open_results)
    return cause.waived, -len(clauses), -len(results), order.get(cause.clause, 0)


def _items(result: Result) -> Iterator[_Item]:
    for finding in result.findings or (Finding(path="", clauses=result.clauses),):
        yield _Item(result, finding)


# -- rules ----------------------------------------------------------------------------------


def never_revealed(
    items: Sequence[_Item], results: Sequence[Result]
) -> tuple[list[_Group], list[_Item]]:
    """Return (groups about tools under a lock that the flag never reveals, other findings).

    There is one group for each such lock. The lock's clause in LOCK_OF is broken for a tool under
    that lock alone, or of unknown locks, and no result observed it to hold. Findings about tools
    with further locks belong to the group too, unless they show a status.
    """
    held = {clause for result in results for clause in result.observed}
    groups, rest = list[_Group](), list(items)
    broken = Counter(clause for item in items for clause in item.clauses & LOCK_OF.keys())
    hidden = [
        clause
        for clause in LOCK_OF
        if clause not in held
        and any(
            (clause in item.clauses and (not item.states or (LOCK_OF[clause],) in item.states))
            for item in items
        )
    ]
    for clause in sorted(hidden, key=lambda clause: -broken[clause]):
        lock = LOCK_OF[clause]
        own, rest = _parted(rest, partial(_is_of_hidden, lock=lock, clause=clause))
        if own:
            tools = {matter.name for item in own for matter in item.finding.about}
            number = f"; none of {len(tools)} was revealed" if len(tools) > 1 else ""
            groups.append(_Group(
                id=f"{lock}-never-revealed", rule="never_revealed", items=own, first=clause,
                lock=lock,
                sentence=f"A tool {LOCKED_BY[lock]} is never revealed by {FLAG}.",
                why=f"All of these look in answers for tools {LOCKED_BY[lock]}{number}.",
                mend=f"First reveal tools {LOCKED_BY[lock]}, then run again: what else fails"
                " follows from it, or can then be seen.",
            ))  # fmt: skip
    return groups, rest


def _parted(
    items: Sequence[_Item], belongs: Callable[[_Item], bool]
) -> tuple[list[_Item], list[_Item]]:
    own, rest = list[_Item](), list[_Item]()
    for item in items:
        (own if belongs(item) else rest).append(item)
    return own, rest


def _breaks(item: _Item, clause: str) -> bool:
    return clause in item.clauses or not item.clauses


def _is_of_hidden(item: _Item, lock: str, clause: str) -> bool:
    """Whether a finding is the absence of tools that all have this lock, which is never revealed.

    It breaks a requirement on revealed tools and observed no status; if the tools' locks are
    unknown, it breaks `clause`, which is that of the lock, and no other.
    """
    if not item.states:
        return item.clauses == {clause}
    on_revealed = any(broken.startswith(OF_REVEALED) for broken in item.clauses)
    shown = isinstance(item.finding.observed, str) and item.finding.observed in STATUSES
    return on_revealed and not shown and all(lock in state for state in item.states)


def taken_for(
    items: Sequence[_Item], results: Sequence[Result]
) -> tuple[list[_Group], list[_Item]]:
    """Return (groups that each show one lock named in the place of the due one, other findings).

    There is one group for each pair of statuses (due, named). A finding shows such a pair by a
    status, by counts, or by a refusal. `results` is not used.
    """
    del results
    groups: dict[tuple[str, str], _Group] = {}
    rest = []
    for item in items:
        pair = confusion(item.finding)
        if pair is None:
            rest.append(item)
            continue
        due, named = pair
        if pair not in groups:
            groups[pair] = _Group(
                id=f"{named}-before-{due}", rule="taken_for", items=[],
                why=f"All of these show {named} where {due} is due.",
                mend=f"Give {due}, not {named}, as the reason: in entries, refusals and counts.",
            )  # fmt: skip
        groups[pair].items.append(item)
    for (due, named), group in groups.items():
        several = bool(group.states) and all(len(state) > 1 for state in group.states)
        also = ", and locked otherwise too," if several else ""
        group.sentence = (
            f"A tool that is {STATUS_OF[due]}{also} is presented as {STATUS_OF[named]}."
        )
        states = sorted({" + ".join(state) for state in group.states})[:MOST_STATES]
        group.why += f" Tools under these locks are among them: {', '.join(states)}." * bool(states)
    return list(groups.values()), rest


def confusion(finding: Finding) -> tuple[str, str] | None:
    """Return (status that is due, status named in its place); None if a finding shows no such pair.

    The pair is in the finding's own members, or two counts of which one is too low and one too
    high, or two statuses.
    """
    if finding.due and finding.taken_for:
        return finding.due, finding.taken_for
    allowed, observed = finding.allowed, finding.observed
    if isinstance(allowed, Mapping) and isinstance(observed, Mapping):
        pairs = {word: (_number(observed, word), _number(allowed, word)) for word in STATUSES}
        few = [word for word, (seen, due) in pairs.items() if seen[1] < due[0]]
        more = [word for word, (seen, due) in pairs.items() if seen[0] > due[1]]
        return (few[0], more[0]) if len(few) == len(more) == 1 else None
    one = isinstance(allowed, str) and isinstance(observed, str) and allowed != observed
    return (allowed, observed) if one and {allowed, observed} <= {*STATUSES} else None


def _number(counts: Mapping[str, Any], word: str) -> tuple[int, int]:
    """Return (least, greatest) count that `counts` has for a word, as a number or list of choices.

    (0, 0) without the word, or without an integer.
    """
    value = counts.get(word, 0)
    numbers = [n for n in (value if isinstance(value, list) else [value]) if isinstance(n, int)]
    return (min(numbers), max(numbers)) if numbers else (0, 0)


def by_clause(items: Sequence[_Item], order: Mapping[str, int]) -> list[_Group]:
    """Group findings by the clause that most results break, then those left over in the same way.

    A finding joins the first group whose clause it breaks, and one without clauses the first of
    all. Ties are broken by `order`, the places of clauses in the profile.
    """
    groups, rest = list[_Group](), list(items)
    while rest:
        pairs = {(item.result.name, clause) for item in rest for clause in item.clauses}
        counts = Counter(clause for _, clause in pairs)
        first = min(counts, key=lambda clause: (-counts[clause], order.get(clause, 0)), default="")
        own, rest = _parted(rest, partial(_breaks, clause=first))
        number = len({item.result.name for item in own})
        further = len({clause for item in own for clause in item.clauses}) - 1
        why = "It is the only such failure." if number == 1 else "All of these break that clause"
        if number > 1:
            why += "; what else they break is the same observation." if further else "."
        rule: Rule = "same_clause" if number > 1 else "alone"
        groups.append(_Group(id=first or "failure", rule=rule, items=own, first=first, why=why))
    return groups


def same_state(groups: Sequence[_Group]) -> list[_Group]:
    """Return the groups; each about things in the same state as an earlier one is joined into it.

    Groups of tools are joined if they break one requirement and know one and the same set of locks;
    those of servers if they break one requirement, or one's states are among the other's.
    """
    merged: list[_Group] = []
    for group in groups:
        first = next((other for other in merged if _in_one_state(other, group)), None)
        if first is None:
            merged.append(group)
        else:
            first.items += group.items
            first.rule, first.why = "same_state", f"All of these are about {_in_words(first)}."
    return merged


def _in_one_state(first: _Group, second: _Group) -> bool:
    """Whether two groups are about things in the same state; False if one knows no state.

    For tools, both must break the same single requirement (the part of a clause's id before the
    dot) and all findings must be about one and the same set of locks; for servers, one requirement
    is enough, or that one group's states include the other's.
    """
    own = [{clause.partition(".")[0] for clause in group.clauses} for group in (first, second)]
    alike = own[0] == own[1] and len(own[0]) == 1
    if not (first.states and second.states):
        return False
    if {word for state in first.states | second.states for word in state} <= LOCKED_BY.keys():
        known = all(item.states for item in (*first.items, *second.items))
        return known and alike and first.states == second.states and len(first.states) == 1
    return alike or first.states <= second.states or second.states <= first.states


def _in_words(group: _Group) -> str:
    """Return up to four states of a group in words: of tools by locks, of servers by behaviours."""
    states = sorted(group.states, key=lambda state: (len(state), state))[:MOST_STATES]
    if {word for state in states for word in state} <= LOCKED_BY.keys():
        return " or ".join(f"tools {' and '.join(LOCKED_BY[w] for w in state)}" for state in states)
    return f"servers of one kind, such as: {'; '.join(', then '.join(s) for s in states)}"


def same_text(groups: Sequence[_Group]) -> list[_Group]:
    """Return the groups; those whose findings all observed one text are joined into the first.

    A text of under 12 characters joins nothing.
    """
    return _merged(groups, "same_text", _text_key, lambda _: (
        "All of these observed the same text of the target."
    ))  # fmt: skip


def _text_key(group: _Group) -> object:
    """Return the text, of 12 characters or more, that all of a group's findings observed.

    None if they observed several texts, a shorter one, or another value.
    """
    texts = {_text(item.finding.observed) for item in group.items}
    text = texts.pop() if len(texts) == 1 else ""
    return text if len(text) >= LEAST_TEXT else None


def _text(value: object) -> str:
    if isinstance(value, list) and len(value) == 1:
        (value,) = value
    return value if isinstance(value, str) else ""


def same_origin(groups: Sequence[_Group]) -> list[_Group]:
    """Return the groups; those whose findings observed one and the same act become one.

    Acts are named by the `origin` of findings. Groups that share one with a third group are joined
    through it. The first of joined groups is changed in place and keeps its position.
    """
    merged: list[_Group] = []
    for group in groups:
        first, *others = [*(each for each in merged if each.origins & group.origins), group]
        if first is group:
            merged.append(group)
            continue
        acts = ", ".join(sorted(first.origins & group.origins)[:MOST_ACTS])
        first.rule, first.why = "same_origin", f"All of these were observed in one act: {acts}."
        for other in others:
            first.items += other.items
        merged = [each for each in merged if not any(each is other for other in others)]
    return merged


def _merged(
    groups: Sequence[_Group], rule: Rule, key: Callable[[_Group], object],
    why: Callable[[_Group], str],
) -> list[_Group]:  # fmt: skip
    """Return the groups, those with an equal `key(group)` joined, in place, into the first.

    A group whose key is None stays alone. A joined group gets the rule, and `why(group)` as its
    reason.
    """
    by_key: dict[object, _Group] = {}
    merged = []
    for group in groups:
        own = key(group)
        first = by_key.setdefault(own, group) if own is not None else group
        if first is group:
            merged.append(group)
        else:
            first.items += group.items
            first.rule, first.why = rule, why(first)
    return merged


def _joined(groups: Sequence[_Group], items: Sequence[_Item]) -> list[_Item]:
    """Add each finding, in place, to the group that breaks all its clauses; return the others.

    Those are findings that no group fits, or several. The group must also know the states of the
    finding's tools, and if it is about a lock that is never revealed, the finding shows no status.
    """
    rest = []
    known = [(group, group.clauses, group.states) for group in groups]
    for item in items:
        shown = isinstance(item.finding.observed, str) and item.finding.observed in STATUSES
        fits = [
            group
            for group, clauses, states in known
            if item.clauses
            and item.clauses <= clauses.keys()
            and item.states <= states
            and not (group.lock and shown)
        ]
        if len(fits) == 1:
            fits[0].items.append(item)
        else:
            rest.append(item)
    return rest


def follow(groups: Sequence[_Group], opens: Sequence[Result]) -> list[Result]:
    """Add each open result, in place, to the group that keeps it open; return the others.

    That is the group with most results that break a clause it needs, summed over these clauses;
    the first of equals. If no group breaks any, the groups that break every clause it is open on
    are compared in the same way.
    """
    rest = []
    known = [(group, group.clauses) for group in groups]
    for result in opens:
        needs = {*result.needs}
        scored = [(group, sum(clauses[c] for c in needs)) for group, clauses in known]
        if not any(number for _, number in scored):
            own = {*result.clauses}
            scored = [
                (group, sum(clauses[clause] for clause in own))
                for group, clauses in known
                if own and own <= clauses.keys()
            ]
        best = max(scored, key=lambda pair: pair[1], default=None)
        if best is not None and best[1]:
            best[0].opens.append(result)
        else:
            rest.append(result)
    return rest


def same_reason(results: Sequence[Result]) -> list[RootCause]:
    """Return the causes of errors or open results, one for equal blame, cause and reason."""
    groups: dict[tuple[str, str, str], list[Result]] = {}
    for result in results:
        groups.setdefault((result.blame, result.cause, result.reason), []).append(result)
    return [_of_reason(own) for own in groups.values()]


def _of_reason(results: Sequence[Result]) -> RootCause:
    """Return the cause of these results, which share a reason, with all their clauses as open.

    The first one gives sentence, hint and verdict.
    """
    first = results[0]
    clauses = tuple(dict.fromkeys(clause for result in results for clause in result.clauses))
    alone = len(results) == 1
    kind = first.cause or first.blame or first.verdict
    return RootCause(
        id=slug(f"{kind}-{clauses[0] if clauses else first.check}"),
        verdict=first.verdict,
        sentence=first.reason or first.verdict,
        rule="alone" if alone else "same_reason",
        why="It is the only such result." if alone else "All of these have the same reason.",
        mend=repair(first) if first.verdict == "inconclusive" else first.hint,
        clause=clauses[0] if clauses else "",
        leaves_open=clauses,
        open_results=tuple(dict.fromkeys(result.name for result in results)),
    )


def repair(result: Result) -> str:
    """Return what would settle an open result: its hint, or clauses that it needs; then its lacks.

    What is not declared is named only where nothing else is.
    """
    parts = [result.hint] if result.hint else []
    if result.needs and not parts:
        parts.append(f"first see to {', '.join(result.needs)}")
    lacks = [lack for lack in result.lacks if lack.cause != "not_declared"]
    parts += map(_of_lack, (lacks or result.lacks[: 0 if parts else None])[:MOST_LACKS])
    if not parts and result.clauses:
        shows = f"`mcp-proxy-conformance explain {result.clauses[0]}` shows what is looked for"
        return f"no lock is missing here: the target has to answer as the reason says; {shows}"
    return "; ".join(parts) or "run the suite again"


def _of_lack(lack: Lack) -> str:
    more = f" and {len(lack.on) - MOST_LACKS} more" if len(lack.on) > MOST_LACKS else ""
    on = f" of {', '.join(lack.on[:MOST_LACKS])}{more}" if lack.on else ""
    if lack.cause == "not_declared":
        return f"declare {lack.capability}, for `{lack.operation}`{on}"
    return f"`{lack.operation}`{on} (capability {lack.capability}): {lack.reason}"


# -- values ---------------------------------------------------------------------------------


def _of_group(
    group: _Group, order: Mapping[str, int], verdicts: Mapping[str, Verdict]
) -> RootCause:
    """Return the cause of a group: its clauses, the most broken first, and its results.

    The clause that the group itself names as `first` precedes. The cause leaves open those clauses
    of the group's open results whose verdict is inconclusive, and is waived if all its failures
    are. `order` is the place of each clause in the profile.
    """
    counts = group.clauses
    broken = sorted(counts, key=lambda clause: (-counts[clause], order.get(clause, 0)))
    first = group.first or next(iter(broken), "")
    broken.sort(key=lambda clause: clause != first)
    own = sorted(
        group.items,
        key=lambda item: (
            first not in item.clauses,
            not item.result.messages,  # it can be shown by what was sent
            len(item.result.clauses),
            len(item.result.findings),
        ),
    )
    still = (clause for result in group.opens for clause in result.clauses)
    return RootCause(
        id=slug(group.id),
        verdict="fail",
        sentence=group.sentence or _wrong(first, own[0].result),
        rule=group.rule,
        why=group.why,
        mend=group.mend,
        clause=first,
        breaks=tuple(broken),
        leaves_open=tuple(
            clause
            for clause in dict.fromkeys(still)
            if clause not in broken and verdicts.get(clause, "inconclusive") == "inconclusive"
        ),
        results=tuple(dict.fromkeys(item.result.name for item in own)),
        open_results=tuple(dict.fromkeys(result.name for result in group.opens)),
        waived=all(item.result.verdict == "waived" for item in group.items),
    )


def _wrong(clause: str, result: Result) -> str:
    try:
        words = catalogue().clause(clause).broken
    except UnknownClause:
        words = ""
    return f"{words[:1].upper()}{words[1:]}." if words else result.reason or clause


def slug(text: str) -> str:
    """Return the text in lower case, each run of other than ASCII letters and digits a hyphen."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _numbered(ranked: Iterable[RootCause]) -> list[RootCause]:
    seen = Counter[str]()
    unique = []
    for cause in ranked:
        seen[cause.id] += 1
        number = seen[cause.id]
        unique.append(
            cause if number == 1 else msgspec.structs.replace(cause, id=f"{cause.id}-{number}")
        )
    return unique
