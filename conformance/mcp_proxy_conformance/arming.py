"""Arming: before any verdict, every lock is proven by enforcement, every query by relevance."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from mcp_proxy_conformance.discovery.answer import Answer, Entry, read_answer
from mcp_proxy_conformance.state import ToolState, after, initial
from mcp_proxy_conformance.target.adapter import AdapterError, Refused
from mcp_proxy_conformance.target.started import Started, poll
from mcp_proxy_conformance.world import Step, ToolKey, World

LARGE, SAMPLE, SMALL_GROUP = 60, 11, 20
SHOW_LIMIT = 100
AGAIN_S = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Armed:
    """What arming proved: the controls that later verdicts rest on.

    `shown`: query -> tools that the default answer listed while callable, in order;
    `entries`: each callable tool's own entry; `called`: tools whose call moved the upstream's
    counter while unlocked; `refused`: locked tools, the text of their refused call;
    `skipped`: combinations that the operator side legally refused; `unproven`: locks whose
    effect was not seen, with the reason.
    """

    states: dict[ToolKey, ToolState]
    shown: dict[str, tuple[ToolKey, ...]] = field(default_factory=dict)
    entries: dict[ToolKey, Entry] = field(default_factory=dict)
    called: set[ToolKey] = field(default_factory=set)
    refused: dict[ToolKey, str] = field(default_factory=dict)
    skipped: dict[ToolKey, str] = field(default_factory=dict)
    unproven: dict[ToolKey, str] = field(default_factory=dict)

    def samples(self) -> tuple[ToolKey, ...]:
        """Up to six refused tools: three locked by config alone, three by the user alone."""
        found: list[ToolKey] = []
        for pure in (ToolState(config=True), ToolState(user=True)):
            found += sorted(k for k in self.refused if self.states[k] == pure)[:3]
        return tuple(found)


def arm(started: Started) -> Armed:
    """Prove a started world, then take its steps; slow targets are polled, never waited for."""
    return _Arming(started).run()


def sampled(world: World) -> tuple[ToolKey, ...]:
    """The tools whose locks are proven one by one: all, but of a large server a sample."""
    members: dict[str, int] = {}
    for one in world.tools().values():
        for group in one.groups:
            members[group] = members.get(group, 0) + 1
    chosen: list[ToolKey] = []
    for server in world.servers:
        keys = [k for k in world.tools() if k.server == server.name]
        if len(keys) > LARGE:
            tools = world.tools()
            small = [k for k in keys if any(members[g] <= SMALL_GROUP for g in tools[k].groups)]
            rest = [k for k in keys if k not in set(small)]
            keys = [*small, *rest[:: max(1, len(rest) // SAMPLE)][:SAMPLE]]
        chosen += keys
    return tuple(chosen)


class _Arming:
    def __init__(self, started: Started) -> None:
        self.started = started
        self.world = started.world
        self.tools = self.world.tools()
        self.sample = sampled(self.world)
        self.armed = Armed(states=initial(self.world))
        self.pending_refresh: dict[str, list[Step]] = {}

    def run(self) -> Armed:
        self.lift_initial_denials()
        self.show(k for k in self.sample if k in self.armed.states)
        for key in self.sample:
            if key in self.armed.states and self.armed.states[key].callable:
                self.expect_call(key)
        self.restore_initial_denials()
        for step in self.world.steps:
            self.take(step)
        self.confirm_all()
        return self.armed

    # -- talking ---------------------------------------------------------------------------

    def ask(self, query: str) -> Answer:
        names = self.started.target.surface
        reply = self.started.client().call_tool(
            names.discovery_tool, {names.query: query, names.limit: SHOW_LIMIT}
        )
        return read_answer(reply, query, names.members, self.tools)

    def call(self, key: ToolKey) -> tuple[bool, str]:
        template = self.started.target.surface.calls[0]
        tool, arguments = template.filled(key, {})
        upstream = self.started.servers[key.server]
        before = upstream.calls(key.tool)
        reply = self.started.client(endpoint=template.endpoint).call_tool(tool, arguments)
        text = str(reply.error) if reply.error else "\n".join(reply.texts)
        return upstream.calls(key.tool) > before, text

    def expect_call(self, key: ToolKey) -> bool:
        reached, _ = poll(lambda: self.call(key), lambda seen: seen[0], self.started.target.ready_s)
        if reached:
            self.armed.called.add(key)
        return reached

    def expect_refusal(self, key: ToolKey) -> bool:
        reached, text = poll(
            lambda: self.call(key), lambda seen: not seen[0], self.started.target.enforce_s
        )
        if reached:
            self.armed.unproven[key] = "the lock had no effect"
            return False
        self.armed.refused[key] = text
        return True

    # -- before the locks ------------------------------------------------------------------

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
        self.armed.shown[query] = answer.callables()
        for entry in answer.tools:
            self.armed.entries.setdefault(entry.key, entry)

    def lift_initial_denials(self) -> None:
        """A deny list in place from the start: confirmed refused, then lifted (section 0)."""
        for server in self.world.servers:
            denied = [k for k in self.sample if k.server == server.name and k.tool in server.deny]
            for key in denied[:SAMPLE]:
                self.expect_refusal(key)
            if server.deny:
                self.started.unlock("config", server.name, server.deny)
                for key in self.armed.states:
                    if key.server == server.name:
                        self.armed.states[key] = ToolState()
        self.armed.refused.clear()

    def restore_initial_denials(self) -> None:
        for server in self.world.servers:
            if server.deny:
                self.take(Step(lock="config", server=server.name, tools=server.deny))

    # -- the steps -------------------------------------------------------------------------

    def take(self, step: Step) -> None:
        before = dict(self.armed.states)
        if step.add is not None or step.change is not None:
            self.started.change_upstream(step)
            self.pending_refresh.setdefault(step.server, []).append(step)
        elif step.refresh is not None:
            self.started.refresh(step.refresh)
        elif step.lock is not None:
            step = self.lay(step)
        elif step.unlock == "approval":
            self.approve(step)
        elif step.unlock is not None:
            self.started.unlock(step.unlock, step.server, step.tools)
        self.armed.states.update(after(self.world, [step], before))
        if step.refresh is not None:
            self.confirm_refresh(step.refresh, before)
        elif step.lock is not None:
            self.confirm_lock(step, before)
        elif step.unlock is not None:
            self.confirm_open(step)

    def lay(self, step: Step) -> Step:
        """Lay a lock; what the operator side legally refuses is left out and noted."""
        assert step.lock is not None
        if step.lock != "user":
            self.started.lock(step.lock, step.server, step.tools)
            return step
        laid = []
        for tool in step.tools:
            try:
                self.started.lock("user", step.server, [tool])
                laid.append(tool)
            except Refused as refusal:
                self.armed.skipped[ToolKey(step.server, tool)] = str(refusal)
        return Step(lock="user", server=step.server, tools=tuple(laid) or ("",))

    def approve(self, step: Step) -> None:
        """Approve, again until the target has seen the tool: `ok` means accepted, not visible."""
        key = ToolKey(step.server, step.tools[0])
        deadline = time.monotonic() + self.started.target.ready_s
        while True:
            failure: AdapterError | None = None
            try:
                self.started.unlock("approval", step.server, step.tools)
            except AdapterError as error:
                failure = error
            if poll(lambda: self.call(key)[0], bool, AGAIN_S):
                return
            if time.monotonic() > deadline:
                if failure is not None:
                    raise failure
                self.armed.unproven[key] = "approved, but no call reaches the upstream"
                return
            self.started.refresh(step.server)

    def confirm_lock(self, step: Step, before: dict[ToolKey, ToolState]) -> None:
        """Prove the lock on a tool that was callable until now."""
        for key in self.sample:
            hit = key.server == step.server and (not step.tools or key.tool in step.tools)
            if hit and key in before and before[key].callable and key in self.armed.called:
                self.expect_refusal(key)
                return

    def confirm_open(self, step: Step) -> None:
        """Prove an unlock, and learn what an added and approved tool looks like."""
        for tool in step.tools:
            key = ToolKey(step.server, tool)
            if self.armed.states[key].callable and self.expect_call(key):
                self.armed.refused.pop(key, None)
                self.show([key])

    def confirm_refresh(self, server: str, before: dict[ToolKey, ToolState]) -> None:
        """Look again until a changed tool is refused; added ones are proven by their sibling."""
        steps = self.pending_refresh.pop(server, [])
        trusted = self.world.server(server).trusted
        for step in steps:
            key = ToolKey(server, step.add.name if step.add else step.change or "")
            if trusted:
                if step.add is not None:
                    self.show([key])
                    self.expect_call(key)
                continue
            if step.change is not None and key in self.armed.called:
                deadline = time.monotonic() + self.started.target.ready_s
                while poll(lambda k=key: self.call(k)[0], lambda r: not r, AGAIN_S):  # type: ignore[misc]
                    if time.monotonic() > deadline:
                        break
                    self.started.refresh(server)
        del before

    def confirm_all(self) -> None:
        """Every sampled locked tool is refused and its upstream counter stands still."""
        for key in self.sample:
            state = self.armed.states.get(key)
            if state is None or state.callable:
                continue
            if key in self.armed.called or state.approval == "pending":
                self.expect_refusal(key)
            else:
                self.armed.unproven[key] = "it was never callable on this target"
