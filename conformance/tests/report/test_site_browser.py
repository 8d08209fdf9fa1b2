"""Pages of the site in a real browser: contrast, width, search, and nothing loaded from elsewhere.

Light and dark, wide and 400 pixels wide, with and without a script.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from browser import CONTRASTS, TOO_WIDE, browser
from playwright.sync_api import Page
from records import add

from mcp_proxy_conformance.report.site.files import write
from mcp_proxy_conformance.report.site.folder import read_record
from mcp_proxy_conformance.report.site.pages import pages

pytestmark = pytest.mark.proof
NARROW = {"width": 400, "height": 800}
SHOWN = (
    "index.html", "clauses.html", "disagreements.html", "rules.html", "clauses/ROB.call.html",
    "implementations/alpha/index.html", "implementations/alpha/changes.html",
    "implementations/alpha/2.0.html",
)  # fmt: skip


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Return the folder of a site of two implementations, alpha with two builds, beta with one."""
    record = tmp_path / "record"
    add(record, "alpha", "1.0", {"ROB.flag": "fail"})
    add(record, "alpha", "2.0", {"ROB.call": "fail"}, files={"reply.txt": "No. " * 200})
    add(record, "beta", "1.0", {"ROB.query": "inconclusive", "ROB.tools": "error"})
    write(pages(read_record(record)), tmp_path / "site")
    return tmp_path / "site"


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_every_kind_of_page_is_readable_and_loads_nothing_else(site: Path, colours: Any) -> None:
    """On each kind of page every text has a contrast of 4.5, and nothing is wider than 400 pixels.

    No page logs, raises, or requests anything outside of the site.
    """
    seen: list[str] = []
    with browser() as opened:
        context = opened.new_context(viewport=NARROW, color_scheme=colours)  # type: ignore[arg-type]
        page = context.new_page()
        page.on("console", lambda message: seen.append(message.text))
        page.on("pageerror", lambda error: seen.append(str(error)))
        page.on("request", lambda request: _note(seen, request.url, site))
        for path in SHOWN:
            page.goto((site / path).as_uri())
            low = {name: least for name, least in page.evaluate(CONTRASTS).items() if least < 4.5}
            assert (path, low, page.evaluate(TOO_WIDE)) == (path, {}, 0)
    assert seen == []


def test_the_search_narrows_the_front(site: Path) -> None:
    """A word in the search of the first page leaves implementations with it, and lists clauses.

    Without scripts the search field is not shown.
    """
    with browser() as opened:
        page = opened.new_page()
        page.goto((site / "index.html").as_uri())
        assert _visible(page) == ["alpha", "beta"]
        page.fill("#search", "beta")
        assert _visible(page) == ["beta"]
        page.fill("#search", "rob.call")
        assert page.locator("#hits li:visible").count() == 1

        plain = opened.new_context(java_script_enabled=False).new_page()
        plain.goto((site / "index.html").as_uri())
        assert not plain.locator("#search").is_visible()


def _visible(page: Page) -> list[str]:
    """Return the names of the implementations whose rows are visible."""
    return page.locator("tbody tr:visible th").all_inner_texts()


def _note(seen: list[str], url: str, site: Path) -> None:
    """Add the request's address to `seen` if it is not of a file of the site."""
    if not url.startswith(site.as_uri()):
        seen.append(url)
