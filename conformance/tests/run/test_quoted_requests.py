"""The request that a failure quotes: the one whose answer is wrong, of all that its check sends."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_proxy_conformance.catalogue.requirement import profile
from mcp_proxy_conformance.report.document import Report
from mcp_proxy_conformance.report.evidence import guilty
from mcp_proxy_conformance.report.phrases import request
from mcp_proxy_conformance.report.reader import read_report
from mcp_proxy_conformance.run.request import Selection
from mcp_proxy_conformance.run.subjects import proxy
from mcp_proxy_conformance.selftest.trial import trial, tried
from mcp_proxy_conformance.targets.embedded import embedded
from mcp_proxy_conformance.verdict.result import Result
from mcp_proxy_mutants.proxy.changed import Changed
from mcp_proxy_mutants.proxy.mutants import mutants

ITSELF = Changed(id="itself", text="The reference itself.")
MUTANTS = {mutant.id: mutant for mutant in mutants()}
ODD = "test_an_odd_limit_neither_lifts_the_cap_nor_stops_the_target"
PAIRS = [
    (mutant.id, mutant.breaks[0])
    for mutant in MUTANTS.values()
    if mutant.breaks[0] in profile("discovery").clauses
]
QUICK = PAIRS[::90]
"""The pairs that are tried at each run of the tests."""
_IDS = re.compile(r'"id":\s*\d+|127\.0\.0\.1:\d+')


def report_of(changed: Changed, wanted: Selection, place: Path) -> Report:
    """Run the wanted checks on the changed reference; return the report."""
    tried(trial(embedded(changed), wanted), place)
    return read_report(place / "report.json")


def failures(report: Report) -> list[Result]:
    """Return the failing results of a report; there is one at least."""
    failed = [result for result in report.results if result.verdict == "fail"]
    assert failed
    return failed


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("negative-limit-cuts-from-behind", "-1"),
        ("fractions-lift-the-cap", "2.7"),
        ("limit-0-is-all", "0"),
        ("limit-text-is-all", '"5"'),
    ],
)
def test_of_many_requests_the_failing_one_is_quoted(name: str, limit: str, tmp_path: Path) -> None:
    """The curl line of a proxy that is wrong at one limit of seven has that limit."""
    report = report_of(MUTANTS[name], Selection(alone=ODD), tmp_path)

    assert [f'"limit":{limit}}}' in request(each, report) for each in failures(report)] == [True]


def exchanges(result: Result, report: Report) -> Iterator[tuple[str, str, str]]:
    """Yield (request, answer, place of the answer) of a result's exchanges, without their ids."""
    asked = ""
    for place in result.messages:
        message = report.messages[place]
        body = _IDS.sub("", message.body)
        if (message.edge, message.direction) == ("client", "sent"):
            who = message.headers.get("Authorization", "")
            asked = f"{message.peer.rpartition('/')[2]} {who} {body}"
        elif message.edge == "client":
            yield asked, body, place


@pytest.mark.parametrize(
    ("name", "clause"),
    [
        pytest.param(*pair, marks=() if pair in QUICK else pytest.mark.proof(parts=150))
        for pair in PAIRS
    ],
)
def test_a_quoted_answer_is_not_one_of_the_reference(
    name: str, clause: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a mutant answers some request otherwise than the reference, such an answer is quoted.

    The reference gets the same requests of the same checks. Laws quote a case instead.
    """
    monkeypatch.setattr(proxy, "PASS_EXCERPT", 10**6)
    citing = Selection(clauses=frozenset({clause}))
    right = report_of(ITSELF, citing, tmp_path / "itself")
    wrong = report_of(MUTANTS[name], citing, tmp_path / name)

    for result in failures(wrong):
        usual = defaultdict[str, set[str]](set)
        own = next(each for each in right.results if each.name == result.name)
        for asked, answer, _ in exchanges(own, right):
            usual[asked].add(answer)
        unlike = [at for asked, body, at in exchanges(result, wrong) if body not in usual[asked]]
        quoted = [culprit.place for culprit in guilty(result, wrong.messages)]
        assert not unlike or not quoted or {*unlike} & {*quoted}
