"""Causes of hand-made results: what each rule groups, what stands alone, and what follows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from mcp_proxy_conformance.verdict.causes import RootCause, causes, confusion
from mcp_proxy_conformance.verdict.comparison import about
from mcp_proxy_conformance.verdict.result import ClauseVerdict, Finding, Lack, Matter, Result

CONFIG, USER, PENDING = ("config",), ("user",), ("pending",)
STATES = {"forge:drop": USER, "forge:wipe": (*CONFIG, *USER), "barn:seal": (*CONFIG, *PENDING)}


def finding(*clauses: str, path: str = "", state: Sequence[str] = (), **members: Any) -> Finding:
    """Return a finding that breaks these clauses.

    With `state` it is about one tool that has those locks.
    """
    matters = (Matter(name=f"forge:{'-'.join(state)}", state=tuple(state)),) if state else ()
    return Finding(path=path, clauses=clauses, about=matters, **members)


def failed(check: str, *findings: Finding, **members: Any) -> Result:
    """Return a failed result with these findings; its clauses are all that they break."""
    clauses = dict.fromkeys(clause for finding in findings for clause in finding.clauses)
    return result(check, "fail", *clauses, findings=findings, **members)


def result(check: str, verdict: Any, *clauses: str, reason: str = "", **members: Any) -> Result:
    """Return a result of that check and verdict on these clauses.

    It is required, without a case, on the stage `mixed`, unless `members` say otherwise.
    """
    own = {"case": None, "level": "required", "stage": "mixed"} | members
    return Result(check=check, clauses=clauses, verdict=verdict, reason=reason, **own)


def root_causes(*results: Result) -> list[RootCause]:
    """Return the causes of these results, judged on just their clauses in order of occurrence.

    A clause counts as failed if a result on it failed, else as inconclusive.
    """
    known = dict.fromkeys(clause for each in results for clause in each.clauses)
    firm = {clause for each in results if each.verdict == "fail" for clause in each.clauses}
    clauses = [
        ClauseVerdict(id=clause, level="required", reason="", results=1,
                      verdict="fail" if clause in firm else "inconclusive")
        for clause in known
    ]  # fmt: skip
    return causes(clauses, results)


def ids(*results: Result) -> dict[str, tuple[str, ...]]:
    """Return {cause's id: names of its failing results}."""
    return {cause.id: cause.results for cause in root_causes(*results)}


ABSENT = finding("FR-001.reveals-user", state=USER, observed="absent", allowed="disabled_by_user")
BY_WORD = finding("FR-001.by-description", state=USER, observed=False, allowed=True)
OF_TWO = finding("FR-004.precedence", state=(*CONFIG, *USER), observed="absent")


def test_what_looks_for_tools_of_a_lock_that_is_never_revealed_is_one_cause() -> None:
    """Three failures whose tools with the user's lock are absent are one cause, `never_revealed`.

    It takes in whatever clause the absence breaks, and whatever else locks the tool.
    """
    (cause,) = root_causes(failed("a", ABSENT), failed("b", BY_WORD), failed("c", OF_TWO))

    assert (cause.id, cause.rule, cause.clause) == (
        "user-never-revealed", "never_revealed", "FR-001.reveals-user",
    )  # fmt: skip
    assert cause.breaks == ("FR-001.reveals-user", "FR-001.by-description", "FR-004.precedence")
    assert cause.results == ("a", "b", "c")


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(finding("FR-010.sum", state=USER), id="counts"),
        pytest.param(finding("FR-008.distinct", state=USER), id="rejection"),
        pytest.param(finding("FR-001.by-description", state=CONFIG), id="another lock"),
        pytest.param(finding("FR-001.by-description"), id="unknown tool"),
        pytest.param(finding("FR-004.enum", state=USER, observed="pending_approval"), id="seen"),
    ],
)
def test_what_is_not_the_absence_of_such_a_tool_is_another_cause(other: Finding) -> None:
    """A finding that is not the absence of a tool with that lock is a second cause.

    It is about counts, a refusal, another lock, an unknown tool, or a tool that has a status.
    """
    assert len(root_causes(failed("a", ABSENT), failed("b", other))) == 2


def test_a_lock_that_some_result_shows_revealed_is_not_said_to_be_never_revealed() -> None:
    """If another result observed FR-001.reveals-user to hold, a tool's absence stands alone."""
    held = result("b", "pass", observed=("FR-001.reveals-user",))

    (cause,) = root_causes(failed("a", ABSENT), held)

    assert cause.rule == "alone"


STATUS = finding("FR-004.precedence", state=(*CONFIG, *PENDING), allowed="disabled_by_config",
                 observed="pending_approval")  # fmt: skip
