"""`serve`: servers of a row of the space, or of a case, for a client of one's own."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import click

from mcp_proxy_conformance.catalogue.requirement import catalogue
from mcp_proxy_conformance.cli.groups import examples, stop
from mcp_proxy_conformance.cli.space import told
from mcp_proxy_conformance.resilience.load_case import SCENARIO, LoadCase, load_cases
from mcp_proxy_conformance.resilience.loads import handed, scripted
from mcp_proxy_conformance.resilience.scenarios import OF_ANY, one_load, space
from mcp_proxy_conformance.resilience.walk import Reads
from mcp_proxy_conformance.run.space.space import Row
from mcp_proxy_conformance.upstream.faults import FaultServers, read_scripts

LOOK_S = 0.1


@click.command(
    "serve", epilog=examples("serve cut-json place=list crlf", "serve cut-close-initialize")
)
@click.argument("values", metavar="[VALUE]...", nargs=-1)
@click.option("--list", "lists", is_flag=True, help="Print all values, and end.")
def serve(*, values: tuple[str, ...], lists: bool) -> None:
    """Serve MCP on loopback, rightly or not, for a client of your own.

    Each VALUE is one of the space of loads, as `event=silence` or, where no other dimension has it,
    `silence`; what is not named is usual. One VALUE may be the id of a case instead: its servers
    are served. What a client's configuration needs is printed first, then each request; Ctrl-C
    tells what a loader owes these servers, and which clauses say so.
    """
    if lists:
        told(space())
        return
    known = {case.id: case for case in load_cases()}
    case = known.get(values[0]) if len(values) == 1 else None
    if case is None:
        case = one_load(_row(values), Reads())
    with FaultServers(read_scripts(map(scripted, case.given.servers))) as servers:
        click.echo(json.dumps({"mcpServers": _configured(case, servers)}, indent=2))
        click.echo("\nserving; Ctrl-C ends it\n")
        try:
            signal.signal(signal.SIGTERM, _end)
            _journal(case, servers)
        except KeyboardInterrupt:
            for line in _owed(case, servers):
                click.echo(line)


def _end(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def _row(values: Sequence[str]) -> Row:
    """Return the row with these values; the command ends if they are unknown, or do not fit."""
    row: dict[str, str] = {}
    for value in values:
        name, _, word = value.rpartition("=")
        of = [each for each, known in space().values.items() if word in known]
        where = [name] if name in of else [] if name else of
        if len(where) != 1:
            places = " or ".join(f"{each}={word}" for each in of)
            repair = f"write {places}" if of else "`serve --list` has all values"
            stop(f"{value!r} is not one value; {repair}")
        row[where[0]] = word
    if sentence := space().excluded(space().defaults | row):
        stop(f"{' '.join(values)} cannot be played together: {sentence}")
    return row


def _configured(case: LoadCase, servers: FaultServers) -> dict[str, Any]:
    """Return each server as most clients are configured with it."""
    given = {}
    for server in case.given.servers:
        own = handed(servers.connection(server.server_id), server)
        kept = {name: own[name] for name in ("url", "command", "args", "env") if own.get(name)}
        headers = {"headers": own["headers"]} if own.get("headers") else {}
        kind = {"type": "http"} if "url" in own else {}
        given[server.server_id] = kind | kept | headers
    return given


def _journal(case: LoadCase, servers: FaultServers) -> NoReturn:
    """Print each request as it comes, without end."""
    began, told_of = time.monotonic(), dict.fromkeys(case.then, 0)
    while True:
        for name, number in told_of.items():
            for seen in servers.log(name)[number:]:
                click.echo(f"{seen.at - began:8.2f} s  {name}: {seen}")
                told_of[name] += 1
        time.sleep(LOOK_S)


def _owed(case: LoadCase, servers: FaultServers) -> Iterator[str]:
    """Yield lines on what each server saw, what a loader owes it, and the clauses of that."""
    for server in case.given.servers:
        name, due = server.server_id, case.then[server.server_id]
        counted = servers.attempts(name)
        bounds = f", with {due.attempts.min} to {due.attempts.max} attempts" if due.attempts else ""
        yield f"\n{name}: {'' if counted is None else f'{counted} attempts; '}a loader tells it as"
        yield f"  {' or '.join(due.status)}{bounds} (of at most {case.given.max_attempts})"
    yield ""
    any_can = OF_ANY if case.area == SCENARIO else ()
    for clause in (each for each in case.clauses if each not in any_can):
        yield f"{clause:28} {catalogue().clauses[clause].text}"
