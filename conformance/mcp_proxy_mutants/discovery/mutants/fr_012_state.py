"""Mutants of state: writes to disk, wrong counts of flagged requests, answers of another build."""

import base64
import json
import sqlite3
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from mcp_proxy_mutants.discovery.changed_parts import Request
from mcp_proxy_mutants.discovery.gateway_changes import decide, own, put
from mcp_proxy_mutants.discovery.mutant import Fresh, Mutant, mutant
from mcp_proxy_reference import policy as std
from mcp_proxy_reference.facts import Agent, Facts, Json, Match, Status, Tool
from mcp_proxy_reference.gateway import Gateway
from mcp_proxy_reference.loader import Outcome
from mcp_proxy_reference.store import Store

SCORE = 3


def _rounded(hit: Match) -> Json:
    """Return a callable tool's entry with its score rounded to three digits."""
    entry = std.callable_entry(hit)
    return entry | {"score": round(entry["score"], SCORE)}


def _reworded(flag: bool, callables: int, locked: Sequence[Facts]) -> str | None:
    """Return the usual note with two words before it; None if none is due."""
    notice = std.note(flag, callables, locked)
    return f"Nothing callable: {notice}" if notice else None


def _usage_file(document: Json, request: Request) -> Json:
    """Return the answer unchanged; append the agent's name to `opt-ins.log` if it is flagged.

    The file is beside the store.
    """
    if request.flag:
        with request.store.path.with_name("opt-ins.log").open("a", encoding="utf-8") as log:
            log.write(f"{request.agent.name}\n")
    return document


def _usage_table(document: Json, request: Request) -> Json:
    """Return the answer unchanged; write its locked tools and statuses to a table of the store."""
    if request.flag and "disabled" in document:
        with closing(sqlite3.connect(request.store.path)) as rows, rows:
            rows.execute("create table if not exists classified (name text primary key, status)")
            statuses = [(entry["name"], entry["status"]) for entry in document["disabled"]]
            rows.executemany("insert or replace into classified values (?, ?)", statuses)
    return document


def _counter_kept(gateway: Gateway) -> None:
    """Keep the opt-in counter (uses of the flag) over restarts, in a file.

    Flagged requests write it.
    """
    kept = gateway.store.path.with_name("opt-ins.count")
    gateway.opt_ins = int(kept.read_text(encoding="utf-8")) if kept.exists() else 0

    def answer(document: Json, request: Request) -> Json:
        if request.flag:
            kept.write_text(str(gateway.opt_ins), encoding="utf-8")
        return document

    decide(gateway, answer=answer)


def _every_third_uncounted() -> Callable[[bool], int]:
    """Return an `opted_in` decision that returns 0 for every third flagged request."""
    requests: Counter[bool] = Counter()

    def moved(flagged: bool) -> int:
        requests[flagged] += 1
        return std.opted_in(flagged) if requests[True] % 3 else 0

    return moved


def _noted_counted(gateway: Gateway) -> None:
    """Count a request whose flag is sent as false as an opt-in (a use of the flag), too."""

    def answer(document: Json, request: Request) -> Json:
        gateway.opt_ins += not request.flag and "include_disabled" in request.arguments
        return document

    decide(gateway, answer=answer)


def _folder(gateway: Gateway) -> Path:
    """Return the folder of the gateway's stored state."""
    return gateway.store.path.parent


def _kept_on_disk(gateway: Gateway) -> None:
    """Report the status that a tool was first listed with, even after a restart.

    A file in the folder of the state keeps the statuses.
    """
    path = _folder(gateway) / "statuses.json"
    kept: dict[str, Status] = {}
    with suppress(OSError, ValueError):
        kept = json.loads(path.read_text())

    def locked_entry(facts: Facts, status: Status, withheld: bool) -> Json:
        kept.setdefault(facts.tool.key, status)
        path.write_text(json.dumps(kept))
        return std.locked_entry(facts, status, withheld)

    decide(
        gateway,
        classify=lambda facts: kept.get(facts.tool.key) or std.classify(facts),
        locked_entry=locked_entry,
    )


