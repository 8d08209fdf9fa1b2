"""One look at a played world: what laws ask, each answer shared by all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import msgspec

from mcp_proxy_conformance.catalogue.case import When
from mcp_proxy_conformance.catalogue.world import ToolKey, ToolState
from mcp_proxy_conformance.discovery.agents import beyond, scoped
from mcp_proxy_conformance.discovery.answer import Answer, Entry
from mcp_proxy_conformance.discovery.arming import SHOW_LIMIT
from mcp_proxy_conformance.discovery.bench import ABSENT, Bench
from mcp_proxy_conformance.discovery.locked import own_query
from mcp_proxy_conformance.verdict.comparison import Comparison
from mcp_proxy_conformance.verdict.result import Finding, Inconclusive, Misshapen

MOST_KEYS = 12
"""Locked tools that are looked at, of each server and combination of locks one."""


@dataclass(slots=True)
class Findings:
    """What a law found in one look: what it compared, and the request that each finding is of."""

    compared: Comparison = field(default_factory=Comparison)
    of: dict[str, When] = field(default_factory=dict)

    def truth(
        self, clauses: Iterable[str], of: When, seen: Any, *, holds: bool, wanted: str,
        counts: bool = True, topic: str = "", shows: Iterable[str] | None = None,
    ) -> None:  # fmt: skip
        """What was seen is as wanted; else these clauses are broken.

        `counts` where the law had something to say of it; then `shows` are observed, the same
        clauses unless others are named.
        """
        path = f"{topic or wanted}, {told(of)}"
        self.of[path] = of
        self.compared.truth(path, seen, holds=holds, allowed=wanted, breaks=clauses,
                            shows=shows if counts else ())  # fmt: skip

    def broken(self) -> dict[tuple[str, tuple[str, ...]], Finding]:
        """The findings by path and clauses."""
        return {(one.path, one.clauses): one for one in self.compared.findings}


@dataclass(frozen=True, slots=True)
class Told:
    """A request and its answer, which has the shape that was named."""

    of: When
    answer: Answer
    view: Bench

    @property
    def limit(self) -> float | None:
        """The limit, None if none was sent."""
        return self.of.limit if isinstance(self.of.limit, (int, float)) else None


def told(of: When) -> str:
    """A request in words."""
    if of.do == "list":
        return "listing the servers" + (f" as {of.agent}" if of.agent else "")
    if of.do == "call":
        return f"calling {of.tool}" + (f" as {of.agent}" if of.agent else "")
    words = [f"asking {of.query!r}"]
    words += [f"with the flag {of.include_disabled}"] if of.include_disabled is not None else []
    words += [f"at limit {of.limit!r}"] if of.limit is not msgspec.UNSET else []
    return " ".join([*words, *([f"as {of.agent}"] if of.agent else [])])


class Look:
    """What is asked of a target between two steps; `unsure` are locks that outlived a restart.

    `memory` is kept from one look at a world to the next.
    """

    def __init__(
        self, bench: Bench, unsure: frozenset[ToolKey], number: int, memory: dict[Any, Any]
    ) -> None:
        """Nothing is asked yet."""
        self.bench = bench
        self.unsure = unsure
        self.number = number
        self.memory = memory
        self.misshapen: dict[When, Misshapen] = {}

    # -- the tools that can be judged ---------------------------------------------------------

    @cached_property
    def proven(self) -> list[ToolKey]:
        """The tools that are locked and were refused."""
        return [k for k in self.bench.armed.refused if not self.bench.states[k].callable]

    @cached_property
    def keys(self) -> list[ToolKey]:
        """Some of them, of each combination of locks first one."""
        kinds: dict[tuple[str, ToolState], list[ToolKey]] = {}
        for key in self.proven:
            kinds.setdefault((key.server, self.bench.states[key]), []).append(key)
        firsts = {self.bench.states[own[0]]: own[0] for own in reversed(kinds.values())}
        turn = [own[self.number % len(own)] for own in kinds.values()]
        return list(dict.fromkeys([*firsts.values(), *turn]))[:MOST_KEYS]

    @cached_property
    def free(self) -> list[ToolKey]:
        """The callable tools that were reached."""
        armed = self.bench.armed
        called = [key for key in sorted(armed.called) if key not in armed.unproven]
        return [key for key in called if self.bench.states[key].callable]

    def named(self, entry: Entry) -> ToolKey | None:
        """The tool of the world that an entry is of, by its word; None if that is not clear."""
        fit = [key for key, one in self.bench.tools.items() if one.word and one.word in entry.name]
        return fit[0] if len(fit) == 1 else entry.key if entry.key in fit else None

    def is_own(self, key: ToolKey) -> bool:
        """Whether no other server has a tool of that name."""
        return sum(one.tool == key.tool for one in self.bench.tools) == 1

    # -- the answers --------------------------------------------------------------------------

    def ask(
        self, query: str, *, flag: Any = ABSENT, limit: Any = ABSENT, agent: str | None = None,
        anew: bool = False,
    ) -> Told | None:  # fmt: skip
        """The answer to a request, shared unless it is asked `anew`; None if it has no shape."""
        view = self.bench if agent is None else self.bench.as_agent(agent)
        of = When(
            do="discover",
            query=query,
            include_disabled=None if flag is ABSENT else flag,
            limit=msgspec.UNSET if limit is ABSENT else limit,
            agent=agent,
        )
        act = view.discover if anew else view.asked
        try:
            return Told(of, act(query, include_disabled=flag, limit=limit), view)
        except Misshapen as error:
            self.misshapen[of] = error
            return None

    def unaccepted(self, one: Told) -> str | None:
        """What is wrong with the form of the flagged answer to that request, if it is no answer."""
        for of, error in self.misshapen.items():
            same = (of.query, of.limit, of.agent) == (one.of.query, one.of.limit, one.of.agent)
            if same and of.include_disabled and "FR-001.accepts" in error.clauses:
                return str(error)
        return None

    def own(self, key: ToolKey, *, flag: Any = True, agent: str | None = None) -> Told | None:
        """The answer to the tool's own query."""
        limit = SHOW_LIMIT if flag is True else ABSENT
        return self.ask(own_query(self.bench, key), flag=flag, limit=limit, agent=agent)

    def requests(self, flag: Any) -> Iterator[Told]:
        """The answers to the requests of the world."""
        for one in self.bench.world.requests:
            agent = one.get("agent")
            if agent is None or agent in self.bench.world.agents:
                limit = one.get("limit", ABSENT)
                found = self.ask(one["query"], flag=flag, limit=limit, agent=agent)
                if found is not None and found.answer.error is None:
                    yield found

    def every(self, flag: Any) -> list[Told]:
        """Those, and the answers to the tools' own queries."""
        own = [one for key in self.keys if (one := self.own(key, flag=flag)) is not None]
        return [*self.requests(flag), *(one for one in own if one.answer.error is None)]

    @property
    def is_alive(self) -> bool:
        """Whether the flag reveals anything: else what it does not do proves nothing."""
        return any(one.answer.disabled for one in self.every(True))

    def same(self, one: Told, *, flag: Any, limit: Any = None) -> Told | None:
        """The answer to the same request with another flag."""
        wanted = one.limit if limit is None else limit
        query = one.of.query or ""
        wanted = ABSENT if wanted is None else wanted
        found = self.ask(query, flag=flag, limit=wanted, agent=one.of.agent)
        return found if found is not None and found.answer.error is None else None

    # -- the agents ---------------------------------------------------------------------------

    @cached_property
    def narrow(self) -> list[str]:
        """The agents of narrow scope that were shown a callable tool of their own."""
        return [name for name in self.bench.world.agents if self._is_proven(name)]

    def _is_proven(self, agent: str) -> bool:
        place = ("narrow", agent)
        if place not in self.memory:
            try:
                scoped(self.bench, agent)
                self.memory[place] = True
            except Inconclusive:
                return False
        return bool(beyond(self.bench.world, agent))
