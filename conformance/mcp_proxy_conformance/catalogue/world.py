"""Worlds of checks: servers, tools, agents and locks; their builders, and the effect of steps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal, NamedTuple

import msgspec

LockKind = Literal["config", "user", "approval", "quarantine", "server"]
"""Kind of a lock; approval is only ever unlocked, quarantine and server take no tools."""

VERBS = ("lock", "unlock", "add", "change", "refresh", "ask", "call", "restart")
CONFIG: LockKind = "config"
USER: LockKind = "user"


class ToolKey(NamedTuple):
    """The owning server and the bare tool name: a tool's identity throughout the suite."""

    server: str
    tool: str

    def __str__(self) -> str:
        """`server:tool`, the spelling of cases and messages."""
        return f"{self.server}:{self.tool}"


def key(text: str) -> ToolKey:
    """Parse `server:tool` at its first colon; without a colon the tool is ""."""
    server, _, tool = text.partition(":")
    return ToolKey(server, tool)


class Tool(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One upstream tool; `word` and `groups` are the made-up query words that its text holds.

    `word` belongs to this tool alone and occurs in its name and its description; `groups` are
    words shared with other tools, or words that occur in the description only. `canaries` are
    made-up words of its texts that must not be seen while these are withheld.
    """

    name: str
    description: str
    word: str = ""
    groups: tuple[str, ...] = ()
    input_schema: dict[str, Any] = msgspec.field(default_factory=lambda: {"type": "object"})
    annotations: dict[str, Any] | None = None
    canaries: tuple[str, ...] = ()

    def holds(self, query: str) -> bool:
        """Whether a one-word query equals this tool's name, its word or one of its groups."""
        return query in (self.name, self.word, *self.groups)


class Server(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One upstream server; `deny` or `allow` is the operator's list at start, never both."""

    name: str
    tools: tuple[Tool, ...]
    trusted: bool = True
    transport: Literal["http", "stdio"] = "http"
    deny: tuple[str, ...] = ()
    allow: tuple[str, ...] | None = None
    page_size: int = 0

    def __post_init__(self) -> None:
        """Raise ValueError if the server has both a deny list and an allow list."""
        if self.deny and self.allow is not None:
            raise ValueError(f"server {self.name} has both deny and allow; keep one of them")


class Step(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One action after start: exactly one of lock, unlock, add, change, refresh and so on.

    `ask` is a query, sent with the other members of a request; `call` is a tool of `server`;
    neither of the two is judged.
    """

    lock: LockKind | None = None
    unlock: LockKind | None = None
    add: Tool | None = None
    change: str | None = None
    refresh: str | None = None
    ask: str | None = None
    call: str | None = None
    restart: bool | None = None
    server: str = ""
    tools: tuple[str, ...] = ()
    description: str | None = None
    input_schema: dict[str, Any] | None = None
    include_disabled: bool | None = None
    limit: int | None = None
    agent: str | None = None

    def __post_init__(self) -> None:
        """Raise ValueError unless exactly one action is set, with a server if it needs one.

        Asking, restarting and refreshing need none.
        """
        verbs = [getattr(self, verb) for verb in VERBS]
        if sum(verb is not None for verb in verbs) != 1:
            raise ValueError(f"a step must have exactly one of {', '.join(VERBS)}")
        alone = self.refresh is not None or (self.changes_nothing and self.call is None)
        if not self.server and not alone:
            raise ValueError("a step must name its server")

    @property
    def changes_nothing(self) -> bool:
        """Whether the step is a query (`ask`), a call or a restart, and changes no lock or tool."""
        return self.ask is not None or self.call is not None or self.restart is not None


GENERATED = "generated "
"""The beginning of the ids of worlds whose checks are of one space, and share what it shows."""


class World(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything a target is started with, and the steps that lead to the state under test."""

    servers: tuple[Server, ...]
    agents: dict[str, tuple[str, ...]] = {}
    steps: tuple[Step, ...] = ()
    id: str = ""
    version: int = 0
    about: str = ""
    words: tuple[str, ...] = ()
    requests: tuple[dict[str, Any], ...] = ()

    def server(self, name: str) -> Server:
        """Return the server of that name; KeyError when the world has none."""
        for server in self.servers:
            if server.name == name:
                return server
        raise KeyError(name)

    def tools(self) -> dict[ToolKey, Tool]:
        """Return every tool that ever exists in this world, by key; those of `add` steps too."""
        tools = {ToolKey(s.name, t.name): t for s in self.servers for t in s.tools}
        tools |= {ToolKey(s.server, s.add.name): s.add for s in self.steps if s.add is not None}
        return tools

    def queries(self) -> tuple[str, ...]:
        """Return each declared one-word query, once: tools' words and groups, and `words`."""
        declared: dict[str, None] = {}
        for tool in self.tools().values():
            declared |= dict.fromkeys([*([tool.word] if tool.word else []), *tool.groups])
        return tuple(declared | dict.fromkeys(self.words))


def tool(
    name: str,
    description: str = "",
    *,
    word: str = "",
    groups: tuple[str, ...] = (),
    locked: Any = (),
) -> tuple[Tool, tuple[LockKind, ...]]:
    """Return (tool, kinds of its locks), as `server` takes them.

    `word` is the query word of this tool alone, by default its name up to the first `_`; `groups`
    are other query words. The default description is the name's parts and the groups. `locked` is
    one kind of lock or several.
    """
    word = word or name.partition("_")[0]
    text = description or " ".join([*name.split("_"), *groups]).capitalize()
    kinds = (locked,) if isinstance(locked, str) else tuple(locked)
    return Tool(name=name, description=text, word=word, groups=groups), kinds


def server(
    name: str,
    *tools: tuple[Tool, tuple[LockKind, ...]],
    trusted: bool = True,
    allow: tuple[str, ...] | None = None,
) -> tuple[Server, tuple[Step, ...]]:
    """Return (server, steps that lock its tools), as `world` takes them; user locks come first.

    Locks of other kinds than user and config are ignored; `allow` is the operator's list. Tools of
    a server that is not `trusted` wait for approval.
    """
    made = Server(name=name, tools=tuple(t for t, _ in tools), trusted=trusted, allow=allow)
    steps: list[Step] = []
    for kind in (USER, CONFIG):
        names = tuple(t.name for t, kinds in tools if kind in kinds)
        steps += [Step(lock=kind, server=name, tools=names)] if names else []
    return made, tuple(steps)


def world(
    *servers: tuple[Server, tuple[Step, ...]], agents: dict[str, tuple[str, ...]] | None = None
) -> World:
    """Return a world written in a check: `world(server("forge", tool("list_repos")))`.

    `servers` are pairs as `server` returns them; the world's steps are theirs, in order. As it has
    no id, it gets a fresh target.
    """
    return World(
        servers=tuple(s for s, _ in servers),
        steps=tuple(step for _, steps in servers for step in steps),
        agents=agents or {},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolState:
    """The locks on one tool; `approval` is why an untrusted server's tool waits for approval.

    `lost`: the target cannot look up the locks of users, nor approvals.
    """

    server_off: bool = False
    config: bool = False
    user: bool = False
    approval: Literal["pending", "changed"] | None = None
    quarantined: bool = False
    lost: bool = False

    @property
    def callable(self) -> bool:
        """Whether no lock applies to the tool."""
        return not self.locks

    @property
    def locks(self) -> tuple[str, ...]:
        """Its locks in words: config, user, pending or changed, quarantined, server_off."""
        return _locks_in(self)


@cache
def _locks_in(state: ToolState) -> tuple[str, ...]:
    """Return the locks of a state in words, as `ToolState.locks` has them."""
    words = {
        "config": state.config,
        "user": state.user,
        state.approval: state.approval is not None,
        "quarantined": state.quarantined,
        "server_off": state.server_off,
    }
    return tuple(word for word, applies in words.items() if word is not None and applies)


def locks_of(states: Mapping[ToolKey, ToolState]) -> dict[str, tuple[str, ...]]:
    """Map each locked tool, as `server:tool`, to its locks in words.

    Callable tools are left out.
    """
    return {str(name): locks for name, state in states.items() if (locks := state.locks)}


def initial(world: World) -> dict[ToolKey, ToolState]:
    """Map each tool to its locks at start: `config` if an operator's list excludes it, else none.

    Tools that steps add are not among them.
    """
    states = {}
    for server in world.servers:
        deny, allow = set(server.deny), set(server.allow or ())
        for tool in server.tools:
            off_list = server.allow is not None and tool.name not in allow
            denied = tool.name in deny or off_list
            states[ToolKey(server.name, tool.name)] = ToolState(config=denied)
    return states


def after(
    world: World, steps: Iterable[Step], states: dict[ToolKey, ToolState]
) -> dict[ToolKey, ToolState]:
    """Return the locks on each tool after these steps, from `states`, which is not changed.

    Raises KeyError if a step changes an unknown tool, or adds one to an unknown server.
    """
    current = dict(states)
    for step in steps:
        current |= _step(world, step, current)
    return current


def final(world: World) -> dict[ToolKey, ToolState]:
    """Map each tool, those that steps add too, to its locks after all steps of the world."""
    return after(world, world.steps, initial(world))


def _step(world: World, step: Step, states: dict[ToolKey, ToolState]) -> dict[ToolKey, ToolState]:
    """Return the new states of the tools that a step concerns; {} if it changes nothing.

    An added tool is quarantined or switched off with its server, locked by `config` if an
    operator's list excludes it, and pending on an untrusted server. A change locks only an approved
    tool of an untrusted server. A lock or unlock without `tools` concerns all of its server.
    """
    if step.add is not None:
        server = world.server(step.server)
        beside = next((s for k, s in states.items() if k.server == step.server), ToolState())
        off_list = server.allow is not None and step.add.name not in server.allow
        made = ToolState(
            approval=None if server.trusted else "pending",
            config=off_list or step.add.name in server.deny,
            quarantined=beside.quarantined,
            server_off=beside.server_off,
        )
        return {ToolKey(step.server, step.add.name): made}
    if step.change is not None:
        name = ToolKey(step.server, step.change)
        old = states[name]
        fresh = world.server(step.server).trusted or old.approval is not None
        return {name: old if fresh else replace(old, approval="changed")}
    if step.refresh is not None or step.changes_nothing:
        return {}
    kind, on = (step.lock, True) if step.lock else (step.unlock, False)
    tools = set(step.tools)
    touched = {
        name: state
        for name, state in states.items()
        if name.server == step.server and (not tools or name.tool in tools)
    }
    if kind == "approval":
        return {name: replace(state, approval=None) for name, state in touched.items()}
    return {name: _locked(state, kind, on=on) for name, state in touched.items()}


def _locked(state: ToolState, kind: str | None, *, on: bool) -> ToolState:
    """Return the state with a lock of that kind set or, unless `on`, lifted.

    Any kind but config, user and quarantine is that of the whole server.
    """
    if kind == "config":
        return replace(state, config=on)
    if kind == "user":
        return replace(state, user=on)
    if kind == "quarantine":
        return replace(state, quarantined=on)
    return replace(state, server_off=on)
