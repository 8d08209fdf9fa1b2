"""A run as JUnit XML and as SARIF: what each verdict becomes there, well-formed."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import pytest
from told_runs import BAD, MANY, ONE, REPORTS, Json, report, result, typed

from mcp_proxy_conformance.report import junit, sarif


def cases(told: Json) -> list[ET.Element]:
    """The test cases of a report as JUnit XML."""
    return list(ET.fromstring(junit.render(typed(told))).iter("testcase"))  # noqa: S314 - it is ours


@pytest.mark.parametrize(
    ("told", "tag", "kind"),
    [
        (result("pass"), None, None),
        (result("fail"), "failure", "fail"),
        (result("inconclusive"), "failure", "inconclusive"),
        (result("error"), "error", "adapter"),
        (result("not_applicable"), "skipped", None),
        (result("waived"), "skipped", None),
        (result("fail", judgement="A"), "system-out", None),
        (result("inconclusive", judgement="A"), "system-out", None),
        (result("error", judgement="A"), "system-out", None),
        (result("error", judgement="A") | {"blame": "suite"}, "error", "suite"),
    ],
)
def test_junit_tells_each_verdict(told: Json, tag: str | None, kind: str | None) -> None:
    """Firm ones that are not settled fail; advisory ones pass and are told beside."""
    (case,) = cases(report(told))

    found = [(one.tag, one.get("type")) for one in case if one.tag != "properties"]
    assert found == ([] if tag is None else [(tag, kind)])


def test_junit_counts_what_it_holds() -> None:
    """The sums of a suite are those of its cases."""
    root = ET.fromstring(junit.render(typed(MANY)))[0]  # noqa: S314 - it is ours

    sums = {name: root.get(name) for name in ("tests", "failures", "errors", "skipped", "time")}
    assert sums == {
        "tests": "151", "failures": "60", "errors": "30", "skipped": "30", "time": "2.500"
    }  # fmt: skip


def test_junit_names_clause_check_case_and_time() -> None:
    """As a table of tests shows them; every clause is in the group."""
    told = result("fail") | {"clauses": ["FR-006.cap", "FR-006.odd-limits"]}
    (case,) = cases(report(told))

    assert case.attrib == {
        "classname": "FR-006.cap",
        "name": "test_cap[11]",
        "group": "FR-006.cap FR-006.odd-limits",
        "time": "0.250",
    }


def test_junit_carries_hostile_words_as_words() -> None:
    """What XML cannot carry is an escape that is seen; markup of a target is text."""
    failed = [one for case in cases(BAD) for one in case.iter("failure")]

    assert [list(one) for one in failed] == [[], []]
    assert "<script>alert(1)</script>" in str(failed[0].text)
    assert "\\x00\\x1b[2J\\u202e\\ufffe\\x85" in str(failed[0].text)


@pytest.mark.parametrize("spent", [None, "x", True, -1, 1e300, 10**400, float("nan")])
def test_junit_tells_no_time_that_cannot_be(spent: object) -> None:
    """Without a usable number the time is zero."""
    timing = {"seconds": spent, "results": {"test_cap[11]": {"seconds": spent}}}
    (case,) = cases(ONE | {"timing": timing})

    assert case.get("time") == "0.000"


@pytest.mark.parametrize("timing", [{}, {"results": []}, {"results": {"test_cap[11]": 1}}])
def test_junit_needs_no_timing(timing: Json) -> None:
    """The member is free in its form, and may be empty."""
    (case,) = cases(ONE | {"timing": timing})

    assert case.get("time") == "0.000"


def test_junit_of_a_run_that_broke_is_not_green() -> None:
    """Where no result fails and the run is not conformant, a case of its own says why."""
    (case,) = cases(report(text="it did not start") | {"exit": 3, "headline": "target broke"})

    assert [(one.tag, one.attrib) for one in case] == [
        ("error", {"message": "it did not start", "type": "target broke"})
    ]


def sarif_run(told: Json) -> Json:
    """The one run of a report as SARIF."""
    log = json.loads(sarif.render(typed(told)))
    (run,) = log["runs"]
    assert (log["version"], sorted(log)) == ("2.1.0", ["$schema", "runs", "version"])
    return dict(run)


@pytest.mark.parametrize("name", REPORTS)
def test_sarif_has_the_members_that_it_must_have(name: str) -> None:
    """Names, messages with a text, rules once each, and results that point at their rule."""
    run = sarif_run(REPORTS[name])
    rules = [one["id"] for one in run["tool"]["driver"]["rules"]]

    assert run["tool"]["driver"]["name"] == "mcp-proxy-conformance"
    assert len(rules) == len(set(rules))
    assert all(rules[one["ruleIndex"]] == one["ruleId"] for one in run["results"])
    assert {one["level"] for one in run["results"]} <= {"error"}
    assert all(one["message"]["text"] and one["locations"] for one in run["results"])
    assert run["invocations"][0]["executionSuccessful"] is True


@pytest.mark.parametrize(("name", "many"), [("none", 0), ("one", 1), ("many", 30), ("hostile", 1)])
def test_sarif_has_a_result_for_each_failure_that_convicts(name: str, many: int) -> None:
    """What is advisory, not settled or broken is no result; the latter two are notifications."""
    run = sarif_run(REPORTS[name])

    told = run["invocations"][0]["toolExecutionNotifications"]
    assert len(run["results"]) == many
    assert len(told) == sum(
        one["verdict"] in ("inconclusive", "error") for one in REPORTS[name]["results"]
    )


def test_sarif_rules_are_clauses_with_their_sentence_and_source() -> None:
    """The words are those of the catalogue."""
    rules = {one["id"]: one for one in sarif_run(ONE)["tool"]["driver"]["rules"]}

    assert rules["FR-006.cap"]["shortDescription"]["text"].startswith("An answer has at most")
    assert rules["FR-006.cap"]["properties"]["source"] == "discovery-spec FR-006"
    assert rules["FR-006.fills"]["defaultConfiguration"] == {"level": "note"}


def test_sarif_messages_hold_no_link_and_no_placeholder() -> None:
    """`[words](place)` of a target is no link, and `{0}` of one is not filled in."""
    (found,) = sarif_run(BAD)["results"]

    assert "](" not in found["message"]["text"]
    assert "{{{{ 7*7 }}}}" in found["message"]["text"]


def test_sarif_of_a_run_that_broke_says_so() -> None:
    """No results, and an execution that was not successful."""
    run = sarif_run(report(text="it did not start") | {"exit": 3})

    assert run["results"] == []
    assert run["invocations"][0]["executionSuccessful"] is False
