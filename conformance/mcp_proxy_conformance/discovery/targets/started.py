"""One started target in its world: operator actions, clients, upstream changes, and its end."""

from __future__ import annotations

import contextlib
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import msgspec

from mcp_proxy_conformance.catalogue.world import LockKind, Server, Step, Tool, ToolKey, World
from mcp_proxy_conformance.discovery.targets.adapter import (
    LOCK_CAPABILITY,
    Access,
    ProxyTarget,
    UpstreamAddress,
)
from mcp_proxy_conformance.discovery.targets.effects import Act, Effects
from mcp_proxy_conformance.discovery.targets.known_tools import Known
from mcp_proxy_conformance.targets.state_folder import in_memory, keep_logs, remove
from mcp_proxy_conformance.targets.target import AdapterError, NotDeclared, Refused, Unsupported
from mcp_proxy_conformance.targets.waits import poll
from mcp_proxy_conformance.upstream import Upstreams, UpstreamServer, UpstreamTool
from mcp_proxy_conformance.verdict.credentials import credentials
from mcp_proxy_conformance.verdict.redaction import Redactor
from mcp_proxy_conformance.verdict.result import Finding
from mcp_proxy_conformance.wire.client import Client, Way, Wire
from mcp_proxy_conformance.wire.conversation import Conversation
from mcp_proxy_conformance.wire.faults import Unreachable
from mcp_proxy_conformance.wire.held_answers import Held
from mcp_proxy_conformance.wire.stdio import StdioClient
from mcp_proxy_conformance.wire.transcript import Transcript


def declared_part(world: World, target: ProxyTarget) -> World:
    """Return the world without deny lists and agents, each if the target does not declare it.

    Where allow lists are not declared, what one leaves out is denied instead. The servers have the
    transport that the target wants.
    """
    servers, agents = world.servers, world.agents
    if (transport := target.upstreams.transport) != "by stage":
        servers = tuple(msgspec.structs.replace(server, transport=transport) for server in servers)
    if "allow_list" not in target.capabilities:
        servers = tuple(_with_deny_list(server, world) for server in servers)
    if "config" not in target.capabilities:
        servers = tuple(msgspec.structs.replace(server, deny=()) for server in servers)
    if "agents" not in target.capabilities:
        agents = {}
    return msgspec.structs.replace(world, servers=servers, agents=agents)


def _with_deny_list(server: Server, world: World) -> Server:
    if server.allow is None:
        return server
    denied = tuple(
        key.tool
        for key in world.tools()
        if key.server == server.name and key.tool not in server.allow
    )
    return msgspec.structs.replace(server, allow=None, deny=denied)


MOST_FINDINGS = 500
"""Breaches of schemas that are kept until a check takes them."""
GONE_S = 0.5
"""Seconds within which a program is gone that has closed its connections to end."""


