"""A law tried on every generated load: what breaks it is confirmed, shrunk and written down."""

from __future__ import annotations

import shlex
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from mcp_proxy_conformance.catalogue.load_case import LoadCase
from mcp_proxy_conformance.resilience.laws.law import LAWS, Declared, Law, told
from mcp_proxy_conformance.resilience.laws.shrinking import shrunk, size
from mcp_proxy_conformance.resilience.laws.worlds import built, recipes, tours
from mcp_proxy_conformance.resilience.loads import Load, Loads
from mcp_proxy_conformance.resilience.walk import Reads
from mcp_proxy_conformance.run.laws.generation import drawn
from mcp_proxy_conformance.verdict.comparison import Comparison, Open
from mcp_proxy_conformance.verdict.result import Finding, Inconclusive

SHRINK_S = 8.0
ELSEWHERE = "broken in another generated load too; first mend what this one breaks"
CONFIRMED, LOOKED_AT = 2, 3
"""How often a breach is seen again before it counts, and of how many loads that is tried."""
FOLDER = "laws"
LoadOf = Callable[[LoadCase], Load]


def generated(examples: int, seed: int, reads: Reads) -> list[LoadCase]:
    """The tours and so many generated loads; the same ones for the same seed."""
    drawn_loads = [built(recipe, reads) for recipe in drawn(recipes(), examples, seed)]
    return list({case.id: case for case in (*tours(reads), *drawn_loads)}.values())


