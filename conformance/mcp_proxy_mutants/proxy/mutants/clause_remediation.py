"""Faults of remediation: the map, its texts and where they stand, clause by clause."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from mcp_proxy_mutants.proxy.mutant import Fresh, Mutant, mutant
from mcp_proxy_mutants.proxy.swapping import decide
from mcp_proxy_reference.facts import Facts, Json, Status
from mcp_proxy_reference.gateway import Gateway
from mcp_proxy_reference.policy import (
    POINTER,
    REMEDIATION,
    classify,
    counts,
    locked_entry,
    rejection,
    remediation_map,
    sections,
)

Texts = Mapping[Status, str]
USER = REMEDIATION["disabled_by_user"]
PENDING = REMEDIATION["pending_approval"]


def _with(status: Status, text: str) -> Texts:
    return {**REMEDIATION, status: text}


def _first_only(shown: Sequence[Status], matched: Sequence[Status], texts: Texts) -> Json:
    return remediation_map(shown[:1], matched, texts)


def _before_the_cap(_shown: Sequence[Status], matched: Sequence[Status], texts: Texts) -> Json:
    return remediation_map(matched, matched, texts)


def _map_of_nothing(entries: Sequence[Json], remediation: Mapping[str, str]) -> Json:
    return sections(entries, remediation) or {"disabled": [], "remediation": dict(REMEDIATION)}


def _text_in(status: Status) -> Callable[[Facts, Status, bool], Json]:
    """Append the remediation to the description of entries with that status."""

    def entry(facts: Facts, found: Status, withheld: bool) -> Json:
        listed = locked_entry(facts, found, withheld)
        if found != status or withheld:
            return listed
        return listed | {"description": f"{listed['description']} {REMEDIATION[status]}"}

    return entry


def _hinted(facts: Facts, status: Status, withheld: bool) -> Json:
    hint = {"hint": REMEDIATION[status]} if withheld else {}
    return locked_entry(facts, status, withheld) | hint


def _user_text_for_two_locks(gateway: Gateway) -> None:
    """The map's text for config becomes the user's when an entry has both locks."""
    both: list[bool] = []

    def entry(facts: Facts, status: Status, withheld: bool) -> Json:
        both.append(facts.denied and facts.disabled_by_user)
        return locked_entry(facts, status, withheld)

    def joined(entries: Sequence[Json], remediation: Mapping[str, str]) -> Json:
        found, texts = any(both), dict(remediation)
        both.clear()
        if found and "disabled_by_config" in texts:
            texts["disabled_by_config"] = USER
        return sections(entries, texts)

    decide(gateway, locked_entry=entry, sections=joined)


def _denied_unless(lifted: Callable[[Facts], bool]) -> Callable[[Facts], Facts]:
    return lambda facts: replace(facts, denied=facts.denied and not lifted(facts))


def _told_as(lifted: Callable[[Facts], bool]) -> Callable[[Facts, Texts], str]:
    """Reject a denied tool for its other lock where it has one."""
    seen = _denied_unless(lifted)
    return lambda facts, texts: rejection(seen(facts), texts)


def _counted_as(
    lifted: Callable[[Facts], bool],
) -> Callable[[Sequence[tuple[Facts, Status | None]]], Json | None]:
    """Count a denied tool under its other lock where it has one."""
    seen = _denied_unless(lifted)

    def block(tools: Sequence[tuple[Facts, Status | None]]) -> Json | None:
        return counts([(facts, status and classify(seen(facts))) for facts, status in tools])

    return block


def _hinted_counts(tools: Sequence[tuple[Facts, Status | None]]) -> Json | None:
    block = counts(tools)
    hint = {"hint": "Ask the user to enable the locked tools in the UI."}
    return block | hint if block and "disabled_by_config" in block else block


def _after_three() -> Callable[[Facts, Texts], str]:
    told: dict[str, int] = {}

    def shorter(facts: Facts, texts: Texts) -> str:
        key = facts.tool.key
        told[key] = told.get(key, 0) + 1
        if classify(facts) != "disabled_by_config" or told[key] == 1:
            return rejection(facts, texts)
        return f"Still locked: ask the user to enable {key}. {POINTER}"

    return shorter


def _unapproved(facts: Facts) -> bool:
    return facts.approval in {"pending", "changed"}


MUTANTS: tuple[Mutant, ...] = (
    mutant("map-made-before-the-cap", "The map has a text for entries that the cap cut off.",
           "FR-005.keys", remediation_map=_before_the_cap),
    mutant("map-for-the-first-entry", "The map has the text of the first entry's status only.",
           "FR-005.keys", remediation_map=_first_only),
    mutant("map-of-nothing", "An answer without locked entries has every text.",
           "FR-005.keys", sections=_map_of_nothing),
    mutant("user-text-in-descriptions", "User-locked entries end with what the user should do.",
           "FR-005.once", locked_entry=_text_in("disabled_by_user")),
    mutant("withheld-entries-hinted", "Withheld entries carry their remediation in a hint.",
           "FR-005.once", "FR-003.members", locked_entry=_hinted),
    mutant("one-text-for-two-locks", "Config and user locks share one text that names both.",
           "FR-005.text",
           remediation={**REMEDIATION, **dict.fromkeys(
               ("disabled_by_config", "disabled_by_user"),
               "Locked by operator policy, which the user cannot override, or by the user.")}),
    mutant("pending-text-is-blank", "The text for pending tools is a space.",
           "FR-005.text", remediation=_with("pending_approval", " ")),
    mutant("quarantine-text-says-toggle", "The quarantine text has the tool turned on in the UI.",
           "FR-005.class",
           remediation=_with("server_quarantined", "Ask the user to turn this tool on in the UI.")),
    mutant("user-text-sends-to-config", "The user's text has the operator edit the config file.",
           "FR-005.class",
           remediation=_with("disabled_by_user",
                             "Locked by operator policy; ask the operator to edit the config.")),
    mutant("pending-text-says-reenable", "The text for pending tools is a user's re-enabling.",
           "FR-005.class",
           remediation=_with("pending_approval", "Ask the user to re-enable the tool in the UI.")),
    mutant("config-text-says-toggle", "The text for config locks asks the user to toggle the tool.",
           "FR-005.class", "SC-003.discovery",
           remediation=_with("disabled_by_config", "Locked: ask the user to toggle it on again.")),
    mutant("config-text-under-two-locks",
           "Config and user locks on one tool yield the user's text.",
           "SC-003.discovery", swap=_user_text_for_two_locks),
    mutant("config-entries-ask-the-user", "Config-locked entries end with the user's remediation.",
           "SC-003.discovery", "FR-005.once",
           locked_entry=lambda facts, status, withheld: locked_entry(facts, status, withheld)
           | ({"description": f"{facts.tool.description} {USER}"}
              if status == "disabled_by_config" else {})),
    mutant("counts-put-user-first",
           "Listings count a tool locked by config and user as the user's.",
           "SC-003.listing", counts=_counted_as(lambda facts: facts.disabled_by_user)),
    mutant("counts-put-approval-first", "Listings count a denied unapproved tool as pending.",
           "SC-003.listing", counts=_counted_as(_unapproved)),
    mutant("counts-ask-the-user", "Counts of config locks carry advice to ask the user.",
           "SC-003.listing", counts=_hinted_counts),
    mutant("rejection-puts-user-first",
           "A tool locked by config and user is refused as the user's.",
           "SC-003.rejection", rejection=_told_as(lambda facts: facts.disabled_by_user)),
    mutant("rejection-puts-approval-first", "A denied changed tool is refused as unapproved.",
           "SC-003.rejection", rejection=_told_as(lambda facts: facts.approval == "changed")),
    mutant("second-rejection-is-shorter", "A second call of a denied tool is told to ask the user.",
           "SC-003.rejection", "FR-008.config", rejection=Fresh(_after_three)),
)  # fmt: skip
