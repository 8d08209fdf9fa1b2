"""Inputs of relays' property tests (laws): generated JSON values, tried on one started relay."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import islice
from pathlib import Path

import msgspec

from mcp_proxy_conformance.catalogue.json_file import laid_out
from mcp_proxy_conformance.fidelity.bench import RelayBench
from mcp_proxy_conformance.fidelity.generated_values import (
    LAWS,
    case_of,
    size,
    smaller,
    value_of,
    values,
)
from mcp_proxy_conformance.fidelity.relay_case import RelayCase, members_of
from mcp_proxy_conformance.run.laws.engine import CONFIRMED, FOLDER, Examples, Tried, run_again
from mcp_proxy_conformance.run.laws.generation import drawn
from mcp_proxy_conformance.verdict.comparison import Comparison
from mcp_proxy_conformance.verdict.result import Inconclusive, NotApplicable
from mcp_proxy_conformance.wire.jsonrpc import quoted

AT_ONCE, MOST = 20, 60
"""Smaller values that are tried before one is chosen, and at most of each value."""


class GeneratedValues(Examples[RelayCase]):
    """The generated values of one run; `bench` is that of the relay on which they are tried."""

    noun, subject = "value", "relay"
    is_timed = False
    shrink_s = 10.0

    def __init__(
        self, bench: Callable[[], RelayBench], *, examples: int, seed: int, out: Path,
        again: bool = True,
    ) -> None:  # fmt: skip
        """Keep the settings; generate nothing yet. `bench` returns the bench of the relay to try.

        Cases are written under `out`; `again`: whether breaches are confirmed.
        """
        self.seed, self.again = seed, again
        self._bench, self._examples, self._out = bench, examples, out
        self._number = 0
        self._drawn: Sequence[dict[str, object]] = ()

    def tried_on_all(self, law: str) -> Sequence[Tried[RelayCase]]:
        """Try the law on every generated value; without `again`, only until one breaks it.

        Raises NotApplicable if the client's revision lacks what the law is about.
        """
        if self._bench().lacks_structure(self._case(law, {})):
            raise NotApplicable("the client's revision has no structured content")
        trials: list[Tried[RelayCase]] = []
        self._drawn = self._drawn or drawn(values(), self._examples, self.seed)
        for value in self._drawn:
            trials += self.tried(law, [self._case(law, value)])
            if trials[-1].found and not self.again:
                break
        return trials

    def broken(self) -> Collection[str]:
        """Return (), as the laws of values are tried one after another."""
        return ()

    def tried(self, law: str, examples: Sequence[RelayCase]) -> Sequence[Tried[RelayCase]]:
        """Return a trial of the law on each value, one after another."""
        return [self._tried(law, case) for case in examples]

    def seen_again(self, law: str, example: RelayCase) -> Sequence[Tried[RelayCase]]:
        """Return two further trials of the value."""
        return [self._tried(law, example) for _ in range(CONFIRMED)]

    def size(self, example: RelayCase) -> tuple[int, ...]:
        """Return the sort key of a value: the number of values in it, the length of its text."""
        return size(value_of(example))

    def smaller(self, tried: Tried[RelayCase]) -> Iterator[Sequence[RelayCase]]:
        """Yield batches of up to 20 values that are one step smaller, at most 60 in all."""
        law = "arguments" if tried.example.area == "arguments" else "structured"
        less = islice(smaller(value_of(tried.example)), MOST)
        while batch := list(islice(less, AT_ONCE)):
            yield [self._case(law, value) for value in batch]

    def is_of_one(self, law: str) -> bool:
        """Return False, as a value is not about servers."""
        del law
        return False

    def elsewhere(self, law: str, example: RelayCase) -> str:
        """Return "", as every breach counts for the law."""
        del law, example
        return ""

    def expect_control(self) -> None:
        """Raise Inconclusive if the relay does not list the tools that laws call, or has ended."""
        bench = self._bench()
        bench.needs_tool("echo")
        if not bench.serves():
            raise Inconclusive("the relay no longer serves", cause="not_reached")

    def in_words(self, example: RelayCase) -> str:
        """Return the value as JSON."""
        return quoted(value_of(example))

    def written(self, law: str, tried: Tried[RelayCase], *, in_time: bool) -> Sequence[str]:
        """Write the value as a case file of its broken clauses, in the folder `laws`.

        Return the value in words, and how to run it again. The case is not tried, whatever
        `in_time` is.
        """
        del in_time
        broken = {clause for finding in tried.found.values() for clause in finding.clauses}
        case = msgspec.structs.replace(tried.example, clauses=tuple(sorted(broken)))
        path = self._out / FOLDER / f"{law}-{self.seed}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(laid_out(members_of(case)) + "\n", encoding="utf-8")
        return [self.in_words(tried.example), run_again(path)]

    def close(self) -> None:
        """Do nothing, as the run's subject ends its relays."""

    def _case(self, law: str, value: dict[str, object]) -> RelayCase:
        """Return a value as a case of the law, with a number of its own."""
        self._number += 1
        return case_of(law, value, self._number)

    def _tried(self, law: str, case: RelayCase) -> Tried[RelayCase]:
        """Judge a value by the law, called through the relay and directly; return the trial.

        The upstreams answer the call as the case says. Nothing is found or observed if the call
        cannot be judged.
        """
        bench = self._bench()
        bench.relay.answer_as(case)
        try:
            compared = bench.judged(case, LAWS[law].clauses)
        except (Inconclusive, NotApplicable):
            compared = Comparison()
        found = {
            (finding.path.partition(": ")[2], finding.clauses): finding
            for finding in compared.findings
        }
        return Tried(
            example=case, found=found, observed=compared.observed, broken=compared.broken,
            is_answered=bool(compared.looked),
        )  # fmt: skip
