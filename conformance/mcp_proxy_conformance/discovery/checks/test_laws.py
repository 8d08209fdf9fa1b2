"""Laws of discovery, one check each, tried on generated worlds; a breach is shrunk to a case."""

from __future__ import annotations

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.case import Case, each_case
from mcp_proxy_conformance.discovery.driven_proxy import GENERATED, LawBench
from mcp_proxy_conformance.discovery.views import looked_at


@requirement("FR-001.accepts")
@on(GENERATED)
def test_what_is_answered_without_the_flag_is_answered_with_it(bench: LawBench) -> None:
    """With the flag, any query, limit and caller get the same kind of answer as without it.

    A request that is answered without an error and with a list of tools must be so with the flag.
    """
    bench.law("accepts").conclude()


@requirement(
    "FR-001.reveals-config", "FR-001.reveals-user", "FR-001.reveals-pending",
    "FR-001.reveals-changed", "FR-001.reveals-quarantined", "FR-001.by-description",
    "FR-001.server-off", "FR-001.default-off", "FR-004.enum", "FR-004.precedence",
    "FR-004.config-skips-quarantine", "FR-004.follows-state", "SC-003.discovery",
)  # fmt: skip
@on(GENERATED)
def test_in_any_world_a_tool_is_told_as_its_locks_allow(bench: LawBench) -> None:
    """After any locks and unlocks, each tool has a place in answers that its locks allow.

    A place is a status, among the callable tools, or none at all.
    """
    bench.law("statuses").conclude()


@requirement("FR-004.deterministic")
@on(GENERATED)
def test_in_any_world_a_status_asked_for_again_is_the_same(bench: LawBench) -> None:
    """Seven queries in a row for a tool, by administrator and agents, return the same status."""
    bench.law("steady").conclude()


@requirement("FR-004.once")
@on(GENERATED)
def test_no_generated_tool_is_told_twice_in_one_answer(bench: LawBench) -> None:
    """No answer with a locked entry lists a tool twice, as locked, as callable, or as both."""
    bench.law("once").conclude()


@requirement("FR-006.cap", "FR-006.odd-limits")
@on(GENERATED)
def test_no_answer_in_any_world_exceeds_its_cap(bench: LawBench) -> None:
    """No answer lists more locked tools than its limit or ten, even at an odd limit."""
    bench.law("cap").conclude()


@requirement("FR-005.keys", "FR-007.hidden")
@on(GENERATED)
def test_in_any_world_the_map_has_the_statuses_shown_as_its_keys(bench: LawBench) -> None:
    """The remediation map's keys are the statuses of entries that remain after cap and scope."""
    bench.law("keys").conclude()


@requirement("FR-006.callables", "FR-002.no-locks-no-change")
@on(GENERATED)
def test_in_any_world_the_flag_keeps_the_callable_tools(bench: LawBench) -> None:
    """The callable tools have the same names in the same order with and without the flag."""
    bench.law("callables").conclude()


@requirement("FR-002.no-locks-no-change")
@on(GENERATED)
def test_in_any_world_a_query_brings_no_locked_tool_that_it_did_not_find(bench: LawBench) -> None:
    """A query reveals no locked tool that it never matched, and none where nothing is locked."""
    bench.law("unasked").conclude()


@requirement("FR-002.absent-is-false")
@on(GENERATED)
def test_in_any_world_false_is_absent(bench: LawBench) -> None:
    """The flag false and absent get the same bytes, at any limit and for any caller.

    Compared are answers to equal requests in generated worlds, with and without locks.
    """
    bench.law("absent is false").conclude()


@requirement(
    "FR-001.default-off", "FR-002.no-section", "FR-002.no-locked-names", "FR-009.no-entries"
)
@on(GENERATED)
def test_in_any_world_a_default_answer_is_silent_on_locked_tools(bench: LawBench) -> None:
    """A default answer has no section, no map, and no name or description of a locked tool."""
    bench.law("silence").conclude()


@requirement(
    "FR-003.members", "FR-003.name", "FR-003.server", "FR-003.description", "FR-003.withheld",
    "FR-003.canary",
)  # fmt: skip
@on(GENERATED)
def test_in_any_world_a_locked_entry_tells_what_it_may(bench: LawBench) -> None:
    """An entry has name, server, status, and the callable tool's description unless withheld.

    It has no schema, and no answer contains a withheld text.
    """
    bench.law("entries").conclude()


