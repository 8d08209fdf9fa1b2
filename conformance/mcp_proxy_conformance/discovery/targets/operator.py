"""The built-in adapter for targets with a config file and a REST API; its copy of that file."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from mcp_proxy_conformance.catalogue.world import LockKind, Server, World
from mcp_proxy_conformance.discovery.targets.adapter import Access, UpstreamAddress
from mcp_proxy_conformance.discovery.targets.launch import GENERAL, QUIET, Launch
from mcp_proxy_conformance.discovery.targets.rest import OperatorApi
from mcp_proxy_conformance.targets.process import Process, Spawned, free_port
from mcp_proxy_conformance.targets.target import (
    AdapterError,
    Refused,
    TargetNotStarted,
    Unsupported,
)

Lists = dict[str, tuple[frozenset[str], frozenset[str] | None]]


class OperatorConfig:
    """The suite's copy of the config file, from which the target's file is always rewritten."""

    def __init__(
        self,
        path: Path,
        world: World,
        upstreams: Mapping[str, UpstreamAddress],
        base: dict[str, Any],
    ) -> None:
        """Make the config of `base` and the world's servers, at their addresses, unwritten."""
        self._path = path
        self._base = base
        self._servers = {
            server.name: _server_entry(server, upstreams[server.name]) for server in world.servers
        }

    def write(self) -> None:
        """Write the file, `base` with all servers, in one move: no reader sees half of it."""
        text = json.dumps(self._base | {"mcpServers": list(self._servers.values())}, indent=1)
        fresh = self._path.with_suffix(".new")
        fresh.write_text(text, encoding="utf-8")
        os.replace(fresh, self._path)  # noqa: PTH105 - Path.replace is the same call

    def deny(self, server: str, tools: Sequence[str]) -> None:
        """Lock tools in this copy: take them off an allow list or, without one, deny them.

        The file is not written.
        """
        entry = self._servers[server]
        if "enabled_tools" in entry:
            locked = set(tools)
            entry["enabled_tools"] = [t for t in entry["enabled_tools"] if t not in locked]
        else:
            entry["disabled_tools"] = [*dict.fromkeys([*entry.get("disabled_tools", []), *tools])]

    def keeps_some(self, server: str, tools: Sequence[str]) -> bool:
        """Whether denying these tools would leave some tool on the server's allow list.

        True also for a server without an allow list.
        """
        allowed = self._servers[server].get("enabled_tools")
        return allowed is None or bool(set(allowed) - set(tools))

    def permit(self, server: str, tools: Sequence[str]) -> None:
        """Remove these tools' config lock in this copy: put them on the allow list, if any.

        Otherwise take them off the deny list. The file is not written.
        """
        entry = self._servers[server]
        if "enabled_tools" in entry:
            entry["enabled_tools"] = [*dict.fromkeys([*entry["enabled_tools"], *tools])]
        else:
            freed = set(tools)
            kept = [t for t in entry.get("disabled_tools", []) if t not in freed]
            entry["disabled_tools"] = kept

    def lists(self) -> Lists:
        """Return {server: (denied tools, allowed ones or None without an allow list)}."""
        return _lists(self._servers.values())

    def switch(self, server: str, member: str, *, to: bool) -> None:
        """Record a setting made over the REST API, so that the next whole file has it too.

        `member` names a member of the server's entry, e.g. `enabled`; the file is not written.
        """
        self._servers[server][member] = to


def listed(answer: dict[str, Any]) -> Lists | None:
    """Return {server: (denied tools, allowed ones or None)} of an operator API's answer.

    None without a list of servers in it; allowed tools are None without an allow list.
    """
    config = answer.get("data", answer)
    config = config.get("config", config) if isinstance(config, dict) else {}
    servers = config.get("mcpServers")
    return _lists(servers) if isinstance(servers, list) else None


def _lists(servers: Iterable[dict[str, Any]]) -> Lists:
    """Map each server's name to (denied tools, allowed tools or None without an allow list)."""
    return {
        server["name"]: (frozenset(server.get("disabled_tools") or ()), _allowed(server))
        for server in servers
    }


