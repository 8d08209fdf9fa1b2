"""Plan of a generated world's steps and looks; its builder leaves out illegal or idle steps."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import structs

from mcp_proxy_conformance.catalogue.world import (
    LockKind,
    Server,
    Step,
    Tool,
    ToolKey,
    ToolState,
    World,
    after,
    initial,
)
from mcp_proxy_conformance.discovery.laws.names import CANARIES, SERVERS, SHARED, WORDS
from mcp_proxy_conformance.discovery.targets.adapter import LOCK_CAPABILITY

States = dict[ToolKey, ToolState]
APPROVABLE = (ToolState(), ToolState(approval="pending"), ToolState(approval="changed"))
LONGEST = 40
"""Maximum letters of the names of server and tool together, as everywhere in the suite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldAct:
    """One act of the generator, which becomes steps of a world; server and tools are numbers.

    `do` is its kind, such as `unconfig` or `restart`; `flag` is that of a request.
    """

    do: str
    server: int = 0
    tools: tuple[int, ...] = (0,)
    flag: bool | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """A world with its steps, and the numbers of steps after which every law is tried."""

    world: World
    looks: tuple[int, ...]

    def upto(self, count: int) -> Plan:
        """Return the plan cut after its first `count` steps, with the looks until then."""
        world = replaced(self.world, steps=self.world.steps[:count])
        return Plan(world, tuple(look for look in self.looks if look <= count))


def replaced(world: World, **members: Any) -> World:
    """Return a copy of the world with these fields replaced."""
    return structs.replace(world, **members)


def a_tool(number: int, verb: str, text: str, groups: Sequence[int], *, planted: bool) -> Tool:
    """Make tool `number` of a world, with a word of its own and, if `planted`, a canary.

    Its name is `verb_word`, or the word if the verb is empty or the name too long. `text` ends
    its description; `groups` are numbers of shared words in it.
    """
    word, canary = WORDS[number], CANARIES[number]
    shared = tuple(dict.fromkeys(SHARED[group] for group in groups))
    words = " ".join([word.capitalize(), *shared, *([canary] if planted else [])])
    description = f"{words}. {text}".strip()
    name = f"{verb}_{word}" if verb else word
    return Tool(
        name=name if len(name) <= LONGEST - max(map(len, SERVERS)) else word,
        description=description,
        word=word,
        groups=shared,
        canaries=(canary,),
        input_schema=_schema(canary) if planted else {"type": "object"},
        annotations={"title": canary} if planted else None,
    )


def _schema(canary: str) -> dict[str, Any]:
    """Return an input schema with a single property, which is named as the canary."""
    return {"type": "object", "properties": {canary: {"type": "string"}}}


def is_sensible(world: World) -> bool:
    """Whether each step of the world is legal at its place, has an effect, and can be proven.

    A refresh or restart must follow each added or changed tool, before any step names it.
    """
    states, unread = initial(world), set[ToolKey]()
    for step in world.steps:
        named = {ToolKey(step.server, name) for name in (*step.tools, step.call or "")}
        if unread & named or not _is_fit(world, states, step):
            return False
        states = after(world, [step], states)
        unread = _unread_after(step, unread)
    return not unread


def _unread_after(step: Step, unread: Collection[ToolKey]) -> set[ToolKey]:
    """Return which tools, added or changed, the target has not read again after this step.

    `unread` are those before it.
    """
    if step.add is not None or step.change is not None:
        name = step.change if step.add is None else step.add.name
        return {*unread, ToolKey(step.server, name or "")}
    return {key for key in unread if not step.restart and key.server != step.refresh}


