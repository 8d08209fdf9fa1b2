"""Worked example of an adapter: it starts this proxy and drives its operator API, by JSON lines.

Standard library only, to be read and copied. `python -m mcp_proxy_reference.adapter`
"""

import json
import secrets
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import quote

Json = dict[str, Any]
SWITCHES = {
    ("quarantine", True): "quarantine",
    ("quarantine", False): "unquarantine",
    ("server", True): "disable",
    ("server", False): "enable",
}


class RefusedError(Exception):
    """The operator API refused a request (HTTP 409), which it is allowed to do."""


class Target:
    """One running proxy, its config file, and its operator API."""

    program = (sys.executable, "-m", "mcp_proxy_reference", "serve")

    def __init__(self, folder: Path, world: Json) -> None:
        """Write the config, start the proxy, and make a token for each agent of the world."""
        self.folder = folder
        self.key = secrets.token_hex(16)
        self.servers = {server["name"]: _entry(server) for server in world["servers"]}
        self.write_config()
        self.run()
        self.agents = {
            agent: self.token(agent, world["agents"][agent]) for agent in world["agents"]
        }

    def run(self) -> None:
        """Start the proxy on a free port and read its URL from the first line that it prints.

        RuntimeError if it ends without one.
        """
        folders = [f"--config={self.folder / 'config.json'}", f"--data-dir={self.folder}"]
        self.process = subprocess.Popen(  # noqa: S603 - this very program
            [*self.program, *folders, "--listen=127.0.0.1:0"],
            stdout=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("the proxy ended before it told its address")
        self.url = str(json.loads(line)["url"])

    def end(self) -> None:
        """Send SIGTERM to the proxy and wait, without a time limit, until it has ended."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()

    def write_config(self) -> None:
        """Replace the config file atomically; the proxy notices the change by itself."""
        fresh = self.folder / "config.new"
        servers = list(self.servers.values())
        fresh.write_text(json.dumps({"api_key": self.key, "mcpServers": servers}))
        fresh.replace(self.folder / "config.json")

    def api(self, method: str, path: str, body: Json | None = None) -> Json:
        """Call the operator API and return its JSON answer; `path` is what follows `/api/v1`.

        The path begins with a slash. Only a POST has a body, `{}` if none is given. HTTP 409
        raises RefusedError, another error status RuntimeError; an answer is awaited for 10 s at
        most.
        """
        request = urllib.request.Request(  # noqa: S310 - our own loopback URL
            self.url.removesuffix("/mcp") + "/api/v1" + path,
            data=json.dumps(body or {}).encode() if method == "POST" else None,
            headers={"X-API-Key": self.key, "Content-Type": "application/json"},
            method=method,
        )
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310
                return dict(json.load(answer))
        except urllib.error.HTTPError as error:
            text = error.read().decode("utf-8", "replace")
            if error.code == 409:  # noqa: PLR2004
                raise RefusedError(text) from None
            raise RuntimeError(f"{method} {path}: {error.code} {text}") from None

    def token(self, agent: str, servers: list[str]) -> dict[str, str]:
        """Create a read-only token for an agent that sees these servers; return it as a header."""
        wanted = {"name": agent, "allowed_servers": servers, "permissions": ["read"]}
        answer = self.api("POST", "/tokens", wanted)
        return {"Authorization": f"Bearer {answer['data']['token']}"}

    def switch(self, request: Json, *, locked: bool) -> None:
        """Set or remove the lock that the request names, by config file or operator API.

        The state of a whole server is also kept in `servers`, so that the next config file written
        has it. Raises RefusedError or RuntimeError, as `api` does.
        """
        kind, server, tools = request["kind"], request["server"], request["tools"]
        place = f"/servers/{quote(server, safe='')}"
        if kind == "config":
            self.deny(self.servers[server], tools, locked=locked)
        elif kind == "user":
            for tool in tools:
                path = f"{place}/tools/{quote(tool, safe='')}/enabled"
                self.api("POST", path, {"enabled": not locked})
        elif kind == "approval" and not locked:
            self.api("POST", f"{place}/tools/approve", {"tools": tools})
        else:
            action = SWITCHES[kind, locked]
            self.api("POST", f"{place}/{action}")
            member = "quarantined" if kind == "quarantine" else "enabled"
            self.servers[server][member] = locked if kind == "quarantine" else not locked

    def deny(self, entry: Json, tools: list[str], *, locked: bool) -> None:
        """Deny tools (`locked`) or permit them in the server's list, and write the config file.

        That is the allow list if the server's entry has one, else the deny list.
        """
        member = "enabled_tools" if "enabled_tools" in entry else "disabled_tools"
        named = set(tools)
        kept = [tool for tool in entry.get(member, []) if tool not in named]
        entry[member] = kept + (tools if locked == (member == "disabled_tools") else [])
        self.write_config()

    def hide_store(self, *, hidden: bool) -> None:
        """Rename the database of approvals and user locks so that it is missing, or back."""
        store, aside = self.folder / "proxy.db", self.folder / "proxy.hidden"
        if hidden:
            store.rename(aside)
        else:
            aside.rename(store)

    def way_in(self) -> Json:
        """Return the URL and each agent's headers, as in an answer to `start`."""
        return {"url": self.url, "agents": self.agents}


def _entry(server: Json) -> Json:
    """Return a server's entry in the config file: enabled, with its address, trust and lists."""
    entry = {"name": server["name"], "enabled": True, "quarantined": False}
    if "url" in server:
        entry |= {"url": server["url"], "protocol": "streamable-http"}
    else:
        program, *arguments = server["command"]
        entry |= {"command": program, "args": arguments, "protocol": "stdio"}
    entry |= {"skip_quarantine": True} if server["trusted"] else {}
    entry |= {"disabled_tools": server["deny"]} if "deny" in server else {}
    return entry | ({"enabled_tools": server["allow"]} if "allow" in server else {})


def answer(target: Target, request: Json) -> Json:
    """Carry out any request but `start` and return the answer; `unsupported` if unknown.

    Its `ok` holds URL and headers after a restart, `count` for `counter`, and is empty otherwise.
    What the operator API refuses is raised: RefusedError or RuntimeError.
    """
    op = request["op"]
    if op in ("lock", "unlock"):
        target.switch(request, locked=op == "lock")
        return {"ok": {}}
    if op == "restart":
        target.end()
        target.run()
        return {"ok": target.way_in()}
    if op == "refresh":
        target.api("POST", f"/servers/{quote(request['server'], safe='')}/discover-tools")
        return {"ok": {}}
    if op == "counter":
        return {"ok": {"count": target.api("GET", "/discovery/opt-ins")["count"]}}
    if op == "indeterminate":
        target.hide_store(hidden=request["on"])
        return {"ok": {}}
    return {"unsupported": True}


def main(make: type[Target] = Target) -> None:
    """Answer each line of standard input by one line; at its end, end the proxy.

    `start` makes the target. A failure is answered as `refused` or `error`, and the next line
    follows.
    """
    target: Target | None = None
    try:
        for line in sys.stdin:
            request = json.loads(line)
            try:
                if request["op"] == "start":
                    target = make(Path(request["dir"]), request["world"])
                    reply: Json = {"ok": target.way_in()}
                else:
                    assert target is not None, "nothing was started"
                    reply = answer(target, request)
            except RefusedError as refusal:
                reply = {"refused": str(refusal)}
            except Exception as error:  # noqa: BLE001 - report any failure and go on
                reply = {"error": f"{type(error).__name__}: {error}"}
            print(json.dumps({"id": request["id"]} | reply), flush=True)  # noqa: T201
    finally:
        if target is not None:
            target.end()


if __name__ == "__main__":
    main()
