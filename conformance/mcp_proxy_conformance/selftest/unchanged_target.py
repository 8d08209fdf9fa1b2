"""Verdicts on a user's unchanged target: only checks that pass there can detect a mutant of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from mcp_proxy_conformance.selftest.forked_jobs import forked
from mcp_proxy_conformance.selftest.row import Cell, MatrixRow
from mcp_proxy_conformance.selftest.trial import Verdicts, trial, tried
from mcp_proxy_conformance.targets.target import Target
from mcp_proxy_conformance.verdict.redaction import first_line
from mcp_proxy_conformance.verdict.result import WORST_FIRST

UNCHANGED = "unchanged"
WHOLE_S = 1800.0
CHECK_S = 180
CELLS: dict[int, Cell] = {0: "acquitted", 1: "violated"}


class NotTried(Exception):
    """The run on the unchanged target did not end; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A user's target without any change: its verdicts, with which its wire mutants are compared.

    `make` makes a fresh target, one for each process; `seconds` is the duration of the run.
    """

    make: Callable[[], Target]
    verdicts: Verdicts
    seconds: float

    @property
    def without(self) -> frozenset[tuple[str, str | None]]:
        """The checks that do not pass, as (name, case or None): they can show nothing."""
        return frozenset((result["check"], result["case"]) for result in self.verdicts.results)

    @property
    def row(self) -> MatrixRow:
        """The matrix row of the unchanged target, which is good whatever the target violates.

        Its cell is `acquitted` for exit 0, `violated`, with the failing required checks,
        for 1, else `incomplete`.
        """
        failed = dict.fromkeys(result["check"] for result in self.verdicts.failed())
        return MatrixRow(
            id=UNCHANGED,
            kind="target",
            text="The unchanged target.",
            clauses=(),
            cell=CELLS.get(self.verdicts.exit, "incomplete"),
            by=tuple(failed),
            reason=self.verdicts.why if self.verdicts.exit else "",
            seconds=round(self.seconds, 2),
        )

    def able_to_convict(self, clauses: Iterable[str]) -> list[str]:
        """Return the names of the checks that could convict a mutant of one of these clauses.

        They are required, judge one of the clauses, and pass on the unchanged target, in at least
        one case: only such a check can show what a mutant changed.
        """
        wanted = set(clauses)
        able = [
            r for r in self.verdicts.every if r["level"] == "required" and r["verdict"] == "pass"
        ]
        return list(dict.fromkeys(r["check"] for r in able if wanted & set(r["clauses"])))

    def blindness(self, clauses: Iterable[str]) -> str:
        """Return why no check of these clauses could convict a mutant; "" if one could.

        One could if it is required and passes on the unchanged target. The reason names the worst
        result there, if any check of the clauses was run.
        """
        wanted = set(clauses)
        if self.able_to_convict(wanted):
            return ""
        reason = next(self._silent(wanted), f"none was run; {self.verdicts.why}")
        return f"no check of its clauses passes on the unchanged target: {reason}"

    def doubt(self, clauses: Iterable[str]) -> str:
        """Return why checks of these clauses may have missed a surviving mutant; "" if they cannot.

        It names the worst result on the unchanged target that is not a pass; a not
        applicable one counts only if a capability is not declared.
        """
        wanted = set(clauses)
        hidden = next((reason for reason in self._silent(wanted, doubtful=True)), "")
        detecting = "no check that passes on the unchanged target detects it"
        return hidden and f"{detecting}; this one does not pass there: {hidden}"

    def _silent(self, wanted: set[str], *, doubtful: bool = False) -> Iterator[str]:
        """Yield "CHECK, VERDICT: reason" for required results that do not pass, worst first.

        Only those of the clauses `wanted`. `doubtful` skips results that are not applicable, unless
        that is because a capability is not declared.
        """
        for result in sorted(self.verdicts.results, key=lambda r: WORST_FIRST.index(r["verdict"])):
            reason = first_line(result["reason"])
            lawful = result["verdict"] == "not_applicable" and result["cause"] != "not_declared"
            if (
                result["level"] == "required"
                and wanted & set(result["clauses"])
                and not (doubtful and lawful)
            ):
                name = f"{result['check']}[{result['case']}]" if result["case"] else result["check"]
                yield f"{name}, {result['verdict']}: {reason}"


def standing(
    make: Callable[[], Target], through: Callable[[Target], Target], profile: str, folder: Path
) -> Standing:
    """Run all checks of a profile on the target behind a server that changes nothing.

    Return its Standing; raises NotTried if the run failed or did not end in time.
    """

    def work(name: str) -> Verdicts:
        """Run the checks, the report in a folder of that name; return the verdicts."""
        request = trial(through(make()), profile=profile, confirm=True)
        return tried(request, folder / name, check_s=CHECK_S)

    (outcome,) = forked(work, [UNCHANGED], folder, at_once=1, limit_s=WHOLE_S)
    if outcome.value is None:
        raise NotTried(f"the unchanged target could not be tried: {outcome.failure}")
    return Standing(make=make, verdicts=outcome.value, seconds=outcome.seconds)
