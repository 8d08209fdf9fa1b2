"""Effects of operator actions on one target: which of them a call has shown, and how late."""

from __future__ import annotations

import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from mcp_proxy_conformance.catalogue.world import ToolKey

MARGIN = 1.5
"""An effect that nothing has shown may take this many times what its operation took before."""
ENOUGH = 3
"""So many times of an operation tell how long it takes at most."""
IN_VAIN = 2
"""An operation that was waited for so many times, and never seen, is not waited for again."""
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

    `times` are by operation those after which it was seen, and whether by repeated calls: by a
    first call, it may have taken less. `missed` counts those by which nothing was seen to happen.
    """

    times: dict[str, list[tuple[float, bool]]] = field(default_factory=dict)
    missed: Counter[str] = field(default_factory=Counter)

    def seen(self, operation: str, seconds: float, *, polled: bool) -> None:
        """Keep the time after which an operation was seen to have taken effect."""
        self.times.setdefault(operation, []).append((seconds, polled))

    def allowed(self, operation: str, most: float) -> float:
        """Return the seconds that its effect may take; `most` while too little has been seen.

        A target that looks for changes now and then shows one at once and the next one late: while
        it was seen fewer than thrice, others of its kind count too, such as all locks.
        """
        own, kind = list(self.times.get(operation, ())), operation.partition(" ")[0]
        alike = [
            time
            for name, times in list(self.times.items())
            if name.partition(" ")[0] == kind
            for time in times
        ]
        for counted in ([each for each in own if each[1]], own, alike):
            if len(counted) >= ENOUGH:
                return min(most, MARGIN * max(seconds for seconds, _ in counted))
        return most

    @property
    def refreshes(self) -> list[float]:
        """The times after which refreshes were seen to be followed, of all kinds of news."""
        every = [times for name, times in list(self.times.items()) if name.startswith("refresh ")]
        return [seconds for times in every for seconds, _ in times]

    def is_in_vain(self, operation: str) -> bool:
        """Whether it was waited for twice or more, and never seen."""
        return self.missed[operation] >= IN_VAIN and operation not in self.times

    @property
    def usual_s(self) -> float:
        """The longest time after which repeated calls showed an operation; 0 while none did."""
        return max(
            (seconds for times in list(self.times.values()) for seconds, polled in times if polled),
            default=0.0,
        )


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
        as_wanted = self.wanted in (None, reached) and self.reached.get(key) is (not reached)
        is_open = self.shown_at is None or before.at < self.shown_at
        return self.is_on(key) and as_wanted and is_open

    @property
    def wanted(self) -> bool | None:
        """Whether calls are reached once the act is in force; None is either."""
        return WANTED[self.act.operation.partition(" ")[0]]

    def is_on(self, key: ToolKey) -> bool:
        """Whether the act is on this tool."""
        return key.server == self.act.server and key.tool in (self.act.tools or (key.tool,))


class Effects:
    """The acts on one started target, and which of them calls have shown; `tried` is the last one.

    A call that is reached shows every lift on its tool, unless a lock of it may still be to come.
    Else an act is shown by the first call whose outcome is other than before it; each change of a
    tool's outcome is due to one act, the earliest that it can be. A `patient` target is given all
    of `enforce_s` for acts that no call has shown, else the time that their operation took before.
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
        """Note the outcome of a call; it may show acts."""
        with self._lock:
            now, before = time.monotonic(), self._calls.get(key)
            self._calls[key] = _Call(reached, now)
            for done in self._shown_by(key, before, reached=reached):
                if done.shown_at is None:
                    done.shown_at = now
                    polled = before is not None and done.at < before.at > now - POLLED_S
                    self.lag.seen(done.act.operation, now - done.at, polled=polled)

    def _shown_by(self, key: ToolKey, before: _Call | None, *, reached: bool) -> list[_Done]:
        """Return the acts that a call of a tool shows, after its call `before`."""
        on = [done for done in self._done if done.is_on(key)]
        left = [done for done in on if done.shown_at is None]
        lifts = [done for done in left if done.wanted]
        if reached and lifts and all(done.wanted is not False for done in left):
            return lifts
        if before is None or before.reached is reached:
            return []
        return [done for done in on if done.explains(key, before, reached=reached)][:1]

    @property
    def due(self) -> float:
        """The monotonic time by which all effects are in force; 0 if each has been shown."""
        with self._lock:
            left = [done for done in self._done if done.shown_at is None]
            return max((done.at + self._allowed(done.act) for done in left), default=0.0)

    def _allowed(self, act: Act) -> float:
        """Return the seconds that the effect of an act that nothing has shown may take."""
        return self.enforce_s if self.patient else self.lag.allowed(act.operation, self.enforce_s)
