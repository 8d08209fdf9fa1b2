"""Kill rate of the laws of discovery alone, with no other check beside them.

`python laws_alone.py` tries them on every mutant of discovery, one process each, and on every fair
variant, and prints one line of JSON: how many are killed, which survive (`unlisted`: those that
laws_alone.toml gives no reason for), and which fair ones are accused. It ends with 1 when fewer
than 60 of 100 are killed, or a fair one is accused. `--only ID` tries those alone, `--examples N`
generates more worlds, `--part I/N` tries every Nth.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from amounts import positive

from mcp_proxy_conformance.catalogue.requirement import catalogue, profile
from mcp_proxy_conformance.discovery.laws.law import LAWS
from mcp_proxy_conformance.discovery.laws.player import play
from mcp_proxy_conformance.run.laws.of_worlds import generated
from mcp_proxy_conformance.selftest.forked_jobs import forked
from mcp_proxy_conformance.selftest.gather import trials
from mcp_proxy_conformance.selftest.matrix import Trial
from mcp_proxy_conformance.selftest.warm_up import warm
from mcp_proxy_conformance.verdict.result import Misshapen

LEAST, LIMIT_S = 0.6, 240.0
LISTED = Path(__file__).with_suffix(".toml")
"""Mutants known to survive, each with the reason."""


@dataclass(frozen=True, slots=True)
class LawVerdict:
    """Required clauses that laws found broken on a changed proxy, and the first breach's place.

    Both are empty if none was found.
    """

    clauses: tuple[str, ...]
    path: str = ""


def judged_by_laws(trial: Trial, examples: int) -> LawVerdict:
    """Play generated worlds on a changed proxy; return the required clauses that laws found broken.

    On a mutant, only laws of its clauses are tried, until one finds a clause that it breaks; on a
    conforming variant, every law in every world.
    """
    target, cited = trial.target(), set(trial.clauses)
    laws = [name for name, law in LAWS.items() if trial.kind == "variant" or cited & {*law.clauses}]
    accused: dict[str, str] = {}
    try:
        with tempfile.TemporaryDirectory() as scratch:
            for plan in generated(examples, 0, target.capabilities) if laws else ():
                try:
                    played = play(target, plan, Path(scratch), laws)
                except Misshapen as error:
                    accused |= dict.fromkeys(_firm(error.clauses), "the answer's shape")
                    break
                for law in played.broken:
                    for path, clauses in played.of(law):
                        accused |= dict.fromkeys(set(_firm(clauses)) - accused.keys(), path)
                if trial.kind == "fault" and accused.keys() & cited:
                    break
    finally:
        target.close()
    return LawVerdict(tuple(sorted(accused)), next(iter(accused.values()), ""))


def _firm(clauses: Iterable[str]) -> list[str]:
    """Return those of these clauses that are required."""
    return [clause for clause in clauses if catalogue().clause(clause).level == "required"]


def of_discovery(trial: Trial) -> bool:
    """Whether a trial is of a mutant of required discovery clauses, or of a proxy variant.

    Clauses that only an option asks for do not count.
    """
    if trial.kind == "variant":
        return not trial.loads
    known = [catalogue().clause(clause) for clause in profile("discovery").clauses]
    firm = {clause.id for clause in known if clause.level == "required" and clause.asked_by is None}
    return trial.kind == "fault" and bool(set(trial.clauses) & firm)


def main() -> int:
    """Try the chosen mutants and variants by the laws, print the figures, return the exit code.

    It is 1 if a variant is accused, a trial broke, or too few mutants are killed.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=positive, default=6)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--part", default="1/1")
    parser.add_argument("--jobs", type=positive, default=2)
    parser.add_argument("--kind", choices=["fault", "variant"])
    options = parser.parse_args()
    number, parts = map(int, options.part.split("/"))
    chosen = [trial for trial in trials() if of_discovery(trial)]
    chosen = [trial for trial in chosen if options.kind in (None, trial.kind)]
    chosen = [trial for trial in chosen if not options.only or trial.changed.id in options.only]
    chosen = chosen[number - 1 :: parts]
    warm(reference=True)
    killed, survived, accused, broken = 0, {}, {}, {}
    with tempfile.TemporaryDirectory() as folder:
        work = partial(judged_by_laws, examples=options.examples)
        for done in forked(work, chosen, Path(folder), at_once=options.jobs, limit_s=LIMIT_S):
            trial, name = done.job, done.job.changed.id
            if done.value is None:
                broken[name] = done.failure
            elif trial.kind == "variant" and done.value.clauses:
                accused[name] = [*done.value.clauses, done.value.path]
            elif trial.kind == "fault" and set(done.value.clauses) & set(trial.clauses):
                killed += 1
            elif trial.kind == "fault":
                survived[name] = [*trial.clauses, "|", *done.value.clauses]
            sys.stderr.write(f"{name} {done.seconds:.1f} {done.value or done.failure}\n")
    faults = sum(trial.kind == "fault" for trial in chosen)
    listed = tomllib.loads(LISTED.read_text(encoding="utf-8"))["survivors"]
    unlisted = sorted(survived.keys() - listed.keys())
    figures = {
        "faults": faults, "killed": killed, "survived": survived, "unlisted": unlisted,
        "accused": accused, "broken": broken,
    }  # fmt: skip
    print(json.dumps(figures))
    return int(bool(accused or broken) or killed < LEAST * faults)


if __name__ == "__main__":
    sys.exit(main())
