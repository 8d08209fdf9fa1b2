"""Causes of failures on a terminal, in Markdown, GitHub, JUnit, SARIF, begun files."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import needs
import pytest
from action_runner import commands
from hand_written_endings import result_of
from hand_written_reports import Json, clause, report, typed

from mcp_proxy_conformance.catalogue.requirement import profile
from mcp_proxy_conformance.report import github, junit, markdown, sarif
from mcp_proxy_conformance.report.terminal import render
from mcp_proxy_conformance.verdict.deviations.draft import begun, broken

pytestmark = needs.discovery
PATH = Path("out/report.json")
LOCKED = [{"name": "forge:drop", "state": ["user"]}]
ROOT, FURTHER = "FR-001.reveals-user", "FR-001.by-description"
SENTENCE = "A tool that the user disabled is never revealed by include_disabled."


def absent(check: str, clause_id: str) -> Json:
    """Return a failure of this check on that clause: a user-locked tool is absent."""
    absence = {"path": "status of forge:drop", "clauses": [clause_id], "observed": "absent",
               "allowed": "disabled_by_user", "about": LOCKED}  # fmt: skip
    return result_of(check, [clause_id], findings=[absence], evidence=[], reason="not there")


def run(*results: Json) -> Json:
    """Return the report of a run with these results, as JSON.

    Each clause has the verdict of the first result on it.
    """
    ids = dict.fromkeys(name for each in results for name in each["clauses"])
    verdicts = {name: each["verdict"] for each in reversed(results) for name in each["clauses"]}
    clauses = [clause(name, "required", verdicts[name], "not there") for name in ids]
    return report(*results) | {"clauses": clauses}


WAITS = result_of("test_note", ["FR-009.note"], verdict="inconclusive", needs=[ROOT], findings=[],
                  evidence=[], reason="the flag reveals nothing")  # fmt: skip
THREE = run(absent("test_revealed", ROOT), absent("test_by_word", FURTHER), WAITS)
MANY = run(
    *(absent(f"test_{number}", ROOT) for number in range(40)),
    *(result_of(f"test_of_{name.lower()}", [name], findings=[], evidence=["x: 1"])
      for name in profile("discovery").clauses if name != ROOT),
)  # fmt: skip


@pytest.mark.parametrize("columns", [0, 60, 80, 120])
@pytest.mark.parametrize("detail", ["usual", "quiet"])
def test_a_failing_run_takes_sixty_lines_with_its_causes_first(columns: int, detail: Any) -> None:
    """The output on many failures has at most 60 lines of the terminal, and says what is left out.

    It begins with the number of causes; the cause of most results comes first.
    """
    lines = render(typed(MANY), PATH, detail=detail, columns=columns).splitlines()

    first = next(line for line in lines if line.startswith("FAIL"))
    assert lines[0].startswith(f"{len(profile('discovery').clauses)} causes: ")
    assert first.startswith("FAIL  1. A tool that the user disabled is never revealed")
    assert sum(max(1, -(-len(line) // (columns or 80))) for line in lines) <= 60
    assert any(line.startswith("... and ") for line in lines)


def test_verbose_lists_the_causes_and_every_failure() -> None:
    """With --verbose the causes come before the failures by clause.

    A cause names the clauses that are inconclusive until then.
    """
    output = render(typed(THREE), PATH, detail="verbose", columns=80)

    assert output.index(f"FAIL  1. {SENTENCE}") < output.index(f"FAIL  {ROOT}  (")
    assert "inconclusive until then: FR-009.note" in " ".join(output.split())


def test_markdown_has_the_causes_before_the_clauses() -> None:
    """In Markdown, a cause with its sentence and clause comes before the list of clauses."""
    text = markdown.render(typed(THREE))

    assert text.index(f"1. **fail** `{SENTENCE}` `{ROOT}`") < text.index("Clauses: ")


def test_a_job_has_one_annotation_for_a_cause() -> None:
    """Three results of one cause are one `error` of a GitHub job.

    Its title is the clause to look at first; the text has what fails, and what is inconclusive.
    """
    [(level, properties, text)] = commands(github.render(typed(THREE)))

    assert (level, properties["title"]) == ("error", ROOT)
    assert SENTENCE in text
    assert (
        "fail: FR-001.reveals-user, FR-001.by-description; inconclusive until then: FR-009.note"
        in text
    )


def test_junit_has_the_causes_as_properties_and_in_each_failure() -> None:
    """In JUnit XML a cause is a property by its id, and each failure's text begins with that id."""
    suites = ET.fromstring(junit.render(typed(THREE)))  # noqa: S314 - our own text

    values = {each.get("name"): each.get("value") or "" for each in suites.iter("property")}
    texts = [each.text or "" for each in suites.iter("failure")]
    assert values["cause user-never-revealed"].startswith(SENTENCE)
    assert all(text.startswith("cause user-never-revealed: ") for text in texts)


def test_sarif_names_the_causes_of_each_result() -> None:
    """In SARIF each of two failures has the ids of its causes."""
    log = json.loads(sarif.render(typed(THREE)))

    named = [result["properties"]["causes"] for result in log["runs"][0]["results"]]
    assert named == [["user-never-revealed"]] * 2


def test_a_begun_file_of_known_failures_has_an_entry_for_a_cause() -> None:
    """A file of known failures has one entry for a cause, with both clauses that it breaks.

    Above it are its sentence and reason as comments.
    """
    document = typed(THREE)

    known = broken(document.clauses, document.results)
    text = begun(known, document.causes, date(2999, 1, 1))

    assert text.count("[[deviation]]") == 1
    assert f'# {SENTENCE}\n# not there\nid = ["{ROOT}", "{FURTHER}"]\n' in text
