"""Hundreds of fault servers at once, repeatedly: fast, bounded, and without leftovers."""

from __future__ import annotations

import gc
import resource
import socket
import sys
import threading
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from mcp_proxy_conformance.upstream.faults import FaultServers, read_scripts
from mcp_proxy_conformance.upstream.faults.server_log import MOST

DARWIN = sys.platform == "darwin"
MANY, ROUNDS, MOST_BYTES = 200, 5, 20 << 20
HEALTHY = {"do": "healthy"}
MIX: list[dict[str, Any]] = [
    HEALTHY,
    {"do": "slow", "seconds": 0.02},
    {"do": "slow", "seconds": 60},
    {"do": "status", "code": 503, "body": "x" * 2000},
    {"do": "redirect"},
    {"do": "silence"},
    {"do": "reset"},
    {"do": "close"},
    {"do": "cut_json", "by": "rst"},
    {"do": "cut_sse", "where": "before"},
    {"do": "html"},
    {"do": "empty"},
    {"do": "set_cookie"},
    {"do": "backlog"},
    {"do": "banner"},
    {"do": "plain_for_tls"},
    {"do": "refused"},
    {"do": "unresolvable"},
    {"do": "stdio_garbage"},
    {"do": "malformed", "connection": {}},
]
BODY = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"pad":"%b"}}' % (b"x" * 50_000)


def mixed(count: int) -> FaultServers:
    """Return a load, not started, of that many servers, whose behaviours cycle through MIX."""
    tools = [f"tool_{n}" for n in range(20)]
    return FaultServers(
        read_scripts(
            [
                {"server_id": f"s{n}", "tools": tools, "script": [MIX[n % len(MIX)]]}
                for n in range(count)
            ]
        )
    )


def knock(connection: dict[str, Any]) -> bool:
    """Send one request to a server, and read until 0.1 s pass without a byte; ignore errors.

    Return False, without a request, if its URL is not at 127.0.0.1.
    """
    place = urlsplit(connection.get("url") or "")
    if place.hostname != "127.0.0.1":
        return False
    try:
        with socket.create_connection((place.hostname, place.port), timeout=0.1) as sock:
            head = f"POST {place.path} HTTP/1.1\r\nContent-Length: {len(BODY)}\r\n\r\n"
            sock.sendall(head.encode() + BODY)
            while sock.recv(1 << 16):
                pass
    except OSError:
        pass  # errors of every kind; only leftovers matter here
    return True


def rounds(count: int, pool: ThreadPoolExecutor) -> int:
    """Start a mixed load of 200 servers, ask each once, and close it, `count` times.

    Return how many requests were tried; servers without a local port get none.
    """
    knocks = 0
    for _ in range(count):
        with mixed(MANY) as servers:
            knocks += sum(pool.map(knock, servers.connections()))
    return knocks


def peak() -> int:
    """Return the peak memory of this process, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if DARWIN else 1024)


def resources() -> tuple[int, int]:
    """Return (open descriptors, living threads) of this process, as numbers."""
    return len(list(Path("/dev/fd").iterdir())), threading.active_count()


@pytest.mark.proof
def test_many_rounds_of_many_servers_stay_within_bounds() -> None:
    """Five rounds of 200 servers leave no descriptor or thread, and less than 20 MB of growth."""
    with ThreadPoolExecutor(16) as pool:
        rounds(1, pool)
        before, begun = resources(), peak()
        knocks = rounds(ROUNDS, pool)
        after, ended = resources(), peak()

    assert knocks == ROUNDS * MANY * 17 // len(MIX)
    assert all(now <= then for now, then in zip(after, before, strict=True))
    assert ended - begun < MOST_BYTES


def test_nothing_of_a_load_is_kept_once_it_is_over() -> None:
    """After a closed load of 200 servers, less than 1 MiB of what it allocated is left."""
    with ThreadPoolExecutor(16) as pool:
        rounds(1, pool)
        tracemalloc.start()
        try:
            rounds(1, pool)
            gc.collect()
            kept, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()

    assert kept < 1 << 20


def test_what_is_kept_of_a_long_load_is_bounded() -> None:
    """Of 600 requests of 50 kB a server keeps 500 log entries, and counts all attempts.

    The process keeps less than 4 MiB of them.
    """
    with mixed(1) as servers:
        place = urlsplit(servers.url("s0"))
        with socket.create_connection((place.hostname, place.port), timeout=5) as sock:
            post = f"POST {place.path} HTTP/1.1\r\nContent-Length: {len(BODY)}\r\n\r\n"
            tracemalloc.start()
            try:
                for _ in range(MOST + 100):
                    sock.sendall(post.encode() + BODY)
                    while not sock.recv(1 << 16).endswith(b"}"):
                        pass
                gc.collect()
                kept, _ = tracemalloc.get_traced_memory()
            finally:
                tracemalloc.stop()
        counts = len(servers.log("s0")), servers.dropped("s0"), servers.attempts("s0")

    assert counts == (MOST, 100, MOST + 100)
    assert kept < 4 << 20


def test_many_servers_open_and_close_at_once() -> None:
    """Four hundred servers start and close within 5 s."""
    began = time.monotonic()
    with mixed(2 * MANY) as servers:
        opened = len(servers.connections())

    assert opened == 2 * MANY
    assert time.monotonic() - began < 5


def test_servers_that_cannot_all_open_open_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """If one port cannot be bound, `start` raises OSError; no port or thread is left."""
    before = resources()
    bind, calls = socket.socket.bind, iter(range(100))

    def scarce(sock: socket.socket, address: Any) -> None:
        """Bind the socket to the address; raise OSError at the sixth call."""
        if next(calls) == 5:
            raise OSError("no more ports")
        bind(sock, address)

    monkeypatch.setattr(socket.socket, "bind", scarce)
    with pytest.raises(OSError, match="no more ports"):
        mixed(20).start()

    assert resources() == before
