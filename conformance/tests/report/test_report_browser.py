"""The page of a run in a browser: width, contrast, links, keys, search, filter, copying."""

from __future__ import annotations

from typing import Any

import needs
import pytest
from browser import CONTRASTS, FOCUS, NARROW, TOO_WIDE, WIDE, Looking
from hand_written_reports import BAD, ONE, report, result, typed
from page_runs import FORTY, PAGES, WAIVED
from playwright.sync_api import Page, expect

from mcp_proxy_conformance.catalogue.interpretation import interpretations
from mcp_proxy_conformance.report import html

SCHEMES = ("light", "dark")
QUESTIONS = [row.question for row in interpretations() if "FR-006.cap" in row.clauses]
COPIED: dict[str, Any] = {"permissions": ["clipboard-read", "clipboard-write"]}
NO_CLIPBOARD = """
  Object.defineProperty(navigator, "clipboard", { value: undefined });
  document.execCommand = () => WORKS;
"""


@pytest.mark.parametrize("script", [True, False])
@pytest.mark.parametrize("name", PAGES)
def test_no_page_is_wider_than_a_narrow_window(name: str, script: bool, looking: Looking) -> None:
    """Each page, all of it unfolded, fits a narrow window, with and without scripts."""
    page = looking.at(html.render(typed(PAGES[name])), viewport=NARROW, java_script_enabled=script)

    assert page.evaluate(TOO_WIDE) == 0


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", ["one", "waived", "all verdicts"])
def test_every_text_stands_out_from_its_ground(name: str, scheme: Any, looking: Looking) -> None:
    """In light and dark, each text of three pages has a contrast of 4.5 or more to its ground.

    One page has all six verdicts.
    """
    words = ("pass", "fail", "inconclusive", "error", "not_applicable", "waived")
    document = report(*(result(word) for word in words))
    document["clauses"] = [
        document["clauses"][0] | {"id": f"FR-00{number}.x", "verdict": word}
        for number, word in enumerate(words)
    ]
    shown_report = (PAGES | {"all verdicts": document})[name]

    page = looking.at(html.render(typed(shown_report)), color_scheme=scheme, viewport=WIDE)

    page.evaluate(TOO_WIDE)
    contrasts = page.evaluate(CONTRASTS)
    assert {kind: ratio for kind, ratio in contrasts.items() if ratio < 4.5} == {}
    assert {"p.", "mark.", "span.quiet", "button."} <= set(contrasts)
    assert name != "all verdicts" or {f"span.verdict {word}" for word in words} <= set(contrasts)


def test_the_colours_are_those_that_the_reader_prefers(looking: Looking) -> None:
    """The page's background is white if the browser prefers light, and near black if dark."""
    grounds = [
        looking.at(html.render(typed(ONE)), color_scheme=scheme).evaluate(
            "getComputedStyle(document.body).backgroundColor"
        )
        for scheme in SCHEMES
    ]

    assert grounds == ["rgb(255, 255, 255)", "rgb(20, 24, 29)"]


@needs.discovery
def test_a_cell_of_the_picture_leads_to_its_result(looking: Looking) -> None:
    """A click on a failing cell leads to the failure behind it, and unfolds it.

    One on a cell that does not apply leads to its clause.
    """
    page = looking.at(html.render(typed(FORTY)), viewport=NARROW)
    failure, section = page.locator("#result-1"), page.locator("[id='clause-FR-010.inspect']")
    failure.locator("summary").first.click()

    page.locator(".beside").get_by_role("link", name="cap").click()
    expect(failure).to_be_in_viewport()
    opened = failure.locator("> details").evaluate("(one) => one.open")
    page.get_by_role("link", name="by the user, counts: does not apply").click()

    assert opened
    expect(section.locator("h3")).to_be_in_viewport()
    assert page.url.endswith("#clause-FR-010.inspect")