def _journal(gateway: Gateway) -> None:
    """Append the query of each flagged request to the file `discovery.log` beside the store."""

    def answer(document: Json, request: Request) -> Json:
        if request.flag:
            with (_folder(gateway) / "discovery.log").open("a") as log:
                log.write(f"{request.query!r}\n")
        return document

    decide(gateway, answer=answer)


def _table(gateway: Gateway) -> None:
    """Write each tool listed as locked, with its status, to a table of the store's database.

    Errors of the database are ignored.
    """

    def locked_entry(facts: Facts, status: Status, withheld: bool) -> Json:
        uri = f"{gateway.store.path.absolute().as_uri()}?mode=rw"
        with suppress(sqlite3.Error), closing(sqlite3.connect(uri, uri=True)) as rows, rows:
            rows.execute("create table if not exists locked (tool text primary key, status text)")
            rows.execute("insert or replace into locked values (?, ?)", (facts.tool.key, status))
        return std.locked_entry(facts, status, withheld)

    decide(gateway, locked_entry=locked_entry)


def _stored_counter(gateway: Gateway) -> None:
    """Keep the opt-in counter (uses of the flag) over restarts, in a file.

    Every discovery request writes it.
    """
    path = _folder(gateway) / "opt-ins"
    with suppress(OSError, ValueError):
        gateway.opt_ins = int(path.read_text())

    def opted_in(flagged: bool) -> int:
        path.write_text(str(gateway.opt_ins + flagged))
        return int(flagged)

    decide(gateway, opted_in=opted_in)


def _counted_when_revealing(gateway: Gateway) -> None:
    """Count only those flagged requests as opt-ins whose answers list locked tools."""

    def answer(document: Json, request: Request) -> Json:
        gateway.opt_ins += bool(request.flag and document.get("disabled"))
        return document

    decide(gateway, opted_in=lambda _: 0, answer=answer)


def _counted_by_entry(gateway: Gateway) -> None:
    """Count listed locked entries as opt-ins, instead of one for each flagged request."""

    def answer(document: Json, _request: Request) -> Json:
        gateway.opt_ins += len(document.get("disabled", []))
        return document

    decide(gateway, opted_in=lambda _: 0, answer=answer)


def _agents_uncounted(gateway: Gateway) -> None:
    """Count only the administrator's flagged requests as opt-ins, not those of scoped agents."""

    def answer(document: Json, request: Request) -> Json:
        gateway.opt_ins -= request.flag and request.agent.servers is not None
        return document

    decide(gateway, answer=answer)


def _stateless_uncounted(gateway: Gateway) -> None:
    """Do not count flagged requests of the stateless revision as opt-ins.

    They are known by `_meta` in their parameters.
    """

    async def reply(
        _agent: Agent, _session: str, message: Json, respond: Callable[[], Awaitable[Json]]
    ) -> Json:
        before = gateway.opt_ins
        answer = await respond()
        if "_meta" in (message.get("params") or {}):
            gateway.opt_ins = before
        return answer

    decide(gateway, reply=reply)


def _sql(store: Store, statement: str, *values: Any) -> None:
    """Run an SQL statement on the store's database and commit it; database errors are ignored."""
    uri = f"{store.path.absolute().as_uri()}?mode=rw"
    with suppress(sqlite3.Error), closing(sqlite3.connect(uri, uri=True)) as rows, rows:
        rows.execute(statement, values)


def _counter_in_header(gateway: Gateway) -> None:
    """Write the opt-in counter to the database header at flagged requests, and never read it."""

    def answer(document: Json, request: Request) -> Json:
        if request.flag:
            _sql(request.store, f"pragma user_version = {gateway.opt_ins}")
        return document

    decide(gateway, answer=answer)


def _counter_of_tokens(document: Json, request: Request) -> Json:
    """Return the answer unchanged; count flagged requests in the agent's token in the store."""
    if request.flag:
        count = "coalesce(json_extract(agent, '$.opt_ins'), 0) + 1"
        changed = f"cast(json_set(agent, '$.opt_ins', {count}) as blob)"
        _sql(request.store, f"update tokens set agent = {changed} where name = ?",  # noqa: S608
             request.agent.name)  # fmt: skip
    return document


