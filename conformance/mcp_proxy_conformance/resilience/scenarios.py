"""Scenarios of loads: rows of the space as servers, and what the source allows for each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import msgspec

from mcp_proxy_conformance.catalogue.requirement import catalogue
from mcp_proxy_conformance.catalogue.resources import fixtures_dir
from mcp_proxy_conformance.resilience.blame import breakable, is_open
from mcp_proxy_conformance.resilience.load_case import (
    HEALTHY,
    SCENARIO,
    AttemptBounds,
    Behaviour,
    Expected,
    GivenLoad,
    LoadCase,
    LoadServer,
    Request,
    healed,
)
from mcp_proxy_conformance.resilience.walk import WORDS, Reads, signal_of, walk
from mcp_proxy_conformance.run.space.covering import scenario
from mcp_proxy_conformance.run.space.space import (
    Dimension,
    PlayedSpace,
    Row,
    Scenario,
    Space,
    Value,
    read_scenarios,
    read_space,
)
from mcp_proxy_conformance.upstream.dialect import Dialect, table

NAMES = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta")
FOLDER = fixtures_dir() / "resilience" / "space"
USUAL_S, LONG_S, SLOW_S = 3.0, 10.0, 1.9
"""Timeouts of servers that are not waited for, of those with megabytes to send, of slow ones."""
FEW_PAGES = 2
"""Pages that may each take a moment in the usual time."""
WAITED_FOR = {
    "silence", "chatter", "slow", "banner", "backlog", "stdio_garbage", "empty", "html",
    "broken_json",
}  # fmt: skip
MOST_WAITING = 4
"""Servers of a load that may keep a loader waiting: one that loads them in turn must end too."""
PLACES: dict[str, Request] = {
    "initialized": "notifications/initialized", "list": "tools/list", "page": "later page",
}  # fmt: skip
LONGEST_NAME, THOUSAND = 128, 1000
NOWHERE = Behaviour(do="malformed", connection={})
HEALS = (Behaviour(do="close"), HEALTHY)
"""The script of servers whose second attempt shows that attempts at another are not theirs."""
SECRET = re.compile(r"tok-\w{8,}")
"""What is secret of a server's credentials."""
CROWDED = 300
"""Characters in the ids of the many servers of a crowd, so that a load is larger than 64 kB."""
MEGABYTES = ("1.1MB", "8MB")  # a loader may refuse them
OF_ANY = (
    "I1.isolated", "I4.bounded", "O1.one-each", "O2.word", "O3.loaded", "O3.no-tools",
    "O3.own-tools", "O4.error", "O4.none", "O6.claimed", "S2.no-tools", "W1.both", "W1.denied",
    "W1.failed", "W1.lines", "W1.named", "W1.one-class",
)  # fmt: skip
"""The clauses that any scenario can show, besides those of its servers' behaviour."""


@cache
def space() -> Space:
    """Return the space of loads: that of its file, and the wire dialect."""
    dialect = [
        Dimension(
            name=name,
            value=tuple(Value(name=word, sentence=row.sentence) for word, row in rows.items()),
        )
        for name, rows in table().items()
    ]
    return read_space(FOLDER / "space.toml", *dialect)


@cache
def scenarios() -> tuple[Scenario, ...]:
    """Return the committed scenarios."""
    return read_scenarios(FOLDER / "scenarios.json", space())


@cache
def scenario_loads() -> tuple[LoadCase, ...]:
    """Return the loads of all scenarios, as a loader with every capability is given them."""
    return tuple(load_case(each, Reads()) for each in scenarios())


def played_space() -> PlayedSpace:
    """Return the space of loads with its scenarios."""
    return PlayedSpace(space(), scenarios(), FOLDER / "scenarios.json", fits, len(NAMES),
                       {"any load": OF_ANY})  # fmt: skip


def fits(rows: Sequence[Row]) -> bool:
    """Whether these rows may be servers of one load."""
    waiting = sum(any(map(is_waited_for, script_of(row))) for row in rows)
    return len(rows) <= len(NAMES) and waiting <= MOST_WAITING