COUNTS = finding("FR-010.sum", allowed={"disabled_by_config": 3, "pending_approval": [0, 1]},
                 observed={"disabled_by_config": 1, "pending_approval": 3})  # fmt: skip
TEXT = finding("SC-003.rejection", state=(*CONFIG, *PENDING), observed="Ask for approval.",
               due="disabled_by_config", taken_for="pending_approval")  # fmt: skip


def test_the_same_lock_named_for_another_is_one_cause_on_every_surface() -> None:
    """One status in the place of another is one cause in a status, in counts and in a refusal.

    A finding without a status that breaks the same clause of the same tool belongs to it.
    """
    bare = finding("SC-003.rejection", state=(*CONFIG, *PENDING), observed="Not yet.")

    wrong = {"a": STATUS, "b": COUNTS, "c": TEXT, "d": bare}
    (cause,) = root_causes(*(failed(name, each) for name, each in wrong.items()))

    assert (cause.id, cause.rule) == ("pending-approval-before-disabled-by-config", "taken_for")
    assert set(cause.results) == {"a", "b", "c", "d"}


@pytest.mark.parametrize(
    ("wrong", "pair"),
    [
        pytest.param(STATUS, ("disabled_by_config", "pending_approval"), id="status"),
        pytest.param(COUNTS, ("disabled_by_config", "pending_approval"), id="counts"),
        pytest.param(TEXT, ("disabled_by_config", "pending_approval"), id="text"),
        pytest.param(ABSENT, None, id="absent"),
        pytest.param(finding("FR-004.enum", allowed="disabled_by_user", observed="off"), None,
                     id="no status"),
        pytest.param(finding("FR-004.precedence", observed="disabled_by_user",
                             allowed=["disabled_by_config", "server_disabled"]), None,
                     id="several due"),
        pytest.param(finding("FR-010.sum", allowed={"disabled_by_user": 1}, observed={}), None,
                     id="only too few"),
    ],
)  # fmt: skip
def test_one_lock_is_taken_for_another_where_both_are_known(
    wrong: Finding, pair: tuple[str, str] | None
) -> None:
    """`confusion` returns (status due, status named), or None if not both are known.

    They are the finding's own members, its two sides, or counts of which one fell and one rose.
    """
    assert confusion(wrong) == pair


def test_a_clause_that_others_break_in_the_same_findings_only_follows_from_it() -> None:
    """A clause broken only in findings that break another one, too, has no cause of its own.

    It has one as soon as some finding breaks it alone.
    """
    both = finding("FR-001.default-off", "FR-002.no-section")
    alone = finding("FR-002.no-section")

    assert ids(failed("a", both), failed("b", finding("FR-001.default-off"))) == {
        "fr-001-default-off": ("b", "a")
    }
    assert ids(failed("a", both), failed("b", both), failed("c", finding("FR-001.default-off")),
               failed("d", alone)) == {
        "fr-001-default-off": ("c", "a", "b"), "fr-002-no-section": ("d",),
    }  # fmt: skip


def test_failures_about_servers_with_one_signal_are_one_cause() -> None:
    """Failures about servers with the same signal are one cause, `same_state`, on any clauses.

    A failure with another signal is a cause `alone`.
    """
    reset = ("reset",)
    (first, second) = root_causes(
        failed("a", finding("T2.cut", state=reset)),
        failed("b", finding("P2.retries", state=reset)),
        failed("c", finding("T3.server-error", state=("status 503",))),
    )

    assert (first.rule, first.results) == ("same_state", ("a", "b"))
    assert (second.rule, second.results) == ("alone", ("c",))


def test_clauses_that_one_text_breaks_are_one_cause() -> None:
    """Findings that observed the same text of the target are one cause.

    One same letter is not enough: then they are two.
    """
    text = "Ask the user to switch it on."

    (cause,) = root_causes(failed("a", finding("FR-008.config", observed=text)),
                     failed("b", finding("FR-008.pointer", observed=[text])))  # fmt: skip

    assert cause.rule == "same_text"
    assert len(root_causes(failed("a", finding("FR-008.config", observed="x")),
                     failed("b", finding("FR-008.pointer", observed="x")))) == 2  # fmt: skip


def test_clauses_that_one_act_breaks_are_one_cause() -> None:
    """Failures of several clauses that have an act in common are one cause, `same_origin`.

    It is joined by a clause whose findings are of two acts. A failure of a third act stands alone.
    """
    first = failed("a", finding("RLY.up.wellformed", origin="case 1"))
    second = failed("b", finding("RLY.up.arguments.decimals", origin="case 2"))
    both = failed("c", finding("RLY.up.arguments.text", origin="case 1"),
                  finding("RLY.up.arguments.text", origin="case 2"))  # fmt: skip
    other = failed("d", finding("RLY.up.name", origin="case 3"))

    one, alone = root_causes(first, second, both, other)

    assert (one.rule, one.results) == ("same_origin", ("a", "b", "c"))
    assert alone.results == ("d",)


