"""Tool calls through a relay: arguments to the upstream, results and errors to the client."""

from __future__ import annotations

from mcp_proxy_conformance.fidelity.bench import RelayBench
from mcp_proxy_conformance.fidelity.driven_relay import each_relay_case
from mcp_proxy_conformance.fidelity.relay_case import RelayCase


@each_relay_case("arguments")
def test_arguments_reach_the_upstream_as_they_were_sent(bench: RelayBench, case: RelayCase) -> None:
    """The upstream gets the arguments that the client sent, value by value.

    Each case's tool is called directly and through the relay; where the case allows it, a refusal
    is right too. Inconclusive if the relay does not list the tool.
    """
    bench.judged(case).conclude()


@each_relay_case("result")
def test_a_result_reaches_the_client_as_it_was_given(bench: RelayBench, case: RelayCase) -> None:
    """The client gets the result or error that it gets of the upstream directly.

    Compared is the part that each case is about. Not applicable if nothing of that part arrives,
    which another clause judges; inconclusive if the relay does not list the case's tool.
    """
    bench.judged(case).conclude()
