"""One started target: its adapter, upstreams, clients and transcript, ended together."""

from __future__ import annotations

import contextlib
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urljoin

import msgspec

from mcp_proxy_conformance.catalogue.world import LockKind, Step, Tool, ToolKey, World
from mcp_proxy_conformance.targets.adapter import (
    LOCK_CAPABILITY,
    Access,
    AdapterError,
    NotDeclared,
    Target,
    Unsupported,
    Upstream,
)
from mcp_proxy_conformance.targets.folder import keep_logs, remove
from mcp_proxy_conformance.targets.known import Known
from mcp_proxy_conformance.upstream import Upstreams, UpstreamServer, UpstreamTool
from mcp_proxy_conformance.verdict.credentials import credentials
from mcp_proxy_conformance.verdict.redaction import Redactor
from mcp_proxy_conformance.wire.client import Client
from mcp_proxy_conformance.wire.faults import Unreachable
from mcp_proxy_conformance.wire.held import Held
from mcp_proxy_conformance.wire.stdio import StdioClient
from mcp_proxy_conformance.wire.transcript import Transcript


def declared_part(world: World, target: Target) -> World:
    """The world without what the target does not declare to know, by the transport asked for."""
    servers, agents = world.servers, world.agents
    if (transport := target.upstreams.transport) != "by stage":
        servers = tuple(msgspec.structs.replace(one, transport=transport) for one in servers)
    if "config" not in target.capabilities:
        servers = tuple(msgspec.structs.replace(one, deny=()) for one in servers)
    if "agents" not in target.capabilities:
        agents = {}
    return msgspec.structs.replace(world, servers=servers, agents=agents)


T = TypeVar("T")
EVERY_S = 0.02


def poll(observe: Callable[[], T], until: Callable[[T], bool], within_s: float) -> T:
    """Observe until the predicate holds or the time is up; the last observation either way."""
    deadline = time.monotonic() + within_s
    while True:
        seen = observe()
        if until(seen) or time.monotonic() >= deadline:
            return seen
        del seen  # it may be large
        time.sleep(EVERY_S)