@cache
def load_case(scenario: Scenario, reads: Reads) -> LoadCase:
    """Return the load of a scenario's rows, with what is allowed to a loader with these `reads`.

    The servers of the row number `n` have ids that begin with `NAMES[n]` and the scenario's id.
    """
    common = space().defaults | {**scenario.rows[0]}
    most: int = _makes("attempts", common)["most"]
    history = _makes("history", common)
    crowd = _makes("company", common).get("crowd", 0)
    servers = [
        server
        for name, row in zip(NAMES, scenario.rows, strict=False)
        for server in _servers(row, name, scenario.id, reads)
    ]
    clauses = _clauses(servers, most, reads, again=bool(history))
    servers += [
        LoadServer(server_id=f"crowd-{number}-{'x' * CROWDED}", tools=(), script=(NOWHERE,))
        for number in range(crowd)
    ]
    heals = history.get("heals", False)
    loads = 1 if heals else 2
    later = {
        server.server_id: expected(healed(server) if heals else server, most, reads, loads=loads)
        for server in servers
    }
    return LoadCase(
        id=scenario.id,
        area=SCENARIO,
        title="Each server ends as its script allows.",
        source=("Status semantics & transitions", "Error → status mapping"),
        clauses=clauses,
        given=GivenLoad(
            max_attempts=most,
            base_backoff_s=_makes("pause", common)["seconds"],
            secrets=_secrets(servers),
            servers=tuple(servers),
            controls=False,
        ),
        then={server.server_id: expected(server, most, reads) for server in servers},
        again=later if history else None,
        heals=heals,
        loads=history.get("loads", 1),
    )


def one_load(row: Row, reads: Reads) -> LoadCase:
    """Return the load of one row's servers."""
    return load_case(scenario([row]), reads)


def script_of(row: Row) -> tuple[Behaviour, ...]:
    """Return the behaviours that a row's server has, attempt by attempt."""
    whole = space().defaults | {**row}
    event = _behaviour("event", whole, on=PLACES.get(whole["place"], "initialize"))
    script = [event, *([HEALTHY] if whole["when"] == "once" else [])]
    if whole["first"] != "nothing":
        script.insert(0, _behaviour("first", whole))
    if whole["history"] == "lost":
        script.insert(0, HEALTHY)
    return tuple(script)


def _makes(dimension: str, whole: Row) -> dict[str, Any]:
    return space().values[dimension][whole[dimension]].makes


def _behaviour(dimension: str, whole: Row, **members: str) -> Behaviour:
    made = members | _makes(dimension, whole)
    made |= _makes("says", whole) if dimension == "event" else {}
    if "body" in made:
        made["body"] = made["body"].replace(
            "{filler}", "nothing to see here " * made.pop("much", 300)
        )
    return msgspec.convert(made, Behaviour)


def _servers(row: Row, name: str, scenario: str, reads: Reads) -> Iterator[LoadServer]:
    """Yield the server of a row, and its twin if it has one."""
    whole = space().defaults | {**row}
    identity = _makes("id", whole)
    words = dict(zip(NAMES, identity.get("words", ()), strict=False))
    server_id = words.get(name) or f"{name}{identity['with']}-{scenario}"
    script = tuple(  # without what a declared signature gives another meaning
        step if signal_of(step, USUAL_S, reads) == signal_of(step, USUAL_S) else HEALTHY
        for step in script_of(row)
    )
    listing, timeout, twin = _makes("listing", whole), _makes("timeout", whole), whole["twin"]
    pages = len(listing["tools"]) // listing.get("page_size", THOUSAND)
    takes_moments = whole["pace"] == "late" or whole["before"] == "awaited"
    is_large = listing.get("large") or whole["size"] in MEGABYTES
    usual_s = LONG_S if is_large or (takes_moments and pages > FEW_PAGES) else USUAL_S
    if whole["pace"] == "slow":
        usual_s = SLOW_S
    is_own = timeout.get("always") or any(map(is_waited_for, script))
    timeout_s = timeout["seconds"] if is_own else usual_s
    letters = re.sub("[^A-Za-z0-9]", "", server_id)
    tools = tuple(
        tool
        for form in listing["tools"]
        for tool in _tools(form.replace("{server}", letters), name)
    )
    given = whole["credentials"] != "none"
    own: dict[str, Any] = _makes("credentials", whole) | _makes("address", whole)
    if twin == "url" and not given:
        own["authorization"] = "Bearer tok-Vd5NqT8xHw2"
    dialect = msgspec.convert({each: whole[each] for each in table()}, Dialect)
    yield LoadServer(
        server_id=server_id,
        tools=tools,
        gone=tuple(form.replace("{id}", name) for form in listing.get("gone", ())),
        page_size=listing.get("page_size"),
        timeout_s=timeout_s,
        script=tuple(_timed(step, timeout_s) for step in script),
        transport="stdio" if whole["transport"] == "stdio" else "http",
        odd_schemas=listing.get("odd", False),
        dialect=dialect,
        cursors=listing.get("cursors", "plain"),
        program=_makes("program", whole).get("program", "quiet"),
        guarded=given,
        odd_connection=whole["connection"] == "odd",
        **own,
    )
    match twin:
        case "tool":
            yield LoadServer(server_id=f"{server_id}-twin", tools=tools[:1] or (f"{name}_tool",))
        case "id":
            fails_alike = all(step.do in ("status", "refused", "unresolvable") for step in script)
            yield LoadServer(server_id=f"{server_id}2", tools=(f"{name}2_tool",),
                             script=script if fails_alike else (HEALTHY,))  # fmt: skip
        case "id-case":
            yield LoadServer(server_id=server_id.upper(), tools=(f"{name}2_tool",))
        case "id-signs":
            yield LoadServer(server_id=server_id.replace("-", ""), tools=(f"{name}2_tool",))
        case "command":
            yield LoadServer(server_id=f"{server_id}-twin", tools=(f"{name}_twin",),
                             transport="stdio", program="particular", script=HEALS)  # fmt: skip
        case "origin":
            yield LoadServer(server_id=f"{server_id}-twin", tools=(f"{name}_twin",),
                             dialect=dialect, same_origin_as=server_id, script=HEALS,
                             timeout_s=usual_s)  # fmt: skip
        case "url":
            yield LoadServer(server_id=f"{server_id}-twin", tools=(f"{name}_twin",),
                             same_url_as=server_id, authorization="Bearer tok-Gm3RyK7cLz9",
                             script=HEALS)  # fmt: skip


