"""Corpora of remediation texts, independent of the rules: none misjudged, half of them read."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

import pytest

from mcp_proxy_conformance.catalogue.resources import fixtures_dir
from mcp_proxy_conformance.discovery.remediation import judge, mask

CONVICTED = {
    "second-corpus": 6,
    "third-corpus": 21,
    "fourth-corpus": 5,
    "fifth-corpus": 8,
    "sixth-corpus": 13,
    "seventh-corpus": 8,
    "eighth-corpus": 11,
    "ninth-corpus": 8,
    "tenth-corpus": 10,
}
"""The least number of unfair texts of each corpus that are convicted."""
CORPORA = tuple(CONVICTED)


def texts(corpus: str) -> list[dict[str, Any]]:
    """Return the rows of a corpus: objects with a text, its status, and whether it is fair."""
    path = fixtures_dir() / "remediation" / f"{corpus}.json"
    rows: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["texts"]
    return rows


def masked(text: str) -> str:
    """Return the text as a check reads it: both names of each `server:tool` in it are masked."""
    return mask(text, {name for pair in re.findall(r"([\w-]+):(\w+)", text) for name in pair})


def outcomes(corpus: str, *, fair: bool) -> dict[str, list[str]]:
    """Return {judgement: texts} of the fair, or the unfair, texts of a corpus."""
    by_outcome: dict[str, list[str]] = {}
    for row in texts(corpus):
        if row["fair"] is fair:
            outcome = judge(masked(row["text"]), row["status"])
            by_outcome.setdefault(outcome, []).append(row["text"])
    return by_outcome


@pytest.mark.parametrize("corpus", CORPORA)
@pytest.mark.parametrize(("fair", "never"), [(True, "convicted"), (False, "conveys")])
def test_a_text_is_never_misjudged(corpus: str, never: str, *, fair: bool) -> None:
    """No fair text of a corpus is convicted, and no unfair one is said to convey its status."""
    assert outcomes(corpus, fair=fair).get(never, []) == []


@pytest.mark.parametrize("corpus", CORPORA)
def test_half_of_the_fair_texts_are_read(corpus: str) -> None:
    """At least half of the fair texts of a corpus are said to convey their status."""
    counts = Counter({name: len(rows) for name, rows in outcomes(corpus, fair=True).items()})

    assert counts["conveys"] * 2 >= counts.total()


@pytest.mark.parametrize("corpus", CORPORA)
def test_some_wrong_texts_are_convicted(corpus: str) -> None:
    """At least CONVICTED[corpus] unfair texts of a corpus are convicted."""
    assert len(outcomes(corpus, fair=False).get("convicted", [])) >= CONVICTED[corpus]
