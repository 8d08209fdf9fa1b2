"""Pictures of reports: verdicts of rows and cells, changes between pictures, drawn and coloured."""

from __future__ import annotations

import needs
import pytest
from hand_written_reports import BAD, CLEAN, Json, clause, report, result, typed

from mcp_proxy_conformance.catalogue.requirement import profile
from mcp_proxy_conformance.report import drawing
from mcp_proxy_conformance.report.colour import painted
from mcp_proxy_conformance.report.picture import Picture, changes, picture

pytestmark = needs.discovery
USER = {"name": "forge:drop", "state": ["user"]}
BOTH = {"name": "forge:drop", "state": ["config", "user"]}
AFTER_RESTART = "test_a_user_disabled_tool_is_still_revealed_after_a_restart"


def judged(verdict: str, *clauses: str, **members: object) -> Json:
    """Return a result with this verdict on these clauses, as JSON, without a case.

    A failure has a finding that breaks them all. `members` replace the usual ones.
    """
    findings = [] if verdict != "fail" else [finding(clauses)]
    usual = result(verdict) | {"clauses": list(clauses), "findings": findings, "case": None}
    return usual | members


def finding(clauses: tuple[str, ...], *about: Json) -> Json:
    """Return a finding as JSON that breaks these clauses.

    `about` are the tools concerned, each as {"name": "server:tool", "state": [locks]}.
    """
    return {"path": "", "clauses": list(clauses), "about": list(about)}


def pictured(*results: Json, judged_by: str = "discovery", **reasons: str) -> Picture:
    """Return the picture of a report of these results; AssertionError if it has none.

    A clause's verdict is that of the first result on it; `reasons` are causes by clause id.
    """
    verdicts: dict[str, str] = {}
    for each in results:
        for name in each["clauses"]:
            verdicts.setdefault(name, each["verdict"])
    rows = [clause(name, "required", verdict) for name, verdict in verdicts.items()]
    rows = [row | {"cause": reasons.get(row["id"], "")} for row in rows]
    document = report(*results) | {"clauses": rows}
    document["profile"] = document["profile"] | {"id": judged_by}
    shown = picture(typed(document))
    assert shown is not None
    return shown


def words(shown: Picture, column: str) -> dict[str, str]:
    """Return {row: verdict} of a column of the picture, without blank cells."""
    return {row: cell.verdict for (row, name), cell in shown.cells.items() if name == column}


def test_a_row_of_an_undeclared_capability_does_not_apply() -> None:
    """A pass and an open clause count in no row of a lock that the target does not declare."""
    document = report(
        judged("pass", "FR-009.silent"), judged("inconclusive", "FR-004.precedence")
    ) | {"clauses": [clause("FR-009.silent", "required", "pass")]}
    document["clauses"].append(clause("FR-004.precedence", "required", "inconclusive"))
    document["target"] = document["target"] | {"capabilities": ["config"]}

    shown = picture(typed(document))

    assert shown is not None
    assert words(shown, "status") == {
        "config": "inconclusive",
        **dict.fromkeys(
            ("user", "pending", "changed", "quarantined", "server-off"), "not_applicable"
        ),
    }
    assert words(shown, "note")["config"] == "pass"
    assert words(shown, "note")["pending"] == "not_applicable"


def test_a_clause_that_passes_is_a_pass_in_each_of_its_cells() -> None:
    """A clause on several locks passes in the row of each; a cell without a clause is blank.

    Columns of which nothing was judged are left out.
    """
    shown = pictured(judged("pass", "FR-008.pointer"), judged("pass", "FR-001.reveals-user"))

    assert words(shown, "rejection") == {"config": "pass", "user": "pass"}
    assert words(shown, "revealed") == {"user": "pass"}
    assert [column.id for column in shown.columns] == ["revealed", "rejection"]


def test_a_finding_counts_in_the_row_of_its_tool_alone() -> None:
    """A clause on two locks fails only in the row of the lock of the finding's tool.

    That cell has the failed result only.
    """
    broken = judged("fail", "FR-008.pointer", findings=[finding(("FR-008.pointer",), USER)])
    shown = pictured(broken, judged("pass", "FR-008.pointer", check="test_other"))

    assert words(shown, "rejection") == {"config": "pass", "user": "fail"}
    assert shown.cells["user", "rejection"].clauses == ("FR-008.pointer",)
    assert [each.check for each in shown.cells["user", "rejection"].results] == ["test_cap"]


def test_a_failure_without_a_known_tool_counts_in_every_row() -> None:
    """If a finding is about no known tool, the clause fails in each of its rows."""
    shown = pictured(judged("fail", "FR-008.pointer"))

    assert words(shown, "rejection") == {"config": "fail", "user": "fail"}


def test_a_tool_under_several_locks_counts_as_a_combination() -> None:
    """A finding about a tool with two locks fails in the row `combined`, and in no other."""
    broken = judged("fail", "FR-004.precedence", findings=[finding(("FR-004.precedence",), BOTH)])
    shown = pictured(broken, judged("pass", "FR-004.precedence", check="test_other"))

    verdicts = words(shown, "status")
    assert verdicts.pop("combined") == "fail"
    assert set(verdicts.values()) == {"pass"}


