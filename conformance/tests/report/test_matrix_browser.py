"""The page that compares runs, in a browser: scrolling, contrast, links, filter, keys, pictures."""

from __future__ import annotations

from typing import Any

import needs
import pytest
from browser import CONTRASTS, FOCUS, NARROW, TOO_WIDE, WIDE, Looking
from hand_written_reports import BAD, CLEAN, HOSTILE, MANY, ONE, Json, several
from page_runs import FORTY, LONG, WAIVED
from playwright.sync_api import expect

from mcp_proxy_conformance.report import side_by_side

SEVERAL = [("a.json", CLEAN), ("b.json", ONE), ("c.json", WAIVED), ("d.json", FORTY)]
TABLE = "[aria-label='Verdicts']"
"""The table of clauses."""
SETS: dict[str, list[tuple[str, Json]]] = {
    "two": SEVERAL[:2],
    "several": SEVERAL,
    "hostile": [(HOSTILE, BAD), ("b.json", MANY)],
    "long": [("w" * 3000, LONG | {"headline": "w" * 3000}), ("b.json", ONE)],
}


@pytest.mark.parametrize("script", [True, False])
@pytest.mark.parametrize("name", SETS)
def test_the_table_scrolls_and_the_page_does_not(name: str, script: bool, looking: Looking) -> None:
    """In a narrow window the table of clauses scrolls by itself, and the page is not too wide.

    So it is with and without scripts, and with hostile or endless words.
    """
    page = looking.at(
        side_by_side.html(several(SETS[name])), viewport=NARROW, java_script_enabled=script
    )

    inside = page.locator(TABLE).evaluate("(one) => one.scrollWidth > one.clientWidth")
    assert page.evaluate(TOO_WIDE) == 0
    assert inside


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_verdict_stands_out_from_its_ground(scheme: Any, looking: Looking) -> None:
    """In light and dark, each text of the comparison has a contrast of 4.5 or more to its ground.

    Verdicts and heads of tables are among them.
    """
    page = looking.at(side_by_side.html(several(SEVERAL)), color_scheme=scheme, viewport=WIDE)

    contrasts = page.evaluate(CONTRASTS)
    assert {kind: ratio for kind, ratio in contrasts.items() if ratio < 4.5} == {}
    assert {"span.verdict fail", "span.verdict waived", "th."} <= set(contrasts)


def test_a_verdict_leads_to_its_reason_and_back(looking: Looking) -> None:
    """A click on a failed verdict leads to its reason, with the check.

    One on the clause leads back.
    """
    page = looking.at(side_by_side.html(several(SEVERAL)), viewport=NARROW)

    page.get_by_role("row", name="FR-006.cap").get_by_role("link", name="fail").first.click()
    reason = page.locator(".reason:target")

    expect(reason).to_be_in_viewport()
    expect(reason).to_contain_text("2. command plain, wire handshake: fail")
    expect(reason).to_contain_text("test_cap[11]")
    page.locator("section", has=reason).locator("h3 a").click()
    expect(page.get_by_role("row", name="FR-006.cap")).to_be_in_viewport()


@pytest.mark.parametrize("script", [True, False])
def test_rows_that_are_the_same_can_be_left_out(script: bool, looking: Looking) -> None:
    """If equal rows are unchecked, only the row that differs, marked ≠, and its section stay.

    This works without scripts, too.
    """
    page = looking.at(side_by_side.html(several(SETS["two"])), java_script_enabled=script)

    page.get_by_label("with the same verdict in all columns: 3").uncheck()

    rows = page.locator(f"{TABLE} tbody tr:visible")
    assert rows.count() == 1
    assert rows.locator("th").inner_text() == "FR-006.cap ≠"
    assert page.locator("section.clause:visible").count() == 1


@needs.discovery
def test_the_table_is_reached_and_scrolled_by_keys(looking: Looking) -> None:
    """From the area of pictures, four Tabs reach the checkbox, the table and two links.

    Each shows a ring; the right arrow scrolls the focused table.
    """
    page = looking.at(side_by_side.html(several(SEVERAL)), viewport=NARROW)

    page.get_by_role("region", name="What differs in the pictures").focus()

    stops = []
    for _ in range(4):
        page.keyboard.press("Tab")
        stops.append(page.evaluate(FOCUS))
        if page.locator(f"{TABLE}:focus").count():
            page.keyboard.press("ArrowRight")

    assert all(stop["ring"] for stop in stops)
    assert [stop["tag"] for stop in stops] == ["INPUT", "DIV", "A", "A"]
    page.wait_for_function("(one) => document.querySelector(one).scrollLeft > 0", arg=TABLE)


def test_heads_stay_in_sight_while_the_table_moves(looking: Looking) -> None:
    """If the table is scrolled to the right, the names of clauses stay at its left."""
    page = looking.at(side_by_side.html(several(SEVERAL)), viewport=NARROW)
    area = page.locator(TABLE)

    area.evaluate("(one) => { one.scrollLeft = 9999; one.scrollTop = 60; }")
    left = area.evaluate("(one) => one.getBoundingClientRect().left")
    head = page.get_by_role("rowheader", name="FR-006.cap")

    assert head.evaluate("(one) => one.getBoundingClientRect().left") - left < 3


@needs.discovery
def test_a_cell_of_a_picture_leads_to_its_reason(looking: Looking) -> None:
    """The page has a picture of each of four reports; a cell leads to its reason in that report."""
    page = looking.at(side_by_side.html(several(SEVERAL)), viewport=WIDE)

    figures = page.locator("figure")
    figures.nth(1).locator(".beside").get_by_role("link", name="cap").click()

    assert figures.count() == 4
    expect(page.locator(".reason:target")).to_contain_text("2. command plain, wire handshake: fail")


@needs.discovery
def test_cells_that_differ_are_listed(looking: Looking) -> None:
    """The cells that differ are listed: one row, with the sign and word of each picture."""
    page = looking.at(side_by_side.html(several(SETS["two"])))

    rows = page.get_by_role("region", name="What differs in the pictures").locator("tbody tr")

    assert [" ".join(text.split()) for text in rows.all_inner_texts()] == ["cap ✓ holds ✗ fails"]


def test_hostile_words_are_words_in_the_table(looking: Looking) -> None:
    """Hostile words of targets and file names are shown as text, and add no element to the page."""
    page = looking.at(side_by_side.html(several(SETS["hostile"])))

    assert page.locator("script").count() == 1
    assert page.locator("img, iframe, link, object, svg:not(.picture)").count() == 0
    assert "<script>alert(1)</script>" in page.locator("header").inner_text()
