"""Inputs of loaders' property tests (laws): fixed and generated loads, trials, case files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property
from math import inf
from pathlib import Path

import msgspec

from mcp_proxy_conformance.catalogue.json_file import write
from mcp_proxy_conformance.resilience.laws.law import LAWS, Declared, script_in_words
from mcp_proxy_conformance.resilience.laws.smaller_loads import size, smaller
from mcp_proxy_conformance.resilience.laws.worlds import built, recipes, tours
from mcp_proxy_conformance.resilience.load_case import LoadCase
from mcp_proxy_conformance.resilience.loads import Load, Loads
from mcp_proxy_conformance.resilience.walk import Reads
from mcp_proxy_conformance.run.laws.engine import CONFIRMED, FOLDER, Examples, Tried, run_again
from mcp_proxy_conformance.run.laws.generation import drawn
from mcp_proxy_conformance.verdict.comparison import Comparison, about
from mcp_proxy_conformance.verdict.result import Inconclusive

LoadOf = Callable[[LoadCase], Load]


def generated(examples: int, seed: int, reads: Reads) -> list[LoadCase]:
    """Return the fixed loads of every run, then up to `examples` generated from the seed.

    `reads` are the loader's declarations; the reports that each load allows follow from them. Of
    loads with the same id the last counts, at the place of the first.
    """
    drawn_loads = [built(recipe, reads) for recipe in drawn(recipes(), examples, seed)]
    return list({case.id: case for case in (*tours(reads), *drawn_loads)}.values())


class GeneratedLoads(Examples[LoadCase]):
    """The generated loads of one run; each is made once, for all laws."""

    noun, subject = "load", "loader"
    again = is_timed = True
    shrink_s = inf

    def __init__(
        self, loads: Loads, declared: Declared, *, examples: int, seed: int, out: Path
    ) -> None:
        """Keep the settings; generate nothing yet. Cases of breaches are written under `out`."""
        self.seed = seed
        self._loads = loads
        self._declared = declared
        self._examples = examples
        self._out = out

    @cached_property
    def _cases(self) -> list[LoadCase]:
        """All loads on which laws are tried, fixed and generated; made at first use."""
        return generated(self._examples, self.seed, self._declared.reads)

    def wanted(self) -> list[LoadCase]:
        """Return every load that any law needs, each once, so that all can be begun early."""
        loads = [load for case in self._cases for law in LAWS for load in self._of(law, case)]
        return list({case.id: case for case in loads}.values())

    def tried_on_all(self, law: str) -> list[Tried[LoadCase]]:
        """Try the law on every generated load, with the loads that the law compares with each."""
        return self.tried(law, self._cases)

    def broken(self) -> Collection[str]:
        """Return (), as the laws of loads are tried one after another."""
        return ()

    def tried(self, law: str, examples: Sequence[LoadCase]) -> list[Tried[LoadCase]]:
        """Begin the loads of these examples all at once, wait for them, return a trial of each.

        Loads that the law compares with an example are begun too.
        """
        self._loads.plan([load for case in examples for load in self._of(law, case)])
        return [self._tried(law, case, self._loads.of) for case in examples]

    def seen_again(self, law: str, example: LoadCase) -> list[Tried[LoadCase]]:
        """Wait for running loads, then make the example's loads twice more; return both trials.

        Only once, for one trial, if the example was not answered: a hang was tried twice
        before.
        """
        self._loads.settle()
        times = CONFIRMED if self._loads.of(example).is_answered else 1  # a hang was tried twice
        return [self._tried(law, example, self._loads.anew) for _ in range(times)]

    def _tried(self, law: str, case: LoadCase, of: LoadOf) -> Tried[LoadCase]:
        """Judge a case by the law, with the loads that the law needs of it, and return the trial.

        `of` makes or finds the load of a case, and waits for it. Nothing is found or observed if a
        load has no answer that the law needs, or if this machine could not play one of its faults.
        """
        compared, several = Comparison(), [of(each) for each in self._of(law, case)]
        readable = all(load.is_answered for load in several) or not LAWS[law].needs_answers
        if readable and not any(load.unmet for load in several):
            compared = LAWS[law].judge(case, several, self._declared)
        signals = {server.server_id: server.signal for server in case.given.servers}
        findings = [about(finding, signals) for finding in compared.findings]
        return Tried(
            example=case,
            found={(finding.path, finding.clauses): finding for finding in findings},
            observed=compared.observed,
            broken=compared.broken,
            is_answered=readable,
        )

    def _of(self, law: str, case: LoadCase) -> list[LoadCase]:
        """Return the loads that a law needs for an example: itself, then those to compare with."""
        return [case, *LAWS[law].others(case, self._declared.reads)]

    def size(self, example: LoadCase) -> tuple[int, ...]:
        """Return the sort key of a load: numbers of servers, behaviours and attempts."""
        return size(example)

    def smaller(self, tried: Tried[LoadCase]) -> Iterator[list[LoadCase]]:
        """Yield batches of loads with fewer servers, shorter scripts or fewer attempts."""
        return smaller(tried.example, self._declared.reads)

    def is_of_one(self, law: str) -> bool:
        """Whether the law is about each server's behaviour alone, so that one server shows it."""
        return LAWS[law].of_one

    def elsewhere(self, law: str, example: LoadCase) -> str:
        """Return a reason if a law on single servers broke in a load of several; else empty.

        It counts if the loader isolates servers, so that nothing else explains it.
        """
        if not LAWS[law].of_one or len(example.given.servers) == 1:
            return ""
        if not any(tried.found for tried in self.tried_on_all("isolation")):
            return ""
        return f"seen only next to other servers, see I1.isolated: {self.in_words(example)}"

    def expect_control(self) -> None:
        """Raise Inconclusive if no server of any generated load was reported as available."""
        loaded = [self._loads.of(case).loaded for case in self._cases]
        outcomes = [outcome for each in loaded for outcome in each.answer.outcomes]
        if not any(outcome.status == "available" for outcome in outcomes):
            raise Inconclusive(
                "the loader loaded none of the generated servers", cause="not_loaded"
            )

    def in_words(self, example: LoadCase) -> str:
        """Return the most attempts, and each server's id with its script, in one line."""
        servers = "; ".join(
            f"{server.server_id}: {script_in_words(server)}" for server in example.given.servers
        )
        return f"at most {example.given.max_attempts} attempts; {servers}"

    def written(self, law: str, tried: Tried[LoadCase], *, in_time: bool) -> list[str]:
        """Write one load that shows the breach as a case file in the folder `laws`.

        Return the load in words, and how to run it again. Except for the law `clears`, it is
        without a second load (`again`). The case is not tried, whatever `in_time` is.
        """
        del in_time
        clauses = tuple(
            sorted({clause for finding in tried.found.values() for clause in finding.clauses})
        )
        case = tried.example
        if law != "clears":
            case = msgspec.structs.replace(
                self._with_wrong_status(law, case), again=None, heals=False
            )
        path = self._out / FOLDER / f"{case.id}.json"
        write(path, msgspec.structs.replace(case, clauses=clauses))
        return [
            self.in_words(case),
            run_again(path),
        ]

    def _with_wrong_status(self, law: str, case: LoadCase) -> LoadCase:
        """Return the first of the law's loads of this case in which a status is not allowed.

        Its id loses the suffix `-once`. If there is none, return the case itself.
        """
        for load in self._of(law, case):
            loaded, most = self._loads.of(load).loaded, load.given.max_attempts
            for server in load.given.servers:
                word = self._declared.word(loaded.outcome(server.server_id))
                if word not in self._declared.words(server, most):
                    return msgspec.structs.replace(load, id=load.id.removesuffix("-once"))
        return case

    def close(self) -> None:
        """Do nothing: `Loads` ends the loads."""
