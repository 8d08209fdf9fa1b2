"""A deviations file begun from a report; why each failure may stay is left to be filled in."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import date

from mcp_proxy_conformance.verdict.deviations.deviation import OWN
from mcp_proxy_conformance.verdict.redaction import inert
from mcp_proxy_conformance.verdict.result import ClauseVerdict, Result

WIDTH = 120
PRESENCE = "presence"
"""The result of a run that ended before its first check."""
HEAD = """\
# Failures that are known: each does not count until its date, and nothing else is excused by it.
# Say for each why it stays and where it is followed up; a run refuses the file until all do.
"""


def broken(clauses: Iterable[ClauseVerdict], results: Iterable[Result]) -> dict[str, str]:
    """Of these clauses those that fail and can be waived, each with the first reason.

    What ends a run before its first check is none of them: nothing is known of the rest then.
    """
    first: dict[str, str] = {}
    for result in results:
        convicts = (result.verdict, result.judgement) == ("fail", "F")
        if convicts and result.check != PRESENCE:
            for clause_id in result.clauses:
                first.setdefault(clause_id, result.reason)
    ids = [one.id for one in clauses]
    return {one: first[one] for one in ids if one in first and not one.startswith(OWN)}


def begun(clauses: dict[str, str], expires: date) -> str:
    """The text of a file that names these clauses."""
    return HEAD + "".join(_entry(one, reason, expires) for one, reason in clauses.items())


def _entry(clause_id: str, reason: str, expires: date) -> str:
    told = " ".join(inert(reason).split())[:WIDTH]
    return (
        f"\n[[deviation]]\n# {told}\nid = {_quoted(clause_id)}\n"
        f'reason = ""\nissue = ""\nexpires = {expires.isoformat()}\n'
    )


def _quoted(text: str) -> str:
    return json.dumps(inert(text), ensure_ascii=False)
