"""Effects of operator actions on one target: which of them a call has shown, and how late."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import NamedTuple

from mcp_proxy_conformance.catalogue.world import ToolKey

MARGIN = 1.5
"""An effect that nothing has shown may take this many times what its operation took before."""
ENOUGH = 3
"""So many times of an operation tell how long it takes at most."""
POLLED_S = 0.5
"""Calls at most so far apart say when an effect came, not only that it did."""
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
    """How long the operations of one implementation take, as far as calls showed it.

    `polled` are by operation the times after which repeated calls showed it, `within` those after
    which a first call did: it may have taken less.
    """

    polled: dict[str, list[float]] = field(default_factory=dict)
    within: dict[str, list[float]] = field(default_factory=dict)

    def seen(self, operation: str, seconds: float, *, polled: bool) -> None:
        """Keep the time after which an operation was seen to have taken effect."""
        (self.polled if polled else self.within).setdefault(operation, []).append(seconds)

    def allowed(self, operation: str, most: float) -> float:
        """Return the seconds that its effect may take; `most` while it was seen fewer than thrice.

        A target that looks for changes now and then shows one at once and the next one late.
        """
        polled, within = self.polled.get(operation, []), self.within.get(operation, [])
        if len(polled) + len(within) < ENOUGH:
            return most
        return min(most, MARGIN * max(polled or within))

    @property
    def usual_s(self) -> float:
        """The longest time after which repeated calls showed an operation; 0 while none did."""
        return max((max(each) for each in self.polled.values()), default=0.0)


@dataclass(frozen=True, slots=True)
class _Call:
    """The last call of a tool: whether it was reached, and when it ended."""

    reached: bool
    at: float


@dataclass(slots=True)
class _Done:
    """An act done at `at`, shown by a call at `shown_at`; and each tool's last outcome before."""

    act: Act
    at: float
    reached: dict[ToolKey, bool]
    shown_at: float | None = None

    def explains(self, key: ToolKey, before: _Call, *, reached: bool) -> bool:
        """Whether this act may be why a call of a tool ended otherwise than the one before it.

        All tools of an act change at the same moment: one that was called since it was shown, and
        had not changed, changes for another reason.
        """
        if key.server != self.act.server or (self.act.tools and key.tool not in self.act.tools):
            return False
        wanted = WANTED[self.act.operation.partition(" ")[0]]
        as_wanted = wanted in (None, reached) and self.reached.get(key) is (not reached)
        return as_wanted and (self.shown_at is None or before.at < self.shown_at)


class Effects:
    """The acts on one started target, and which of them calls have shown; `tried` is the last one.

    An act is shown by the first call whose outcome is other than before it. Each change of a tool's
    outcome is due to one act, the earliest that it can be. A `patient` target is given all of
    `enforce_s` for acts that no call has shown, else the time that their operation took before.
    """

    def __init__(self, lag: Lag, enforce_s: float) -> None:
        """Keep the lags of the implementation, which are updated; no act is known yet."""
        self.tried: Act | None = None
        self.lag = lag
        self.enforce_s = enforce_s
        self.patient = False
        self._done: list[_Done] = []
        self._calls: dict[ToolKey, _Call] = {}
        self._lock = threading.Lock()

    def done(self, act: Act) -> None:
        """Note an act that the adapter has just done.

        After a restart, which no call shows, calls before it are no comparison.
        """
        with self._lock:
            if not act.server:
                self._calls.clear()
                return
            now = time.monotonic()
            reached = {key: call.reached for key, call in self._calls.items()}
            self._done = [each for each in self._done if now - each.at < self.enforce_s]
            self._done.append(_Done(act, now, reached))

    def called(self, key: ToolKey, *, reached: bool) -> None:
        """Note the outcome of a call; it may show an act."""
        with self._lock:
            now, before = time.monotonic(), self._calls.get(key)
            self._calls[key] = _Call(reached, now)
            if before is None or before.reached is reached:
                return
            for done in self._done:
                if done.explains(key, before, reached=reached):
                    break
            else:
                return
            if done.shown_at is None:
                done.shown_at = now
                polled = done.at < before.at and now - before.at < POLLED_S
                self.lag.seen(done.act.operation, now - done.at, polled=polled)

    @property
    def due(self) -> float:
        """The monotonic time by which all effects are in force; 0 if each has been shown."""
        with self._lock:
            left = [done for done in self._done if done.shown_at is None]
            return max((done.at + self._allowed(done.act) for done in left), default=0.0)

    def _allowed(self, act: Act) -> float:
        """Return the seconds that the effect of an act that nothing has shown may take."""
        return self.enforce_s if self.patient else self.lag.allowed(act.operation, self.enforce_s)
