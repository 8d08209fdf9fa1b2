"""Promises of a run on a live endpoint: its printed plan, requests, pace, time and calls."""

from __future__ import annotations

import http.server
import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from mcp_proxy_conformance.cli import main
from mcp_proxy_conformance.discovery.live.budget import Budget, Ledger, OverBudget
from mcp_proxy_conformance.discovery.live.endpoint import Endpoint
from mcp_proxy_conformance.discovery.live.plan import plan

PROPERTIES = {"query": {"type": "string"}, "limit": {"type": "integer"}}
DISCOVERY = {
    "name": "retrieve_tools",
    "description": "Finds tools; with include_disabled locked ones too.",
    "inputSchema": {"type": "object", "properties": {**PROPERTIES, "include_disabled": {}}},
}


class Counting:
    """An MCP server that finds three tools for any query, and counts requests and calls.

    Each answer takes `slow_s` seconds.
    """

    def __init__(self) -> None:
        """Begin with no request counted; `slow_s` is 0."""
        self.seen: Counter[str] = Counter()
        self.called: Counter[str] = Counter()
        self.slow_s = 0.0

    @property
    def requests(self) -> int:
        """The number of all requests that the server has got, whatever their method."""
        return self.seen.total()

    def answer(self, message: dict[str, Any]) -> dict[str, Any]:
        """Return the result of one request, after `slow_s` seconds.

        Any method but `initialize` and tools/list is a call: its tool is counted, and it finds
        three tools.
        """
        time.sleep(self.slow_s)
        if message["method"] == "initialize":
            return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
        if message["method"] == "tools/list":
            return {"tools": [DISCOVERY, {"name": "delete_all"}]}
        self.called[message["params"]["name"]] += 1
        names = ("open_door", "close_door", "paint_door")
        entries = [{"name": f"house:{name}", "server": "house"} for name in names]
        return {"content": [{"type": "text", "text": json.dumps({"tools": entries})}]}


@pytest.fixture
def counting() -> Iterator[tuple[Counting, str]]:
    """Serve a Counting on 127.0.0.1; yield (it, its URL). It ends after the test."""
    state = Counting()

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1

        def do_POST(self) -> None:
            """Count the request by its JSON-RPC method, or its HTTP method; send the result.

            A message without an id gets an empty 202.
            """
            message = json.loads(
                self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}"
            )
            state.seen[message.get("method", self.command)] += 1
            body = b""
            if "id" in message:
                response = {"jsonrpc": "2.0", "id": message["id"], "result": state.answer(message)}
                body = json.dumps(response).encode()
            self.send_response(200 if body else 202)
            self.send_header("Content-Type", "application/json")
            self.send_header("Mcp-Session-Id", "s1")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_DELETE = do_GET = do_POST  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Discard the line that the server would log."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield state, f"http://127.0.0.1:{server.server_address[1]}/mcp"
    server.shutdown()
    server.server_close()
    thread.join()


def look(url: str, out: Path, *options: str) -> Result:
    """Run `run endpoint` on the URL with --rate 10000 and these options; return its result."""
    command = ["run", "endpoint", "--url", url, "--out", str(out), "--rate", "10000"]
    return CliRunner().invoke(main, [*command, *options])


@pytest.mark.parametrize("most", [4, 5, 17, 70])
def test_no_request_is_sent_beyond_the_number_promised(
    counting: tuple[Counting, str], most: int, tmp_path: Path
) -> None:
    """A run sends at most --max-requests, the DELETE at the end included, and exits with 4.

    It prints the number; only the discovery tool is called.
    """
    state, url = counting

    result = look(url, tmp_path, "--max-requests", str(most))

    assert (state.requests <= most, state.seen["DELETE"]) == (True, 1)
    assert (result.exit_code, f"{state.requests} of {most} requests" in result.stderr) == (4, True)
    assert set(state.called) <= {"retrieve_tools"}
    if most == 17:
        assert "raise --max-requests" in result.output


def test_the_plan_is_not_exceeded(counting: tuple[Counting, str], tmp_path: Path) -> None:
    """The plan is printed first, and a run sends at most the sum of its numbers, plus one.

    Only the discovery tool is called.
    """
    state, url = counting

    result = look(url, tmp_path)

    lines = plan(Endpoint(url=url))
    most_of_each = [int(line.split()[2]) for line in lines if line.strip().startswith("up to")]
    assert result.stderr.splitlines()[: len(lines)] == [
        lines[0].replace("20 a second", "10000 a second"), *lines[1:]
    ]  # fmt: skip
    assert state.requests <= sum(most_of_each) + 1
    assert set(state.called) == {"retrieve_tools"}


def test_the_plan_stands_before_the_first_request(tmp_path: Path) -> None:
    """The plan is printed before any request, even if nothing listens at the URL; exit 3."""
    result = look("http://127.0.0.1:1/mcp", tmp_path, "--max-requests", "50")

    assert result.stderr.startswith("http://127.0.0.1:1/mcp: at most 50 requests, 10000 a second")
    assert (result.exit_code, "the endpoint does not answer" in result.stdout) == (3, True)


def test_the_deadline_is_kept(counting: tuple[Counting, str], tmp_path: Path) -> None:
    """A run on a slow endpoint with --timeout 1.5 ends within 4 s, exit 4, and says so."""
    state, url = counting
    state.slow_s = 0.2

    began = time.monotonic()
    result = look(url, tmp_path, "--timeout", "1.5")

    assert time.monotonic() - began < 4
    assert (result.exit_code, "the 1.5 seconds are over" in result.output) == (4, True)


def test_requests_are_spaced_as_promised() -> None:
    """Five requests at fifty a second take 0.08 s or more; a sixth raises OverBudget."""
    budget = Budget(most=5, per_second=50, within_s=5)
    ledger = Ledger(budget)
    began = time.monotonic()

    for _ in range(5):
        ledger.record(edge="client", direction="sent", peer="", raw=b"", note="")
        ledger.record(edge="client", direction="received", peer="", raw=b"", note="")

    assert time.monotonic() - began >= 4 / 50
    with pytest.raises(OverBudget, match="all 5 requests are used"):
        ledger.record(edge="client", direction="sent", peer="", raw=b"", note="")


def test_a_gateway_that_turns_away_is_no_breach(
    counting: tuple[Counting, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An endpoint that breaks off all calls after thirty requests ends the run with 3."""
    state, url = counting
    monkeypatch.setattr(state, "answer", _tired(state))

    result = look(url, tmp_path)

    assert (result.exit_code, "stopped answering" in result.stdout) == (3, True)


def _tired(state: Counting) -> Any:
    """Return an `answer` like the server's that breaks off calls after thirty requests."""
    whole = state.answer

    def answer(message: dict[str, Any]) -> dict[str, Any]:
        """Return the server's answer; for a call after thirty requests raise ConnectionError."""
        if message["method"] == "tools/call" and state.requests > 30:
            raise ConnectionError
        return whole(message)

    return answer
