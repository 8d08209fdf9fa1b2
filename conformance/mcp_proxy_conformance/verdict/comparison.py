"""Comparison of observed with allowed values in a check: findings, observed and open clauses."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from mcp_proxy_conformance.verdict.exchanges import (
    Exactly,
    Exchange,
    View,
    exact_in,
    members_of,
    messages_at,
    parts_of,
)
from mcp_proxy_conformance.verdict.redaction import encodable
from mcp_proxy_conformance.verdict.result import (
    Cause,
    Finding,
    Inconclusive,
    LockText,
    Matter,
    NotApplicable,
    Unread,
)

MOST, WIDTH = 40, 400
"""Members and characters of a value that a report shows of a finding."""
MOST_TEXTS, LONGEST_TEXT = 10, 2_000
"""Texts of one result that are kept whole, to be pinned as they are, and characters of one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """Clauses left undecided, the reason in one sentence, and its cause."""

    clauses: tuple[str, ...]
    reason: str
    cause: Cause
    needs: tuple[str, ...] = ()


class ComparisonFailed(AssertionError):
    """A comparison has findings; the first is the message."""


@dataclass(slots=True)
class Comparison:
    """Collects the comparisons of one check: its findings, and its observed and open clauses.

    `observed` counts for each clause the comparisons that looked at it and found no difference,
    `looked` all comparisons; `messages` are those that are compared at the time, if not those of
    the latest exchange, and `origin` the act that is observed then, as a finding has it.
    """

    findings: list[Finding] = field(default_factory=list)
    observed: Counter[str] = field(default_factory=Counter)
    open: list[Open] = field(default_factory=list)
    looked: int = 0
    messages: tuple[str, ...] = ()
    origin: str = ""

    def one_of(
        self, path: str, observed: Any, allowed: Collection[Any], *,
        breaks: Iterable[str], shows: Iterable[str] | None = None,
    ) -> None:  # fmt: skip
        """Record a finding unless the observation equals an allowed value, JSON type included.

        If it does, the clauses `shows`, by default `breaks`, count as observed. `path` is the place
        of the observation. Nothing is raised.
        """
        holds = any(same(observed, value) for value in allowed)
        wanted = next(iter(allowed)) if len(allowed) == 1 else sorted(allowed, key=str)
        self.truth(path, observed, holds=holds, allowed=wanted, breaks=breaks, shows=shows,
                   described=False)  # fmt: skip

    def truth(
        self, path: str, observed: Any, *, holds: bool, allowed: Any,
        breaks: Iterable[str], shows: Iterable[str] | None = None, described: bool = True,
        due: str = "", taken_for: str = "",
    ) -> None:  # fmt: skip
        """Record a finding unless `holds`; else the clauses `shows` count as observed.

        These are by default `breaks`, the clauses that a finding breaks. `described`: `allowed`
        is a phrase, not a value; `due` and `taken_for`: the status that was due, and the one named
        in its place, if the finding is of that kind. Nothing is raised.
        """
        self.looked += 1
        clauses = tuple(dict.fromkeys(breaks))
        if not holds:
            own = () if exact_in(observed) else self.messages
            messages = own or messages_read("", observed)
            finding = Finding(path=path, clauses=clauses, allowed=allowed, observed=observed,
                              described=described, messages=messages,
                              due=due, taken_for=taken_for, origin=self.origin)  # fmt: skip
            self.findings.append(finding)
            return
        self.observed.update(set(clauses if shows is None else shows))

    def unread(self, path: str, text: str, clauses: Iterable[str]) -> None:
        """Record clauses as open because a text was not recognised; nothing is raised.

        The reason asks to pin it: to say in the target file which lock the text is about.
        """
        unread = Unread(text)
        reason = f"{path}: {unread}"
        self.open.append(Open(clauses=tuple(clauses), reason=reason, cause=unread.cause))

    def add(self, other: Comparison, where: str = "", view: str = "") -> None:
        """Add the content of another comparison, `where` appended to its paths and reasons.

        `view` is the view of the target that it is of. The other one stays as it is.
        """
        self.findings += [
            msgspec.structs.replace(finding, path=f"{finding.path}{where}",
                                    views=finding.views or (view,))
            for finding in other.findings
        ]  # fmt: skip
        where += f" ({view})" if view else ""
        self.observed.update(other.observed)
        self.looked += other.looked
        self.open += [
            replace(unsettled, reason=f"{unsettled.reason}{where}") for unsettled in other.open
        ]

    @property
    def is_empty(self) -> bool:
        """Whether nothing was compared, observed or left open."""
        return not (self.looked or self.observed or self.open)

    @property
    def broken(self) -> tuple[str, ...]:
        """The clauses that findings name, in order."""
        return tuple(
            dict.fromkeys(clause for finding in self.findings for clause in finding.clauses)
        )

    def only(self, clauses: Collection[str]) -> Comparison:
        """Return what this comparison says of these clauses; it stays as it is."""
        found = [
            msgspec.structs.replace(finding, clauses=kept)
            for finding in self.findings
            if (kept := tuple(clause for clause in finding.clauses if clause in clauses))
        ]
        held = Counter({clause: n for clause, n in self.observed.items() if clause in clauses})
        return replace(self, findings=found, observed=held)

    def leaving_open(
        self, clauses: Iterable[str], reason: str, needs: Iterable[str] = ()
    ) -> Comparison:
        """Record as open those of the clauses that have no finding; return this comparison.

        `needs` are the clauses that must hold before they can be settled.
        """
        if rest := {*clauses} - {*self.broken}:
            unsettled = Open(clauses=tuple(sorted(rest)), reason=reason, cause="other_clause",
                             needs=tuple(needs))  # fmt: skip
            self.open.append(unsettled)
        return self

    def or_not_applicable(self, reason: str, cause: Cause = "not_here") -> Comparison:
        """Return this comparison; raise NotApplicable, for that reason, if nothing was compared."""
        if self.looked:
            return self
        raise NotApplicable(reason, cause=cause)

    def conclude(self) -> None:
        """Hand this comparison to the run, which judges the check; raise unless everything held.

        Raises ComparisonFailed if it has findings, Inconclusive if it has open clauses,
        with the first one's reason, NotApplicable if nothing was compared.
        """
        if (watch := _WATCH.get(None)) is not None:
            watch.comparison = self
        if self.findings:
            raise ComparisonFailed(f"{self.findings[0].path}: {self.findings[0].observed!r:.200}")
        if self.open:
            first = self.open[0]
            raise Inconclusive(first.reason, cause=first.cause, needs=first.needs)
        if self.is_empty:
            raise NotApplicable("this target's answers do not have what the check looks at")


