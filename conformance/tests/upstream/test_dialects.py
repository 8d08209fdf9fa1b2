"""The wire dialect: its table, the bytes of each value, and answers that a client can read."""

from __future__ import annotations

import gzip
import subprocess
from typing import Any, get_args, get_type_hints

import httpx2
import msgspec
import pytest

from mcp_proxy_conformance.upstream.dialect import PLAIN, Dialect, Right, table, worn
from mcp_proxy_conformance.upstream.faults import FaultServers, read_scripts
from mcp_proxy_conformance.upstream.script import Scripted
from mcp_proxy_conformance.wire.client import Client
from mcp_proxy_conformance.wire.transcript import Transcript

BODY = '{"jsonrpc":"2.0","id":7,"result":{"tools":[{"name":"é/"}]}}'.encode()
RIGHT = Right(
    answer=Scripted(method="tools/list", body=BODY),
    id=7,
    progress=3,
    accepts="br, gzip;q=0.5",
    is_latest=True,
    lists=True,
)
EVENT = b"event: message\ndata: " + BODY + b"\n\n"
SEVERAL = (
    b'event: message\ndata: {\ndata: "jsonrpc":\ndata: "2.0",\ndata: "id":\ndata: 7,\n'
    b'data: "result":\ndata: {\ndata: "tools":\ndata: [\ndata: {\ndata: "name":\n'
    b'data: "\xc3\xa9/"}]}}\n\n'
)
BODIES: dict[tuple[str, str], bytes] = {
    ("framing", "json"): BODY,
    ("framing", "stream"): EVENT,
    ("framing", "crlf"): SEVERAL.replace(b"\n", b"\r\n"),
    ("framing", "cr"): EVENT.replace(b"\n", b"\r") + b":\r",
    ("framing", "several-data"): SEVERAL,
    ("framing", "no-space"): b"event:message\ndata:" + BODY + b"\n\n",
    ("framing", "no-event"): b"data: " + BODY + b"\n\n",
    ("framing", "comments"): b": before\n\n:\n" + EVENT[:-1] + b": inside\n\n",
    ("framing", "ids"): b"event: message\nid: 1\nretry: 1000\ndata: " + BODY + b"\n\n",
    ("framing", "primed"): b"id: 0\ndata:\n\n" + EVENT,
    ("framing", "bom"): b"\xef\xbb\xbf" + EVENT,
    ("framing", "fields"): (
        b"note: of no meaning\nlonely\ndata: " + BODY + b"\nevent: message\n\n"
    ),
    ("body", "extensions"): (
        b'0008;note="a;b"\r\n{"jsonrp\r\n0008;note="a;b"\r\nc":"2.0"\r\n'
        b'0008;note="a;b"\r\n,"id":7,\r\n0008;note="a;b"\r\n"result"\r\n'
        b'0008;note="a;b"\r\n:{"tools\r\n0008;note="a;b"\r\n":[{"nam\r\n'
        b'0008;note="a;b"\r\ne":"\xc3\xa9/"\r\n0004;note="a;b"\r\n}]}}\r\n'
        b'0;note="a;b"\r\nServer-Timing: total;dur=1\r\n\r\n'
    ),
    ("body", "split"): (
        b'8\r\n{"jsonrp\r\n8\r\nc":"2.0"\r\n8\r\n,"id":7,\r\n8\r\n"result"\r\n8\r\n:{"tools\r\n'
        b'd\r\n":[{"name":"\xc3\r\n3\r\n\xa9/"\r\n4\r\n}]}}\r\n0\r\n\r\n'
    ),
    ("body", "close"): BODY,
    ("body", "segments"): BODY,
    ("before", "log"): (
        b'event: message\ndata: {"jsonrpc":"2.0","method":"notifications/message",'
        b'"params":{"level":"info","data":"starting"}}\n\n' + EVENT
    ),
    ("before", "ping"): (
        b'event: message\ndata: {"jsonrpc":"2.0","id":"server/7","method":"ping"}\n\n' + EVENT
    ),
    ("before", "same-id"): (
        b'event: message\ndata: {"jsonrpc":"2.0","id":7,"method":"ping"}\n\n' + EVENT
    ),
    ("before", "changed"): (
        b'event: message\ndata: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n'
        + EVENT
    ),
    ("form", "escapes"): BODY.replace(b"\xc3\xa9/", rb"\u00e9\/"),
    ("form", "order"): b'{"result":{"tools":[{"name":"\xc3\xa9/"}]},"id":7,"jsonrpc":"2.0"}',
    ("form", "extra"): (
        b'{"jsonrpc":"2.0","id":7,"result":{"tools":[{"name":"\xc3\xa9/",'
        b'"_meta":{"example.com/note":[null]},"x-unknown":{"deep":[true]},'
        b'"Name":"none","NextCursor":"none","Tools":[]}],'
        b'"_meta":{"example.com/note":[null]},"x-unknown":{"deep":[true]},'
        b'"Name":"none","NextCursor":"none","Tools":[]}}'
    ),
    ("form", "numbers"): BODY[:-2]
    + b',"_meta":{"example.com/numbers":[1E2,-0.0,1.5e-7,12345678901234567890]}}}',
    ("coding", "gzip"): gzip.compress(BODY, 1, mtime=0),
}
HEADS = {
    ("head", "plain"): b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 60",
    ("head", "charset"): (
        b'HTTP/1.1 200 OK\r\nContent-Type: application/json; charset="UTF-8"\r\nContent-Length: 60'
    ),
    ("head", "case"): (b"HTTP/1.1 200 OK\r\ncONTENT-tYPE: Application/Json\r\ncONTENT-lENGTH: 60"),
    ("head", "bare"): b"HTTP/1.1 200 \r\nContent-Type:application/json \r\nContent-Length:60 ",
    ("head", "interim"): (
        b"HTTP/1.1 102 Processing\r\n\r\n"
        b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload"
    ),
    ("body", "old"): b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\nContent-Length: 60",
    ("body", "close"): b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close",
}
EVERY = [(dimension, value) for dimension, rows in table().items() for value in rows]


