"""Relays of other designs: one over stdio, one that lists nothing, one that refuses numbers."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from mcp_proxy_conformance.cli import main
from mcp_proxy_conformance.fidelity.generated_values import case_of

COPYING = """
import subprocess, sys, threading
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def down():
    for line in child.stdout:
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
threading.Thread(target=down, daemon=True).start()
for line in sys.stdin.buffer:
    child.stdin.write(line)
    child.stdin.flush()
"""
"""A relay over stdio that copies lines both ways."""
LISTING = """
import json, sys
tools = json.loads(sys.argv[1])
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    result = {"tools": tools}
    if asked["method"] == "initialize":
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                  "serverInfo": {"name": "own", "version": "1"}}
    answer = {"result": result}
    if asked["method"] == "tools/list" and tools is None:
        answer = {"error": {"code": -32603, "message": "no"}}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}), flush=True)
"""
"""A relay over stdio that asks its upstream for nothing, and lists the tools it is given.

For null it refuses to list any.
"""
PASSING = """
import http.client, http.server, sys, urllib.parse
upstream = urllib.parse.urlsplit(sys.argv[2])
KEPT = ("content-type", "accept", "mcp-session-id", "mcp-protocol-version")
class Passing(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        behind = http.client.HTTPConnection(upstream.netloc)
        headers = {name: self.headers[name] for name in KEPT if name in self.headers}
        behind.request(self.command, upstream.path, body, headers)
        answer = behind.getresponse()
        data = answer.read()
        self.send_response(answer.status)
        for name in ("Content-Type", "Mcp-Session-Id"):
            if answer.headers[name]:
                self.send_header(name, answer.headers[name])
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
    do_DELETE = do_POST
    def log_message(self, *words):
        pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Passing).serve_forever()
"""
"""A relay over HTTP that keeps no state: sessions, and its name, are those of the upstream."""

ENDING = (
    """
import subprocess, sys
hello = (b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",'
         b'"capabilities":{},"clientInfo":{"name":"ending","version":"1"}}}\\n')
probe = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
probe.stdin.write(hello)
probe.stdin.flush()
if b'"error"' in probe.stdout.readline():
    sys.exit("the upstream refuses the handshake")
probe.kill()
"""
    + COPYING
)
"""A relay over stdio of older revisions, which ends if its upstream refuses their handshake."""

RELAY = [
    sys.executable, "-m", "mcp_proxy_mutants.fidelity", "--port", "{port}",
    "--upstream-url", "{upstream_url}", "relay-forwards-by-declaration",
]  # fmt: skip
FORWARDING = f"""
kind = "relay"
command = {json.dumps(RELAY)}

