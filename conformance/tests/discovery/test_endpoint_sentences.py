"""Exit code and sentence of `run endpoint` on servers that refuse, redirect, or list poorly."""

from __future__ import annotations

import http.server
import json
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import pytest
from click.testing import CliRunner, Result

from mcp_proxy_conformance.cli import main

Response = tuple[int, dict[str, str], bytes]
Respond = Callable[[str, dict[str, Any]], Response]
JSON = {"Content-Type": "application/json"}
STREAM = {"Content-Type": "text/event-stream"}
REFUSAL = {"code": -32603, "message": "the upstream is away"}


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers each request with the (status, headers, body) that `respond` returns for it.

    `respond` is called with the HTTP method and the JSON-RPC message.
    """

    respond: ClassVar[Respond]

    def do_POST(self) -> None:
        """Send the status, headers and body that `respond` returns, with their Content-Length.

        An empty request body counts as the message {}.
        """
        message = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        status, headers, body = type(self).respond(self.command, message)
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_DELETE = do_POST  # noqa: N815

    def log_message(self, *_: object) -> None:
        """Discard the line that the server would log."""


@contextmanager
def serving(respond: Respond) -> Iterator[str]:
    """Serve the responses of `respond` on a free port of 127.0.0.1; yield the URL.

    It gets the HTTP method and the JSON-RPC message, and returns (status, headers, body).
    """
    kind = type("Some", (Handler,), {"respond": staticmethod(respond)})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), kind)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/mcp/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def look(respond: Respond, *more: str) -> Result:
    """Run `run endpoint`, with these options, on a server that `serving` makes of `respond`.

    Return its result. It must print one line of less than 1300 characters.
    """
    with serving(respond) as url, tempfile.TemporaryDirectory() as out:
        command = ["run", "endpoint", "--url", url, "--out", out, *more]
        result = CliRunner().invoke(main, command)
    assert (result.stdout.count("\n"), len(result.stdout) < 1300) == (1, True)
    return result


def server(
    listing: dict[str, Any],
    *,
    capabilities: dict[str, Any] | None = None,
    status: int = 200,
    acknowledged: int = 202,
) -> Respond:
    """Return a `respond` of an MCP server that answers each request by the members `listing`.

    These are `result` or `error`. `initialize` succeeds with the capabilities; `status` is of all
    other answers, `acknowledged` of notifications.
    """
    opening = {"protocolVersion": "2025-06-18", "capabilities": capabilities or {}}

    def respond(_: str, message: dict[str, Any]) -> Response:
        """Accept the handshake and notifications; answer any other request by `listing`."""
        if message.get("method") == "initialize":
            code, headers, body = _answer(message, {"result": opening})
            return code, {**headers, "Mcp-Session-Id": "s1"}, body
        if "id" not in message:
            return acknowledged, {}, b""
        return _answer(message, listing, status)

    return respond


def _answer(message: dict[str, Any], members: dict[str, Any], status: int = 200) -> Response:
    """Return (status, headers, body) of a JSON-RPC response to that message.

    It has the message's id and these members.
    """
    return status, JSON, json.dumps({"jsonrpc": "2.0", "id": message["id"], **members}).encode()


def old_stream(first: bytes) -> Respond:
    """Return a `respond` that refuses POST with 405.

    Any other method gets an event stream of these bytes.
    """
    return lambda method, _: (405, {}, b"") if method == "POST" else (200, STREAM, first)


@pytest.mark.parametrize("status", [401, 403])
def test_missing_credentials_are_asked_for(status: int) -> None:
    """An endpoint that answers 401 or 403 ends the run with 3; the sentence names --header."""
    refusal = json.dumps({"jsonrpc": "2.0", "id": None, "error": REFUSAL}).encode()
    for answer in [(status, {}, b""), (status, JSON, refusal)]:
        result = look(lambda *_, answer=answer: answer)

        assert result.exit_code == 3
        assert f"rejects this client (HTTP {status}); give valid credentials" in result.stdout
        assert "--header 'NAME: VALUE'" in result.stdout


def test_credentials_that_only_the_listing_asks_for_are_asked_for() -> None:
    """A server that answers 401 only to tools/list ends the run with 3: it rejects this client."""
    result = look(server({"error": REFUSAL}, capabilities={"tools": {}}, status=401))

    assert (result.exit_code, "rejects this client (HTTP 401)" in result.stdout) == (3, True)


@pytest.mark.parametrize(
    ("location", "shown"),
    [("/there", "/there "), ("https://x.test/y", " https://x.test/y "), ("http://[", " http://[ ")],
)
def test_a_redirect_is_named(location: str, shown: str) -> None:
    """A redirect to another path or origin, or to a broken URL, ends the run with 3.

    The sentence has its whole target, and asks for the URL that it leads to.
    """
    result = look(lambda *_: (307, {"Location": location}, b""))

    assert (result.exit_code, "redirects to http" in result.stdout) == (3, True)
    assert shown in result.stdout
    assert "give the URL that it leads to" in result.stdout


def test_the_older_transport_is_named() -> None:
    """An endpoint whose GET stream begins with the event `endpoint` ends the run with 3.

    The sentence names the HTTP+SSE transport, and the option by which it is judged.
    """
    result = look(old_stream(b"event: endpoint\ndata: /messages?id=1\n\n"))

    assert (result.exit_code, "the HTTP+SSE transport of 2024-11-05" in result.stdout) == (3, True)
    assert "give --wire sse, or the URL of its streamable HTTP endpoint" in result.stdout


@pytest.mark.parametrize("first", [b"data: {}\n\n", b"", b": only a comment\n\n"])
def test_another_stream_is_no_older_transport(first: bytes) -> None:
    """An endpoint whose GET stream begins otherwise ends the run with 3: no MCP endpoint there."""
    result = look(old_stream(first))

    assert (result.exit_code, "no MCP endpoint at" in result.stdout) == (3, True)


def test_a_closed_port_is_reported_with_the_option(tmp_path: Path) -> None:
    """A port where nothing listens ends the run with 3.

    The sentence has the URL and names --url.
    """
    with serving(server({})) as url:
        pass
    result = CliRunner().invoke(main, ["run", "endpoint", "--url", url, "--out", str(tmp_path)])

    assert (result.exit_code, result.stdout.count("\n")) == (3, 1)
    assert result.stdout.startswith(f"the endpoint does not answer: {url}: the connection was ref")
    assert result.stdout.endswith("; start it, or correct --url\n")


def test_a_page_that_is_not_found_is_not_quoted() -> None:
    """A 404 with an HTML page ends the run with 3 and asks for the URL with its path.

    The page is not printed.
    """
    result = look(lambda *_: (404, {"Content-Type": "text/html"}, b"<html>" * 100))

    assert (result.exit_code, "html" in result.stdout) == (3, False)
    assert "(HTTP 404 to a POST); give the URL, path included" in result.stdout


def test_a_refused_handshake_is_no_other_protocol() -> None:
    """A JSON-RPC error to `initialize` ends the run with 3; the server's reason is printed."""
    result = look(lambda _, message: _answer(message, {"error": REFUSAL}))

    assert (result.exit_code, "refuses the handshake" in result.stdout) == (3, True)
    assert "the upstream is away" in result.stdout