def of(dimension: str, value: str) -> Dialect:
    """Return the dialect that has this value, and else defaults."""
    return msgspec.convert({dimension: value}, Dialect)


def test_the_table_explains_the_values_of_a_dialect() -> None:
    """Table and `Dialect` have the same dimensions and values; the first of each is the default."""
    hints = get_type_hints(Dialect)

    assert {name: set(rows) for name, rows in table().items()} == {
        name: set(get_args(hint)) for name, hint in hints.items()
    }
    assert (
        msgspec.convert({name: next(iter(rows)) for name, rows in table().items()}, Dialect)
        == PLAIN
    )


@pytest.mark.parametrize("value", BODIES, ids=" ".join)
def test_a_body_has_the_bytes_of_its_dialect(value: tuple[str, str]) -> None:
    """The bytes after the head are those of the value's sentence."""
    sent = b"".join(worn(RIGHT, of(*value)).pieces)

    assert sent.partition(b"\r\n\r\n")[2] == BODIES[value]


@pytest.mark.parametrize("value", HEADS, ids=" ".join)
def test_a_head_has_the_bytes_of_its_dialect(value: tuple[str, str]) -> None:
    """The bytes of the first heads are those of the value's sentence."""
    sent = b"".join(worn(RIGHT, of(*value)).pieces)

    assert sent.startswith(HEADS[value] + b"\r\n\r\n")


@pytest.mark.parametrize(
    "accepts", ["", "br", "gzip;q=0", "gzip; q=0.000, *", "identity, *;q=0", "x"]
)
def test_nothing_is_compressed_unasked(accepts: str) -> None:
    """A body is plain unless Accept-Encoding allows gzip."""
    right = Right(answer=RIGHT.answer, accepts=accepts)

    assert worn(right, of("coding", "gzip")) == worn(right, PLAIN)


ANSWERABLE = [value for value in EVERY if value != ("before", "awaited")]
"""The values without the one for which a client must answer; the project's own does not."""