def _statuses_among_contacts(document: Json, request: Request) -> Json:
    """Return the answer unchanged; store its locked tools and statuses in the table `contacts`.

    That exists already, for other rows.
    """
    for entry in document.get("disabled", []):
        row = f"{entry['server']}:{entry['name']}={entry['status']}"
        _sql(request.store, "insert or ignore into contacts values (?)", row)
    return document


def _written_at_exit(gateway: Gateway) -> None:
    """When the proxy ends, store the listed locked tools and statuses in an existing table."""
    shown: dict[str, str] = {}
    close = gateway.aclose

    def locked_entry(facts: Facts, status: Status, withheld: bool) -> Json:
        shown[facts.tool.key] = status
        return std.locked_entry(facts, status, withheld)

    async def aclose() -> None:
        await close()
        for tool, status in shown.items():
            _sql(gateway.store, "insert or ignore into contacts values (?)", f"{tool} {status}")

    put(gateway, aclose=aclose)
    decide(gateway, locked_entry=locked_entry)


def _counted_beside_locks(gateway: Gateway) -> None:
    """Store the opt-in counter with each change of a user lock; start from it after a restart."""
    uri = f"{gateway.store.path.absolute().as_uri()}?mode=ro"
    with suppress(sqlite3.Error), closing(sqlite3.connect(uri, uri=True)) as rows:
        gateway.opt_ins = rows.execute("select max(number) from uses").fetchone()[0] or 0
    lock = gateway.store.lock

    def counting(tool: Tool, *, locked: bool) -> None:
        lock(tool, locked=locked)
        _sql(gateway.store, "create table if not exists uses (number integer)")
        _sql(gateway.store, "insert into uses values (?)", gateway.opt_ins)

    put(gateway.store, lock=counting)


def _counted_at_refresh(gateway: Gateway) -> None:
    """Write an HTML page with the number of opt-ins whenever a server is refreshed."""
    page = _folder(gateway) / "servers.html"
    refresh = gateway.refresh

    async def reporting(name: str) -> Outcome:
        outcome = await refresh(name)
        page.write_text(f"<p>{name}: {outcome.status}<p>{gateway.opt_ins}", encoding="utf-8")
        return outcome

    put(gateway, refresh=reporting)


def _counted_in_the_config(gateway: Gateway) -> None:
    """Write the number of opt-ins to a server's entry in the config file when it is switched.

    It is the member `searches`.
    """
    path = Path(own(gateway, "_path"))
    switch = gateway.switch

    def noting(server: str, **changes: bool) -> None:
        switch(server, **changes)
        document = json.loads(path.read_text(encoding="utf-8"))
        entry = next(entry for entry in document["mcpServers"] if entry["name"] == server)
        entry["searches"] = gateway.opt_ins
        path.write_text(json.dumps(document), encoding="utf-8")

    put(gateway, switch=noting)


def _diary(write: Callable[[Request], str]) -> Callable[[Gateway], None]:
    """Return a gateway change: each discovery request adds a line to the file `calls.log`.

    It has the time and what `write` returns.
    """

    def swap(gateway: Gateway) -> None:
        path = _folder(gateway) / "calls.log"
        path.touch()

        def answer(document: Json, request: Request) -> Json:
            with path.open("a", encoding="utf-8") as log:
                log.write(f"{time.time()} {write(request)}\n")
            return document

        decide(gateway, answer=answer)

    return swap


