"""Faults of the status: its words, its order, and how it follows the state, clause by clause."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count

from mcp_proxy_mutants.proxy.mutant import Fresh, Mutant, mutant
from mcp_proxy_mutants.proxy.swapping import decide
from mcp_proxy_mutants.proxy.wrapping import Request
from mcp_proxy_reference.facts import Facts, Json, Match, Status
from mcp_proxy_reference.gateway import Gateway
from mcp_proxy_reference.policy import (
    REMEDIATION,
    classify,
    counts,
    locked_entry,
    may_call,
    window,
    withheld_status,
)

Windows = tuple[Sequence[Match], Sequence[Match]]
OFTEN = 5


def _seventh_word(gateway: Gateway) -> None:
    def entry(facts: Facts, status: Status, withheld: bool) -> Json:
        server = gateway.config.servers[facts.tool.server]
        listed = locked_entry(facts, status, withheld)
        left_out = status == "disabled_by_config" and server.enabled_tools is not None
        return listed | {"status": "not_in_allow_list"} if left_out else listed

    decide(gateway, locked_entry=entry)


def _changed_word(facts: Facts, status: Status, withheld: bool) -> Json:
    entry = locked_entry(facts, status, withheld)
    return entry | {"status": "changed_approval"} if facts.approval == "changed" else entry


def _user_before_config(facts: Facts) -> Status:
    return classify(replace(facts, denied=facts.denied and not facts.disabled_by_user))


def _config_before_off(facts: Facts) -> Status:
    return classify(replace(facts, enabled=facts.enabled or facts.denied))


def _pending_before_quarantine(facts: Facts) -> Status | None:
    status = withheld_status(facts)
    unapproved = facts.approval in {"pending", "changed"}
    return "pending_approval" if status == "server_quarantined" and unapproved else status


def _each_lock_an_entry(found: Sequence[Match], limit: int) -> Windows:
    callables, rest = window(found, limit)
    again = [hit for hit in rest if hit.facts.denied and hit.facts.disabled_by_user]
    return callables, [*rest, *again]


def _user_lock_beside_callable(facts: Facts, surface: str) -> bool:
    return may_call(replace(facts, disabled_by_user=False) if surface == "discovery" else facts,
                    surface)  # fmt: skip


def _each_lock_a_count(tools: Sequence[tuple[Facts, Status | None]]) -> Json | None:
    block = counts(tools)
    twice = sum(facts.denied and facts.disabled_by_user for facts, _ in tools)
    if block is None or not twice:
        return block
    return block | {"disabled_by_user": block.get("disabled_by_user", 0) + twice}


def _denied_too(of: Callable[[Facts], bool]) -> Callable[[Facts], Status | None]:
    """The pass over withheld tools forgets to skip those that config denies."""

    def status(facts: Facts) -> Status | None:
        return withheld_status(replace(facts, denied=False) if of(facts) else facts)

    return status


def _unreadable(facts: Facts, status: Status) -> Status:
    return status if facts.approval is None else classify(facts)


def _stays_listed() -> Callable[[Sequence[Match], int], Windows]:
    locked: set[str] = set()

    def lingering(found: Sequence[Match], limit: int) -> Windows:
        callables, rest = window(found, limit)
        stale = [hit for hit in callables if hit.facts.tool.key in locked]
        locked.update(hit.facts.tool.key for hit in rest if hit.facts.denied)
        return [hit for hit in callables if hit not in stale], [*rest, *stale]

    return lingering


def _second_lock_unseen() -> Callable[[Facts, str], bool]:
    locked: set[str] = set()
    freed: set[str] = set()

    def discovered(facts: Facts, surface: str) -> bool:
        free, key = may_call(facts, surface), facts.tool.key
        if surface != "discovery":
            return free
        (freed.add(key) if free and key in locked else locked.add(key) if not free else None)
        return free or (key in freed and facts.disabled_by_user)

    return discovered


def _stale_until_changed() -> Callable[[Facts, str], bool]:
    """Discovery looks at each tool's user lock once and keeps what it saw of it for five looks."""
    kept: dict[str, tuple[bool, int]] = {}

    def discovered(facts: Facts, surface: str) -> bool:
        if surface != "discovery":
            return may_call(facts, surface)
        locked, looks = kept.get(facts.tool.key, (facts.disabled_by_user, 0))
        fresh = facts.disabled_by_user if looks > OFTEN else locked
        kept[facts.tool.key] = fresh, 0 if looks > OFTEN else looks + 1
        return may_call(replace(facts, disabled_by_user=fresh), surface)

    return discovered


