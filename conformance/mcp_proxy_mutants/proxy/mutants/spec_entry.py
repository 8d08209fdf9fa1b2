"""Faults of a locked entry: its members, its description, what is withheld."""

import html
from collections.abc import Callable
from typing import Any

from mcp_proxy_mutants.proxy.mutant import Fresh, Mutant, mutant
from mcp_proxy_reference import policy as std
from mcp_proxy_reference.facts import Facts, Json, Status

Entry = Callable[[Facts, Status, bool], Json]


def _plus(members: Callable[[Facts, Status, bool], Json]) -> Entry:
    """The entry with members added or replaced."""
    return lambda facts, status, withheld: (
        std.locked_entry(facts, status, withheld) | members(facts, status, withheld)
    )


def _minus(member: str, when: Callable[[Facts], bool] = lambda _: True) -> Entry:
    """The entry without one of its members."""

    def entry(facts: Facts, status: Status, withheld: bool) -> Json:
        whole = std.locked_entry(facts, status, withheld)
        return {key: value for key, value in whole.items() if key != member or not when(facts)}

    return entry


def _told(change: Callable[[str], str]) -> Entry:
    """The entry with another description where there is one."""
    return _plus(
        lambda facts, _, withheld: (
            {} if withheld else {"description": change(facts.tool.description)}
        )
    )


def _shown(when: Callable[[Facts], bool], text: Callable[[Facts], Any]) -> Entry:
    """The entry with a description for some of the tools that are withheld."""
    return _plus(
        lambda facts, _, withheld: {"description": text(facts)} if withheld and when(facts) else {}
    )


def _reason(facts: Facts, status: Status, withheld: bool) -> Json:
    entry = std.locked_entry(facts, status, withheld)
    return {("reason" if key == "status" else key): value for key, value in entry.items()}


def _first_described() -> Entry:
    """The description that a tool had when it was last listed with one."""
    told: dict[str, str] = {}

    def members(facts: Facts, _status: Status, withheld: bool) -> Json:
        if not withheld:
            told[facts.tool.key] = facts.tool.description
        return {"description": told[facts.tool.key]} if facts.tool.key in told else {}

    return _plus(members)


def _neighbour() -> Entry:
    """The server of an entry is the one of the entry before."""
    last: list[str] = []

    def members(facts: Facts, _status: Status, _withheld: bool) -> Json:
        last.append(facts.tool.server)
        return {"server": last.pop(0) if len(last) > 1 else last[0]}

    return _plus(members)


def _text(facts: Facts) -> str:
    return facts.tool.description