@pytest.mark.parametrize("value", ANSWERABLE, ids=" ".join)
def test_an_answer_in_any_dialect_can_be_read(value: tuple[str, str]) -> None:
    """The project's own client lists the tools and reads the description, over two pages."""
    script = {"server_id": "a", "tools": ["add", "sort"], "page_size": 1,
              "script": [{"do": "healthy"}], "dialect": dict([value])}  # fmt: skip
    with (
        FaultServers(read_scripts([script])) as servers,
        Client(servers.url("a"), transcript=Transcript()) as client,
    ):
        tools = [(tool["name"], tool["description"]) for tool in client.tools()]

    assert tools == [("add", of(*value).description), ("sort", "")]


def test_tools_are_gone_once_no_attempt_fails() -> None:
    """An attempt that is not healthy lists further tools, before those that stay."""
    steps = [{"do": "status", "code": 503, "on": "later page"}, {"do": "healthy"}]
    script = {"server_id": "a", "tools": ["add"], "gone": ["old"], "script": steps}
    listed = []
    with FaultServers(read_scripts([script])) as servers:
        for _ in range(2):
            with Client(servers.url("a"), transcript=Transcript()) as client:
                listed.append([tool["name"] for tool in client.tools()])

    assert listed == [["old", "add"], ["add"]]


def test_a_cursor_of_an_attempt_that_failed_is_unknown_in_the_next() -> None:
    """Cursors are of one session: who goes on with an old one gets no page."""
    steps = [{"do": "status", "code": 503, "on": "later page"}, {"do": "healthy"}]
    script = {"server_id": "a", "tools": ["add", "sort"], "page_size": 1, "script": steps}
    said: dict[str, Any] = {}
    with FaultServers(read_scripts([script])) as servers:
        for method in ("initialize", "tools/list") * 2:
            params = {"cursor": said.get("result", {}).get("nextCursor")} if said else {}
            asked = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            answer = httpx2.post(servers.url("a"), json=asked).json()
            said = answer if method == "tools/list" else said

    assert said["error"]["message"] == "Unknown cursor"


def post(url: str, *headers: str, verb: str = "POST", method: str = "ping") -> tuple[int, bytes]:
    """Return status and beginning of the body of a request with these further headers."""
    body = f'{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{}}}}'
    given = dict(each.split(": ") for each in headers)
    with httpx2.stream(verb, url, headers=given, content=body) as response:
        return response.status_code, next(response.iter_bytes(), b"")


def test_a_server_of_an_older_revision_takes_no_other() -> None:
    """It answers initialize with its own revision, and refuses requests in a later one."""
    script = {"server_id": "a", "script": [{"do": "healthy"}], "dialect": {"revision": "older"}}
    with FaultServers(read_scripts([script])) as servers:
        url = servers.url("a")
        greeting = post(url, method="initialize")
        others = [post(url, f"MCP-Protocol-Version: {r}")[0] for r in ("2025-06-18", "2025-11-25")]

    assert (greeting[0], b'"2025-06-18"' in greeting[1]) == (200, True)
    assert others == [200, 400]


@pytest.mark.parametrize(
    ("get", "answer"),
    [("refused", (405, b"")), ("open", (200, b": open\n\n")),
     ("talks", (200, b'event: message\ndata: {"jsonrpc":"2.0","id":"get","method":"ping"}\n\n'))],
)  # fmt: skip
def test_a_get_has_the_answer_of_its_dialect(get: str, answer: tuple[int, bytes]) -> None:
    """It is refused, or a stream that stays open, on which a request may come."""
    script = {"server_id": "a", "script": [{"do": "healthy"}], "dialect": {"get": get}}
    with FaultServers(read_scripts([script])) as servers:
        assert post(servers.url("a"), verb="GET") == answer


