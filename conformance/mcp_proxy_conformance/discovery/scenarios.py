"""Scenarios of discovery: rows of the space as tools of one world, with acts, looks, requests."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from mcp_proxy_conformance.catalogue.bounded import read_bytes
from mcp_proxy_conformance.catalogue.case_file import BadCase, own_cases, read_cases
from mcp_proxy_conformance.catalogue.own_case import OwnCase
from mcp_proxy_conformance.catalogue.requirement import catalogue
from mcp_proxy_conformance.catalogue.resources import fixtures_dir
from mcp_proxy_conformance.catalogue.world import (
    GENERATED,
    LockKind,
    Server,
    Step,
    Tool,
    ToolKey,
    World,
)
from mcp_proxy_conformance.discovery.laws.clauses import CLAUSES
from mcp_proxy_conformance.discovery.laws.names import CANARIES, NOWHERE, SERVERS, SHARED, WORDS
from mcp_proxy_conformance.run.space.space import (
    PlayedSpace,
    Row,
    Scenario,
    Space,
    read_scenarios,
    read_space,
)

FOLDER = fixtures_dir() / "discovery" / "space"
ROWS = 8
"""The most rows of one scenario: each has a server, a word, and a group of its own."""
CROWDS = 3
"""The most of them that have sixty other tools each."""
CROWD = SERVERS[ROWS]
"""The server of the tools that match the rows' queries besides their own."""
LETTERS = "abcdefghijklmnopqrstuvwxyz"
OF_DEFINITIONS = ("pending", "changed", "reshaped")
BY_USERS = {*OF_DEFINITIONS, "user"}
"""The kinds of locks whose reasons may be lost: what config denies needs no lookup."""
LOCKS: dict[str, tuple[LockKind, bool]] = {
    "config": ("config", True), "user": ("user", True), "quarantine": ("quarantine", False),
    "server": ("server", False),
}  # fmt: skip
"""The kinds of locks that are laid by one step, and whether on a tool or on its server."""
KINDS = (
    "unlock approval", "unlock user", "unlock quarantine", "unlock server", "add", "ask", "call",
    "refresh", "lock user", "lock quarantine", "lock server", "unlock config", "lock config",
    "change",
)  # fmt: skip
"""The kinds of the steps of rows, in their order where rows leave a choice."""
AREA, ADVISORY = "scenario", "scope-bytes"


