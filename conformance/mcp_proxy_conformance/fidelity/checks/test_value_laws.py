"""Generated JSON values through a relay: arguments and structured content arrive unchanged."""

from __future__ import annotations

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on
from mcp_proxy_conformance.fidelity.driven_relay import ValueBench
from mcp_proxy_conformance.fidelity.stages import GENERATED


@requirement(
    "RLY.up.arguments.integers", "RLY.up.arguments.decimals", "RLY.up.arguments.text",
    "RLY.up.arguments.keys", "RLY.up.arguments.kinds",
)  # fmt: skip
@on(GENERATED)
def test_any_value_reaches_the_upstream_in_arguments(bench: ValueBench) -> None:
    """Whatever JSON object a client sends as arguments, the upstream gets its value.

    Lone surrogates and numbers beyond doubles are not among them. A relay may refuse integers
    beyond 53 bits by an error.
    """
    bench.law("arguments").conclude()


@requirement("RLY.down.structured.value", "RLY.down.structured.kept")
@on(GENERATED)
def test_any_value_reaches_the_client_as_structured_content(bench: ValueBench) -> None:
    """Whatever JSON object the upstream gives as structured content, the client gets its value.

    Structured content that does not arrive at all was not kept.
    """
    bench.law("structured").conclude()
