"""Bounds on an endpoint's answers: what is kept of all, values in one message, odd schemas."""

from __future__ import annotations

import json

import pytest

from mcp_proxy_conformance.discovery.live.budget import MOST_HELD, Budget, Ledger, OverBudget
from mcp_proxy_conformance.verdict.result import Misshapen
from mcp_proxy_conformance.wire import jsonrpc
from mcp_proxy_conformance.wire.faults import ProtocolFault
from mcp_proxy_conformance.wire.input_schema import default, refusals

ORDINARY = json.dumps({"tools": [{"name": f"forge:t{n}", "tags": ["a", "b"]} for n in range(40)]})


def receive(ledger: Ledger, raw: bytes, times: int) -> None:
    """Record in the ledger, `times` times, that the client received this answer."""
    for _ in range(times):
        ledger.record(edge="client", direction="received", peer="", raw=raw, note="")


def test_ordinary_answers_are_all_kept() -> None:
    """A ledger keeps 300 answers of forty tools each, and raises nothing."""
    ledger = Ledger(Budget(most=300, per_second=1e4, within_s=60))

    receive(ledger, ORDINARY.encode(), 300)

    assert ledger.mark() == 300


@pytest.mark.parametrize("unit", [b"x" * 50, b"{},", b"[],", b"0,", b'{"a":[]},'])
def test_answers_beyond_the_bound_end_the_asking(unit: bytes) -> None:
    """Recording 300 answers of 1 MiB raises OverBudget at the ledger's bound, which it names."""
    ledger = Ledger(Budget(most=300, per_second=1e4, within_s=60))
    answer = unit * ((1 << 20) // len(unit))

    with pytest.raises(OverBudget, match=f"more than {MOST_HELD >> 20} MiB in all"):
        receive(ledger, answer, 300)


def test_a_second_answer_that_is_too_large_is_the_last() -> None:
    """`Budget.refuse` raises OverBudget at the second answer that is too large, not the first."""
    budget = Budget(most=300, per_second=1e4, within_s=60)

    budget.refuse("at most 16 MiB")

    with pytest.raises(OverBudget, match="too large to be read: at most 16 MiB"):
        budget.refuse("at most 16 MiB")


@pytest.mark.parametrize("unit", [b"{}", b"[]", b"0", b'{"a":0}', rb'"{\"a\":0}"'])
def test_a_message_of_too_many_values_is_not_read(unit: bytes) -> None:
    """A message of more than MOST_VALUES values raises ProtocolFault of the kind `size`."""
    inner = b",".join([unit] * jsonrpc.MOST_VALUES)

    with pytest.raises(ProtocolFault) as caught:
        jsonrpc.parse(b'{"jsonrpc":"2.0","id":1,"result":{"x":[%s]}}' % inner)

    assert caught.value.kind == "size"


@pytest.mark.parametrize(
    ("raw", "least"),
    [(b"7", 1), (b"[]", 1), (b"[1,2,3]", 4), (b'{"a":{"b":[1,2]},"c":"x"}', 6)],
)
def test_values_are_never_counted_too_few(raw: bytes, least: int) -> None:
    """`values` counts at least each container of a message and each value in it."""
    assert jsonrpc.values(raw) >= least


@pytest.mark.parametrize("schema", [7, "object", [], True])
def test_a_schema_that_is_no_object_is_none(schema: object) -> None:
    """An input schema that is not an object raises Misshapen."""
    with pytest.raises(Misshapen, match=r"the inputSchema is an? \w+, not an object"):
        refusals(schema, [{}])


def test_properties_that_are_no_object_declare_no_default() -> None:
    """`default` of a schema whose `properties` are not an object is None."""
    assert default({"properties": [1]}) is None
