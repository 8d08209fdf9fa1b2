"""Draft of a deviations file from a report, with reasons and issues to be filled in."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import date

from mcp_proxy_conformance.verdict.causes import RootCause
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
    """Map each clause that a required result fails and that may be waived to the first reason.

    They are in the order of `clauses`, and only those. Failures of the probe, before the first
    check, and of the suite's own clauses cannot be waived.
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


def begun(clauses: Mapping[str, str], causes: Iterable[RootCause], expires: date) -> str:
    """Return the text of a deviations file, an entry per cause, with empty `reason` and `issue`.

    An entry names the clauses that its cause breaks and no earlier entry names; `clauses` maps
    all that may be named to their first reasons, and those of no cause get an entry each.
    """
    left, entries = dict(clauses), list[str]()
    for cause in causes:
        ids = [clause for clause in cause.breaks if clause in left]
        if ids:
            entries.append(_entry(ids, cause.sentence, left[ids[0]], expires))
            left = {clause: reason for clause, reason in left.items() if clause not in ids}
    entries += [_entry([clause], reason, "", expires) for clause, reason in left.items()]
    return HEAD + "".join(entries)


def _entry(ids: Sequence[str], sentence: str, reason: str, expires: date) -> str:
    """Return the text of one entry: comments, its id or ids, empty reason and issue, the last day.

    The comments are `sentence` and `reason`, escaped, each on one line cut to 120 characters; equal
    ones are written once. The file is refused until reason and issue are filled in.
    """
    lines = dict.fromkeys(" ".join(inert(text).split())[:WIDTH] for text in (sentence, reason))
    comment = "\n".join(f"# {line}" for line in lines if line)
    quoted = ", ".join(map(_quoted, ids))
    return (
        f"\n[[deviation]]\n{comment}\nid = {f'[{quoted}]' if len(ids) > 1 else quoted}\n"
        f'reason = ""\nissue = ""\nexpires = {expires.isoformat()}\n'
    )


def _quoted(text: str) -> str:
    """Return the text as a TOML string, its control characters escaped."""
    return json.dumps(inert(text), ensure_ascii=False)
