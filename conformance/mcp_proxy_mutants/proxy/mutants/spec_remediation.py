"""Faults of the remediation map and of the words for a rejection."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mcp_proxy_mutants.proxy.mutant import Mutant, mutant
from mcp_proxy_mutants.proxy.pieces import bare, texts
from mcp_proxy_mutants.proxy.wrapping import Request
from mcp_proxy_reference import policy as std
from mcp_proxy_reference.facts import Facts, Json, Status
from mcp_proxy_reference.store import StoreError

CONFIG, USER, PENDING = "disabled_by_config", "disabled_by_user", "pending_approval"
SAID = texts()
Texts = Mapping[Status, str]


def _map(*, without: str = "", plus: Mapping[str, str] = {}) -> Callable[..., Json]:
    def remediation_map(shown: Sequence[Status], matched: Sequence[Status], said: Texts) -> Json:
        whole = {**plus, **std.remediation_map(shown, matched, said)}
        return {status: text for status, text in whole.items() if status != without}

    return remediation_map


def _for_one(shown: Sequence[Status], matched: Sequence[Status], said: Texts) -> Json:
    return {} if len(shown) == 1 else std.remediation_map(shown, matched, said)


def _each(facts: Facts, status: Status, withheld: bool) -> Json:
    return std.locked_entry(facts, status, withheld) | {"remediation": SAID[status]}


def _user_text_for_both(document: Json, request: Request) -> Json:
    """The map's text for config is the user's when a listed tool has both locks."""
    try:
        records = request.store.records()
    except StoreError:
        return document
    locked = {f"{server}:{tool}" for (server, tool), one in records.items() if one.disabled}
    for entry in document.get("disabled", []):
        if entry["status"] == CONFIG and entry["name"] in locked:
            document["remediation"][CONFIG] = SAID[USER]
    return document


def _user_text_beside_user(document: Json, _request: Request) -> Json:
    """The map's text for config is the user's when a user's lock is listed too."""
    remediation = document.get("remediation", {})
    if CONFIG in remediation and USER in remediation:
        remediation[CONFIG] = SAID[USER]
    return document


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


def _as_pending(facts: Facts, said: Any) -> str:
    """The approval is looked at before the operator's lock."""
    if facts.approval in {"pending", "changed"} and facts.enabled and not facts.quarantined:
        return f"The tool {facts.tool.key} was not called. {said[PENDING]} {std.POINTER}"
    return std.rejection(facts, said)


