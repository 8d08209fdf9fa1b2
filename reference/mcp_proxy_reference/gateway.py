"""Gateway: one proxy's live configuration, upstreams, tools and approvals."""

import asyncio
import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from mcp_proxy_reference import config as configuration
from mcp_proxy_reference.config import Server
from mcp_proxy_reference.facts import Approval, Facts, Json, Tool
from mcp_proxy_reference.loader import Connection, Outcome
from mcp_proxy_reference.policy import Policy
from mcp_proxy_reference.search import Index
from mcp_proxy_reference.store import Record, Store, StoreError
from mcp_proxy_reference.upstream import Upstream

Records = dict[tuple[str, str], Record]
log = logging.getLogger("mcp_proxy_reference")


class Gateway:
    """State that all fronts and built-in tools share; upstreams load in the background."""

    def __init__(self, path: Path, data_dir: Path, policy: Policy) -> None:
        """Read the config, open the store, and begin to load every enabled server.

        The data folder is made if missing; raises ConfigError.
        """
        self._path = path
        self._signature: tuple[int, int, int] | None = None
        self.config = configuration.read(path)
        data_dir.mkdir(parents=True, exist_ok=True)
        self.policy = policy
        self.store = Store(data_dir / "proxy.db")
        self.upstreams: dict[str, Upstream] = {}
        self.opt_ins = 0
        self.index = lru_cache(maxsize=32)(Index)
        self._tools: dict[str, dict[str, Tool]] = {}
        self._facts: tuple[object, object, dict[str, list[Facts]]] = (None, None, {})
        self._last_records: Records = {}
        self._unrecorded: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._apply(self.config)

    async def settled(self) -> None:
        """Wait until every upstream's first load has ended, successfully or not."""
        await asyncio.gather(*(upstream.loaded.wait() for upstream in self.upstreams.values()))

    async def aclose(self) -> None:
        """Cancel the tasks of all upstreams, which end their sessions."""
        for upstream in self.upstreams.values():
            upstream.task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def follow(self) -> None:
        """Take over a changed configuration file, and try again to record tools that could not be.

        If the file is unusable, the last good configuration stays in force.
        """
        try:
            stat = self._path.stat()
            signature = stat.st_mtime_ns, stat.st_size, stat.st_ino
            if signature != self._signature:
                self._signature = signature  # first, so that a change during the read is seen later
                self._apply(configuration.read(self._path))
        except (OSError, configuration.ConfigError) as error:
            log.warning("The last good configuration stays in force: %s", error)
        for name in list(self._unrecorded):
            self._record(name)

    def switch(self, server: str, **changes: bool) -> None:
        """Set a server's `enabled` or `quarantined`, in the file and at once here.

        Raises ConfigError or OSError if the file cannot be used.
        """
        self._apply(configuration.rewrite(self._path, self.config, server, **changes))

    def upstream(self, name: str) -> Upstream:
        """Return a server's upstream; attach it, even a switched-off one, if there is none.

        KeyError for a server that the configuration lacks.
        """
        return self.upstreams.get(name) or self._attach(self.config.servers[name])

    def tools(self, server: str) -> Mapping[str, Tool]:
        """Return a server's tools by name, as last loaded; empty before the first load."""
        return self._tools.get(server, {})

    def records(self) -> Records | None:
        """Return the approval records from the store's file; None if it cannot be read."""
        try:
            self._last_records = self.store.records()
        except StoreError as error:
            log.warning("Approvals cannot be read: %s", error)
            return None
        return self._last_records

    def known(self) -> Mapping[str, Sequence[Facts]]:
        """Return the current facts about every tool, by server; cached until something changes.

        Nothing is cached while the records cannot be read.
        """
        config, records = self.config, self.records()
        if records is None or self._facts[0] is not config or self._facts[1] is not records:
            known = {
                name: [self._facts_of(tool, records) for tool in self.tools(name).values()]
                for name in config.servers
            }
            self._facts = config, records, known
        return self._facts[2]

    def shown(self) -> Mapping[str, Sequence[Facts]]:
        """Return the facts of every tool, by server, as discovery and listings show them.

        Calls are judged by `known`; a subclass may show other facts than it acts on.
        """
        return self.known()

    def facts(self, server: str, name: str) -> Facts | None:
        """Return the facts about one tool; None if the server or tool is unknown."""
        return next(
            (facts for facts in self.known().get(server, ()) if facts.tool.name == name), None
        )

    def _facts_of(self, tool: Tool, records: Records | None) -> Facts:
        """Return the facts about a tool, by config and approval records.

        With None for unreadable records the approval is None, and no user lock is known.
        """
        server = self.config.servers[tool.server]
        record = records.get((tool.server, tool.name)) if records else None
        return Facts(
            tool=tool,
            enabled=server.enabled,
            quarantined=server.quarantined,
            denied=server.denies(tool.name),
            approval=None if records is None else self._approval(tool, record),
            disabled_by_user=record is not None and bool(record.disabled),
            approved_description=record.description if record else None,
        )

    def searchable(self, facts: Facts) -> bool:
        """Whether a tool is in the search index.

        While the approval records cannot be read, those that were read last decide.
        """
        if facts.approval is None:
            tool = facts.tool
            record = self._last_records.get((tool.server, tool.name))
            facts = replace(facts, approval=self._approval(tool, record))
        return self.policy.indexed(facts)

    async def refresh(self, name: str) -> Outcome:
        """Load a server's tools again, return the outcome.

        KeyError if it is unknown or turned off.
        """
        return await self.upstreams[name].load()

    def _apply(self, config: configuration.Config) -> None:
        """Put a configuration into force: end, keep and attach upstreams as it says.

        An upstream ends if its server is gone, off or reached otherwise; tools of a server that is
        gone are dropped.
        """
        self.config = config
        for name in self._tools.keys() - config.servers.keys():
            del self._tools[name]
        for name, upstream in list(self.upstreams.items()):
            server = config.servers.get(name)
            if not (server and server.enabled and _connection(server) == upstream.connection):
                self.upstreams.pop(name).task.cancel()
        for name, server in config.servers.items():
            if server.enabled and name not in self.upstreams:
                self._attach(server)

    def _attach(self, server: Server) -> Upstream:
        """Begin to load a server in the background.

        Return its Upstream, whose task is kept until it ends.
        """

        def take(outcome: Outcome) -> None:
            """Replace and record the server's tools after a good load, if it is still attached.

            After a failed load, the tools stay as they were.
            """
            if outcome.status == "available" and self.upstreams.get(server.name) is upstream:
                tools = [_tool(server.name, listed) for listed in outcome.tools]
                self._tools[server.name] = {tool.name: tool for tool in tools}
                self._facts = (None, None, {})
                self._record(server.name)

        upstream = self.upstreams[server.name] = Upstream(_connection(server), take)
        self._tasks.add(upstream.task)
        upstream.task.add_done_callback(self._tasks.discard)
        return upstream

    def _record(self, name: str) -> None:
        """Record a server's present tools in the store; if that fails, remember to try again.

        It does nothing for a server that the configuration lacks.
        """
        self._unrecorded.discard(name)
        if (server := self.config.servers.get(name)) is None:
            return
        try:
            tools, trusted = self.tools(name).values(), self.config.trusts(server)
            self.store.contact(name, tools, trusted=trusted)
            self._last_records = self.store.records()
        except StoreError as error:
            log.warning("The tools of %s cannot be recorded: %s", name, error)
            self._unrecorded.add(name)

    def _approval(self, tool: Tool, record: Record | None) -> Approval:
        """Return whether the tool is approved, pending, or changed since it was approved.

        Tools of a trusted server are always approved, whatever the record.
        """
        if self.config.trusts(self.config.servers[tool.server]):
            return "approved"
        if record is None or record.digest is None:
            return "pending"
        return "approved" if record.digest == tool.digest else "changed"


def _connection(server: Server) -> Connection:
    """Return how the loader reaches a server of the config, with the default timeouts."""
    return Connection(
        server_id=server.name,
        url=server.url,
        command=server.command,
        args=server.args,
        env=server.env,
        headers=server.headers,
    )


def _tool(server: str, listed: Json) -> Tool:
    """Return a listed tool as a Tool; its digest covers description, schema and annotations.

    Lone surrogates in name and description are replaced; odd annotations count as none.
    """
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
    """Return the text with question marks for lone surrogates, which UTF-8 cannot encode."""
    return value.encode("utf-8", "replace").decode()
