"""Credentials for a live endpoint that echoes them: in no output, file or error."""

from __future__ import annotations

import base64
import http.server
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from canaries import cut, forms, leaked_in
from click.testing import CliRunner

from mcp_proxy_conformance.cli import main
from mcp_proxy_conformance.verdict.credentials import credentials
from mcp_proxy_conformance.verdict.redaction import REDACTED, Redactor

HEADER, PASSWORD, MEMBER = "hdr-Canary/4711+x=", "pw Canary?4712&y", "qry:Canary%4713z"
VARIABLE, COOKIE, AGENT = "env-Canary-4714", "ck-Canary-4715", "agt-Canary-4716"
CANARIES = (HEADER, PASSWORD, MEMBER, VARIABLE, COOKIE, AGENT)
DESCRIPTION = "Finds tools; takes include_disabled."


class Echo(http.server.BaseHTTPRequestHandler):
    """An MCP server that repeats every credential in every form, and breaks many clauses."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_POST(self) -> None:
        """Answer one request by all credentials, whole and in pieces, its own headers and its path.

        They are in the result and in a header; a notification gets a 202.
        """
        message = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        echoes = [form for secret in CANARIES for form in (*forms(secret), *cut(secret))]
        echoes += [f"{name}: {value}" for name, value in self.headers.items()] + [self.path]
        body = json.dumps(self._answer(message, echoes)).encode() if "id" in message else b""
        self.send_response(200 if body else 202)
        for name, value in (("Content-Type", "application/json"), ("X-Echo", quote(HEADER))):
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _answer(self, message: dict[str, Any], echoes: list[str]) -> dict[str, Any]:
        """Return the JSON-RPC answer to the message, with `echoes` in every place.

        It lists the discovery tool. A call finds twelve locked entries, or is refused if its query
        has `notice`.
        """
        result: dict[str, Any] = {"tools": [{"name": "retrieve_tools", "description": DESCRIPTION}]}
        if message["method"] == "initialize":
            server = {"name": HEADER, "version": quote(PASSWORD)}
            result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
            result["serverInfo"] = server
        if message["method"] == "tools/call":
            entry = {"name": f"a:{echoes[0]}", "server": "a", "status": echoes[1], "hint": echoes}
            document = {"tools": [], "disabled": [entry] * 12, "notice": "\n".join(echoes)}
            if "notice" in message["params"]["arguments"].get("query", ""):
                document = {"refused": echoes}
            result = {"content": [{"type": "text", "text": json.dumps(document)}]}
        return {"jsonrpc": "2.0", "id": message["id"], "result": result}

    def log_message(self, *_: object) -> None:
        """Discard the line that the server would log."""


@pytest.fixture
def place() -> Iterator[str]:
    """Serve an Echo on 127.0.0.1; yield `host:port`. It ends after the test."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield f"127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


def url(place: str) -> str:
    """Return the URL of the server at `place`, with an encoded password and secret query member."""
    return f"http://me:{quote(PASSWORD, safe='')}@{place}/mcp?api_key={quote(MEMBER, safe='')}&n=1"


def test_no_credential_is_written_anywhere(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On an endpoint that echoes all credentials, no output or file has one; exit 1.

    The report has more than ten redactions; the command to reproduce has host and port.
    """
    monkeypatch.setenv("SOME_TOKEN", VARIABLE)
    headers = [f"X-Thing: {HEADER}", f"Cookie: session={COOKIE}; theme=dark"]
    options = [word for header in headers for word in ("--header", header)]
    options += ["--as", f"north=Authorization: Bearer {AGENT}", "--rate", "10000"]

    done = CliRunner().invoke(
        main,
        ["run", "endpoint", "--verbose", "--url", url(place), "--out", str(tmp_path), *options],
    )

    report = (tmp_path / "report.json").read_text(encoding="utf-8")
    assert (done.exit_code, leaked_in(tmp_path, CANARIES, done.output)) == (1, {})
    assert report.count(REDACTED) > 10
    assert "Reproduce with: " in done.output
    assert place in done.output


@pytest.mark.proof
def test_no_credential_is_written_by_pytest(place: str, tmp_path: Path) -> None:
    """By plain pytest on that echoing endpoint, no output or file has a credential; exit 1."""
    test = "from mcp_proxy_conformance.discovery.live.every_check import *\n"
    (tmp_path / "test_live.py").write_text(test, encoding="utf-8")
    named = {"MCP_PROXY_CONFORMANCE_URL": url(place), "SOME_TOKEN": VARIABLE}
    named["MCP_PROXY_CONFORMANCE_HEADERS"] = f"X-Thing: {HEADER}\nCookie: session={COOKIE}"
    named["X_SECRET"] = AGENT

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-v"],
        cwd=tmp_path, env=os.environ | named, capture_output=True, text=True, check=False,
        timeout=100,
    )  # fmt: skip

    assert (done.returncode, leaked_in(tmp_path, CANARIES, done.stdout, done.stderr)) == (1, {})
    assert "FAILED test_live.py::test_a_live_note_is_one_line" in done.stdout


@pytest.mark.parametrize(
    "options",
    [
        ("--url", f"ftp://me:{quote(PASSWORD, safe='')}@x/mcp"),
        ("--url", f"http://127.0.0.1:1/m p?token={quote(MEMBER, safe='')}"),
        ("--url", "http://127.0.0.1:1/", "--header", HEADER),
        ("--url", "http://127.0.0.1:1/", "--header", f"X-Thing: {HEADER}\u20ac"),
        ("--url", "http://127.0.0.1:1/", "--as", AGENT),
        ("--url", f"http://127.0.0.1:1/?key={quote(MEMBER, safe='')}", "--header", f"A: {HEADER}"),
        ("--stdio", f"/nowhere/at-all --token {HEADER.replace('=', '')} --password={COOKIE}"),
    ],
)
def test_no_credential_is_in_an_error(options: tuple[str, ...], tmp_path: Path) -> None:
    """A bad option, or an endpoint that does not answer, exits with 2 or 3.

    No output or file has a credential that the options hold.
    """
    done = CliRunner().invoke(main, ["run", "endpoint", *options, "--out", str(tmp_path)])

    assert (done.exit_code in (2, 3), leaked_in(tmp_path, CANARIES, done.output)) == (True, {})


def test_the_parts_of_a_credential_are_secret_too() -> None:
    """`credentials` returns tokens, passwords and cookie values of a URL and headers, also decoded.

    Other query members and headers are not among them.
    """
    basic = base64.b64encode(b"me:open sesame").decode()
    headers = {"Authorization": f"Basic {basic}", "Cookie": "a=first1; b=second2", "Accept": "any"}

    secrets = set(
        credentials(url="http://x/mcp?token=abc%20d&page=two", headers=[headers], environment={})
    )

    assert {basic, "me:open sesame", "open sesame", "first1", "second2", "abc d"} <= secrets
    assert {"any", "two"} & secrets == set()


def test_the_suites_own_words_are_not_redacted() -> None:
    """A credential that is the word `pass` is redacted in a reason, but not in a verdict."""
    document = Redactor(["pass", "fail"]).tree({"verdict": "pass", "reason": "pass word", "n": 1})

    assert document == {"verdict": "pass", "reason": f"{REDACTED} word", "n": 1}