def test_a_cause_leads_to_its_result_and_its_clauses(looking: Looking) -> None:
    """The page's only cause links to the failure to look at first, and, unfolded, to its clause."""
    page = looking.at(html.render(typed(FORTY)), viewport=NARROW)
    causes = page.get_by_role("region", name="Causes")

    causes.get_by_role("link", name="test_cap[0]").click()
    expect(page.locator("#result-1")).to_be_in_viewport()
    causes.locator("summary").click()
    causes.get_by_role("link", name="FR-006.cap").click()

    expect(page.locator("[id='clause-FR-006.cap'] > h3")).to_be_in_viewport()
    assert causes.locator("h2").inner_text() == "One cause"


@pytest.mark.parametrize("script", [True, False])
def test_a_link_opens_what_is_folded(script: bool, looking: Looking) -> None:
    """A clause in the folded advisory part is visible once its link was followed.

    This works without scripts, too.
    """
    page = looking.at(html.render(typed(ONE)), java_script_enabled=script)
    advisory = page.locator("[id='clause-FR-006.fills'] h3")
    expect(advisory).not_to_be_visible()

    page.goto(f"{page.url}#clause-FR-006.fills")

    expect(advisory).to_be_visible()


@needs.discovery
def test_arrow_keys_move_between_the_cells_of_the_picture(looking: Looking) -> None:
    """One cell of the picture is reached by Tab; from it arrow keys move along rows and columns.

    Enter follows the cell's link.
    """
    page = looking.at(html.render(typed(ONE)))
    focused = "document.activeElement.getAttribute('aria-label')"
    page.locator("svg.picture a[tabindex='0']").focus()

    names = []
    for key in ("ArrowDown", "ArrowDown", "ArrowUp", "ArrowRight"):
        page.keyboard.press(key)
        names.append(page.evaluate(focused).partition(",")[0])
    page.keyboard.press("Enter")

    assert names == ["by the user", "unapproved", "by the user", "by the user"]
    assert page.url.endswith("#clause-FR-010.inspect")


@needs.discovery
def test_the_search_leaves_the_clauses_that_have_its_words(looking: Looking) -> None:
    """A slash leads to the search, whose words leave only the clauses with all of them.

    Their number is shown. Folded clauses are found, too; Escape shows all again.
    """
    page = looking.at(html.render(typed(ONE)))
    before = visible_clauses(page)

    page.keyboard.press("/")
    page.keyboard.type("allows fr-006 returned")
    few, count = visible_clauses(page), page.locator("#found").inner_text()
    page.keyboard.press("Escape")

    assert (few, count) == ({"clause-FR-006.fills"}, "1 of 4 clauses")
    assert visible_clauses(page) == before
    assert page.locator("#found").inner_text() == ""


def test_without_a_script_there_is_no_search(looking: Looking) -> None:
    """Without scripts the search field is not shown."""
    page = looking.at(html.render(typed(ONE)), java_script_enabled=False)

    assert not page.locator("#search").is_visible()


def visible_clauses(page: Page) -> set[str | None]:
    """Return the ids of the clauses' sections that are visible on the page."""
    sections = page.locator("section.clause").all()
    return {section.get_attribute("id") for section in sections if section.is_visible()}


@pytest.mark.parametrize("script", [True, False])
def test_clauses_are_filtered_by_verdict(script: bool, looking: Looking) -> None:
    """Unchecking two verdicts hides their clauses; checking them shows these again.

    This works without scripts, too.
    """
    page = looking.at(html.render(typed(ONE)), java_script_enabled=script)
    all_places = visible_clauses(page)

    page.get_by_label("pass").uncheck()
    page.get_by_label("not applicable").uncheck()
    few = visible_clauses(page)
    page.get_by_label("pass").check()
    page.get_by_label("not applicable").check()

    assert all_places == {"clause-FR-001.accepts", "clause-FR-006.cap", "clause-FR-010.inspect"}
    assert few == {"clause-FR-006.cap"}
    assert visible_clauses(page) == all_places


