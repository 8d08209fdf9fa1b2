"""The JSON cases of fixtures/discovery, one check per area, each judged from a second view too."""

from __future__ import annotations

from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.case import Case, each_case
from mcp_proxy_conformance.discovery.views import looked_at


@each_case("precedence")
def test_a_tool_under_several_locks_has_the_one_status_that_comes_first(
    bench: Bench, case: Case
) -> None:
    """Each combination of locks has a status that the fixed order allows, in one entry.

    A case is compared as it is written and, if there is one, from another endpoint or agent.
    """
    looked_at(case, bench).conclude()


@each_case("limits")
def test_the_locked_part_of_an_answer_keeps_to_its_cap(bench: Bench, case: Case) -> None:
    """The number of locked entries is at most the smaller of the limit and ten.

    A case is compared as it is written and, if there is one, from another endpoint or agent.
    """
    looked_at(case, bench).conclude()


@each_case("note")
def test_an_answer_without_a_callable_tells_of_locked_matches_in_one_note(
    bench: Bench, case: Case
) -> None:
    """A note appears exactly when locked tools match and no callable tool is listed.

    A case is compared as it is written and, if there is one, from another endpoint or agent.
    """
    looked_at(case, bench).conclude()


@each_case("withheld")
def test_texts_are_told_or_withheld_as_the_lock_asks(bench: Bench, case: Case) -> None:
    """Descriptions of approved tools are returned in full; all others are withheld.

    A case is compared as it is written and, if there is one, from another endpoint or agent.
    """
    looked_at(case, bench).conclude()


@each_case("scope")
def test_an_agent_sees_the_locked_tools_of_its_own_servers_only(bench: Bench, case: Case) -> None:
    """Locked tools of servers outside the agent's scope are not listed, its own ones are.

    A case is compared as it is written and, if there is one, from another endpoint, agent or way of
    calling.
    """
    looked_at(case, bench).conclude()


@each_case("counts")
def test_the_listing_counts_tools_by_reason(bench: Bench, case: Case) -> None:
    """Each server's counts match its locks, and are absent if every tool is callable.

    A case is compared as it is written, and from every other endpoint and agent of all servers.
    """
    looked_at(case, bench).conclude()


@each_case("members")
def test_answers_have_members_of_the_expected_types(bench: Bench, case: Case) -> None:
    """Each member that a case names has its JSON type, or is absent.

    A case is compared as it is written and, if there is one, from another endpoint or agent.
    """
    looked_at(case, bench).conclude()


@each_case("rejection")
def test_a_refused_call_says_why_and_reaches_no_upstream(bench: Bench, case: Case) -> None:
    """The call does not reach the upstream, and its refusal has the class and pointer of the case.

    The class is that of the lock; the pointer names the flag or the discovery tool. One more way of
    calling, or an agent, is tried where there is one.
    """
    looked_at(case, bench).conclude()


@each_case("opt-in")
def test_locked_tools_come_back_on_request_only(bench: Bench, case: Case) -> None:
    """Locked tools are listed with the flag and only with it, with the statuses of the case.

    A case is compared as it is written and, if there is one, from another endpoint or agent.
    """
    looked_at(case, bench).conclude()


@each_case("remediation")
def test_each_status_shown_has_its_one_remediation(bench: Bench, case: Case) -> None:
    """The remediation map has the statuses shown, each with a text that fits the status.

    A case is compared as it is written and, if there is one, from another endpoint or agent.
    """
    looked_at(case, bench).conclude()


@each_case("order")
def test_callable_tools_are_the_same_with_and_without_the_flag(bench: Bench, case: Case) -> None:
    """The callable entries of an answer are the same, in order, with and without the flag.

    A case is compared as it is written and, if there is one, from another endpoint or agent.
    """
    looked_at(case, bench).conclude()