@pytest.mark.parametrize("more", [{"path": "a%2Fb"}, {"query": "a=1&b=%20"}, {"slash": True}])
def test_only_the_url_that_was_given_has_a_server(more: dict[str, Any]) -> None:
    """A URL without what makes it odd gets a 404; letter case of its encoding does not matter."""
    script = {"server_id": "a", "script": [{"do": "healthy"}], **more}
    with FaultServers(read_scripts([script])) as servers:
        url = servers.url("a")
        plain = url.replace("/a%2Fb", "").replace("?a=1&b=%20", "").rstrip("/")
        found = [post(each)[0] for each in (url, url.replace("%2F", "%2f"), plain)]

    assert found == [200, 200, 404]


ANSWER = (
    b'{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},'
    b'"serverInfo":{"name":"a","version":"1"}}}'
)
CUT = ANSWER[: len(ANSWER) // 2]


def lines_of(played: dict[str, Any], **dialect: str) -> tuple[bytes, int | None, FaultServers]:
    """Return (output, exit code, servers) of a process that got the lines of `initialize`.

    The exit code is None if it runs on; then its input is closed.
    """
    script = {"server_id": "a", "transport": "stdio", "script": [played], "dialect": dialect}
    with FaultServers(read_scripts([script])) as servers:
        command = servers.connection("a")["command"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdin is not None
            process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"initialize"}\n')
            process.stdin.flush()
            try:
                code = process.wait(1.5)
            except subprocess.TimeoutExpired:
                code = None
            return process.communicate()[0], code, servers


@pytest.mark.parametrize(
    ("played", "printed", "code"),
    [
        ({"do": "stream", "on": "any"}, ANSWER + b"\n", None),
        ({"do": "silence"}, b"", None),
        ({"do": "close"}, b"", 0),
        ({"do": "reset"}, b"", 1),
        ({"do": "cut_json"}, CUT, 0),
        ({"do": "cut_json", "by": "rst"}, CUT, 1),
        ({"do": "cut_json", "by": "silence"}, CUT, None),
        ({"do": "cut_json", "by": "drip"}, CUT, None),
        ({"do": "broken_json"}, b'{"jsonrpc": "2.0", "result": {"tools": [\n', None),
        ({"do": "empty"}, b"\n", None),
        ({"do": "result", "result": 1}, b'{"jsonrpc":"2.0","id":1,"result":1}\n', None),
    ],
)
def test_a_process_fails_as_its_script_says(
    played: dict[str, Any], printed: bytes, code: int | None
) -> None:
    """The process prints and ends as scripted; the line counts as an attempt."""
    output, ended, servers = lines_of(played)

    assert (output.rstrip(b" "), ended) == (printed, code)
    assert [(seen.verb, seen.played, seen.attempt) for seen in servers.log("a")] == [
        ("stdio", played["do"], 1)
    ]


@pytest.mark.parametrize("transport", ["http", "stdio"])
def test_chatter_is_log_messages_without_an_end(transport: str) -> None:
    """A client whose timeout does not begin anew with each message gives up."""
    played = {"do": "chatter"}
    script = {"server_id": "a", "transport": transport, "script": [played]}
    if transport == "stdio":
        output, code, _ = lines_of(played)
        lines = output.splitlines()
    else:
        with (
            FaultServers(read_scripts([script])) as servers,
            httpx2.stream(
                "POST", servers.url("a"), json={"jsonrpc": "2.0", "id": 1, "method": "initialize"}
            ) as response,
        ):
            events = response.iter_lines()
            code, lines = None, [next(events).encode() for _ in range(9)][1::3]

    assert (code, len({*lines})) == (None, 1)
    assert b'"method":"notifications/message"' in lines[0]


def test_a_process_speaks_lines_in_its_dialect() -> None:
    """A ping in the chosen form comes before the answer; each is one line, ended by CR LF."""
    output, _, _ = lines_of({"do": "healthy"}, framing="crlf", before="same-id", form="spaces")
    ping, answer, rest = output.split(b"\r\n")

    assert ping == b'{\t "jsonrpc":\t "2.0",\t "id":\t 1,\t "method":\t "ping"}'
    assert (b"\n" in answer, rest) == (False, b"")