class ScenarioCase(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rows of the space, which are played as tools of one world; every law is tried there."""

    id: str
    area: str = AREA
    title: str = "Whatever happens to a tool, it is told of as its locks allow."
    source: tuple[str, ...] = ()
    clauses: tuple[str, ...]
    rows: tuple[dict[str, str], ...]

    def own(self) -> OwnCase:
        """Return the case as a check is given it; its world is made when it is played."""
        return OwnCase(self, World(servers=(), id=f"{GENERATED}scenario {self.id}"), scenario=True)


@dataclass(frozen=True, slots=True)
class Plan:
    """A world with its steps, and the looks between them, at which every law is tried.

    `looks` maps the number of steps before a look to the rows that it is about, by number;
    `tools` are those of the rows, in order; `sample` are those whose locks are proven; `place` is
    where an agent asks, empty for the usual place; `lost` are, by server, the tools whose reasons
    are lost during a look before the last one.
    """

    world: World
    looks: dict[int, tuple[int, ...]]
    tools: tuple[ToolKey, ...]
    sample: tuple[ToolKey, ...]
    place: str = ""
    lost: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def last(self) -> int:
        """The number of steps before the last look."""
        return max(self.looks)


@cache
def space() -> Space:
    """Return the space of discovery."""
    return read_space(FOLDER / "space.toml")


@cache
def scenarios() -> tuple[Scenario, ...]:
    """Return the committed scenarios."""
    return read_scenarios(FOLDER / "scenarios.json", space())


@cache
def scenario_cases() -> tuple[ScenarioCase, ...]:
    """Return the cases of all scenarios."""
    return tuple(case for each in scenarios() for case in cases_of(each))


def cases_of(scenario: Scenario) -> Iterator[ScenarioCase]:
    """Yield the cases of a scenario: the required clauses of all laws, and one that is advisory.

    The latter is of scenarios in which agents ask.
    """
    yield ScenarioCase(id=scenario.id, clauses=_cited(), rows=scenario.rows)
    if any(row.get("agent") for row in scenario.rows):
        yield ScenarioCase(id=scenario.id, area=ADVISORY, clauses=("FR-007.non-interference",),
                           rows=scenario.rows)  # fmt: skip


@cache
def _cited() -> tuple[str, ...]:
    known = catalogue().clauses
    every = {clause for clauses in CLAUSES.values() for clause in clauses}
    return tuple(sorted(each for each in every if known[each].level == "required"))


def is_of_rows(path: Path) -> bool:
    """Whether a user's file of a case is one of rows, not of a request."""
    with suppress(OSError, ValueError):
        return b'"rows"' in (text := read_bytes(path)) and b'"when"' not in text
    return False


def read_own(path: Path) -> list[OwnCase]:
    """Return the scenarios of a user's file; raise BadCase for one that cannot be played."""
    known = scenario_cases()
    own = own_cases(path, lambda file: read_cases(file, ScenarioCase, "scenario"), known)
    for case in own:
        if not case.rows:
            raise BadCase(f"{path.name}: {case.id}: it has no row; give it one")
        for name, value in (item for row in case.rows for item in row.items()):
            if value not in space().values.get(name, ()):
                fault = f"it has {name}={value}, which the space lacks; see `space discovery`"
                raise BadCase(f"{path.name}: {case.id}: {fault}")
    return [case.own() for case in own]


def played_space() -> PlayedSpace:
    """Return the space of discovery with its scenarios."""
    return PlayedSpace(space(), scenarios(), FOLDER / "scenarios.json", fits, ROWS, CLAUSES)


def fits(rows: Sequence[Row]) -> bool:
    """Whether these rows may be tools of one world, which does not grow too large."""
    return len(rows) <= ROWS and sum(row.get("locked") == "sixty" for row in rows) <= CROWDS


def plan_of(scenario: Scenario, can: Collection[str]) -> Plan:
    """Return the world of a scenario's rows, its steps and looks, for a target that `can` do so.

    The locks are laid, and then what happens to each tool happens. All rows are looked at in the
    end; before that those whose locks are lifted, or whose reasons may be forgotten, meanwhile.
    """
    parts = [_Part(number, row) for number, row in enumerate(scenario.rows)]
    control = _callable("control", WORDS[-1])
    crowd = [control]
    crowd += [tool for part in parts for tool in part.crowd()]
    denied = tuple(name for part in parts for name in part.denied())
    servers = [server for part in parts for server in part.servers()]
    servers.append(Server(name=CROWD, tools=tuple(crowd), deny=denied))
    first = _in_rounds([[*part.approval(), *part.locks()] for part in parts])
    then = _in_rounds([[*part.acts(can)] for part in parts])
    if _makes(scenario.rows[0], "restart"):
        then.append(Step(restart=True))
    world = World(
        servers=tuple(servers),
        agents=_agents(parts, [server.name for server in servers]) if "agents" in can else {},
        steps=(*first, *then),
        requests=tuple(part.request() for part in parts),
        id=scenario.id,
        version=1,
    )
    is_lost = "lost" in _makes(scenario.rows[0], "reasons")
    forgets = is_lost or any(step.restart for step in then)
    looks = {len(first): tuple(part.number for part in parts if forgets or part.opens)}
    looks[len(first) + len(then)] = tuple(range(len(parts)))
    tools = tuple(ToolKey(part.name, part.tool.name) for part in parts)
    sampled = {name for part in parts for name in (*part.mates(), part.tool.name)}
    sampled.add(control.name)
    beside = [key for key in world.tools() if key.server != CROWD or key.tool in sampled]
    place = _makes(scenario.rows[0], "place").get("place", "")
    lost = {part.name: (part.tool.name,) for part in parts if is_lost and {*part.kinds} & BY_USERS}
    return Plan(world, looks, tools, tuple(dict.fromkeys([*tools, *beside])), place, lost)


def _in_rounds(sequences: Iterable[Iterable[Step]]) -> list[Step]:
    """Return steps of all rows, those of a row in their order, alike ones of all rows together.

    What changes is taken last: by then what was approved was so for long.
    """
    left, rounds = [deque(steps) for steps in sequences], list[Step]()
    while any(left):
        kind = min((steps[0].kind for steps in left if steps), key=KINDS.index)
        for steps in left:
            while steps and steps[0].kind == kind:
                rounds.append(steps.popleft())
    return rounds


def _makes(row: Row, dimension: str) -> dict[str, Any]:
    value = row.get(dimension, space().defaults[dimension])
    return space().values[dimension][value].makes


def _callable(name: str, word: str = "", group: str = "", text: str = "") -> Tool:
    description = " ".join(filter(None, [word or name, group, text])).capitalize()
    return Tool(name=name, description=description, word=word, groups=(group,) if group else ())


class _Part:
    """The part of a world that one row is: its server and tool, other matches, steps, request."""

    def __init__(self, number: int, row: Row) -> None:
        self.row = {name: row.get(name, usual) for name, usual in space().defaults.items()}
        self.number, self.name = number, SERVERS[number]
        self.word, self.group = WORDS[number], SHARED[number]
        self.kinds: list[str] = self.makes("lock").get("kinds", [])
        self.start = self.makes("lock").get("start", "")
        self.tool = self._tool()

    def makes(self, dimension: str) -> dict[str, Any]:
        return _makes(self.row, dimension)

    def _named(self, form: str) -> str:
        return form.replace("{word}", self.word)

    def _tool(self) -> Tool:
        made, canary = self.makes("description"), CANARIES[self.number]
        names = self.makes("name").get("words")
        is_planted = {"pending", "quarantine"} & {*self.kinds}
        words = [self.word.capitalize(), self.group, *([canary] if is_planted else [])]
        text = f"{' '.join(words)}. {made.get('text', '') * made.get('times', 1)}".strip()
        schema = {"type": "object"} | self.makes("schema")
        if is_planted:
            schema["properties"] = {canary: {"type": "string"}, **schema.get("properties", {})}
        return Tool(
            name=names[self.number] if names else self._named(self.makes("name")["form"]),
            description="" if made.get("none") else text,
            word=self.word,
            groups=() if made.get("none") else (self.group,),
            input_schema=schema,
            annotations={"title": canary} if is_planted else None,
            canaries=(canary,),
        )

    def servers(self) -> Iterator[Server]:
        """Yield the row's server, whose other tools are callable, and one with a name alike."""
        kind, number = self.row["server"], self.number
        beside = [_callable(self._named(form)) for form in self.makes("name").get("beside", ())]
        own = [_callable(f"keep_{WORDS[ROWS + number]}", WORDS[ROWS + number]), *beside]
        is_new = "pending" in self.kinds
        tools = (*([] if is_new else [self.tool]), *own)
        yield Server(
            name=self.name,
            tools=tools,
            trusted=not {*self.kinds} & {*OF_DEFINITIONS},
            transport="stdio" if kind == "stdio" else "http",
            page_size=1 if kind == "pages" else 0,
            deny=(self.tool.name,) if self.start == "deny" else (),
            allow=tuple(tool.name for tool in tools) if self.start == "allow" else None,
        )
        if kind == "joined":
            head, sign, rest = re.split("([_-])", self.tool.name, maxsplit=1)
            yield Server(name=f"{self.name}{sign}{head}", tools=(_callable(rest),))
        if kind == "longer":
            word = WORDS[2 * ROWS + number]
            yield Server(name=self.name[:-1], tools=(_callable(f"keep_{word}", word),))

    def crowd(self) -> Iterator[Tool]:
        """Yield the other tools that match the row's group, and a namesake."""
        counts = {kind: self.makes(kind).get("count", 0) for kind in ("callables", "locked")}
        for kind, count in counts.items():
            for at in range(count):
                yield _callable(self._mate(kind, at), group=self.group)
        if self.makes("name").get("elsewhere"):
            own = f"{self.word.capitalize()} {self.group}. Also here."
            yield Tool(name=self.tool.name, description=own, word=self.word, groups=(self.group,))

    def denied(self) -> list[str]:
        """Return the names of the tools that match beside the row's own and are locked."""
        own = [self.tool.name] if self.makes("name").get("locked") else []
        count: int = self.makes("locked").get("count", 0)
        return [*own, *(self._mate("locked", at) for at in range(count))]

    def mates(self) -> list[str]:
        """Return the names of the first other tools that match, a callable and a locked one."""
        return [self._mate(kind, 0) for kind in ("callables", "locked")]

    def _mate(self, kind: str, at: int) -> str:
        tens, ones = divmod(at, len(LETTERS))
        return f"{kind[0]}{LETTERS[self.number]}x{LETTERS[tens]}{LETTERS[ones]}mate"

    def approval(self) -> Iterator[Step]:
        """Yield the step that approves the tools of an untrusted server, if it is one."""
        if not (own := next(self.servers())).trusted:
            yield Step(unlock="approval", server=own.name, tools=tuple(t.name for t in own.tools))

    def locks(self) -> Iterator[Step]:
        """Yield the steps that lay the row's locks."""
        server = self.name
        for kind in self.kinds:
            if kind == "pending":
                sibling = _callable(f"new_{WORDS[ROWS + self.number]}")
                yield Step(add=self.tool, server=server)
                yield Step(add=sibling, server=server)
                yield Step(refresh=server)
                yield Step(unlock="approval", server=server, tools=(sibling.name,))
            elif kind in OF_DEFINITIONS:
                yield self._reshaped() if kind == "reshaped" else self._redefined(planted=True)
                yield Step(refresh=server)
            else:
                yield self._lock(kind, lay=True)

    @property
    def opens(self) -> bool:
        """Whether the tool is callable after what happens to it."""
        made = self.makes("act")
        return bool(made.get("approves") or (made.get("lifts") and not made.get("lays")))

    def _redefined(self, *, planted: bool = False) -> Step:
        canary = f" {CANARIES[self.number]}" if planted else ""
        text = f"{self.word.capitalize()} {self.group} anew{canary}."
        return Step(change=self.tool.name, server=self.name, description=text)

    def _reshaped(self) -> Step:
        properties = {CANARIES[self.number]: {"type": "string"}}
        schema = {**self.tool.input_schema, "properties": properties}
        return Step(change=self.tool.name, server=self.name, input_schema=schema)

    def _lock(self, kind: str, *, lay: bool) -> Step:
        word, is_of_tool = LOCKS[kind]
        tools = (self.tool.name,) if is_of_tool else ()
        if lay:
            return Step(server=self.name, tools=tools, lock=word)
        return Step(server=self.name, tools=tools, unlock=word)

    def acts(self, can: Collection[str]) -> Iterator[Step]:
        """Yield the steps of what happens to the tool once it is locked."""
        made, kinds = self.makes("act"), self.kinds or ["config"]
        reads = [Step(refresh=self.name)] if "refresh" in can else []
        if made.get("lifts"):
            yield self._lock(kinds[0], lay=False)
            yield from reads
        if made.get("lays"):
            yield self._lock(kinds[0], lay=True)
        if made.get("approves"):
            yield Step(unlock="approval", server=self.name, tools=(self.tool.name,))
            yield from reads
        if made.get("ask"):
            yield Step(ask=self.tool.name, include_disabled=True)
        if made.get("call"):
            yield Step(call=self.tool.name, server=self.name)
        if made.get("change"):
            yield self._redefined()
        if made.get("refresh") or made.get("change"):
            yield Step(refresh=self.name)
        if made.get("switch"):
            yield self._lock("server", lay=True)
            yield self._lock("server", lay=False)
            yield from reads

    def request(self) -> dict[str, Any]:
        """Return the row's request."""
        form: str = self.makes("query")["form"]
        words = {"nowhere": NOWHERE, "word": self.word, "WORD": self.word.upper(),
                 "name": self.tool.name, "group": self.group}  # fmt: skip
        for name, text in words.items():
            form = form.replace(f"{{{name}}}", text)
        agent = self.agent()
        return {"query": form} | self.makes("limit") | ({"agent": agent} if agent else {})

    def agent(self) -> str:
        """Return the agent that asks; empty for the administrator."""
        sides = ("north", "south")
        names = {"all": "everywhere", "some": sides[self.number % 2],
                 "beyond": sides[1 - self.number % 2]}  # fmt: skip
        return names.get(self.row["agent"], "")


def _agents(parts: Sequence[_Part], servers: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the scopes of the agents that rows ask as: every server, or those of half of the rows.

    The server of the other matches is in each.
    """
    scopes = {"everywhere": tuple(servers)} | {
        name: (*(part.name for part in parts if part.number % 2 == side), CROWD)
        for side, name in enumerate(("north", "south"))
    }
    asked = {part.agent() for part in parts}
    return {name: scope for name, scope in scopes.items() if name in asked}
