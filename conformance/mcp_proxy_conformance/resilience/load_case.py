"""Load cases: JSON fixtures of loading several servers' tools once, and the outcomes allowed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from mcp_proxy_conformance.catalogue.case_file import BadCase, own_cases, read_cases, shipped
from mcp_proxy_conformance.catalogue.requirement import Catalogue, catalogue
from mcp_proxy_conformance.upstream.dialect import PLAIN, Dialect
from mcp_proxy_conformance.upstream.tools import Cursors

Status = Literal["available", "transient", "permanent", "denied"]
"""Outcome of the load of one server."""

Request = Literal["initialize", "notifications/initialized", "tools/list", "later page", "any"]
"""The request of an attempt that a behaviour concerns; the first one is `initialize` in any era,
`later page` a tools/list with a cursor."""

ExchangeWord = Literal[
    "healthy", "stream", "set_cookie", "session", "slow", "status", "redirect", "silence",
    "chatter", "reset", "close", "cut_json", "cut_sse", "html", "broken_json", "empty",
    "jsonrpc_error",
    "banner", "guarded", "result", "refuses", "exits",
]  # fmt: skip
"""Behaviour of a server in one attempt; schemas/load-case.schema.json explains the words."""

ConnectionWord = Literal[
    "refused", "refused_at_first", "backlog", "unresolvable", "plain_for_tls", "malformed",
    "stdio_missing", "stdio_exits", "stdio_garbage",
]  # fmt: skip
"""Condition that holds for every attempt; it must be the only behaviour of a script."""

CONNECTION_WORDS: frozenset[str] = frozenset(ConnectionWord.__args__)  # type: ignore[attr-defined]
STDIO_WORDS: frozenset[str] = frozenset({"stdio_missing", "stdio_exits", "stdio_garbage"})
STDIO = "stdio"
"""The capability of loaders that start servers by a command; only they are given one."""
SCENARIO = "scenario"
"""The area of loads that are made of rows of the space."""
LATER_PAGE: Literal["later page"] = "later page"
HEALTHY_PATH, MISSING_PATH, ITSELF = "healthy path", "missing path", "itself"
"""Targets of a redirect that are paths of the same server."""
BASE_BACKOFF_S = 0.05
"""The pause before a second attempt, unless a case has another one."""

NEEDS: dict[str, tuple[str, ...]] = {
    "slow": ("seconds",),
    "status": ("code",),
    "redirect": ("code", "to"),
    "cut_json": ("by",),
    "cut_sse": ("where", "by"),
    "jsonrpc_error": ("code", "message"),
    "malformed": ("connection",),
    "guarded": ("authorization",),
    "result": ("result",),
}
MAY_HAVE: dict[str, tuple[str, ...]] = {
    "status": ("body", "headers", "by"), "stream": ("after",), "cut_json": ("where",),
}  # fmt: skip
HEALABLE: frozenset[str] = frozenset({*ExchangeWord.__args__, "backlog", "refused"})  # type: ignore[attr-defined]
"""Behaviours that can clear while a loader keeps the connection that it was handed."""


class Behaviour(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The behaviour of a fault server in one attempt, or a condition of its connection in all.

    `NEEDS` lists the members that each word needs. `seconds` is a delay, `code` a code of HTTP or
    JSON-RPC, `result` the result of the answer in the place of the right one, `connection` the
    malformed connection that is handed to the loader, `after` the notifications that a stream has
    before the answer.
    """

    do: ExchangeWord | ConnectionWord
    on: Request = "initialize"
    seconds: float | None = None
    code: int | None = None
    body: str | None = None
    headers: dict[str, str] | None = None
    to: str | None = None
    where: Literal["before", "inside", "end", "short"] | None = None
    by: Literal["fin", "rst", "silence", "drip", "end"] | None = None
    message: str | None = None
    result: Any = None
    connection: dict[str, Any] | None = None
    authorization: str | None = None
    after: tuple[Literal["log", "progress"], ...] | None = None

    @property
    def is_of_connection(self) -> bool:
        """Whether the behaviour is that of a whole connection (`refused`), not of one request."""
        return self.do in CONNECTION_WORDS

    @property
    def signal(self) -> str:
        """The behaviour in words, such as `status 503 at tools/list`.

        These are its word, its code if any, and its request unless that is `initialize`.
        """
        code = [] if self.code is None else [str(self.code)]
        place = [] if self.on == "initialize" or self.is_of_connection else [f"at {self.on}"]
        return " ".join([self.do, *code, *place])

    @property
    def has_command(self) -> bool:
        """Whether the loader is given a command to start, not a URL."""
        return self.do in STDIO_WORDS or "command" in (self.connection or {})


