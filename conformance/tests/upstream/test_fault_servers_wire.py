"""Each fault of a request, observed on a raw socket: its bytes, and the end of the connection."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from typing import Any
from urllib.parse import urlsplit

import pytest

from mcp_proxy_conformance.upstream.faults import FaultServers, read_scripts

JSON_200 = "200 application/json"
HEALTHY = [{"do": "healthy"}]


def call(method: str, **params: Any) -> bytes:
    """Return a JSON-RPC message as bytes, with id 7 unless it is a notification."""
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
    if not method.startswith("notifications/"):
        message["id"] = 7
    return json.dumps(message).encode()


INITIALIZE = call("initialize", protocolVersion="2025-11-25")


def exchange(url: str, message: bytes, patience: float = 5.0) -> tuple[bytes, str]:
    """POST the message to the URL; return (bytes of the answer, how the connection ended).

    The end is `fin`, `rst`, or `open` if nothing more came for `patience` seconds.
    """
    place, got = urlsplit(url), b""
    head = f"POST {place.path} HTTP/1.1\r\nContent-Length: {len(message)}\r\nConnection: close"
    with socket.create_connection((place.hostname, place.port), timeout=patience) as sock:
        sock.sendall(head.encode() + b"\r\n\r\n" + message)
        try:
            while chunk := sock.recv(1 << 16):
                got += chunk
        except ConnectionResetError:
            return got, "rst"
        except TimeoutError:
            return got, "open"
    return got, "fin"


def parts(raw: bytes) -> tuple[str, dict[str, str], bytes]:
    """Return (status and media type, headers by lower-case name, body) of an HTTP response."""
    head, _, body = raw.partition(b"\r\n\r\n")
    line, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (x.partition(":") for x in lines)}
    return f"{line.split()[1]} {headers.get('content-type', '')}".strip(), headers, body


def server_of(played: dict[str, Any]) -> FaultServers:
    """Return a load, not started, of one server `a` with a tool `add` that plays this behaviour."""
    return FaultServers(read_scripts([{"server_id": "a", "tools": ["add"], "script": [played]}]))


def answer_of(played: dict[str, Any], message: bytes = INITIALIZE) -> tuple[bytes, str]:
    """Return (bytes of the answer, `fin`, `rst` or `open`) of one request to a server.

    The server plays this behaviour; by default the request is `initialize`.
    """
    with server_of(played) as servers:
        return exchange(servers.url("a"), message)


@pytest.mark.parametrize(("word", "end"), [("close", "fin"), ("reset", "rst")])
def test_no_byte_comes_before_the_connection_ends(word: str, end: str) -> None:
    """`close` and `reset` send no byte, and end the connection by FIN and by RST."""
    assert answer_of({"do": word}) == (b"", end)


def test_silence_is_silent_and_stays_open() -> None:
    """A `silence` server sends no byte in 0.3 s and leaves the connection open.

    The log has the request's method and id, and None as its status.
    """
    with server_of({"do": "silence"}) as servers:
        got = exchange(servers.url("a"), INITIALIZE, patience=0.3)
        (entry,) = servers.log("a")

    assert got == (b"", "open")
    assert (entry.method, entry.id, entry.played, entry.status) == (
        "initialize",
        7,
        "silence",
        None,
    )


@pytest.mark.parametrize("by", ["fin", "rst"])
@pytest.mark.parametrize("on", ["initialize", "notifications/initialized", "tools/list"])
def test_json_is_cut_inside_its_body(on: str, by: str) -> None:
    """`cut_json` on each method sends some bytes, fewer than announced, then ends by FIN or RST."""
    with server_of({"do": "cut_json", "by": by, "on": on}) as servers:
        exchange(servers.url("a"), INITIALIZE)
        raw, end = exchange(servers.url("a"), call(on))
    kind, headers, body = parts(raw)

    assert (kind, end) == (JSON_200, by)
    assert 0 < len(body) < int(headers["content-length"])


@pytest.mark.parametrize("by", ["fin", "rst"])
@pytest.mark.parametrize("where", ["before", "inside"])
def test_a_stream_is_cut_before_or_inside_its_first_event(where: str, by: str) -> None:
    """`cut_sse` sends a chunked stream without a whole event or last chunk.

    Cut `inside`, the event has begun; it ends by FIN or RST.
    """
    raw, end = answer_of({"do": "cut_sse", "where": where, "by": by})
    kind, headers, body = parts(raw)

    assert (kind, headers["transfer-encoding"], end) == ("200 text/event-stream", "chunked", by)
    assert (b"data: {" in body, b"\n\n" in body, b"0\r\n\r\n" in body) == (
        where == "inside",
        False,
        False,
    )


def grown(played: dict[str, Any], seconds: float = 0.2) -> tuple[bytes, bytes]:
    """Return (bytes of the answer within `seconds`, further ones within as many again).

    The server plays this behaviour; the request is `initialize`.
    """
    with server_of(played) as servers:
        place = urlsplit(servers.url("a"))
        head = f"POST {place.path} HTTP/1.1\r\nContent-Length: {len(INITIALIZE)}\r\n\r\n"
        with socket.create_connection((place.hostname, place.port), timeout=5.0) as sock:
            sock.sendall(head.encode() + INITIALIZE)
            time.sleep(seconds)
            first = sock.recv(1 << 16)
            time.sleep(seconds)
            sock.setblocking(False)
            try:
                return first, sock.recv(1 << 16)
            except BlockingIOError:
                return first, b""


@pytest.mark.parametrize(
    ("played", "crumb"),
    [
        ({"do": "cut_json"}, b" "),
        ({"do": "cut_sse"}, b"1\r\n \r\n"),
        ({"do": "cut_sse", "where": "before"}, b"3\r\n:\n\n\r\n"),
    ],
)
def test_an_answer_breaks_off_on_an_open_connection(played: dict[str, Any], crumb: bytes) -> None:
    """A cut answer that ends in `silence` gets no further byte; in `drip` it gets fillers only.

    Both have begun as a 200.
    """
    begun, more = grown(played | {"by": "silence"})
    dripped, crumbs = grown(played | {"by": "drip"})

    assert (begun[:15], dripped[:15]) == (b"HTTP/1.1 200 OK", b"HTTP/1.1 200 OK")
    assert more == b""
    assert (crumbs != b"", crumbs.replace(crumb, b"")) == (True, b"")


def test_a_stream_holds_the_right_answer() -> None:
    """`stream` sends the right answer to `initialize` as the one event of a stream."""
    raw, end = answer_of({"do": "stream"})
    kind, _, body = parts(raw)
    _, _, data = body.strip().partition(b"\ndata: ")

    assert (kind, end) == ("200 text/event-stream", "fin")
    assert json.loads(data)["result"]["protocolVersion"] == "2025-11-25"


def test_pages_are_as_long_as_the_script_says() -> None:
    """With `page_size` 1 the first page has one tool and a cursor."""
    script = {"server_id": "a", "tools": ["add", "sort"], "page_size": 1, "script": HEALTHY}
    with FaultServers(read_scripts([script])) as servers:
        raw, _ = exchange(servers.url("a"), call("tools/list"))
    page = json.loads(parts(raw)[2])["result"]

    assert [tool["name"] for tool in page["tools"]] == ["add"]
    assert page["nextCursor"]


def test_a_later_page_fails_by_itself() -> None:
    """A fault on `later page` leaves the first page healthy, and fails the page of a cursor.

    The log marks the request with a cursor as paged.
    """
    played = {"do": "status", "code": 503, "on": "later page"}
    script = {"server_id": "a", "tools": ["add", "sort"], "page_size": 1, "script": [played]}
    with FaultServers(read_scripts([script])) as servers:
        raw, _ = exchange(servers.url("a"), call("tools/list"))
        cursor = json.loads(parts(raw)[2])["result"]["nextCursor"]
        later, _ = exchange(servers.url("a"), call("tools/list", cursor=cursor))
        paged = [(entry.paged, entry.played) for entry in servers.log("a")]

    assert parts(later)[0][:3] == "503"
    assert paged == [(False, "healthy"), (True, "status")]


@pytest.mark.parametrize(
    ("params", "methods"),
    [
        ({}, ["notifications/message", None]),
        (
            {"_meta": {"progressToken": 3}},
            ["notifications/message", "notifications/progress", None],
        ),
        ({"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}, [None]),
    ],
    ids=["plain", "with progress", "stateless"],
)
def test_a_stream_has_the_notifications_that_are_allowed_before_the_answer(
    params: dict[str, Any], methods: list[str | None]
) -> None:
    """`after` puts log and progress notifications before the answer, where they are allowed.

    Progress needs a token, and a stateless request gets no log messages.
    """
    played = {"do": "stream", "on": "any", "after": ["log", "progress"]}
    raw, _ = answer_of(played, call("tools/list", **params))
    events = parts(raw)[2].strip().split(b"\n\n")
    messages = [json.loads(event.partition(b"\ndata: ")[2]) for event in events]

    assert [message.get("method") for message in messages] == methods
    assert messages[-1]["id"] == 7


def test_a_server_that_logs_says_so() -> None:
    """A server whose script sends log messages declares the capability `logging`."""
    raw, _ = answer_of({"do": "stream", "on": "tools/list", "after": ["log"]})

    assert "logging" in json.loads(parts(raw)[2])["result"]["capabilities"]


def test_many_threads_may_read_scripts_at_once() -> None:
    """Twelve threads that read scripts at once do not crash the interpreter, in three processes."""
    code = (
        "import sys, threading; sys.setswitchinterval(1e-6)\n"
        "from mcp_proxy_conformance.upstream.faults import read_scripts\n"
        "one = {'server_id': 'a', 'script': [{'do': 'status', 'code': 503}]}\n"
        "start = threading.Barrier(12)\n"
        "go = lambda: (start.wait(), read_scripts([one]))\n"
        "crew = [threading.Thread(target=go) for _ in range(12)]\n"
        "[one.start() for one in crew], [one.join() for one in crew]\n"
    )

    ended = [subprocess.run([sys.executable, "-c", code], check=False) for _ in range(3)]

    assert [process.returncode for process in ended] == [0, 0, 0]


@pytest.mark.parametrize(
    ("played", "kind", "start"),
    [
        ({"do": "html"}, "200 text/html", b"<!doctype html>"),
        ({"do": "broken_json"}, JSON_200, b'{"jsonrpc"'),
        ({"do": "empty"}, JSON_200, b""),
        ({"do": "status", "code": 404}, "404", b""),
        ({"do": "status", "code": 451, "body": "no"}, "451 text/plain; charset=utf-8", b"no"),
        ({"do": "status", "code": 599}, "599", b""),
        (
            {"do": "status", "code": 403, "body": "{}", "headers": {"Content-type": "x/y"}},
            "403 x/y",
            b"{}",
        ),
    ],
)
def test_a_wrong_answer_is_whole(played: dict[str, Any], kind: str, start: bytes) -> None:
    """A scripted wrong answer comes whole: status, media type, body and its announced length."""
    raw, end = answer_of(played)
    status_and_type, headers, body = parts(raw)

    assert (status_and_type, end, int(headers["content-length"])) == (kind, "fin", len(body))
    assert body[: len(start) or None] == start


def test_broken_json_is_not_json() -> None:
    """The body of `broken_json` cannot be parsed as JSON."""
    with pytest.raises(json.JSONDecodeError):
        json.loads(parts(answer_of({"do": "broken_json"})[0])[2])


def test_a_json_rpc_error_answers_the_request() -> None:
    """`jsonrpc_error` answers the request's id with the scripted code and message."""
    raw, _ = answer_of({"do": "jsonrpc_error", "code": -32001, "message": "not now"})

    assert json.loads(parts(raw)[2]) == {
        "jsonrpc": "2.0",
        "id": 7,
        "error": {"code": -32001, "message": "not now"},
    }