MUTANTS: tuple[Mutant, ...] = (
    mutant(
        "spec-entry-schema",
        "Locked entries have the input schema that callable ones have.",
        "FR-003.members",
        locked_entry=_plus(
            lambda facts, _, withheld: {} if withheld else {"inputSchema": facts.tool.schema}
        ),
    ),
    mutant(
        "spec-entry-status-list",
        "An entry's status is a list of one.",
        "FR-003.members",
        locked_entry=_plus(lambda _f, status, _w: {"status": [status]}),
    ),
    mutant(
        "spec-entry-reason",
        "The member for the status is called reason.",
        "FR-003.members",
        locked_entry=_reason,
    ),
    mutant(
        "spec-entry-no-server",
        "Entries name the server only within the tool's name.",
        "FR-003.members",
        locked_entry=_minus("server"),
    ),
    mutant(
        "spec-entry-server-of-neighbour",
        "An entry names the server of the entry before it.",
        "FR-003.server",
        locked_entry=Fresh(_neighbour),
    ),
    mutant(
        "spec-entry-server-address",
        "An entry names its server and the tool in the member for the server.",
        "FR-003.server",
        locked_entry=_plus(lambda facts, _s, _w: {"server": facts.tool.key}),
    ),
    mutant(
        "spec-entry-name-path",
        "Locked entries join server and tool with two underscores.",
        "FR-003.name",
        locked_entry=_plus(
            lambda facts, _s, _w: {"name": f"{facts.tool.server}__{facts.tool.name}"}
        ),
    ),
    mutant(
        "spec-entry-name-lower",
        "Locked entries are named as the index spells them, in words apart.",
        "FR-003.name",
        locked_entry=_plus(lambda facts, _s, _w: {"name": facts.tool.name.replace("_", " ")}),
    ),
    mutant(
        "spec-entry-no-description",
        "Entries of tools locked by the user lack the description.",
        "FR-003.members",
        "FR-003.description",
        locked_entry=_minus("description", lambda facts: facts.disabled_by_user),
    ),
    mutant(
        "spec-entry-blank-description",
        "Descriptions of denied tools are empty.",
        "FR-003.description",
        locked_entry=_plus(
            lambda facts, _, withheld: {"description": ""} if facts.denied and not withheld else {}
        ),
    ),
    mutant(
        "spec-entry-short-description",
        "Descriptions are cut after 60 characters.",
        "FR-003.description",
        locked_entry=_told(lambda text: text[:60]),
    ),
    mutant(
        "spec-entry-cut-at-500",
        "Descriptions of more than 500 characters end in an ellipsis.",
        "FR-003.description",
        locked_entry=_told(lambda text: text if len(text) <= 500 else f"{text[:499]}…"),  # noqa: PLR2004
    ),
    mutant(
        "spec-entry-first-sentence",
        "Descriptions end with their first sentence.",
        "FR-003.description",
        locked_entry=_told(lambda text: text.split(". ")[0]),
    ),
    mutant(
        "spec-entry-escaped",
        "Descriptions are escaped as for a web page.",
        "FR-003.description",
        locked_entry=_told(html.escape),
    ),
    mutant(
        "spec-entry-ascii",
        "Descriptions lose what is not ASCII.",
        "FR-003.description",
        locked_entry=_told(lambda text: text.encode("ascii", "ignore").decode()),
    ),
    mutant(
        "spec-entry-marked",
        "Descriptions are marked as locked.",
        "FR-003.description",
        locked_entry=_told(lambda text: f"[locked] {text}"),
    ),
    mutant(
        "spec-withheld-nothing",
        "Every locked entry has its description.",
        "FR-003.withheld",
        "FR-003.canary",
        locked_entry=lambda facts, status, _: std.locked_entry(facts, status, withheld=False),
    ),
    mutant(
        "spec-quarantined-described",
        "Tools of quarantined servers are shown with their descriptions.",
        "FR-003.withheld",
        "FR-003.canary",
        locked_entry=_shown(lambda facts: facts.quarantined, _text),
    ),
    mutant(
        "spec-pending-described",
        "New tools are shown with the text that nobody has approved.",
        "FR-003.withheld",
        "FR-003.canary",
        locked_entry=_shown(lambda facts: facts.approval == "pending", _text),
    ),
    mutant(
        "spec-changed-described",
        "Changed tools are shown with the new text.",
        "FR-003.withheld",
        "FR-003.canary",
        locked_entry=_shown(
            lambda facts: facts.approval == "changed" and not facts.quarantined, _text
        ),
    ),
    mutant(
        "spec-changed-compared",
        "Changed tools are shown with the old text and the new.",
        "FR-003.withheld",
        "FR-003.canary",
        locked_entry=_shown(
            lambda facts: facts.approval == "changed" and not facts.quarantined,
            lambda facts: f"was: {facts.approved_description}; now: {facts.tool.description}",
        ),
    ),
    mutant(
        "spec-pending-preview",
        "New tools are shown with the first words of their text.",
        "FR-003.withheld",
        "FR-003.canary",
        locked_entry=_shown(
            lambda facts: facts.approval == "pending", lambda facts: facts.tool.description[:40]
        ),
    ),
    mutant(
        "spec-quarantined-schema",
        "Tools of quarantined servers are shown with their schemas.",
        "FR-003.withheld",
        "FR-003.canary",
        "FR-003.members",
        locked_entry=_plus(
            lambda facts, _s, withheld: {"inputSchema": facts.tool.schema} if withheld else {}
        ),
    ),
    mutant(
        "spec-withheld-annotations",
        "Withheld entries have the title and the hints of the server's own.",
        "FR-003.canary",
        locked_entry=_plus(
            lambda facts, _s, withheld: {"annotations": facts.tool.annotations} if withheld else {}
        ),
    ),
    mutant(
        "spec-remembered-text",
        "A tool that was once listed with its text is so too when it is withheld.",
        "FR-003.withheld",
        "FR-003.canary",
        locked_entry=Fresh(_first_described),
    ),
)
