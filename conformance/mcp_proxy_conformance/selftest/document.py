"""Run of a selftest's trials and its JSON report: a row for each, and mutants by killing check."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from mcp_proxy_conformance.catalogue.index import Check
from mcp_proxy_conformance.selftest import gather, matrix, order
from mcp_proxy_conformance.selftest.matrix import Trial
from mcp_proxy_conformance.selftest.proof import Proof, proofs
from mcp_proxy_conformance.selftest.row import MatrixRow
from mcp_proxy_conformance.selftest.unchanged_target import NotTried, Standing, standing
from mcp_proxy_conformance.targets.target import Target

FORMAT = "mcp-proxy-conformance-selftest/1"
Document = dict[str, Any]
OnRow = Callable[[MatrixRow, int, int], None]


def on_the_reference(
    wanted: Sequence[Trial],
    folder: Path,
    on_row: OnRow,
    *,
    full: bool,
    jobs: int,
    orders: Sequence[str] = (),
    alone: Sequence[Check] = (),
) -> Document:
    """Run trials on changed references, `jobs` at a time; return the document of the selftest.

    `on_row` is called with each finished row, its number from 1 and their total. `orders` (keys
    of `order.WAYS`) are run too, of which "each check alone" with the checks `alone`; `full`: every
    check is run on every mutant.
    """
    total = len(wanted) + len(orders)
    skipped, rest = gather.set_aside_optional(wanted)
    for proof in proofs().values():
        rest = proof.prepared(rest, folder)
    rows = list(_reported(iter(skipped), total, on_row))
    tried = matrix.rows(rest, folder, full=full, at_once=jobs)
    rows += _reported(tried, total, on_row, after=len(rows))
    for proof in proofs().values():
        if proof.unchanged is not None:
            ordered = order.rows(orders, alone, proof.unchanged, folder, at_once=jobs)
            rows += _reported(iter(ordered), total, on_row, after=len(rows))
    return of_rows(rows, full=full)


def in_front_of(
    make: Callable[[], Target],
    proof: Proof,
    wanted: Sequence[Trial],
    folder: Path,
    on_row: OnRow,
    *,
    profile: str,
    full: bool,
    jobs: int,
) -> Document:
    """Try a user's target, then wire mutants in front of it, `jobs` at a time; return the document.

    `make` makes a fresh target, `proof` is that of its specification, by whose `profile` it is
    judged. A mutant of whose clauses no check passes on the unchanged target is not run, and its
    row says so. With `full` all checks are tried on each mutant, else those of its clauses. Raises
    NotTried if the unchanged target could not be tried.
    """
    if proof.through is None:
        raise NotTried("no mutants can be put in front of a target of this kind")
    base = standing(make, proof.through, profile, folder)
    unseeable, trials = gather.in_front_of(base, wanted)
    unseeable = [base.row, *unseeable]
    rows = list(_reported(iter(unseeable), len(wanted) + 1, on_row))
    tried = matrix.rows(trials, folder, full=full, at_once=jobs)
    rows += _reported(tried, len(wanted) + 1, on_row, after=len(unseeable))
    return of_rows(rows, full=full, target=_target(base))


def _reported(
    rows: Iterator[MatrixRow], total: int, on_row: OnRow, after: int = 0
) -> Iterator[MatrixRow]:
    """Yield each row, after calling `on_row` with the row, its number and `total`.

    The first row's number is `after` + 1.
    """
    for number, row in enumerate(rows, after + 1):
        on_row(row, number, total)
        yield row


def of_rows(
    rows: Sequence[MatrixRow],
    *,
    full: bool,
    target: Document | None = None,
) -> Document:
    """Return the selftest's document, as JSON data; it is `good` if all rows are.

    `target`: the user's own target as it is. Only with `full` are `alone` (checks that alone kill a
    mutant) and `spare` (all others that kill) filled.
    """
    kills = _kills(rows)
    needed = sorted({row.by[0] for row in rows if row.cell == "killed" and len(row.by) == 1})
    return {
        "format": FORMAT,
        "good": all(row.good for row in rows),
        "target": target,
        "rows": [msgspec.to_builtins(row) for row in rows],
        "checks": {check: sorted(set(ids)) for check, ids in sorted(kills.items())},
        "full": full,
        "alone": needed if full else [],
        "spare": sorted(kills.keys() - set(needed)) if full else [],
    }


def _target(base: Standing) -> Document:
    """Return the document's member `target`, on the run of the user's unchanged target, `base`.

    It has the target's kind and capabilities, the run's headline and exit code and, as
    `not_passed`, check, case and verdict of each result other than a pass.
    """
    target, verdicts = base.make(), base.verdicts
    return {
        "kind": target.kind,
        "capabilities": sorted(target.capabilities),
        "headline": verdicts.headline,
        "exit": verdicts.exit,
        "not_passed": [
            {name: result[name] for name in ("check", "case", "verdict")}
            for result in verdicts.results
        ],
    }


def _kills(rows: Sequence[MatrixRow]) -> dict[str, list[str]]:
    """Map each check to the ids of the mutants that it killed, by rows with the cell `killed`."""
    kills: dict[str, list[str]] = {}
    for row in rows:
        for check in row.by if row.cell == "killed" else ():
            kills.setdefault(check, []).append(row.id)
    return kills
