"""The server of 2026-07-28 behind relays: it refuses what is out of order, and asks in results."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from mcp_proxy_conformance.fidelity.offers import ASKED, STATELESS, TELLING
from mcp_proxy_conformance.fidelity.stages import given_at
from mcp_proxy_conformance.fidelity.stateless_client import StatelessClient, meta
from mcp_proxy_conformance.targets.waits import poll
from mcp_proxy_conformance.upstream.hub import Upstreams
from mcp_proxy_conformance.upstream.relayed import RelayedServer
from mcp_proxy_conformance.upstream.relayed_stateless import relayed_server
from mcp_proxy_conformance.wire import Client, ProtocolFault
from mcp_proxy_conformance.wire.transcript import Transcript

ELICIT = "elicitation/create"
DECLARING = meta(clientCapabilities={"elicitation": {}})
CALL: Mapping[str, Any] = {"name": "echo", "arguments": {}}
ASKING: Mapping[str, Any] = {"name": TELLING, "arguments": {"case": ELICIT}}


@pytest.fixture
def server() -> Iterator[RelayedServer]:
    """A server of the stage `stateless`, which listens."""
    with Upstreams(Transcript()) as hub:
        yield hub.add(relayed_server("modern", given_at(STATELESS)))


@pytest.fixture
def client(server: RelayedServer) -> Iterator[StatelessClient]:
    """A client of that server."""
    client = StatelessClient(server.url, Transcript())
    yield client
    client.close()


@pytest.mark.parametrize(
    ("own_meta", "headers", "status", "code"),
    [
        (meta(), {"MCP-Protocol-Version": None}, 400, -32020),
        (meta(), {"Mcp-Method": "tools/list"}, 400, -32020),
        (meta(), {"Mcp-Name": None}, 400, -32020),
        (meta(protocolVersion=None), {}, 400, -32602),
        (meta(clientCapabilities=None), {}, 400, -32602),
        (meta(protocolVersion="2099-01-01"), {"MCP-Protocol-Version": "2099-01-01"}, 400, -32022),
        (meta(protocolVersion="2025-11-25"), {}, 400, -32020),
    ],
)
def test_a_request_that_lacks_what_it_has_to_state_is_refused(
    client: StatelessClient, own_meta: Mapping[str, Any], headers: Mapping[str, str | None],
    status: int, code: int,
) -> None:  # fmt: skip
    """A missing or wrong header or member of `_meta` is refused with its status and code."""
    exchange = client.ask("tools/call", CALL, own_meta=own_meta, headers=headers)

    assert [exchange.status, exchange.code] == [status, code]


def test_a_handshake_is_refused(server: RelayedServer) -> None:
    """`initialize` gets an error that names 2026-07-28."""
    with pytest.raises(ProtocolFault, match="2026-07-28"):
        Client(server.url, transcript=Transcript(), wire="handshake").open()


def test_an_argument_has_to_be_in_its_header(client: StatelessClient) -> None:
    """A marked argument that no header repeats is refused; in base64 it is taken."""
    params = {"name": "marked", "arguments": {"region": "ü"}}

    refused = client.ask("tools/call", params)
    taken = client.ask("tools/call", params, headers={"Mcp-Param-Region": "=?base64?w7w=?="})

    assert [refused.code, "result" in taken.answer] == [-32020, True]


def test_a_question_is_asked_in_a_result(client: StatelessClient) -> None:
    """A client that declares elicitation is asked in a result; its retry is answered once."""
    asked = client.ask("tools/call", ASKING, own_meta=DECLARING).answer["result"]
    (name,) = asked["inputRequests"]
    answers = {name: {"action": "decline"}}
    retry = {**ASKING, "inputResponses": answers, "requestState": asked["requestState"]}

    finished = client.ask("tools/call", retry, own_meta=DECLARING)
    again = client.ask("tools/call", retry, own_meta=DECLARING)

    assert asked["inputRequests"][name]["params"] == ASKED[ELICIT]
    assert ["content" in finished.answer["result"], again.code] == [True, -32602]


def test_a_client_that_declares_nothing_is_not_asked(client: StatelessClient) -> None:
    """Without the capability the call is answered, and one that needs it is refused."""
    answered = client.ask("tools/call", ASKING).answer["result"]
    needing = client.ask("tools/call", {"name": TELLING, "arguments": {"case": "needing"}})

    assert [answered["resultType"], needing.status, needing.code] == ["complete", 400, -32021]


def test_a_subscription_has_the_notifications_it_names(
    server: RelayedServer, client: StatelessClient
) -> None:
    """A stream begins by its acknowledgement, and has the notifications that its filter names."""
    exchange = client.begin("subscriptions/listen", {"notifications": {"toolsListChanged": True}})

    acknowledged = exchange.arrives("notifications/subscriptions/acknowledged", 3)

    params = json.loads(exchange.received()[0].raw)["params"]
    told = {"io.modelcontextprotocol/subscriptionId": exchange.id}
    assert [acknowledged, params["_meta"]] == [True, told]
    assert poll(lambda: len(server.talk.listening), bool, 3) == 1