def test_a_session_lost_at_once_is_no_wrong_path() -> None:
    """A 404 to the notification after the handshake ends the run with 3, as a lost session."""
    result = look(server({}, acknowledged=404))

    assert (result.exit_code, "the session that the target issued" in result.stdout) == (3, True)


@pytest.mark.parametrize("members", [{"error": REFUSAL}, {"result": {}}])
def test_tools_that_cannot_be_listed_are_reported_as_that(members: dict[str, Any]) -> None:
    """A tools/list that is refused, or has no tools member, ends the run with 3.

    The sentence says that tools cannot be listed.
    """
    result = look(server(members, capabilities={"tools": {}}))

    assert (result.exit_code, "but its tools cannot be listed" in result.stdout) == (3, True)


@pytest.mark.parametrize("status", [200, 404])
def test_a_server_without_tools_has_none(status: int) -> None:
    """A server that declares no tools and does not know tools/list ends the run with 4.

    The sentence has `(tools: none)`.
    """
    unknown = {"error": {"code": -32601, "message": "Method not found"}}

    result = look(server(unknown, capabilities={"prompts": {}}, status=status))

    assert (result.exit_code, "(tools: none)" in result.stdout) == (4, True)


def test_tools_that_were_not_declared_are_seen() -> None:
    """A server that lists a tool without declaring tools ends the run with 4.

    The tool is printed.
    """
    result = look(server({"result": {"tools": [{"name": "add"}]}}))

    assert (result.exit_code, "(tools: add)" in result.stdout) == (4, True)