def test_another_result_answers_the_request() -> None:
    """`result` answers the request's id with the scripted result, of whatever form."""
    raw, _ = answer_of({"do": "result", "result": {"tools": [17]}})

    assert json.loads(parts(raw)[2]) == {"jsonrpc": "2.0", "id": 7, "result": {"tools": [17]}}


def test_a_slow_answer_is_right_and_late() -> None:
    """`slow` sends the right answer, not before its 0.2 s are over."""
    began = time.monotonic()
    raw, _ = answer_of({"do": "slow", "seconds": 0.2})

    assert time.monotonic() - began >= 0.2
    assert "result" in json.loads(parts(raw)[2])


@pytest.mark.parametrize("on", ["initialize", "notifications/initialized", "tools/list", "any"])
def test_a_behaviour_meets_its_request_and_no_other(on: str) -> None:
    """A behaviour `on` a method fails requests of that method; all others get a healthy answer.

    On `any` it fails all.
    """
    methods = ["initialize", "notifications/initialized", "tools/list"]
    with server_of({"do": "status", "code": 500, "on": on}) as servers:
        codes = [parts(exchange(servers.url("a"), call(name))[0])[0][:3] for name in methods]
        played = [entry.played for entry in servers.log("a")]

    hit = [on in (name, "any") for name in methods]
    right = ["200", "202", "200"]
    assert codes == ["500" if bad else code for bad, code in zip(hit, right, strict=True)]
    assert played == ["status" if bad else "healthy" for bad in hit]


