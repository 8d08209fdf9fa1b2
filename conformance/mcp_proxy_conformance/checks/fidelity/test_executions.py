"""Executions: one for each call, whatever happens on the way, and no success without one."""

from __future__ import annotations

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on
from mcp_proxy_conformance.fidelity import executions
from mcp_proxy_conformance.fidelity.bench import RelayBench
from mcp_proxy_conformance.fidelity.stages import PAGED, RELAYED


@requirement("RLY.up.once.equal")
@on(RELAYED)
def test_two_equal_calls_are_two_executions(bench: RelayBench) -> None:
    """Two equal calls, one after the other, are both executed."""
    executions.equal_calls(bench).conclude()


@requirement("RLY.up.once.quiet", "RLY.up.once.slow")
@on(RELAYED, fresh=True)
def test_one_call_is_one_execution(bench: RelayBench) -> None:
    """A call that is answered at once, and one that is after three seconds, are executed once."""
    executions.single_executions(bench).conclude()


@requirement("RLY.up.once.dropped", "RLY.down.no-empty-success.call")
@on(RELAYED, fresh=True)
def test_a_call_that_is_cut_off_is_not_executed_again(bench: RelayBench) -> None:
    """A call whose connection breaks after its execution is neither sent again nor a success."""
    executions.dropped_call(bench).conclude()


@requirement("RLY.up.once.stale", "RLY.up.once.new-session")
@on(RELAYED, fresh=True)
def test_a_call_in_an_ended_session_is_executed_once_or_fails(bench: RelayBench) -> None:
    """After the upstream has ended a session, a call is executed once or fails, in another one."""
    executions.stale_session(bench).conclude()


@requirement("RLY.down.no-empty-success.call")
@on(RELAYED, fresh=True)
def test_a_call_of_an_upstream_that_has_ended_is_no_success(bench: RelayBench) -> None:
    """Once the upstream has ended, a call fails."""
    executions.unanswered_call(bench).conclude()


@requirement("RLY.down.no-empty-success.refused")
@on(RELAYED, fresh=True)
def test_a_call_that_the_upstream_refuses_is_no_success(bench: RelayBench) -> None:
    """While the upstream answers with HTTP errors, calls fail."""
    executions.refused_calls(bench).conclude()


@requirement("RLY.down.no-empty-success.list")
@on(RELAYED, fresh=True)
def test_the_list_of_an_upstream_that_has_ended_is_not_empty(bench: RelayBench) -> None:
    """Once the upstream has ended, a list is an error, or still has all tools."""
    executions.unanswered_list(bench).conclude()


@requirement("RLY.down.no-empty-success.list")
@on(PAGED, fresh=True)
def test_a_list_whose_page_fails_is_not_shorter(bench: RelayBench) -> None:
    """While a later page of the upstream fails, a list is an error, or has all tools."""
    executions.unanswered_page(bench).conclude()
