"""Requests that the upstream gets from a relay: well formed, its own tool names, `_meta` kept."""

from __future__ import annotations

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on
from mcp_proxy_conformance.fidelity import requests
from mcp_proxy_conformance.fidelity.bench import RelayBench
from mcp_proxy_conformance.fidelity.stages import DESCRIBED, RELAYED


@requirement("RLY.up.wellformed")
@on(RELAYED, fresh=True)
def test_every_message_upstream_is_well_formed(bench: RelayBench) -> None:
    """Whatever arguments clients send, the upstream gets JSON-RPC messages in UTF-8.

    The arguments of every case are sent; inconclusive if no call reaches the upstream.
    """
    requests.well_formed(bench).conclude()


@requirement("RLY.up.name")
@on(DESCRIBED)
def test_the_upstream_gets_its_own_names(bench: RelayBench) -> None:
    """Names with dots, capitals and many letters reach the upstream letter by letter.

    Inconclusive if the relay does not list one of them, or its call does not reach the upstream.
    """
    requests.names_upstream(bench).conclude()


@requirement("RLY.up.meta.kept")
@on(RELAYED)
def test_members_of_meta_reach_the_upstream(bench: RelayBench) -> None:
    """Members of a vendor and of a trace in a call's _meta reach the upstream.

    They are compared by value; inconclusive if the call does not reach the upstream.
    """
    requests.meta_upstream(bench).conclude()
