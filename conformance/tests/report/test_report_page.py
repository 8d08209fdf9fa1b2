"""The HTML page of a run: its form, links, policy, sections, and evidence that is shown or cut."""

from __future__ import annotations

import base64
import hashlib
import json
from html import unescape
from html.parser import HTMLParser

import needs
import pytest
from hand_written_reports import BAD, ONE, REPORTS, finding, report, result, typed
from page_runs import DEVIATION, LONG, PAGES, WAIVED, failing_report, message_of

from mcp_proxy_conformance.catalogue.requirement import profile
from mcp_proxy_conformance.report import html

pytestmark = needs.discovery


class Page(HTMLParser):
    """The parsed page: its elements in order, attributes, texts, and elements left open."""

    VOID = ("meta", "input")

    def __init__(self, page: str) -> None:
        """Parse the page; note its elements, attributes, texts, style and script."""
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.owned: dict[str, str] = {}
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element that begins, with its attributes; it is open unless it is a void one."""
        self.tags.append(tag)
        self.attributes += attrs
        self.open += [] if tag in self.VOID else [tag]

    def handle_endtag(self, tag: str) -> None:
        """Close the innermost open element; AssertionError if that is another one."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Note the text; that of a style or script also by its element."""
        self.texts.append(data)
        if self.open and self.open[-1] in ("style", "script"):
            self.owned[self.open[-1]] = data

    @property
    def words(self) -> str:
        """The texts of the page, with single spaces between words."""
        return " ".join("".join(self.texts).split())

    def values(self, attribute: str) -> list[str | None]:
        """Return every value of that attribute on the page, in order, repeated ones too.

        None stands for an attribute without a value.
        """
        return [value for key, value in self.attributes if key == attribute]


OURS = {
    "a", "article", "body", "code", "dd", "desc", "details", "div", "dl", "dt", "fieldset",
    "figcaption", "figure", "g", "h1", "h2", "h3", "h4", "head", "header", "html", "input", "label",
    "legend", "li", "main", "mark", "meta", "nav", "ol", "p", "pre", "rect", "script", "section",
    "span", "strong", "style", "summary", "svg", "table", "td", "text", "th", "title", "tr", "ul",
}  # fmt: skip
"""The elements of the page."""
RUNS = REPORTS | PAGES
CLAUSES = profile("discovery").clauses


@pytest.mark.parametrize("name", RUNS)
def test_html_is_well_formed_and_holds_our_elements_alone(name: str) -> None:
    """Each page closes its elements in order and has one script.

    It has no elements and attributes but the known ones.
    """
    page = Page(html.render(typed(RUNS[name])))

    assert page.open == []
    assert set(page.tags) <= OURS
    assert page.tags.count("script") == 1
    assert {key for key, _ in page.attributes} <= {
        "aria-hidden", "aria-label", "aria-labelledby", "autocomplete", "charset", "checked",
        "class", "content", "height", "hidden", "href", "http-equiv", "id", "lang", "name", "open",
        "placeholder", "preserveaspectratio", "rel", "role", "rx", "start", "tabindex",
        "text-anchor", "title", "transform", "type", "viewbox", "width", "x", "y",
    }  # fmt: skip


@pytest.mark.parametrize("name", RUNS)
def test_links_lead_to_places_that_are_there_once(name: str) -> None:
    """On each page ids are unique, and each link leads to one of them, or to a known issue."""
    page = Page(html.render(typed(RUNS[name])))

    places = page.values("id")
    inside = [link for link in page.values("href") if link != "https://issues.example/7"]
    assert len(places) == len(set(places))
    assert {f"#{place}" for place in places} >= set(inside)


def test_html_allows_its_own_style_and_script_alone() -> None:
    """The page's content policy allows its own style and script by digest, and forbids all else."""
    page = Page(html.render(typed(ONE)))

    digests = {
        name: base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for name, text in page.owned.items()
    }
    assert page.values("content")[0] == (
        f"default-src 'none'; style-src 'sha256-{digests['style']}';"
        f" script-src 'sha256-{digests['script']}'; base-uri 'none'; form-action 'none'"
    )


