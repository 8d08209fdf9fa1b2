"""Mutants of the rejection text for calls of locked tools: its reason, its pointer to discovery."""

from collections.abc import Callable
from dataclasses import replace

from mcp_proxy_mutants.discovery.gateway_changes import decide
from mcp_proxy_mutants.discovery.mutant import Fresh, Mutant, mutant
from mcp_proxy_mutants.discovery.pieces import PENDING, TEXTS, UNKNOWN, USER, Texts, by_allow_list
from mcp_proxy_reference import policy as std
from mcp_proxy_reference.facts import Facts, Status
from mcp_proxy_reference.gateway import Gateway


def _only_for(status: Status, words: Callable[[Facts], str]) -> Callable[[Facts, Texts], str]:
    """Return a `rejection` decision: tools of that status get the text of `words`.

    Others as usual.
    """
    return lambda facts, texts: (
        words(facts) if std.classify(facts) == status else std.rejection(facts, texts)
    )


def _as_pending(facts: Facts, texts: Texts) -> str:
    """Reject as usual, but ignore config's denial of a tool that was never approved."""
    denied = facts.denied and facts.approval != "pending"
    return std.rejection(replace(facts, denied=denied), texts)


def _once_with_pointer() -> Callable[[Facts, Texts], str]:
    """Return a `rejection` decision: only a tool's first refusal points to discovery."""
    rejected: set[str] = set()

    def rejection(facts: Facts, texts: Texts) -> str:
        text, key = std.rejection(facts, texts), facts.tool.key
        again = key in rejected
        rejected.add(key)
        return text.removesuffix(std.POINTER).strip() if again else text

    return rejection


def _pointer_unless_twice(facts: Facts, texts: Texts) -> str:
    """Reject a tool that config and user lock without the pointer to discovery, others as usual."""
    text = std.rejection(facts, texts)
    twice = facts.denied and facts.disabled_by_user
    return text.removesuffix(std.POINTER).strip() if twice else text


def _policy_text(facts: Facts) -> str:
    """Reject the tool as locked by operator policy, whatever locks it."""
    text = std.REMEDIATION["disabled_by_config"]
    return f"The tool {facts.tool.key} was not called. {text} {std.POINTER}"


def _says(when: Callable[[Facts], bool], text: str) -> Callable[[Facts, Texts], str]:
    """Return a `rejection` decision: `text` rejects the tools that `when` selects.

    It follows the tool's address; others are rejected as usual.
    """
    return lambda facts, texts: (
        f"The tool {facts.tool.key} was not called. {text}"
        if when(facts)
        else std.rejection(facts, texts)
    )


def _unpointed(when: Callable[[Facts], bool]) -> Callable[[Facts, Texts], str]:
    """Return a `rejection` decision that drops the pointer to discovery for tools `when` selects.

    Other tools are rejected as usual.
    """

    def rejection(facts: Facts, texts: Texts) -> str:
        text = std.rejection(facts, texts)
        return text.removesuffix(std.POINTER).strip() if when(facts) else text

    return rejection


def _as_user(facts: Facts, texts: Texts) -> str:
    """Reject a user-locked tool as such, even if config denies it.

    Tools of a server that is off or in quarantine are rejected as usual.
    """
    if facts.disabled_by_user and facts.enabled and not facts.quarantined:
        return f"The tool {facts.tool.key} was not called. {texts[USER]} {std.POINTER}"
    return std.rejection(facts, texts)


def _approval_before_config(facts: Facts, texts: Texts) -> str:
    """Reject an unapproved tool as pending, even if config denies it.

    Tools of a server that is off or in quarantine are rejected as usual.
    """
    if facts.approval in {"pending", "changed"} and facts.enabled and not facts.quarantined:
        return f"The tool {facts.tool.key} was not called. {texts[PENDING]} {std.POINTER}"
    return std.rejection(facts, texts)


def _own_lock_first(facts: Facts, texts: Texts) -> str:
    """On a server that is off or in quarantine, reject a user-locked tool for its user lock."""
    alone = replace(facts, enabled=True, quarantined=False, denied=False)
    shut = facts.quarantined or not facts.enabled
    return std.rejection(alone if shut and facts.disabled_by_user else facts, texts)


def _unlisted_as_unknown(gateway: Gateway) -> None:
    """Reject tools outside their server's allow list with the text for an unknown reason."""

    def rejection(facts: Facts, texts: Texts) -> str:
        if not by_allow_list(gateway, facts):
            return std.rejection(facts, texts)
        return f"The tool {facts.tool.key} was not called. {texts[UNKNOWN]} {std.POINTER}"

    decide(gateway, rejection=rejection)


def _policy_for(when: Callable[[Facts], bool]) -> Callable[[Facts, Texts], str]:
    """Return a `rejection` decision: the text of config locks for tools that config does not deny.

    It applies to the tools that `when` selects, on servers that are on.
    """
    return lambda facts, texts: (
        _policy_text(facts)
        if when(facts) and facts.enabled and not facts.denied
        else std.rejection(facts, texts)
    )


