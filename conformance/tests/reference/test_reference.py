"""The reference over sockets: locks, note, cap, approval, quarantine, agents, restart, store."""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

from mcp_proxy_reference.policy import Policy
from mcp_proxy_reference.proxy import Proxy

Json = dict[str, Any]
FLAG: Json = {"include_disabled": True}


def _tool(name: str, text: str = "") -> Json:
    """Return a tool's entry in tools/list, with this description and an empty schema."""
    return {"name": name, "description": text, "inputSchema": {"type": "object"}}


@dataclass
class _Upstream:
    """A scripted MCP server: it lists `tools` and keeps the names that were called."""

    tools: list[Json]
    calls: list[str] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the HTTP requests of one connection with `result`, until it ends."""
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                size = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
                message = json.loads(await reader.readexactly(size))
                answer = {"jsonrpc": "2.0", "id": message.get("id"), "result": self.result(message)}
                body = json.dumps(answer).encode()
                head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: "
                writer.write(head + b"%d\r\n\r\n" % len(body) + body)
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            writer.close()

    def result(self, message: Json) -> Json:
        """Return the tools for tools/list, a text for a call, which is recorded, else {}."""
        if message["method"] == "tools/call":
            self.calls.append(message["params"]["name"])
            return {"content": [{"type": "text", "text": "called"}]}
        return {"tools": self.tools} if message["method"] == "tools/list" else {}


@dataclass
class _World:
    """A running proxy with its upstreams, and a client with a session."""

    proxy: Proxy
    upstreams: dict[str, _Upstream]
    http: httpx2.AsyncClient
    config: Path
    headers: dict[str, str] = field(default_factory=dict)

    async def post(self, message: Json, **headers: str) -> httpx2.Response:
        """Post a JSON-RPC request, with id 1, in the session; return the HTTP response."""
        message = {"jsonrpc": "2.0", "id": 1, **message}
        return await self.http.post(self.proxy.url, json=message, headers=self.headers | headers)

    async def tool(self, name: str, arguments: Json, **headers: str) -> Json:
        """Call one of the proxy's own tools; return the result with its first text as `text`.

        `isError` is false if the result lacks it.
        """
        params = {"name": name, "arguments": arguments}
        answer = await self.post({"method": "tools/call", "params": params}, **headers)
        result: Json = answer.json()["result"]
        return {"isError": False, "text": result["content"][0]["text"], **result}

    async def discover(self, query: str, arguments: Json = {}, **headers: str) -> Json:  # noqa: B006
        """Call retrieve_tools with this query and these arguments; return the answer's document."""
        content = await self.tool("retrieve_tools", {"query": query, **arguments}, **headers)
        return dict(json.loads(content["text"]))

    async def statuses(self, query: str, **headers: str) -> dict[str, str]:
        """Return {tool: its status} of a search with the flag; `callable` for callable ones."""
        document = await self.discover(query, FLAG, **headers)
        locked = {entry["name"]: entry["status"] for entry in document.get("disabled", [])}
        return {entry["name"]: "callable" for entry in document["tools"]} | locked

    async def call(self, name: str, **headers: str) -> Json:
        """Call an upstream tool, `server:tool`, through the proxy without arguments.

        Return the result.
        """
        return await self.tool("call_tool_read", {"name": name, "args_json": "{}"}, **headers)

    async def counts(self, server: str) -> Any:
        """Return the counts block of a server as inspected by `get`; None if it has none."""
        got = await self.tool("upstream_servers", {"operation": "get", "name": server})
        return json.loads(got["text"])["server"].get("tools")

    async def operate(self, path: str, body: Json | None = None) -> Json:
        """Ask the operator API at a path, by GET without a body, else by POST.

        Return its JSON answer, with the HTTP status as `status`.
        """
        url = self.proxy.url.replace("/mcp", f"/api/v1/{path}")
        method = "GET" if body is None else "POST"
        answer = await self.http.request(method, url, json=body, headers={"x-api-key": "K"})
        return {"status": answer.status_code, **answer.json()}