Latest = Callable[[], tuple[str, ...]]


@dataclass(slots=True)
class Watch:
    """Facts that a running check leaves for the run, which judges it afterwards.

    `sides` are operator, left and right of a failing assertion; `comparison` is the concluded one;
    `unread` are the distinct texts that were not understood, `pinned` those accepted as pinned;
    `exchanges` are those whose answers the check has looked at, in order; without any, `latest`
    returns the messages of the latest act.
    """

    sides: tuple[str, Any, Any] | None = None
    comparison: Comparison | None = None
    unread: dict[LockText, None] = field(default_factory=dict)
    pinned: dict[LockText, None] = field(default_factory=dict)
    exchanges: list[Exchange] = field(default_factory=list)
    latest: Latest = tuple

    def read(self) -> tuple[Exchange, ...]:
        """Return the exchanges, or the latest act as the only one; () without any message."""
        act = () if self.exchanges else self.latest()
        return tuple(self.exchanges) or ((Exchange(act, frozenset()),) if act else ())


_WATCH: ContextVar[Watch] = ContextVar("watch")


@contextmanager
def watched(latest: Latest = tuple) -> Iterator[Watch]:
    """Yield a Watch, which gets what a check in the block leaves: sides, comparison, texts."""
    watch = Watch(latest=latest)
    token = _WATCH.set(watch)
    try:
        yield watch
    finally:
        _WATCH.reset(token)


