"""Arming of a started target: tools proven callable, locks set, each proven by a refused call."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import msgspec

from mcp_proxy_conformance.catalogue.world import Step, ToolKey, ToolState, World, after, initial
from mcp_proxy_conformance.discovery.answer import Answer, Entry
from mcp_proxy_conformance.discovery.requests import call, discover
from mcp_proxy_conformance.discovery.targets.adapter import LOCK_CAPABILITY
from mcp_proxy_conformance.discovery.targets.started import Started
from mcp_proxy_conformance.targets.target import AdapterError, Refused, Unsupported
from mcp_proxy_conformance.targets.waits import Lock, News, Tools, awaited, during, poll
from mcp_proxy_conformance.verdict.result import Cause, Inconclusive, NotApplicable

LARGE, SAMPLE, SMALL_GROUP = 60, 11, 20


class Unproven(NamedTuple):
    """The reason why a lock's effect was not observed, and its cause; of a step what it needs."""

    reason: str
    cause: Cause
    capability: str = ""

    def error(self, place: object) -> NotApplicable | Inconclusive:
        """Return what a check raises that needs this lock, which is on `place`."""
        if self.cause in ("not_declared", "refused"):
            return NotApplicable(f"{place}: {self.reason}", cause=self.cause)
        return Inconclusive(f"{place}: {self.reason}", cause=self.cause)


NO_EFFECT = Unproven("the lock had no effect", "no_effect")


@dataclass(frozen=True, slots=True, kw_only=True)
class Armed:
    """Results of arming: the controls that later verdicts rest on.

    `shown`: query -> tools that the default answer ever listed while callable, in order;
    `entries`: each callable tool's own entry; `called`: tools whose call moved the upstream's
    counter while unlocked; `refused`: locked tools whose call was refused, in order of proof;
    `skipped`: locks that the target does not declare, or legally refuses; `unproven`: locks whose
    effect was not seen, with the reason.
    """

    states: dict[ToolKey, ToolState]
    shown: dict[str, tuple[ToolKey, ...]] = field(default_factory=dict)
    entries: dict[ToolKey, Entry] = field(default_factory=dict)
    called: set[ToolKey] = field(default_factory=set)
    refused: dict[ToolKey, None] = field(default_factory=dict)
    skipped: dict[ToolKey, Unproven] = field(default_factory=dict)
    unproven: dict[ToolKey, Unproven] = field(default_factory=dict)

    @property
    def doubtful(self) -> frozenset[str]:
        """The servers with a lock that was refused, or whose effect was not seen.

        What was never tried, as it is not declared, leaves no doubt.
        """
        doubts = (*self.unproven.items(), *self.skipped.items())
        return frozenset(key.server for key, why in doubts if why.cause != "not_declared")

    def samples(self) -> tuple[ToolKey, ...]:
        """Return up to six refused tools: three locked by config alone, three by the user alone.

        If there is none of either kind, three with other locks. They show whether the flag
        works at all.
        """
        keys: list[ToolKey] = []
        for pure in (ToolState(config=True), ToolState(user=True)):
            keys += sorted(k for k in self.refused if self.states[k] == pure)[:3]
        return tuple(keys or sorted(self.refused)[:3])