class Laws:
    """The generated loads of one run; `evidence` is told of the last breach."""

    def __init__(
        self, loads: Loads, declared: Declared, *, examples: int, seed: int, out: Path
    ) -> None:
        """Nothing is generated or loaded yet."""
        self._loads = loads
        self._declared = declared
        self._examples = examples
        self._seed = seed
        self._out = out
        self.evidence: tuple[str, ...] = ()

    @cached_property
    def cases(self) -> list[LoadCase]:
        """The generated loads, the same for the same seed."""
        return generated(self._examples, self._seed, self._declared.reads)

    def wanted(self) -> list[LoadCase]:
        """Every load that the laws will ask for."""
        every = [one for case in self.cases for law in LAWS.values() for one in self._of(law, case)]
        return list({case.id: case for case in every}.values())

    def compared(self, name: str) -> Comparison:
        """The findings of the smallest load that breaks the law, and what all of them showed.

        Raises:
            Inconclusive: What the law is about was not seen at all.
        """
        law, self.evidence = LAWS[name], ()
        self._loads.plan([one for case in self.cases for one in self._of(law, case)])
        looked = [(case, self._judged(law, case, self._loads.of)) for case in self.cases]
        wrong = [case for case, one in looked if one.findings]
        broken = {clause for _, one in looked for clause in one.broken}
        every = sum((one.observed for _, one in looked), Counter[str]())
        seen = Counter({clause: n for clause, n in every.items() if clause not in broken})
        compared, shared, tries = Comparison(observed=seen), "", 0
        unsteady, until = list[LoadCase](), 0.0
        for case in sorted(wrong, key=size):
            new = _clauses(self._broken(law, case, self._loads.of)) - {*compared.broken}
            if tries == LOOKED_AT or not new or (until and time.monotonic() > until):
                continue
            tries += 1
            self._loads.settle()
            first, *later = self._seen_again(law, case)
            if not first or later != [first] * CONFIRMED:
                unsteady += [case] if any(later) else []
                continue
            small, until = case, until or time.monotonic() + SHRINK_S
            if law.of_one or not compared.findings:
                small = self._smallest(law, case, until)
            if law.of_one and len(small.given.servers) > 1:
                shared = f"seen beside other servers only, see I1.isolated: {_script(small)}"
            elif not compared.findings:
                compared.findings += self._told(law, small)
            else:
                compared.findings += self._broken(law, small, self._loads.of)
        if compared.findings or shared:
            return compared.leaving_open(broken, shared or ELSEWHERE)
        if unsteady:
            reason = (
                "the loader does not agree with itself, it is not deterministic: "
                f"{_script(unsteady[0])}"
            )
            found = Open(clauses=tuple(sorted(broken)), reason=reason, cause="not_deterministic")
            return Comparison(observed=seen, open=[found])
        self._control()
        if not every:
            told = "no generated server showed what the law is about"
            raise Inconclusive(told, cause="too_few_generated")
        return Comparison(observed=every)

    def _of(self, law: Law, case: LoadCase) -> list[LoadCase]:
        return [case, *law.others(case, self._declared.reads)]

    def _judged(self, law: Law, case: LoadCase, of: LoadOf) -> Comparison:
        several = [of(one) for one in self._of(law, case)]
        if any(one.loaded.hung or one.unmet for one in several):
            return Comparison()
        return law.judge(case, several, self._declared)

    def _broken(self, law: Law, case: LoadCase, of: LoadOf) -> list[Finding]:
        """What breaks the law in a load."""
        return self._judged(law, case, of).findings

    def _seen_again(self, law: Law, case: LoadCase) -> list[list[Finding]]:
        """What breaks the law, at first and while nothing else is loaded.

        What is not seen then at all was the work of a busy machine, and counts for nothing.
        """
        ways = [self._loads.of, *[self._loads.anew] * CONFIRMED]
        return [self._broken(law, case, of) for of in ways]

    def _smallest(self, law: Law, case: LoadCase, until: float) -> LoadCase:
        accused = _clauses(self._broken(law, case, self._loads.of))

        def first_broken(several: Sequence[LoadCase]) -> LoadCase | None:
            self._loads.plan([one for case in several for one in self._of(law, case)])
            for one in several:
                if accused & _clauses(self._broken(law, one, self._loads.of)):
                    return one
            return None

        small = shrunk(case, first_broken, self._declared.reads, until)
        self._loads.settle()
        first, *later = self._seen_again(law, small)
        return small if later == [first] * CONFIRMED else case

    def _told(self, law: Law, case: LoadCase) -> list[Finding]:
        broken = self._broken(law, case, self._loads.of)
        heals = law is LAWS["clears"]
        case = case if heals else self._telling(law, case)
        path = self._out / FOLDER / f"{case.id}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(msgspec.json.format(msgspec.json.encode(
            plain(case, clauses=sorted(_clauses(broken)), heals=heals)), indent=2))  # fmt: skip
        lines = (
            _script(case),
            f"run it again: the same command and --case {shlex.quote(str(path))}",
        )
        self.evidence = tuple(lines)
        return broken

    def _telling(self, law: Law, case: LoadCase) -> LoadCase:
        """Of the loads that the law compares the first that is wrong by itself."""
        for one in self._of(law, case):
            loaded, most = self._loads.of(one).loaded, one.given.max_attempts
            for server in one.given.servers:
                word = self._declared.word(loaded.outcome(server.server_id))
                if word not in self._declared.words(server, most):
                    return msgspec.structs.replace(one, id=one.id.removesuffix("-once"))
        return case

    def _control(self) -> None:
        """The loads were seen to end, and some server was well."""
        hung = [case for case in self.cases if self._loads.of(case).loaded.hung]
        if hung:
            told = "a generated load did not come to an end; see I4.bounded"
            raise Inconclusive(told, cause="other_clause")
        every = [one for case in self.cases for one in self._loads.of(case).loaded.told.outcomes]
        if not any(one.status == "available" for one in every):
            raise Inconclusive("no generated server was loaded", cause="not_loaded")


def _clauses(broken: Sequence[Finding]) -> set[str]:
    return {clause for finding in broken for clause in finding.clauses}


def _script(case: LoadCase) -> str:
    servers = "; ".join(f"{one.server_id}: {told(one)}" for one in case.given.servers)
    return f"at most {case.given.max_attempts} attempts; {servers}"


def plain(case: LoadCase, *, clauses: Sequence[str], heals: bool) -> dict[str, Any]:
    """The case as a file of fixtures/resilience holds it, without what is the default."""
    told: dict[str, Any] = _without_defaults(msgspec.to_builtins(case)) | {"clauses": clauses}
    if not heals:
        told = {name: one for name, one in told.items() if name not in ("again", "heals")}
    return told


def _without_defaults(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {name: _without_defaults(one) for name, one in value.items() if one is not None}
        if "do" in kept and kept.get("on") == "initialize":
            del kept["on"]
        for name in ("headers", "secrets"):
            if not kept.get(name, True):
                del kept[name]
        return kept
    return [_without_defaults(one) for one in value] if isinstance(value, (list, tuple)) else value
