"""Executions of calls at the upstream of a relay: one per call, and no success without one."""

from __future__ import annotations

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on
from mcp_proxy_conformance.fidelity import executions
from mcp_proxy_conformance.fidelity.bench import RelayBench
from mcp_proxy_conformance.fidelity.stages import PAGED, RELAYED


@requirement("RLY.up.once.equal")
@on(RELAYED)
def test_two_equal_calls_are_two_executions(bench: RelayBench) -> None:
    """Two equal calls, one after the other, are both executed.

    Inconclusive unless both are answered with a result.
    """
    executions.equal_calls(bench).conclude()


@requirement("RLY.up.once.quiet", "RLY.up.once.slow")
@on(RELAYED, fresh=True, long=True)
def test_one_call_is_one_execution(bench: RelayBench) -> None:
    """A call that is answered at once, and one that is after three seconds, are executed once.

    Executions are counted at the upstream until none has come for 1.5 s; inconclusive if a call
    does not reach it.
    """
    executions.single_executions(bench).conclude()


@requirement("RLY.up.once.dropped", "RLY.down.no-empty-success.call")
@on(RELAYED, fresh=True, long=True)
def test_a_call_that_is_cut_off_is_not_executed_again(bench: RelayBench) -> None:
    """A call whose connection breaks after its execution is neither sent again nor a success.

    The upstream cuts the connection instead of answering; inconclusive if the call does not reach
    it.
    """
    executions.dropped_call(bench).conclude()


@requirement("RLY.up.once.stale", "RLY.up.once.new-session")
@on(RELAYED, fresh=True, long=True)
def test_a_call_in_an_ended_session_is_executed_once_or_fails(bench: RelayBench) -> None:
    """After the upstream has ended a session, a call is executed once or fails.

    After its 404 the ended session may get no further request, except DELETE and GET. Not
    applicable if the relay reaches its upstream over stdio.
    """
    executions.stale_session(bench).conclude()


@requirement("RLY.down.no-empty-success.call")
@on(RELAYED, fresh=True)
def test_a_call_of_an_upstream_that_has_ended_is_no_success(bench: RelayBench) -> None:
    """Once the upstream has ended, a call fails.

    An error, a tool's error or no answer is right. Inconclusive if the relay does not list `echo`.
    """
    executions.unanswered_call(bench).conclude()


@requirement("RLY.down.no-empty-success.silence")
@on(RELAYED, fresh=True)
def test_a_call_whose_upstream_ends_does_not_wait_for_ever(bench: RelayBench) -> None:
    """If the upstream ends while it works on a call, the client is answered, or cut off, in 17 s.

    Inconclusive if the call does not reach the upstream before.
    """
    executions.interrupted_call(bench).conclude()


@requirement("RLY.down.no-empty-success.refused")
@on(RELAYED, fresh=True)
def test_a_call_that_the_upstream_refuses_is_no_success(bench: RelayBench) -> None:
    """While the upstream answers with HTTP errors, calls fail.

    Six refusals are tried, from 401 to a 503 with a result in its body. Not applicable if the relay
    reaches its upstream over stdio.
    """
    executions.refused_calls(bench).conclude()


@requirement("RLY.down.no-empty-success.list")
@on(RELAYED, fresh=True)
def test_the_list_of_an_upstream_that_has_ended_is_not_empty(bench: RelayBench) -> None:
    """Once the upstream has ended, a list is an error, or still has all tools.

    An old and a new session are tried; over HTTP, also while the upstream answers with status 500.
    """
    executions.unanswered_list(bench).conclude()


@requirement("RLY.down.no-empty-success.list")
@on(PAGED, fresh=True)
def test_a_list_whose_page_fails_is_not_shorter(bench: RelayBench) -> None:
    """While a later page of the upstream fails, a list is an error, or has all tools.

    Inconclusive if the relay does not list all tools before that.
    """
    executions.unanswered_page(bench).conclude()
