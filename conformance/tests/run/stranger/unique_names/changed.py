"""What the selftest tries: servers that list other names."""

import json
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from mcp_proxy_conformance.selftest.matrix import Trial
from mcp_proxy_conformance.selftest.proof import Proof
from unique_names import server

HELLO = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
         "serverInfo": {"name": "changed", "version": "1"}}  # fmt: skip


@dataclass(frozen=True)
class Changed:
    """A server that lists these names; the clauses that it breaks, the readings that it takes."""

    id: str
    text: str
    names: tuple[str, ...]
    breaks: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()


def served(names: tuple[str, ...]) -> Any:
    """Return a running server that lists these names."""
    tools = [{"name": name, "inputSchema": {"type": "object"}} for name in names]
    results = {"initialize": HELLO, "tools/list": {"tools": tools}}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answer = {
                "jsonrpc": "2.0",
                "id": asked.get("id"),
                "result": results.get(asked["method"], {}),
            }
            body = json.dumps(answer).encode() if "id" in asked else b""
            self.send_response(200 if body else 202)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=http.serve_forever, daemon=True).start()
    return server(f"http://127.0.0.1:{http.server_port}/mcp")


def _trial(kind: Any, changed: Changed) -> Trial:
    return Trial(kind=kind, changed=changed, make=partial(served, changed.names), profile="names",
                 clauses=changed.breaks)  # fmt: skip


def proof() -> Proof:
    """Return two mutants of the one clause, and a server that only looks wrong."""
    twice = Changed("twice", "It lists a tool twice.", ("echo", "add", "echo"), ("NAMES.unique",))
    thrice = Changed("thrice", "It lists one tool thrice.", ("add",) * 3, ("NAMES.unique",))
    case = Changed("other-case", "Two names differ in case.", ("echo", "Echo"))
    mutants = [_trial("fault", twice), _trial("fault", thrice)]
    return Proof(mutants=mutants, variants=[_trial("variant", case)])
