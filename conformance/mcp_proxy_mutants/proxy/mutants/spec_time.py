"""Faults of memory: what is kept, what is stored, what is counted."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from mcp_proxy_mutants.proxy.mutant import Fresh, Mutant, mutant
from mcp_proxy_mutants.proxy.pieces import every
from mcp_proxy_mutants.proxy.swapping import decide, own, put
from mcp_proxy_mutants.proxy.wrapping import Request
from mcp_proxy_reference import policy as std
from mcp_proxy_reference.facts import Facts, Json, Status
from mcp_proxy_reference.gateway import Gateway


def _folder(gateway: Gateway) -> Path:
    return gateway.store.path.parent


def _for_lists(kept: dict[str, bool]) -> Callable[[Facts, str], bool]:
    """Discovery keeps its first decision on a tool; calls and counts do not."""

    def may_call(facts: Facts, surface: str) -> bool:
        may = std.may_call(facts, surface)
        return kept.setdefault(facts.tool.key, may) if surface == "discovery" else may

    return may_call


def _locked_stay() -> Callable[[Facts, str], bool]:
    """A tool that discovery has once seen locked stays so for it."""
    locked: set[str] = set()

    def may_call(facts: Facts, surface: str) -> bool:
        may = std.may_call(facts, surface)
        if surface != "discovery":
            return may
        if not may:
            locked.add(facts.tool.key)
        return facts.tool.key not in locked

    return may_call


def _kept_status() -> Callable[[Facts], Any]:
    """A tool's status is worked out once and kept."""
    kept: dict[str, Status] = {}
    return lambda facts: kept.setdefault(facts.tool.key, std.classify(facts))


def _kept_answers() -> Callable[[Json, Request], Json]:
    """Flagged answers are kept by agent, query and limit."""
    kept: dict[tuple[str, str, int], Json] = {}

    def answer(document: Json, request: Request) -> Json:
        key = request.agent.name, request.query, request.limit
        return kept.setdefault(key, document) if request.flag else document

    return answer


def _until_refresh(gateway: Gateway) -> None:
    """Discovery sees locks as they were when the tool's server was last read."""
    view: dict[str, Facts] = {}
    record = own(gateway, "_record")

    def recorded(name: str) -> None:
        record(name)
        for key in [key for key, facts in view.items() if facts.tool.server == name]:
            del view[key]
        view.update({facts.tool.key: facts for facts in gateway.known().get(name, ())})

    def may_call(facts: Facts, surface: str) -> bool:
        seen = view.get(facts.tool.key, facts) if surface == "discovery" else facts
        return std.may_call(seen, surface)

    put(gateway, _record=recorded)
    decide(gateway, may_call=may_call)


def _kept_on_disk(gateway: Gateway) -> None:
    """Statuses are kept in a file, for the next start as well."""
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
    """Each opt-in query is written to a file."""

    def answer(document: Json, request: Request) -> Json:
        if request.flag:
            with (_folder(gateway) / "discovery.log").open("a") as log:
                log.write(f"{request.query!r}\n")
        return document

    decide(gateway, answer=answer)


def _table(gateway: Gateway) -> None:
    """Tools that were listed as locked are put down in a table of their own."""

    def locked_entry(facts: Facts, status: Status, withheld: bool) -> Json:
        uri = f"{gateway.store.path.absolute().as_uri()}?mode=rw"
        with suppress(sqlite3.Error), closing(sqlite3.connect(uri, uri=True)) as rows, rows:
            rows.execute("create table if not exists locked (tool text primary key, status text)")
            rows.execute("insert or replace into locked values (?, ?)", (facts.tool.key, status))
        return std.locked_entry(facts, status, withheld)

    decide(gateway, locked_entry=locked_entry)


def _stored_counter(gateway: Gateway) -> None:
    """The opt-in counter is kept in a file and read again at the start."""
    path = _folder(gateway) / "opt-ins"
    with suppress(OSError, ValueError):
        gateway.opt_ins = int(path.read_text())

    def opted_in(flagged: bool) -> int:
        path.write_text(str(gateway.opt_ins + flagged))
        return int(flagged)

    decide(gateway, opted_in=opted_in)


