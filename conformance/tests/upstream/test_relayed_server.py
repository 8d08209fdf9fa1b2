"""The server behind relays: it answers by data, is strict about sessions, and keeps a journal."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from mcp_proxy_conformance.upstream.hub import Upstreams
from mcp_proxy_conformance.upstream.relayed import (
    Answer,
    Page,
    Refusing,
    Relayed,
    RelayedServer,
)
from mcp_proxy_conformance.wire import (
    Client,
    ProtocolFault,
    SessionLost,
    StdioClient,
    Unreachable,
)
from mcp_proxy_conformance.wire.transcript import Transcript

A, B, C = (b'{"name":"%s","inputSchema":{"type":"object"}}' % name for name in (b"a", b"b", b"c"))
GIVEN = Relayed(
    pages={None: Page(entries=(A, B), following="next"), "next": Page(entries=(C,))},
    answers={
        "b": Answer(error=b'{"code":-32050,"message":"no","data":[1.0]}'),
        "cut": Answer(act="drop"),
        "one": Answer(result=b'{"content":[],"structuredContent":{"n":1.50}}'),
    },
)


@pytest.fixture
def server() -> Iterator[RelayedServer]:
    """Yield a started server of three tools, a and b on the first page, c on the second."""
    with Upstreams(Transcript()) as hub:
        yield hub.add(RelayedServer("upstream", GIVEN))


@pytest.fixture(params=["http", "stdio"])
def client(request: pytest.FixtureRequest, server: RelayedServer) -> Iterator[Client | StdioClient]:
    """Yield an unopened client of `server`: each test runs over HTTP and over stdio."""
    transcript = Transcript()
    made: Client | StdioClient
    if request.param == "http":
        headers = {"Connection": "close"}  # on a kept connection it would be sent again
        made = Client(server.url, transcript=transcript, headers=headers, wire="handshake")
    else:
        made = StdioClient(server.command, env=dict(os.environ), transcript=transcript)
    with made:
        yield made


def test_it_lists_its_pages_and_answers_by_data(
    server: RelayedServer, client: Client | StdioClient
) -> None:
    """Three tools are listed over two pages; a call is answered by its `case`, else by its tool.

    The journal has both calls.
    """
    names = [tool["name"] for tool in client.tools()]
    by_case = client.call_tool("a", {"case": "one"})
    by_tool = client.call_tool("b")

    assert names == ["a", "b", "c"]
    assert by_case.result == b'{"content":[],"structuredContent":{"n":1.50}}'
    assert by_tool.error == {"code": -32050, "message": "no", "data": [1.0]}
    assert [call.params()["name"] for call in server.journal.calls()] == ["a", "b"]


def test_a_dropped_call_is_executed_and_not_answered(
    server: RelayedServer, client: Client | StdioClient
) -> None:
    """A call with the act `drop` raises Unreachable at the client; the journal has it once."""
    with pytest.raises(Unreachable):
        client.call_tool("a", {"case": "cut"})

    assert len(server.journal.calls(tool="a")) == 1


def test_a_forgotten_session_is_refused_and_not_a_call(server: RelayedServer) -> None:
    """After `forget_sessions` a call in the old session raises SessionLost.

    The journal has the request, marked as not taken, and it is not among the calls.
    """
    with Client(server.url, transcript=Transcript(), wire="handshake") as client:
        client.open()
        server.forget_sessions()
        with pytest.raises(SessionLost):
            client.call_tool("a")

    assert server.journal.calls() == []
    assert [each.taken for each in server.journal.since(0, "tools/call")] == [False]


def test_it_refuses_everything_by_order(server: RelayedServer) -> None:
    """While the server has a `refusing` of 503, a handshake raises ProtocolFault with 503."""
    server.refusing = Refusing(status=503, body=b"later", media_type="text/plain")

    with pytest.raises(ProtocolFault) as raised:
        Client(server.url, transcript=Transcript(), wire="handshake").open()

    assert raised.value.status == 503