MUTANTS: tuple[Mutant, ...] = (
    mutant(
        "spec-map-before-cap",
        "The map explains statuses whose entries were all cut away by the cap.",
        "FR-005.keys",
        remediation_map=lambda _shown, matched, said: {one: said[one] for one in set(matched)},
    ),
    mutant(
        "spec-map-of-all",
        "The map explains all six statuses.",
        "FR-005.keys",
        remediation_map=lambda _shown, _matched, said: dict(said),
    ),
    mutant(
        "spec-map-config-always",
        "The map always explains the operator's lock.",
        "FR-005.keys",
        remediation_map=_map(plus={CONFIG: SAID[CONFIG]}),
    ),
    mutant(
        "spec-map-lacks-pending",
        "The map has no text for tools that await approval.",
        "FR-005.keys",
        remediation_map=_map(without=PENDING),
    ),
    mutant(
        "spec-map-lacks-quarantined",
        "The map has no text for the sixth status.",
        "FR-005.keys",
        remediation_map=_map(without="server_quarantined"),
    ),
    mutant(
        "spec-map-lacks-unknown",
        "The map has no text for the undetermined reason.",
        "FR-005.keys",
        "FR-004.unknown",
        remediation_map=_map(without="disabled_unknown"),
    ),
    mutant(
        "spec-map-first-only",
        "The map explains the first entry's status only.",
        "FR-005.keys",
        remediation_map=lambda shown, _matched, said: {one: said[one] for one in shown[:1]},
    ),
    mutant(
        "spec-map-for-many",
        "A single locked entry comes without the map.",
        "FR-005.keys",
        "SC-002.two-steps",
        remediation_map=_for_one,
    ),
    mutant(
        "spec-text-per-entry",
        "Every entry has a remediation text of its own, beside the map.",
        "FR-005.once",
        "FR-003.members",
        locked_entry=_each,
    ),
    mutant(
        "spec-texts-swapped",
        "The texts for config and user are swapped.",
        "FR-005.class",
        "SC-003.discovery",
        "SC-003.rejection",
        "FR-008.config",
        remediation=texts(disabled_by_config=SAID[USER], disabled_by_user=SAID[CONFIG]),
    ),
    mutant(
        "spec-text-user-is-config",
        "A user's lock is explained as operator policy.",
        "FR-005.class",
        "FR-005.text",
        "FR-008.distinct",
        remediation=texts(disabled_by_user=SAID[CONFIG]),
    ),
    mutant(
        "spec-text-config-also-user",
        "The text for config ends in advice to enable the tool.",
        "FR-005.class",
        "SC-003.discovery",
        remediation_map=lambda shown, _m, said: {
            one: said[one] + (" Or ask the user to enable it in the UI." if one == CONFIG else "")
            for one in set(shown)
        },
    ),
    mutant(
        "spec-text-pending-is-user",
        "Tools that await approval are explained like the user's locks.",
        "FR-005.class",
        remediation=texts(pending_approval=SAID[USER]),
    ),
    mutant(
        "spec-text-quarantine-is-config",
        "Quarantine is explained as operator policy.",
        "FR-005.class",
        "FR-008.distinct",
        remediation=texts(server_quarantined=SAID[CONFIG]),
    ),
    mutant(
        "spec-text-unknown-is-user",
        "The undetermined reason is explained like the user's lock.",
        "FR-004.unknown",
        "FR-005.class",
        remediation=texts(disabled_unknown=SAID[USER]),
    ),
    mutant(
        "spec-text-blank",
        "The text for tools that await approval is blank.",
        "FR-005.text",
        remediation=texts(pending_approval=" "),
    ),
    mutant(
        "spec-text-both-locks",
        "A tool locked by operator and user brings the user's text under the key for config.",
        "FR-005.class",
        "SC-003.discovery",
        answer=_user_text_for_both,
    ),
    mutant(
        "spec-text-beside-user",
        "Where a user's lock is listed too, the operator's is explained like it.",
        "FR-005.class",
        "SC-003.discovery",
        answer=_user_text_beside_user,
    ),
    mutant(
        "spec-rejection-alike",
        "Every rejection says no more than that the tool is disabled.",
        "FR-008.config",
        "FR-008.distinct",
        rejection=lambda facts, _: f"The tool {facts.tool.key} is disabled. {std.POINTER}",
    ),
    mutant(
        "spec-rejection-config-toggle",
        "A denied tool's rejection tells the user to turn it on.",
        "FR-008.config",
        "SC-003.rejection",
        "FR-008.distinct",
        rejection=_says(lambda facts: facts.denied, f"{SAID[USER]} {std.POINTER}"),
    ),
    mutant(
        "spec-rejection-user-first",
        "The rejection of a tool with both locks speaks of the user's.",
        "FR-008.config",
        "SC-003.rejection",
        rejection=_as_user,
    ),
    mutant(
        "spec-rejection-pending-first",
        "The rejection of a denied tool that awaits approval asks for the approval.",
        "FR-008.config",
        "SC-003.rejection",
        rejection=_as_pending,
    ),
    mutant(
        "spec-rejection-half",
        "A denied tool's rejection names the policy, and not that the user cannot override it.",
        "FR-008.config",
        rejection=_says(lambda facts: facts.denied, f"Locked by operator policy. {std.POINTER}"),
    ),
    mutant(
        "spec-rejection-no-policy",
        "A denied tool's rejection says that the user cannot override it, and not whose policy.",
        "FR-008.config",
        rejection=_says(lambda facts: facts.denied, f"Users cannot override this. {std.POINTER}"),
    ),
    mutant(
        "spec-rejection-quarantine-alike",
        "Tools of quarantined servers are rejected in the words for denied ones.",
        "FR-008.distinct",
        rejection=_says(lambda facts: facts.quarantined, f"{SAID[CONFIG]} {std.POINTER}"),
    ),
    mutant(
        "spec-rejection-unpointed",
        "Rejections do not lead to the flag.",
        "FR-008.pointer",
        rejection=_unpointed(bool),
    ),
    mutant(
        "spec-rejection-user-unpointed",
        "The rejection of a tool turned off by the user does not lead to the flag.",
        "FR-008.pointer",
        rejection=_unpointed(lambda facts: std.classify(facts) == USER),
    ),
    mutant(
        "spec-rejection-unknown-tool",
        "A denied tool is rejected as one that does not exist.",
        "FR-008.config",
        rejection=lambda facts, said: (
            std.unknown(facts.tool.key) if facts.denied else std.rejection(facts, said)
        ),
    ),
    mutant(
        "spec-rejection-undetermined",
        "A rejection loses the reason and speaks of the undetermined one.",
        "FR-008.config",
        "FR-008.distinct",
        rejection=lambda facts, said: std.rejection(bare(facts), said),
    ),
)
