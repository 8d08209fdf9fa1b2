"""Draft of a deviations file from a report, with the reasons left to be filled in."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import date

from mcp_proxy_conformance.verdict.deviations.deviation import OWN
from mcp_proxy_conformance.verdict.redaction import inert
from mcp_proxy_conformance.verdict.result import ClauseVerdict, Result

WIDTH = 120
PRESENCE = "presence"
"""Name of the probe's result: a run that has it ended before its first check."""
HEAD = """\
# Known failures. Each entry excuses its own failure until its date, and nothing else.
# Say in each why it is not fixed yet (reason) and give its link (issue): a run needs both.
"""


def broken(clauses: Iterable[ClauseVerdict], results: Iterable[Result]) -> dict[str, str]:
    """Map each required clause that fails, and that a deviation may waive, to its first reason.

    Failures before the first check cannot be waived: nothing is known of the rest then.
    """
    first: dict[str, str] = {}
    for result in results:
        convicts = (result.verdict, result.level) == ("fail", "required")
        if convicts and result.check != PRESENCE:
            for clause_id in result.clauses:
                first.setdefault(clause_id, result.reason)
    ids = [clause.id for clause in clauses]
    return {
        clause_id: first[clause_id]
        for clause_id in ids
        if clause_id in first and not clause_id.startswith(OWN)
    }


def begun(clauses: dict[str, str], expires: date) -> str:
    """Return a deviations file with one entry for each clause, `reason` and `issue` left empty."""
    return HEAD + "".join(
        _entry(clause_id, reason, expires) for clause_id, reason in clauses.items()
    )


def _entry(clause_id: str, reason: str, expires: date) -> str:
    """Return the TOML of one entry, with its failure's reason in a comment of 120 characters."""
    comment = " ".join(inert(reason).split())[:WIDTH]
    return (
        f"\n[[deviation]]\n# {comment}\nid = {_quoted(clause_id)}\n"
        f'reason = ""\nissue = ""\nexpires = {expires.isoformat()}\n'
    )


def _quoted(text: str) -> str:
    """Return the text as a quoted TOML string, its control characters escaped."""
    return json.dumps(inert(text), ensure_ascii=False)