def test_html_shows_a_failure_with_all_that_it_rests_on() -> None:
    """A failure on the page has its sentence, source, both sides, messages, commands, in order."""
    words = Page(html.render(typed(ONE))).words

    told_of = [
        "An answer has at most as many locked entries",
        "(discovery-spec FR-006)",
        "How the suite reads this sentence: Must the locked section be filled up to its cap?",
        "an answer has more locked entries than its cap allows",
        'observed"assert 11 <= 10"',
        "allowed10",
        "2 messages, in order; look at number 2 first",
        "1. suite → target",
        "2. target → suite",
        "curl -sg http://127.0.0.1:8080/mcp -H 'Content-Type: application/json' --data-raw",
        "the same command and --check 'test_cap[11]'",
        "mcp-proxy-conformance explain FR-006.cap",
    ]
    main = words.rindex("To mend")
    places = [words.find(text, main) for text in told_of]
    assert places == sorted(places)
    assert -1 not in places


def test_each_difference_has_its_place_and_both_sides() -> None:
    """A finding has its path, and the allowed and observed value, on the page.

    The story of a law is quoted as it is.
    """
    findings = [finding("disabled_by_user", "disabled_by_config", "status of forge:drop")]
    members = {"findings": findings, "story": ["a world of two tools"]}
    page = unescape(html.render(typed(failing_report(message_of("received", "{}"), **members))))

    assert "<dt>where</dt><dd><mark><code>status of forge:drop</code></mark></dd>" in page
    assert "<dt>allowed</dt><dd><code>disabled_by_config</code></dd>" in page
    assert "<dt>observed</dt><dd><code>disabled_by_user</code></dd>" in page
    assert "<pre>a world of two tools</pre>" in page


def test_the_message_that_holds_what_was_observed_is_marked() -> None:
    """The message that has the observed text, though escaped twice, is named first.

    The text is marked. The curl command is the request before it.
    """
    inner = r'{"jsonrpc":"2.0","result":{"text":"{\"map\":\"ask the \\\"user\\\"\"}"}}'
    first, second = message_of("sent", '{"id":1}'), message_of("sent", '{"id":2}')
    findings = [finding('ask the "user"', None, "map")]
    page = unescape(
        html.render(
            typed(failing_report(first, message_of("received", inner), second, findings=findings))
        )
    )

    assert "3 messages, in order; look at number 2 first: it contains what was observed" in page
    assert r"<mark>ask the \\\"user\\\"</mark>" in page
    assert """--data-raw '{"id":1}'""" in page


def test_what_was_observed_is_shown_wherever_it_is_in_a_body() -> None:
    """An observed text in the middle of a long body is marked, with 300 characters before it.

    The page says that the rest is left out.
    """
    body = "x" * 9000 + "ask the user" + "y" * 9000
    findings = [finding("ask the user", None, "map")]
    page = html.render(typed(failing_report(message_of("received", body), findings=findings)))

    assert f"<pre>… {'x' * 300}<mark>ask the user</mark>yyy" in page
    assert "The rest of the body is not on this page." in page


def test_a_call_that_reached_an_upstream_is_shown_with_its_way() -> None:
    """A message that reached an upstream server is headed `target → upstream` on the page."""
    sent, reached = message_of("sent", "{}"), message_of("received", '{"call":1}', "upstream")
    words = Page(html.render(typed(failing_report(sent, reached, findings=[], evidence=[])))).words

    assert "2. target → upstream" in words


def test_of_many_messages_the_guilty_and_the_last_are_shown() -> None:
    """Of a hundred messages eight are shown, those of the finding and the last among them.

    The others are counted.
    """
    many = [message_of("received", f'"word {number}"') for number in range(100)]
    findings = [finding('word 7"', None, "x") | {"messages": ["crowd/8"]}]
    words = Page(html.render(typed(failing_report(*many, findings=findings)))).words

    assert "100 messages, in order; look at number 8 first" in words
    assert "8. target → suite" in words
    assert "92 others are in the JSON report." in words
    assert "100. target → suite" in words


def test_equal_differences_are_one_fact() -> None:
    """Of twelve findings that observed the same, it is shown once, with their number.

    Six of their places are listed.
    """
    findings = [finding("absent", "listed", f"/mcp, call {number}") for number in range(6)] * 2
    report_of_many = failing_report(message_of("received", "{}"), findings=findings, evidence=[])
    page = unescape(html.render(typed(report_of_many)))

    assert page.count("<dt>observed</dt><dd><code>absent</code></dd>") == 1
    assert "<dt>where (\N{MULTIPLICATION SIGN}12)</dt>" in page
    assert page.count("<mark><code>/mcp, call ") == 6


