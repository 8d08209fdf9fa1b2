"""Result of a check: verdicts, causes, findings, and exceptions that end a check early."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Literal

import msgspec

from mcp_proxy_conformance.catalogue.requirement import Level

Blame = Literal["target", "adapter", "network", "suite", "declaration", ""]
Verdict = Literal["pass", "fail", "inconclusive", "not_applicable", "error", "waived"]
WORST_FIRST: tuple[Verdict, ...] = (
    "fail", "error", "inconclusive", "waived", "pass", "not_applicable",
)  # fmt: skip

Cause = Literal[
    "", "not_declared", "not_asked", "not_here", "refused",
    "left_out", "ended", "untested", "no_check", "not_observed",
    "control", "no_effect", "not_reached", "page_unasked", "not_listed", "not_offered",
    "foreign_schema", "unread_text", "unread_answer", "not_supported", "disagrees",
    "not_loaded", "too_few_generated", "other_clause", "cut_short", "not_named",
]  # fmt: skip
"""Why a clause or a result neither passes nor fails; decisions rest on this, never on a reason."""
HINTS: Mapping[Cause, str] = {
    "unread_text": "pin that text under the lock that it says how to lift: `pins` in the target"
    " file; `init --from` writes the lines",
    "disagrees": "make the target answer equal requests alike; if it is slow to show a lock, give a"
    " longer settle_s in the target file, or `run --settle`",
    "not_supported": "implement that operation, or leave the capability out of the target file",
    "not_listed": "name the tool that lists servers under `surface` in the target file",
    "not_offered": "name the tool as the target does, under `surface` in the target file",
    "foreign_schema": "use an inputSchema that contains everything it refers to",
    "not_loaded": "make the loader load healthy servers here; its own output is in the logs",
    "too_few_generated": "generate more: give a higher --examples",
    "no_effect": "make the adapter set or lift the lock; if that takes longer, give a longer"
    " enforce_s in the target file, or `run --enforce`",
    "not_reached": "make that tool callable on the target, and let the adapter approve the tools"
    " that it is asked to; if either is slow, give a longer ready_s in the target file, or"
    " `run --ready`",
    "page_unasked": "make the target request each page of tools/list: a result with nextCursor is"
    " not the last",
    "other_clause": "first fix what breaks the clause that is named",
    "cut_short": "give a longer --timeout",
    "not_named": "give the option that is named",
    "unread_answer": "make the target answer as the protocol and the names under `surface` in the"
    " target file require",
}
"""The repair of an unsettled result, by its cause."""


class Inconclusive(Exception):
    """Raised by a check whose control failed: what it would judge was not shown to be observable.

    `hint` names the repair; it defaults to that of the cause. `needs` are the clauses that must
    hold before it can be observed.
    """

    def __init__(
        self, reason: str, *, cause: Cause = "control", hint: str = "", needs: Iterable[str] = ()
    ) -> None:
        """Keep cause, hint and needs; `hint` is by default the cause's repair, if it has one."""
        self.cause: Cause = cause
        self.hint = hint or HINTS.get(cause, "")
        self.needs = tuple(dict.fromkeys(needs))
        super().__init__(reason)


def control(holds: object, reason: str) -> None:
    """Raise Inconclusive, for that reason, unless a control of a check holds."""
    if not holds:
        raise Inconclusive(reason)


MASKED_NAME = "masked_name"
"""What stands for each name in a text whose names are masked."""


class LockText(msgspec.Struct, frozen=True, kw_only=True):
    """A text of the target, names in it masked, and the status that it was given for."""

    status: str
    text: str


class Unread(Inconclusive):
    """The suite recognised no lock in a text of the target; the target file can pin it to one."""

    def __init__(self, text: str) -> None:
        """Make the reason from the text, with the cause `unread_text`."""
        super().__init__(
            f"no lock is known for this text; pin it in the target file: {text!r}",
            cause="unread_text",
        )


class NotApplicable(Exception):
    """Raised by a check if the target does not declare, or legally refuses, what it needs."""

    def __init__(self, reason: str, *, cause: Cause = "not_here") -> None:
        """Keep the cause, by default that the case does not arise here."""
        self.cause: Cause = cause
        super().__init__(reason)


def applies(holds: object, reason: str, *, cause: Cause = "not_here") -> None:
    """Raise NotApplicable, for that reason, unless a check has what it is about."""
    if not holds:
        raise NotApplicable(reason, cause=cause)


class Misshapen(Exception):
    """The target's answer lacks the shape declared under `surface` in its file; it is to blame.

    `clauses` are those that the shape breaks; if there are none, nothing was observed.
    """

    def __init__(self, reason: str, *clauses: str) -> None:
        """Keep the clauses that the shape breaks, if any."""
        self.clauses = clauses
        super().__init__(reason)


