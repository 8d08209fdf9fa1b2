"""`selftest`: the suite proves that its checks can fail, and that they accuse nobody wrongly."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from mcp_proxy_conformance.report.outcome import CONFORMANT, DECLARATION, INCOMPLETE, VIOLATED

FORMAT = "mcp-proxy-conformance-selftest/1"
TITLES = {
    "fault": "counterexamples of the reference",
    "wire": "counterexamples on the wire",
    "variant": "variants",
    "control": "controls",
}


@click.command()
@click.option("--full", is_flag=True, help="Run every check on every counterexample.")
@click.option("--only", multiple=True, metavar="ID", help="Only this counterexample or variant.")
@click.option(
    "--part",
    default="1/1",
    metavar="I/N",
    show_default=True,
    help="Every Nth counterexample and variant only, from the Ith on; all controls.",
)
@click.option("--jobs", type=click.IntRange(1, 64), default=2, show_default=True, help="At once.")
@click.option(
    "--json",
    "report",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the matrices to this file.",
)
@click.option("--keep", is_flag=True, help="Keep the report of each trial.")
def selftest(
    *,
    full: bool,
    only: tuple[str, ...],
    part: str,
    jobs: int,
    report: Path | None,
    keep: bool,
) -> None:
    """Try the checks on proxies that are each wrong in one way, and on fair ones.

    Exit 0 when every counterexample is killed by a check of a clause it breaks, no variant is
    accused, every check kills something, and the controls behave; 4 when only counterexamples
    survive that are known to and told as open; else 1.
    """
    from mcp_proxy_conformance.counterexamples.gather import part_of, trials  # noqa: PLC0415

    number, slash, parts = part.partition("/")
    if not (slash and number.isdecimal() and parts.isdecimal() and 1 <= int(number) <= int(parts)):
        click.echo(f"--part {part!r} is no part of a whole; write for instance 1/8", err=True)
        sys.exit(DECLARATION)
    everything = trials()
    wanted = [one for one in everything if one.changed.id in only]
    if not only:
        wanted = part_of(everything, int(number), int(parts))
    unknown = sorted(set(only) - {one.changed.id for one in wanted})
    if unknown:
        click.echo(f"there is no counterexample, variant or control {unknown[0]!r}", err=True)
        sys.exit(DECLARATION)
    folder = Path(tempfile.mkdtemp(prefix="selftest-"))
    began = time.monotonic()
    try:
        document = _document(wanted, folder, full=full, jobs=jobs, whole=not only and parts == "1")
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
    document["timing"] = {"seconds": round(time.monotonic() - began, 1)}
    if report is not None:
        report.write_text(json.dumps(document, indent=1), encoding="utf-8")
    click.echo("\n".join(_told(document)))
    if keep:
        click.echo(f"reports: {folder}")
    still_open = any(row["cell"] == "open" for row in document["rows"])
    good = INCOMPLETE if still_open else CONFORMANT
    sys.exit(good if document["good"] else VIOLATED)


def _document(
    wanted: Sequence[Any], folder: Path, *, full: bool, jobs: int, whole: bool
) -> dict[str, Any]:
    from mcp_proxy_conformance.counterexamples import gather, matrix  # noqa: PLC0415

    _warm()
    found = []
    for row in matrix.rows(wanted, folder, full=full, at_once=jobs):
        found.append(row)
        click.echo(f"{len(found)}/{len(wanted)} {row.cell}: {row.id}", err=True)
    kills: dict[str, list[str]] = {}
    for row in found:
        for check in row.by if row.cell == "killed" else ():
            kills.setdefault(check, []).append(row.id)
    if whole:
        for check, killed in matrix.duels(gather.idle(found, wanted), folder, at_once=jobs):
            kills[check] = [killed] if killed else []
    needless = sorted(check for check, ids in kills.items() if not ids)
    return {
        "format": FORMAT,
        "good": all(row.good for row in found) and not needless,
        "rows": [msgspec.to_builtins(row) for row in found],
        "checks": {check: sorted(ids) for check, ids in sorted(kills.items())},
        "idle": needless,
        "alone": _alone(found) if full else [],
    }


def _alone(found: Sequence[Any]) -> list[str]:
    """The checks whose removal would let some counterexample survive."""
    return sorted({row.by[0] for row in found if row.cell == "killed" and len(row.by) == 1})


def _warm() -> None:
    """Import all that a trial needs, so that no forked process has to."""
    import deepdiff  # noqa: F401, PLC0415
    import jsonschema  # noqa: F401, PLC0415

    import mcp_proxy_conformance.plugin  # noqa: F401, PLC0415
    import mcp_proxy_reference.proxy  # noqa: F401, PLC0415


def _told(document: dict[str, Any]) -> list[str]:
    lines = []
    for kind, title in TITLES.items():
        cells = Counter(row["cell"] for row in document["rows"] if row["kind"] == kind)
        if cells:
            told = ", ".join(f"{number} {cell}" for cell, number in cells.most_common())
            lines.append(f"{title}: {cells.total()} ({told})")
    for row in document["rows"]:
        if row["cell"] not in ("killed", "acquitted", "behaved"):
            by = f" by {', '.join(row['by'][:3])}" if row["by"] else ""
            lines.append(
                f"  {row['cell']}{by}: {row['id']}, {row['text']} {row['reason']}".rstrip()
            )
    lines += [f"  kills nothing: {check}" for check in document["idle"]]
    lines += [f"  kills something that no other check does: {one}" for one in document["alone"]]
    counts = f"{len(document['checks']) - len(document['idle'])} checks kill something"
    lines.append(f"{counts}; {'all is well' if document['good'] else 'the suite is not proven'}")
    return lines
