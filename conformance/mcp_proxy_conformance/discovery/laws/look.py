"""`Look` at a target between two steps of its world: answers all laws share; a law's `Findings`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import msgspec

from mcp_proxy_conformance.catalogue.world import ToolKey, ToolState
from mcp_proxy_conformance.discovery.agents import beyond, scoped
from mcp_proxy_conformance.discovery.answer import Answer, Entry
from mcp_proxy_conformance.discovery.arming import SHOW_LIMIT
from mcp_proxy_conformance.discovery.bench import ABSENT, Bench
from mcp_proxy_conformance.discovery.case import When
from mcp_proxy_conformance.discovery.locked_entries import own_query
from mcp_proxy_conformance.discovery.requests import in_words
from mcp_proxy_conformance.verdict.comparison import Comparison, about
from mcp_proxy_conformance.verdict.result import Finding, Inconclusive, Misshapen

MOST_KEYS = 12
"""Maximum of locked tools that are looked at: one per server and combination of locks."""


@dataclass(slots=True)
class Findings:
    """The results of a law in one look.

    `locks` maps each locked tool to its locks in words, `sent` each request in words to the
    messages of its latest exchange.
    """

    locks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sent: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    compared: Comparison = field(default_factory=Comparison)

    def truth(
        self, clauses: Iterable[str], request: When, observed: Any, *, holds: bool, wanted: Any,
        counts: bool = True, topic: str = "", shows: Iterable[str] | None = None,
    ) -> None:  # fmt: skip
        """Compare an observation with the wanted one; if `holds` is false, the clauses are broken.

        `topic` is the tool, server or text that it is about; of breaches of the same request,
        topic and clauses only the last is reported. `counts`: whether the law
        applies here; then `shows` are observed, by default the same clauses.
        """
        words = request_in_words(request)
        path = ", ".join(filter(None, (words, topic)))
        self.compared.messages = self.sent.get(words, ())
        self.compared.truth(path, observed, holds=holds, allowed=wanted, breaks=clauses,
                            shows=shows if counts else ())  # fmt: skip

    def broken(self) -> dict[tuple[str, tuple[str, ...]], Finding]:
        """Return the findings by (path, clauses), each with the tools that it is about."""
        found = (about(finding, self.locks) for finding in self.compared.findings)
        return {(finding.path, finding.clauses): finding for finding in found}


@dataclass(frozen=True, slots=True)
class DiscoveryExchange:
    """An exchange: a request and its answer, which has the declared shape."""

    request: When
    answer: Answer
    view: Bench

    @property
    def limit(self) -> float | None:
        """The limit of the request; None if it has none, or one that is not a number."""
        return self.request.limit if isinstance(self.request.limit, (int, float)) else None


def request_in_words(request: When) -> str:
    """Return a request in words, without members that are not set."""
    agent = {} if request.agent is None else {"agent": request.agent}
    if request.do == "list":
        return in_words({"list": True} | agent)
    if request.do == "call":
        return in_words({"do": f"call of {request.tool}"} | agent)
    sent = {
        "query": request.query,
        "include_disabled": request.include_disabled,
        "limit": request.limit,
    }
    given = {name: value for name, value in sent.items() if value not in (None, msgspec.UNSET)}
    return in_words(given | agent)


class Look:
    """One look at a target between two steps of its world; every law is judged on its answers.

    `bench` sends discovery requests, at any of the target's places, and `home` at the usual one;
    `unsure` are tools whose lock outlived a restart, which may forget its reason; `number` is that
    of the steps taken; `servers` are those whose tools it is about, and `asks` the world's requests
    for them. `memory` is kept from one look at a world to the next. `exchanges` are all
    of this look, and `sent` the messages of the latest one of each request, in words; `misshapen`
    are the requests whose answers do not have the declared shape, with
    the fault.
    """

    def __init__(
        self, bench: Bench, unsure: frozenset[ToolKey], number: int, memory: dict[Any, Any], *,
        servers: Collection[str], asks: Sequence[Mapping[str, Any]],
    ) -> None:  # fmt: skip
        """Keep what the class describes; ask nothing yet."""
        self.bench = bench
        self.home = Bench(bench.started, bench.armed)
        self.unsure = unsure
        self.number = number
        self.asks = asks
        self._servers = servers
        self.memory = memory
        self.exchanges: list[DiscoveryExchange] = []
        self.misshapen: dict[When, Misshapen] = {}
        self.sent: dict[str, tuple[str, ...]] = {}
        self._asked: dict[tuple[str, str, str, str | None], DiscoveryExchange | None] = {}

    # -- the tools that can be judged ---------------------------------------------------------

    @cached_property
    def proven(self) -> list[ToolKey]:
        """The locked tools whose calls were refused when their locks were proven."""
        return [k for k in self.bench.armed.refused if not self.bench.states[k].callable]

    @cached_property
    def keys(self) -> list[ToolKey]:
        """The locked tools that laws look at: one for each server and combination of locks.

        At most twelve; of several with equal locks on one server another one in each look.
        The first tool of each combination is always among them.
        """
        kinds: dict[tuple[str, ToolState], list[ToolKey]] = {}
        for key in self.proven:
            if key.server in self._servers:
                kinds.setdefault((key.server, self.bench.states[key]), []).append(key)
        firsts = {self.bench.states[own[0]]: own[0] for own in reversed(kinds.values())}
        turn = [own[self.number % len(own)] for own in kinds.values()]
        return list(dict.fromkeys([*firsts.values(), *turn]))[:MOST_KEYS]

    @cached_property
    def free(self) -> list[ToolKey]:
        """The callable tools that a call has reached, in order of their names; none if lost."""
        armed, states = self.bench.armed, self.bench.states
        called = [key for key in sorted(armed.called) if key not in armed.unproven]
        return [key for key in called if states[key].callable and not states[key].lost]

    def named(self, entry: Entry) -> ToolKey | None:
        """Return the world's tool that an entry names, or whose word is in its name; else None.

        Of several with that word there is none.
        """
        if entry.key in self.bench.tools:
            return entry.key
        fit = [
            key for key, tool in self.bench.tools.items() if tool.word and tool.word in entry.name
        ]
        return fit[0] if len(fit) == 1 else None

    def is_own(self, key: ToolKey) -> bool:
        """Whether no other server has a tool of this tool's name."""
        return sum(other.tool == key.tool for other in self.bench.tools) == 1

    # -- the answers --------------------------------------------------------------------------

    def ask(
        self, query: str, *, flag: Any = ABSENT, limit: Any = ABSENT, agent: str | None = None,
        anew: bool = False,
    ) -> DiscoveryExchange | None:  # fmt: skip
        """Return a request's exchange, sent now or, unless `anew`, by an earlier law of this look.

        An error is an answer; None if the answer is misshapen, which `misshapen` keeps.
        """
        if anew:
            return self._sent(query, flag=flag, limit=limit, agent=agent)
        place = (query, repr(flag), repr(limit), agent)
        if place not in self._asked:
            self._asked[place] = self._sent(query, flag=flag, limit=limit, agent=agent)
        return self._asked[place]

    def _sent(
        self, query: str, *, flag: Any, limit: Any, agent: str | None
    ) -> DiscoveryExchange | None:
        view = self.bench if agent is None else self.bench.as_agent(agent)
        request = When(
            do="discover",
            query=query,
            include_disabled=None if flag is ABSENT else flag,
            limit=msgspec.UNSET if limit is ABSENT else limit,
            agent=agent,
        )
        try:
            answer = view.discover(query, include_disabled=flag, limit=limit)
        except Misshapen as error:
            self.misshapen[request] = error
            return None
        exchange = DiscoveryExchange(request, answer, view)
        self.exchanges.append(exchange)
        self.sent[request_in_words(request)] = answer.reply.messages
        return exchange

    def unaccepted(self, exchange: DiscoveryExchange) -> str | None:
        """Return the fault if the request was not accepted with the flag true; None otherwise."""
        for request, error in self.misshapen.items():
            same = (request.query, request.limit, request.agent) == (
                exchange.request.query,
                exchange.request.limit,
                exchange.request.agent,
            )
            if same and request.include_disabled and "FR-001.accepts" in error.clauses:
                return str(error)
        return None

    def own(
        self, key: ToolKey, *, flag: Any = True, agent: str | None = None, anew: bool = False
    ) -> DiscoveryExchange | None:
        """Return the exchange of the tool's own query, by default with the flag at limit 100.

        That is its unique word, or its name. In another form of the flag no limit is sent.
        None if the answer is misshapen.
        """
        limit = SHOW_LIMIT if flag is True else ABSENT
        return self.ask(own_query(self.bench, key), flag=flag, limit=limit, agent=agent, anew=anew)

    def requests(self, flag: Any) -> Iterator[DiscoveryExchange]:
        """Send the look's requests in that form of the flag; yield the exchanges without an error.

        Requests of agents that the world lacks are skipped; an answer is reused if a law
        sent the request before.
        """
        for request in self.asks:
            agent = request.get("agent")
            if agent is None or agent in self.bench.world.agents:
                limit = request.get("limit", ABSENT)
                exchange = self.ask(request["query"], flag=flag, limit=limit, agent=agent)
                if exchange is not None and exchange.answer.error is None:
                    yield exchange

    def every(self, flag: Any) -> list[DiscoveryExchange]:
        """Return the error-free exchanges of the look's requests and of tools' own queries.

        All are in that form of the flag.
        """
        own = [exchange for key in self.keys if (exchange := self.own(key, flag=flag)) is not None]
        return [
            *self.requests(flag),
            *(exchange for exchange in own if exchange.answer.error is None),
        ]

    @property
    def is_alive(self) -> bool:
        """Whether any flagged answer lists a locked tool; otherwise an omission proves nothing."""
        return any(exchange.answer.disabled for exchange in self.every(True))

    def same(
        self, exchange: DiscoveryExchange, *, flag: Any, limit: Any = None
    ) -> DiscoveryExchange | None:
        """Return the exchange of the same request with this flag and, if given, this limit.

        None on an error or a misshapen answer.
        """
        wanted = exchange.limit if limit is None else limit
        query = exchange.request.query or ""
        wanted = ABSENT if wanted is None else wanted
        again = self.ask(query, flag=flag, limit=wanted, agent=exchange.request.agent)
        return again if again is not None and again.answer.error is None else None

    # -- the agents ---------------------------------------------------------------------------

    @cached_property
    def narrow(self) -> list[str]:
        """The agents that may not see every server and list a callable tool within their scope.

        They are asked for one unless an earlier look at the world saw it.
        """
        return [name for name in self.bench.world.agents if self._is_proven(name)]

    def _is_proven(self, agent: str) -> bool:
        """Whether a server is beyond the agent's scope and it sees a callable tool in its scope.

        That it sees one is remembered for later looks.
        """
        place = ("narrow", agent)
        if place not in self.memory:
            try:
                scoped(self.bench, agent)
                self.memory[place] = True
            except Inconclusive:
                return False
        return bool(beyond(self.bench.world, agent))