[relay]
forwards = ["authorization", "cookie"]
"""
"""The target file of a relay that forwards credentials of its clients."""
OWN = {"name": "relay_status", "inputSchema": {"type": "object"}}


Verdicts = dict[str, str]


def judged(script: str, checks: Sequence[str], folder: Path, *given: str) -> Verdicts:
    """Judge a relay, the script with these arguments, by checks; return {clause: verdict}.

    The run must end with 0, 1 or 4.
    """
    (folder / "relay.py").write_text(script, encoding="utf-8")
    command = [sys.executable, str(folder / "relay.py"), *given, "{upstream}"]
    return verdicts_of(command, checks, folder)


def verdicts_of(command: list[str], checks: Sequence[str], folder: Path) -> Verdicts:
    """Judge a relay, started by this command, by these checks; return {clause: verdict}."""
    report = reported(command, [f"--check={check}" for check in checks], folder)
    return {clause["id"]: clause["verdict"] for clause in report["clauses"]}


def reported(command: list[str], options: list[str], folder: Path) -> dict[str, Any]:
    """Judge a relay, started by this command, with these options of `run`; return the report.

    The run must end with 0, 1 or 4.
    """
    done = run(folder, *options, "--", *command)
    assert done.exit_code in (0, 1, 4), done.output
    return read(folder)


def run(folder: Path, *words: str) -> Result:
    """Run `run relay` with these words in one process; its report goes to `out` in the folder."""
    return CliRunner().invoke(main, ["run", "relay", "--out", str(folder / "out"), *words])


def read(folder: Path) -> dict[str, Any]:
    """Return the report below `out` in the folder."""
    report: dict[str, Any] = json.loads((folder / "out" / "report.json").read_text("utf-8"))
    return report


BACK = {
    "test_answers_have_the_id_of_their_request": "RLY.down.envelope",
    "test_progress_is_the_upstreams_under_the_clients_token": "RLY.back.progress.token",
    "test_questions_and_answers_pass_by_value": "RLY.back.request.answered",
    "test_a_cancellation_reaches_its_request": "RLY.back.cancel.reaches",
    "test_an_update_reaches_its_subscriber_alone": "RLY.back.resource-updated",
}
"""Checks, each with one of its clauses: of an envelope, and of messages back to the client."""


@pytest.fixture(scope="module")
def over_stdio(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Verdicts]:
    """Judge two relays with an upstream over stdio by the checks of BACK; return their verdicts.

    One copies lines over stdio; the other, the bundled one, serves HTTP.
    """
    words = [sys.executable, "-m", "mcp_relay_reference", "--port", "{port}", "--", "{upstream}"]
    folder = tmp_path_factory.mktemp("over stdio")
    (folder / "http").mkdir()
    return {
        "stdio": judged(COPYING, tuple(BACK), folder),
        "http": verdicts_of(words, tuple(BACK), folder / "http"),
    }


def test_envelopes_are_judged_over_stdio(over_stdio: dict[str, Verdicts]) -> None:
    """A relay over stdio that copies lines passes RLY.down.envelope."""
    assert over_stdio["stdio"]["RLY.down.envelope"] == "pass"


@pytest.mark.parametrize("serves", ["stdio", "http"], ids=["stdio to stdio", "http to stdio"])
@pytest.mark.parametrize(("check", "clause"), list(BACK.items())[1:])
def test_the_way_back_is_judged_over_stdio(
    check: str, clause: str, serves: str, over_stdio: dict[str, Verdicts]
) -> None:
    """Two relays with an upstream over stdio pass four clauses on messages back to the client."""
    assert (check, over_stdio[serves][clause]) == (check, "pass")


@pytest.mark.parametrize(("inherits", "verdict"), [(True, "fail"), (False, "pass")])
def test_an_inherited_secret_is_reported(tmp_path: Path, inherits: bool, verdict: str) -> None:
    """A relay whose program inherits its environment is reported, by RLY.cred.down.environment.

    The bundled relay, which hands few variables on, passes.
    """
    words = [sys.executable, "-m", "mcp_relay_reference", "--port", "{port}", "--", "{upstream}"]
    checks = ["test_a_program_does_not_inherit_the_relays_secrets"]

    verdicts = (
        judged(COPYING, checks, tmp_path) if inherits else verdicts_of(words, checks, tmp_path)
    )

    assert verdicts["RLY.cred.down.environment"] == verdict


@pytest.mark.parametrize(
    ("check", "clause"),
    [
        ("test_every_tool_of_the_upstream_is_listed_once", "RLY.tools.complete.once"),
        ("test_a_walk_along_the_cursors_ends", "RLY.tools.paging.ends"),
    ],
)
@pytest.mark.parametrize("tools", [[], [OWN]], ids=["no tool", "a tool of its own"])
def test_a_list_without_the_upstreams_tools_shows_nothing_of_them(
    tmp_path: Path, check: str, clause: str, tools: list[object]
) -> None:
    """If a relay lists none of the upstream's tools, neither clause on the list passes."""
    assert judged(LISTING, [check], tmp_path, json.dumps(tools)).get(clause) != "pass"


def test_a_list_that_cannot_be_read_is_one_cause(tmp_path: Path) -> None:
    """If a relay's list of tools is null, all open results have one reason, and are one cause."""
    (tmp_path / "relay.py").write_text(LISTING, encoding="utf-8")
    command = [sys.executable, str(tmp_path / "relay.py"), "null", "{upstream}"]

    report = reported(command, ["--only", "RLY.tools", "--only", "RLY.down"], tmp_path)

    open_ = [each for each in report["results"] if each["verdict"] == "inconclusive"]
    reasons = {result["reason"] for result in open_}
    assert [len(report["causes"]), len(reasons)] == [1, 1]


