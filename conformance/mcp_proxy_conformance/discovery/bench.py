"""The bench: a check's interface to a started target, its operator side and its upstreams."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from typing import Any, TypeVar

from mcp_proxy_conformance.catalogue.surface import Surface
from mcp_proxy_conformance.catalogue.world import Tool, ToolKey, ToolState, World
from mcp_proxy_conformance.discovery.answer import (
    Answer,
    Listing,
    ServerEntry,
    expect_declared,
    read_inspected,
    read_listing,
)
from mcp_proxy_conformance.discovery.answer_schemas import rejection_findings
from mcp_proxy_conformance.discovery.arming import SHOW_LIMIT, Armed, arm
from mcp_proxy_conformance.discovery.calibration import Path, path_in_words
from mcp_proxy_conformance.discovery.grounds import REVEALS
from mcp_proxy_conformance.discovery.oracle import allowed_statuses, is_withheld
from mcp_proxy_conformance.discovery.requests import (
    ABSENT,
    Called,
    call,
    discover,
    exchanged,
    members,
)
from mcp_proxy_conformance.discovery.targets.started import Started
from mcp_proxy_conformance.targets.waits import Lock, Settling, Tools, awaited, during
from mcp_proxy_conformance.verdict.comparison import note_exchange
from mcp_proxy_conformance.verdict.exchanges import Named, View
from mcp_proxy_conformance.verdict.result import Breach, Cause, Inconclusive, NotApplicable
from mcp_proxy_conformance.wire.client import Way
from mcp_proxy_conformance.wire.faults import ProtocolFault, Unreachable
from mcp_proxy_conformance.wire.reply import Reply, ToolReply
from mcp_proxy_conformance.wire.revisions import LATEST_STATELESS

__all__ = ["ABSENT", "Bench", "Called"]

T = TypeVar("T")
WIRES: Mapping[Way, str] = {
    "auto": "", "handshake": "by handshake", "stateless": f"in {LATEST_STATELESS}",
    "stdio": "over stdio",
}  # fmt: skip
"""How findings name the wire of a view."""
STATELESS_S = 2.0
"""Seconds to wait for the first answer in the stateless revision, which a target need not have."""


class Bench:
    """One check's view of a started target: as that `agent`, at that `endpoint`, on that `wire`."""

    def __init__(
        self,
        started: Started,
        armed: Armed,
        agent: str | None = None,
        endpoint: str = "",
        wire: Way = "auto",
    ) -> None:
        """Keep the target, its proven locks, and the agent, endpoint and wire of requests."""
        self.started = started
        self.armed = armed
        self.agent = agent
        self.endpoint = endpoint
        self.wire = wire

    @property
    def world(self) -> World:
        """The servers, tools, agents and steps of this check."""
        return self.started.world

    @property
    def surface(self) -> Surface:
        """The target's own names of tools, arguments and members."""
        return self.started.target.surface

    @property
    def tools(self) -> dict[ToolKey, Tool]:
        """Every tool of the world, by its key."""
        return self.started.tools

    @property
    def states(self) -> dict[ToolKey, ToolState]:
        """The locks on each tool, by its key, as accepted by the operator side."""
        return self.armed.states

    def as_agent(self, name: str | None) -> Bench:
        """Return a bench of the same target that sends as this agent; None is the administrator."""
        return Bench(self.started, self.armed, name, self.endpoint, self.wire)

    def at(self, endpoint: str) -> Bench:
        """Return a bench of the same target at one of its endpoints, named by its path."""
        return Bench(self.started, self.armed, self.agent, endpoint, self.wire)

    def over(self, wire: Way) -> Bench:
        """Return a bench of the same target over that wire: the stateless revision, or stdio."""
        return Bench(self.started, self.armed, self.agent, self.endpoint, wire)

    @property
    def is_stateless(self) -> bool:
        """Whether the target also speaks the stateless revision; an answer is awaited for 2 s.

        Asked once of a started target, and kept.
        """
        if not self.started.seen & {"stateless", "handshake only"}:
            spoken = "stateless"
            try:
                with self.started.client(wire="stateless").sibling() as client:
                    client.timeout = STATELESS_S
                    client.open()
            except (ProtocolFault, Unreachable):
                spoken = "handshake only"
            self.started.seen.add(spoken)
        return "stateless" in self.started.seen

    def discover(
        self, query: str, *, include_disabled: Any = ABSENT, limit: Any = ABSENT, endpoint: str = ""
    ) -> Answer:
        """Make one discovery call; an argument that is ABSENT is not sent.

        An error is returned in the answer. Raises Misshapen or ProtocolFault for an
        unreadable answer, Unreachable without one, DeclarationFault for a status whose lock
        the target does not declare.
        """
        answer = discover(
            self.started,
            query,
            include_disabled=include_disabled,
            limit=limit,
            endpoint=endpoint or self.endpoint,
            agent=self.agent,
            wire=self.wire,
        )
        expect_declared(answer, self.started.target.capabilities)
        return answer

    def widest(self, query: str, *, include_disabled: Any = ABSENT) -> Answer:
        """Make one discovery call at limit 100, so that no default limit hides what it lacks."""
        return self.discover(query, include_disabled=include_disabled, limit=SHOW_LIMIT)

    def asked(self, query: str, *, include_disabled: Any = ABSENT, limit: Any = ABSENT) -> Answer:
        """Return the answer to a request, shared with other checks that send it in the same state.

        It is sent again after every operator action, between two observations of `until`,
        and when the check is called again. An error is returned in the answer. Raises Misshapen,
        ProtocolFault, Unreachable or DeclarationFault, as `discover` does.
        """
        place = (self.agent, self.endpoint, self.wire, query, repr(include_disabled), repr(limit))
        answer = self.started.answers.get(place)
        if answer is None:
            answer = self.discover(query, include_disabled=include_disabled, limit=limit)
            self.started.answers[place] = answer
        assert isinstance(answer, Answer)
        asked = {"query": query, "include_disabled": include_disabled, "limit": limit}
        note_exchange(answer.reply.messages, self._members(asked))
        return answer

    def revealed(self, query: str, *, limit: Any = SHOW_LIMIT) -> dict[ToolKey, Any]:
        """Return, by tool, the statuses of the locked entries that a query with the flag gets.

        The answer is shared with other checks until the target changes. Inconclusive if it is
        an error.
        """
        answer = self.asked(query, include_disabled=True, limit=limit)
        self.require(
            answer.error is None,
            f"the request with the flag was answered with an error: {answer.error}",
        )
        return answer.statuses()

    def list(self) -> Listing:
        """Call the listing tool and return the servers.

        Breaches of its schema are reported. Raises Misshapen for an error or another shape.
        """
        template = self.surface.listing
        asked = {"list": True}
        reply = self.tool_call(template.tool, template.arguments, asked, endpoint=template.endpoint)
        return self.listing(reply)

    def listing(self, reply: ToolReply) -> Listing:
        """Read a reply of the listing tool; breaches of its schema are reported.

        Misshapen for an error or another shape.
        """
        single = [server.name for server in self.world.servers]
        listing = read_listing(reply, self.surface.members, single)
        self.started.found(listing.findings, "listing of servers", reply.messages)
        return listing

    def inspect(self, server: str) -> ServerEntry:
        """Return the view of one server; breaches of its schema are reported.

        Raises NotApplicable if the target does not declare or name such views, Misshapen
        for an error or another shape.
        """
        reply = self.inspection(server)
        entry = read_inspected(reply, self.surface.members)
        self.started.found(entry.findings, f"view of {server}", reply.messages)
        return entry

    def inspection(self, server: str) -> ToolReply:
        """Ask for the view of one server; return the raw reply, which may be an error.

        Raises NotApplicable if the target does not declare or name such views.
        """
        template = self.surface.inspect
        if template is None or "inspect" not in self.started.target.capabilities:
            raise NotApplicable("inspect is not declared", cause="not_declared")
        tool, arguments = template.filled(ToolKey(server, ""), {})
        return self.tool_call(tool, arguments, {"server": server}, endpoint=template.endpoint)

    def call(
        self, key: ToolKey, arguments: dict[str, Any] | None = None, *, surface: int = 0
    ) -> Called:
        """Call a tool of an upstream once through the proxy; a refusal is returned.

        `surface` is the number of the declared way to call a tool, from 0. A refusal that
        breaches its schema is reported.
        """
        called = call(
            self.started, key, arguments, surface=surface, agent=self.agent, wire=self.wire
        )
        self._found_in(called)
        return called

    def _found_in(self, called: Called) -> None:
        """Report schema breaches in the text of a refused call, if the administrator made it.

        Only for a tool of the world whose locks allow a single status, by which the text is
        judged.
        """
        state = self.states.get(called.key)
        if state is None or called.reached or self.agent is not None:
            return
        if len(statuses := allowed_statuses(state)) == 1:
            findings = rejection_findings(called.text, next(iter(statuses)))
            self.started.found(findings, f"call of {called.key}", called.reply.messages)

    def refusal(self, key: ToolKey) -> str:
        """Return the text of the tool's refused call, shared with other checks in the same state.

        The administrator calls by the first declared way. Raises Inconclusive if the call gets
        through.
        """
        called = self.started.answers.get(("refusal", key))
        if called is None:
            called = Bench(self.started, self.armed).call(key, {})
            self.require(not called.reached, f"the call of {key} was not refused")
            self.started.answers["refusal", key] = called
        assert isinstance(called, Called)
        note_exchange(called.reply.messages, [("tool", str(key))])
        return called.text

    def tool_call(
        self, tool: str, arguments: Any, asked: Mapping[str, Any] = {}, *, endpoint: str = ""
    ) -> ToolReply:
        """Make one tools/call of the target's own tools and return the raw reply, an error too.

        `asked` are the members by which a finding's place names the request.
        """
        asked = {"endpoint": self.endpoint, **asked}
        return exchanged(self.started, tool, arguments, asked, agent=self.agent,
                         endpoint=endpoint or self.endpoint, wire=self.wire)  # fmt: skip

    def request(self, method: str, params: Any) -> Reply:
        """Send any request of the protocol and return the raw reply, an error too."""
        talk = self.started.conversation(self.agent, self.endpoint, self.wire)
        reply = talk.request(method, params)
        note_exchange(reply.messages, self._members({"method": method}))
        return reply

    def _members(self, asked: Mapping[str, Any]) -> Sequence[tuple[str, Any]]:
        return members(self.agent, self.endpoint, self.wire, asked)

    @property
    def place(self) -> View:
        """The view of this bench, as findings name it: agent, endpoint, wire; "" is the usual."""
        endpoint = f"at {self.endpoint}" if self.endpoint else ""
        agent = f"as agent {self.agent}" if self.agent else ""
        return View(" ".join(filter(None, (agent, endpoint, WIRES[self.wire]))), self._members({}))

    def together(self, acts: Sequence[Callable[[], T]], threads: int = 8) -> Sequence[T]:
        """Run all acts on up to `threads` threads, each with its own sessions; wait for all.

        Return their results in order; the first error is raised.
        """
        with ThreadPoolExecutor(threads) as crew:
            return list(
                crew.map(lambda own, act: own.run(act), [copy_context() for _ in acts], acts)
            )

    def upstream_calls(self, key: ToolKey) -> int:
        """Return the number of calls of a tool that its upstream has counted."""
        return self.started.servers[key.server].calls(key.tool)

    @contextmanager
    def untouched(self, *keys: ToolKey) -> Iterator[None]:
        """Raise Breach after the block if upstream counters of these tools moved in it."""
        before = {key: self.upstream_calls(key) for key in keys}
        yield
        moved = {str(k): self.upstream_calls(k) - n for k, n in before.items()}
        if reached := {name: count for name, count in moved.items() if count}:
            by_call = [("reached", True)]
            raise Breach(
                {Named(f"calls of {name}", [("tool", name), *by_call]): count
                 for name, count in reached.items()}
            )  # fmt: skip

    # -- the operator side, on fresh targets -----------------------------------------------

    @property
    def operator(self) -> Started:
        """The started target, for acts of its operator: lock, unlock, refresh, restart."""
        return self.started

    def settled(self, observe: Callable[[], T], expected: T) -> T:
        """Observe until the value is `expected` or the settle time is over; return the last value.

        Shared answers are forgotten before each observation but the first.
        """
        return self.until(observe, lambda observed: observed == expected)

    def until(self, observe: Callable[[], T], holds: Callable[[T], bool]) -> T:
        """Observe until `holds(value)` or the settle time is over; return the last value.

        Shared answers are forgotten before each observation but the first. The time counts
        from the last operator action or, if later, from when a call showed it enforced.
        """
        end = self.started.settled_at

        def anew() -> T:
            """Forget all shared answers and observe again."""
            self.started.answers.clear()
            return observe()

        observed = observe()
        if holds(observed) or time.monotonic() >= end:
            return observed
        left = max(0.0, end - time.monotonic())
        return awaited(Settling(within_s=left), anew, holds)

    def settle(self) -> None:
        """Sleep until the settle time is over, after which answers must be right at once.

        Shared answers are forgotten.
        """
        left = max(0.0, self.started.settled_at - time.monotonic())
        with during(Settling(within_s=left)):
            time.sleep(left)
        self.started.answers.clear()

    def refused(self, key: ToolKey) -> bool:
        """Call a tool until it is refused, up to the enforce time; return whether it was.

        That proves a lock. Either way the settle time starts again now.
        """
        wait = Lock(tool=str(key), within_s=self.started.target.enforce_s)
        reached = awaited(wait, lambda: self.call(key).reached, lambda hit: not hit)
        self.started.settled_from = time.monotonic()
        return not reached

    def stays_refused(self, key: ToolKey) -> bool:
        """Call a tool until it is refused, up to the enforce time, and again after the settle time.

        Return whether it was refused and then, after a sleep until the settle time is over, is
        refused three times in a row; False at once if it was not refused at first.
        """
        if not self.refused(key):
            return False
        self.settle()
        return not any(self.call(key).reached for _ in range(3))

    def reached(self, key: ToolKey) -> bool:
        """Call a tool until its upstream counts it, up to the enforce time; return whether it did.

        That proves an unlock. Either way the settle time starts again now.
        """
        wait = Tools(server=key.server, within_s=self.started.target.enforce_s)
        reached = awaited(wait, lambda: self.call(key).reached, bool)
        self.started.settled_from = time.monotonic()
        return reached

    def ready(self, *keys: ToolKey) -> bool:
        """Wait, up to the ready time, until these callable tools are listed and reached again.

        Return whether they are; either way shared answers are forgotten and the settle time
        starts again. Use it after a restart.
        """

        def back(key: ToolKey) -> bool:
            """Whether a query of its word lists the tool, and a call reaches its upstream."""
            word = self.tools[key].word or key.tool
            return key in self.widest(word).callables() and self.call(key).reached

        server = keys[0].server if keys else ""
        wait = Tools(server=server, within_s=self.started.target.ready_s)
        ready = awaited(wait, lambda: all(back(key) for key in keys), bool)
        self.started.moved(None)
        return ready

    @contextmanager
    def twin(self, world: World | None = None) -> Iterator[Bench]:
        """Start a second target in this or another world, prove its locks, and yield its bench.

        Its messages and schema breaches are reported with the first one's; it is closed after the
        block.
        Raises AdapterError if it does not start.
        """
        own = self.started
        started = Started(own.target, world or self.world, own.scratch, transcript=own.transcript)
        started.findings = own.findings
        try:
            yield Bench(started, arm(started), self.agent)
        finally:
            started.close()

    def cut(self, paths: Iterable[Path]) -> None:
        """Record for the report the paths of members that vary, and are therefore not compared."""
        self.started.cut.update(map(path_in_words, paths))

    def require(
        self, condition: object, reason: str, cause: Cause = "control", needs: Iterable[str] = ()
    ) -> None:
        """Raise Inconclusive with this reason unless the condition, a control, is true.

        `needs` are clauses that must hold for the control to be met.
        """
        if not condition:
            raise Inconclusive(reason, cause=cause, needs=needs)

    def require_revealed(self, shown: object) -> None:
        """Raise Inconclusive unless the flag has `shown` a locked tool."""
        self.require(shown, "the flag revealed no locked tool", needs=REVEALS.values())

    def expect_revealing(self) -> None:
        """Raise Inconclusive unless the flag reveals one of a sample of the locked tools."""
        self.require_revealed(self.flag_alive)

    def require_note(self, shown: object) -> None:
        """Raise Inconclusive unless a note was `shown`."""
        self.require(shown, "no note was seen", needs=("FR-009.note",))

    def expect_block(self) -> None:
        """Raise Inconclusive unless any server of this world is listed with a counts block."""
        self.require(self.block_alive, "no counts block was seen", needs=("FR-010.block",))

    def needs(self, *capabilities: str) -> None:
        """Raise NotApplicable unless the target declares all of these capabilities."""
        if lacking := [w for w in capabilities if w not in self.started.target.capabilities]:
            raise NotApplicable(f"{lacking[0]} is not declared", cause="not_declared")

    def needs_one_of(self, *capabilities: str) -> None:
        """Raise NotApplicable if the target declares none of these capabilities."""
        if not self.started.target.capabilities.intersection(capabilities):
            raise NotApplicable(
                f"none of {', '.join(capabilities)} is declared", cause="not_declared"
            )

    def locked(self, **state: Any) -> tuple[ToolKey, ...]:
        """Return the tools whose locks are exactly these, e.g. `locked(config=True)`.

        Only tools whose calls were seen to be refused count.
        """
        want = ToolState(**state)
        return tuple(k for k in self.armed.refused if self.states[k] == want)

    def relevant(self, key: ToolKey, query: str) -> bool:
        """Whether the query equals the tool's name, or listed the tool while it was callable.

        If the tool is in quarantine or without approval now, the query must also be a part of
        its name, as its description is withheld.
        """
        listed = key in self.armed.shown.get(query, ())
        if key in self.states and is_withheld(self.states[key]):
            listed = listed and query in key.tool
        return listed or query == key.tool

    @property
    def flag_alive(self) -> bool:
        """Whether the flag reveals any tool for the words of sampled locked tools; once true, kept.

        If not, an omission proves nothing.
        """
        return self._seen("flag", lambda: any(self.revealed(word) for word in self._sample_words()))

    @property
    def note_alive(self) -> bool:
        """Whether any default answer to a sampled locked tool's word has a note; once true, kept.

        Raises NotApplicable if each lists a callable tool, so that none is due.
        """
        return self._seen("note", self._any_note)

    def _any_note(self) -> bool:
        """Whether a default answer to a sampled locked tool's word has a note.

        Raises NotApplicable if each lists a callable tool.
        """
        answers = [self.discover(word) for word in self._sample_words()]
        if answers and all(answer.tools for answer in answers):
            raise NotApplicable("every default answer lists a callable tool, so no note is due")
        return any(answer.note for answer in answers)

    @property
    def block_alive(self) -> bool:
        """Whether any server of this world is listed with a counts block; once true, kept."""
        return self._seen(
            "block", lambda: any(entry.has_counts for entry in self.list().servers.values())
        )

    def _sample_words(self) -> Iterator[str]:
        return (self.tools[k].word or k.tool for k in self.armed.samples())

    def _seen(self, what: str, look: Callable[[], bool]) -> bool:
        """Whether `look` has ever held on this target, for this agent, endpoint and wire.

        Once it has, it is not called again; `what` is its name.
        """
        place = f"{what} {self.agent} {self.endpoint} {self.wire}"
        if place not in self.started.seen and look():
            self.started.seen.add(place)
        return place in self.started.seen