class Started:
    """A running target in its world.

    `last_change` is when the operator side was last touched; `settled_from` when that was last
    seen to be enforced: claims have the settle time from then on. `log_wanted`: what the target
    printed is kept beside the report; `cut`: what comparisons of bytes have left out, as paths.
    """

    def __init__(
        self,
        target: Target,
        world: World,
        scratch: Path,
        *,
        keep: bool = False,
        register: Callable[[Started], None] = lambda _: None,
    ) -> None:
        """Start the upstreams, then the target; raises AdapterError after cleaning up.

        With `keep` its scratch folder outlives it, also when it does not start. `register` is told
        of it before anything is waited for, so that another thread can close it.
        """
        self.target = target
        self.world = declared_part(world, target)
        self.transcript = Transcript()
        scratch.mkdir(parents=True, exist_ok=True)
        if scratch.is_symlink():
            raise AdapterError(f"{scratch} has become a link, which leads elsewhere; remove it")
        self.folder = Path(tempfile.mkdtemp(prefix=f"{world.id or 'world'}-", dir=scratch))
        place = target.upstreams
        self.upstreams = Upstreams(
            transcript=self.transcript, host=place.bind, advertised_host=place.host
        )
        self.servers: dict[str, UpstreamServer] = {}
        self.seen: set[str] = set()
        self.cut: set[str] = set()
        self.answers: dict[tuple[object, ...], Any] = {}
        self._held = Held(self.answers.clear)
        self.adapter = target.make()
        self._keep = keep
        self._closed = False
        self.log_wanted = False
        self.started_at = self.last_change = self.settled_from = time.monotonic()
        self._clients: dict[tuple[int, str, str], Client] = {}
        self._lock = threading.Lock()
        register(self)
        try:
            self.access = self._start()
        except BaseException:
            self.log_wanted = True
            self.close()
            raise

    def _start(self) -> Access:
        self.upstreams.start()
        places = {}
        for one in self.world.servers:
            made = UpstreamServer(
                one.name,
                tools=[_upstream_tool(tool) for tool in one.tools],
                page_size=one.page_size or None,
            )
            try:
                self.upstreams.add(made)
            except OSError as error:
                bind = self.target.upstreams.bind
                raise AdapterError(
                    f"upstream servers cannot listen on {bind!r}: {error.strerror or error};"
                    " give upstreams.bind an address of this machine"
                ) from None
            self.servers[one.name] = made
            places[one.name] = (
                Upstream(command=tuple(made.command))
                if one.transport == "stdio"
                else Upstream(url=made.url)
            )
        return self.adapter.start(self.world, places, self.folder / "target")

    def client(self, agent: str | None = None, endpoint: str = "") -> Client:
        """This thread's client for an agent (None: the admin) and an endpoint path."""
        place = (threading.get_ident(), agent or "", endpoint)
        with self._lock:
            found = self._clients.get(place)
            if found is None:
                headers = dict(self.access.headers)
                if agent is not None:
                    headers |= self.access.agents[agent]
                url = urljoin(self.access.url, endpoint) if endpoint else self.access.url
                found = Client(url, headers=headers, transcript=self.transcript, held=self._held)
                self._clients[place] = found
        return found

    @cached_property
    def tools(self) -> dict[ToolKey, Tool]:
        """Every tool that ever exists in this world."""
        return self.world.tools()

    @cached_property
    def known(self) -> Known:
        """Its tools, found in whatever form the target gives their names."""
        return Known(self.tools)

    def stdio(self) -> StdioClient:
        """A client of the target over stdio, to be closed by who asked for it."""
        if self.access.stdio is None:
            raise Unsupported("stdio")
        env = self.access.stdio_env
        return StdioClient(self.access.stdio, env=env, transcript=self.transcript)

    def forget_clients(self) -> None:
        """Drop all sessions, as after a restart; the next request opens a new one."""
        with self._lock:
            old, self._clients = list(self._clients.values()), {}
        for client in old:
            with contextlib.suppress(Exception):
                client.close()

    @property
    def settled_at(self) -> float:
        """When, by the monotonic clock, every claim must have followed the last change."""
        return self.settled_from + self.target.settle_s

    def moved(self, access: Access | None) -> None:
        """Note an operator action, and the new way in where there is one."""
        self.last_change = self.settled_from = time.monotonic()
        self.answers.clear()
        if access is not None:
            self.access = access
            self.forget_clients()

    def lock(self, kind: LockKind, server: str, tools: Sequence[str] = ()) -> None:
        """Lay a lock; raises Refused (what is not declared, too), Unsupported, AdapterError."""
        self._expect_declared(LOCK_CAPABILITY[kind])
        self.moved(self.adapter.lock(kind, server, tools))

    def unlock(self, kind: LockKind, server: str, tools: Sequence[str] = ()) -> None:
        """Lift a lock; raises as `lock`."""
        self._expect_declared(LOCK_CAPABILITY[kind])
        self.moved(self.adapter.unlock(kind, server, tools))

    def _expect_declared(self, word: str) -> None:
        if word not in self.target.capabilities:
            raise NotDeclared(f"{word} is not declared")

    def refresh(self, server: str) -> None:
        """Let the target look at an upstream again."""
        self._expect_declared("refresh")
        self.moved(self.adapter.refresh(server))

    def restart(self) -> None:
        """Restart the target on its state; all sessions are gone."""
        self._expect_declared("restart")
        access = self.adapter.restart()
        self.forget_clients()
        self.moved(access)

    @contextlib.contextmanager
    def undetermined(self, server: str, tools: Sequence[str]) -> Iterator[None]:
        """Meanwhile the target cannot tell why these tools are locked; mended in any case."""
        self.moved(self.adapter.indeterminate(server, tools, on=True))
        try:
            yield
        finally:
            self.moved(self.adapter.indeterminate(server, tools, on=False))

    @contextlib.contextmanager
    def expected_alive(self) -> Iterator[None]:
        """What fails in here because the target has ended is told as that, with its log's end."""
        try:
            yield
        except (AdapterError, Unreachable) as error:
            if self.adapter.alive():
                raise
            tail = self.adapter.log().strip()
            log = f"its log ends with:\n{tail}" if tail else "its log is empty"
            raise AdapterError(f"the target ended while it was set up ({error}); {log}") from None

    def change_upstream(self, step: Step) -> None:
        """Take an `add` or `change` step at the upstream; the target is not told."""
        self.answers.clear()
        upstream = self.servers[step.server]
        if step.add is not None:
            upstream.add_tool(_upstream_tool(step.add))
        elif step.change is not None:
            upstream.change_tool(
                step.change, description=step.description, input_schema=step.input_schema
            )

    def close(self) -> None:
        """End everything, once; the scratch folder goes too unless it is to be kept."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        for end in (self.forget_clients, self.adapter.stop, self.upstreams.close):
            with contextlib.suppress(Exception):
                end()
        if self.log_wanted:
            keep_logs(self.folder, Redactor(credentials(words=self.target.command)))
        if not self._keep:
            remove(self.folder)


def _upstream_tool(tool: Tool) -> UpstreamTool:
    return UpstreamTool(
        name=tool.name,
        description=tool.description,
        input_schema=tool.input_schema,
        annotations=tool.annotations,
    )
