"""Verdicts, and the ways in which a check can end other than by passing or failing."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Literal

import msgspec

Blame = Literal["target", "adapter", "network", "suite", "declaration", ""]
Verdict = Literal["pass", "fail", "inconclusive", "not_applicable", "error", "waived"]
WORST_FIRST: tuple[Verdict, ...] = (
    "error", "fail", "inconclusive", "waived", "pass", "not_applicable",
)  # fmt: skip


class Inconclusive(Exception):
    """The control failed: what the check would judge was not shown to be observable."""


class Unread(Inconclusive):
    """A text was not understood; `path` is the expectation that could not be judged."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        super().__init__(f"unrecognised text, pin it with its class: {text!r}")


class NotApplicable(Exception):
    """The target does not declare, or legally refuses, what the check needs."""


class Misshapen(Exception):
    """The target's answer has not the shape that its surface names: the target's fault."""


class Breach(AssertionError):
    """A failure that needs no second look: a moved upstream counter, a leaked canary."""


class DeclarationFault(Exception):
    """The target showed a kind that it does not declare: its declaration must be mended."""


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What one check (or one case of it) found; `messages` are transcript ids of its stage.

    `cut` are the members that were not compared, since they move between equal requests.
    """

    check: str
    case: str | None
    clauses: tuple[str, ...]
    judgement: Literal["F", "A"]
    verdict: Verdict
    reason: str
    stage: str
    evidence: tuple[str, ...] = ()
    cut: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()
    blame: Blame = ""
    reproduce: str = ""
    timing: dict[str, Any] = {}

    def convicts(self, clauses: Collection[str]) -> bool:
        """Whether an F check found one of these clauses broken."""
        failed = self.verdict == "fail" and self.judgement == "F"
        return failed and not set(clauses).isdisjoint(self.clauses)


def worst(verdicts: Iterable[Verdict]) -> Verdict | None:
    """The verdict of a clause from its results; None when there are none."""
    return min(verdicts, key=WORST_FIRST.index, default=None)
