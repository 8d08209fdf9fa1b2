"""The request that a failure quotes: the one whose answer is wrong, of all that its check sends."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_proxy_conformance.discovery import driven_proxy as proxy
from mcp_proxy_conformance.discovery.targets.embedded import embedded
from mcp_proxy_conformance.report.document import Report
from mcp_proxy_conformance.report.evidence import guilty
from mcp_proxy_conformance.report.reader import read_report
from mcp_proxy_conformance.run.request import Selection
from mcp_proxy_conformance.selftest.trial import trial, tried
from mcp_proxy_conformance.verdict.result import Result
from mcp_proxy_mutants.discovery.changed import Changed
from mcp_proxy_mutants.discovery.mutants import mutants

ITSELF = Changed(id="itself", text="The reference itself.")
MUTANTS = {mutant.id: mutant for mutant in mutants()}
QUICK = (
    ("cap-lets-one-more", "test_the_cap_holds_on_every_endpoint"),
    ("flag-sorts-by-name", "test_the_flag_keeps_every_byte_of_the_callable_part"),
    ("listing-of-the-first", "test_who_listed_before_moves_no_listing"),
    ("note-adds-passes", "test_the_note_counts_a_tool_once_whatever_locks_it"),
)
PAIRS = (
    *QUICK,
    ("withheld-descriptions-rank", "test_no_withheld_text_moves_its_tool_in_an_answer"),
    ("note-gives-an-example", "test_the_note_does_not_give_the_locked_tools_away"),
)
"""Mutants, each with a check that convicts it; QUICK are tried at each run of the tests."""
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
    ("name", "check"),
    [
        pytest.param(*pair, marks=() if pair in QUICK else pytest.mark.proof(parts=4))
        for pair in PAIRS
    ],
)
def test_a_quoted_answer_is_not_one_of_the_reference(
    name: str, check: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a mutant answers some request otherwise than the reference, such an answer is quoted.

    The reference gets the same requests of the same check.
    """
    monkeypatch.setattr(proxy, "PASS_EXCERPT", 10**6)
    alone = Selection(alone=check)
    right = report_of(ITSELF, alone, tmp_path / "itself")
    wrong = report_of(MUTANTS[name], alone, tmp_path / name)

    for result in failures(wrong):
        usual = defaultdict[str, set[str]](set)
        own = next(each for each in right.results if each.name == result.name)
        for asked, answer, _ in exchanges(own, right):
            usual[asked].add(answer)
        unlike = [at for asked, body, at in exchanges(result, wrong) if body not in usual[asked]]
        quoted = [culprit.place for culprit in guilty(result, wrong.messages)]
        assert not unlike or not quoted or {*unlike} & {*quoted}
