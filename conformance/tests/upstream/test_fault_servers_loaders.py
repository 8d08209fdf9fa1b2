"""Real loaders against fault servers: the reference's own, and the stock SDK client."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from mcp import Client

from mcp_proxy_conformance.upstream.faults import FaultServers, read_scripts
from mcp_proxy_reference.loader import Connection, Outcome
from mcp_proxy_reference.upstream import load_all

HEALTHY = {"do": "healthy"}
UNAVAILABLE = {"do": "status", "code": 503}
SCRIPTS: dict[str, list[dict[str, Any]]] = {
    "healthy": [HEALTHY],
    "slow": [{"do": "slow", "seconds": 0.05, "on": "any"}],
    "clean 403": [{"do": "status", "code": 403, "body": "Access denied."}],
    "authorization": [
        {"do": "status", "code": 403, "body": "ext_authz error: timeout"},
        HEALTHY,
    ],
    "404": [{"do": "status", "code": 404}],
    "503": [UNAVAILABLE],
    "503 once": [UNAVAILABLE, HEALTHY],
    "503 at the listing": [{**UNAVAILABLE, "on": "tools/list"}, HEALTHY],
    "503 at the notification": [{**UNAVAILABLE, "on": "notifications/initialized"}, HEALTHY],
    "reset": [{"do": "reset"}],
    "close": [{"do": "close", "on": "tools/list"}, HEALTHY],
    "json fin": [{"do": "cut_json"}, HEALTHY],
    "json rst": [{"do": "cut_json", "by": "rst", "on": "tools/list"}, HEALTHY],
    "sse before": [{"do": "cut_sse", "where": "before"}, HEALTHY],
    "sse inside": [{"do": "cut_sse", "by": "rst"}, HEALTHY],
    "html": [{"do": "html"}],
    "broken": [{"do": "broken_json"}],
    "empty": [{"do": "empty"}],
    "error": [{"do": "jsonrpc_error"}],
    "redirect": [{"do": "redirect", "to": "healthy"}],
    "refused": [{"do": "refused"}],
    "malformed": [{"do": "malformed", "connection": {"url": "http://"}}],
    "missing": [{"do": "stdio_missing"}],
    "cookie": [{"do": "set_cookie"}],
    "session": [{"do": "session"}],
}
EXPECTED = {
    "healthy": ("available", 1),
    "slow": ("available", 1),
    "clean 403": ("denied", 1),
    "authorization": ("available", 2),
    "404": ("permanent", 1),
    "503": ("transient", 3),
    "503 once": ("available", 2),
    "503 at the listing": ("available", 2),
    "503 at the notification": ("available", 2),
    "reset": ("transient", 3),
    "close": ("available", 2),
    "json fin": ("available", 2),
    "json rst": ("available", 2),
    "sse before": ("available", 2),
    "sse inside": ("available", 2),
    "html": ("permanent", 1),
    "broken": ("permanent", 1),
    "empty": ("permanent", 1),
    "error": ("permanent", 1),
    "redirect": ("permanent", 1),
    "refused": ("permanent", None),
    "malformed": ("permanent", None),
    "missing": ("permanent", None),
    "cookie": ("available", 1),
    "session": ("available", 1),
}
OUTLASTING: dict[str, list[dict[str, Any]]] = {
    "late": [{"do": "slow", "seconds": 30}],
    "silence": [{"do": "silence"}, HEALTHY],
    "silent listing": [{"do": "silence", "on": "tools/list"}, HEALTHY],
}


@contextmanager
def playing(scripts: dict[str, list[dict[str, Any]]], wait_s: float = 20) -> Iterator[FaultServers]:
    """Yield running servers of these scripts, by server id, each with one tool named `tool`.

    `wait_s` is each server's timeout, so long that a slow machine adds no fault.
    """
    documents = [
        {"server_id": name, "tools": ["tool"], "script": script, "timeout_s": wait_s}
        for name, script in scripts.items()
    ]
    with FaultServers(read_scripts(documents)) as servers:
        yield servers


def loaded(servers: FaultServers) -> list[Outcome]:
    """Load all these servers with the reference's loader, pauses of 10 ms; return its outcomes."""

    def place(connection: dict[str, Any]) -> Connection:
        """Return the reference's Connection for one of the servers' own `connections()`."""
        command = connection.get("command") or [None]
        return Connection(
            server_id=connection["server_id"],
            url=connection.get("url"),
            command=command[0],
            args=command[1:],
            timeout=connection["timeout_s"],
        )

    return asyncio.run(
        load_all([place(connection) for connection in servers.connections()], base_backoff=0.01)
    )


def test_the_reference_classifies_what_it_meets() -> None:
    """The reference's loader gives each server the expected status, after the expected attempts.

    It claims as many as were counted, and sends no cookie or session id to another server.
    """
    with playing(SCRIPTS) as servers:
        outcomes = loaded(servers)
        got = {
            outcome.server_id: (outcome.status, servers.attempts(outcome.server_id))
            for outcome in outcomes
        }
        claimed = {outcome.server_id: outcome.attempts for outcome in outcomes}
        crossed = [
            entry
            for name in SCRIPTS
            for entry in servers.log(name)
            for kept in SCRIPTS
            if kept != name and servers.token(kept) in f"{entry.cookie} {entry.session}"
        ]

    assert got == EXPECTED
    assert {name: n for name, n in claimed.items() if EXPECTED[name][1] not in (None, n)} == {}
    assert crossed == []


@pytest.mark.parametrize(
    ("name", "status", "attempts"),
    [("late", "transient", 3), ("silence", "available", 2), ("silent listing", "available", 2)],
)
def test_the_reference_waits_no_longer_than_its_timeout(
    name: str, status: str, attempts: int
) -> None:
    """The reference's loader ends a silent attempt at its timeout of 0.5 s, and tries again.

    A server that answers then is available; one that is always late is transient after three.
    """
    with playing({name: OUTLASTING[name]}, wait_s=0.5) as servers:
        (outcome,) = loaded(servers)

    assert (outcome.status, servers.attempts(name)) == (status, attempts)


@pytest.mark.parametrize("mode", ["legacy", "auto", "2026-07-28"])
def test_the_stock_client_uses_a_healthy_server(mode: str) -> None:
    """The official SDK client lists a healthy server's tool in each of two uses: two attempts."""

    async def names(url: str) -> list[str]:
        """List the tools of the server at this URL with a new SDK client; return their names."""
        async with asyncio.timeout(20), Client(url, mode=mode) as client:
            return [tool.name for tool in (await client.list_tools()).tools]

    with playing({"healthy": [HEALTHY]}) as servers:
        listed = [asyncio.run(names(servers.url("healthy"))) for _ in range(2)]

    assert listed == [["tool"]] * 2
    assert servers.attempts("healthy") == 2


@pytest.mark.parametrize("mode", ["legacy", "auto", "2026-07-28"])
@pytest.mark.parametrize("name", ["503 once", "clean 403", "reset", "json fin", "html", "error"])
def test_the_stock_client_fails_in_one_attempt(name: str, mode: str) -> None:
    """The official SDK client raises at a failing server; its requests count as one attempt."""

    async def use(url: str) -> None:
        """List the tools of the server at this URL with a new SDK client."""
        async with asyncio.timeout(20), Client(url, mode=mode) as client:
            await client.list_tools()

    with playing({name: SCRIPTS[name]}) as servers, pytest.raises(Exception):  # noqa: B017, PT011 - of many kinds
        asyncio.run(use(servers.url(name)))

    assert servers.attempts(name) == 1
