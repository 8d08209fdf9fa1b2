"""Control servers of a load: whether its outcomes can be trusted, and the load used if not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from mcp_proxy_conformance.resilience.load_case import (
    CONTROLS,
    Expected,
    LoadCase,
)
from mcp_proxy_conformance.resilience.loader import ServerOutcome
from mcp_proxy_conformance.resilience.loads import (
    CONTROL_LOADS,
    WELL,
    Load,
    closed_at_first,
    is_alike,
    without_controls,
)
from mcp_proxy_conformance.resilience.unanswered import ANSWERED
from mcp_proxy_conformance.targets.target import AdapterError
from mcp_proxy_conformance.verdict.result import Inconclusive, NotApplicable

LoadOf = Callable[[LoadCase], Load]


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """The load that a case is judged by.

    `apart`: whether each server's outcome depends on its own behaviour only. Otherwise another
    server may have failed it, and only clauses of any failed server can be judged.
    """

    load: Load
    apart: bool = True


def basis(load: Load, load_of: LoadOf, *, classifies: bool) -> Basis:
    """Return the load that a case is judged by: its own, or one without the control servers.

    Its own is trusted if the healthy control is available and the failing one is not. If the
    healthy one was lost but the loader loads healthy servers alone, it is loaded without
    controls, as far as no server can then fail another. `load_of(case)` makes other loads and
    waits. Raises Inconclusive if nothing shows that the loader loads or no failing server was
    contacted, NotApplicable if this machine cannot play a fault, AdapterError if the loader
    breaks off with healthy servers alone.
    """
    case = load.case
    if load.unmet:
        raise NotApplicable("; ".join(load.unmet.values()))
    if not load.is_answered:
        return _unanswered(load, load_of)
    lost = _lost(load, CONTROLS, classifies=False) if case.given.controls else {}
    isolates = "I1.isolated" in case.clauses
    if lost or isolates or not case.given.controls:
        _expect_loading(load_of(WELL), classifies=classifies)
    if lost and isolates:
        return Basis(load=load, apart=False)
    if "control-down" in lost:
        raise Inconclusive(
            f"the control server control-down fails, but is {lost['control-down']}",
            cause="not_loaded",
        )
    if lost:
        return _without_controls(load, load_of, classifies=classifies)
    _expect_met(load)
    return Basis(load=load)


def _unanswered(load: Load, load_of: LoadOf) -> Basis:
    """Return as basis a load that was not answered, or one of control servers in its place.

    A case about isolation or the end of loads is judged by the first unanswered of: healthy
    servers alone, the controls, its own load. Raises Inconclusive if the load was not tried or
    healthy servers alone stop the loader, AdapterError if it breaks off with them.
    """
    well, controls = map(load_of, CONTROL_LOADS)
    if well.loaded.broke:
        raise AdapterError(well.loaded.broke)
    if {"I1.isolated", "I4.bounded"}.intersection(load.case.clauses):
        for each in (well, controls, load):
            if not (each.is_answered or each.untried):
                return Basis(load=each)
    if well.loaded.hung:
        reason = "even a load of healthy servers alone did not end; see I4.bounded"
        raise Inconclusive(reason, cause="not_loaded")
    if load.untried:
        raise Inconclusive(load.untried, cause="other_clause", needs=ANSWERED)
    return Basis(load=load)


def _without_controls(load: Load, load_of: LoadOf, *, classifies: bool) -> Basis:
    """Return as basis the same load without its control servers, trusted as in `basis`.

    If its own servers can fail each other it is the load as it is, and not `apart`.
    """
    case = load.case
    if not is_alike(case):
        return Basis(load=load, apart=False)
    well = {"available" in expected.status for expected in case.then.values()} == {True}
    apart, bare = len(case.then) == 1 or well, load_of(without_controls(case))
    return replace(basis(bare, load_of, classifies=classifies), apart=apart)


def status_of(outcome: ServerOutcome | None, *, classifies: bool) -> str:
    """Return the loader's status word for a server; `without an outcome` for None.

    Of a loader that does not classify, it is `available` or `failed`.
    """
    if outcome is None:
        return "without an outcome"
    if classifies or outcome.status == "available":
        return str(outcome.status)
    return "failed"


def allowed(expected: Expected, *, classifies: bool) -> tuple[str, ...]:
    """Return the allowed status words, in the form in which `status_of` returns one."""
    if classifies:
        return expected.status
    return tuple({word if word == "available" else "failed" for word in expected.status})


def _lost(load: Load, wanted: dict[str, Expected], *, classifies: bool) -> dict[str, str]:
    """Return, by id, the status of each wanted server whose status is not an expected one.

    It is a word of `status_of`: without `classifies`, a failed server is just `failed`.
    """
    statuses = {
        name: status_of(load.loaded.outcome(name), classifies=classifies) for name in wanted
    }
    return {
        name: status
        for name, status in statuses.items()
        if status not in allowed(wanted[name], classifies=classifies)
    }


def _expect_loading(well: Load, *, classifies: bool) -> None:
    """Raise Inconclusive unless each server of this load, of healthy ones alone, is as expected."""
    for name, status in _lost(well, well.case.then, classifies=classifies).items():
        raise Inconclusive(
            f"even healthy servers alone are not loaded: {name} is {status}", cause="not_loaded"
        )


def _expect_met(load: Load) -> None:
    """Raise Inconclusive if all failing servers can count requests and none got any.

    Those whose port is closed at first are left out.
    """
    closed = closed_at_first(load.case.given.servers)
    failing = [
        name
        for name, outcome in load.case.then.items()
        if "available" not in outcome.status and name not in closed
    ]
    attempts = [load.attempts[name] for name in failing]
    if attempts and not any(number is None or number for number in attempts):
        raise Inconclusive(f"the loader sent no request to {', '.join(failing)}")