def _restart_frees_the_list(gateway: Gateway) -> None:
    """Discovery takes the user's locks from a copy that is read when the proxy starts."""
    start = {key for key, record in gateway.store.records().items() if record.disabled}

    def discovered(facts: Facts, surface: str) -> bool:
        key = facts.tool.server, facts.tool.name
        held = key in start and not facts.disabled_by_user
        return (
            may_call(replace(facts, disabled_by_user=True), surface)
            if (held and surface == "discovery")
            else may_call(facts, surface)
        )

    decide(gateway, may_call=discovered)


def _now_and_then() -> Callable[[Facts], Status]:
    looks: Counter[str] = Counter()

    def status(facts: Facts) -> Status:
        looks[facts.tool.key] += 1
        slow = looks[facts.tool.key] % OFTEN == 0 and facts.disabled_by_user
        return "disabled_unknown" if slow else classify(facts)

    return status


def _after_another_agent() -> Callable[[Json, Request], Json]:
    last = [""]
    turns = count()

    def answer(document: Json, request: Request) -> Json:
        other = last[0] not in {"", request.agent.name}
        last[0] = request.agent.name
        if not other or not next(turns) or "disabled" not in document:
            return document
        entries = [one | {"status": "disabled_unknown"} for one in document["disabled"]]
        texts = {"disabled_unknown": REMEDIATION["disabled_unknown"]}
        return document | {"disabled": entries, "remediation": texts}

    return answer


MUTANTS: tuple[Mutant, ...] = (
    mutant("allow-lists-have-a-word", "Tools missing from an allow list have a seventh status.",
           "FR-004.enum", swap=_seventh_word),
    mutant("changed-tools-have-a-word", "Changed tools have a status of their own.",
           "FR-004.enum", locked_entry=_changed_word),
    mutant("config-before-server-off", "A denied tool of a switched-off server is config-locked.",
           "FR-004.precedence", classify=_config_before_off),
    mutant("user-before-config", "A tool locked by config and user is the user's.",
           "FR-004.precedence", classify=_user_before_config),
    mutant("unapproved-before-quarantine", "A pending tool in quarantine waits for approval.",
           "FR-004.precedence", withheld_status=_pending_before_quarantine),
    mutant("each-lock-an-entry", "A tool locked by config and user is listed twice.",
           "FR-004.once", window=_each_lock_an_entry),
    mutant("each-lock-a-count", "A tool locked by config and user is counted under both.",
           "FR-004.once", "FR-010.sum", counts=_each_lock_a_count),
    mutant("denied-in-quarantine-listed", "Quarantine lists tools that config denies.",
           "FR-004.config-skips-quarantine",
           withheld_status=_denied_too(lambda facts: facts.quarantined)),
    mutant("denied-changed-listed",
           "Changed tools are listed as pending though config denies them.",
           "FR-004.config-skips-quarantine",
           withheld_status=_denied_too(lambda facts: facts.approval == "changed")),
    mutant("unreadable-means-user", "With approvals unreadable a lock is told as the user's.",
           "FR-004.unknown",
           classify=lambda facts: _unreadable(facts, "disabled_by_user")),
    mutant("unreadable-means-pending", "With approvals unreadable a tool waits for approval.",
           "FR-004.unknown",
           withheld_status=lambda facts: "pending_approval"
           if withheld_status(facts) == "disabled_unknown" else withheld_status(facts),
           classify=lambda facts: _unreadable(facts, "pending_approval")),
    mutant("unreadable-opens", "With approvals unreadable a tool may be called.",
           "FR-004.unknown", "FR-011.never-reaches",
           may_call=lambda facts, surface: may_call(
               replace(facts, approval=facts.approval or "approved")
               if surface != "discovery" else facts, surface)),
    mutant("unknown-asks-for-a-toggle", "The undetermined reason is told to be toggled in the UI.",
           "FR-004.unknown", "FR-005.class",
           remediation={**REMEDIATION,
                        "disabled_unknown": "Ask the user to turn the tool on in the UI."}),
    mutant("lifted-denial-stays-listed", "A tool once denied by config stays among the locked.",
           "FR-004.follows-state", window=Fresh(_stays_listed)),
    mutant("second-user-lock-unseen", "Search does not see a user lock that comes a second time.",
           "FR-004.follows-state", may_call=Fresh(_second_lock_unseen)),
    mutant("user-locks-seen-late", "Search keeps what it saw of a user lock for five searches.",
           "FR-004.follows-state", may_call=Fresh(_stale_until_changed)),
    mutant("locks-of-the-start-stay", "Search keeps the user locks read when the proxy started.",
           "FR-004.follows-state", swap=_restart_frees_the_list),
    mutant("fifth-look-is-unknown", "Every fifth look at a user lock comes to no reason.",
           "FR-004.deterministic", classify=Fresh(_now_and_then)),
    mutant("unknown-after-another-agent", "An agent that asks after another is told no reason.",
           "FR-004.deterministic", answer=Fresh(_after_another_agent)),
)  # fmt: skip
