"""Proving: what a tool does while it is callable, and that it is refused once it is locked."""

from __future__ import annotations

import time
from collections.abc import Iterable

from mcp_proxy_conformance.catalogue.locks import after, initial
from mcp_proxy_conformance.catalogue.world import ToolKey
from mcp_proxy_conformance.discovery.answer import Answer
from mcp_proxy_conformance.discovery.arming.armed import Armed, Unproven, sampled
from mcp_proxy_conformance.targets.started import Started, poll

SHOW_LIMIT = 100
PATIENT = 2
"""After so many tools that no call reaches, or no lock stops, further ones are not waited for."""


class Prover:
    """Asks and calls on one started target, and writes what it saw into `armed`."""

    def __init__(self, started: Started) -> None:
        """Nothing is asked yet."""
        self.started = started
        self.world = started.world
        self.tools = self.world.tools()
        self.sample = sampled(self.world)
        self.armed = Armed(states=initial(self.world))
        self._unreached = self._unenforced = 0

    def ask(self, query: str) -> Answer:
        """The default answer to a query, at the largest limit."""
        return self.started.discover(query, limit=SHOW_LIMIT)

    def expect_call(self, key: ToolKey) -> bool:
        """Poll until a call reaches the upstream."""
        within = self._patience() if self._unreached < PATIENT else 0.0
        reached = poll(lambda: self.started.call(key).reached, bool, within)
        if reached:
            self.armed.called.add(key)
        else:
            self._unreached += 1
        return reached

    def _patience(self) -> float:
        """Seconds: what is left of the ready time after the start, all of it after that."""
        left = self.started.started_at + self.started.target.ready_s - time.monotonic()
        return max(1.0, left) if not self.armed.called else self.started.target.ready_s

    def expect_refusal(self, key: ToolKey) -> bool:
        """Poll until a call is refused and the upstream's counter stands still."""
        within = self.started.target.enforce_s if self._unenforced < PATIENT else 0.0
        if poll(lambda: self.started.call(key).reached, lambda reached: not reached, within):
            self._unenforced += 1
            self.armed.refused.pop(key, None)
            self.armed.unproven[key] = Unproven("the lock had no effect", "no_effect")
            return False
        self.armed.refused[key] = None
        return True

    def expect_lasting_refusal(self, key: ToolKey) -> bool:
        """Refused, another tool reached meanwhile, and refused again: no outage of the target."""
        beside = self._callable_beside(key)
        if not self.expect_refusal(key):
            return False
        if beside is not None and not self.expect_call(beside):
            self.armed.refused.pop(key)
            self.armed.unproven[key] = Unproven(f"{beside} was not reached either", "not_reached")
            return False
        return self.expect_refusal(key)

    def _callable_beside(self, key: ToolKey) -> ToolKey | None:
        """A tool that is callable still, best one of the same server."""
        free = [k for k in sorted(self.armed.called) if self.armed.states[k].callable]
        return min(free, key=lambda k: k.server != key.server, default=None)

    def show(self, keys: Iterable[ToolKey]) -> None:
        """Ask every declared query while unlocked; wait for each tool by its own word."""
        deadline = time.monotonic() + self.started.target.ready_s
        for key in keys:
            word = self.tools[key].word or key.tool
            answer = poll(
                lambda word=word: self.ask(word),  # type: ignore[misc]
                lambda seen, key=key: key in seen.callables(),  # type: ignore[misc]
                max(0.0, deadline - time.monotonic()),
            )
            self.note_shown(word, answer)
        words = {w for k in self.sample for w in (self.tools[k].word, *self.tools[k].groups) if w}
        words |= set(self.world.words) | self.exact_names()
        for word in sorted(words - set(self.armed.shown)):
            self.note_shown(word, self.ask(word))

    def exact_names(self) -> set[str]:
        """The names of tools that will be withheld: their query is the exact name."""
        states = after(self.world, self.world.steps, initial(self.world))
        return {k.tool for k, s in states.items() if s.quarantined or s.approval or s.server_off}

    def note_shown(self, query: str, answer: Answer) -> None:
        """Remember which tools a query ever listed, and what they look like.

        What is unlocked may have to be looked for again (ruling back-without-refresh): that it is
        not listed yet does not make it irrelevant.
        """
        found = answer.callables()
        before = self.armed.shown.get(query, ())
        self.armed.shown[query] = (*found, *(key for key in before if key not in found))
        for entry in answer.tools:
            self.armed.entries.setdefault(entry.key, entry)