class Started:
    """A running target in its world, with its upstreams, clients and transcript.

    `last_change` is the time of the last operator action. `settled_from` is
    when the settle time began, after which answers must follow: at that action, or when its effect
    on calls was last polled. `log_wanted`: the target's output is kept beside the report; `seen`:
    marks of what the target was once seen to do; `cut`: the paths that comparisons of bytes left
    out; `findings`: the breaches of schemas in answers that no check has taken yet.
    """

    def __init__(
        self,
        target: ProxyTarget,
        world: World,
        scratch: Path,
        *,
        keep: bool = False,
        register: Callable[[Started], None] = lambda _: None,
        transcript: Transcript | None = None,
    ) -> None:
        """Start the upstreams, then the target, in a new folder in `scratch`, or in memory.

        AdapterError is raised after cleaning up, with the log kept. `keep` keeps the folder.
        `register` gets the object before any wait, so that another thread can close it.
        `transcript` is another target's, to be continued.
        """
        self.target = target
        self.world = declared_part(world, target)
        self.transcript = transcript or Transcript()
        scratch.mkdir(parents=True, exist_ok=True)
        if scratch.is_symlink():
            raise AdapterError(f"{scratch} has become a symbolic link; remove it")
        self.scratch = scratch
        fast = in_memory() if target.may_lie_in_memory and not keep else None
        prefix = f"{world.id or 'world'}-"
        self.folder = Path(tempfile.mkdtemp(prefix=prefix, dir=fast or scratch))
        place = target.upstreams
        self.upstreams = Upstreams(
            transcript=self.transcript, host=place.bind, advertised_host=place.host
        )
        self.servers: dict[str, UpstreamServer] = {}
        self.seen: set[str] = set()
        self.cut: set[str] = set()
        self.answers: dict[tuple[object, ...], Any] = {}
        self.findings: list[Finding] = []
        self._held = Held(self.answers.clear)
        self.adapter = target.make()
        self._keep = keep
        self._closed = False
        self.log_wanted = False
        self.started_at = self.last_change = self.settled_from = time.monotonic()
        self.effects = Effects(target.lag, target.enforce_s)
        self._clients: dict[tuple[int, str, str, Way], Conversation] = {}
        self._lock = threading.Lock()
        register(self)
        try:
            self.access = self._start()
            self._expect_open()
        except BaseException:
            self.log_wanted = not self._closed
            self._closed = True
            self._end()  # again if it was closed before all of it was started
            raise

    def _start(self) -> Access:
        """Start the world's upstream servers and then the target; return the target's access.

        Raises AdapterError, as the adapter does or if an upstream cannot listen.
        """
        self.upstreams.start()
        places = {}
        for server in self.world.servers:
            upstream = UpstreamServer(
                server.name,
                tools=[_upstream_tool(tool) for tool in server.tools],
                page_size=server.page_size or None,
            )
            self._open(upstream)
            self.servers[server.name] = upstream
            places[server.name] = (
                UpstreamAddress(command=tuple(upstream.command))
                if server.transport == "stdio"
                else UpstreamAddress(url=upstream.url)
            )
        return self.adapter.start(self.world, places, self.folder / "target")

    def _expect_open(self) -> None:
        if self._closed:
            raise AdapterError("the target was closed while it started")

    def _open(self, upstream: UpstreamServer) -> None:
        try:
            self.upstreams.add(upstream)
        except OSError as error:
            bind = self.target.upstreams.bind
            raise AdapterError(
                f"upstream servers cannot listen on {bind!r}: {error.strerror or error};"
                " set upstreams.bind to an address of this machine"
            ) from None

    def found(self, findings: Sequence[Finding], request: str, messages: tuple[str, ...]) -> None:
        """Keep an answer's breaches of schemas until a check takes them; `request` precedes paths.

        `messages` are the ids of request and answer. Once 500 are kept, those of further answers
        are dropped.
        """
        if findings and len(self.findings) < MOST_FINDINGS:
            self.findings += [
                msgspec.structs.replace(
                    finding, path=f"{request}: {finding.path}", messages=messages
                )
                for finding in findings
            ]

    def taken(self) -> tuple[Finding, ...]:
        """Return the breaches of schemas that were kept, and forget them."""
        taken = tuple(self.findings)
        del self.findings[: len(taken)]
        return taken

    def conversation(
        self, agent: str | None = None, endpoint: str = "", way: Way = "auto"
    ) -> Conversation:
        """Return this thread's conversation with the target, opened at its first use.

        Over HTTP it is what `client` returns; over stdio it is the administrator's, whatever the
        agent. Raises Unsupported for a target without stdio.
        """
        if way != "stdio":
            return self.client(agent, endpoint, way)
        place = (threading.get_ident(), "", "", way)
        with self._lock:
            if place not in self._clients:
                self._clients[place] = self._stdio()
            return self._clients[place]

    def client(self, agent: str | None = None, endpoint: str = "", wire: Wire = "auto") -> Client:
        """Return this thread's client for an agent (None: the admin), an endpoint and a wire.

        It is made at first use and kept, and connects with its first request; an empty endpoint is
        the target's own URL. KeyError for an agent that the target has no headers for.
        """
        place = (threading.get_ident(), agent or "", endpoint, wire)
        with self._lock:
            client = self._clients.get(place)
            if not isinstance(client, Client):
                headers = dict(self.access.headers)
                if agent is not None:
                    headers |= self.access.agents[agent]
                url = urljoin(self.access.url, endpoint) if endpoint else self.access.url
                client = Client(
                    url, headers=headers, transcript=self.transcript, wire=wire, held=self._held
                )
                self._clients[place] = client
        return client

    @cached_property
    def tools(self) -> dict[ToolKey, Tool]:
        """Every tool of this world by its key, also those that later steps add."""
        return self.world.tools()

    @cached_property
    def asked_for(self) -> dict[str, tuple[str, ...]]:
        """The tools, by each query that is their own: a word that no other has, or their name."""
        tools = dict[str, tuple[str, ...]]()
        for own, each in self.tools.items():
            for query in {each.word, each.name, own.tool} - {""}:
                tools[query] = (*tools.get(query, ()), str(own))
        return tools

    @cached_property
    def known(self) -> Known:
        """Matcher of names in the target's answers with the world's tools."""
        return Known(self.tools)

    def _stdio(self) -> StdioClient:
        if self.access.stdio is None:
            raise Unsupported("stdio")
        env = self.access.stdio_env
        return StdioClient(self.access.stdio, env=env, transcript=self.transcript)

    def forget_clients(self) -> None:
        """Close all clients and their sessions, as after a restart; requests open new ones.

        Errors are ignored.
        """
        with self._lock:
            old, self._clients = list(self._clients.values()), {}
        for client in old:
            with contextlib.suppress(Exception):
                client.close()

    @property
    def settled_at(self) -> float:
        """The monotonic time from which all answers must show every operator action."""
        return max(self.settled_from, self.effects.due) + self.target.settle_s

    def moved(self, access: Access | None) -> None:
        """Note an operator action made now: the settle time begins, cached answers are dropped.

        With a new access, the clients are closed too: requests open new ones.
        """
        self.last_change = self.settled_from = time.monotonic()
        self.answers.clear()
        if access is not None:
            self.access = access
            self.forget_clients()

    def lock(self, kind: LockKind, server: str, tools: Sequence[str] = ()) -> None:
        """Set a lock on these tools, or on the whole server (quarantine, server); note the action.

        Raises NotDeclared if the target does not declare that kind; else Refused, Unsupported,
        AdapterError as the adapter does.
        """
        act = Act(f"lock {kind}", LOCK_CAPABILITY[kind], server, tuple(tools))
        self._operate(act, lambda: self.adapter.lock(kind, server, tools))

    def unlock(self, kind: LockKind, server: str, tools: Sequence[str] = ()) -> None:
        """Remove a lock, and note the action.

        Raises NotDeclared if the target does not declare that kind; else Refused, Unsupported,
        AdapterError as the adapter does.
        """
        act = Act(f"unlock {kind}", LOCK_CAPABILITY[kind], server, tuple(tools))
        self._operate(act, lambda: self.adapter.unlock(kind, server, tools))

    def _operate(self, act: Act, operate: Callable[[], Access | None]) -> None:
        """Have the adapter do an act, if its capability is declared, and note it."""
        self._expect_declared(act.capability)
        self.effects.tried = act
        access = operate()
        self.effects.done(act)
        self.moved(access)

    def _expect_declared(self, word: str) -> None:
        if word not in self.target.capabilities:
            raise NotDeclared(f"{word} is not declared")

    def refresh(self, server: str) -> None:
        """Make the target list an upstream's tools again, and note the action.

        Raises NotDeclared if the target does not declare that; else Refused, Unsupported,
        AdapterError as the adapter does.
        """
        act = Act("refresh", "refresh", server)
        self._operate(act, lambda: self.adapter.refresh(server))

    def restart(self) -> None:
        """Restart the target with its state, close all clients, note the action.

        Raises NotDeclared if the target does not declare that; else Refused, Unsupported,
        AdapterError as the adapter does.
        """
        self._operate(Act("restart", "restart"), self.adapter.restart)
        self.forget_clients()

    @contextlib.contextmanager
    def undetermined(self, server: str, tools: Sequence[str]) -> Iterator[None]:
        """Make the target unable to determine these tools' lock reasons during the block.

        It is restored afterwards; both count as operator actions. Raises Refused, Unsupported or
        AdapterError as the adapter does.
        """
        self.moved(self.adapter.indeterminate(server, tools, on=True))
        try:
            yield
        finally:
            self.moved(self.adapter.indeterminate(server, tools, on=False))

    @contextlib.contextmanager
    def out_of_reach(self, server: str) -> Iterator[None]:
        """Have an upstream refuse every connection during the block; ask the target to refresh.

        The refresh (listing the tools again) may fail. The upstream serves again afterwards;
        AdapterError if its address is taken. Both changes count as operator actions.
        """
        upstream = self.servers[server]
        self.upstreams.remove(upstream)
        try:
            with contextlib.suppress(AdapterError, Refused, Unsupported):
                self.refresh(server)  # that it fails is no fault of the target
            self.moved(None)
            yield
        finally:
            self._open(upstream)
            self.moved(None)

    @contextlib.contextmanager
    def expected_alive(self) -> Iterator[None]:
        """If this block fails and the target has ended, raise AdapterError with the log's end.

        Only for AdapterError and Unreachable; other failures, or of a living target, stay as they
        are. An ending program closes its connections shortly before it is gone.
        """
        try:
            yield
        except (AdapterError, Unreachable) as error:
            if poll(self.adapter.alive, lambda is_alive: not is_alive, GONE_S):
                raise
            tail = self.adapter.log().strip()
            log = f"its log ends with:\n{tail}" if tail else "its log is empty"
            raise AdapterError(f"the target ended while it was set up ({error}); {log}") from None

    def change_upstream(self, step: Step) -> None:
        """Apply an `add` or `change` step at the upstream, without notifying the target.

        Cached answers are dropped; any other step changes nothing at the upstream.
        """
        self.answers.clear()
        upstream = self.servers[step.server]
        if step.add is not None:
            upstream.add_tool(_upstream_tool(step.add))
            self.effects.called(ToolKey(step.server, step.add.name), reached=False)
        elif step.change is not None:
            upstream.change_tool(
                step.change, description=step.description, input_schema=step.input_schema
            )

    def remove_upstream_tool(self, key: ToolKey) -> None:
        """Have a tool's upstream no longer list it, without notifying the target.

        Cached answers are dropped.
        """
        self.answers.clear()
        self.servers[key.server].remove_tool(key.tool)

    def close(self) -> None:
        """End clients, target and upstreams, once; errors are ignored.

        If `log_wanted`, copy its redacted output beside the report. Remove the scratch folder
        unless it is kept.
        """
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self._end()

    def _end(self) -> None:
        """End clients, target and upstreams as far as they are started; errors are ignored.

        Then the log is kept, if it is wanted, and the scratch folder removed, unless it is kept.
        """
        for end in (self.forget_clients, self.adapter.stop, self.upstreams.close):
            with contextlib.suppress(Exception):
                end()
        if self.log_wanted:
            redactor = Redactor(credentials(words=self.target.command))
            keep_logs(self.folder, self.scratch.parent, redactor)
        if not self._keep:
            remove(self.folder)


def _upstream_tool(tool: Tool) -> UpstreamTool:
    return UpstreamTool(
        name=tool.name,
        description=tool.description,
        input_schema=tool.input_schema,
        annotations=tool.annotations,
    )