def _allowed(server: dict[str, Any]) -> frozenset[str] | None:
    """Return the tools on a server's allow list, a set; None if it has no such list."""
    tools = server.get("enabled_tools")
    return None if tools is None else frozenset(tools)


def _server_entry(server: Server, upstream: UpstreamAddress) -> dict[str, Any]:
    """Return a server's entry in the config file: enabled, with its address, trust and lists."""
    entry: dict[str, Any] = {"name": server.name, "enabled": True, "quarantined": False}
    if upstream.url is not None:
        entry |= {"url": upstream.url, "protocol": "streamable-http"}
    else:
        command = upstream.command or ()
        entry |= {"command": command[0], "args": list(command[1:]), "protocol": "stdio"}
    if server.trusted:
        entry["skip_quarantine"] = True
    if server.deny:
        entry["disabled_tools"] = list(server.deny)
    if server.allow is not None:
        entry["enabled_tools"] = list(server.allow)
    return entry


START_S, RELOAD_S = 15.0, 2.0
SLOWNESS = 3.0
"""Seconds that the first control action waits more, for each second until the program was ready."""
PORTS, TAKEN = 3, "already in use"
CONFIG, STDIO_CONFIG = "config.json", "stdio.json"


class Host(Protocol):
    """Starts instances of a program faster than a command line does."""

    def start(self, arguments: Sequence[str], *, env: Mapping[str, str], log: Path) -> Process:
        """Start an instance with these arguments and exactly this environment, and return it.

        Its standard error goes to `log`, its output beside it. Raises TargetNotStarted.
        """