def _counted_when_revealing(gateway: Gateway) -> None:
    """Only opt-in queries that reveal something are counted."""

    def answer(document: Json, request: Request) -> Json:
        gateway.opt_ins += bool(request.flag and document.get("disabled"))
        return document

    decide(gateway, opted_in=lambda _: 0, answer=answer)


def _counted_by_entry(gateway: Gateway) -> None:
    """Locked entries are counted instead of queries."""

    def answer(document: Json, _request: Request) -> Json:
        gateway.opt_ins += len(document.get("disabled", []))
        return document

    decide(gateway, opted_in=lambda _: 0, answer=answer)


def _once() -> Callable[[bool], int]:
    """The first opt-in call of a run is counted."""
    used: list[bool] = []

    def opted_in(flagged: bool) -> int:
        if flagged:
            used.append(True)
        return int(flagged and len(used) == 1)

    return opted_in


def _tenth() -> Callable[[bool], int]:
    """Counts are handed on in tens."""
    full = every(10)
    return lambda flagged: 10 if flagged and full() else 0


STORES = "FR-012.no-new-state"
COUNTS = "FR-013.counts"
MUTANTS: tuple[Mutant, ...] = (
    mutant(
        "spec-kept-decision",
        "Discovery keeps its first decision on a tool until the restart.",
        "FR-004.follows-state",
        "FR-001.reveals-user",
        may_call=Fresh(lambda: _for_lists({})),
    ),
    mutant(
        "spec-kept-locked",
        "A tool that was locked once stays among the locked entries.",
        "FR-004.follows-state",
        may_call=Fresh(_locked_stay),
    ),
    mutant(
        "spec-kept-status",
        "A tool's status is worked out once and kept until the restart.",
        "FR-004.precedence",
        classify=Fresh(_kept_status),
    ),
    mutant(
        "spec-kept-answers",
        "A flagged query that is asked again is answered from memory.",
        "FR-004.follows-state",
        answer=Fresh(_kept_answers),
    ),
    mutant(
        "spec-kept-until-refresh",
        "Discovery sees a lock or its end when the tool's server is read again.",
        "FR-004.follows-state",
        "FR-001.reveals-user",
        "FR-001.reveals-config",
        swap=_until_refresh,
    ),
    mutant(
        "spec-stored-statuses",
        "Statuses are kept in a file.",
        STORES,
        swap=_kept_on_disk,
    ),
    mutant(
        "spec-stored-queries",
        "Each opt-in query is written to a file.",
        STORES,
        swap=_journal,
    ),
    mutant(
        "spec-stored-table",
        "Listed tools are put down in a table of their own.",
        STORES,
        swap=_table,
    ),
    mutant(
        "spec-stored-counter",
        "The opt-in counter outlives a restart.",
        COUNTS,
        STORES,
        swap=_stored_counter,
    ),
    mutant(
        "spec-counter-all",
        "The counter counts queries without the flag too.",
        COUNTS,
        opted_in=lambda _: 1,
    ),
    mutant(
        "spec-counter-none",
        "The counter stays at 0.",
        COUNTS,
        opted_in=lambda _: 0,
    ),
    mutant(
        "spec-counter-twice",
        "Each opt-in query counts twice.",
        COUNTS,
        opted_in=lambda flagged: 2 * flagged,
    ),
    mutant(
        "spec-counter-once",
        "Only the first opt-in query is counted.",
        COUNTS,
        opted_in=Fresh(_once),
    ),
    mutant(
        "spec-counter-tens",
        "The counter grows in tens.",
        COUNTS,
        opted_in=Fresh(_tenth),
    ),
    mutant(
        "spec-counter-back",
        "Queries without the flag count backwards.",
        COUNTS,
        opted_in=lambda flagged: 1 if flagged else -1,
    ),
    mutant(
        "spec-counter-revealing",
        "Opt-in queries that reveal nothing are not counted.",
        COUNTS,
        swap=_counted_when_revealing,
    ),
    mutant(
        "spec-counter-entries",
        "Locked entries are counted instead of queries.",
        COUNTS,
        swap=_counted_by_entry,
    ),
)
