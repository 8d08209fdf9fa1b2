"""Cost of the selftest's kill matrix, by which each mutant must fail some check, row by row.

`python kill_matrix.py --part 1/24` runs that part of `mcp-proxy-conformance selftest` at each
number of `--jobs` at once, and prints one line of JSON for each: seconds, rows of each kind, what
they came to, seconds of a row (the median, and the worst ten by name), and rows a minute. It ends
with 1 when a row is not what it has to be, and as the selftest where that does not run.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from amounts import positive

WORST = 10


def matrix(part: str, jobs: int, folder: Path) -> Any:
    """Run a selftest and return its JSON document; its output goes to standard error.

    Without a document the program ends with the selftest's exit code, 1 for 0.
    """
    report = folder / f"{jobs}.json"
    command = [sys.executable, "-m", "mcp_proxy_conformance", "selftest", "--part", part]
    command += ["--jobs", str(jobs), "--json", str(report)]
    done = subprocess.run(command, check=False, stdout=sys.stderr)  # noqa: S603 - our own
    if not report.exists():
        sys.exit(done.returncode or 1)  # it has printed the reason
    return json.loads(report.read_text(encoding="utf-8"))


def figures(document: Any, jobs: int) -> dict[str, object]:
    """Return a run's figures: counts by kind and cell, seconds, ten slowest rows, rows a minute."""
    rows, seconds = document["rows"], document["timing"]["seconds"]
    slow = sorted(rows, key=lambda row: row["seconds"], reverse=True)[:WORST]
    return {
        "jobs": jobs,
        "good": document["good"],
        "seconds": round(seconds, 1),
        "rows": dict(Counter(row["kind"] for row in rows)),
        "cells": dict(Counter(row["cell"] for row in rows)),
        "row_median_s": round(statistics.median(row["seconds"] for row in rows), 2),
        "slowest_s": {row["id"]: round(row["seconds"], 1) for row in slow},
        "rows_a_minute": round(60 * len(rows) / seconds, 1),
    }


def main() -> int:
    """Run the matrix for each number of jobs and print its figures.

    Return 1 unless all are good.
    """
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--part", default="1/1", help="every Nth row, as for the selftest")
    parser.add_argument("--jobs", type=positive, nargs="+", default=[2])
    options = parser.parse_args()
    good = True
    with tempfile.TemporaryDirectory() as folder:
        for jobs in options.jobs:
            summary = figures(matrix(options.part, jobs, Path(folder)), jobs)
            good = good and bool(summary["good"])
            print(json.dumps(summary), flush=True)
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