def _is_fit(world: World, states: States, step: Step) -> bool:
    """Whether a step is legal with these locks on tools, has an effect, and can be proven.

    A request or refresh always is; a restart needs a callable tool.
    """
    if step.restart is not None:
        return any(state.callable for state in states.values())
    if step.ask is not None or step.refresh is not None or step.call is not None:
        return step.call is None or ToolKey(step.server, step.call) in states
    if step.lock in ("quarantine", "server") or step.unlock in ("quarantine", "server"):
        return _fits_server(states, step)
    if step.add is not None:
        return is_open(states, step.server)
    names = step.tools or (step.change or "",)
    keys = [ToolKey(step.server, name) for name in names]
    if not keys or not is_open(states, step.server) or not set(keys) <= states.keys():
        return False
    if step.change is not None:
        return states[keys[0]].approval is None and not world.server(step.server).trusted
    if step.unlock == "approval":
        return all(states[key] in APPROVABLE for key in keys)
    kind = step.lock or step.unlock
    return all(fits(states[key], kind, lift=step.lock is None) for key in keys)


def _fits_server(states: States, step: Step) -> bool:
    """Whether a quarantine, release, turning off or on of the step's server has an effect.

    A server that is off can only be turned on.
    """
    own = [state for key, state in states.items() if key.server == step.server]
    off, held = any(state.server_off for state in own), any(state.quarantined for state in own)
    if step.lock == "quarantine":
        return not off and not held
    if step.unlock == "quarantine":
        return held and not off
    return off if step.unlock == "server" else bool(own) and not off


def fits(state: ToolState, kind: LockKind | None, *, lift: bool) -> bool:
    """Whether a lock of this kind (user, else config) can be laid on a tool or, if `lift`, lifted.

    One by the user can be neither where config denies the tool.
    """
    if kind == "user":
        return state.user is lift and not state.config
    return state.config if lift else not state.config


def is_open(states: States, server: str) -> bool:
    """Whether the server is on and not in quarantine."""
    own = [state for key, state in states.items() if key.server == server]
    return not any(state.server_off or state.quarantined for state in own)


