"""Faults of rejection and enforcement, clause by clause."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace

from mcp_proxy_mutants.proxy.mutant import Fresh, Mutant, mutant
from mcp_proxy_mutants.proxy.swapping import decide
from mcp_proxy_reference.facts import Facts, Json, Status
from mcp_proxy_reference.gateway import Gateway
from mcp_proxy_reference.policy import (
    POINTER,
    REMEDIATION,
    classify,
    locked_entry,
    may_call,
    rejection,
)

Texts = Mapping[Status, str]
OFTEN = 5


def _only_for(status: Status, said: Callable[[Facts], str]) -> Callable[[Facts, Texts], str]:
    """Say it for tools of one status, and to all others what is right."""
    return lambda facts, texts: (
        said(facts) if classify(facts) == status else rejection(facts, texts)
    )


def _as_pending(facts: Facts, texts: Texts) -> str:
    denied = facts.denied and facts.approval != "pending"
    return rejection(replace(facts, denied=denied), texts)


def _once_with_pointer() -> Callable[[Facts, Texts], str]:
    told: set[str] = set()

    def said(facts: Facts, texts: Texts) -> str:
        text, key = rejection(facts, texts), facts.tool.key
        again = key in told
        told.add(key)
        return text.removesuffix(POINTER).strip() if again else text

    return said


def _pointer_unless_twice(facts: Facts, texts: Texts) -> str:
    text = rejection(facts, texts)
    twice = facts.denied and facts.disabled_by_user
    return text.removesuffix(POINTER).strip() if twice else text


def _surface_without_user_locks(facts: Facts, surface: str) -> bool:
    checked = replace(facts, disabled_by_user=False) if surface == "call_tool_write" else facts
    return may_call(checked, surface)


def _fifth_call_passes() -> Callable[[Facts, str], bool]:
    calls: Counter[str] = Counter()

    def unlucky(facts: Facts, surface: str) -> bool:
        if not surface.startswith("call_tool_"):
            return may_call(facts, surface)
        calls[facts.tool.key] += not may_call(facts, surface)
        return may_call(facts, surface) or calls[facts.tool.key] % OFTEN == 0

    return unlucky


def _discovered_passes(gateway: Gateway) -> None:
    listed: set[str] = set()

    def entry(facts: Facts, status: Status, withheld: bool) -> Json:
        if status == "pending_approval":
            listed.add(facts.tool.key)
        return locked_entry(facts, status, withheld)

    def passing(facts: Facts, surface: str) -> bool:
        seen = surface.startswith("call_tool_") and facts.tool.key in listed
        return may_call(replace(facts, approval="approved") if seen else facts, surface)

    decide(gateway, locked_entry=entry, may_call=passing)


def _listing_approves(gateway: Gateway) -> None:
    """The third answer that lists a changed tool takes its new text for approved."""
    listed: Counter[str] = Counter()

    def entry(facts: Facts, status: Status, withheld: bool) -> Json:
        key = facts.tool.key
        listed[key] += facts.approval == "changed"
        if listed[key] > 1 and facts.approval == "changed":
            gateway.store.approve([facts.tool])
        return locked_entry(facts, status, withheld)

    decide(gateway, locked_entry=entry)


def _rejection_forgets(gateway: Gateway) -> None:
    """A tool that config denies loses its user lock with the first refused call."""

    def said(facts: Facts, texts: Texts) -> str:
        if facts.denied and facts.disabled_by_user:
            gateway.store.lock(facts.tool, locked=False)
        return rejection(facts, texts)

    decide(gateway, rejection=said)


def _rejection_unlocks(gateway: Gateway) -> None:
    refused: Counter[str] = Counter()

    def said(facts: Facts, texts: Texts) -> str:
        refused[facts.tool.key] += 1
        if facts.disabled_by_user and not facts.denied and refused[facts.tool.key] == OFTEN - 1:
            gateway.store.lock(facts.tool, locked=False)
        return rejection(facts, texts)

    decide(gateway, rejection=said)


def _locks_what_it_lists(gateway: Gateway) -> None:
    """Listing a denied tool writes the denial into the approvals as a user lock."""

    def entry(facts: Facts, status: Status, withheld: bool) -> Json:
        if facts.denied and not facts.disabled_by_user:
            gateway.store.lock(facts.tool, locked=True)
        return locked_entry(facts, status, withheld)

    decide(gateway, locked_entry=entry)


def _policy_text(facts: Facts) -> str:
    text = REMEDIATION["disabled_by_config"]
    return f"The tool {facts.tool.key} was not called. {text} {POINTER}"


MUTANTS: tuple[Mutant, ...] = (
    mutant("denied-and-pending-told-pending", "A denied new tool is refused as not yet approved.",
           "FR-008.config", rejection=_as_pending),
    mutant("denied-told-as-toggle", "A denied tool is refused with the advice to turn it on.",
           "FR-008.config",
           rejection=_only_for("disabled_by_config", lambda facts: (
               f"{facts.tool.key} is switched off. Ask the user to switch it on. {POINTER}"))),
    mutant("quarantine-told-as-policy", "A quarantined tool is refused with the config text.",
           "FR-008.distinct", rejection=_only_for("server_quarantined", _policy_text)),
    mutant("pending-told-as-policy", "A pending tool is refused with the config text.",
           "FR-008.distinct", rejection=_only_for("pending_approval", _policy_text)),
    mutant("user-lock-told-as-policy", "A user-locked tool is refused with the config text.",
           "FR-008.distinct", rejection=_only_for("disabled_by_user", _policy_text)),
    mutant("user-rejection-without-pointer", "The refusal of a user-locked tool points nowhere.",
           "FR-008.pointer",
           rejection=_only_for("disabled_by_user", lambda facts: (
               f"{facts.tool.key} was not called. {REMEDIATION['disabled_by_user']}"))),
    mutant("pointer-told-once", "Only the first refusal of a tool points to discovery.",
           "FR-008.pointer", rejection=Fresh(_once_with_pointer)),
    mutant("two-locks-without-pointer", "A refusal for config over a user lock points nowhere.",
           "FR-008.pointer", rejection=_pointer_unless_twice),
    mutant("writing-calls-skip-user-locks", "One of the call surfaces does not heed user locks.",
           "FR-011.never-reaches", may_call=_surface_without_user_locks),
    mutant("fifth-call-passes", "Every fifth call of a locked tool goes through.",
           "FR-011.never-reaches", may_call=Fresh(_fifth_call_passes)),
    mutant("discovered-pending-passes", "A pending tool may be called once it was listed.",
           "FR-011.never-reaches", swap=_discovered_passes),
    mutant("second-listing-approves", "Listing a changed tool twice approves its new text.",
           "FR-011.not-unlocked", swap=_listing_approves),
    mutant("refusal-drops-the-user-lock", "A refusal by config drops the user lock beneath.",
           "FR-011.not-unlocked", swap=_rejection_forgets),
    mutant("fourth-refusal-unlocks", "The fourth refused call lifts the user's lock.",
           "FR-011.not-unlocked", swap=_rejection_unlocks),
    mutant("listing-copies-the-denial", "Listing a denied tool leaves a user lock on it.",
           "FR-011.not-unlocked", swap=_locks_what_it_lists),
)  # fmt: skip
