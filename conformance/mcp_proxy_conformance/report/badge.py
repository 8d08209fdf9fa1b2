"""The report as a badge: the JSON that a shields endpoint reads."""

from __future__ import annotations

import json

from mcp_proxy_conformance.report.document import Report
from mcp_proxy_conformance.report.phrases import has_waived, named, profile_of
from mcp_proxy_conformance.verdict.outcome import CONFORMANT, INCOMPLETE, STALE, VIOLATED
from mcp_proxy_conformance.verdict.redaction import inert

COLORS = {CONFORMANT: "brightgreen", VIOLATED: "red", INCOMPLETE: "yellow", STALE: "orange"}
OTHER = "lightgrey"
"""Colour of a run that judged nothing: a declaration, the target or the suite is at fault."""
DEVIATING = "yellowgreen"
"""Colour of a run that passes with deviations."""
MOST, NAME = 60, 30
"""Characters of a text, and of the target's name and version in it."""


def render(report: Report) -> str:
    """Return the badge as a JSON line: target's name, profile and headline, coloured by exit code.

    A target without a name is left out.
    """
    name = _line(named(report), NAME) if report.target.name else ""
    badge = {
        "schemaVersion": 1,
        "label": _line(f"{name} {profile_of(report)}"),
        "message": _line(report.headline),
        "color": _color(report),
    }
    return json.dumps(badge, ensure_ascii=False) + "\n"


def _color(report: Report) -> str:
    """Return the colour for the report's exit code, lightgrey for codes not listed.

    Yellowgreen for a run that passes with waived clauses.
    """
    if report.exit == CONFORMANT and has_waived(report):
        return DEVIATING
    return COLORS.get(report.exit, OTHER)


def _line(text: str, most: int = MOST) -> str:
    """Return the text's first `most` characters on one line, escaped; `unknown` if it is blank."""
    return " ".join(inert(text).split())[:most] or "unknown"
