"""Loads of a loader under test: many at once, each against its own fault servers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import msgspec

from mcp_proxy_conformance.catalogue.load_case import (
    BASE_BACKOFF_S,
    CONTROL_DOWN,
    CONTROL_UP,
    LoadCase,
    LoadServer,
)
from mcp_proxy_conformance.resilience.loader import Loaded, Loader
from mcp_proxy_conformance.targets.adapter import AdapterError, without_frames
from mcp_proxy_conformance.upstream.faults import FaultServers, read_scripts

AT_ONCE = 12
PATIENCE = 10
"""The factor of a load's deadline over the sum of its timeouts and pauses (I4)."""
UNJUDGED_S = 30.0
"""Seconds to wait for a load whose end is not judged."""
GROWS = 4.0
"""The most by which a pause may grow over the one before."""
PLAYED = ("server_id", "tools", "page_size", "timeout_s", "script", "same_origin_as")


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """One finished load: its case, the loader's answer, and what the servers counted.

    `attempts` are counts by server id, None where they cannot be counted; `unmet` is why this
    machine cannot play a server's fault, by server id; `again` is a second load of the same
    servers, whose scripts continue, and `attempts_again` are its attempts.
    """

    case: LoadCase
    servers: FaultServers
    loaded: Loaded
    attempts: Mapping[str, int | None]
    unmet: Mapping[str, str]
    again: Loaded | None = None
    attempts_again: Mapping[str, int] = field(default_factory=dict)


class Loads:
    """A pool of loader programs; each load has one to itself."""

    def __init__(self, make: Callable[[Path], Loader], folder: Path) -> None:
        """Start nothing yet; `make` makes a loader that keeps its log in a folder."""
        self._make = make
        self._folder = folder
        self._crew = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="load")
        self._idle: list[Loader] = []
        self._all: list[Loader] = []
        self._lock = threading.Lock()
        self._done: dict[str, Future[Load]] = {}

    def plan(self, cases: Sequence[LoadCase], *, slowest_first: bool = True) -> None:
        """Begin the loads of these cases in the background, unless begun before; slowest first."""
        new = {case.id: case for case in cases if case.id not in self._done}
        order = sorted(new.values(), key=_deadline, reverse=True)
        for case in order if slowest_first else new.values():
            self._done[case.id] = self._crew.submit(self._load, case)

    def of(self, case: LoadCase) -> Load:
        """Return the load of a case; waits for it, raises AdapterError if the program broke."""
        if case.id not in self._done:
            self.plan([case])
        return self._done[case.id].result()

    def anew(self, case: LoadCase) -> Load:
        """Load a case once more and return that load; `of` still returns the first one."""
        return self._crew.submit(self._load, case).result()

    def settle(self) -> None:
        """Wait until no load is in progress."""
        wait(self._done.values())

    def close(self) -> None:
        """End every loader, drop loads that have not begun, and wait for the others to end."""
        self._crew.shutdown(wait=False, cancel_futures=True)
        with ThreadPoolExecutor(max(1, len(self._all))) as enders:
            list(enders.map(lambda loader: loader.stop(0.0), self._all))
        self._crew.shutdown(wait=True)

    def _load(self, case: LoadCase) -> Load:
        loader = self._take()
        try:
            return _loaded(loader, case)
        except AdapterError as error:
            raise without_frames(error) from None
        finally:
            with self._lock:
                self._idle.append(loader)

    def _take(self) -> Loader:
        """Return an idle loader, or a new one."""
        with self._lock:
            if self._idle:
                return self._idle.pop()
            number = len(self._all) + 1
            loader = self._make(self._folder / f"loader-{number}")
            self._all.append(loader)
            return loader


def _loaded(loader: Loader, case: LoadCase) -> Load:
    """Start the servers of a case, have the loader load them, and again if the case says so."""
    own = case.servers()
    scripts = read_scripts([_script(server) for server in own])
    with FaultServers(scripts) as servers:
        unmet = {
            server.server_id: why for server in own if (why := servers.unmet(server.server_id))
        }
        handed = [_handed(servers.connection(server.server_id), server) for server in own]
        wanted: dict[str, Any] = {
            "max_attempts": case.given.max_attempts,
            "base_backoff_s": BASE_BACKOFF_S,
            "deadline_s": _deadline(case),
        }
        first = loader.load(handed, **wanted)
        attempts = {server.server_id: servers.attempts(server.server_id) for server in own}
        again = None
        if case.again is not None and not first.hung:
            for server in own:
                if case.heals and server.heals:
                    servers.heal(server.server_id)
            again = loader.load(handed, **wanted)
        later = {
            name: (servers.attempts(name) or 0) - before
            for name, before in attempts.items()
            if before is not None
        }
    return Load(
        case=case,
        servers=servers,
        loaded=first,
        attempts=attempts,
        unmet=unmet,
        again=again,
        attempts_again=later,
    )


def _deadline(case: LoadCase) -> float:
    """Return after how many seconds a load counts as hung."""
    full = PATIENCE * _length(case)
    return full if "I4.bounded" in case.clauses else min(full, UNJUDGED_S)


def _length(case: LoadCase) -> float:
    """Return the sum of timeouts and pauses of a load in seconds, with both controls.

    A load gets the same time when it is repeated without its controls.
    """
    tries = case.given.max_attempts
    pauses = sum(BASE_BACKOFF_S * GROWS**after for after in range(1, tries))
    servers = (CONTROL_UP, *case.given.servers, CONTROL_DOWN)
    return sum(server.timeout_s * tries + pauses for server in servers)


def _script(server: LoadServer) -> dict[str, Any]:
    """Return the server as the fault servers read it."""
    members = msgspec.to_builtins(server)
    script = [
        {name: value for name, value in step.items() if value is not None}
        for step in members["script"]
    ]
    return {name: members[name] for name in PLAYED if members[name] is not None} | {
        "script": script
    }


def _handed(connection: dict[str, Any], server: LoadServer) -> dict[str, Any]:
    """Return the connection that the loader gets: with the case's additions to URL and headers."""
    handed = dict(connection)
    if isinstance(handed.get("command"), list):
        handed["command"], *handed["args"] = handed["command"]
    if server.headers:
        handed["headers"] = {**handed.get("headers", {}), **server.headers}
    if handed.get("url") and (server.userinfo or server.query or server.path):
        parts = urlsplit(handed["url"])
        before, _, last = parts.path.rpartition("/")
        path = f"{before}/{server.path}/{last}" if server.path else parts.path
        netloc = f"{server.userinfo}@{parts.netloc}" if server.userinfo else parts.netloc
        query = server.query or parts.query
        handed["url"] = urlunsplit(parts._replace(netloc=netloc, path=path, query=query))
    return handed