def test_what_a_relay_declares_to_forward_is_not_judged(tmp_path: Path) -> None:
    """If a relay declares that it forwards Authorization, RLY.cred.down.token is not applicable.

    The reason says so; exit 0. The declaration is in the last lines, and in the report.
    """
    target = tmp_path / "target.toml"
    target.write_text(FORWARDING, encoding="utf-8")
    only = ["--only", "RLY.cred.down.token", "--only", "RLY.cred.down.query"]

    done = run(tmp_path, f"--target-file={target}", *only)

    report = read(tmp_path)
    token = next(each for each in report["clauses"] if each["id"] == "RLY.cred.down.token")
    reason = "the relay declares that it forwards Authorization"
    assert [done.exit_code, token["verdict"], token["reason"]] == [0, "not_applicable", reason]
    assert report["target"]["declared"] == {"forwards": ["authorization", "cookie"]}
    assert 'on your word: forwards = ["authorization", "cookie"]\n' in done.output


@pytest.mark.parametrize(
    ("value", "may"), [(1 << 53, False), ((1 << 53) + 1, True), (-(1 << 60), True), (True, False)]
)
def test_integers_beyond_53_bits_may_be_refused(value: int, may: bool) -> None:
    """A generated value may be refused if it has an integer beyond 53 bits.

    `case_of(...).refusable` says so.
    """
    assert case_of("arguments", {"a": [{"b": value}]}, 1).refusable is may


@pytest.mark.parametrize(
    ("script", "given"),
    [
        (PASSING, ["{port}", "{upstream_url}"]),
        pytest.param(COPYING, ["{upstream}"], marks=pytest.mark.proof(parts=4)),
        pytest.param(ENDING, ["{upstream}"], marks=pytest.mark.proof(parts=4)),
    ],
    ids=["over http", "over stdio", "ending"],
)
def test_a_relay_of_older_revisions_is_accused_of_no_era(
    tmp_path: Path, script: str, given: list[str]
) -> None:
    """If a relay speaks no 2026-07-28 on either side, no clause on eras fails or stays open.

    Clauses that need an upstream of that revision are not applicable.
    """
    (tmp_path / "relay.py").write_text(script, encoding="utf-8")

    command = [sys.executable, str(tmp_path / "relay.py"), *given]
    report = reported(command, ["--only", "RLY.era"], tmp_path)

    verdicts = {each["id"]: each["verdict"] for each in report["clauses"]}
    assert set(verdicts.values()) <= {"pass", "not_applicable"}
    assert verdicts["RLY.era.meta.hop"] == "not_applicable"


def test_upstreams_of_both_eras_are_judged_over_stdio(tmp_path: Path) -> None:
    """The bundled relay passes every required clause on eras with an upstream over stdio.

    Clauses on headers upstream are not applicable.
    """
    words = [sys.executable, "-m", "mcp_relay_reference", "--port", "{port}", "--", "{upstream}"]

    report = reported(words, ["--only", "RLY.era"], tmp_path)

    verdicts = {each["id"]: each["verdict"] for each in report["clauses"]}
    assert set(verdicts.values()) <= {"pass", "not_applicable"}
    passed = ["RLY.era.meta.hop", "RLY.era.elicit.crosses", "RLY.era.tools.handshake"]
    assert {verdicts[name] for name in passed} == {"pass"}


def test_a_session_id_of_the_upstream_is_no_secret_of_the_client(tmp_path: Path) -> None:
    """A relay that passes on the upstream's sessions and name is not accused, nor named after it.

    The messages of a result are those that crossed the relay.
    """
    (tmp_path / "relay.py").write_text(PASSING, encoding="utf-8")
    command = [sys.executable, str(tmp_path / "relay.py"), "{port}", "{upstream_url}"]

    report = reported(command, ["--only", "RLY.cred.down.other"], tmp_path)

    verdicts = {clause["id"]: clause["verdict"] for clause in report["clauses"]}
    assert verdicts["RLY.cred.down.other"] == "pass"
    assert report["target"].get("name", "") == ""
    peers = {message["peer"] for message in report["messages"].values()}
    assert "direct" not in peers
    assert "upstream" in peers
