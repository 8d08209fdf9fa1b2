"""The fault servers of a load: started together, queried from any thread, closed together."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterable, Mapping
from typing import Any, Self

from mcp_proxy_conformance.upstream.faults.behaviour import Backlog, Unresolvable
from mcp_proxy_conformance.upstream.faults.faulty_server import FaultyServer
from mcp_proxy_conformance.upstream.faults.port import LINUX, Port
from mcp_proxy_conformance.upstream.faults.reserved_name import why_resolvable
from mcp_proxy_conformance.upstream.faults.script import ServerScript, checked
from mcp_proxy_conformance.upstream.faults.server_log import Seen
from mcp_proxy_conformance.upstream.hub import Upstreams
from mcp_proxy_conformance.wire.transcript import Transcript


class _Ports:
    """All ports of one load, which a hub opens and closes as if they were one server."""

    def __init__(self, servers: Mapping[str, FaultyServer]) -> None:
        """Make a port for each origin; the server with whom others share it comes first.

        Servers whose fault needs no port have none.
        """
        origins: dict[str, list[FaultyServer]] = {}
        for server in servers.values():
            if server.needs_port:
                origins.setdefault(server.script.host, []).append(server)
        numbers = itertools.count(1)
        self._ports = {
            name: Port(sorted(those, key=lambda each: each is not servers[name]), numbers)
            for name, those in origins.items()
        }

    async def open(self, _transcript: Transcript, _host: str, _advertised_host: str) -> None:
        """Open every port, on loopback whatever the hub's host is; close all if one fails."""
        opened = [port.open() for port in self._ports.values()]
        for failure in await asyncio.gather(*opened, return_exceptions=True):
            if failure is not None:
                await self.close()
                raise failure

    async def close(self) -> None:
        """Free every port, with every connection."""
        await asyncio.gather(*(port.close() for port in self._ports.values()))

    def connected(self, server: FaultyServer) -> bool:
        """Whether a connection to the port of a server is open."""
        return bool(self._ports[server.script.host].connected)

    async def heal(self, server: FaultyServer) -> None:
        """Make a server healthy, and its port listen, unless it shares the port of another one."""
        server.heal()
        if (port := self._ports.get(server.script.server_id)) is not None:
            port.heal()


class FaultServers:
    """The fault servers of a load: `start`, load from `connections`, query the log, `close`.

    Args:
        scripts: The servers of one load, in the order of their connections.

    Raises:
        BadScript: The scripts cannot be played together.
    """

    def __init__(self, scripts: Iterable[ServerScript]) -> None:
        """Check the scripts and make their servers; no port is opened yet.

        BadScript if they cannot be played together.
        """
        numbers = {script.server_id: (n, script) for n, script in enumerate(checked(scripts), 1)}
        self._servers = {
            name: FaultyServer(
                script,
                number=number,
                prefix=f"{numbers[script.same_url_as or name][0]}",
                redirect=self.url,
            )
            for name, (number, script) in numbers.items()
        }
        self._hub: Upstreams | None = None
        self._ports = _Ports(self._servers)

    def start(self) -> Self:
        """Open every port; return self. Harmless twice.

        On return all servers answer or fail as scripted.
        """
        if self._hub is None:
            hub = Upstreams(Transcript()).start()
            try:
                hub.add(self._ports)
            except BaseException:
                hub.close()
                raise
            self._hub = hub
        return self

    def close(self) -> None:
        """Close every port; the logs stay available.

        A second call is harmless.
        """
        hub, self._hub = self._hub, None
        if hub is not None:
            hub.remove(self._ports)
            hub.close()
            for server in self._servers.values():
                server.forget()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    def connections(self) -> list[dict[str, Any]]:
        """Return the connections for a loader, one object for each server, in order."""
        return [self.connection(name) for name in self._servers]

    def connection(self, server_id: str) -> dict[str, Any]:
        """Return the connection for a loader to one server; LookupError for an unknown one.

        Always `server_id` and `timeout_s`; then `url`, `transport`, `headers`, or for stdio
        `command` (program and arguments) and `transport`, or the members of a malformed one.
        """
        return self._server(server_id).connection()

    def url(self, server_id: str) -> str:
        """Return the HTTP URL of a server; LookupError if it has none, or for an unknown one."""
        url = self._server(server_id).url
        if url is None:
            raise LookupError(f"the server {server_id!r} has no URL")
        return url

    def attempts(self, server_id: str) -> int | None:
        """Return how many attempts at a server were observed; LookupError for an unknown one.

        None if they cannot be counted: a full backlog, a port that refuses (later), that greets or
        that does not speak TLS, an unknown name, a malformed connection, a missing program.
        """
        return self._server(server_id).attempts

    def log(self, server_id: str) -> tuple[Seen, ...]:
        """Return a server's log, oldest first: its first 500 entries.

        LookupError for an unknown one.
        """
        return self._server(server_id).log.entries()

    def dropped(self, server_id: str) -> int:
        """Return how many entries `log` lacks because a server's log was full.

        LookupError for an unknown server.
        """
        return self._server(server_id).log.dropped

    def requests(self, server_id: str) -> int:
        """Return how many requests of any kind a server got, or connections without requests.

        LookupError for an unknown server.
        """
        return len(self.log(server_id)) + self.dropped(server_id)

    def waiting(self) -> tuple[str, ...]:
        """Return the ids of servers that keep somebody waiting by a wrong answer."""
        return tuple(name for name, server in self._servers.items() if server.log.answering)

    @property
    def latest(self) -> float:
        """The monotonic time of the latest request at any of the servers, or of their making."""
        return max((server.log.latest for server in self._servers.values()), default=0.0)

    def runs(self, server_id: str) -> bool:
        """Whether a program of a server over stdio runs; LookupError for an unknown server."""
        return self._ports.connected(self._server(server_id))

    def token(self, server_id: str) -> str:
        """Return the token in every cookie value and session id that this server issues.

        LookupError for an unknown server.
        """
        return self._server(server_id).token

    def unmet(self, server_id: str) -> str | None:
        """Return why this machine cannot play a server's fault; None if it can.

        A full backlog needs Linux, an unknown name a resolver that does not know it. LookupError
        for an unknown server.
        """
        match self._server(server_id).whole:
            case Backlog() if not LINUX:
                return "a full backlog is reliable on Linux only"
            case Unresolvable():
                return why_resolvable()
        return None

    def heal(self, server_id: str) -> None:
        """Clear a server's fault: it is healthy from now on, and its attempts count from 0.

        Raises:
            LookupError: No server has that id.
            ValueError: The fault is in the connection that the loader was given.
            RuntimeError: The servers are not running.
        """
        if self._hub is None:
            raise RuntimeError("the fault servers were not started")
        self._hub.run(self._ports.heal(self._server(server_id)))

    def _server(self, server_id: str) -> FaultyServer:
        """Return the server of that id; LookupError if the load has none."""
        if server_id not in self._servers:
            raise LookupError(
                f"no server {server_id!r}; the servers are {', '.join(sorted(self._servers))}"
            )
        return self._servers[server_id]
