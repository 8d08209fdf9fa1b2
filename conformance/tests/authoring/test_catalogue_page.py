"""`explain` and the catalogue as one page: links, tables, completeness, profiles, refused words."""

from __future__ import annotations

import re
from pathlib import Path

import needs
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from pages import GITHUB

from mcp_proxy_conformance.authoring.catalogue_page import page
from mcp_proxy_conformance.authoring.explained import explained
from mcp_proxy_conformance.catalogue.interpretation import interpretations
from mcp_proxy_conformance.catalogue.requirement import catalogue, profile
from mcp_proxy_conformance.cli import main
from mcp_proxy_conformance.report.markup import prose
from mcp_proxy_conformance.selftest.shipped import shipped

pytestmark = needs.discovery
DATA = shipped()
PAGE = page(DATA)
RENDERER = MarkdownIt("commonmark").enable("table")
SEVERAL = [
    "",
    "FR-006",
    "FR-006.cap",
    "US1-1",
    "DM.contract-types",
    pytest.param("T1", marks=needs.resilience),
]


def explain(*arguments: str) -> tuple[int, str]:
    """Run `explain` with these arguments in this process; return its exit code and output."""
    done = CliRunner().invoke(main, ["explain", *arguments])
    return done.exit_code, done.output


def section(clause_id: str) -> str:
    """Return the part of the page about this clause; empty if it has none."""
    return PAGE.partition(f'<a id="{clause_id}"></a>\n')[2].partition("\n<a id=")[0]


@pytest.mark.parametrize("wanted", SEVERAL)
def test_every_link_leads_to_the_one_anchor_of_its_name(wanted: str) -> None:
    """Each link of the page, whole or for one id, leads to an anchor, and no anchor is there twice.

    There is at least one link.
    """
    html = RENDERER.render(page(DATA, wanted))

    links = set(re.findall('href="#([^"]+)"', html))
    anchors = re.findall('<a id="([^"]+)"></a>', html)

    assert links - set(anchors) == set()
    assert len(anchors) == len(set(anchors))
    assert links


def test_every_table_has_one_number_of_columns() -> None:
    """The page has more than 200 tables; all rows of a table have the same number of cells.

    A Markdown renderer makes as many tables of it.
    """
    tables = [
        block.rstrip().split("\n") for block in re.findall(r"(?:^\|.*\n)+", PAGE, re.MULTILINE)
    ]
    uneven = [
        rows[0] for rows in tables if len({len(re.split(r"(?<!\\)\|", row)) for row in rows}) != 1
    ]

    assert len(tables) > 200
    assert uneven == []
    assert RENDERER.render(PAGE).count("<table>") == len(tables)


def test_nothing_of_the_catalogue_is_left_out() -> None:
    """Each requirement, clause, interpretation, case and check is on the page, and each proof.

    Requirements, clauses, interpretations and cases have anchors; the first mutants that break a
    clause are named as code; each untested requirement has its reason.
    """
    names = [row.id for row in catalogue().requirements]
    names += [*catalogue().clauses, *(f"interpretation-{row.id}" for row in interpretations())]
    names += [f"case-{case.id}" for case in DATA.cases]
    firm = [explained(clause.id, DATA) for clause in DATA.firm()]
    listed = [mutant.id for facts in firm for mutant in facts.broken]
    untested = [row.untested for row in catalogue().requirements if row.untested]

    assert [name for name in names if f'<a id="{name}"></a>' not in PAGE] == []
    assert [name for name in listed if f"`{name}`" not in PAGE] == []
    assert [check.name for check in DATA.checks if f"::{check.name}`" not in PAGE] == []
    assert [why for why in untested if prose(why) not in PAGE] == []


def test_a_clause_is_listed_with_all_that_proves_it() -> None:
    """The section on FR-006.cap has its level, source, profiles, checks, cases and mutants."""
    text = section("FR-006.cap")

    for words in (
        "- Level: **required**, a breach fails the target.",
        "- Source: discovery-spec, FR-006\n",
        f"- Profiles: `{profile('discovery').name}`, `{profile('discovery-live').name}`\n",
        "- Interpretation [cap-fills](#interpretation-cap-fills): Exceeding the cap",
        "::test_the_cap_holds_on_every_endpoint` | At every endpoint",
        "[limits-1-at-1](#case-limits-1-at-1)",
        "| `exact-name-beside-the-cap` | A withheld tool that is named exactly",
    ):
        assert words in text


@needs.resilience
def test_a_profile_leaves_out_what_it_does_not_judge() -> None:
    """The page of a profile has a section on each clause of the profile, and on no other clause."""
    basic = profile("resilience-basic")

    text = page(DATA, within=basic)

    anchors = set(re.findall('<a id="([^"]+)"></a>', text))
    assert anchors & set(catalogue().clauses) == set(basic.clauses)


def test_the_same_data_make_the_same_bytes(tmp_path: Path) -> None:
    """`explain --all --format markdown` prints the page; with --out it writes the same bytes."""
    out = tmp_path / "catalogue.md"

    printed = explain("--all", "--format", "markdown")
    written = explain("--all", "--format", "markdown", "--out", str(out))

    assert printed == (0, PAGE)
    assert (written, out.read_text(encoding="utf-8")) == ((0, ""), PAGE)


@needs.every
def test_the_table_of_sentences_is_what_the_command_prints() -> None:
    """`explain sentences` prints the page SENTENCES.md as it is stored."""
    shown = (GITHUB / "SENTENCES.md").read_text(encoding="utf-8")

    assert explain("sentences") == (0, shown)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
def test_a_sentence_comes_out_of_markdown_as_it_went_in(text: str) -> None:
    """Any text that `prose` has escaped is one cell of a Markdown table, and makes no HTML tag.

    Backquotes are taken out before.
    """
    escaped = prose(f"A {text} z").replace("`", "")

    html = RENDERER.render(f"| head |\n|---|\n| {escaped} |\n")

    assert html.count("<td") == 1
    assert re.findall("<(?!/?(?:table|thead|tbody|tr|th|td|code)[ >])", html) == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "name one clause, requirement or case, or give --all"),
        (("FR-006", "--all"), "name one clause, requirement or case, or give --all"),
        (("FR-006", "--profile", "discovery"), "--profile needs --all"),
        (("FR-06.cap",), "no clause or requirement 'FR-06.cap'; the nearest is 'FR-006.cap'"),
        (("--all", "--profile", "discover"), "no profile 'discover'; the nearest"),
        (("--all", "--out", "/dev/null/x"), "/dev/null/x cannot be written"),
    ],
)
def test_what_cannot_be_explained_is_refused_in_a_sentence(
    arguments: tuple[str, ...], sentence: str
) -> None:
    """`explain` with missing, contradictory or unknown arguments ends with exit 2 and one line."""
    code, output = explain(*arguments)

    assert (code, output.count("\n")) == (2, 1)
    assert sentence in output


def test_a_requirement_is_explained_with_all_of_its_clauses() -> None:
    """`explain FR-008` names each clause of that requirement, exit 0.

    `explain US1-4`, which has no clauses, names those that prove it.
    """
    code, text = explain("FR-008")
    _, proved = explain("US1-4")

    assert code == 0
    assert [
        clause_id
        for clause_id in catalogue().clauses
        if clause_id.startswith("FR-008.") and clause_id not in text
    ] == []
    assert "proved by: FR-006.callables, FR-006.cap" in proved
