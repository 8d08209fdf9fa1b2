"""Relays that serve one place after another, clients that are kept, and waits that become short."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from mcp_proxy_conformance.fidelity.bench import RelayBench
from mcp_proxy_conformance.fidelity.offers import FEATURES, question
from mcp_proxy_conformance.fidelity.relay_pool import RelayPool
from mcp_proxy_conformance.fidelity.relay_target import relay_target
from mcp_proxy_conformance.fidelity.stages import RELAYED, given_at
from mcp_proxy_conformance.fidelity.way_back import called, connected
from mcp_proxy_conformance.upstream.authority import Authority
from mcp_proxy_conformance.upstream.relayed import Refusing
from mcp_proxy_conformance.upstream.talk import Talk

GIVEN = given_at(RELAYED)


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[RelayPool]:
    """Yield a pool of bundled relays; those that were given back end with it."""
    relays = RelayPool(relay_target(()), tmp_path)
    yield relays
    relays.close()


def test_a_relay_serves_again_after_its_upstream_has_refused_and_ended(pool: RelayPool) -> None:
    """A relay that was given back is taken again, in front of an upstream that answers as at first.

    Before, the upstream has refused every request, and ended.
    """
    relay, was_new = pool.take(GIVEN)
    names = relay.through.listing().names
    relay.through.server.refusing = Refusing(status=500)
    relay.stop_upstream()

    pool.give_back(relay)
    again, is_new = pool.take(GIVEN)
    listed = again.through.list_anew().names
    pool.give_back(again)

    assert (was_new, is_new) == (True, False)
    assert again is relay
    assert listed == names


def test_a_relay_that_is_asked_for_a_new_one_was_never_used(pool: RelayPool) -> None:
    """With `new`, a relay is started though another one was given back."""
    relay, _ = pool.take(GIVEN)
    pool.give_back(relay)

    other, is_new = pool.take(GIVEN, new=True)
    pool.give_back(other)

    assert is_new
    assert other is not relay


@pytest.mark.parametrize("end", ["ended", "asked for a token"])
def test_a_relay_that_is_not_as_at_first_is_replaced(pool: RelayPool, end: str) -> None:
    """One that has ended, or whose upstream has asked for a token, is not taken again."""
    relay, _ = pool.take(GIVEN)
    if end == "ended":
        relay.close()
    else:
        relay.through.server.authority = Authority(relay.through.server.url)

    pool.give_back(relay)
    other, is_new = pool.take(GIVEN)
    pool.give_back(other)

    assert is_new
    assert other is not relay


def test_a_client_over_stdio_is_kept_while_its_session_is_as_new(tmp_path: Path) -> None:
    """A closed client over stdio is returned again, having heard nothing, if it has only called.

    One that has set a log level is not. The relay is the upstream's own program.
    """
    relays = RelayPool(relay_target(("{upstream}",)), tmp_path)
    relay, _ = relays.take(given_at(FEATURES))
    bench = RelayBench(relay)
    with closing(connected(bench, bench.through)) as first:
        called(bench.through, first, "logs")
    with closing(connected(bench, bench.through)) as second:
        heard = second.received()
        second.request("logging/setLevel", {"level": "error"})
    with closing(connected(bench, bench.through)) as third:
        pass
    relays.give_back(relay)
    relays.close()

    assert second is first
    assert heard == []
    assert third is not first


def test_an_answer_that_never_came_is_waited_for_briefly() -> None:
    """The second request of a method is waited for by a third of the time, without an answer."""
    talk = Talk()

    async def send(raw: bytes) -> None:
        """Send nothing."""
        del raw

    async def waits() -> list[float]:
        """Ask twice; return the seconds that each took."""
        seconds = []
        for _ in range(2):
            began = time.monotonic()
            await talk.say([question("ping")], "a session", None, send)
            seconds.append(time.monotonic() - began)
        return seconds

    first, second = asyncio.run(waits())

    assert first >= 1.5
    assert 0.5 <= second < 1.5