@needs.discovery
def test_all_is_reached_by_keys_in_the_order_of_the_page(looking: Looking) -> None:
    """In a narrow window, Tab reaches every stop in the order of the page, each with a ring."""
    page = looking.at(html.render(typed(ONE)), viewport=NARROW)

    stops = []
    for _ in range(14 + len(QUESTIONS)):
        page.keyboard.press("Tab")
        stops.append(page.evaluate(FOCUS))

    places = [stop["id"] or stop["text"] for stop in stops]
    assert places[:6] == [
        "To the clauses",
        "show-pass", "show-fail", "show-not_applicable",
        "test_cap[11]", "1 clause fails by it",
    ]  # fmt: skip
    assert places[6].startswith("by config, counts")
    assert places[7:-2] == [
        "✓ the flag", "✗ cap",
        "What the rows and columns are",
        "search",
        "FR-006.cap",
        *(f"How the suite reads this sentence: {question}" for question in QUESTIONS),
    ]  # fmt: skip
    assert places[-2].startswith("fail test_cap[11] on stage crowd")
    assert places[-1] == "2 messages, in order; look at number 2 first"
    assert all(stop["ring"] for stop in stops)


def test_the_first_key_leads_to_the_clauses(looking: Looking) -> None:
    """After Tab and Enter on the page's first link, the next stop is in its main part."""
    page = looking.at(html.render(typed(ONE)))

    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")

    assert page.evaluate("document.activeElement.closest('main') !== null")


@pytest.mark.parametrize("key", ["Enter", "Space"])
def test_what_is_folded_opens_by_key(key: str, looking: Looking) -> None:
    """Enter or Space folds an open part of the page, and the same key unfolds it."""
    page = looking.at(html.render(typed(ONE)))
    folded = page.locator("article details details")
    folded.locator("summary").first.focus()

    states = []
    for _ in range(2):
        page.keyboard.press(key)
        states.append(folded.first.evaluate("(one) => one.open"))

    assert states == [False, True]


def test_of_forty_failures_the_first_is_unfolded(looking: Looking) -> None:
    """On a page of forty failures, only the first is unfolded."""
    page = looking.at(html.render(typed(FORTY)))

    opened = page.locator("article > details").evaluate_all("(all) => all.map((one) => one.open)")
    assert opened == [True] + [False] * 39


def test_hostile_words_stay_words(looking: Looking) -> None:
    """Hostile words of a report are shown as text, and add no script or other element."""
    page = looking.at(html.render(typed(BAD)))

    page.evaluate(TOO_WIDE)
    assert page.locator("script").count() == 1
    assert page.locator("img, iframe, link, object, svg:not(.bar, .picture)").count() == 0
    assert "<script>alert(1)</script>" in page.locator("main").inner_text()


def test_the_request_is_copied(looking: Looking) -> None:
    """The button copies the curl command that the page shows, and then says `Copied`."""
    page = looking.at(html.render(typed(ONE)))
    page.context.grant_permissions(COPIED["permissions"])
    button, command = page.get_by_role("button"), page.locator("pre.command")

    button.click()

    expect(button).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == command.inner_text()
    assert command.inner_text().startswith("curl -sg http://127.0.0.1:8080/mcp -H ")


@pytest.mark.parametrize(
    ("works", "label"), [("true", "Copied"), ("false", "Selected: copy it now")]
)
def test_without_a_clipboard_the_request_is_selected(
    works: str, label: str, looking: Looking
) -> None:
    """Without a clipboard the button selects the command and tries the browser's older copying.

    It says `Copied` if that works, else asks to copy.
    """
    page = looking.at(html.render(typed(ONE)))
    page.evaluate(NO_CLIPBOARD.replace("WORKS", works))

    page.get_by_role("button").click()

    expect(page.get_by_role("button")).to_have_text(label)
    chosen = page.evaluate("getSelection().toString()")
    assert chosen == page.locator("pre.command").inner_text()


def test_without_a_script_nothing_is_missing_but_the_button(looking: Looking) -> None:
    """Without scripts, folded parts open by a click, and only the copy button is missing."""
    page = looking.at(html.render(typed(WAIVED)), java_script_enabled=False)

    page.locator("summary", has_text="How to read this page").click()
    page.locator("article summary").first.click()

    assert page.get_by_role("button").count() == 0
    assert page.get_by_text("it was observed to hold.").is_visible()
    assert page.locator("pre.command").is_visible()
    assert page.locator("article .deviation").is_visible()
