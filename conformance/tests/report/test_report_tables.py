"""Results as JUnit XML and SARIF: the element of each verdict, numbers, times, hostile words."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import needs
import pytest
from hand_written_reports import BAD, MANY, ONE, REPORTS, Json, report, result, typed

from mcp_proxy_conformance.report import junit, sarif


def cases(document: Json) -> list[ET.Element]:
    """Return the test cases of a report rendered as JUnit XML, as elements in order."""
    return list(ET.fromstring(junit.render(typed(document))).iter("testcase"))  # noqa: S314 - it is ours


@pytest.mark.parametrize(
    ("outcome", "tag", "kind"),
    [
        (result("pass"), None, None),
        (result("fail"), "failure", "fail"),
        (result("inconclusive"), "failure", "inconclusive"),
        (result("error"), "error", "adapter"),
        (result("not_applicable"), "skipped", None),
        (result("waived"), "skipped", None),
        (result("fail", level="advisory"), "system-out", None),
        (result("inconclusive", level="advisory"), "system-out", None),
        (result("error", level="advisory"), "system-out", None),
        (result("error", level="advisory") | {"blame": "suite"}, "error", "suite"),
    ],
)
def test_junit_has_each_verdict(outcome: Json, tag: str | None, kind: str | None) -> None:
    """In JUnit XML a required failure or open result is a failure, an error an error.

    Advisory ones pass with `system-out`, but for an error of the suite; others are skipped or bare.
    """
    (case,) = cases(report(outcome))

    children = [(child.tag, child.get("type")) for child in case if child.tag != "properties"]
    assert children == ([] if tag is None else [(tag, kind)])


def test_junit_counts_what_it_holds() -> None:
    """The suite element of JUnit XML has the numbers of tests, failures, errors, skips; seconds."""
    root = ET.fromstring(junit.render(typed(MANY)))[0]  # noqa: S314 - it is ours

    sums = {name: root.get(name) for name in ("tests", "failures", "errors", "skipped", "time")}
    assert sums == {
        "tests": "151", "failures": "60", "errors": "30", "skipped": "30", "time": "2.500"
    }  # fmt: skip


def test_junit_names_clause_check_case_and_time() -> None:
    """A case of JUnit XML has check and case as name, its seconds, and its first clause as class.

    All of its clauses are its group.
    """
    failed = result("fail") | {"clauses": ["FR-006.cap", "FR-006.odd-limits"]}
    (case,) = cases(report(failed))

    assert case.attrib == {
        "classname": "FR-006.cap",
        "name": "test_cap[11]",
        "group": "FR-006.cap FR-006.odd-limits",
        "time": "0.250",
    }


def test_junit_carries_hostile_words_as_words() -> None:
    """In JUnit XML hostile words are text of two failures; forbidden characters are escapes."""
    failed = [failure for case in cases(BAD) for failure in case.iter("failure")]

    assert [list(failure) for failure in failed] == [[], []]
    assert "<script>alert(1)</script>" in str(failed[0].text)
    assert "\\x00\\x1b[2J\\u202e\\ufffe\\x85" in str(failed[0].text)


@pytest.mark.parametrize("spent", [None, "x", True, -1, 1e300, 10**400, float("nan")])
def test_junit_has_no_time_that_cannot_be(spent: object) -> None:
    """In JUnit XML a time that is not a usable number is written as 0.000."""
    timing = {"seconds": spent, "results": {"test_cap[11]": {"seconds": spent}}}
    (case,) = cases(ONE | {"timing": timing})

    assert case.get("time") == "0.000"


@pytest.mark.parametrize("timing", [{}, {"results": []}, {"results": {"test_cap[11]": 1}}])
def test_junit_needs_no_timing(timing: Json) -> None:
    """In JUnit XML a case has the time 0.000 if the report's timing lacks it or is malformed."""
    (case,) = cases(ONE | {"timing": timing})

    assert case.get("time") == "0.000"


def test_junit_of_a_run_that_broke_is_not_green() -> None:
    """In JUnit XML a broken run without results has one case: an error with reason and headline."""
    (case,) = cases(report(text="it did not start") | {"exit": 3, "headline": "target broke"})

    assert [(child.tag, child.attrib) for child in case] == [
        ("error", {"message": "it did not start", "type": "target broke"})
    ]


def sarif_run(document: Json) -> Json:
    """Return the only run of a report rendered as SARIF, which must have version 2.1.0."""
    log = json.loads(sarif.render(typed(document)))
    (run,) = log["runs"]
    assert (log["version"], sorted(log)) == ("2.1.0", ["$schema", "runs", "version"])
    return dict(run)


@pytest.mark.parametrize("name", REPORTS)
def test_sarif_has_the_members_that_it_must_have(name: str) -> None:
    """The SARIF of a report has a tool, unique rules, and a successful execution.

    Results are errors with a text and a location, and point at their rule.
    """
    run = sarif_run(REPORTS[name])
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]

    assert run["tool"]["driver"]["name"] == "mcp-proxy-conformance"
    assert len(rules) == len(set(rules))
    assert all(rules[finding["ruleIndex"]] == finding["ruleId"] for finding in run["results"])
    assert {finding["level"] for finding in run["results"]} <= {"error"}
    assert all(finding["message"]["text"] and finding["locations"] for finding in run["results"])
    assert run["invocations"][0]["executionSuccessful"] is True


@pytest.mark.parametrize(("name", "many"), [("none", 0), ("one", 1), ("many", 30), ("hostile", 1)])
def test_sarif_has_a_result_for_each_required_failure(name: str, many: int) -> None:
    """In SARIF required failures are results; inconclusive and broken checks are notifications."""
    run = sarif_run(REPORTS[name])

    notifications = run["invocations"][0]["toolExecutionNotifications"]
    assert len(run["results"]) == many
    assert len(notifications) == sum(
        recorded["verdict"] in ("inconclusive", "error") for recorded in REPORTS[name]["results"]
    )


@needs.discovery
def test_sarif_rules_are_clauses_with_their_sentence_and_source() -> None:
    """A rule of SARIF has its clause's sentence and source.

    An advisory one has the level `note`.
    """
    rules = {rule["id"]: rule for rule in sarif_run(ONE)["tool"]["driver"]["rules"]}

    assert rules["FR-006.cap"]["shortDescription"]["text"].startswith("An answer has at most")
    assert rules["FR-006.cap"]["properties"]["source"] == "discovery-spec FR-006"
    assert rules["FR-006.fills"]["defaultConfiguration"] == {"level": "note"}


def test_sarif_messages_hold_no_link_and_no_placeholder() -> None:
    """In a SARIF message, hostile words make no link, and their braces are doubled."""
    (sarif_result,) = sarif_run(BAD)["results"]

    assert "](" not in sarif_result["message"]["text"]
    assert "{{{{ 7*7 }}}}" in sarif_result["message"]["text"]


def test_sarif_of_a_run_that_broke_says_so() -> None:
    """The SARIF of a broken run has no results, and its execution was not successful."""
    run = sarif_run(report(text="it did not start") | {"exit": 3})

    assert run["results"] == []
    assert run["invocations"][0]["executionSuccessful"] is False
