"""Access of a check to the loads of a run, and what a loader's declarations mean for them."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_proxy_conformance.resilience.judged import Says, judged, to_compare, without_malformed
from mcp_proxy_conformance.resilience.load_case import STDIO, LoadCase
from mcp_proxy_conformance.resilience.loader_target import LoaderTarget, overtaken, signed
from mcp_proxy_conformance.resilience.loads import (
    BOTH_CONTROLS,
    Load,
    Loads,
)
from mcp_proxy_conformance.resilience.met import unasked
from mcp_proxy_conformance.resilience.unanswered import ANSWERED, SEE
from mcp_proxy_conformance.resilience.walk import Reads
from mcp_proxy_conformance.verdict.comparison import Comparison, Open
from mcp_proxy_conformance.verdict.result import Inconclusive, NotApplicable


class LoadBench:
    """Access of a resilience check to the loads of a run."""

    def __init__(self, loads: Loads, target: LoaderTarget) -> None:
        """Keep the loads and the target; `loaded` are the cases that a check has loaded itself."""
        self.loaded: list[LoadCase] = []
        self._loads = loads
        self._target = target

    def load(self, case: LoadCase, *, beside: Sequence[LoadCase] = ()) -> Load:
        """Return the load of that case, waiting for its end; loads of `beside` begin with it.

        Raises Inconclusive if the loader did not answer it, or it was not tried.
        """
        self.loaded.append(case)
        self._loads.plan([case, *beside])
        load = self._loads.of(case)
        if not load.is_answered:
            reason = load.untried or f"the loader did not answer the load; see {SEE}"
            raise Inconclusive(reason, cause="other_clause", needs=ANSWERED)
        return load

    def ahead(self, load: Load) -> None:
        """Begin the loads with which a load will be compared."""
        self._loads.plan([*to_compare(load, says(self._target))], urgent=True)

    def judged(self, case: LoadCase) -> Comparison:
        """Compare a case's load with what the case allows; return the Comparison, not concluded.

        A case about timeout signatures (texts in a 403 that mean a timeout) is loaded once for each
        one that the loader declares; a load that is inconclusive leaves the clauses open. Raises
        NotApplicable if the loader declares no signature or one that a server of this case sends,
        or reads only first pages of tools in a case about later ones; Inconclusive if a case
        without servers finds the control servers misreported.
        """
        signatures = self._target.timeout_signatures
        if not (forms := signed(case, signatures)):
            raise NotApplicable("the loader declares no timeout signature", cause="not_declared")
        if name := overtaken(case, signatures):
            raise NotApplicable(f"the body that {name} sends contains a declared timeout signature")
        if not case.servers():
            self._expect_controls()
        comparison, load_of = Comparison(), self._loads.of
        for signature, form in forms.items():
            where = f" under {signature!r}" if signature else ""
            try:
                load = load_of(form)
                self.ahead(load)
                comparison.add(judged(load, load_of, says(self._target)), where)
                if (name := unasked(load)) and not comparison.findings:
                    raise NotApplicable(f"the loader asks {name} for its first page only")
            except Inconclusive as error:
                comparison.open.append(Open(clauses=case.clauses, reason=f"{error}{where}",
                                       cause=error.cause, needs=error.needs))  # fmt: skip
        return comparison

    def _expect_controls(self) -> None:
        """Load two control servers; raise Inconclusive unless the loader tells good from bad.

        It must report `control-up` as available, and `control-down` as anything else.
        """
        statuses = {
            outcome.server_id: outcome.status
            for outcome in self.load(BOTH_CONTROLS).loaded.answer.outcomes
        }
        if statuses.get("control-up") != "available" or statuses.get("control-down") in (
            None,
            "available",
        ):
            reported = (
                ", ".join(f"{name} {status}" for name, status in statuses.items()) or "neither"
            )
            reason = f"the loader does not report both control servers as expected: {reported}"
            raise Inconclusive(reason, cause="not_loaded")


def concluded(bench: LoadBench, case: LoadCase) -> None:
    """Judge the load of a case; raise what it breaks."""
    bench.judged(case).conclude()


def loads_of(case: LoadCase, target: LoaderTarget) -> list[LoadCase]:
    """Return the loads by which a case is judged: one for each declared signature, or itself.

    Each of them with malformed connections is followed, at the end, by one without these, with
    which it is compared.
    """
    forms = [*signed(case, target.timeout_signatures).values()]
    twins = [twin for form in forms if (twin := without_malformed(form)) is not None]
    return [*forms, *twins]


def says(target: LoaderTarget) -> Says:
    """Return what the loader declares: capabilities, prefix, signatures; loads are judged by it."""
    can = target.capabilities
    reads = Reads(
        classifies="classifies" in can,
        retries="retries" in can,
        stdio=STDIO in can,
        signatures=target.timeout_signatures,
    )
    return Says(
        classifies="classifies" in can,
        warns="warnings" in can,
        claims="attempts" in can,
        prefix=target.tool_prefix,
        reads=reads,
    )
