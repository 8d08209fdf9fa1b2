"""A run as an HTML page: well-formed, complete in itself, and made of our elements alone."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from told_runs import BAD, ONE, REPORTS, report, result

from mcp_proxy_conformance.report import html


class Page(HTMLParser):
    """The elements of a page, in order, its texts, and whether each element was closed."""

    VOID = ("meta",)

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element begins."""
        self.tags.append(tag)
        self.attributes += attrs
        self.open += [] if tag in self.VOID else [tag]

    def handle_endtag(self, tag: str) -> None:
        """The innermost element ends."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Words between elements."""
        self.texts.append(data)


OURS = {
    "a", "article", "body", "code", "details", "h1", "h2", "h3", "head", "header", "html", "li",
    "main", "meta", "ol", "p", "pre", "section", "span", "style", "summary", "table", "tbody", "td",
    "th", "thead", "title", "tr", "ul",
}  # fmt: skip
"""The elements that the page is made of."""


@pytest.mark.parametrize("name", REPORTS)
def test_html_is_well_formed_and_holds_our_elements_alone(name: str) -> None:
    """Each element is closed in its turn; no script, form, picture or frame; no handler."""
    page = Page(html.render(REPORTS[name]))

    assert page.open == []
    assert set(page.tags) <= OURS
    assert {key for key, _ in page.attributes} <= {
        "charset", "class", "content", "href", "http-equiv", "id", "lang", "name", "scope"
    }  # fmt: skip


def test_html_needs_nothing_from_elsewhere() -> None:
    """Links lead to places on the page; the page forbids itself to load anything."""
    hostile = BAD["results"][1] | {"clauses": ["FR-006.cap", "FR-006.fills"]}
    page = Page(html.render(BAD | {"results": [hostile]}))

    links = [value for key, value in page.attributes if key == "href"]
    assert links == ["#result-1"]
    assert ("content", "default-src 'none'; style-src 'unsafe-inline'") in page.attributes
    assert ("id", "result-1") in page.attributes


def test_html_tells_a_failure_with_all_that_it_rests_on() -> None:
    """Sentence, source, both sides, the messages in order, the request and how to see it again."""
    text = "".join(Page(html.render(ONE)).texts)

    told = [
        "An answer has at most as many locked entries",
        "(discovery-spec FR-006)",
        "observed: assert 11 <= 10",
        "expected: <= 10",
        "2 messages, in order",
        "(crowd/1)",
        "(crowd/2)",
        "curl -s http://127.0.0.1:8080/mcp -H 'Content-Type: application/json' -d",
        "the same command and --check 'test_cap[11]'",
    ]
    places = [text.find(one) for one in told]
    assert places == sorted(places)
    assert -1 not in places


def test_a_request_is_one_command_whatever_its_place() -> None:
    """An endpoint with signs of the shell is one word of it."""
    sent = ONE["messages"]["crowd/1"] | {"peer": "http://127.0.0.1/mcp?a=1&b=$(x)"}
    told = ONE | {"messages": ONE["messages"] | {"crowd/1": sent}}

    text = "".join(Page(html.render(told)).texts)

    assert "curl -s 'http://127.0.0.1/mcp?a=1&b=$(x)' -H" in text


def test_html_shows_hostile_words_as_they_are() -> None:
    """Markup is text, templates are not filled in, long bodies are cut."""
    text = "".join(Page(html.render(BAD)).texts)

    assert "<script>alert(1)</script>" in text
    assert "\\x00\\x1b[2J\\u202e\\ufffe\\x85\\u2028\t{{ 7*7 }} {% raw %}" in text


def test_html_tells_results_whose_clause_is_not_in_the_profile() -> None:
    """They have a section of their own, and long bodies end."""
    stranger = report(result("fail") | {"clauses": ["FR-000.gone"]}, text="a" * 5000)
    text = "".join(Page(html.render(stranger)).texts)

    assert "Results of other clauses" in text
    assert "FR-000.gone: This version of the suite has no such clause." in text
    assert text.count("The rest of the body is not on this page.") == 2
