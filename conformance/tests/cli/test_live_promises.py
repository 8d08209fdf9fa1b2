"""What is promised before a live endpoint is asked: so many requests, so long, no call."""

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
    """An MCP server that finds three tools for any query, and counts what it is asked."""

    def __init__(self) -> None:
        """It answers at once, until told to be slow."""
        self.seen: Counter[str] = Counter()
        self.called: Counter[str] = Counter()
        self.slow_s = 0.0

    @property
    def requests(self) -> int:
        """All of them, whatever their method."""
        return self.seen.total()

    def answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        """The result of one request."""
        time.sleep(self.slow_s)
        if asked["method"] == "initialize":
            return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
        if asked["method"] == "tools/list":
            return {"tools": [DISCOVERY, {"name": "delete_all"}]}
        self.called[asked["params"]["name"]] += 1
        names = ("open_door", "close_door", "paint_door")
        entries = [{"name": f"house:{name}", "server": "house"} for name in names]
        return {"content": [{"type": "text", "text": json.dumps({"tools": entries})}]}


@pytest.fixture
def counting() -> Iterator[tuple[Counting, str]]:
    """Such a server and its URL."""
    state = Counting()

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
            state.seen[asked.get("method", self.command)] += 1
            body = b""
            if "id" in asked:
                told = {"jsonrpc": "2.0", "id": asked["id"], "result": state.answer(asked)}
                body = json.dumps(told).encode()
            self.send_response(200 if body else 202)
            self.send_header("Content-Type", "application/json")
            self.send_header("Mcp-Session-Id", "s1")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_DELETE = do_GET = do_POST  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield state, f"http://127.0.0.1:{server.server_address[1]}/mcp"
    server.shutdown()
    server.server_close()
    thread.join()


def look(url: str, out: Path, *options: str) -> Result:
    """Run the command as fast as it goes."""
    command = ["run", "endpoint", "--url", url, "--out", str(out), "--rate", "10000"]
    return CliRunner().invoke(main, [*command, *options])


@pytest.mark.parametrize("most", [4, 5, 17, 70])
def test_no_request_is_sent_beyond_the_number_promised(
    counting: tuple[Counting, str], most: int, tmp_path: Path
) -> None:
    """The session is ended with the last of them; the run is incomplete and says why."""
    state, url = counting

    found = look(url, tmp_path, "--max-requests", str(most))

    assert (state.requests <= most, state.seen["DELETE"]) == (True, 1)
    assert (found.exit_code, f"{state.requests} of {most} requests" in found.stderr) == (4, True)
    assert set(state.called) <= {"retrieve_tools"}
    if most == 17:
        assert "raise --max-requests" in found.output


def test_the_plan_is_not_exceeded(counting: tuple[Counting, str], tmp_path: Path) -> None:
    """Each kind of request stays within its number, and nothing but discovery is called."""
    state, url = counting

    found = look(url, tmp_path)

    lines = plan(Endpoint(url=url))
    told = [int(line.split()[2]) for line in lines if line.strip().startswith("up to")]
    assert found.stderr.splitlines()[: len(lines)] == [
        lines[0].replace("20 a second", "10000 a second"), *lines[1:]
    ]  # fmt: skip
    assert state.requests <= sum(told) + 1
    assert set(state.called) == {"retrieve_tools"}


def test_the_plan_stands_before_the_first_request(tmp_path: Path) -> None:
    """It is printed though nothing answers."""
    found = look("http://127.0.0.1:1/mcp", tmp_path, "--max-requests", "50")

    assert found.stderr.startswith("http://127.0.0.1:1/mcp: at most 50 requests, 10000 a second")
    assert (found.exit_code, "nothing answers there" in found.stdout) == (3, True)


def test_the_deadline_is_kept(counting: tuple[Counting, str], tmp_path: Path) -> None:
    """A slow endpoint is left alone when the time is over."""
    state, url = counting
    state.slow_s = 0.2

    began = time.monotonic()
    found = look(url, tmp_path, "--timeout", "1.5")

    assert time.monotonic() - began < 4
    assert (found.exit_code, "the 1.5 seconds are over" in found.output) == (4, True)


def test_requests_are_spaced_as_promised() -> None:
    """Twenty a second are not sent faster, whatever their kind."""
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
    """Too many requests, or nobody behind it: exit 3."""
    state, url = counting
    monkeypatch.setattr(state, "answer", _tired(state))

    found = look(url, tmp_path)

    assert (found.exit_code, "stopped answering" in found.stdout) == (3, True)


def _tired(state: Counting) -> Any:
    whole = state.answer

    def answer(asked: dict[str, Any]) -> dict[str, Any]:
        if asked["method"] == "tools/call" and state.requests > 30:
            raise ConnectionError
        return whole(asked)

    return answer