def test_many_and_long_names_make_no_page() -> None:
    """Of twelve tools the sentence names eight, long names cut, and counts four; exit 4.

    A line break in a name is printed as a space.
    """
    names = ["x" * 5000, "a\nb", *(f"tool_{i}" for i in range(10))]
    listing = {"result": {"tools": [{"name": name} for name in names]}}

    result = look(server(listing, capabilities={"tools": {}}))

    assert (result.exit_code, "tool_5, and 4 more)" in result.stdout) == (4, True)
    assert "x..., a b, tool_0" in result.stdout


NOT_OFFERED = "the endpoint does not offer discovery of locked tools: neither the description"


@pytest.mark.parametrize("schema", [None, {}, {"properties": None}, {"properties": 5}])
def test_a_tool_with_an_odd_schema_names_no_flag(schema: Any) -> None:
    """A discovery tool whose input schema is null or odd claims no feature: the run ends with 4."""
    listing = {"result": {"tools": [{"name": "find_tools", "inputSchema": schema}]}}

    result = look(server(listing, capabilities={"tools": {}}), "--tool", "find_tools")

    assert (result.exit_code, result.stdout.startswith(NOT_OFFERED)) == (4, True)


FASTMCP = """
from fastmcp import FastMCP
from fastmcp.server.transforms.search import BM25SearchTransform
server = FastMCP("desk")
server.tool(name="list_repos", description="List repositories.")(lambda: "none")
server.add_transform(BM25SearchTransform())
server.run(transport="stdio", show_banner=False)
"""


