"""Effects of operator actions on one target: which of them a call has shown, and how late."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from mcp_proxy_conformance.catalogue.world import ToolKey

MARGIN = 1.5
"""An effect that nothing has shown may take this many times the longest lag that was seen."""
LIFTS, LOCKS, LISTS = "lift", "lock", "list"
"""Sorts of actions: calls are reached after a lift, refused after a lock, either after a list."""


@dataclass(slots=True)
class Lag:
    """The longest time in which an operation of one implementation took effect, once one did."""

    longest_s: float | None = None

    def seen(self, seconds: float) -> None:
        """Keep the lag if it is the longest."""
        self.longest_s = max(seconds, self.longest_s or 0.0)

    def allowed(self, most: float) -> float:
        """Return the seconds that an effect may take; `most` while none has been seen."""
        return most if self.longest_s is None else min(most, MARGIN * self.longest_s)


@dataclass(frozen=True, slots=True)
class Action:
    """An action, done at `at` (monotonic), and the outcome of each tool's last call before it."""

    sort: str
    server: str
    tools: Sequence[str]
    at: float
    reached: dict[ToolKey, bool]

    def shows_in(self, key: ToolKey, *, reached: bool) -> bool:
        """Whether a call of this tool ended otherwise before, and now as the action wants."""
        if key.server != self.server or (self.tools and key.tool not in self.tools):
            return False
        wanted = self.sort == LISTS or reached == (self.sort == LIFTS)
        return wanted and self.reached.get(key) is (not reached)


class Effects:
    """The actions on one started target whose effect no call has shown yet.

    An action is shown by the first call whose outcome is other than before it; each change of an
    outcome shows one action, the earliest that it can be. A `patient` target is given all of
    `enforce_s` for those that are not shown, else the longest lag that the target has shown.
    """

    def __init__(self, lag: Lag, enforce_s: float) -> None:
        """Keep the lag of the implementation, which is updated; no action is known yet."""
        self.lag = lag
        self.enforce_s = enforce_s
        self.patient = False
        self._open: list[Action] = []
        self._reached: dict[ToolKey, bool] = {}
        self._lock = threading.Lock()

    def acted(self, sort: str, server: str, tools: Sequence[str] = ()) -> None:
        """Note an action made now on these tools, or on the whole server."""
        with self._lock:
            now, reached = time.monotonic(), dict(self._reached)
            self._open = [each for each in self._open if now - each.at < self.enforce_s]
            self._open.append(Action(sort, server, tools, now, reached))

    def called(self, key: ToolKey, *, reached: bool) -> None:
        """Note the outcome of a call; it may show an action."""
        with self._lock:
            self._reached[key] = reached
            for action in self._open:
                if action.shows_in(key, reached=reached):
                    self._open.remove(action)
                    self.lag.seen(time.monotonic() - action.at)
                    return

    @property
    def due(self) -> float:
        """The monotonic time by which all effects are in force; 0 if each has been shown."""
        allowed = self.enforce_s if self.patient else self.lag.allowed(self.enforce_s)
        with self._lock:
            return max((action.at + allowed for action in self._open), default=0.0)