MUTANTS: tuple[Mutant, ...] = (
    mutant(
        "policy-ends-at-a-colon",
        "Rejections of tools with a colon in their names leave the operator's denial out.",
        "SC-003.rejection",
        rejection=lambda facts, texts: std.rejection(
            replace(facts, denied=facts.denied and ":" not in facts.tool.name), texts
        ),
    ),
    mutant(
        "unapproved-user-lock-told-as-policy",
        "A tool that the user disabled and nobody approved is rejected as operator policy.",
        "FR-008.distinct",
        rejection=_policy_for(
            lambda facts: facts.disabled_by_user and facts.approval in {"pending", "changed"}
        ),
    ),
    mutant(
        "locked-in-quarantine-told-as-policy",
        "A tool of a quarantined server is rejected as operator policy if it is locked besides.",
        "FR-008.distinct",
        rejection=_policy_for(
            lambda facts: (
                facts.quarantined and (facts.disabled_by_user or facts.approval != "approved")
            )
        ),
    ),
    mutant(
        "user-lock-told-before-its-server",
        "On a quarantined or switched-off server, a tool's user lock is told, denied or not.",
        "SC-003.rejection",
        rejection=_own_lock_first,
    ),
    mutant(
        "denied-in-quarantine-told-to-enable",
        "A denied tool of a quarantined server is rejected with the advice to turn it on.",
        "SC-003.rejection",
        rejection=lambda facts, texts: (
            f"{facts.tool.key} is switched off. Ask the user to switch it on. {std.POINTER}"
            if facts.denied and facts.quarantined
            else std.rejection(facts, texts)
        ),
    ),
    mutant(
        "denied-and-off-told-to-approve",
        "A denied tool of a switched-off server is rejected with a request to approve it.",
        "SC-003.rejection",
        rejection=lambda facts, texts: (
            f"Ask the user to approve {facts.tool.key} in the UI."
            if facts.denied and not facts.enabled
            else std.rejection(facts, texts)
        ),
    ),
    mutant(
        "denied-and-pending-told-pending",
        "A denied new tool is rejected as not yet approved.",
        "SC-003.rejection",
        rejection=_as_pending,
    ),
    mutant(
        "denied-told-as-unknown",
        "A denied tool is rejected for a reason that could not be determined.",
        "FR-008.config",
        rejection=_only_for(
            "disabled_by_config",
            lambda facts: (
                f"{facts.tool.key} was not called. {std.REMEDIATION[UNKNOWN]} {std.POINTER}"
            ),
        ),
    ),
    mutant(
        "unlisted-told-as-unknown",
        "A tool outside its server's allow list is rejected for a reason that is not known.",
        "FR-008.config",
        swap=_unlisted_as_unknown,
    ),
    mutant(
        "denied-told-as-toggle",
        "A denied tool is rejected with the advice to turn it on.",
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
        "Every rejection says only that the tool is disabled.",
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
        rejection=_says(lambda facts: facts.denied, f"{TEXTS[USER]} {std.POINTER}"),
    ),
    mutant(
        "rejection-user-first",
        "The rejection of a tool with both locks mentions only the user lock.",
        "FR-008.config",
        "SC-003.rejection",
        rejection=_as_user,
    ),
    mutant(
        "rejection-pending-first",
        "The rejection of a denied tool that awaits approval asks for approval.",
        "SC-003.rejection",
        rejection=_approval_before_config,
    ),
    mutant(
        "rejection-half",
        "A denied tool's rejection names the policy, but not that the user cannot override it.",
        "FR-008.config",
        rejection=_says(lambda facts: facts.denied, f"Locked by operator policy. {std.POINTER}"),
    ),
    mutant(
        "rejection-no-policy",
        "A denied tool's rejection says that the user cannot override it, but names no policy.",
        "FR-008.config",
        rejection=_says(lambda facts: facts.denied, f"Users cannot override this. {std.POINTER}"),
    ),
    mutant(
        "rejection-unknown-tool",
        "A denied tool is rejected as one that does not exist.",
        "FR-008.config",
        rejection=lambda facts, texts: (
            std.unknown(facts.tool.key) if facts.denied else std.rejection(facts, texts)
        ),
    ),
    mutant(
        "quarantine-told-as-policy",
        "A quarantined tool is rejected with the text for config locks.",
        "FR-008.distinct",
        rejection=_only_for("server_quarantined", _policy_text),
    ),
    mutant(
        "user-rejection-without-pointer",
        "The rejection of a user-locked tool has no pointer to the flag.",
        "FR-008.pointer",
        rejection=_only_for(
            "disabled_by_user",
            lambda facts: f"{facts.tool.key} was not called. {std.REMEDIATION['disabled_by_user']}",
        ),
    ),
    mutant(
        "pointer-told-once",
        "Only the first rejection of a tool points to discovery.",
        "FR-008.pointer",
        rejection=Fresh(_once_with_pointer),
    ),
    mutant(
        "two-locks-without-pointer",
        "The rejection of a tool locked by config and user has no pointer to the flag.",
        "FR-008.pointer",
        rejection=_pointer_unless_twice,
    ),
    mutant(
        "rejection-unpointed",
        "Rejections do not point to the flag.",
        "FR-008.pointer",
        rejection=_unpointed(bool),
    ),
)