class OperatorAdapter:
    """Adapter for a program with a config file, a data folder and a REST operator API."""

    def __init__(self, launch: Launch, host: Host | None = None) -> None:
        """Make an API key; start nothing yet. With a host, instances are forked from it."""
        self._launch = launch
        self._host = host
        self._key = secrets.token_hex(16)
        self._agents: dict[str, dict[str, str]] = {}
        self._quiet_until = self._reloaded_at = 0.0
        self._untrusted: list[str] = []
        self._reloads = True
        self._process: Process | None = None

    def start(self, world: World, upstreams: Mapping[str, UpstreamAddress], folder: Path) -> Access:
        """Write the config, start the program, wait until it is ready, create agents' tokens.

        Return the access; `data` in `folder` must not exist. Untrusted servers are approved before
        the first action, if the program wants that. Raises TargetNotStarted, also after 15 s, or
        AdapterError for a token.
        """
        self._folder = folder
        self._data = folder / "data"
        self._data.mkdir(mode=0o700, parents=True)
        port = 0 if self._launch.says_address else free_port()
        base = {
            "listen": f"127.0.0.1:{port}",
            "data_dir": str(self._data),
            "api_key": self._key,
            **GENERAL,
        }
        self._config = OperatorConfig(folder / CONFIG, world, upstreams, base)
        self._config.write()
        self._run(port)
        if self._launch.approve_first_contact:
            self._untrusted = [server.name for server in world.servers if not server.trusted]
        for agent, servers in world.agents.items():
            token = self._api.token(agent, servers)
            self._agents[agent] = {"Authorization": f"Bearer {token}"}
        return self._access()

    def lock(self, kind: LockKind, server: str, tools: Sequence[str]) -> Access | None:
        """Set a lock, by the config file (kind config) or by the REST API.

        First wait until the program can take an action. Return new access only after a restart,
        else None. Raises Refused if the API refuses, or if it would empty an allow list that then
        locks nothing; AdapterError for kind approval or an error of the API.
        """
        self._wait_until_quiet(reloaded=kind != "config")
        if kind == "config":
            if not (self._launch.empty_allow_locks or self._config.keeps_some(server, tools)):
                raise Refused("an empty allow list locks nothing in this target")
            self._config.deny(server, tools)
            return self._write_config()
        if kind == "user":
            for tool in tools:
                self._api.tool(server, tool, enabled=False)
        elif kind == "quarantine":
            self._api.server(server, "quarantine")
            self._config.switch(server, "quarantined", to=True)
        elif kind == "server":
            self._api.server(server, "disable")
            self._config.switch(server, "enabled", to=False)
            self._quiet_until = time.monotonic() + self._launch.after_off_s
        else:
            raise AdapterError(f"a lock of kind {kind!r} cannot be set, only removed")
        return None

    def unlock(self, kind: LockKind, server: str, tools: Sequence[str]) -> Access | None:
        """Remove a lock or approve tools, by the config file or the REST API.

        First wait until the program can take an action. Return new access only after a restart,
        else None. Raises Refused or AdapterError, as the API answers.
        """
        self._wait_until_quiet(reloaded=kind != "config")
        if kind == "config":
            self._config.permit(server, tools)
            return self._write_config()
        if kind == "user":
            for tool in tools:
                self._api.tool(server, tool, enabled=True)
        elif kind == "approval":
            self._api.server(server, "tools/approve", {"tools": list(tools)})
        elif kind == "quarantine":
            self._api.server(server, "unquarantine")
            self._config.switch(server, "quarantined", to=False)
        else:
            self._api.server(server, "enable")
            self._config.switch(server, "enabled", to=True)
        return None

    def restart(self) -> Access | None:
        """End the program, write its config again, and start it on the same data.

        Return the access. Raises TargetNotStarted; AdapterError before `start`.
        """
        self._running().end()
        self._config.write()  # a program may write into its file when it ends
        self._run(0 if self._launch.says_address else free_port())
        return self._access()

    def refresh(self, server: str) -> Access | None:
        """Request that a server's tools are listed again; a listing in progress may swallow that.

        First wait until the program can take an action. None is returned: access does not change.
        Raises Refused or AdapterError, as the API answers.
        """
        self._wait_until_quiet()
        self._api.server(server, "discover-tools")
        return None

    def counter(self) -> int:
        """Return the opt-in counter from the REST API.

        Raises Unsupported if the program has none, AdapterError for an error of the API.
        """
        if not self._launch.has_counter:
            raise Unsupported("counter")
        return int(self._api.ask("GET", "/discovery/opt-ins")["count"])

    def indeterminate(self, server: str, tools: Sequence[str], *, on: bool) -> Access | None:
        """Replace the approvals store by an empty folder while the program runs, or put it back.

        Server and tools are ignored, so that a second loss changes nothing. None is returned:
        access does not change. Raises Unsupported for a program without such a store.
        """
        del server, tools
        if self._launch.breakable_store is None:
            raise Unsupported("indeterminate")
        store = self._data / self._launch.breakable_store
        hidden = self._folder / "store.hidden"
        if on and not hidden.exists():
            shutil.move(store, hidden)
            store.mkdir()
        elif not on and hidden.exists():
            store.rmdir()
            shutil.move(hidden, store)
        return None

    def alive(self) -> bool:
        """Whether the program still runs; False before `start`."""
        return self._process is not None and self._process.alive()

    def log(self) -> str:
        """Return the tail of the program's output; "" before `start`."""
        return self._process.tail() if self._process else ""

    def stop(self) -> None:
        """Kill the program and its process group by SIGKILL, if it was started."""
        if self._process is not None:
            self._process.end(at_once=True)

    def _running(self) -> Process:
        """Return the program's process; AdapterError if it was not started."""
        if self._process is None:
            raise AdapterError("the target was not started")
        return self._process

    def _access(self) -> Access:
        """Return the URL and agents' headers; also a stdio command line if the program has one.

        That one has a data folder of its own, and a fresh copy of the config that is written here.
        """
        url = f"http://127.0.0.1:{self._port}/mcp"
        if not self._launch.serves_stdio:
            return Access(url=url, agents=dict(self._agents))
        self._copy_config()
        beside = self._serve(self._folder / STDIO_CONFIG, self._folder / "stdio-data", ":0")
        return Access(
            url=url, agents=dict(self._agents), stdio=tuple(beside), stdio_env=self._environment()
        )

    def _serve(self, config: Path, data: Path, listen: str) -> list[str]:
        """Return the command line that serves that config and data folder at that address."""
        return [
            *self._launch.command, "serve", f"--config={config}", f"--data-dir={data}",
            f"--listen={listen}", "--enable-socket=false", "--log-level=warn",
        ]  # fmt: skip

    def _environment(self) -> dict[str, str]:
        """Return the whole environment of the program: PATH, a home of its own, the API key."""
        path, home = os.environ.get("PATH", ""), str(self._folder / "home")
        return {"PATH": path, "HOME": home, "MCPPROXY_API_KEY": self._key} | QUIET

    def _run(self, port: int) -> None:
        """Start the program and wait until it is ready; raises TargetNotStarted.

        If a port that the suite chose was taken meanwhile, try two others.
        """
        for attempt in range(PORTS):
            try:
                self._run_on(port)
            except TargetNotStarted as error:
                if self._launch.says_address or attempt == PORTS - 1 or TAKEN not in str(error):
                    raise
                self._running().end()
                port = free_port()
            else:
                return

    def _run_on(self, port: int) -> None:
        """Start the program on that port (0: its own choice); wait up to 15 s until it is ready.

        Then note how long the first control action has to wait. Raises TargetNotStarted.
        """
        began = time.monotonic()
        deadline = began + START_S
        (self._folder / "home").mkdir(exist_ok=True)
        command = self._serve(self._folder / CONFIG, self._data, f"127.0.0.1:{port}")
        log = self._folder / f"target-{time.monotonic_ns()}.log"
        self._process = self._spawn(command, log)
        if self._launch.says_address:
            port = _port_of(self._process.first_line(deadline))
        self._port = port
        self._api = OperatorApi(port, self._key)
        while not self._api.ready():
            self._process.check(deadline, "did not become ready")
            time.sleep(0.01)
        if self._launch.first_action_s:  # a loaded machine delays what the program does at first
            ready = time.monotonic()
            self._quiet_until = ready + self._launch.first_action_s + SLOWNESS * (ready - began)

    def _spawn(self, command: list[str], log: Path) -> Process:
        """Start the program of the command line, forked by the host if there is one."""
        if self._host is None:
            return Spawned(command, env=self._environment(), log=log)
        arguments = command[len(self._launch.command) :]
        return self._host.start(arguments, env=self._environment(), log=log)

    def _write_config(self) -> Access | None:
        """Write the file, and its copy for stdio if there is one; the next action may have to wait.

        A program that shows that it has not taken the file up is restarted. Return the new access
        after a restart, else None.
        """
        self._config.write()
        if self._launch.serves_stdio:
            self._copy_config()
        self._reloaded_at = time.monotonic() + self._launch.after_config_s
        if self._launch.shows_config and not self._taken_up():
            self._reloads = False
            return self.restart()
        return None

    def _taken_up(self) -> bool:
        """Poll for 2 s until the operator API shows the file's lists; return whether it did.

        Once a file was not taken up, further ones are not expected to be: False at once.
        """
        deadline, pause = time.monotonic() + RELOAD_S, 0.05
        while self._reloads:
            if self._config.lists() == listed(self._api.ask("GET", "/config")):
                return True
            if time.monotonic() > deadline:
                break
            time.sleep(pause)
            pause = min(2 * pause, 0.2)
        return False

    def _copy_config(self) -> None:
        """Copy the config for the stdio command, whose program may rewrite its own copy."""
        shutil.copyfile(self._folder / CONFIG, self._folder / STDIO_CONFIG)

    def _wait_until_quiet(self, *, reloaded: bool = True) -> None:
        """Wait until the program can take an action; the first time, approve untrusted tools.

        If `reloaded`, also until no late reload of the config can undo it, which has all lists but
        not what the API did. All only for a program whose launch wants it. An approval that fails
        is ignored.
        """
        quiet_until = max(self._quiet_until, self._reloaded_at if reloaded else 0.0)
        early = quiet_until - time.monotonic()
        if early > 0:
            time.sleep(early)
        if self._launch.approve_first_contact and self._untrusted:
            for server in self._untrusted:
                with contextlib.suppress(AdapterError):
                    self._api.server(server, "tools/approve", {"approve_all": True})
            self._untrusted = []


def _port_of(line: str) -> int:
    """Return the port of the URL in a program's first line, JSON.

    Raises TargetNotStarted for a line without one.
    """
    try:
        return int(json.loads(line)["url"].split("/")[2].rpartition(":")[2])
    except (ValueError, KeyError, IndexError, TypeError):
        raise TargetNotStarted(f"the target's first line is not its address: {line!r}") from None
