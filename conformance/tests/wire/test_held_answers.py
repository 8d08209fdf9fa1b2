"""Held answers: the memory of large ones counts while something references them, up to a bound."""

from __future__ import annotations

import gc

import pytest

from mcp_proxy_conformance.wire import jsonrpc
from mcp_proxy_conformance.wire.faults import ProtocolFault
from mcp_proxy_conformance.wire.held_answers import MOST, SMALL, Held


def answer(size: int) -> jsonrpc.Envelope:
    """Return a parsed JSON-RPC answer whose memory is counted as about `size` bytes."""
    text = b"x" * (size // jsonrpc.OF_BYTE)
    return jsonrpc.parse(b'{"jsonrpc":"2.0","id":1,"result":{"text":"%b"}}' % text)


def test_any_number_may_come_and_go() -> None:
    """Twenty answers of half the bound, each released before the next, raise nothing."""
    held = Held()
    for _ in range(20):
        held.take(answer(MOST // 2))
        gc.collect()


def test_too_many_at_once_are_refused() -> None:
    """The third answer of a third of the bound, all still held, is a fault of kind `size`."""
    held, kept = Held(), [answer(MOST // 3) for _ in range(3)]
    for envelope in kept[:2]:
        held.take(envelope)

    with pytest.raises(ProtocolFault, match="64 MiB of memory in all") as fault:
        held.take(kept[2])

    assert (fault.value.kind, len(str(fault.value)) < 500) == ("size", True)


def test_what_can_be_asked_for_again_is_let_go_first() -> None:
    """Each time the bound is passed, `Held` calls `release`, which drops the kept answers.

    So ten answers of a third of the bound raise nothing, and fewer than three are kept.
    """
    kept: list[jsonrpc.Envelope] = []
    held = Held(kept.clear)
    for _ in range(10):
        kept.append(answer(MOST // 3))
        held.take(kept[-1])

    assert len(kept) < 3


def test_garbage_is_collected_before_an_answer_is_refused() -> None:
    """Answers that only cycles reference do not count, however rarely garbage is collected.

    Ten of a third of the bound raise nothing while automatic collection is off.
    """
    held = Held()
    gc.disable()
    try:
        for _ in range(10):
            cycle: list[object] = [answer(MOST // 3)]
            cycle.append(cycle)
            held.take(cycle[0])  # type: ignore[arg-type]
    finally:
        gc.enable()


def test_small_ones_are_not_counted() -> None:
    """Ten thousand small answers, still held, raise nothing."""
    held = Held()
    kept = [answer(SMALL // 2)] * 10_000
    for envelope in kept:
        held.take(envelope)


def test_one_alone_is_taken_whatever_it_takes() -> None:
    """A single answer of twice the bound raises nothing."""
    alone = answer(2 * MOST)

    Held().take(alone)
