"""The live state of one proxy: configuration, upstreams, their tools, approvals and indexes."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mcp_proxy_reference import config as configuration
from mcp_proxy_reference.config import Config
from mcp_proxy_reference.facts import Approval, Facts, Json, Tool
from mcp_proxy_reference.loader import Outcome
from mcp_proxy_reference.policy import Policy
from mcp_proxy_reference.search import Index
from mcp_proxy_reference.store import Record, Store, StoreError
from mcp_proxy_reference.upstream import Upstream, connection

Records = dict[tuple[str, str], Record]

RETRY_AFTER_S = 10.0
log = logging.getLogger("mcp_proxy_reference")


class Gateway:
    """What every front and every built-in tool works on."""

    def __init__(self, config: Config, data_dir: Path, policy: Policy) -> None:
        data_dir.mkdir(parents=True, exist_ok=True)
        self.config = config
        self.policy = policy
        self.store = Store(data_dir / "proxy.db")
        self.upstreams: dict[str, Upstream] = {}
        self.opt_ins = 0
        self._tools: dict[str, dict[str, Tool]] = {}
        self._searchable: dict[str, list[Tool]] = {}
        self._withheld: dict[str, list[Tool]] = {}
        self._indexes: dict[tuple[str, ...], Index] = {}
        self._unrecorded: set[str] = set()
        self._stale = False
        self._broken: configuration.Signature | None = None
        self._loading: dict[str, asyncio.Task[None]] = {}
        self._background: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        """Begin to load every server that is on, all at once and in the background."""
        for name, server in self.config.servers.items():
            if server.enabled:
                self._attach(name)

    async def settled(self) -> None:
        """Wait until every first load has ended, one way or another."""
        await asyncio.gather(*(upstream.loaded.wait() for upstream in self.upstreams.values()))

    async def close(self) -> None:
        """End every task, session and file."""
        for name in list(self.upstreams):
            self._detach(name)
        await asyncio.gather(*self._background, return_exceptions=True)
        self._forget_indexes()
        self.store.close()

    def follow(self) -> None:
        """Take up what has changed since the last request: the file, and a store now mended."""
        try:
            signature = configuration.signature(self.config.path)
            if signature not in {self.config.signature, self._broken}:
                self._broken = signature
                self.apply(configuration.read(self.config.path))
        except (OSError, configuration.ConfigError) as error:
            log.warning("The last good configuration stays in force: %s", error)
        if self._stale:
            self._record(set(self._unrecorded))

    def apply(self, config: Config) -> None:
        """Put a configuration into force."""
        before, self.config = self.config.servers, config
        for name in [*before.keys(), *(config.servers.keys() - before.keys())]:
            server = config.servers.get(name)
            upstream = self.upstreams.get(name)
            if server is None:
                self._tools.pop(name, None)
            if upstream and not (
                server and server.enabled and connection(server) == upstream.connection
            ):
                self._detach(name)
            if server and server.enabled and name not in self.upstreams:
                self._attach(name)
        self.reindex()

    def switch(self, server: str, **changes: bool) -> None:
        """Change a server's `enabled` or `quarantined`, in the file and in force."""
        self.apply(configuration.rewrite(self.config, server, **changes))

    async def refresh(self, name: str) -> Outcome:
        """Fetch one server's tools again."""
        upstream = self.upstreams[name]
        outcome = await upstream.load()
        if outcome.status == "available" and self.upstreams.get(name) is upstream:
            self._tools[name] = {
                tool.name: tool for tool in (_tool(name, listed) for listed in outcome.tools)
            }
            self._record({name})
        return outcome

    def tools(self, server: str) -> Mapping[str, Tool]:
        """The tools that a server offers, or last offered."""
        return self._tools.get(server, {})

    def index(self, servers: Sequence[str]) -> Index:
        """The search index over these servers' searchable tools."""
        key = tuple(servers)
        if key not in self._indexes:
            tools = (tool for name in key for tool in self._searchable.get(name, ()))
            self._indexes[key] = Index(tools)
        return self._indexes[key]

    def withheld(self, servers: Iterable[str]) -> list[Tool]:
        """These servers' tools that are kept out of the search index."""
        return [tool for name in servers for tool in self._withheld.get(name, ())]

    def records(self) -> Records | None:
        """Every approval record, read from the file; None when that is not possible."""
        try:
            return self.store.records()
        except StoreError as error:
            log.warning("Approvals cannot be read: %s", error)
            return None

    def facts(self, tool: Tool, records: Records | None) -> Facts:
        """All that bears on whether the tool may be called, as of now."""
        server = self.config.servers[tool.server]
        record = None if records is None else records.get((tool.server, tool.name))
        trusted = self.config.trusts(server)
        return Facts(
            tool=tool,
            enabled=server.enabled,
            quarantined=server.quarantined,
            denied=server.denies(tool.name),
            approval=None if records is None else _approval(tool, record, trusted=trusted),
            disabled_by_user=record is not None and bool(record.disabled),
            approved_description=record.description if record else None,
        )

    def reindex(self) -> None:
        """Decide anew which tools may be searched; without records nothing new gets in."""
        records = self.records()
        self._stale = records is None or bool(self._unrecorded)
        before, self._searchable, self._withheld = self._searchable, {}, {}
        for name in self.config.servers:
            kept = {(tool.name, tool.digest) for tool in before.get(name, ())}
            parted: dict[bool, list[Tool]] = {True: [], False: []}
            for tool in self.tools(name).values():
                facts = self.facts(tool, records)
                if records is None and (tool.name, tool.digest) in kept:
                    facts = replace(facts, approval="approved")
                parted[self.policy.indexed(facts)].append(tool)
            self._searchable[name], self._withheld[name] = parted[True], parted[False]
        self._forget_indexes()

    def _record(self, servers: set[str]) -> None:
        for name in servers & self.config.servers.keys() & self._tools.keys():
            trusted = self.config.trusts(self.config.servers[name])
            try:
                self.store.contact(name, list(self.tools(name).values()), trusted=trusted)
                self._unrecorded.discard(name)
            except StoreError as error:
                log.warning("The tools of %s cannot be recorded: %s", name, error)
                self._unrecorded.add(name)
        self.reindex()

    def upstream(self, name: str) -> Upstream:
        """The way to a server."""
        return self.upstreams.get(name) or self._attach(name)

    def _attach(self, name: str) -> Upstream:
        def changed() -> None:
            self._spawn(self._load(name, upstream, once=True))

        upstream = Upstream(connection(self.config.servers[name]), changed)
        self.upstreams[name] = upstream
        self._loading[name] = self._spawn(self._load(name, upstream, once=False))
        return upstream

    def _detach(self, name: str) -> None:
        self._loading.pop(name).cancel()
        self._spawn(self.upstreams.pop(name).close())

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task

    async def _load(self, name: str, upstream: Upstream, *, once: bool) -> None:
        while self.upstreams.get(name) is upstream:
            outcome = await self.refresh(name)
            if once or outcome.status != "transient":
                return
            await asyncio.sleep(RETRY_AFTER_S)

    def _forget_indexes(self) -> None:
        for index in self._indexes.values():
            index.close()
        self._indexes = {}


def _tool(server: str, listed: Json) -> Tool:
    vouched = [listed.get("description"), listed["inputSchema"], listed.get("annotations")]
    annotations = listed.get("annotations")
    return Tool(
        server=server,
        name=_text(listed["name"]),
        description=_text(listed.get("description") or ""),
        schema=listed["inputSchema"],
        annotations=annotations if isinstance(annotations, dict) else {},
        digest=hashlib.sha256(json.dumps(vouched, sort_keys=True).encode()).hexdigest(),
    )


def _text(value: str) -> str:
    """The text as far as UTF-8 can carry it: JSON may hold half a surrogate pair."""
    return value.encode("utf-8", "replace").decode()


def _approval(tool: Tool, record: Record | None, *, trusted: bool) -> Approval:
    if trusted:
        return "approved"
    if record is None or record.digest is None:
        return "pending"
    return "approved" if record.digest == tool.digest else "changed"
