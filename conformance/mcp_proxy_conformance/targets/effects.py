"""Effects of operator actions on one target: which of them a call has shown, and how late."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import NamedTuple

from mcp_proxy_conformance.catalogue.world import ToolKey

MARGIN = 1.5
"""An effect that nothing has shown may take this many times the longest lag that was seen."""
WANTED = {"lock": False, "unlock": True, "refresh": None}
"""Whether calls are reached once an operation is in force, by its first word; None is either."""


class Act(NamedTuple):
    """An operation of the adapter, with the kind of lock, its capability, and what it was on."""

    operation: str
    capability: str
    server: str = ""
    tools: tuple[str, ...] = ()


@dataclass(slots=True)
class Lag:
    """The longest time in which each operation of one implementation took effect, once it did."""

    longest_s: dict[str, float] = field(default_factory=dict)

    def seen(self, operation: str, seconds: float) -> None:
        """Keep the operation's lag if it is its longest."""
        self.longest_s[operation] = max(seconds, self.longest_s.get(operation, 0.0))

    def allowed(self, operation: str, most: float) -> float:
        """Return the seconds that its effect may take; `most` while none of it has been seen."""
        return min(most, MARGIN * self.longest_s.get(operation, most))


@dataclass(frozen=True, slots=True)
class _Done:
    """An act done at `at` (monotonic), and the outcome of each tool's last call before it."""

    act: Act
    at: float
    reached: dict[ToolKey, bool]

    def shows_in(self, key: ToolKey, *, reached: bool) -> bool:
        """Whether a call of this tool ended otherwise before, and now as the act wants."""
        if key.server != self.act.server or (self.act.tools and key.tool not in self.act.tools):
            return False
        wanted = WANTED[self.act.operation.partition(" ")[0]]
        return wanted in (None, reached) and self.reached.get(key) is (not reached)


class Effects:
    """The acts on one started target whose effect no call has shown yet; `tried` is the last one.

    An act is shown by the first call whose outcome is other than before it; each change of an
    outcome shows one act, the earliest that it can be. A `patient` target is given all of
    `enforce_s` for those that are not shown, else the longest lag of their operation.
    """

    def __init__(self, lag: Lag, enforce_s: float) -> None:
        """Keep the lags of the implementation, which are updated; no act is known yet."""
        self.tried: Act | None = None
        self.lag = lag
        self.enforce_s = enforce_s
        self.patient = False
        self._open: list[_Done] = []
        self._reached: dict[ToolKey, bool] = {}
        self._lock = threading.Lock()

    def done(self, act: Act) -> None:
        """Note an act that the adapter has just done."""
        with self._lock:
            now, reached = time.monotonic(), dict(self._reached)
            self._open = [each for each in self._open if now - each.at < self.enforce_s]
            self._open.append(_Done(act, now, reached))

    def called(self, key: ToolKey, *, reached: bool) -> None:
        """Note the outcome of a call; it may show an act."""
        with self._lock:
            self._reached[key] = reached
            for done in self._open:
                if done.shows_in(key, reached=reached):
                    self._open.remove(done)
                    self.lag.seen(done.act.operation, time.monotonic() - done.at)
                    return

    @property
    def due(self) -> float:
        """The monotonic time by which all effects are in force; 0 if each has been shown."""
        with self._lock:
            return max((done.at + self._allowed(done.act) for done in self._open), default=0.0)

    def _allowed(self, act: Act) -> float:
        """Return the seconds that the effect of an act that nothing has shown may take."""
        return self.enforce_s if self.patient else self.lag.allowed(act.operation, self.enforce_s)