class Builder:
    """Makes the steps of a world out of acts; ones that the target cannot take are left out.

    `can` are the target's declared capabilities.
    """

    def __init__(
        self, servers: Iterable[Server], agents: dict[str, tuple[str, ...]], can: Collection[str]
    ) -> None:
        """Begin with the approval of the untrusted servers' tools, if the target declares approval.

        `agents` are left out if it does not declare agents.
        """
        self._can = can
        self.steps: list[Step] = []
        self.world = World(
            servers=tuple(servers), agents=agents if "agents" in can else {}, id="law", version=1
        )
        self._taken = {tool.word for tool in self.world.tools().values()}
        self.states = initial(self.world)
        for server in self.world.servers:
            if not server.trusted and "approval" in can:
                names = tuple(tool.name for tool in server.tools)
                self._take(Step(unlock="approval", server=server.name, tools=names))

    def plan(self, looks: Iterable[int], requests: Iterable[dict[str, Any]]) -> Plan:
        """Return the plan built so far, with looks after these numbers of steps and at its end."""
        steps = tuple(self.steps)
        world = replaced(self.world, steps=steps, requests=tuple(requests))
        return Plan(world, tuple(sorted({*looks, len(steps)})))

    def act(self, act: WorldAct) -> bool:
        """Take an act, as one step or several that belong together; return whether it was taken.

        Numbers of servers and tools beyond the last count on from the first. The act `ask`
        sends the tool's name or, if it has a flag, its word; a restart needs a callable tool.
        """
        server = self.world.servers[act.server % len(self.world.servers)]
        keys = [key for key in self.states if key.server == server.name]
        chosen = list(dict.fromkeys(keys[number % len(keys)] for number in act.tools))
        before = len(self.steps)
        if act.do in ("config", "user", "unconfig", "unuser"):
            self._lock(act.do, server.name, chosen)
        elif act.do in ("quarantine", "release", "off", "on"):
            self._switch(act.do, server.name)
        elif act.do in ("add", "change", "reshape", "approve"):
            self._renew(act.do, server, chosen[0])
        elif act.do == "ask":
            query = chosen[0].tool if act.flag is None else self.world_tool(chosen[0]).word
            self._take(Step(ask=query, include_disabled=act.flag))
        elif act.do == "call":
            self._take(Step(call=chosen[0].tool, server=server.name))
        elif act.do == "restart" and "restart" in self._can and self._free():
            self._take(Step(restart=True))
        return len(self.steps) > before

    def world_tool(self, key: ToolKey) -> Tool:
        """Return the tool of that key as the world describes it after the steps so far."""
        return replaced(self.world, steps=tuple(self.steps)).tools()[key]

    def _free(self) -> list[ToolKey]:
        """Return the tools that are callable after the steps so far."""
        return [key for key, state in self.states.items() if state.callable]

    def _take(self, *steps: Step) -> None:
        """Append the steps to the plan, and update the locks on all tools by them."""
        self.steps += steps
        self.states = after(self.world, steps, self.states)

    def _lock(self, do: str, server: str, keys: Sequence[ToolKey]) -> None:
        """Lay or lift (`unconfig`, `unuser`) a lock on those of these tools where that is legal.

        Nothing is done on a shut server, or with an undeclared lock. After a lift the
        server is refreshed.
        """
        kind: LockKind = "config" if do.endswith("config") else "user"
        lift = do.startswith("un")
        fit = [key for key in keys if fits(self.states[key], kind, lift=lift)]
        if not fit or LOCK_CAPABILITY[kind] not in self._can or not is_open(self.states, server):
            return
        names = tuple(key.tool for key in fit)
        if lift:
            self._take(Step(unlock=kind, server=server, tools=names), *self._refreshed(server))
        else:
            self._take(Step(lock=kind, server=server, tools=names))

    def _refreshed(self, server: str) -> list[Step]:
        """Return the server's refresh that unlocked tools may need, [] if it is not declared."""
        return [Step(refresh=server)] if "refresh" in self._can else []

    def _switch(self, do: str, server: str) -> None:
        """Quarantine or release a server, or turn it off or on, if that is legal and declared.

        A refresh follows a release or turning on.
        """
        kind: LockKind = "quarantine" if do in ("quarantine", "release") else "server"
        step = (
            Step(lock=kind, server=server)
            if do in ("quarantine", "off")
            else Step(unlock=kind, server=server)
        )
        if _fits_server(self.states, step) and LOCK_CAPABILITY[kind] in self._can:
            self._take(step, *(self._refreshed(server) if step.unlock else []))

    def _renew(self, do: str, server: Server, key: ToolKey) -> None:
        """Change, add, reshape (change only the schema of) or approve a tool of an open server.

        `add` adds two tools, of which one is approved; else only an approved tool that the
        world starts with is changed. It does nothing for a trusted or shut server, or without the
        capabilities `approval` and `refresh`.
        """
        known = {"approval", "refresh"} <= set(self._can) and not server.trusted
        if not known or not is_open(self.states, server.name):
            return
        state = self.states[key]
        if do == "approve" and state in APPROVABLE[1:]:
            approved = Step(unlock="approval", server=server.name, tools=(key.tool,))
            self._take(approved, *self._refreshed(server.name))
        elif do != "add" and state.approval is None and key in initial(self.world):
            change = _changed if do == "change" else _reshaped
            self._take(change(self.world_tool(key), server.name), Step(refresh=server.name))
        elif do == "add" and len(self._taken) < len(CANARIES) - 1:
            new, sibling = self._new(), self._new()
            self._take(Step(add=new, server=server.name), Step(add=sibling, server=server.name))
            self._take(Step(refresh=server.name))
            self._take(Step(unlock="approval", server=server.name, tools=(sibling.name,)))

    def _new(self) -> Tool:
        """Make a tool with the first word that no tool has yet, and mark the word as taken."""
        number = next(at for at in range(len(CANARIES)) if WORDS[at] not in self._taken)
        self._taken.add(WORDS[number])
        return a_tool(number, "", "", (), planted=True)


def _reshaped(tool: Tool, server: str) -> Step:
    """Return the step that changes only a tool's schema, to one with its canary."""
    (canary,) = tool.canaries
    return Step(change=tool.name, server=server, input_schema=_schema(canary))


def _changed(tool: Tool, server: str) -> Step:
    """Return the step that changes a tool's description and schema, with its canary in both."""
    (canary,) = tool.canaries
    text = f"{tool.word.capitalize()} anew, {canary}."
    return Step(change=tool.name, server=server, description=text, input_schema=_schema(canary))
