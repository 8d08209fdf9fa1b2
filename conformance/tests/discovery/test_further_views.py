"""A case's second view, such as another endpoint: its misshapen answers are judged."""

from __future__ import annotations

from typing import Any, cast

import pytest

from mcp_proxy_conformance.discovery import views
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.case import Case, cases
from mcp_proxy_conformance.verdict.comparison import Comparison
from mcp_proxy_conformance.verdict.result import Misshapen

FIRST, OTHER = cast("Bench", "first"), cast("Bench", "other")


@pytest.mark.parametrize(
    ("named", "broken"),
    [
        (["FR-005.keys"], [("the answer's shape", ("at /other",), ("FR-005.keys",))]),
        (["FR-001.accepts"], []),
        ([], []),
    ],
)
def test_a_misshapen_answer_in_the_second_view_breaks_its_clauses(
    named: list[str], broken: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """If another endpoint's answer is misshapen, the clauses it breaks are a finding of the case.

    There is none if it breaks no clause, or only the one on answers that cannot be read.
    """

    def compared(_case: Case, bench: Bench, *, way: int = 0) -> Comparison:
        """Return a comparison without findings; raise Misshapen in the other view."""
        if bench is OTHER:
            raise Misshapen(f"the map is an array, by way {way}", *named)
        return Comparison()

    monkeypatch.setattr(views, "compare_answer", compared)
    monkeypatch.setattr(views, "views", lambda _case, _bench: [views.View("at /other", OTHER)])
    case = next(case for case in cases() if not case.then.as_without_flag)

    findings = views.looked_at(case, FIRST).findings

    assert [(finding.path, finding.views, finding.clauses) for finding in findings] == broken