def test_a_redirect_leads_to_a_path_where_all_is_healthy() -> None:
    """A redirect with the scripted status leads to a path that answers well.

    Both requests are logged in the same attempt.
    """
    with server_of({"do": "redirect", "code": 308, "on": "any"}) as servers:
        first, headers, _ = parts(exchange(servers.url("a"), INITIALIZE)[0])
        second, _, body = parts(exchange(headers["location"], INITIALIZE)[0])
        entries = [(entry.attempt, entry.played) for entry in servers.log("a")]

    assert (first, second, json.loads(body)["id"]) == ("308", JSON_200, 7)
    assert (entries, servers.attempts("a")) == ([(1, "redirect"), (1, "healthy")], 1)


def test_a_redirect_leads_to_nothing() -> None:
    """A redirect to `missing path` leads to a 404, and adds no attempt."""
    with server_of({"do": "redirect", "to": "missing path", "on": "any"}) as servers:
        _, headers, _ = parts(exchange(servers.url("a"), INITIALIZE)[0])
        second = parts(exchange(headers["location"], INITIALIZE)[0])[0]

    assert (second, servers.attempts("a")) == ("404", 1)


def test_a_redirect_leads_to_another_server() -> None:
    """A redirect to another server leads to that server's URL, where the request is an attempt.

    Each of the two counts one.
    """
    script = [{"do": "redirect", "to": "b"}]
    with FaultServers(
        read_scripts(
            [
                {"server_id": "a", "script": script},
                {"server_id": "b", "script": [{"do": "healthy"}]},
            ]
        )
    ) as servers:
        _, headers, _ = parts(exchange(servers.url("a"), INITIALIZE)[0])
        exchange(headers["location"], INITIALIZE)

    assert headers["location"] == servers.url("b")
    assert (servers.attempts("a"), servers.attempts("b")) == (1, 1)


def test_a_healthy_server_lists_its_tools_in_both_eras() -> None:
    """A healthy server lists its tool to a client of the handshake and to a stateless one.

    Only the stateless answer has a `resultType`; `initialize` gets a session id.
    """
    meta = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}
    with server_of({"do": "healthy"}) as servers:
        _, headers, _ = parts(exchange(servers.url("a"), INITIALIZE)[0])
        raws = [exchange(servers.url("a"), call("tools/list", **more))[0] for more in ({}, meta)]
        results = [json.loads(parts(raw)[2])["result"] for raw in raws]

    assert headers["mcp-session-id"].startswith(servers.token("a"))
    assert [[tool["name"] for tool in result["tools"]] for result in results] == [["add"]] * 2
    assert [result.get("resultType") for result in results] == [None, "complete"]