def compared(op: str, left: object, right: object) -> None:
    """Keep operator and both sides of a failing assertion in the current Watch, if there is one."""
    if (watch := _WATCH.get(None)) is not None:
        watch.sides = (op, left, right)


def note_text(text: str, status: str, *, pinned: bool) -> None:
    """Keep a text in the current Watch: as not understood or, if `pinned`, as accepted by a pin.

    `status` is the one that the target gave it for. It does nothing without a Watch, for a text
    over 2000 characters, or beyond ten texts of that kind.
    """
    watch = _WATCH.get(None)
    if watch is not None and len(text) <= LONGEST_TEXT:
        noted = watch.pinned if pinned else watch.unread
        if len(noted) < MOST_TEXTS:
            noted[LockText(status=str(status), text=encodable(str(text)))] = None


def note_exchange(messages: tuple[str, ...], request: Iterable[tuple[str, Any]]) -> None:
    """Keep an exchange, whose answer is looked at now, in the current Watch, if there is one.

    `messages` are its ids, in order; `request` the (name, value) members by which it is known.
    """
    if (watch := _WATCH.get(None)) is not None and messages:
        watch.exchanges.append(Exchange(messages, members_of(request)))


def messages_read(place: object = "", value: object = None) -> tuple[str, ...]:
    """Return the messages of the exchange that a place or value names, by default the latest.

    () if the current Watch has none till now, or there is no Watch.
    """
    watch = _WATCH.get(None)
    return () if watch is None else messages_at(place, watch.read(), value)


def read_in(words: str, place: object = "") -> Exactly:
    """Return words that name, in a finding's place, the exchange that `place` names by now."""
    return Exactly(words, "".join(messages_read(place)[-1:]))


def of_sides(
    sides: tuple[str, Any, Any] | None, clauses: tuple[str, ...],
    exchanges: Sequence[Exchange] = (),
) -> tuple[Finding, ...]:  # fmt: skip
    """Return a failing assertion's findings: of two mappings under `==`, one per differing member.

    For others there is one finding; for operators but `==` and `is` its allowed side is in words.
    Each breaks all the `clauses`, and was read from the exchange that its place names or, if it
    names none, the latest. `sides` are (operator, observed, allowed); None if unknown.
    """
    if sides is None:
        return (Finding(path="", clauses=clauses, messages=messages_at("", exchanges)),)
    op, left, right = sides
    if op == "==" and isinstance(left, Mapping) and isinstance(right, Mapping):
        own = {name: name for name in left}  # which may name requests by their members
        names = [
            own.get(name, name)
            for name in {**right, **left}
            if not same(left.get(name, ...), right.get(name, ...))
        ]
        if names:
            return tuple(
                Finding(
                    path=_place(name),
                    clauses=clauses,
                    allowed=right.get(name),
                    observed=left.get(name),
                    messages=messages_at(name, exchanges, left.get(name)),
                    views=tuple(str(part) for part in parts_of(name) if isinstance(part, View)),
                )
                for name in names
            )
    read_from = _read_from(left, right, exchanges)
    if op not in ("==", "is"):
        words = f"{RELATIONS.get(op, op)} {_json(right)}"
        return (Finding(path="", clauses=clauses, allowed=words, observed=left, described=True,
                        messages=read_from),)  # fmt: skip
    return (Finding(path="", clauses=clauses, allowed=right, observed=left, messages=read_from),)


def _read_from(left: Any, right: Any, exchanges: Sequence[Exchange]) -> tuple[str, ...]:
    """Return the messages that a value was read from: of lists, those that unlike items name."""
    kinds = (list, tuple, set, frozenset)
    if not (isinstance(left, kinds) and isinstance(right, kinds)):
        return messages_at("", exchanges, left)
    unlike = [item for item in (*left, *right) if item not in left or item not in right]
    places = [item if isinstance(item, (str, tuple)) else "" for item in unlike] or [""]
    return tuple(
        dict.fromkeys(
            message for place in places for message in messages_at(place, exchanges, place)
        )
    )