HEALTHY = Behaviour(do="healthy")


class LoadServer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One server of a load; times are in seconds.

    `script` has its behaviour in each attempt; the last one repeats. `gone` are tools that it lists
    first: in attempts that fail alone or, if it never fails, until it is healed. `header` has its
    `authorization`. `odd_connection`: whether the loader is given its connection in rare JSON, with
    members in the reverse order, and 1 for 1.0.
    """

    server_id: str
    tools: tuple[str, ...]
    gone: tuple[str, ...] = ()
    page_size: int | None = None
    timeout_s: float = 2.0
    script: tuple[Behaviour, ...] = (HEALTHY,)
    transport: Literal["http", "stdio"] = "http"
    dialect: Dialect = PLAIN
    odd_schemas: bool = False
    cursors: Cursors = "plain"
    program: Literal["quiet", "chatty", "particular", "stubborn", "wrapped"] = "quiet"
    guarded: bool = False
    same_origin_as: str | None = None
    same_url_as: str | None = None
    authorization: str | None = None
    header: str = "Authorization"
    path: str | None = None
    slash: bool = False
    query: str | None = None
    userinfo: str | None = None
    headers: dict[str, str] = {}
    odd_connection: bool = False

    def behaviour(self, attempt: int) -> Behaviour:
        """Return the server's behaviour in an attempt, from 1 on; the script's last one repeats."""
        return self.script[min(attempt, len(self.script)) - 1]

    @property
    def signal(self) -> tuple[str, ...]:
        """The behaviours of its script in words, one per attempt; () if all are healthy."""
        words = tuple(behaviour.signal for behaviour in self.script)
        return () if set(words) == {"healthy"} else words

    @property
    def listed(self) -> tuple[str, ...]:
        """The tools that it lists in an attempt that is well: without those that are gone then."""
        return self.tools if self.signal else (*self.gone, *self.tools)

    @property
    def heals(self) -> bool:
        """Whether the first attempt's behaviour is `healthy`, or can become so at the same URL."""
        return self.script[0].do in HEALABLE


def healed(server: LoadServer) -> LoadServer:
    """Return the server with a healthy script if `server.heals`, else the same server."""
    return msgspec.structs.replace(server, script=(HEALTHY,), gone=()) if server.heals else server


