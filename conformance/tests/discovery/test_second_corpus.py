"""Texts written apart from the rules: a fair text is never convicted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcp_proxy_conformance.catalogue.resources import fixtures_dir
from mcp_proxy_conformance.discovery.remediation import judge

PATH = fixtures_dir() / "remediation" / "second-corpus.json"
TEXTS: list[dict[str, Any]] = json.loads(PATH.read_text(encoding="utf-8"))["texts"]


@pytest.mark.parametrize("row", [row for row in TEXTS if row["fair"]], ids=lambda r: r["text"][:40])
def test_a_fair_text_is_never_convicted(row: dict[str, Any]) -> None:
    """Whatever words an implementer chose, a text of the right class is not accused."""
    judgement = judge(row["text"], row["status"])

    assert judgement.outcome != "convicted"


def test_some_wrong_texts_are_convicted() -> None:
    """The strict core is not empty: plainly wrong texts are found without their help."""
    wrong = [row for row in TEXTS if not row["fair"]]

    convicted = [row for row in wrong if judge(row["text"], row["status"]).outcome == "convicted"]

    assert len(convicted) >= 5
