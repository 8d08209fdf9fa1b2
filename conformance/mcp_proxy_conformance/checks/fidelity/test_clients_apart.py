"""Clients apart: several clients at once, with equal ids, each served as if it were alone."""

from __future__ import annotations

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on
from mcp_proxy_conformance.fidelity import clients_apart
from mcp_proxy_conformance.fidelity.bench import RelayBench
from mcp_proxy_conformance.fidelity.stages import RELAYED


@requirement("RLY.apart.answers")
@on(RELAYED)
def test_clients_with_equal_ids_get_their_own_answers(bench: RelayBench) -> None:
    """Three clients call at once under one id; each gets its own result, one of them its error."""
    clients_apart.own_answers(bench).conclude()


@requirement("RLY.up.ids")
@on(RELAYED)
def test_no_id_is_used_twice_in_a_session_of_the_upstream(bench: RelayBench) -> None:
    """Whatever ids clients use, the upstream gets each id once in a session."""
    clients_apart.own_answers(bench)
    clients_apart.request_ids(bench).conclude()


@requirement("RLY.up.meta.progress-token")
@on(RELAYED)
def test_progress_tokens_differ_upstream_while_calls_are_active(bench: RelayBench) -> None:
    """Three clients call at once under one token; in one session the upstream gets three."""
    clients_apart.progress_tokens(bench).conclude()


@requirement("RLY.down.envelope")
@on(RELAYED)
def test_answers_have_the_id_of_their_request(bench: RelayBench) -> None:
    """An answer has its request's id, in type and value, and either a result or an error."""
    clients_apart.envelopes(bench).conclude()
