"""The client of 2026-07-28: what it states, what it keeps of a stream, how it cancels."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from mcp_proxy_conformance.fidelity.offers import STATELESS
from mcp_proxy_conformance.fidelity.stages import given_at
from mcp_proxy_conformance.fidelity.stateless_client import StatelessClient, meta
from mcp_proxy_conformance.targets.waits import poll
from mcp_proxy_conformance.upstream.hub import Upstreams
from mcp_proxy_conformance.upstream.relayed import RelayedServer
from mcp_proxy_conformance.upstream.relayed_stateless import CLOSED, relayed_server
from mcp_proxy_conformance.wire.transcript import Transcript

TELLING = {"name": "telling", "arguments": {"case": "logs"}}


@pytest.fixture
def server() -> Iterator[RelayedServer]:
    """Yield a started server of 2026-07-28 with every feature."""
    with Upstreams(Transcript()) as hub:
        yield hub.add(relayed_server("upstream", given_at(STATELESS)))


@pytest.fixture
def client(server: RelayedServer) -> Iterator[StatelessClient]:
    """Yield a client of `server`."""
    with closing(StatelessClient(server.url, Transcript())) as client:
        yield client


def test_a_member_that_is_none_is_not_stated(client: StatelessClient) -> None:
    """A request without capabilities is refused by a strict server, and one with them is not."""
    refused = client.ask("tools/list", own_meta=meta(clientCapabilities=None))
    served = client.ask("tools/list", own_meta=meta(clientCapabilities={}))

    assert (refused.status, refused.code) == (400, -32602)
    assert "tools" in served.answer["result"]


def test_a_header_that_is_none_is_not_sent(client: StatelessClient) -> None:
    """A request without `Mcp-Method` is refused as one whose headers do not fit."""
    assert client.ask("tools/list", headers={"mcp-method": None}).code == -32020


def test_messages_before_an_answer_are_kept(client: StatelessClient) -> None:
    """The log messages of a call are kept in order, and then its answer."""
    exchange = client.ask("tools/call", TELLING, own_meta=meta(logLevel="alert"))

    levels = [each.params.get("level") for each in exchange.received()]
    assert levels == ["alert", "emergency", None]


def test_a_request_that_is_cut_is_cancelled(server: RelayedServer, client: StatelessClient) -> None:
    """A server notices that the response to a call is no longer read."""
    slow = {"name": "telling", "arguments": {"case": "slow"}}
    exchange = client.begin("tools/call", slow)
    poll(server.journal.calls, bool, 3.0)

    exchange.cut()

    assert poll(lambda: server.journal.since(0, CLOSED), bool, 3.0)
    assert not exchange.answer