MUTANTS: tuple[Mutant, ...] = (
    mutant(
        "counter-in-the-header",
        "The opt-in counter is written to the header of the database, and never read.",
        "FR-013.in-memory",
        "FR-012.no-new-state",
        swap=_counter_in_header,
    ),
    mutant(
        "counter-in-the-tokens",
        "The use of the flag is counted in the stored tokens of agents.",
        "FR-013.in-memory",
        "FR-012.no-new-state",
        answer=_counter_of_tokens,
    ),
    mutant(
        "counter-beside-locks",
        "The opt-in counter is stored with each lock of the user, and goes on after a restart.",
        "FR-013.counts",
        swap=_counted_beside_locks,
    ),
    mutant(
        "counter-in-a-page",
        "A page that is written at each refresh has the number of opt-ins.",
        "FR-013.in-memory",
        "FR-012.no-new-state",
        swap=_counted_at_refresh,
    ),
    mutant(
        "counter-in-the-config",
        "The config has the number of opt-ins when a server was switched off or on.",
        "FR-013.in-memory",
        "FR-012.no-new-state",
        swap=_counted_in_the_config,
    ),
    mutant(
        "statuses-among-contacts",
        "The statuses that the flag revealed are stored in a table that exists already.",
        "FR-012.no-new-state",
        answer=_statuses_among_contacts,
    ),
    mutant(
        "statuses-written-at-exit",
        "The statuses that the flag revealed are stored in an existing table at the end.",
        "FR-012.no-new-state",
        swap=_written_at_exit,
    ),
    mutant(
        "coded-queries-in-the-log",
        "A log of calls has the query of those with the flag, in base64.",
        "FR-013.in-memory",
        swap=_diary(
            lambda request: (
                base64.b64encode(request.query.encode()).decode() if request.flag else "call"
            )
        ),
    ),
    mutant(
        "callers-in-the-log",
        "A log of calls has the agent's name of those with the flag only.",
        "FR-013.in-memory",
        swap=_diary(lambda request: f"call of {request.agent.name}" if request.flag else "call"),
    ),
    mutant(
        "opt-ins-logged",
        "Each use of the flag is written to a file.",
        "FR-012.no-new-state",
        answer=_usage_file,
    ),
    mutant(
        "statuses-kept-in-a-table",
        "The statuses that the flag revealed are stored in a table.",
        "FR-012.no-new-state",
        answer=_usage_table,
    ),
    mutant(
        "stored-statuses",
        "Statuses are stored in a file.",
        "FR-012.no-new-state",
        swap=_kept_on_disk,
    ),
    mutant(
        "stored-queries",
        "Each query with the flag is written to a file.",
        "FR-012.no-new-state",
        swap=_journal,
    ),
    mutant(
        "stored-table",
        "Listed locked tools are stored in a separate table.",
        "FR-012.no-new-state",
        swap=_table,
    ),
    mutant(
        "counter-outlives-restarts",
        "The counter of opt-ins continues after a restart.",
        "FR-013.counts",
        "FR-012.no-new-state",
        swap=_counter_kept,
    ),
    mutant(
        "third-opt-in-uncounted",
        "Every third use of the flag is not counted.",
        "FR-013.counts",
        opted_in=Fresh(_every_third_uncounted),
    ),
    mutant(
        "opt-ins-of-agents-uncounted",
        "The use of the flag by agents of a narrower scope is not counted.",
        "FR-013.counts",
        swap=_agents_uncounted,
    ),
    mutant(
        "stateless-opt-ins-uncounted",
        "The use of the flag without a session is not counted.",
        "FR-013.counts",
        swap=_stateless_uncounted,
    ),
    mutant(
        "explicit-false-counted",
        "A request with the flag false counts as an opt-in.",
        "FR-013.counts",
        swap=_noted_counted,
    ),
    mutant(
        "stored-counter",
        "The opt-in counter survives a restart.",
        "FR-013.counts",
        "FR-012.no-new-state",
        swap=_stored_counter,
    ),
    mutant(
        "counter-all",
        "The counter counts queries without the flag too.",
        "FR-013.counts",
        opted_in=lambda _: 1,
    ),
    mutant(
        "counter-revealing",
        "Opt-in queries that reveal nothing are not counted.",
        "FR-013.counts",
        swap=_counted_when_revealing,
    ),
    mutant(
        "counter-entries",
        "Locked entries are counted instead of queries.",
        "FR-013.counts",
        swap=_counted_by_entry,
    ),
    mutant(
        "scores-rounded-anew",
        "Scores have fewer decimals than in the earlier build.",
        "SUITE.changed",
        callable_entry=_rounded,
    ),
    mutant(
        "note-worded-anew",
        "The note is worded differently than in the earlier build.",
        "SUITE.changed",
        note=_reworded,
    ),
)
