"""Scripted MCP servers: answers to any request, tools that change, counters, records, shutdown."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from typing import TYPE_CHECKING, Any

import pytest

from mcp_proxy_conformance.upstream import Upstreams, UpstreamServer, UpstreamTool
from mcp_proxy_conformance.upstream.tools import ServerState
from mcp_proxy_conformance.wire import Client
from mcp_proxy_conformance.wire.transcript import Transcript

if TYPE_CHECKING:
    from collections.abc import Iterator

ONE, TWO = UpstreamTool(name="one", description="First."), UpstreamTool(name="two")


@pytest.fixture(scope="module")
def transcript() -> Transcript:
    """Return the transcript of all servers of this file's tests."""
    return Transcript()


@pytest.fixture(scope="module")
def upstreams(transcript: Transcript) -> Iterator[Upstreams]:
    """Yield a running hub that serves the servers of all tests in this file."""
    with Upstreams(transcript) as running:
        yield running


@pytest.fixture
def forge(upstreams: Upstreams) -> UpstreamServer:
    """Return a started server `forge` of the tools `one` and `two`."""
    return upstreams.add(UpstreamServer("forge", [ONE, TWO]))


def ask(server: UpstreamServer, method: str, path: str, body: bytes = b"", **headers: str) -> Any:
    """Send one plain HTTP request to the server; return (status, body) of the answer.

    It must come within 5 s.
    """
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
    try:
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def test_the_methods_that_are_no_post_are_answered(forge: UpstreamServer) -> None:
    """GET is 405, DELETE 200, and any other path 404, whatever the method."""
    assert [
        ask(forge, "GET", "/mcp")[0],
        ask(forge, "DELETE", "/mcp")[0],
        ask(forge, "GET", "/.well-known/oauth-protected-resource")[0],
        ask(forge, "POST", "/", b"{}")[0],
    ] == [405, 200, 404, 404]


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"nonsense", 400, -32700),
        (b"[" * 100_000, 400, -32700),
        (b"[]", 400, -32600),
        (b'{"jsonrpc":"2.0","method":"notifications/x"}', 202, None),
        (b'{"jsonrpc":"2.0","id":1,"result":{}}', 202, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"x/y"}', 200, -32601),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}', 200, -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}', 200, -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":{}}}', 200, -32602),
        (b'{"jsonrpc":"2.0","id":"a","method":"ping"}', 200, None),
    ],
)
def test_every_post_has_an_answer(
    forge: UpstreamServer, body: bytes, status: int, code: int | None
) -> None:
    """Each POST gets its status and JSON-RPC error code.

    A notification or a result an empty 202.
    """
    got, answer = ask(forge, "POST", "/mcp", body)

    assert got == status
    assert (json.loads(answer or b"{}").get("error") or {}).get("code") == code


@pytest.mark.parametrize(
    ("asked", "granted"),
    [("2024-11-05", "2024-11-05"), ("2025-06-18", "2025-06-18"), ("1999-01-01", "2025-11-25")],
)
def test_a_known_revision_is_granted(forge: UpstreamServer, asked: str, granted: str) -> None:
    """`initialize` gets its own revision if known, else the latest of the handshake."""
    params = {"protocolVersion": asked, "capabilities": {}, "clientInfo": {}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})

    _, answer = ask(forge, "POST", "/mcp", body.encode())

    assert json.loads(answer)["result"]["protocolVersion"] == granted


def test_an_unknown_stateless_revision_is_refused_with_the_known_ones(
    forge: UpstreamServer,
) -> None:
    """An unknown stateless revision is HTTP 400 with -32022 and the supported revisions."""
    body = b'{"jsonrpc":"2.0","id":1,"method":"server/discover"}'

    status, answer = ask(forge, "POST", "/mcp", body, **{"MCP-Protocol-Version": "2030-01-01"})

    error = json.loads(answer)["error"]
    assert (status, error["code"]) == (400, -32022)
    assert error["data"]["supported"][-1] == "2026-07-28"


def test_a_chunked_request_is_read(forge: UpstreamServer) -> None:
    """Two chunked requests on one connection, with extension and trailer, both get a 200."""
    body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    request = b"POST /mcp HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    request += b"%x\r\n%b\r\n%x;x=y\r\n%b\r\n0\r\nT: x\r\n\r\n" % (9, body[:9], 31, body[9:])
    with socket.create_connection(("127.0.0.1", forge.port), timeout=5) as sock:
        sock.sendall(request * 2)
        got = b""
        while got.count(b'"result":{}') < 2:
            got += sock.recv(4096)

    assert got.count(b"HTTP/1.1 200 OK") == 2


def test_tools_change_while_it_runs(forge: UpstreamServer) -> None:
    """Changed, added and removed tools show in the next listing, with their annotations.

    A call of a removed tool is an error, and is counted; two listings are counted, too.
    """
    with Client(forge.url, transcript=Transcript()) as client:
        client.tools()
        forge.change_tool("one", description="Changed.", input_schema={"type": "object", "x": 1})
        forge.add_tool(UpstreamTool(name="three", annotations={"readOnlyHint": True}))
        forge.remove_tool("two")
        listed = client.tools()
        refused = client.call_tool("two")

    assert listed == [
        {"name": "one", "description": "Changed.", "inputSchema": {"type": "object", "x": 1}},
        {
            "name": "three",
            "description": "",
            "inputSchema": {"type": "object", "properties": {}},
            "annotations": {"readOnlyHint": True},
        },
    ]
    assert refused.error is not None
    assert (forge.calls("two"), forge.calls("one"), forge.calls(), forge.lists) == (1, 0, 1, 2)