def merged(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings, equal ones of several views as one with all these views and messages."""
    several: dict[tuple[object, ...], list[Finding]] = {}
    for finding in findings:
        values = repr(finding.observed), repr(finding.allowed), finding.due, finding.taken_for
        several.setdefault((finding.path, finding.clauses, *values), []).append(finding)
    return tuple(map(_as_one, several.values()))


def _as_one(equal: Sequence[Finding]) -> Finding:
    views = dict.fromkeys(view for each in equal for view in each.views or ("",))
    messages = dict.fromkeys(message for each in equal for message in each.messages)
    return msgspec.structs.replace(
        equal[0], messages=tuple(messages), views=tuple(views) if any(views) else ()
    )


def about(finding: Finding, states: Mapping[str, tuple[str, ...]]) -> Finding:
    """Return the finding with the tools or servers that it is about, by exact name, at most twelve.

    They are those named in its path or, without any, those that only one of its sides names.
    `states` maps all names to states.
    """
    named = [word for word in _WORD.findall(finding.path) if word in states]
    if not named:
        named = sorted(_names(finding.observed, states) ^ _names(finding.allowed, states))
    matters = [Matter(name=name, state=states[name]) for name in dict.fromkeys(named)]
    return msgspec.structs.replace(finding, about=tuple(matters[:MOST_ABOUT]))


_WORD = re.compile(r"[\w:.-]*\w")
MOST_ABOUT = 12


def _names(value: Any, states: Mapping[str, tuple[str, ...]]) -> set[str]:
    if isinstance(value, Mapping):
        return {name for pair in value.items() for side in pair for name in _names(side, states)}
    if isinstance(value, (list, tuple, set, frozenset)) and not hasattr(value, "_fields"):
        return {name for inner in value for name in _names(inner, states)}
    return {str(value)} & states.keys()


RELATIONS = {
    "<": "less than", "<=": "at most", ">": "more than", ">=": "at least",
    "!=": "anything but", "in": "one of", "not in": "none of",
}  # fmt: skip
"""The words for the comparisons of assertions."""


def _place(name: object) -> str:
    """Return the key of a compared mapping as a finding's path: its parts, but views, joined."""
    parts = (str(part) for part in parts_of(name) if not isinstance(part, View))
    return ", ".join(filter(None, parts))


def same(left: Any, right: Any) -> bool:
    """Whether two values are equal, JSON types included: 1 is neither true nor 1.0.

    A list equals a tuple of the same items.
    """
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(map(same, left, right))
    plain = (bool, int, float)
    if isinstance(left, plain) or isinstance(right, plain):
        return type(left) is type(right) and left == right
    return bool(left == right)


def plain(finding: Finding) -> Finding:
    """Return the finding with its sides as JSON values, long ones cut, as a report holds it."""
    return msgspec.structs.replace(
        finding, path=str(finding.path), allowed=_json(finding.allowed),
        observed=_json(finding.observed), views=tuple(map(str, finding.views)),
        due=str(finding.due), taken_for=str(finding.taken_for),
    )  # fmt: skip


def _json(value: Any) -> Any:
    """Return the value as JSON for a report: at most 40 items or members, texts cut at 400.

    Sets are sorted, bytes decoded, other types (floats too) text.
    """
    if isinstance(value, Mapping):
        return {encodable(str(name)): _json(inner) for name, inner in list(value.items())[:MOST]}
    if isinstance(value, (set, frozenset)):
        return sorted((_json(inner) for inner in value), key=str)[:MOST]
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return [_json(inner) for inner in value[:MOST]]
    if isinstance(value, bytes):
        value = value.decode("utf-8", "backslashreplace")
    if value is None or isinstance(value, (bool, int)):
        return value
    text: str = encodable(str(value))
    return text if len(text) <= WIDTH else f"{text[:WIDTH]}... ({len(text)} characters)"
