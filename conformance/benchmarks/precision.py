"""Precision of verdicts: the number of clauses reported as broken that a mutant does not break.

`python precision.py` runs every check on each mutant of two fixed samples, 100 proxies and 60
loaders, and counts the F clauses that the report says are broken though neither precision.toml nor
the mutant itself names them. `--part 3/10` takes every tenth, `--only ID` one. It prints a line of
JSON for each mutant that has such clauses, and one with the figures of each sample; it ends with 1
when the mean number of such clauses, over all mutants that were run, is above `--most`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from amounts import positive

from mcp_proxy_conformance.selftest.forked_jobs import forked
from mcp_proxy_conformance.selftest.gather import trials
from mcp_proxy_conformance.selftest.matrix import Trial
from mcp_proxy_conformance.selftest.warm_up import warm

SETTLED = Path(__file__).with_name("precision.toml")
LIMIT_S = 600.0
OPTIONAL = ("SC-001.baseline", "SC-005.baseline", "SUITE.changed", "FR-001.endures")
"""Clauses that a run judges only when an option requests it; they count for no mean size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A mutant of a sample, and the clauses that it breaks."""

    sample: str
    trial: Trial
    breaks: frozenset[str]


def jobs(part: str, only: Sequence[str]) -> list[Job]:
    """Return the mutants of both samples: of part I/N every Nth from the Ith, of these `only`."""
    settled = tomllib.loads(SETTLED.read_text(encoding="utf-8"))
    known = {trial.changed.id: trial for trial in trials()}
    mutants_of_samples = [
        Job(
            sample=sample,
            trial=known[name],
            breaks=frozenset(breaks) | frozenset(known[name].clauses),
        )
        for sample, mutants in settled.items()
        for name, breaks in mutants.items()
    ]
    number, _, parts = part.partition("/")
    chosen = mutants_of_samples[int(number) - 1 :: int(parts)]
    return [job for job in chosen if not only or job.trial.changed.id in only]


def broken(job: Job, folder: Path) -> list[str]:
    """Run every check on the mutant, writing a report.

    Return the required clauses it says are broken.
    """
    place = folder / job.trial.changed.id
    job.trial.tried(place)
    report = json.loads((place / "report.json").read_text(encoding="utf-8"))
    return [
        clause["id"]
        for clause in report["clauses"]
        if clause["verdict"] == "fail" and clause["level"] == "required"
    ]


def figures(sample: str, results: Mapping[str, tuple[Job, list[str]]]) -> dict[str, object]:
    """Return the figures of one sample of mutants, by name.

    `broken` and `beside` are means of a mutant: clauses reported as broken, and those of them that
    it does not break. `missed` counts mutants of which no broken clause was found.
    """
    own = [(job, clauses) for job, clauses in results.values() if job.sample == sample]
    beside = [len(set(clauses) - job.breaks) for job, clauses in own]
    sizes = [len(job.breaks.difference(OPTIONAL)) for job, _ in own]
    return {
        "sample": sample,
        "mutants": len(own),
        "broken": round(sum(len(clauses) for _, clauses in own) / len(own), 2),
        "beside": round(sum(beside) / len(own), 3),
        "with_some_beside": sum(map(bool, beside)),
        "mean_size_of_breaks": round(sum(sizes) / len(own), 2),
        "missed": sum(job.breaks.isdisjoint(clauses) for job, clauses in own),
    }


def main() -> int:
    """Run the mutants, print the false ones and the figures; return 1 if the mean is too high.

    Also if a mutant could not be judged.
    """
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--part", default="1/1", metavar="I/N")
    parser.add_argument("--only", action="append", default=[], metavar="ID")
    parser.add_argument("--jobs", type=positive, default=2)
    parser.add_argument("--most", type=float, default=0.1, help="mean of clauses beside")
    options = parser.parse_args()
    wanted = jobs(options.part, options.only)
    folder = Path(tempfile.mkdtemp(prefix="precision-"))
    results: dict[str, tuple[Job, list[str]]] = {}
    false = 0
    warm(reference=True)
    try:
        for outcome in forked(
            lambda job: broken(job, folder), wanted, folder, at_once=options.jobs, limit_s=LIMIT_S
        ):
            name = outcome.job.trial.changed.id
            if outcome.value is None:
                print(json.dumps({"id": name, "failure": outcome.failure}), flush=True)
                continue
            results[name] = (outcome.job, outcome.value)
            if beside := sorted(set(outcome.value) - outcome.job.breaks):
                false += len(beside)
                true = sorted(outcome.job.breaks & set(outcome.value))
                print(json.dumps({"id": name, "beside": beside, "true": true}), flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    samples = dict.fromkeys(job.sample for job, _ in results.values())
    summaries = [figures(sample, results) for sample in samples]
    print("\n".join(map(json.dumps, summaries)))
    return int(len(results) < len(wanted) or false > options.most * len(results))


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)  # workers of a warm parent are not waited for
