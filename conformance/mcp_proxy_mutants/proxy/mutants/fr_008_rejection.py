"""Faults of the rejection of a call."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from mcp_proxy_mutants.proxy.mutant import Fresh, Mutant, mutant
from mcp_proxy_mutants.proxy.pieces import PENDING, SAID, USER, Texts
from mcp_proxy_reference import policy as std
from mcp_proxy_reference.facts import Facts, Status


def _only_for(status: Status, said: Callable[[Facts], str]) -> Callable[[Facts, Texts], str]:
    """Say it for tools of one status, and to all others what is right."""
    return lambda facts, texts: (
        said(facts) if std.classify(facts) == status else std.rejection(facts, texts)
    )


def _as_pending(facts: Facts, texts: Texts) -> str:
    denied = facts.denied and facts.approval != "pending"
    return std.rejection(replace(facts, denied=denied), texts)


def _once_with_pointer() -> Callable[[Facts, Texts], str]:
    told: set[str] = set()

    def said(facts: Facts, texts: Texts) -> str:
        text, key = std.rejection(facts, texts), facts.tool.key
        again = key in told
        told.add(key)
        return text.removesuffix(std.POINTER).strip() if again else text

    return said


def _pointer_unless_twice(facts: Facts, texts: Texts) -> str:
    text = std.rejection(facts, texts)
    twice = facts.denied and facts.disabled_by_user
    return text.removesuffix(std.POINTER).strip() if twice else text


def _policy_text(facts: Facts) -> str:
    text = std.REMEDIATION["disabled_by_config"]
    return f"The tool {facts.tool.key} was not called. {text} {std.POINTER}"


def _says(when: Callable[[Facts], bool], text: str) -> Callable[[Facts, Texts], str]:
    """A rejection of other words for some tools."""
    return lambda facts, said: (
        f"The tool {facts.tool.key} was not called. {text}"
        if when(facts)
        else std.rejection(facts, said)
    )


def _unpointed(when: Callable[[Facts], bool]) -> Callable[[Facts, Texts], str]:
    def rejection(facts: Facts, said: Texts) -> str:
        text = std.rejection(facts, said)
        return text.removesuffix(std.POINTER).strip() if when(facts) else text

    return rejection


def _as_user(facts: Facts, said: Any) -> str:
    """The user's lock is looked at before the operator's."""
    if facts.disabled_by_user and facts.enabled and not facts.quarantined:
        return f"The tool {facts.tool.key} was not called. {said[USER]} {std.POINTER}"
    return std.rejection(facts, said)


def _as_pending_2(facts: Facts, said: Any) -> str:
    """The approval is looked at before the operator's lock."""
    if facts.approval in {"pending", "changed"} and facts.enabled and not facts.quarantined:
        return f"The tool {facts.tool.key} was not called. {said[PENDING]} {std.POINTER}"
    return std.rejection(facts, said)


MUTANTS: tuple[Mutant, ...] = (
    mutant(
        "denied-and-pending-told-pending",
        "A denied new tool is refused as not yet approved.",
        "FR-008.config",
        rejection=_as_pending,
    ),
    mutant(
        "denied-told-as-toggle",
        "A denied tool is refused with the advice to turn it on.",
        "FR-008.config",
        rejection=_only_for(
            "disabled_by_config",
            lambda facts: (
                f"{facts.tool.key} is switched off. Ask the user to switch it on. {std.POINTER}"
            ),
        ),
    ),
    mutant(
        "rejection-alike",
        "Every rejection says no more than that the tool is disabled.",
        "FR-008.config",
        "FR-008.distinct",
        rejection=lambda facts, _: f"The tool {facts.tool.key} is disabled. {std.POINTER}",
    ),
    mutant(
        "rejection-config-toggle",
        "A denied tool's rejection tells the user to turn it on.",
        "FR-008.config",
        "SC-003.rejection",
        "FR-008.distinct",
        rejection=_says(lambda facts: facts.denied, f"{SAID[USER]} {std.POINTER}"),
    ),
    mutant(
        "rejection-user-first",
        "The rejection of a tool with both locks speaks of the user's.",
        "FR-008.config",
        "SC-003.rejection",
        rejection=_as_user,
    ),
    mutant(
        "rejection-pending-first",
        "The rejection of a denied tool that awaits approval asks for the approval.",
        "FR-008.config",
        "SC-003.rejection",
        rejection=_as_pending_2,
    ),
    mutant(
        "rejection-half",
        "A denied tool's rejection names the policy, and not that the user cannot override it.",
        "FR-008.config",
        rejection=_says(lambda facts: facts.denied, f"Locked by operator policy. {std.POINTER}"),
    ),
    mutant(
        "rejection-no-policy",
        "A denied tool's rejection says that the user cannot override it, and not whose policy.",
        "FR-008.config",
        rejection=_says(lambda facts: facts.denied, f"Users cannot override this. {std.POINTER}"),
    ),
    mutant(
        "rejection-unknown-tool",
        "A denied tool is rejected as one that does not exist.",
        "FR-008.config",
        rejection=lambda facts, said: (
            std.unknown(facts.tool.key) if facts.denied else std.rejection(facts, said)
        ),
    ),
    mutant(
        "quarantine-told-as-policy",
        "A quarantined tool is refused with the config text.",
        "FR-008.distinct",
        rejection=_only_for("server_quarantined", _policy_text),
    ),
    mutant(
        "user-rejection-without-pointer",
        "The refusal of a user-locked tool points nowhere.",
        "FR-008.pointer",
        rejection=_only_for(
            "disabled_by_user",
            lambda facts: f"{facts.tool.key} was not called. {std.REMEDIATION['disabled_by_user']}",
        ),
    ),
    mutant(
        "pointer-told-once",
        "Only the first refusal of a tool points to discovery.",
        "FR-008.pointer",
        rejection=Fresh(_once_with_pointer),
    ),
    mutant(
        "two-locks-without-pointer",
        "A refusal for config over a user lock points nowhere.",
        "FR-008.pointer",
        rejection=_pointer_unless_twice,
    ),
    mutant(
        "rejection-unpointed",
        "Rejections do not lead to the flag.",
        "FR-008.pointer",
        rejection=_unpointed(bool),
    ),
)
