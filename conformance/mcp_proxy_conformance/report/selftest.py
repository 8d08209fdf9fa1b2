"""Summary of a selftest (mutation testing of the checks), in lines for a terminal."""

from __future__ import annotations

from collections import Counter
from typing import Any

TITLES = {
    "target": "the unchanged target",
    "fault": "mutants of the reference",
    "wire": "mutants on the wire",
    "variant": "variants",
    "control": "controls",
    "order": "orders of the checks",
}
SILENT = ("killed", "acquitted", "behaved")


def lines(document: dict[str, Any]) -> list[str]:
    """Return lines on a document of schemas/selftest.schema.json, the last with the conclusion.

    They are counts by kind of trial, trials that did not go as expected, and checks to review.
    """
    summary = []
    for kind, title in TITLES.items():
        cells = Counter(row["cell"] for row in document["rows"] if row["kind"] == kind)
        if cells:
            counts = ", ".join(f"{number} {cell}" for cell, number in cells.most_common())
            summary.append(f"{title}: {cells.total()} ({counts})")
    summary += [_row(row) for row in document["rows"] if row["cell"] not in SILENT]
    summary += _reach(document) if document["full"] else []
    summary += [
        f"  kills a mutant that no other check kills: {check}" for check in document["alone"]
    ]
    summary += [
        f"  kills only mutants that other checks kill too: {check}" for check in document["spare"]
    ]
    return [*summary, f"{len(document['checks'])} checks kill mutants; {_summed(document)}"]


def _reach(document: dict[str, Any]) -> list[str]:
    """Return lines on all killed mutants: the kinds of checks that kill, and clauses beside."""
    killed = [row for row in document["rows"] if row["cell"] == "killed"]
    if not killed:
        return []
    counts = [
        f"{source} {sum(source in row['sources'] for row in killed)}"
        for source in ("laws", "cases", "checks")
    ]
    beside = [len({*row["convicted"]} - {*row["clauses"]}) for row in killed]
    return [
        f"  {len(killed)} mutants are killed by {', '.join(counts)}",
        (
            f"  {sum(map(bool, beside))} are convicted of clauses that they do not name, on average"
            f" of {sum(beside) / len(killed):.2f}"
        ),
    ]


def _summed(document: dict[str, Any]) -> str:
    """Return the conclusion in words: not proven, no mutant observable here, or as expected."""
    if not document["good"]:
        return "the suite is not proven"
    cells = {row["cell"] for row in document["rows"] if row["kind"] != "target"}
    return (
        "this target lets no mutant be observed"
        if cells == {"unseeable"}
        else "all trials went as expected"
    )


def _row(row: dict[str, Any]) -> str:
    """Return a line on a trial: its cell, up to three checks behind it, id, text, reason."""
    by = f" by {', '.join(row['by'][:3])}" if row["by"] else ""
    return f"  {row['cell']}{by}: {row['id']}, {row['text']} {row['reason']}".rstrip()