def _secrets(servers: Sequence[LoadServer]) -> tuple[str, ...]:
    given = str([(server.authorization, server.query, server.script) for server in servers])
    return tuple(sorted({*SECRET.findall(given)}))


def _timed(step: Behaviour, timeout_s: float) -> Behaviour:
    """Return a behaviour with its delay in seconds, where the space has it in timeouts."""
    return msgspec.structs.replace(step, seconds=step.seconds and step.seconds * timeout_s)


def row_name(server_id: str) -> str:
    """Return the name of the row that a server, or its twin, was made of; empty for others."""
    own = server_id.removesuffix("-twin")
    if own in (words := space().values["id"]["word"].makes["words"]):
        return NAMES[words.index(own)]
    return next((name for name in NAMES if server_id.lower().startswith(name)), "")


def _tools(form: str, name: str) -> Iterator[str]:
    """Yield the names of tools that a form of the space stands for."""
    plain = form.replace("{id}", name)
    if "{thousand}" in plain:
        yield from (plain.replace("{thousand}", str(number)) for number in range(THOUSAND))
    else:
        yield plain.replace("{long}", "").ljust(LONGEST_NAME, "x") if "{long}" in plain else plain


def is_waited_for(behaviour: Behaviour) -> bool:
    """Whether a loader may have to wait until its timeout at this behaviour."""
    return behaviour.do in WAITED_FOR or behaviour.by in ("silence", "drip")


def expected(server: LoadServer, most: int, reads: Reads, *, loads: int = 1) -> Expected:
    """Return what the source allows for the last of `loads` loads of a server.

    `most` bounds the attempts. If the source leaves a behaviour open, every failure and any
    tools are allowed too; every failure also of one without tools, or with a megabyte. Attempts are
    None if they cannot be counted, or the connection is malformed.
    """
    allowed = walk(server, most, loads=loads, reads=reads)
    anything = any(is_open(behaviour) for behaviour in server.script)
    may_fail = "available" in allowed.statuses and (
        not server.listed or server.dialect.size in MEGABYTES
    )
    numbers = allowed.attempts if server.script[0].do != "malformed" else None
    return Expected(
        status=tuple(
            word
            for word in WORDS
            if word in allowed.statuses or ((anything or may_fail) and word != "available")
        ),
        attempts=AttemptBounds(min=numbers[0], max=most if may_fail else numbers[1])
        if numbers
        else None,
        tools=None if anything else allowed.tools,
    )


def _clauses(
    servers: Sequence[LoadServer], most: int, reads: Reads, *, again: bool
) -> tuple[str, ...]:
    """Return the required clauses that a load of these servers can show to be broken."""
    found = {*OF_ANY, *(["I5.clears"] if again else [])}
    for server in servers:
        found |= breakable(server, most, reads)
    known = catalogue().clauses
    return tuple(sorted(each for each in found if known[each].level == "required"))
