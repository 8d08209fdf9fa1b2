"""Page of one case as text."""

from __future__ import annotations

from collections.abc import Iterator

from mcp_proxy_conformance.catalogue.case_file import CitingCase
from mcp_proxy_conformance.catalogue.specification import specifications


def case_page(case: CitingCase) -> Iterator[str]:
    """Yield the lines of the page of a case: id, file, title, clauses, and what is its kind's."""
    own = next(each for each in specifications() if case in each.cases() + each.scenarios())
    yield f"{case.id}  (fixtures/{own.name}/{case.area}.json)"
    yield f"  {case.title}"
    if source := getattr(case, "source", ()):
        yield f"\nsource: {', '.join(source)}"
    yield f"clauses: {', '.join(case.clauses)}"
    yield from own.page(case)