def test_a_change_of_what_is_not_there_names_what_is(forge: UpstreamServer) -> None:
    """Changing or removing an unknown tool raises LookupError, adding a known one ValueError."""
    with pytest.raises(LookupError, match=r"no tool 'six'; it has one, two"):
        forge.change_tool("six", description="")
    with pytest.raises(LookupError):
        forge.remove_tool("six")
    with pytest.raises(ValueError, match="two tools of forge have the same name"):
        forge.add_tool(ONE)


def test_no_tools_are_an_empty_page(upstreams: Upstreams) -> None:
    """A server without tools lists an empty array."""
    server = upstreams.add(UpstreamServer("empty", page_size=3))
    with Client(server.url, transcript=Transcript()) as client:
        assert client.tools() == []


def test_a_page_that_nobody_asked_for_is_known() -> None:
    """`unasked_page` returns the number of the tool's page, if that page was not asked for.

    It is 0 for a tool on a page that was asked for, and before any page was.
    """
    state = ServerState("forge", [UpstreamTool(name="one"), UpstreamTool(name="two")], page_size=1)
    before = state.unasked_page("two")
    state.page(None)
    first = state.unasked_page("one"), state.unasked_page("two")
    state.page("from-1")

    assert (before, first, state.unasked_page("two")) == (0, (0, 2), 0)


def test_a_server_comes_back_at_its_own_port(upstreams: Upstreams, forge: UpstreamServer) -> None:
    """A removed server refuses connections; added again, it answers at its old port."""
    port = forge.port
    upstreams.remove(forge)
    with pytest.raises(ConnectionRefusedError):
        ask(forge, "GET", "/mcp")

    upstreams.add(forge)

    assert (forge.port, ask(forge, "GET", "/mcp")[0]) == (port, 405)


def test_hostile_texts_are_listed_as_they_are(upstreams: Upstreams) -> None:
    """NUL, U+2028, emoji and markup in a description arrive unchanged."""
    text = 'a\0b\u2028\u202e<b>"\U0001f600\\'
    server = upstreams.add(UpstreamServer("hostile", [UpstreamTool(name="x", description=text)]))
    with Client(server.url, transcript=Transcript()) as client:
        assert client.tools()[0]["description"] == text


def test_each_message_is_recorded_under_the_server_s_name(
    forge: UpstreamServer, transcript: Transcript
) -> None:
    """A request and its answer are in the transcript, in order, with the server's name as peer.

    Bytes are exact, the request has its headers, notes have path, and method or status.
    """
    mark = transcript.mark()
    body = b'{"jsonrpc":"2.0", "id":1,"method":"ping"}'

    _, answer = ask(forge, "POST", "/mcp", body, **{"X-Seen": "yes"})

    received, sent = transcript.since(mark)
    assert (received.peer, received.raw, received.note) == ("forge", body, "POST /mcp ping")
    assert ("X-Seen", "yes") in received.headers
    assert (sent.direction, sent.raw, sent.note) == ("sent", answer, "POST /mcp 200")


def test_all_ends_in_silence_with_connections_open(recwarn: pytest.WarningsRecorder) -> None:
    """`close`, twice, with unread answers and half a request, leaves no thread, port or warning."""
    threads = threading.active_count()
    upstreams = Upstreams(Transcript()).start()
    tools = [UpstreamTool(name=f"t{i}", description="x" * 10_000) for i in range(500)]
    servers = [upstreams.add(UpstreamServer(f"s{i}", tools)) for i in range(3)]
    listing = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
    head = b"POST /mcp HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(listing)
    peers = [socket.create_connection(("127.0.0.1", server.port)) for server in servers]
    peers[0].sendall((head + listing) * 3)
    peers[1].sendall(head)

    upstreams.close()
    upstreams.close()

    assert threading.active_count() == threads
    for peer, server in zip(peers, servers, strict=True):
        peer.close()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", server.port))
    assert not recwarn.list


def test_a_server_must_be_added_to_answer() -> None:
    """The URL of a server that was not added, and adding before the start, raise RuntimeError."""
    with pytest.raises(RuntimeError, match="was not added"):
        _ = UpstreamServer("lonely").url
    with pytest.raises(RuntimeError, match="was not started"):
        Upstreams(Transcript()).add(UpstreamServer("early"))


def test_the_advertised_host_may_differ_from_the_bound_one() -> None:
    """A server bound to 127.0.0.1 has `localhost` in its URL if that is advertised."""
    with Upstreams(Transcript(), host="127.0.0.1", advertised_host="localhost") as upstreams:
        server = upstreams.add(UpstreamServer("forge", [ONE]))
        with Client(server.url, transcript=Transcript()) as client:
            assert client.tools()[0]["name"] == "one"

        assert server.url == f"http://localhost:{server.port}/mcp"