@pytest.mark.proof
@pytest.mark.parametrize(
    ("options", "exit_code", "start"),
    [
        ([], 4, NOT_OFFERED),
        (["--query", "repositories"], 4, NOT_OFFERED),
        (["--expect", "locks.toml"], 1, "FR-014.described: neither the description"),
    ],
)
def test_a_search_that_never_claims_the_feature_is_not_accused(
    options: list[str], exit_code: int, start: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FastMCP's search ends the run with 4; with --expect, which claims the feature, with 1."""
    monkeypatch.chdir(tmp_path)
    Path("locks.toml").write_text('"desk:drop_repo" = "disabled_by_user"\n', encoding="utf-8")
    Path("server.py").write_text(FASTMCP, encoding="utf-8")
    place = ["--stdio", f"{sys.executable} server.py", "--answer-timeout", "60"]
    command = ["run", "endpoint", *place, "--tool", "search_tools", "--quiet", *options]

    result = CliRunner().invoke(main, command)

    assert (result.exit_code, result.stdout.startswith(start)) == (exit_code, True)
    assert ("name that with --tool" in result.stdout) == (exit_code == 4)
    report = json.loads(Path("mcp-proxy-conformance-out/report.json").read_bytes())
    failed = [clause["id"] for clause in report["clauses"] if clause["verdict"] == "fail"]
    assert failed == (["FR-014.described"] if exit_code == 1 else [])


def tool(name: str, *texts: str, required: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return an entry of tools/list with string arguments of these names, some of them required."""
    properties = {text: {"type": "string"} for text in texts}
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"name": name, "description": "Does it.", "inputSchema": schema}


@pytest.mark.parametrize(
    ("tools", "repair"),
    [
        ([tool("add"), tool("search_tools", "query")], "give --tool search_tools"),
        ([tool("find", "q"), tool("look", "include_disabled")], "give --tool look"),
        ([tool("add", "a", "b")], "a server that has none is not what this profile judges"),
        ([tool("find_tools", "q"), tool("search", "q")], "others that may: search"),
    ],
)
def test_a_discovery_tool_of_another_name_is_proposed(
    tools: list[dict[str, Any]], repair: str
) -> None:
    """A server without retrieve_tools ends the run with 4; the sentence proposes a tool for --tool.

    If none is likely, it says that the profile does not judge such a server.
    """
    result = look(server({"result": {"tools": tools}}))

    assert (result.exit_code, repair in result.stdout) == (4, True)


@pytest.mark.parametrize(
    ("entry", "options"),
    [
        (tool("retrieve_tools", "words", "where"), ()),
        (tool("retrieve_tools", "q"), ("--query-argument", "search")),
    ],
)
def test_an_argument_that_cannot_be_chosen_is_asked_for(
    entry: dict[str, Any], options: tuple[str, ...]
) -> None:
    """A discovery tool with several string arguments, or without the named one, is exit 2.

    The sentence names --query-argument.
    """
    result = look(server({"result": {"tools": [entry]}}), *options)

    assert (result.exit_code, "with --query-argument" in result.stdout) == (2, True)


LOCKED = [{"name": "wipe", "server": "forge", "status": "disabled_by_config"}]
REMEDIES = {"disabled_by_config": "The operator denies this tool; only the operator can lift it."}
HINT = "1 matching tool is locked; see it with include_disabled=true."


def renamed(disabled: str, remediation: str, note: str) -> Respond:
    """Return a `respond` of an endpoint with one locked tool, `wipe`, and these three member names.

    A search for it has the note, or with the flag the locked section and its remediation.
    """
    properties = {"query": {"type": "string"}, "include_disabled": {"type": "boolean"}}
    tool = {"name": "retrieve_tools", "inputSchema": {"type": "object", "properties": properties}}

    def respond(method: str, message: dict[str, Any]) -> Response:
        """List the discovery tool, or answer its call under the three names."""
        if message.get("method") != "tools/call":
            return server({"result": {"tools": [tool]}}, capabilities={"tools": {}})(
                method, message
            )
        arguments = message["params"].get("arguments", {})
        body: dict[str, Any] = {"tools": []}
        if "wipe" in str(arguments.get("query")):
            is_flagged = arguments.get("include_disabled") is True
            body |= {disabled: LOCKED, remediation: REMEDIES} if is_flagged else {note: HINT}
        return _answer(
            message, {"result": {"content": [{"type": "text", "text": json.dumps(body)}]}}
        )

    return respond


@pytest.mark.parametrize(
    ("names", "member", "shown"),
    [
        (("disabled", "remediation", "hint"), "note", "hint"),
        (("disabled", "fixes", "notice"), "remediation", "fixes"),
        (("locked", "remediation", "notice"), "disabled", "locked"),
    ],
)
def test_a_member_of_another_name_is_asked_for(
    names: tuple[str, str, str], member: str, shown: str
) -> None:
    """A section, remediation or note under another name than the usual ends the run with 2.

    The sentence names the key to set in a target file.
    """
    result = look(renamed(*names), "--query", "wipe", "--rate", "1000", "--wire", "handshake")

    assert (result.exit_code, f"but {shown!r} holds what it is for" in result.stdout) == (2, True)
    assert f"set surface.members.{member} to that name in a target file" in result.stdout
    assert "given with --target-file" in result.stdout


def test_a_target_file_settles_the_name_of_a_member(tmp_path: Path) -> None:
    """With a target file that names the member of the note, FR-009.note passes."""
    file = tmp_path / "target.toml"
    file.write_text('[surface.members]\nnote = "hint"\n', encoding="utf-8")
    told = renamed("disabled", "remediation", "hint")
    with serving(told) as url:
        place = ["--url", url, "--out", str(tmp_path / "out"), "--target-file", str(file)]
        options = ["--query", "wipe", "--rate", "1000", "--wire", "handshake"]
        result = CliRunner().invoke(main, ["run", "endpoint", *place, *options])

    report = json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))
    verdicts = {clause["id"]: clause["verdict"] for clause in report["clauses"]}
    assert verdicts["FR-009.note"] == "pass", result.stdout