def test_the_page_names_target_date_duration_and_command() -> None:
    """The page's head has suite, headline, target, date, duration, exit code and command.

    A date that a report lacks is left out.
    """
    timing = {"began": "2026-01-31T09:30:00+00:00", "seconds": 200.4, "command": ["suite run", ""]}
    words = Page(html.render(typed(ONE | {"timing": timing}))).words
    old = Page(html.render(typed(ONE | {"timing": {}}))).words

    head = words[words.index("Report of mcp-proxy-conformance 0") :]
    assert head.startswith(
        "Report of mcp-proxy-conformance 0 violated command plain Of 3 required clauses, 1 fails."
    )
    assert "run2026-01-31 09:30:00 UTC, 3 min 20 s; exit 1 commandsuite run" in words
    assert "UTC" not in old


def test_a_page_of_a_conformant_run_begins_with_what_was_proven() -> None:
    """The page's sections are, in order: to mend, if anything, proven, not judged, advisory."""
    orders = []
    for name in ("none", "one"):
        words = Page(html.render(typed(RUNS[name]))).words
        titles = ("To mend (1)", "What was proven (", "Not judged (1)", "Advisory: reported")
        orders.append(sorted((t for t in titles if t in words), key=words.rindex))

    assert orders == [
        ["What was proven (", "Not judged (1)", "Advisory: reported"],
        ["To mend (1)", "What was proven (", "Not judged (1)", "Advisory: reported"],
    ]


def test_twenty_five_failures_are_a_page_of_less_than_half_a_megabyte() -> None:
    """Twenty-five failures with forty long messages each are all on a page below 500,000 bytes."""
    body = json.dumps({"text": 'quoted "word" ' * 2000})
    messages = {
        f"crowd/{number}": message_of("received" if number % 2 else "sent", body)
        for number in range(40)
    }
    results = [
        result("fail") | {"case": f"{number}", "clauses": [clause], "messages": list(messages)}
        for number, clause in enumerate(CLAUSES[:25])
    ]
    clauses = [row | {"id": clause} for clause in CLAUSES[:25] for row in ONE["clauses"][1:2]]
    page = html.render(typed(report(*results) | {"messages": messages, "clauses": clauses}))

    assert page.count("<article") == 25
    assert len(page.encode()) < 500_000


def test_a_waived_failure_is_shown_with_its_deviation() -> None:
    """A waived failure has its deviation's reason, file, line and date on the page.

    A stale deviation is listed with its state.
    """
    page = Page(html.render(typed(WAIVED)))

    assert page.words.count("Eleven entries until the next major release.") == 3
    assert "mcp-proxy-conformance-deviations.toml:4" in page.words
    assert "until 2027-01-31." in page.words
    assert "FR-001.accepts: stale" in page.words


@pytest.mark.parametrize(
    "issue", ["javascript:alert(1)", "//evil.invalid/", "", "data:text/html,x"]
)
def test_an_issue_is_a_link_only_where_it_leads_to_the_web(issue: str) -> None:
    """If a deviation's issue is not an http(s) address, the page has no link to it."""
    bent = WAIVED | {"waivers": [DEVIATION | {"issue": issue}]}
    page = Page(html.render(typed(bent)))

    assert all(str(link).startswith("#") for link in page.values("href"))


def test_html_shows_hostile_words_as_they_are() -> None:
    """Markup and templates in hostile words are text on the page, control characters escapes."""
    text = "".join(Page(html.render(typed(BAD))).texts)

    assert "<script>alert(1)</script>" in text
    assert "\\x00\\x1b[2J\\u202e\\ufffe\\x85\\u2028\t{{ 7*7 }} {% raw %}" in text


def test_long_bodies_end() -> None:
    """A body of 5000 characters is cut on the page, and one note says so.

    A page of endless words is below 200,000 bytes.
    """
    words = Page(
        html.render(
            typed(failing_report(message_of("sent", "b" * 5000), message_of("received", "short")))
        )
    ).words

    assert words.count("The rest of the body is not on this page.") == 1
    assert len(html.render(typed(LONG))) < 200_000


def test_html_shows_results_whose_clause_is_not_in_the_profile() -> None:
    """A result on an unknown clause is in a section of its own, which says that it is unknown."""
    stranger = report(result("fail") | {"clauses": ["FR-000.gone"]}, text="a")
    words = Page(html.render(typed(stranger))).words

    assert "Results of other clauses" in words
    assert "FR-000.gone: This version of the suite does not have this clause." in words
