"""The HTTP client on scripted servers: both wires, transcript, sessions, errors, siblings."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from mcp_proxy_conformance.upstream import Upstreams, UpstreamServer, UpstreamTool
from mcp_proxy_conformance.wire import Client, ProtocolFault, Unreachable
from mcp_proxy_conformance.wire.conversation import ServerInfo
from mcp_proxy_conformance.wire.transcript import Transcript

if TYPE_CHECKING:
    from collections.abc import Iterator

TOOLS = [UpstreamTool(name=f"tool_{i}", description="caf\u00e9") for i in range(5)]


@pytest.fixture(scope="module")
def upstreams() -> Iterator[Upstreams]:
    """Yield a running hub that serves the scripted servers of all tests in this file."""
    with Upstreams(Transcript()) as running:
        yield running


@pytest.fixture
def forge(upstreams: Upstreams) -> UpstreamServer:
    """Return a started server `forge` of five tools, listed in three pages of two at most."""
    return upstreams.add(UpstreamServer("forge", TOOLS, page_size=2))


@pytest.mark.parametrize(
    ("wire", "spoken"),
    [
        ("auto", "handshake 2025-11-25 (http)"),
        ("handshake", "handshake 2025-11-25 (http)"),
        ("stateless", "stateless 2026-07-28 (http)"),
    ],
)
def test_either_wire_lists_and_calls(forge: UpstreamServer, wire: str, spoken: str) -> None:
    """On each wire a client lists five tools in three pages, and a call reaches the server once.

    `exact` is the result's bytes with the text's literal decoded, `frame` with it emptied.
    """
    with Client(forge.url, transcript=Transcript(), wire=wire) as client:  # type: ignore[arg-type]
        names = [tool["name"] for tool in client.tools()]
        reply = client.call_tool("tool_1", {"x": 1})

        assert client.wire == spoken
        assert client.server == ServerInfo("forge", "1")
    assert names == [tool.name for tool in TOOLS]
    assert (reply.text, reply.document, reply.is_error, reply.structured) == (
        "ok tool_1",
        b"ok tool_1",
        False,
        None,
    )
    assert reply.exact == reply.result.replace(b'"ok tool_1"', b"ok tool_1")
    assert reply.frame == reply.result.replace(b'"ok tool_1"', b'""')
    assert forge.calls("tool_1") == forge.calls() == 1
    assert forge.lists == 3


def test_a_stateless_only_server_is_found_out(upstreams: Upstreams) -> None:
    """At a stateless-only server an `auto` client turns to that wire and has no session.

    A client of the handshake raises ProtocolFault on opening.
    """
    server = upstreams.add(UpstreamServer("modern", TOOLS, eras="stateless"))

    with Client(server.url, transcript=Transcript()) as client:
        client.open()

        assert client.wire == "stateless 2026-07-28 (http)"
        assert client.session is None
    with pytest.raises(ProtocolFault, match="a successful handshake"):
        Client(server.url, transcript=Transcript(), wire="handshake").open()


def test_a_handshake_only_server_refuses_the_other_wire(upstreams: Upstreams) -> None:
    """A stateless client raises ProtocolFault on opening a server that knows only the handshake."""
    server = upstreams.add(UpstreamServer("old", TOOLS, eras="handshake"))

    with pytest.raises(ProtocolFault, match="a successful handshake"):
        Client(server.url, transcript=Transcript(), wire="stateless").open()


def test_both_edges_are_in_the_transcript() -> None:
    """A call straight to an upstream is recorded four times: sent and received at both edges.

    The bytes are equal at both edges. Notes of the client have method, path, and status or call.
    """
    transcript = Transcript()
    with (
        Upstreams(transcript) as own,
        Client(own.add(UpstreamServer("forge", TOOLS)).url, transcript=transcript) as client,
    ):
        client.open()
        mark = transcript.mark()
        reply = client.call_tool("tool_2")

    messages = transcript.since(mark)[:4]
    assert [(m.edge, m.direction, m.peer) for m in sorted(messages, key=lambda m: m.edge)] == [
        ("client", "sent", client.url),
        ("client", "received", client.url),
        ("upstream", "received", "forge"),
        ("upstream", "sent", "forge"),
    ]
    assert {m.raw for m in messages} == {reply.sent.raw, reply.received.raw}
    assert reply.sent.note == "POST /mcp tools/call"
    assert reply.received.note == "POST /mcp 200 application/json"


def test_a_session_is_kept_and_given_back(upstreams: Upstreams) -> None:
    """After `initialize`, each request has the session's id, the revision and the client's headers.

    `close` sends a DELETE with them, and the client is unopened again.
    """
    transcript = Transcript()
    server = upstreams.add(UpstreamServer("forge", TOOLS))
    client = Client(server.url, transcript=transcript, headers={"Authorization": "Bearer x"})

    client.request("ping")
    session = client.session
    client.close()

    sent = [m for m in transcript.since(0) if m.direction == "sent"]
    assert [m.note.split()[-1] for m in sent] == [
        "initialize",
        "notifications/initialized",
        "ping",
        "/mcp",
    ]
    assert session is not None
    for message in sent[1:]:
        headers = dict(message.headers)
        assert headers["Mcp-Session-Id"] == session
        assert headers["MCP-Protocol-Version"] == "2025-11-25"
        assert headers["Authorization"] == "Bearer x"
    assert client.wire == "unopened"


def test_a_json_rpc_error_is_a_value(forge: UpstreamServer) -> None:
    """A JSON-RPC error is returned as the reply's `error`: HTTP 200 by handshake, 404 stateless.

    Only reading the `text` of such a reply raises ProtocolFault.
    """
    statuses = []
    for wire in ("handshake", "stateless"):
        with Client(forge.url, transcript=Transcript(), wire=wire) as client:
            reply = client.request("no/such")
            unknown = client.call_tool("nobody")
        assert reply.error == {"code": -32601, "message": "Method not found"}
        assert unknown.error is not None
        with pytest.raises(ProtocolFault, match="a result"):
            _ = unknown.text
        statuses.append(reply.status)

    assert statuses == [200, 404]
    assert forge.calls("nobody") == 2


def test_raw_params_arrive_byte_for_byte(forge: UpstreamServer) -> None:
    """`raw_params` are sent unchanged, even with spellings that no serialiser writes."""
    params = b'{ "name" : "tool_0","arguments":{"n":1.0e0,"n":2} }'
    with Client(forge.url, transcript=Transcript()) as client:
        reply = client.request("tools/call", raw_params=params)

    assert params in reply.sent.raw
    assert reply.error is None


def test_any_body_can_be_posted(forge: UpstreamServer) -> None:
    """`post` sends invalid bytes with another Content-Type, and returns the 400 and its error.

    A tool call in the same session is answered after that.
    """
    with Client(forge.url, transcript=Transcript()) as client:
        answer = client.post(b"{nonsense", headers={"content-type": "text/plain"})
        again = client.call_tool("tool_0")

    assert answer.status == 400
    assert b"-32700" in answer.body
    assert ("content-type", "text/plain") in answer.sent.headers
    assert again.text == "ok tool_0"


def test_a_sibling_has_a_session_of_its_own(forge: UpstreamServer) -> None:
    """Eight siblings of a client that call ten times each, from threads, have eight sessions.

    All eighty calls arrive, and the original client stays unopened.
    """
    first = Client(forge.url, transcript=Transcript(), timeout=5)
    siblings = [first.sibling() for _ in range(8)]

    def work(client: Client) -> None:
        """Call `tool_3` ten times with this client."""
        for _ in range(10):
            client.call_tool("tool_3")

    threads = [threading.Thread(target=work, args=(client,)) for client in siblings]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len({client.session for client in siblings}) == 8
    assert forge.calls("tool_3") == 80
    assert first.wire == "unopened"
    for client in siblings:
        client.close()


def test_a_closed_port_is_unreachable(upstreams: Upstreams) -> None:
    """After its server is removed, an open client and its sibling raise Unreachable on a call.

    The phase is `connect`, the reason that the connection was refused.
    """
    server = upstreams.add(UpstreamServer("gone", TOOLS))
    client = Client(server.url, transcript=Transcript())
    client.open()
    upstreams.remove(server)

    for attempt in (client, client.sibling()):
        with pytest.raises(Unreachable, match="refused while connecting") as caught:
            attempt.call_tool("tool_0")
        assert caught.value.phase == "connect"
    client.close()


def test_headers_and_urls_that_http_cannot_carry_are_refused() -> None:
    """Client() raises ValueError for a header with a line break or control, or an unusable URL."""
    for headers in ({"X": "a\r\nB: c"}, {"X": "\u2028"}, {"a\nb": ""}):
        with pytest.raises(ValueError, match="cannot carry"):
            Client("http://127.0.0.1:1/", transcript=Transcript(), headers=headers)
    for url in ("ftp://x/", "http:///mcp", "http://127.0.0.1/a b", "http://127.0.0.1/\u00e9"):
        with pytest.raises(ValueError, match=r"URL|URI|header"):
            Client(url, transcript=Transcript())
