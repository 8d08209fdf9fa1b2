"""`serve`: what it prints for a client, each request, and what a loader owes the server."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import httpx2
import pytest

SERVE = [sys.executable, "-m", "mcp_proxy_conformance", "serve"]


def test_a_server_is_had_for_oneself_and_its_requests_are_told() -> None:
    """It fails as it was asked to; the end tells what is due, and by which clauses."""
    with subprocess.Popen(
        [*SERVE, "event=503", "place=list", "crlf"], stdout=subprocess.PIPE, text=True
    ) as served:
        assert served.stdout is not None
        printed = ""
        while line := served.stdout.readline().rstrip("\n"):
            printed += line
        (connection,) = json.loads(printed)["mcpServers"].values()
        request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}
        statuses = [
            httpx2.post(connection["url"], json=request | {"method": method}).status_code
            for method in ("initialize", "tools/list")
        ]
        while "tools/list" not in (line := served.stdout.readline()):
            assert line
        served.send_signal(signal.SIGINT)
        rest, _ = served.communicate(timeout=20)

    assert (statuses, served.returncode) == ([200, 503], 0)
    assert "attempt 1, POST tools/list -> 503 (status)" in line
    assert "transient, with 2 to 3 attempts (of at most 3)" in rest
    assert [each.split()[0] for each in rest.splitlines()[-3:]] == [
        "O5.bounded", "T3.retried", "T3.server-error",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["signs"], "'signs' is not one value; write listing=signs or "),
        (["colour=red"], "'colour=red' is not one value; `serve --list` has all values"),
        (["healthy", "place=list"], "cannot be played together: a server that does nothing wrong"),
    ],
)
def test_values_that_cannot_be_served_are_refused(words: list[str], sentence: str) -> None:
    """Exit 2, and a sentence that names the value and the repair."""
    done = subprocess.run([*SERVE, *words], capture_output=True, text=True, check=False)

    assert (done.returncode, sentence in done.stderr) == (2, True), done.stderr


def test_all_values_are_listed() -> None:
    """Each with the sentence that makes it lawful."""
    done = subprocess.run([*SERVE, "--list"], capture_output=True, text=True, check=False)

    assert "  crlf             A line of an event stream may end in CR LF" in done.stdout