@asynccontextmanager
async def _running(
    folder: Path, servers: Json, policy: Policy | None = None
) -> AsyncIterator[_World]:
    """Yield a running proxy in front of these scripted upstreams, after it has loaded them.

    `offers` of a server are its tools; its other members go to the config.
    """
    upstreams, listeners, entries = {}, [], []
    for name, server in servers.items():
        upstreams[name] = _Upstream(server["offers"])
        listeners.append(await asyncio.start_server(upstreams[name].serve, "127.0.0.1", 0))
        url = f"http://127.0.0.1:{listeners[-1].sockets[0].getsockname()[1]}/mcp"
        entries.append({**server, "name": name, "url": url, "offers": None})
    config = folder / "config.json"
    config.write_text(json.dumps({"api_key": "K", "mcpServers": entries}), encoding="utf-8")
    opened = Proxy.open(config, folder / "data", policy=policy)
    async with httpx2.AsyncClient(verify=False, trust_env=False) as http, opened as proxy:
        await proxy.settled()
        ready = _World(proxy, upstreams, http, config)
        started = await ready.post({"method": "initialize", "params": {}})
        ready.headers["mcp-session-id"] = started.headers["mcp-session-id"]
        yield ready
    for listener in listeners:
        listener.close()


def _asynchronous(check: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Return a test function that runs this coroutine function to its end."""
    return functools.wraps(check)(lambda *args, **kwargs: asyncio.run(check(*args, **kwargs)))


ZEBRAS = [_tool("zebra_ride", "Ride"), _tool("zebra_feed", "Feed hay"), _tool("zebra_sell", "Sell")]
TRUSTED: Json = {"offers": ZEBRAS, "skip_quarantine": True}


@_asynchronous
async def test_locks_are_distinguished_and_never_reach_the_upstream(tmp_path: Path) -> None:
    """A config and a user lock are listed with status, description and remediation.

    Calls of both are refused, naming policy and user, and do not arrive. The counts have one of
    each.
    """
    async with _running(tmp_path, {"zoo": TRUSTED | {"disabled_tools": ["zebra_sell"]}}) as zoo:
        lock = await zoo.operate("servers/zoo/tools/zebra_feed/enabled", {"enabled": False})
        answer = await zoo.discover("zebra hay", FLAG)
        refused = [await zoo.call("zoo:zebra_sell"), await zoo.call("zoo:zebra_feed")]
        passed = await zoo.call("zoo:zebra_ride")
        counts = await zoo.counts("zoo")

        assert lock["data"] == {"enabled": False, "server_name": "zoo", "tool_name": "zebra_feed"}
        assert {e["name"]: (e["status"], e["description"]) for e in answer["disabled"]} == {
            "zoo:zebra_feed": ("disabled_by_user", "Feed hay"),
            "zoo:zebra_sell": ("disabled_by_config", "Sell"),
        }
        assert set(answer["remediation"]) == {"disabled_by_user", "disabled_by_config"}
        assert [result["isError"] for result in refused] == [True, True]
        assert "operator policy" in refused[0]["text"]
        assert "ask the user to re-enable" in refused[1]["text"]
        assert passed["text"] == "called"
        assert zoo.upstreams["zoo"].calls == ["zebra_ride"]
        assert counts == {"callable": 1, "disabled_by_config": 1, "disabled_by_user": 1}


@_asynchronous
async def test_without_the_flag_nothing_is_added_but_the_note(tmp_path: Path) -> None:
    """Without the flag, an answer has a note only if locked tools match and no callable one.

    The note counts all of them, even at limit 1; otherwise nothing is added.
    """
    denied = TRUSTED | {"disabled_tools": ["zebra_feed", "zebra_sell"]}
    async with _running(tmp_path, {"zoo": denied}) as zoo:
        mixed = await zoo.discover("zebra")
        none = await zoo.discover("feed sell", {"limit": 1})

        assert set(mixed) == {"query", "tools", "total", "usage_instructions"}
        assert none["notice"].startswith("2 matching tools")
        assert "include_disabled" in none["notice"]
        assert "notice" not in await zoo.discover("feed sell", FLAG)
        assert "notice" not in await zoo.discover("nothing like it")


@pytest.mark.parametrize(
    ("policy", "listed"),
    [(Policy(), [1, 5, 10]), (replace(Policy(), cap=lambda limit: limit), [1, 5, 30])],
)
@_asynchronous
async def test_the_cap_is_one_decision_of_the_policy(
    tmp_path: Path, policy: Policy, listed: list[int]
) -> None:
    """Of 30 locked matches min(limit, 10) are listed, or as many as a replaced `cap` allows.

    The one callable match is always there.
    """
    offers = [_tool(f"lock_{n}", "gnu") for n in range(30)] + [_tool("open_1", "gnu")]
    denied = {"offers": offers, "skip_quarantine": True, "enabled_tools": ["open_1"]}
    async with _running(tmp_path, {"zoo": denied}, policy) as zoo:
        answers = [await zoo.discover("gnu", FLAG | {"limit": limit}) for limit in (1, 5, 50)]

        assert [len(answer["disabled"]) for answer in answers] == listed
        assert [len(answer["tools"]) for answer in answers] == [1, 1, 1]


@_asynchronous
async def test_unapproved_tools_are_withheld_until_they_are_approved(tmp_path: Path) -> None:
    """A new and a changed tool are listed as pending, without text, and a call is refused.

    After `approve_all` they are callable, and the server has no counts.
    """
    async with _running(tmp_path, {"zoo": {"offers": ZEBRAS[:2]}}) as zoo:
        zoo.upstreams["zoo"].tools = [_tool("zebra_ride", "POISON"), *ZEBRAS[1:]]
        await zoo.operate("servers/zoo/discover-tools", {})
        answer = await zoo.discover("zebra", FLAG)
        refused = await zoo.call("zoo:zebra_ride")
        shown = (await zoo.operate("servers/zoo/tools"))["data"]["tools"]
        await zoo.operate("servers/zoo/tools/approve", {"approve_all": True})

        assert answer["disabled"] == [
            {"name": f"zoo:{name}", "server": "zoo", "status": "pending_approval"}
            for name in ("zebra_ride", "zebra_sell")
        ]
        assert "POISON" not in json.dumps(answer)
        assert [tool["approval_status"] for tool in shown] == ["changed", "approved", "pending"]
        assert refused["isError"] is True
        assert set((await zoo.statuses("zebra")).values()) == {"callable"}
        assert await zoo.counts("zoo") is None


@_asynchronous
async def test_a_quarantined_and_a_switched_off_server(tmp_path: Path) -> None:
    """Tools of a quarantined server are listed without text and refused; released, they are called.

    A config-denied one is not listed. Switched off, all are `server_disabled`. The config file has
    both settings.
    """
    servers = {"zoo": TRUSTED | {"disabled_tools": ["zebra_sell"]}}
    async with _running(tmp_path, servers) as zoo:
        await zoo.operate("servers/zoo/quarantine", {})
        quarantined = await zoo.discover("zebra", FLAG)
        refused = await zoo.call("zoo:zebra_ride")
        counts = await zoo.counts("zoo")
        await zoo.operate("servers/zoo/unquarantine", {})
        released = await zoo.call("zoo:zebra_ride")
        await zoo.operate("servers/zoo/disable", {})

        assert {e["name"]: e["status"] for e in quarantined["disabled"]} == {
            "zoo:zebra_ride": "server_quarantined",
            "zoo:zebra_feed": "server_quarantined",
        }
        assert not any("description" in entry for entry in quarantined["disabled"])
        assert "quarantine" in refused["text"]
        assert counts == {"callable": 0, "disabled_by_config": 1, "server_quarantined": 2}
        assert released["text"] == "called"
        assert set((await zoo.statuses("zebra")).values()) == {"server_disabled"}
        written = json.loads(zoo.config.read_text(encoding="utf-8"))["mcpServers"][0]
        assert (written["enabled"], written["quarantined"]) == (False, False)


@_asynchronous
async def test_the_configuration_is_followed_and_a_broken_one_is_not(tmp_path: Path) -> None:
    """A deny list that is written at run time locks a tool, and unlocking it is HTTP 409.

    A config file that is broken then leaves the lock.
    """
    async with _running(tmp_path, {"zoo": TRUSTED}) as zoo:
        document = json.loads(zoo.config.read_text(encoding="utf-8"))
        document["mcpServers"][0]["disabled_tools"] = ["zebra_ride"]
        zoo.config.write_text(json.dumps(document), encoding="utf-8")
        locked = await zoo.statuses("ride")
        zoo.config.write_text("{", encoding="utf-8")
        unlock = await zoo.operate("servers/zoo/tools/zebra_ride/enabled", {"enabled": True})

        assert locked == {"zoo:zebra_ride": "disabled_by_config"}
        assert await zoo.statuses("ride") == locked
        assert unlock["status"] == 409


@_asynchronous
async def test_an_agent_knows_nothing_of_servers_out_of_its_scope(tmp_path: Path) -> None:
    """An agent finds and lists no tool of a server outside of its scope.

    A call there is refused in the words for a missing tool. A wrong token is HTTP 401.
    """
    servers = {"zoo": TRUSTED, "farm": TRUSTED | {"disabled_tools": ["zebra_sell"]}}
    async with _running(tmp_path, servers) as zoo:
        junior = {"name": "junior", "allowed_servers": ["zoo"], "permissions": ["read"]}
        token = f"Bearer {(await zoo.operate('tokens', junior))['data']['token']}"
        hidden = await zoo.call("farm:zebra_sell", authorization=token)
        missing = await zoo.call("farm:nothing", authorization=token)
        listing = await zoo.tool("upstream_servers", {"operation": "list"}, authorization=token)
        wrong = await zoo.post({"method": "ping"}, authorization="Bearer mcp_agt_wrong")

        assert await zoo.statuses("sell", authorization=token) == {"zoo:zebra_sell": "callable"}
        assert hidden["text"] == missing["text"].replace("nothing", "zebra_sell")
        assert json.loads(listing["text"])["total"] == 1
        assert wrong.status_code == 401


@_asynchronous
async def test_locks_outlive_a_restart_and_the_opt_in_counter_does_not(tmp_path: Path) -> None:
    """After a restart the user's lock is still there.

    The opt-in counter, 1 before, is 0.
    """
    async with _running(tmp_path, {"zoo": TRUSTED}) as zoo:
        await zoo.operate("servers/zoo/tools/zebra_feed/enabled", {"enabled": False})
        await zoo.discover("zebra")
        await zoo.discover("zebra", FLAG)
        counted = await zoo.operate("discovery/opt-ins")
    async with _running(tmp_path, {"zoo": TRUSTED}) as zoo:
        assert counted["count"] == 1
        assert (await zoo.operate("discovery/opt-ins"))["count"] == 0
        assert (await zoo.statuses("feed"))["zoo:zebra_feed"] == "disabled_by_user"


@_asynchronous
async def test_an_unreadable_store_leaves_the_reason_unknown(tmp_path: Path) -> None:
    """While the store is missing, a folder or garbled, a tool is `disabled_unknown` and refused.

    Once it is back, the tool is callable.
    """
    async with _running(tmp_path, {"zoo": TRUSTED}) as zoo:
        store, away = tmp_path / "data" / "proxy.db", tmp_path / "away.db"
        states = []
        for spoil in (lambda: None, store.mkdir, lambda: store.write_bytes(b"garbage" * 999)):
            store.rename(away)
            spoil()
            states.append(
                (await zoo.statuses("ride"), (await zoo.call("zoo:zebra_ride"))["isError"])
            )
            if store.is_dir():
                store.rmdir()
            away.rename(store)

        assert states == [({"zoo:zebra_ride": "disabled_unknown"}, True)] * 3
        assert await zoo.statuses("ride") == {"zoo:zebra_ride": "callable"}