@requirement("FR-005.text", "FR-005.once", "FR-005.class", "SC-003.discovery", "FR-003.members")
@on(GENERATED)
def test_in_any_world_remedies_are_those_of_their_locks(bench: LawBench) -> None:
    """Each remedy is a text that fits its status, and appears once, outside the entries.

    The texts for config and user locks differ.
    """
    bench.law("remedies").conclude()


@requirement(
    "FR-009.note", "FR-009.count", "FR-009.silent", "FR-009.one-line", "FR-009.tight-limit",
    "SC-002.two-steps", "SC-006.every-kind", "FR-007.note",
)  # fmt: skip
@on(GENERATED)
def test_in_any_world_the_note_stands_where_it_is_due_and_nowhere_else(bench: LawBench) -> None:
    """A note appears exactly when it must: one line, the right number, and the flag's name."""
    bench.law("notes").conclude()


@requirement(
    "FR-010.block", "FR-010.sum", "FR-010.zero-omitted", "FR-010.no-names", "FR-010.quarantined",
    "FR-010.server-off",
    "FR-010.inspect", "SC-005.absent", "SC-003.listing", "FR-004.once",
)  # fmt: skip
@on(GENERATED)
def test_in_any_world_the_counts_add_up(bench: LawBench) -> None:
    """Each tool is counted once, under one of its locks; no block if all are callable.

    No reason is 0, no tool is named, and the view of one server has the same counts.
    """
    bench.law("counts").conclude()


@requirement("FR-013.counts")
@on(GENERATED, needs=("counter",))
def test_in_any_world_the_counter_counts_opt_ins_alone(bench: LawBench) -> None:
    """Each call with the flag adds one to the counter, no other does; a restart resets it."""
    bench.law("counter").conclude()


@requirement("FR-007.hidden", "FR-007.note", "FR-007.listing", "FR-007.before-cap")
@on(GENERATED, needs=("agents",))
def test_in_any_world_nothing_beyond_its_scope_is_told_to_an_agent(bench: LawBench) -> None:
    """An agent is shown nothing from beyond its scope, nor do locks there displace its own."""
    bench.law("scope").conclude()


@requirement("FR-007.non-interference")
@on(GENERATED, needs=("agents",))
def test_in_any_world_what_lies_beyond_its_scope_changes_no_byte(bench: LawBench) -> None:
    """An agent's answers keep their bytes when something beyond its scope is locked.

    The same holds for answers with the flag and without it.
    """
    bench.law("interference").conclude()


@requirement("FR-008.config", "FR-008.distinct", "FR-008.pointer", "SC-003.rejection")
@on(GENERATED)
def test_in_any_world_a_refusal_tells_its_own_lock(bench: LawBench) -> None:
    """A refusal gives the reason of its own lock, config first, and the next step."""
    bench.law("refusals").conclude()


@requirement("FR-011.never-reaches", "FR-011.not-unlocked")
@on(GENERATED)
def test_in_any_world_no_call_reaches_a_locked_tool(bench: LawBench) -> None:
    """No call, over any surface and however often, reaches or unlocks a locked tool.

    Nor does it lock a callable one.
    """
    bench.law("calls").conclude()


@requirement(
    "FR-002.no-section", "FR-003.description", "FR-003.members", "FR-003.withheld", "FR-004.enum",
    "FR-004.once", "FR-005.keys", "FR-005.once", "FR-005.text", "FR-006.cap", "FR-009.one-line",
    "FR-009.silent",
)  # fmt: skip
@on(GENERATED)
def test_in_any_world_each_answer_has_the_form_of_its_schema(bench: LawBench) -> None:
    """Each discovery answer, at any limit and for any caller, is valid by the published schema."""
    bench.law("schemas").conclude()


@requirement("FR-004.unknown")
@on(GENERATED, needs=("indeterminate",))
def test_in_any_world_a_reason_that_is_lost_is_said_to_be_unknown(bench: LawBench) -> None:
    """If the reason of its lock cannot be looked up, a tool is `disabled_unknown` and stays locked.

    Its remedy is neutral.
    """
    bench.law("unknown").conclude()


@each_case("law")
def test_what_was_once_generated_is_answered_as_it_should(bench: Bench, case: Case) -> None:
    """Small worlds that once broke a law are answered as their cases expect.

    A case is compared as it is written and, if there is one, from another endpoint or agent.
    """
    looked_at(case, bench).conclude()