class Breach(AssertionError):
    """A failure seen by the suite's own servers (calls counted, a secret leaked); not retried.

    `observed` are the facts by place.
    """

    def __init__(self, observed: Mapping[str, Any]) -> None:
        """Keep the facts, and make the message from them."""
        self.observed = observed
        super().__init__("; ".join(f"{place}: {value}" for place, value in observed.items()))


class DeclarationFault(Exception):
    """The target showed a lock of a kind that its target file does not declare; mend the file."""


class Matter(msgspec.Struct, frozen=True, kw_only=True):
    """A tool or server that a finding is about, and its state when it was observed.

    `state` are the locks on a tool (config, user, pending, changed, quarantined, server_off), or
    the behaviours of a server of a load; empty if it is not known.
    """

    name: str
    state: tuple[str, ...] = ()


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One difference of an observed from an allowed value, about one tool, server or direction.

    `path` is the place of the observation, `clauses` are those that it breaks. `described`: what
    is allowed is said in words, and is not itself a value. `messages` are those that it was read
    from, in order, first the ones to look at. `views` are the target's views (endpoint, revision,
    agent, stdio) that showed it, the usual one as ""; none if only that did. `about` are the tools
    or servers in question;
    `taken_for` is the status of the lock that the target named in the place of `due`, if the
    finding is of that kind. `origin` names the act that it is an observation of, empty if no other
    clause is observed by that act.
    """

    path: str
    clauses: tuple[str, ...]
    allowed: Any = None
    observed: Any = None
    described: bool = False
    messages: tuple[str, ...] = ()
    views: tuple[str, ...] = ()
    about: tuple[Matter, ...] = ()
    due: str = ""
    taken_for: str = ""
    origin: str = ""


def of_shape(reason: str, clauses: tuple[str, ...], messages: tuple[str, ...] = ()) -> Finding:
    """Return the finding on an answer that lacks the declared shape, which breaks the clauses.

    `reason` says what is wrong with the answer; it is shown as the observed value. `messages` are
    the ids of request and answer.
    """
    return Finding(path="the answer's shape", clauses=clauses, allowed="as named in `surface`",
                   observed=reason, described=True, messages=messages)  # fmt: skip


class Lack(msgspec.Struct, frozen=True, kw_only=True):
    """What was not to be had where an open result was observed: a lock, or an act of the operator.

    `operation` is that of the adapter, with the kind of lock, as "lock server"; `capability` the
    one that it belongs to, and `on` the tools or servers that it is about.
    """

    capability: str
    operation: str
    cause: Cause
    reason: str
    on: tuple[str, ...]


class ClauseVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on a clause; `results` is the number of results that mention the clause."""

    id: str
    level: Level
    verdict: Verdict
    reason: str
    cause: Cause = ""
    results: int


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a check, or of one case of it; `messages` are transcript ids of its stage.

    `clauses` are those that the verdict is about: the broken ones of a failure, the observed ones
    of a pass, else those that were not settled. `observed` are the clauses that hold, whatever the
    verdict; `unseen` those that the check cites but says nothing of. `hint` is the repair of an
    open result, `needs` are the clauses that must hold before it can be settled, and `lacks` what
    it could not rely on. `cut` are the members that were not compared, since they change between
    equal requests. `unread` are the texts that could not be read, `pinned` those that were accepted
    as the target file pins them. `evidence` is its findings in lines, `story` the example of a law.
    """

    check: str
    case: str | None
    clauses: tuple[str, ...]
    level: Level
    verdict: Verdict
    reason: str
    stage: str
    cause: Cause = ""
    hint: str = ""
    needs: tuple[str, ...] = ()
    lacks: tuple[Lack, ...] = ()
    findings: tuple[Finding, ...] = ()
    observed: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    story: tuple[str, ...] = ()
    cut: tuple[str, ...] = ()
    unread: tuple[LockText, ...] = ()
    pinned: tuple[LockText, ...] = ()
    messages: tuple[str, ...] = ()
    blame: Blame = ""
    reproduce: str = ""
    timing: dict[str, Any] = {}

    @property
    def name(self) -> str:
        """The check, with its case in brackets, as `--check` takes it."""
        return f"{self.check}[{self.case}]" if self.case else self.check

    @property
    def told(self) -> tuple[str, ...]:
        """All that was seen, in lines: the evidence, then the story."""
        return (*self.evidence, *self.story)

    def of(self, clause: str) -> Verdict | None:
        """Return this result's verdict on a clause; None if it has none.

        That is the result's own verdict for one of its `clauses`, and `pass` for another
        one among `observed`.
        """
        if clause in self.clauses:
            return self.verdict
        return "pass" if clause in self.observed else None

    def convicts(self, clauses: Collection[str]) -> bool:
        """Whether this is a failure of a required check that breaks one of these clauses."""
        failed = self.verdict == "fail" and self.level == "required"
        return failed and not set(clauses).isdisjoint(self.clauses)


def worst(verdicts: Iterable[Verdict]) -> Verdict | None:
    """Return the worst of these verdicts, as WORST_FIRST orders them; None for none."""
    return min(verdicts, key=WORST_FIRST.index, default=None)