def sampled(world: World) -> tuple[ToolKey, ...]:
    """Return the tools whose locks are proven one by one: all tools of servers with up to 60.

    Of a larger server they are the tools in a group (a shared word) of at most 20 tools, and at
    most 11 others.
    """
    members: dict[str, int] = {}
    for tool in world.tools().values():
        for group in tool.groups:
            members[group] = members.get(group, 0) + 1
    chosen: list[ToolKey] = []
    for server in world.servers:
        keys = [k for k in world.tools() if k.server == server.name]
        if len(keys) > LARGE:
            tools = world.tools()
            small = [k for k in keys if any(members[g] <= SMALL_GROUP for g in tools[k].groups)]
            taken = set(small)
            rest = [k for k in keys if k not in taken]
            keys = [*small, *rest[:: max(1, len(rest) // SAMPLE)][:SAMPLE]]
        chosen += keys
    return tuple(chosen)


SHOW_LIMIT = 100
PATIENT = 2
"""Unreached tools, or ineffective locks, after which further ones are not waited for."""
NEXT_PAGE_S = 2.0
"""Seconds in which a target that shows tools of a server asks for the next page of its list."""


class Prover:
    """Sends the requests that prove locks on one started target; records the results in `armed`."""

    def __init__(self, started: Started, sample: Sequence[ToolKey] = ()) -> None:
        """Keep the started target and the sample of tools to prove; nothing is asked yet.

        Without a sample it is that of the world.
        """
        self.started = started
        self.world = started.world
        self.tools = self.world.tools()
        self.sample = sample or sampled(self.world)
        self.armed = Armed(states=initial(self.world))
        self._unreached = self._unenforced = 0
        self._shown_at: dict[str, float] = {}

    def ask(self, query: str) -> Answer:
        """Return the answer to a query, sent without the flag at the largest limit, 100."""
        return discover(self.started, query, limit=SHOW_LIMIT)

    def expect_call(self, key: ToolKey) -> bool:
        """Call a tool until its upstream counts it, up to the ready time; return whether it did.

        If so the tool is recorded as called. It is called once only after two tools that were
        not reached, or if the target never fetched its page of tools/list.
        """
        patient = self._unreached < PATIENT and not self.page_left_out(key)
        wait = Tools(server=key.server, within_s=self._patience() if patient else 0.0)
        reached = awaited(wait, lambda: call(self.started, key).reached, bool)
        if reached:
            self.armed.called.add(key)
        else:
            self._unreached += 1
        return reached

    def _patience(self) -> float:
        """Return how many seconds to wait for a call to get through: the ready time.

        Until the first call of any tool does, it is the rest of that time since the start,
        but at least one second.
        """
        left = self.started.started_at + self.started.target.ready_s - time.monotonic()
        return max(1.0, left) if not self.armed.called else self.started.target.ready_s

    def page_left_out(self, key: ToolKey) -> bool:
        """Whether the target shows tools of this server, but never fetched the page with this tool.

        The page is one of the server's tools/list. False until 2 s after an answer first
        listed one of the server's tools.
        """
        unasked = self.started.servers[key.server].unasked_page(key.tool)
        return bool(unasked) and self._has_listed(key.server)

    def _has_listed(self, server: str) -> bool:
        """Whether an answer listed one of the server's tools more than 2 s ago."""
        now = time.monotonic()
        return now - self._shown_at.get(server, now) > NEXT_PAGE_S

    def expect_refusal(self, key: ToolKey) -> bool:
        """Call a tool until its upstream does not count the call, up to the enforce time.

        Return whether there was such a call, which proves a lock; record the tool as refused,
        else as unproven. After two locks without effect, further tools are called once only.
        """
        is_worthwhile = self._unenforced < PATIENT and self.armed.unproven.get(key) != NO_EFFECT
        within = self.started.target.enforce_s if is_worthwhile else 0.0
        wait = Lock(tool=str(key), within_s=within)
        reached = awaited(wait, lambda: call(self.started, key).reached, lambda hit: not hit)
        if reached:
            self._unenforced += 1
            self.armed.refused.pop(key, None)
            self.armed.unproven[key] = NO_EFFECT
            return False
        if self.armed.unproven.get(key) == NO_EFFECT:
            self.armed.unproven.pop(key)
        self.armed.refused[key] = None
        return True

    def expect_lasting_refusal(self, key: ToolKey) -> bool:
        """Prove a lock by two refused calls, between which a call of another tool is reached.

        Thus an outage does not pass for a lock; without another callable tool that call is
        left out. Return whether it is proven, and record it.
        """
        beside = self._callable_beside(key)
        if not self.expect_refusal(key):
            return False
        if beside is not None and not self.expect_call(beside):
            self.armed.refused.pop(key)
            self.armed.unproven[key] = Unproven(f"no call reaches {beside} either", "not_reached")
            return False
        return self.expect_refusal(key)

    def _callable_beside(self, key: ToolKey) -> ToolKey | None:
        """Return a called and still callable tool, preferably of the same server, or None."""
        free = [k for k in sorted(self.armed.called) if self.armed.states[k].callable]
        return min(free, key=lambda k: k.server != key.server, default=None)

    def show(self, keys: Iterable[ToolKey]) -> None:
        """Record which callable tools each of the world's queries lists, before they are locked.

        First ask, up to the ready time in all, until each of `keys` is listed for its own word, or
        tools of its server have been listed for a while; one that is not listed is no error. Other
        queries are sent only if nothing is recorded for them yet.
        """
        deadline = time.monotonic() + self.started.target.ready_s
        words = {key: self.tools[key].word or key.tool for key in keys}
        for word in words.values():
            self.note_shown(word, self.ask(word))
        for key, word in words.items():
            if key not in self.armed.shown[word]:
                answer = awaited(
                    Tools(server=key.server, within_s=max(0.0, deadline - time.monotonic())),
                    lambda word=word: self.ask(word),  # type: ignore[misc]
                    lambda answer, key=key: (  # type: ignore[misc]
                        key in answer.callables() or self._has_listed(key.server)
                    ),
                )
                self.note_shown(word, answer)
        every = {w for k in self.sample for w in (self.tools[k].word, *self.tools[k].groups) if w}
        every |= set(self.world.words) | self.exact_names()
        for word in sorted(every - set(self.armed.shown)):
            self.note_shown(word, self.ask(word))

    def exact_names(self) -> set[str]:
        """Return the names of tools that only a query of the exact name finds after all steps.

        Those are in quarantine, without approval, or on a server that is off then.
        """
        states = after(self.world, self.world.steps, initial(self.world))
        return {k.tool for k, s in states.items() if s.quarantined or s.approval or s.server_off}

    def note_shown(self, query: str, answer: Answer) -> None:
        """Record the tools that an answer lists for this query, ahead of those recorded before.

        Of tools that are new, their entries are recorded too. One recorded before that is
        missing now stays: an unlocked tool may be listed only after a delay.
        """
        listed = answer.callables()
        before = self.armed.shown.get(query, ())
        self.armed.shown[query] = (*listed, *(key for key in before if key not in listed))
        for entry in answer.tools:
            self.armed.entries.setdefault(entry.key, entry)
            self._shown_at.setdefault(entry.key.server, time.monotonic())


AGAIN_S, FOLLOWS_S = 0.3, 3.0
SLOWER = 4
"""A refresh that takes so many times what the slowest one took is not followed."""
RETRIED = 3
"""Callable tools that are waited for after a restart."""


class Stepper:
    """Takes a world's steps one by one and proves the effect of each.

    Steps that need an undeclared capability are left out, and their tools are recorded as skipped.
    """

    def __init__(self, prover: Prover) -> None:
        """Keep the prover, on whose target steps are taken and whose results they extend."""
        self.prover = prover
        self.started = prover.started
        self.armed = prover.armed
        self._unseen: dict[str, list[Step]] = {}
        self._unfollowed = 0

    def take(self, *steps: Step) -> None:
        """Take steps of one kind on different servers, then prove the effect of each.

        An effect that is not seen is recorded as unproven. If the target lacks a capability for a
        step, or its operator side refuses it, its tools are recorded as skipped. A step is taken
        without tools that a skipped step would have added, not at all if it names only such tools.
        Raises AdapterError if the target cannot take it.
        """
        before = dict(self.armed.states)
        taken = [done for step in steps if (done := self._tried(step, self._take)) is not None]
        for step in taken:
            self._tried(step, lambda done: self._confirm(done, before))

    def _tried(self, step: Step, act: Callable[[Step], Step | None]) -> Step | None:
        """Return what an act on a step returns; None if the step is skipped."""
        needed = self._needed(step)
        for word in needed:
            if word not in self.started.target.capabilities:
                self._skip(step, Unproven(f"{word} is not declared", "not_declared", word))
                return None
        try:
            return act(step)
        except Refused as refusal:
            self._skip(step, Unproven(str(refusal), "refused", needed[0]))
        except Unsupported as refusal:
            self._skip(step, Unproven(str(refusal), "not_supported", needed[0]))
        return None

    def _skip(self, step: Step, why: Unproven) -> None:
        """Record why the step's tools are skipped; of a refresh, undo what it would make known.

        That is, added tools are forgotten, and changed ones do not await approval.
        """
        for tool in self._touched(step):
            if why.cause != "not_declared" or tool not in self.armed.skipped:
                self.armed.skipped[tool] = why
        for unseen in self._unseen.pop(step.refresh or "", []):
            key = _new_in(unseen)
            if unseen.add is not None:
                self.armed.states.pop(key, None)
            elif key in self.armed.states:
                self.armed.states[key] = replace(self.armed.states[key], approval=None)

    def _take(self, step: Step) -> Step | None:
        """Take a step, and update the locks in `armed` by it; return it as far as it was taken.

        The operator side is not asked about tools on pages that the target left out: it cannot
        know them.
        """
        states, world = self.armed.states, self.prover.world
        there = [tool for tool in step.tools if ToolKey(step.server, tool) in states]
        left_out = [t for t in there if self.prover.page_left_out(ToolKey(step.server, t))]
        if left_out:
            unknown = msgspec.structs.replace(step, tools=tuple(left_out))
            states.update(after(world, [unknown], states))
        known = tuple(tool for tool in there if tool not in left_out)
        if step.tools and not known:
            return None  # the step that adds them was left out, or they are unknown
        step = msgspec.structs.replace(step, tools=known)
        if step.changes_nothing:
            self._use(step)
        elif step.add is not None or step.change is not None:
            self.started.change_upstream(step)
            self._unseen.setdefault(step.server, []).append(step)
        elif step.refresh is not None:
            self.started.refresh(step.refresh)
        elif step.lock is not None:
            step = self._lay(step)
        elif step.unlock == "approval":
            with during(News(server=step.server, within_s=self.started.target.ready_s)):
                self._approve(step)
        elif step.unlock is not None:
            self.started.unlock(step.unlock, step.server, step.tools)
        states.update(after(world, [step], states))
        return step

    def _confirm(self, step: Step, before: dict[ToolKey, ToolState]) -> None:
        """Prove the effect of a lock, an unlock or a refresh; `before` are the locks until then.

        An addition or a change is proven only at the next refresh of its server.
        """
        if step.refresh is not None:
            with during(News(server=step.refresh, within_s=self.started.target.ready_s)):
                self._confirm_refresh(step.refresh)
        elif step.lock is not None:
            self._confirm_lock(step, before)
        elif step.unlock is not None:
            self._confirm_open(step)

    def _use(self, step: Step) -> None:
        """Take a step that changes no lock: a request, a call or a restart.

        After a restart, wait until up to three callable tools are reached again.
        """
        if step.ask is not None:
            optional = {"include_disabled": step.include_disabled, "limit": step.limit}
            arguments: dict[str, Any] = {
                name: value for name, value in optional.items() if value is not None
            }
            discover(self.started, step.ask, agent=step.agent, **arguments)
        elif step.call is not None:
            call(self.started, ToolKey(step.server, step.call), agent=step.agent)
        else:
            self.started.restart()
            free = [key for key in self.armed.called if self.armed.states[key].callable]
            for key in free[:RETRIED]:
                self.prover.expect_call(key)

    def _needed(self, step: Step) -> list[str]:
        """Return the capabilities that the step needs."""
        kind = step.lock or step.unlock
        if step.changes_nothing:
            return ["restart"] if step.restart else ["agents"] if step.agent else []
        if kind is not None:
            return [LOCK_CAPABILITY[kind]]
        trusted = self.prover.world.server(step.server or step.refresh or "").trusted
        return ["refresh"] if trusted or step.refresh else ["refresh", "approval"]

    def _touched(self, step: Step) -> list[ToolKey]:
        """Return the tools whose locks a step changes; of a refresh, those that it makes known."""
        if step.changes_nothing:
            return []
        if not step.tools and (step.lock or step.unlock):
            return [key for key in self.prover.tools if key.server == step.server]
        if step.refresh is not None:
            return [_new_in(unseen) for unseen in self._unseen.get(step.refresh, [])]
        if step.add is not None or step.change is not None:
            return [_new_in(step)]
        return [ToolKey(step.server, tool) for tool in step.tools]

    def _lay(self, step: Step) -> Step:
        """Lay the step's lock; return the step with only those tools that were locked.

        A tool whose user lock the operator side refuses is recorded as skipped; if none is left,
        the step has one tool named "", since no tools would mean the whole server.
        """
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
                why = Unproven(str(refusal), "refused", "user")
                self.armed.skipped[ToolKey(step.server, tool)] = why
        return Step(lock="user", server=step.server, tools=tuple(laid) or ("",))

    def _approve(self, step: Step) -> None:
        """Approve the tools, with refreshes in between, until a call of the first one is reached.

        After the ready time the first tool is recorded as unproven or, if the last approval
        failed, its AdapterError is raised.
        """
        key = ToolKey(step.server, step.tools[0])
        deadline = time.monotonic() + self.started.target.ready_s
        while True:
            failure: AdapterError | None = None
            try:
                self.started.unlock("approval", step.server, step.tools)
            except AdapterError as error:
                failure = error
            if poll(lambda: call(self.started, key).reached, bool, AGAIN_S):
                return
            if time.monotonic() > deadline:
                if failure is not None:
                    raise failure
                self.armed.unproven[key] = Unproven(
                    "approved, but no call reaches the upstream", "not_reached", "approval"
                )
                return
            self.started.refresh(step.server)

    def _confirm_lock(self, step: Step, before: dict[ToolKey, ToolState]) -> None:
        """Prove a lock by a lasting refusal of one tool that it hits.

        It is the first of the sample that was called and was callable until this step (by
        `before`, the locks then); nothing without one.
        """
        for key in self.prover.sample:
            hit = key.server == step.server and (not step.tools or key.tool in step.tools)
            if hit and key in before and before[key].callable and key in self.armed.called:
                self.prover.expect_lasting_refusal(key)
                return

    def _confirm_open(self, step: Step) -> None:
        """Prove an unlock by a call of each of its tools that is now callable.

        One that is reached is no longer recorded as refused, and what its own query lists is
        recorded. Nothing is proven if the step names no tools.
        """
        for tool in step.tools:
            key = ToolKey(step.server, tool)
            if self.armed.states[key].callable and self.prover.expect_call(key):
                self.armed.refused.pop(key, None)
                self.prover.show([key])

    def _confirm_refresh(self, server: str) -> None:
        """Refresh an untrusted server until calls of its new and changed tools are refused.

        A trusted server's new tools are called instead, as they are not locked. The wait is four
        times that for the slowest refresh that such a target followed, from 3 s to the ready time;
        none after a refresh that it did not follow.
        """
        steps = self._unseen.pop(server, [])
        trusted = self.prover.world.server(server).trusted
        for step in steps:
            key = _new_in(step)
            if trusted:
                if step.add is not None:
                    self.prover.show([key])
                    self.prover.expect_call(key)
                continue
            if step.add is not None or key in self.armed.called:
                began, lag = time.monotonic(), self.started.effects.lag
                news = "tool" if step.add else "text" if step.description is not None else "schema"
                kind = f"refresh of a {news}"
                deadline = began + (0.0 if lag.is_in_vain(kind) else self._patience())
                while poll(lambda k=key: call(self.started, k).reached, lambda r: not r, AGAIN_S):  # type: ignore[misc]
                    if time.monotonic() > deadline:
                        self._unfollowed += 1
                        lag.missed[kind] += 1
                        self.armed.unproven[key] = NO_EFFECT
                        break
                    self.started.refresh(server)
                else:
                    lag.seen(kind, time.monotonic() - began, polled=False)

    def _patience(self) -> float:
        """Return the seconds after which a refresh counts as not followed by the target."""
        if self._unfollowed:
            return 0.0
        ready = self.started.target.ready_s
        slowest = max(self.started.effects.lag.refreshes, default=ready)
        return min(ready, max(FOLLOWS_S, SLOWER * slowest))


def _new_in(step: Step) -> ToolKey:
    """Return the tool that a step adds or changes."""
    return ToolKey(step.server, step.add.name if step.add else step.change or "")


def arm(started: Started) -> Armed:
    """Prove the started world's tools callable, lock its deny lists again, take its steps.

    Return the results, once its locks are proven; the settle time begins then. What cannot be
    proven, or is not declared, is recorded in them. Raises AdapterError if a step fails
    otherwise.
    """
    stepper = proven(started)
    for step in (*denials(started.world), *started.world.steps):
        stepper.take(step)
    confirm_all(stepper.prover)
    started.effects.tried = None
    return stepper.armed


def proven(started: Started, sample: Sequence[ToolKey] = ()) -> Stepper:
    """Prove the sampled tools of a world callable, before its steps; return the Stepper for these.

    Initial denials are lifted first, and what each query lists is recorded. Without a sample it is
    that of the world.
    """
    prover = Prover(started, sample)
    armed = prover.armed
    _lift_initial_denials(prover)
    prover.show(key for key in prover.sample if key in armed.states)
    for key in prover.sample:
        if key in armed.states and armed.states[key].callable:
            prover.expect_call(key)
    return Stepper(prover)


def denials(world: World) -> list[Step]:
    """Return, for each server with a deny list, the step that sets it again after the proof."""
    lists = {server.name: server.deny for server in world.servers if server.deny}
    return [Step(lock="config", server=name, tools=tools) for name, tools in lists.items()]


def _lift_initial_denials(prover: Prover) -> None:
    """Confirm that some initially denied tools are refused, then lift their servers' deny lists.

    After that these servers' tools count as unlocked, and no refusal is recorded; a denial
    without effect stays recorded as unproven.
    """
    for server in prover.world.servers:
        if not server.deny:
            continue
        denied = [k for k in prover.sample if k.server == server.name and k.tool in server.deny]
        for key in denied[:SAMPLE]:
            prover.expect_refusal(key)
        prover.started.unlock("config", server.name, server.deny)
        for key in prover.armed.states:
            if key.server == server.name:
                prover.armed.states[key] = ToolState()
    prover.armed.refused.clear()


def confirm_all(prover: Prover) -> None:
    """Prove each sampled lock by a refused call, or record in `armed` why it cannot be.

    It cannot for a tool that was never called, unless it is pending and another tool of its
    server was. The settle time starts here.
    """
    armed = prover.armed
    for key in prover.sample:
        state = armed.states.get(key)
        if state is None or state.callable:
            continue
        siblings = [other for other in armed.called if other.server == key.server]
        if key in armed.called or (state.approval == "pending" and siblings):
            prover.expect_refusal(key)
        else:
            armed.unproven[key] = _never_callable(prover, key)
    prover.started.settled_from = time.monotonic()


def _never_callable(prover: Prover, key: ToolKey) -> Unproven:
    """Return why a tool was never callable: the page of tools/list not fetched, or unknown."""
    page = prover.started.servers[key.server].unasked_page(key.tool)
    if page:
        asked = "page 1 only" if page == SECOND else f"no page after {page - 1}"
        reason = f"it is on page {page} of tools/list; the target asked for {asked}"
        return Unproven(reason, "page_unasked")
    return Unproven("it was never callable on this target", "not_reached")


SECOND = 2
