"""Memory, transcript and report of a run in a crowded world: one of many tools.

`python crowded_report.py 100 100000` judges the reference, with so many locked tools, by one check
that asks for all of them many times and then fails, so that the report cites what crossed the wire.
It prints a line of JSON for each size: seconds, the most memory that the run's process or one that
it started ever had, the size of its report and of all that it wrote. It ends with 1 when the check
did not fail, memory or the report is beyond its bound, or there is no report.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from amounts import positive

SIZES, MOST_MB, MOST_REPORT_MB = (100, 100_000), 400.0, 4.0
CHECK = """
from locked_tools import WORD, crowd
from mcp_proxy_conformance.api import Bench, on, requirement

@requirement("FR-006.cap")
@on(crowd({count}))
def test_of_a_crowd(bench: Bench) -> None:
    for _ in range({rounds}):
        bench.discover(WORD, include_disabled=True)
        bench.request("tools/list", {{}})
        bench.list()
    assert bench.discover(WORD, include_disabled=True).tools == ()
"""
ROUNDS, READY_S = 20, 600
"""Rounds of requests; seconds until so many tools are callable."""


def judged(count: int, folder: Path) -> dict[str, object]:
    """Judge the reference with `count` locked tools in a new process; return the figures.

    They are verdicts, seconds, peak memory, messages, sizes of the report and of all written. It
    ends the program without a report.
    """
    folder.mkdir()
    check = folder / "test_crowd.py"
    check.write_text(CHECK.format(count=count, rounds=ROUNDS), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "mcp_proxy_conformance.plugin"]
    command += ["--target", "reference", "--target-options", json.dumps({"ready_s": READY_S})]
    command += ["--out", str(folder / "out"), "--rootdir", str(folder), str(check)]
    began = time.monotonic()
    own = os.environ.get("PYTHONPATH", "")
    path = os.pathsep.join([str(Path(__file__).parent), *filter(None, [own])])
    env = os.environ | {"PYTHONPATH": path}
    child = subprocess.Popen(command, env=env, stdout=sys.stderr, cwd=folder)  # noqa: S603 - our own
    _, _, used = os.wait4(child.pid, 0)
    child.returncode = 0
    seconds = time.monotonic() - began
    report = folder / "out" / "report.json"
    if not report.exists():
        sys.exit("there is no report: see what pytest printed")
    document = json.loads(report.read_bytes())
    unit = 1 if sys.platform == "darwin" else 1024
    return {
        "locked": count,
        "verdicts": [result["verdict"] for result in document["results"]],
        "seconds": round(seconds, 1),
        "peak_mb": round(used.ru_maxrss * unit / (1 << 20), 1),
        "messages": len(document["messages"]),
        "report_mb": round(report.stat().st_size / (1 << 20), 2),
        "written_mb": round(_size(folder / "out") / (1 << 20), 2),
    }


def _size(folder: Path) -> int:
    """Return the bytes of all files in a folder, at any depth."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def main() -> int:
    """Judge each size and print its figures; return 1 if one is beyond a bound or did not fail."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("sizes", type=positive, nargs="*", default=SIZES)
    good = True
    with tempfile.TemporaryDirectory() as folder:
        for count in parser.parse_args().sizes:
            figures = judged(count, Path(folder) / str(count))
            print(json.dumps(figures), flush=True)
            good = good and figures["verdicts"] == ["fail"]
            good = good and _within(figures["peak_mb"], MOST_MB)
            good = good and _within(figures["report_mb"], MOST_REPORT_MB)
    return int(not good)


def _within(value: object, most: float) -> bool:
    """Whether the value is a float of at most `most`."""
    return isinstance(value, float) and value <= most


if __name__ == "__main__":
    sys.exit(main())
