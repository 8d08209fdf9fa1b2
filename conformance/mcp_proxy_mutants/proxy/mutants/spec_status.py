"""Faults of the status: its words, its order of reasons, its steadiness."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import cycle
from typing import Any

from mcp_proxy_mutants.proxy.mutant import Fresh, Mutant, mutant
from mcp_proxy_mutants.proxy.pieces import crowded, every, ordered, texts
from mcp_proxy_reference import policy as std
from mcp_proxy_reference.facts import Facts, Json, Match

OFF, CONFIG, USER = "server_disabled", "disabled_by_config", "disabled_by_user"
PENDING, UNKNOWN, QUARANTINED = "pending_approval", "disabled_unknown", "server_quarantined"


def _worded(old: str, new: str, when: Callable[[Facts], bool] = lambda _: True) -> dict[str, Any]:
    """One status under another word, in entries, remediation and counts alike."""

    def renamed(decide: Callable[[Facts], Any]) -> Callable[[Facts], Any]:
        def decided(facts: Facts) -> Any:
            status = decide(facts)
            return new if status == old and when(facts) else status

        return decided

    return {
        "classify": renamed(std.classify),
        "withheld_status": renamed(std.withheld_status),
        "remediation": texts(**{new: texts()[old]}),
    }


def _joined(facts: Facts, status: Any, withheld: bool) -> Json:
    both = facts.denied and facts.disabled_by_user
    return std.locked_entry(facts, status, withheld) | (
        {"status": f"{CONFIG},{USER}"} if both else {}
    )


def _once_per_reason(found: Sequence[Match], limit: int) -> tuple[Sequence[Match], Sequence[Match]]:
    callables, rest = std.window(found, limit)
    again = [
        replace(hit, facts=replace(hit.facts, denied=False))
        for hit in rest
        if hit.facts.denied and hit.facts.disabled_by_user
    ]
    return callables, [*rest, *again]


def _known_reasons(found: Sequence[Match], limit: int) -> tuple[Sequence[Match], Sequence[Match]]:
    callables, rest = std.window(found, limit)
    return callables, [hit for hit in rest if hit.facts.approval is not None]


def _callable_and_locked(
    found: Sequence[Match], limit: int
) -> tuple[Sequence[Match], Sequence[Match]]:
    callables, rest = std.window(found, limit)
    users = [hit for hit in found if std.classify(hit.facts) == USER and not hit.may_call]
    return [*callables, *users][:limit], rest


def _by_turns() -> Callable[[Facts], Any]:
    order = cycle([(OFF, CONFIG, USER, PENDING), (OFF, USER, CONFIG, PENDING)])
    return lambda facts: ordered(*next(order))(facts) if facts.denied else std.classify(facts)


def _slips() -> Callable[[Facts], Any]:
    slip = every(7)
    return lambda facts: UNKNOWN if slip() else std.classify(facts)


def _first_reason() -> Callable[[Facts], Any]:
    """A tool keeps the first reason for as long as anything locks it."""
    first: dict[str, Any] = {}

    def classify(facts: Facts) -> Any:
        return first.setdefault(facts.tool.key, std.classify(facts))

    return classify


MUTANTS: tuple[Mutant, ...] = (
    mutant(
        "spec-user-before-config",
        "A user's lock is named before the operator's.",
        "FR-004.precedence",
        "SC-003.listing",
        classify=ordered(OFF, USER, CONFIG, QUARANTINED, PENDING),
    ),
    mutant(
        "spec-config-before-off",
        "The operator's lock is named before the server that is off.",
        "FR-004.precedence",
        classify=ordered(CONFIG, OFF, QUARANTINED, USER, PENDING),
    ),
    mutant(
        "spec-user-before-off",
        "The user's lock is named before the server that is off.",
        "FR-004.precedence",
        classify=lambda facts: (
            USER if facts.disabled_by_user and not facts.denied else std.classify(facts)
        ),
    ),
    mutant(
        "spec-pending-before-config",
        "A tool that awaits approval and is denied by config counts as pending.",
        "FR-010.sum",
        "SC-003.listing",
        classify=ordered(OFF, QUARANTINED, PENDING, CONFIG, USER),
    ),
    mutant(
        "spec-user-is-unknown",
        "A user's lock falls through to the undetermined reason.",
        "FR-004.precedence",
        "FR-010.sum",
        classify=ordered(OFF, CONFIG, QUARANTINED, PENDING),
    ),
    mutant(
        "spec-config-and-user-is-unknown",
        "A tool with two locks at once is called undetermined.",
        "FR-004.precedence",
        "FR-010.sum",
        classify=lambda facts: (
            UNKNOWN if facts.denied and facts.disabled_by_user else std.classify(facts)
        ),
    ),
    mutant(
        "spec-fallback-user",
        "A reason that cannot be read is taken for the user's lock.",
        "FR-004.unknown",
        classify=lambda facts: (
            USER if facts.approval is None and not facts.denied else std.classify(facts)
        ),
        withheld_status=lambda facts: (
            USER if facts.approval is None else std.withheld_status(facts)
        ),
    ),
    mutant(
        "spec-fallback-pending",
        "A record that cannot be read is taken for one that is not there yet.",
        "FR-004.unknown",
        classify=lambda facts: PENDING if std.classify(facts) == UNKNOWN else std.classify(facts),
        withheld_status=lambda facts: (
            PENDING if std.withheld_status(facts) == UNKNOWN else std.withheld_status(facts)
        ),
    ),
    mutant(
        "spec-unknown-is-open",
        "A tool whose approval cannot be read may be called.",
        "FR-004.unknown",
        may_call=lambda facts, surface: std.may_call(
            replace(facts, approval=facts.approval or "approved"), surface
        ),
    ),
    mutant(
        "spec-unknown-is-hidden",
        "A tool whose reason cannot be determined is left out.",
        "FR-004.unknown",
        window=_known_reasons,
    ),
    mutant(
        "spec-word-config",
        "The status of a config lock is spelled otherwise.",
        "FR-004.enum",
        **_worded(CONFIG, "config_denied"),
    ),
    mutant(
        "spec-word-hyphens",
        "The status of a user's lock has hyphens.",
        "FR-004.enum",
        **_worded(USER, "disabled-by-user"),
    ),
    mutant(
        "spec-word-changed",
        "A changed tool has a seventh status of its own.",
        "FR-004.enum",
        **_worded(PENDING, "changed", lambda facts: facts.approval == "changed"),
    ),
    mutant(
        "spec-word-quarantined",
        "A quarantined tool's status lacks the server.",
        "FR-004.enum",
        **_worded(QUARANTINED, "quarantined"),
    ),
    mutant(
        "spec-word-upper",
        "Statuses are written in capitals.",
        "FR-004.enum",
        locked_entry=lambda facts, status, withheld: std.locked_entry(
            facts, status.upper(), withheld
        ),
        remediation_map=lambda shown, _all, said: {one.upper(): said[one] for one in set(shown)},
    ),
    mutant(
        "spec-two-words-joined",
        "A tool with two locks has both statuses in one string.",
        "FR-004.enum",
        locked_entry=_joined,
    ),
    mutant(
        "spec-once-per-reason",
        "A tool is listed once for each of its locks.",
        "FR-004.once",
        window=_once_per_reason,
    ),
    mutant(
        "spec-locked-twice",
        "A tool turned off by the user is listed as callable and as locked.",
        "FR-004.once",
        "FR-004.follows-state",
        "FR-001.default-off",
        window=_callable_and_locked,
    ),
    mutant(
        "spec-quarantined-is-pending",
        "A tool of a quarantined server is said to await approval.",
        "FR-004.precedence",
        classify=lambda facts: (
            PENDING if std.classify(facts) == QUARANTINED else std.classify(facts)
        ),
        withheld_status=lambda facts: std.withheld_status(facts) and PENDING,
    ),
    mutant(
        "spec-pending-is-quarantined",
        "A new tool of a trusted server is said to be on a quarantined one.",
        "FR-004.precedence",
        withheld_status=lambda facts: std.withheld_status(facts) and QUARANTINED,
    ),
    mutant(
        "spec-by-turns",
        "Which of two locks is named changes from answer to answer.",
        "FR-004.deterministic",
        "FR-004.precedence",
        classify=Fresh(_by_turns),
    ),
    mutant(
        "spec-seventh-slips",
        "Every seventh classification finds no reason.",
        "FR-004.deterministic",
        classify=Fresh(_slips),
    ),
    mutant(
        "spec-crowded-status",
        "While another request is served, the lookup gives up and the reason is undetermined.",
        "FR-004.deterministic",
        classify=lambda facts: UNKNOWN if crowded() else std.classify(facts),
    ),
    mutant(
        "spec-first-reason-stays",
        "A tool keeps the first reason that ever locked it.",
        "FR-004.precedence",
        classify=Fresh(_first_reason),
    ),
)
