"""Budget of requests to an endpoint (number, rate, time, memory); a transcript that spends it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from mcp_proxy_conformance.verdict.result import Inconclusive
from mcp_proxy_conformance.wire.http import MAX_BODY
from mcp_proxy_conformance.wire.jsonrpc import weight
from mcp_proxy_conformance.wire.transcript import Message, Transcript

MOST_HELD = 144 << 20
"""Approximate memory that all answers of an endpoint may take, in bytes."""
LARGEST_TAKEN = 1
"""Answers that may be too large to be read before requests stop."""


class OverBudget(Inconclusive):
    """The budget is used up: requests, time or the size of answers; nothing more is sent."""


@dataclass(slots=True, kw_only=True)
class Budget:
    """The remaining budget; `kept` requests are held back for ending the sessions.

    `spent`: requests sent; `closing`: those held back may be used; `held`: the weight of all
    answers; `too_large`: the number of answers too large to be read; `began`: a monotonic time.
    """

    most: int
    per_second: float
    within_s: float
    kept: int = 0
    spent: int = 0
    closing: bool = False
    held: int = 0
    too_large: int = 0
    began: float = field(default_factory=time.monotonic)
    _next: float = 0.0

    @property
    def left(self) -> int:
        """Number of requests that may be sent; those kept to end sessions only while closing."""
        return self.most - self.spent - (0 if self.closing else self.kept)

    @property
    def seconds_left(self) -> float:
        """Seconds until the deadline for requests; negative after it."""
        return self.began + self.within_s - time.monotonic()

    def spend(self) -> None:
        """Take one request from the budget, and sleep until its turn.

        Raises OverBudget if none is left or its turn would come after the deadline.
        """
        if self.left <= 0:
            raise OverBudget(f"all {self.most} requests are used; raise --max-requests")
        wait = self._next - time.monotonic()
        if max(wait, 0.0) >= self.seconds_left:
            raise self.late()
        time.sleep(max(wait, 0.0))
        self._next = time.monotonic() + 1 / self.per_second
        self.spent += 1

    def hold(self, raw: bytes) -> None:
        """Add an answer to the memory in use; raise OverBudget above 144 MiB, unless closing."""
        self.held += weight(raw)
        if self.held > MOST_HELD and not self.closing:
            raise OverBudget(
                f"the endpoint's answers take more than {MOST_HELD >> 20} MiB in all;"
                " choose an endpoint with fewer tools"
            )

    def refuse(self, reason: str) -> None:
        """Count an answer that was too large to be read; raise OverBudget for a second one."""
        self.too_large += 1
        if self.too_large > LARGEST_TAKEN:
            raise OverBudget(f"the endpoint's answers are too large to be read: {reason}")

    def rest(self, seconds: float) -> None:
        """Sleep that many seconds: as a busy endpoint asks, or between requests of the suite.

        Raises OverBudget at once if that would reach the deadline.
        """
        if seconds >= self.seconds_left:
            raise OverBudget(
                f"the endpoint asks to wait {seconds:g} s, which is too long; raise --timeout"
            )
        time.sleep(seconds)

    def late(self) -> OverBudget:
        """Return the error to raise when the time is over."""
        return OverBudget(f"the {self.within_s:g} seconds are over; raise --timeout")


class Ledger(Transcript):
    """A transcript that spends the budget: a message that the budget does not cover is not sent.

    `hurried` are called before each message: the conversations shorten their timeouts to what is
    left.
    """

    def __init__(self, budget: Budget) -> None:
        """Keep the budget that messages will spend; `hurried` is empty."""
        super().__init__()
        self._budget = budget
        self.hurried: list[Callable[[], None]] = []

    def record(self, **members: Any) -> Message:
        """Record a message; one to be sent waits for its turn first, or OverBudget is raised.

        Each of `hurried` is called. A received answer, unless too large to be read, is added to
        the memory in use, which can raise OverBudget too.
        """
        if members["direction"] == "sent":
            self._budget.spend()
        for hurry in self.hurried:  # what is sent next has less time
            hurry()
        message = super().record(**members)
        if members["direction"] == "received" and len(members["raw"]) <= MAX_BODY:
            self._budget.hold(members["raw"])
        return message