class GivenLoad(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One load: its servers, the most attempts at each, and `secrets`, which may appear nowhere.

    `controls`: whether the two control servers are loaded as well; `base_backoff_s`: the pause
    before a second attempt, in seconds.
    """

    max_attempts: int
    servers: tuple[LoadServer, ...]
    controls: bool = True
    base_backoff_s: float = BASE_BACKOFF_S
    secrets: tuple[str, ...] = ()

    def server(self, server_id: str) -> LoadServer:
        """Return the server with that id; StopIteration if it is a control server, or unknown."""
        return next(each for each in self.servers if each.server_id == server_id)


class AttemptBounds(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The allowed number of attempts at a server, both ends included."""

    min: int
    max: int


class Expected(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The allowed outcome of one server; None is not judged, `tools` apply when it is available."""

    status: tuple[Status, ...]
    attempts: AttemptBounds | None = None
    tools: tuple[str, ...] | None = None


class LoadCase(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One fixture: a load and its allowed outcomes, `again` for a second load of the same servers.

    `heals`: every fault that can clear has cleared before that one; `loads`: how many there are
    before it; `ends`: the loader is ended after the load.
    """

    id: str
    area: str
    title: str
    source: tuple[str, ...]
    clauses: tuple[str, ...]
    given: GivenLoad
    then: dict[str, Expected]
    again: dict[str, Expected] | None = None
    heals: bool = False
    loads: int = 1
    ends: bool = False

    @property
    def needs(self) -> tuple[str, ...]:
        """The capabilities that its servers need besides those of its clauses: ("stdio",) or ()."""
        servers = self.given.servers
        over_stdio = any(
            own.transport == STDIO or any(act.has_command for act in own.script) for own in servers
        )
        return (STDIO,) if over_stdio else ()

    def servers(self) -> tuple[LoadServer, ...]:
        """Return the servers to load, between the two control servers if the case has these."""
        own = self.given.servers
        return (CONTROL_UP, *own, CONTROL_DOWN) if self.given.controls else own


CONTROL_UP = LoadServer(server_id="control-up", tools=("control_up_tool",), timeout_s=10.0)
CONTROL_DOWN = LoadServer(
    server_id="control-down",
    tools=("control_down_tool",),
    script=(Behaviour(do="status", on="any", code=404),),
)
CONTROLS: dict[str, Expected] = {
    "control-up": Expected(
        status=("available",), attempts=AttemptBounds(min=1, max=1), tools=CONTROL_UP.tools
    ),
    "control-down": Expected(status=("permanent",), attempts=AttemptBounds(min=1, max=1), tools=()),
}
"""The controls of a load, one healthy and one that must fail, with their expected outcomes."""


@cache
def load_cases() -> tuple[LoadCase, ...]:
    """Return every shipped load case, sorted by id, read once.

    In each a loader loads the tools of several servers. Raises BadCase for one that cannot be
    used.
    """
    return shipped("resilience", read)


def read(path: Path) -> list[LoadCase]:
    """Return the load cases of a file.

    Raises BadCase if it cannot be read, or a case is not valid or its parts do not fit together.
    """
    loads = read_cases(path, LoadCase, "load-case")
    for case in loads:
        for fault in faults(case, catalogue()):
            raise BadCase(f"{path.name}: {case.id}: {fault}")
    return loads


def read_own(path: Path) -> tuple[LoadCase, ...]:
    """Return a user's load cases; raise BadCase as `read`, and for an area that no check has."""
    return own_cases(path, read, load_cases())


def faults(case: LoadCase, requirements: Catalogue) -> Iterator[str]:
    """Yield each inconsistency of a case in words, mostly as "FAULT; REPAIR"; none if sound.

    Checked are ids, the servers in `then` and `again`, clauses (by `requirements`) and scripts.
    """
    ids = [server.server_id for server in case.given.servers]
    if len(set(ids)) < len(ids) or set(ids) & set(CONTROLS):
        yield "two servers have the same id, or one has the id of a control; rename one"
    for place, expected in (("then", case.then), ("again", case.again)):
        if expected is not None and set(expected) != set(ids):
            strays = ", ".join(sorted(set(expected) ^ set(ids)))
            yield f"{place} and the servers differ in {strays}; name each server once in both"
    if case.heals and case.again is None:
        yield "heals needs a second load; add its expected outcomes as `again`"
    known = requirements.clauses
    if unknown := [clause for clause in case.clauses if clause not in known]:
        yield f"there is no clause {', '.join(unknown)}; see `list clauses`"
    elif len({known[clause].level for clause in case.clauses}) > 1:
        yield "it cites both required and advisory clauses; split it"
    for server in case.given.servers:
        if not server.script:
            yield f"{server.server_id} has an empty script; leave the script out"
        if server.same_origin_as not in {None, *ids} - {server.server_id}:
            yield f"{server.server_id} has same_origin_as {server.same_origin_as}; name another one"
        for number, behaviour in enumerate(server.script):
            for fault in _faults_of(behaviour, len(server.script), ids):
                yield f"{server.server_id}, behaviour {number}: {fault}"


def _faults_of(behaviour: Behaviour, length: int, ids: list[str]) -> Iterator[str]:
    """Yield what is wrong with one behaviour of a script, in words.

    That is a lacking or superfluous member, others beside a behaviour that must be alone, or an
    unknown target of a redirect. `length` is the number of behaviours of its script, `ids` are
    those of all servers.
    """
    needs, may = NEEDS.get(behaviour.do, ()), MAY_HAVE.get(behaviour.do, ())
    has = {name for name in behaviour.__struct_fields__[2:] if getattr(behaviour, name) is not None}
    if lacking := set(needs) - has:
        yield f"{behaviour.do} needs {', '.join(sorted(lacking))}"
    if more := has - {*needs, *may}:
        yield f"{behaviour.do} takes no {', '.join(sorted(more))}; leave it out"
    if behaviour.is_of_connection and length > 1:
        yield f"{behaviour.do} must be alone in a script; take the others out"
    if behaviour.to not in {None, HEALTHY_PATH, MISSING_PATH, ITSELF, *ids}:
        paths = f"{HEALTHY_PATH!r}, {MISSING_PATH!r}, {ITSELF!r}"
        yield f"{behaviour.do} leads to {behaviour.to!r}; write {paths} or a server's id"
