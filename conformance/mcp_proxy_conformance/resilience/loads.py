"""Loads of a loader under test: many at once, each against fault servers of its own."""

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
    Server,
)
from mcp_proxy_conformance.resilience.loading import Loaded, Loader
from mcp_proxy_conformance.targets.adapter import AdapterError, without_frames
from mcp_proxy_conformance.upstream.faults import FaultServers, read_scripts

AT_ONCE = 12
PATIENCE = 10
"""A load may take so many times what its timeouts and pauses add up to (I4)."""
UNJUDGED_S = 30.0
"""A load whose end is not judged is not waited for any longer."""
GROWS = 4.0
"""A pause may be so many times as long as the one before."""
PLAYED = ("server_id", "tools", "page_size", "timeout_s", "script", "same_origin_as")


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """One load that has been: what was handed over, what came of it, what the servers saw.

    `seen` are attempts by server id, None where none can be counted; `unmet` says why this
    machine cannot play a server's fault; `again` is a second load of the same
    servers, whose scripts go on, and `seen_again` what they saw of it.
    """

    case: LoadCase
    servers: FaultServers
    loaded: Loaded
    seen: Mapping[str, int | None]
    unmet: Mapping[str, str]
    again: Loaded | None = None
    seen_again: Mapping[str, int] = field(default_factory=dict)


class Loads:
    """A crew of loader programs; each load has one for itself while it goes on."""

    def __init__(self, make: Callable[[Path], Loader], folder: Path) -> None:
        """Nothing is started yet; `make` makes a loader that keeps its log in a folder."""
        self._make = make
        self._folder = folder
        self._crew = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="load")
        self._idle: list[Loader] = []
        self._all: list[Loader] = []
        self._lock = threading.Lock()
        self._done: dict[str, Future[Load]] = {}

    def plan(self, cases: Sequence[LoadCase], *, slowest_first: bool = True) -> None:
        """Begin with these; the slowest first, so that none is waited for at the end."""
        new = {case.id: case for case in cases if case.id not in self._done}
        order = sorted(new.values(), key=_deadline, reverse=True)
        for case in order if slowest_first else new.values():
            self._done[case.id] = self._crew.submit(self._load, case)

    def of(self, case: LoadCase) -> Load:
        """The load of a case, waited for; raises AdapterError when the program broke."""
        if case.id not in self._done:
            self.plan([case])
        return self._done[case.id].result()

    def anew(self, case: LoadCase) -> Load:
        """A further load of a case; what `of` gives stays."""
        return self._crew.submit(self._load, case).result()

    def settle(self) -> None:
        """Wait until nothing that was begun is still being loaded."""
        wait(self._done.values())

    def close(self) -> None:
        """End every loader; what still goes on is given up, and nobody waits for it."""
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
        with self._lock:
            if self._idle:
                return self._idle.pop()
            number = len(self._all) + 1
            loader = self._make(self._folder / f"loader-{number}")
            self._all.append(loader)
            return loader


def _loaded(loader: Loader, case: LoadCase) -> Load:
    own = case.servers()
    scripts = read_scripts([_script(one) for one in own])
    with FaultServers(scripts) as servers:
        unmet = {one.server_id: why for one in own if (why := servers.unmet(one.server_id))}
        handed = [_handed(servers.connection(one.server_id), one) for one in own]
        wanted: dict[str, Any] = {
            "max_attempts": case.given.max_attempts,
            "base_backoff_s": BASE_BACKOFF_S,
            "deadline_s": _deadline(case),
        }
        first = loader.load(handed, **wanted)
        seen = {one.server_id: servers.attempts(one.server_id) for one in own}
        again = None
        if case.again is not None and not first.hung:
            for one in own:
                if case.heals and one.heals:
                    servers.heal(one.server_id)
            again = loader.load(handed, **wanted)
        later = {
            name: (servers.attempts(name) or 0) - before
            for name, before in seen.items()
            if before is not None
        }
    return Load(
        case=case,
        servers=servers,
        loaded=first,
        seen=seen,
        unmet=unmet,
        again=again,
        seen_again=later,
    )


def _deadline(case: LoadCase) -> float:
    full = PATIENCE * _length(case)
    return full if "I4.bounded" in case.clauses else min(full, UNJUDGED_S)


def _length(case: LoadCase) -> float:
    """What the timeouts and pauses of a load add up to, in seconds, with or without its controls.

    A load has the same time when it is repeated without them.
    """
    tries = case.given.max_attempts
    pauses = sum(BASE_BACKOFF_S * GROWS**after for after in range(1, tries))
    servers = (CONTROL_UP, *case.given.servers, CONTROL_DOWN)
    return sum(one.timeout_s * tries + pauses for one in servers)


def _script(server: Server) -> dict[str, Any]:
    """The server as the fault servers take it."""
    told = msgspec.to_builtins(server)
    script = [
        {name: value for name, value in one.items() if value is not None} for one in told["script"]
    ]
    return {name: told[name] for name in PLAYED if told[name] is not None} | {"script": script}


def _handed(connection: dict[str, Any], server: Server) -> dict[str, Any]:
    """The connection with what the case puts into its URL and its headers."""
    told = dict(connection)
    if isinstance(told.get("command"), list):
        told["command"], *told["args"] = told["command"]
    if server.headers:
        told["headers"] = {**told.get("headers", {}), **server.headers}
    if told.get("url") and (server.userinfo or server.query or server.path):
        parts = urlsplit(told["url"])
        before, _, last = parts.path.rpartition("/")
        path = f"{before}/{server.path}/{last}" if server.path else parts.path
        netloc = f"{server.userinfo}@{parts.netloc}" if server.userinfo else parts.netloc
        query = server.query or parts.query
        told["url"] = urlunsplit(parts._replace(netloc=netloc, path=path, query=query))
    return told