def test_a_stage_of_combinations_counts_there_alone() -> None:
    """A result on the stage `combos` counts in the row `combined`, and in no other."""
    shown = pictured(judged("fail", "FR-004.precedence", stage="combos"))

    assert words(shown, "status") == {"combined": "fail"}


def test_a_check_with_cells_of_its_own_counts_there_alone() -> None:
    """A failure of the check after a restart counts in the column `restart`, not in `revealed`."""
    shown = pictured(
        judged("fail", "FR-001.reveals-user", check=AFTER_RESTART),
        judged("pass", "FR-001.reveals-user"),
    )

    assert words(shown, "restart") == {"user": "fail"}
    assert words(shown, "revealed") == {"user": "pass"}


def test_an_open_case_counts_in_the_rows_of_its_tools() -> None:
    """An inconclusive case of a quarantined tool leaves that row open; the other locks pass."""
    shown = pictured(
        judged("inconclusive", "FR-009.note", check="test_note", case="note-quarantined"),
        judged("pass", "FR-009.note", check="test_other"),
    )

    assert words(shown, "note") == {
        "config": "pass",
        "user": "pass",
        "pending": "pass",
        "changed": "pass",
        "quarantined": "inconclusive",
    }


@pytest.mark.parametrize(
    ("cause", "word"), [("not_asked", None), ("left_out", None), ("not_declared", "not_applicable")]
)
def test_what_was_not_asked_for_is_no_row_of_its_own(cause: str, word: str | None) -> None:
    """A row that was not asked for, or was left out, is not shown; its cell is `not_asked`.

    A row of a lock that is not declared is shown as not applicable.
    """
    missing = judged("not_applicable", "FR-001.reveals-pending", cause=cause)
    shown = pictured(
        missing, judged("pass", "FR-001.reveals-user"), **{"FR-001.reveals-pending": cause}
    )

    assert ("pending" in [row.id for row in shown.rows]) == (word is not None)
    assert shown.cells["pending", "revealed"].verdict == (word or "not_asked")


def test_what_is_about_no_lock_stands_beside_the_grid() -> None:
    """Clauses about no lock share a cell beside the grid, as bad as the worst of them.

    Without clauses on locks there are no rows.
    """
    shown = pictured(judged("pass", "FR-001.accepts"), judged("fail", "FR-014.described"))

    assert [(cell.name, cell.verdict) for cell in shown.beside] == [("the flag", "fail")]
    assert shown.rows == ()


@needs.resilience
def test_a_server_counts_in_the_row_of_its_behaviour() -> None:
    """A finding about a server that answers 503 fails in the row `server-error` only."""
    about = {"name": "alpha", "state": ["status 503 at tools/list"]}
    broken = judged("fail", "O4.error", findings=[finding(("O4.error",), about)])
    passed = judged("pass", "O4.error", check="test_other")

    verdicts = words(pictured(broken, passed, judged_by="resilience"), "error")

    assert [row for row, verdict in verdicts.items() if verdict == "fail"] == ["server-error"]


@pytest.mark.parametrize("name", ["someone-elses", "discovery"])
def test_nothing_judged_is_no_picture(name: str) -> None:
    """A report without judged clauses has no picture, under a profile with a grid or without."""
    document = CLEAN | {"clauses": [], "profile": CLEAN["profile"] | {"id": name}}

    assert picture(typed(document)) is None


def test_what_differs_between_pictures_is_named() -> None:
    """`changes` lists each cell whose verdicts differ, with one verdict for each picture.

    The verdict is None where a picture or its cell is missing.
    """
    one = pictured(judged("pass", "FR-001.reveals-user"), judged("pass", "FR-001.accepts"))
    two = pictured(judged("fail", "FR-001.reveals-user"))

    assert changes([one, two, None]) == (
        ("by the user, revealed", ("pass", "fail", None)),
        ("the flag", ("pass", None, None)),
    )


def whole() -> Picture:
    """Return the picture of a report in which each clause of discovery passes."""
    return pictured(*(judged("pass", name) for name in profile("discovery").clauses))


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_no_line_of_a_picture_is_as_wide_as_the_terminal(columns: int) -> None:
    """A picture of all cells has at most 15 lines, each narrower than the terminal."""
    lines = painted(drawing.lines(whole(), columns), colour=False).split("\n")

    assert max(map(len, lines)) < columns
    assert len(lines) <= 15


def test_a_picture_is_coloured_word_by_word() -> None:
    """In a picture's lines, only `ok` and `FAIL` are coloured, each by itself."""
    broken = judged("fail", "FR-008.pointer", findings=[finding(("FR-008.pointer",), USER)])
    shown = pictured(broken, judged("pass", "FR-008.pointer", check="test_other"))

    text = painted(drawing.lines(shown, 80), colour=True)

    assert text == (
        "What the proxy shows of a tool, by what locks it:\n            rejection\n"
        "by config          \x1b[32mok\x1b[0m\nby the user      \x1b[1;31mFAIL\x1b[0m"
    )


def test_a_picture_in_markdown_holds_our_own_words_alone() -> None:
    """The picture of a hostile report is, in Markdown, a titled table without hostile words."""
    shown = picture(typed(BAD))
    assert shown is not None

    text = "\n".join(drawing.markdown(shown))

    assert text.startswith("**What the proxy shows of a tool, by what locks it**\n\n| | counts |\n")
    assert "script" not in text
