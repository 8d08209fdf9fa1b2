"""Generated loads of a loader: all go on at once, each against servers made for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from math import inf
from pathlib import Path

import msgspec

from mcp_proxy_conformance.catalogue.load_case import LoadCase
from mcp_proxy_conformance.catalogue.writing import write
from mcp_proxy_conformance.resilience.laws.law import LAWS, Declared, told
from mcp_proxy_conformance.resilience.laws.shrinking import size, smaller
from mcp_proxy_conformance.resilience.laws.worlds import built, recipes, tours
from mcp_proxy_conformance.resilience.loads import Load, Loads
from mcp_proxy_conformance.resilience.walk import Reads
from mcp_proxy_conformance.run.laws.engine import CONFIRMED, FOLDER, Examples, Tried, run_again
from mcp_proxy_conformance.run.laws.generation import drawn
from mcp_proxy_conformance.verdict.comparison import Comparison
from mcp_proxy_conformance.verdict.result import Inconclusive

LoadOf = Callable[[LoadCase], Load]


def generated(examples: int, seed: int, reads: Reads) -> list[LoadCase]:
    """The tours and so many generated loads; the same ones for the same seed."""
    drawn_loads = [built(recipe, reads) for recipe in drawn(recipes(), examples, seed)]
    return list({case.id: case for case in (*tours(reads), *drawn_loads)}.values())


class GeneratedLoads(Examples[LoadCase]):
    """The generated loads of one run, each done once for all laws."""

    noun, subject = "load", "loader"
    again = is_timed = True
    shrink_s = inf

    def __init__(
        self, loads: Loads, declared: Declared, *, examples: int, seed: int, out: Path
    ) -> None:
        """Nothing is generated or loaded yet; cases are written under `out`."""
        self.seed = seed
        self._loads = loads
        self._declared = declared
        self._examples = examples
        self._out = out

    @cached_property
    def _cases(self) -> list[LoadCase]:
        return generated(self._examples, self.seed, self._declared.reads)

    def wanted(self) -> list[LoadCase]:
        """Every load that the laws will ask for."""
        every = [one for case in self._cases for law in LAWS for one in self._of(law, case)]
        return list({case.id: case for case in every}.values())

    def every(self, law: str) -> list[Tried[LoadCase]]:
        """Each load, and those that the law compares with it."""
        return self.tried(law, self._cases)

    def tried(self, law: str, examples: Sequence[LoadCase]) -> list[Tried[LoadCase]]:
        """All of them begun at once."""
        self._loads.plan([one for case in examples for one in self._of(law, case)])
        return [self._tried(law, case, self._loads.of) for case in examples]

    def seen_again(self, law: str, example: LoadCase) -> list[Tried[LoadCase]]:
        """While nothing else is loaded."""
        self._loads.settle()
        return [self._tried(law, example, self._loads.anew) for _ in range(CONFIRMED)]

    def _tried(self, law: str, case: LoadCase, of: LoadOf) -> Tried[LoadCase]:
        compared, several = Comparison(), [of(one) for one in self._of(law, case)]
        if not any(one.loaded.hung or one.unmet for one in several):
            compared = LAWS[law].judge(case, several, self._declared)
        return Tried(
            example=case,
            found={(one.path, one.clauses): one for one in compared.findings},
            observed=compared.observed,
            broken=compared.broken,
        )

    def _of(self, law: str, case: LoadCase) -> list[LoadCase]:
        return [case, *LAWS[law].others(case, self._declared.reads)]

    def size(self, example: LoadCase) -> tuple[int, ...]:
        """Servers, then behaviours and attempts."""
        return size(example)

    def smaller(self, tried: Tried[LoadCase]) -> Iterator[list[LoadCase]]:
        """Fewer servers, shorter scripts, fewer attempts."""
        return smaller(tried.example, self._declared.reads)

    def is_of_one(self, law: str) -> bool:
        """Some laws judge what a server does by itself."""
        return LAWS[law].of_one

    def elsewhere(self, law: str, example: LoadCase) -> str:
        """What a server does beside others only is a matter of I1.isolated."""
        if not LAWS[law].of_one or len(example.given.servers) == 1:
            return ""
        return f"seen beside other servers only, see I1.isolated: {self.in_words(example)}"

    def expect_control(self) -> None:
        """The loads were seen to end, and some server was well."""
        loaded = [self._loads.of(case).loaded for case in self._cases]
        if any(one.hung for one in loaded):
            reason = "a generated load did not come to an end; see I4.bounded"
            raise Inconclusive(reason, cause="other_clause")
        if not any(one.status == "available" for each in loaded for one in each.told.outcomes):
            raise Inconclusive("no generated server was loaded", cause="not_loaded")

    def in_words(self, example: LoadCase) -> str:
        """The script of each server."""
        servers = "; ".join(f"{one.server_id}: {told(one)}" for one in example.given.servers)
        return f"at most {example.given.max_attempts} attempts; {servers}"

    def written(self, law: str, tried: Tried[LoadCase], *, in_time: bool) -> list[str]:
        """The load in words, and how its case is run again."""
        del in_time
        clauses = tuple(
            sorted({one for finding in tried.found.values() for one in finding.clauses})
        )
        case = tried.example
        if law != "clears":
            case = msgspec.structs.replace(self._telling(law, case), again=None, heals=False)
        path = self._out / FOLDER / f"{case.id}.json"
        write(path, msgspec.structs.replace(case, clauses=clauses))
        return [
            self.in_words(case),
            run_again(path),
        ]

    def _telling(self, law: str, case: LoadCase) -> LoadCase:
        """Of the loads that the law compares the first that is wrong by itself."""
        for one in self._of(law, case):
            loaded, most = self._loads.of(one).loaded, one.given.max_attempts
            for server in one.given.servers:
                word = self._declared.word(loaded.outcome(server.server_id))
                if word not in self._declared.words(server, most):
                    return msgspec.structs.replace(one, id=one.id.removesuffix("-once"))
        return case

    def close(self) -> None:
        """The loads are ended by who made them."""
