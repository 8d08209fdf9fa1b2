"""Breaches of schemas of answers: place and clauses, and whose check's finding each becomes."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from mcp_proxy_conformance.catalogue.resources import schemas_dir
from mcp_proxy_conformance.catalogue.surface import Members
from mcp_proxy_conformance.discovery.answer_schemas import (
    MOST_ENTRIES,
    exchange_findings,
    in_words,
    inspection_findings,
    listing_findings,
    rejection_findings,
)
from mcp_proxy_conformance.run.judgement import Ending, with_breaches_of_schemas
from mcp_proxy_conformance.verdict.comparison import Comparison
from mcp_proxy_conformance.verdict.result import Finding

Json = dict[str, Any]
OWN = Members(disabled="locked", remediation="help", note="hint", counts="tally")
ENTRY = {"name": "wipe", "server": "forge", "status": "disabled_by_user"}
OF_CONFIG = ENTRY | {"status": "disabled_by_config"}
SOUND: Json = {"items": [], "locked": [ENTRY], "help": {"disabled_by_user": "Ask."}}


def breaches(
    body: Json, *, flag: Any = True, limit: Any = None
) -> list[tuple[str, tuple[str, ...]]]:
    """Return (place, clauses) of each breach of the schema in an answer to a request.

    The request had this flag and this limit, None being no limit.
    """
    findings = exchange_findings(body, OWN, flag=flag, limit=limit)
    return [(finding.path, finding.clauses) for finding in findings]


@pytest.mark.parametrize(
    ("body", "places"),
    [
        (SOUND, []),
        (SOUND | {"locked": None, "help": None}, []),
        (SOUND | {"help": {}}, [("/help/disabled_by_user", ("FR-005.keys",))]),
        (
            SOUND | {"help": SOUND["help"] | {"a/b": " "}},
            [("/help/a~1b", ("FR-005.keys",))],
        ),
        (
            {"locked": [OF_CONFIG], "help": {"disabled_by_config": "The user can unlock it."}},
            [("/help/disabled_by_config", ("FR-005.class", "SC-003.discovery"))],
        ),
        (
            SOUND | {"locked": [ENTRY, ENTRY | {"status": "off"}, ENTRY | {"status": "shut"}]},
            [("/locked/1/status", ("FR-004.enum",))],
        ),
        (
            SOUND | {"locked": [{"server": "forge", "status": "disabled_by_user"}]},
            [("/locked/0/name", ("FR-003.members",))],
        ),
        (SOUND | {"hint": "a\nb"}, [("/hint", ("FR-009.one-line",))]),
        (SOUND | {"locked": [ENTRY] * (MOST_ENTRIES + 1)}, [("/locked", ("FR-006.cap",))]),
    ],
)
def test_a_breach_has_the_targets_own_names_and_its_clauses(
    body: Json, places: list[tuple[str, tuple[str, ...]]]
) -> None:
    """Each breached place is one finding, with its clauses, by the target's own names of members.

    Of several wrong items in a list only the first is named.
    """
    assert breaches(body) == places


def test_what_an_answer_may_hold_depends_on_flag_and_limit() -> None:
    """More locked entries than `limit` are a breach if the limit is a whole number.

    A note beside callable tools is one if the flag is false, with no other flag. A section with the
    flag false is left to checks.
    """
    three = SOUND | {"locked": [ENTRY] * 3}
    noted = {"tools": [{"name": "free"}], "hint": "1 is locked; set include_disabled"}

    seen = [
        breaches(three, limit=2),
        breaches(three, limit=3),
        breaches(three, limit=2.5),
        breaches(noted, flag=False),
        breaches(noted),
        breaches(noted, flag="true"),
        breaches(three, flag=False, limit=2),
    ]

    cap, silent = [("/locked", ("FR-006.cap",))], [("/hint", ("FR-009.silent",))]
    assert seen == [cap, [], [], silent, [], [], []]


def test_listing_inspection_and_rejection_have_schemas_of_their_own() -> None:
    """A count of 0 is a breach in a listing and in the inspection of one server.

    So is a blank rejection of a user-locked tool, but not one under an unknown status.
    """
    block = {"callable": 1, "disabled_by_user": 0, "as_of": "now"}
    listed = listing_findings([{"name": "a"}, {"name": "b", "tally": block}], OWN)
    inspected = inspection_findings({"name": "b", "tally": block}, OWN)
    rejected = rejection_findings(" ", "disabled_by_user"), rejection_findings("", "locked")

    assert [finding.path for finding in (*listed, *inspected)] == [
        "/servers/1/tally/disabled_by_user",
        "/server/tally/disabled_by_user",
    ]
    assert [[finding.clauses for finding in each] for each in rejected] == [
        [("FR-008.pointer",)],
        [],
    ]


BREACH = Finding(path="/disabled/0/status", clauses=("FR-004.enum",), observed="off")
"""The finding that validation of an answer against its schema adds."""
CITED = ("FR-006.cap",)


def judged(ending: Ending, *reported: str, cited: tuple[str, ...] = CITED) -> list[Finding]:
    """Return the findings of a check on `cited` that ended so, and whose answers have BREACH twice.

    `reported` are the clauses whose breaches the run has reported before.
    """
    ending = replace(ending, of_schemas=(BREACH, BREACH))
    return list(with_breaches_of_schemas(ending, cited, reported).findings(cited))


def test_a_breach_is_a_finding_of_the_check_that_met_it_first() -> None:
    """A breach that a passing check meets twice is one finding.

    If the run has reported the clause before, it is one only of checks that cite the clause.
    """
    passed = Ending(verdict="pass")

    seen = [
        judged(passed),
        judged(passed, "FR-004.enum"),
        judged(passed, "FR-004.enum", cited=("FR-004.enum",)),
    ]

    assert seen == [[BREACH], [], [BREACH]]


def test_a_clause_that_the_check_finds_broken_gets_no_second_finding() -> None:
    """A clause broken by the check's own finding gets no second finding from the schema.

    A breach of another clause is added after the check's own finding.
    """
    own = Finding(path="status of forge:wipe", clauses=("FR-004.enum",))
    other = Finding(path="locked entries", clauses=("FR-006.cap",))
    failed = [Ending(verdict="fail", comparison=Comparison(findings=[f])) for f in (own, other)]

    assert [judged(ending) for ending in failed] == [[own], [other, BREACH]]


def test_a_check_that_passed_still_shows_its_own_clauses() -> None:
    """A check that passed but met a breach of another clause fails.

    Its own clause counts as observed.
    """
    ending = with_breaches_of_schemas(
        Ending(verdict="pass", of_schemas=(BREACH,)), CITED, frozenset()
    )

    assert ending.verdict == "fail"
    assert ending.comparison is not None
    assert ending.comparison.observed == Counter(CITED)


STRUCTURE = {
    "$comment", "$defs", "$id", "$ref", "$schema", "additionalProperties", "allOf", "description",
    "else", "if", "items", "patternProperties", "properties", "propertyNames", "then", "title",
}  # fmt: skip
"""Keywords of the schemas of answers that are not broken themselves, only what is in them."""


def limits(schema: Any) -> Iterator[tuple[str, Any]]:
    """Yield (keyword, value) of each limit in the schema, or inside, that names clauses."""
    if isinstance(schema, dict):
        if "$comment" in schema:
            yield from ((word, value) for word, value in schema.items() if word not in STRUCTURE)
        for value in schema.values():
            yield from limits(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from limits(value)


def test_every_limit_of_an_answer_is_put_into_words() -> None:
    """`in_words` puts each limit of the schemas of answers into plain words.

    None has words of JSON Schema or of Python.
    """
    words = {
        in_words(keyword, value)
        for name in ("discovery-exchange", "server-listing", "server-inspection", "rejection")
        for keyword, value in limits(
            json.loads((schemas_dir() / f"{name}.schema.json").read_bytes())
        )
    }

    assert {
        "a list or nothing", "a text of one line", "absent, or not 0", "at most 1 entry",
        "at most 10 entries", "no text", "no act of the user",
    } < words  # fmt: skip
    assert not re.findall(r"None|True|False|[a-z][A-Z]|[{}\[\]\\]", " ".join(words))
