"""Hostile messages: bodies that are not requests, or requests that nobody would send."""

from __future__ import annotations

from functools import partial

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.hostile.clean_answer import finds, readable, uncleanly
from mcp_proxy_conformance.discovery.hostile.hostile_tools import HOSTILE, ORDINARY, WORD
from mcp_proxy_conformance.discovery.hostile.payloads import BODIES

ANSWER_S = 5.0


@requirement("ROB.message")
@on(HOSTILE)
def test_a_body_that_is_no_request_is_refused_and_forgotten(bench: Bench) -> None:
    """Each body is refused in JSON or ignored, and the next request is answered.

    No answer is a server error or a stack trace. Inconclusive if an ordinary query does not
    find its tool beforehand.
    """
    bench.require(finds(bench, ORDINARY, WORD), f"the query {WORD} does not find {ORDINARY}")

    def reply(body: bytes) -> str:
        """Post the body as a new client; return what is wrong with the answer, empty if nothing is.

        An answer may take five seconds.
        """
        client = bench.started.client()
        return readable(client.post(body, timeout=ANSWER_S, until=lambda event: bool(event.data)))

    asks = {name: partial(reply, body) for name, body in BODIES.items()}

    faults = uncleanly(bench, asks, lambda: finds(bench, ORDINARY, WORD))

    assert faults == {}
