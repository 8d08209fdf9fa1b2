"""The shipped catalogue with its mutants and variants, and rules that find gaps between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from mcp_proxy_conformance.catalogue.case_file import CitingCase
from mcp_proxy_conformance.catalogue.index import Check, cases, checks
from mcp_proxy_conformance.catalogue.interpretation import Interpretation, interpretations
from mcp_proxy_conformance.catalogue.requirement import (
    Clause,
    Profile,
    catalogue,
    profile,
    versions,
)
from mcp_proxy_conformance.catalogue.specification import specifications
from mcp_proxy_conformance.selftest.proof import proofs

TWICE = 2

Subject = Literal[
    "clause", "check", "case", "counterexample", "interpretation", "variant", "profile"
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Gap:
    """One breach of the rules on shipped data: its subject, the fault, and the repair."""

    subject: Subject
    id: str
    fault: str
    repair: str = "correct it there"

    def __str__(self) -> str:
        """Return "FAULT; REPAIR"."""
        return f"{self.fault}; {self.repair}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shipped:
    """The catalogue and the checks, and the mutants and variants that test them.

    `proven` are the profiles whose clauses need mutants.
    """

    clauses: Mapping[str, Clause]
    proven: Sequence[Profile]
    profiles: Sequence[Profile]
    interpretations: Sequence[Interpretation]
    checks: Sequence[Check]
    cases: Sequence[CitingCase]
    counterexamples: Sequence[Any]
    variants: Sequence[Any]

    def judged(self) -> list[Clause]:
        """Return the clauses of the profiles in `proven`, without ids that the catalogue lacks."""
        names = [name for version in self.proven for name in version.clauses]
        return [self.clauses[name] for name in names if name in self.clauses]

    def firm(self, *, asked: bool = False) -> list[Clause]:
        """Return the required clauses of the profiles in `proven`.

        Clauses that a run judges only with an option, such as --soak, and untested ones are left
        out unless `asked`.
        """
        firm = [clause for clause in self.judged() if clause.level == "required"]
        return [c for c in firm if asked or (c.asked_by is None and not c.untested)]

    def breaks(self) -> dict[str, tuple[str, ...]]:
        """Map the id of each mutant to the clauses that it breaks."""
        return {mutant.id: mutant.breaks for mutant in self.counterexamples}


def shipped() -> Shipped:
    """Return the installed catalogue with its checks, cases, mutants and variants.

    The clauses of the newest versions that specifications name as proven need mutants.
    """
    return shipped_with(
        clauses=catalogue().clauses,
        proven=tuple(profile(name) for each in specifications() for name in each.proven),
        profiles=versions(),
        interpretations=interpretations(),
        checks=checks(),
        cases=cases(),
    )


def shipped_with(**data: Any) -> Shipped:
    """Return a Shipped of these members, with all mutants and variants of the installed package."""
    every = proofs().values()
    return Shipped(
        counterexamples=[trial.changed for proof in every for trial in proof.mutants],
        variants=[trial.changed for proof in every for trial in proof.variants],
        **data,
    )


def clauses_without_checks(data: Shipped) -> Iterator[Gap]:
    """Yield a Gap for each clause that no check cites and that has no `untested` reason."""
    cited = {clause for check in data.checks for clause in check.clauses}
    for clause in data.clauses.values():
        if clause.id not in cited and clause.untested is None:
            fault = f"no check cites {clause.id}"
            yield Gap("clause", clause.id, fault, 'write one, or say `untested = "why"`')


def checks_of_nothing(data: Shipped) -> Iterator[Gap]:
    """Yield a Gap for each check, and each case, that cites no clause of any profile."""
    known = {clause for version in data.profiles for clause in version.clauses}
    for check in data.checks:
        if not known.intersection(check.clauses):
            fault = f"{check.name} cites no clause of any profile"
            yield Gap("check", check.name, fault, "put @requirement on it")
    for case in data.cases:
        if not known.intersection(case.clauses):
            fault = f"the case {case.id} cites no clause of any profile"
            yield Gap("case", case.id, fault, "give it `clauses`")


def clauses_beside_the_profiles(data: Shipped) -> Iterator[Gap]:
    """Yield a Gap for each clause a check cites that no newest profile of the check's folder lists.

    It yields nothing for a folder that no profile has.
    """
    newest = {version.id: version for version in sorted(data.profiles, key=lambda p: p.version)}
    for check in data.checks:
        judging = [each for each in newest.values() if check.path.parent in each.folders]
        for name in check.clauses:
            if judging and not any(name in version.holds for version in judging):
                fault = f"{check.name} cites {name}, which {judging[0].name} does not list"
                repair = f"list it there; if {judging[0].name} is frozen, in a version after it"
                yield Gap("clause", name, fault, repair)


def clauses_without_proof(data: Shipped) -> Iterator[Gap]:
    """Yield a Gap for each required clause that fewer than two mutants are for.

    A mutant is for the first clause that it breaks, of which it must be convicted. Clauses judged
    only with an option, and untested ones, are left out.
    """
    proven = Counter(breaks[0] for breaks in data.breaks().values())
    for clause in data.firm():
        if proven[clause.id] < TWICE:
            fault = f"fewer than two mutants are for {clause.id}"
            yield Gap("clause", clause.id, fault, "add mutants, or let others name it first")


def counterexamples_of_nothing(data: Shipped) -> Iterator[Gap]:
    """Yield a Gap for each mutant that is for no required clause of a proven profile."""
    known = {clause.id for clause in data.firm(asked=True)}
    for name, breaks in data.breaks().items():
        if breaks[0] not in known:
            fault = f"the mutant {name} is for no required clause of a proven profile"
            yield Gap("counterexample", name, fault, "correct the clauses that it breaks")


def interpretations_without_variants(data: Shipped) -> Iterator[Gap]:
    """Yield a Gap for each interpretation or advisory clause that no conforming variant takes.

    A variant takes what its `takes` lists: it reads these unlike the reference. Left out are
    untested clauses, interpretations with a reason in `no_variant` and, unless the reason is
    `later`, the clauses that such an interpretation names.
    """
    taken = {choice for variant in data.variants for choice in variant.takes}
    excused = {
        name
        for row in data.interpretations
        if row.no_variant not in (None, "later")
        for name in row.clauses
    }
    advice = [
        c.id
        for c in data.judged()
        if c.level == "advisory" and not c.untested and c.id not in excused
    ]
    due = [row.id for row in data.interpretations if row.no_variant is None]
    for name in [*advice, *due]:
        if name not in taken:
            subject: Subject = "clause" if name in data.clauses else "interpretation"
            repair = 'add one, or say `no_variant = "why"`'
            yield Gap(subject, name, f"no variant reads {name} in another way", repair)


def variants_of_nothing(data: Shipped) -> Iterator[Gap]:
    """Yield a Gap for each unknown clause or interpretation that a variant claims to differ on."""
    known = {row.id for row in data.interpretations} | set(data.clauses)
    for variant in data.variants:
        for name in variant.takes:
            if name not in known:
                fault = f"the variant {variant.id} takes {name}, which does not exist"
                yield Gap("variant", variant.id, fault)


def interpretations_beside_the_profiles(data: Shipped) -> Iterator[Gap]:
    """Yield a Gap for each interpretation that a profile lists without need, or fails to list.

    One is needed if it names one of the profile's clauses. Also for each listed one that does
    not exist.
    """
    known = {row.id for row in data.interpretations}
    for version in data.profiles:
        listed = set(version.interpretations)
        due = {
            row.id
            for row in data.interpretations
            if not set(row.clauses).isdisjoint(version.clauses)
        }
        for name in sorted(listed - known):
            fault = f"the profile {version.id} lists an interpretation that is missing: {name}"
            yield Gap("profile", version.name, fault)
        for name in sorted(due - listed):
            fault = (
                f"the profile {version.id} needs the interpretation {name}, but does not list it"
            )
            yield Gap("profile", version.name, fault, "list it in `interpretations`")
        for name in sorted(listed & known - due):
            fault = f"the profile {version.id} lists the interpretation {name} without need"
            yield Gap("profile", version.name, fault, "remove it from `interpretations`")


RULES: tuple[Callable[[Shipped], Iterator[Gap]], ...] = (
    clauses_without_checks,
    checks_of_nothing,
    clauses_beside_the_profiles,
    clauses_without_proof,
    counterexamples_of_nothing,
    interpretations_without_variants,
    variants_of_nothing,
    interpretations_beside_the_profiles,
)


def gaps(data: Shipped) -> list[Gap]:
    """Return every breach of the rules in these data, in order of the rules."""
    return [gap for rule in RULES for gap in rule(data)]