def test_an_open_result_follows_from_the_cause_that_breaks_what_it_needs() -> None:
    """An inconclusive result is listed under the cause that breaks a clause that it `needs`.

    Of its clauses, `leaves_open` has only those that are not broken.
    """
    waits = result("b", "inconclusive", "FR-009.note", "FR-001.reveals-user",
                   needs=("FR-001.reveals-user",))  # fmt: skip

    (cause,) = root_causes(failed("a", ABSENT), waits)

    assert (cause.leaves_open, cause.open_results) == (("FR-009.note",), ("b",))


def test_an_open_result_that_needs_nothing_broken_is_a_cause_by_itself() -> None:
    """Two inconclusive results of one cause and reason are one cause, after those of failures."""
    open_ = [result(name, "inconclusive", "FR-009.note", cause="control", reason="no match")
             for name in "bc"]  # fmt: skip

    first, second = root_causes(failed("a", ABSENT), *open_)

    assert first.verdict == "fail"
    assert (second.verdict, second.rule, second.open_results) == (
        "inconclusive", "same_reason", ("b", "c"),
    )  # fmt: skip


def lack(cause: Any, **members: Any) -> Lack:
    """Return the lack of a lock `server`, for this cause."""
    own = {"reason": "the lock had no effect", "on": ("barn:seal",)} | members
    return Lack(capability="server_off", operation="lock server", cause=cause, **own)


@pytest.mark.parametrize(
    ("members", "sentence"),
    [
        ({"lacks": (lack("no_effect"),)},
         "`lock server` of barn:seal (capability server_off): the lock had no effect"),
        ({"lacks": (lack("not_declared", on=("a:b", "a:c", "a:d", "a:e")),)},
         "declare server_off, for `lock server` of a:b, a:c, a:d and 1 more"),
        ({"hint": "set it", "lacks": (lack("not_declared"), lack("no_effect", on=()))},
         "set it; `lock server` (capability server_off): the lock had no effect"),
        ({"needs": ("FR-010.block",), "lacks": (lack("not_declared"),)},
         "first see to FR-010.block"),
        ({}, ("no lock is missing here: the target has to answer as the reason says;"
             " `mcp-proxy-conformance explain FR-004.once` shows what is looked for")),
    ],
)  # fmt: skip
def test_what_would_settle_an_open_result_names_what_it_lacks(
    members: dict[str, Any], sentence: str
) -> None:
    """It is the hint or the needed clauses, and each lock that could not be relied on.

    An undeclared one is named if there is nothing else.
    """
    (cause,) = root_causes(result("a", "inconclusive", "FR-004.once", **members))

    assert cause.mend == sentence


def test_advisory_failures_have_no_cause_and_waived_ones_come_last() -> None:
    """An advisory failure has no cause; the cause of a waived one is marked and comes last."""
    aside = failed("a", finding("FR-001.by-description"), level="advisory")
    known = msgspec.structs.replace(failed("b", ABSENT), verdict="waived")

    first, second = root_causes(known, aside, failed("c", STATUS))

    assert (first.waived, second.waived) == (False, True)


def test_no_two_causes_have_one_id() -> None:
    """A second cause of the same id gets the suffix `-2`."""
    open_ = [result(name, "inconclusive", "FR-009.note", reason=name) for name in "ab"]

    assert [cause.id for cause in root_causes(*open_)] == ["inconclusive-fr-009-note",
                                                     "inconclusive-fr-009-note-2"]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "allowed", "observed", "names"),
    [
        pytest.param("status of forge:drop (at /mcp)", "x", "y", ["forge:drop"], id="path"),
        pytest.param("", ["forge:drop", "barn:seal"], ["barn:seal"], ["forge:drop"], id="sides"),
        pytest.param("forge:dropped, forge", "x", "y", [], id="no whole name"),
    ],
)
def test_a_finding_is_about_the_tools_that_it_names(
    path: str, allowed: object, observed: object, names: list[str]
) -> None:
    """`about` ties a finding to the tools named whole in its path.

    Else to those in which its two sides differ; to none if no name is whole.
    """
    wrong = Finding(path=path, clauses=("FR-004.enum",), allowed=allowed, observed=observed)

    assert [matter.name for matter in about(wrong, STATES).about] == names
