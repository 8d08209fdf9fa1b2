"""Mutants wrong in one place: an endpoint, a revision, stdio, `_meta`, structured content."""

import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from mcp_proxy_mutants.discovery.mutant import Mutant, mutant
from mcp_proxy_mutants.discovery.pieces import is_call
from mcp_proxy_mutants.discovery.result_changes import (
    ToolResult,
    beside,
    in_sessions_at,
    in_stateless,
)
from mcp_proxy_reference import policy as std
from mcp_proxy_reference.facts import Json
from mcp_proxy_reference.tools import render


def _spelled(pattern: str, by: str) -> Callable[[Json], str]:
    """Return a `render` decision that replaces each match of the pattern in the document's JSON."""
    return lambda document: re.sub(pattern, by, render(document))


def _structured(change: Callable[[ToolResult], Json]) -> Callable[[ToolResult], Json]:
    """Return a change for `beside`: structured content is the document, with members replaced.

    `change` returns these; the text of the result is unchanged.
    """
    return lambda result: {"structuredContent": result.document | change(result)}


def _entries(result: ToolResult) -> Json:
    """Return `disabled` with all locked matches, uncapped; nothing if the answer lists none."""
    locked = [std.locked_entry(facts, std.classify(facts), False) for facts in result.locked()]
    return {"disabled": locked} if result.flagged and "disabled" in result.document else {}


def _next_ten(result: ToolResult) -> Json:
    """Return as `disabled` up to ten locked matches that the answer leaves out.

    {} if it leaves none out, or lists none.
    """
    shown = {entry["name"] for entry in result.document.get("disabled", [])}
    more = [entry for entry in _entries(result).get("disabled", []) if entry["name"] not in shown]
    return {"disabled": more[: std.LOCKED_CAP]} if shown and more else {}


def _described(result: ToolResult) -> Json:
    """Return `disabled` with a description in each entry, withheld or not; nothing without any."""
    texts = {facts.tool.key: facts.tool.description for facts in result.locked()}
    entries = [
        {"description": texts.get(entry["name"], "A tool."), **entry}
        for entry in result.document.get("disabled", [])
    ]
    return {"disabled": entries} if result.flagged and entries else {}


def _for_users(result: ToolResult) -> Json:
    """Return `disabled` with config locks as user locks; nothing without locked entries."""
    entries = [
        entry | {"status": entry["status"].replace("by_config", "by_user")}
        for entry in result.document.get("disabled", [])
    ]
    return {"disabled": entries} if result.flagged and entries else {}


def _user_map(result: ToolResult) -> Json:
    """Return `remediation` with the user-lock text under every status; nothing without a map."""
    texts = result.document.get("remediation", {})
    return (
        {"remediation": dict.fromkeys(texts, std.REMEDIATION["disabled_by_user"])}
        if (result.flagged and texts)
        else {}
    )


def _whole_map(result: ToolResult) -> Json:
    """Return `remediation` with the texts of all statuses; nothing unless the answer has a map."""
    whole = {str(status): text for status, text in std.REMEDIATION.items()}
    return {"remediation": whole} if result.flagged and "remediation" in result.document else {}


def _zeros(result: ToolResult) -> Json:
    """Return `servers`, in which entries without counts get one callable tool and no user lock.

    Nothing outside the listing.
    """
    servers = [
        {"tools": {"callable": 1, "disabled_by_user": 0}, **entry}
        for entry in result.document.get("servers", [])
    ]
    return {"servers": servers} if servers else {}


def _all_as_users(result: ToolResult) -> Json:
    """Return `servers`, in which each entry with counts counts all its tools as locked by the user.

    Callable ones are among them. {} for an answer without entries of servers.
    """
    servers = [
        entry | ({"tools": {"disabled_by_user": sum(entry["tools"].values())}}
                 if "tools" in entry else {})
        for entry in result.document.get("servers", [])
    ]  # fmt: skip
    return {"servers": servers} if servers else {}


def _by_reason(result: ToolResult) -> Json:
    """Return `_meta` with the locked matches counted by status, for unflagged searches.

    Nothing for others, or without a match.
    """
    reasons = Counter(map(std.classify, result.locked())) if result.usual else {}
    return {"_meta": {"proxy/locked": dict(reasons)}} if reasons else {}


def _names(result: ToolResult) -> Json:
    """Return `_meta` with the names of locked matches, in the stateless revision without the flag.

    Else nothing.
    """
    names = (
        [facts.tool.name for facts in result.locked()] if result.usual and result.stateless else []
    )
    return {"_meta": {"proxy/hidden": names}} if names else {}


def _overflow(result: ToolResult) -> Json:
    """Return `_meta` with the names of all locked matches, flagged and over ten; else nothing."""
    names = [facts.tool.key for facts in result.locked()] if result.flagged else []
    return {"_meta": {"proxy/more": names}} if len(names) > std.LOCKED_CAP else {}


def _texts(result: ToolResult) -> Json:
    """Return `_meta` with the descriptions of withheld matches, in the stateless revision.

    Nothing without the flag or in a session.
    """
    texts = [facts.tool.description for facts in result.locked() if not std.indexed(facts)]
    return (
        {"_meta": {"proxy/texts": texts}} if result.flagged and result.stateless and texts else {}
    )


def _false_flag(result: ToolResult) -> Json:
    """Return `_meta` with the flag given as false, in the stateless revision; else nothing."""
    false = result.stateless and result.arguments.get("include_disabled") is False
    return {"_meta": {"proxy/flag": False}} if false else {}


MUTANTS: tuple[Mutant, ...] = (
    mutant(
        "user-locks-hold-in-sessions",
        "In the stateless revision, calls of user-locked tools get through.",
        "FR-011.never-reaches",
        swap=in_stateless(
            may_call=lambda facts, surface: std.may_call(
                replace(facts, disabled_by_user=False), surface
            )
        ),
    ),
    mutant(
        "policy-told-in-sessions",
        "In the stateless revision, rejections say that the tool is locked, and no more.",
        "FR-008.distinct",
        swap=in_stateless(rejection=lambda facts, _: f"{facts.tool.key} is locked. {std.POINTER}"),
    ),
    mutant(
        "uncapped-in-sessions-of-calls",
        "At the last endpoint, locked entries are not capped, except in the stateless revision.",
        "FR-006.cap",
        swap=in_sessions_at("/mcp/call", cap=lambda _: 1000),
    ),
    mutant(
        "unscoped-in-sessions-of-calls",
        "At the last endpoint, scopes are ignored, except in the stateless revision.",
        "FR-007.hidden",
        swap=in_sessions_at("/mcp/call", scope=lambda *_: True),
    ),
    mutant(
        "status-twice",
        "Config-locked entries have a user's status before their own.",
        "FR-003.members",
        render=_spelled(
            r'"status":"disabled_by_config"',
            '"status":"disabled_by_user","status":"disabled_by_config"',
        ),
    ),
    mutant(
        "description-twice",
        "Locked entries end with a second description.",
        "FR-003.members",
        render=_spelled(
            r'("status":"disabled_by_\w+")\}', r'\1,"description":"This tool is locked."}'
        ),
    ),
    mutant(
        "map-twice",
        "The map is sent before the entries and after them.",
        "FR-005.once",
        render=lambda document: (
            render(document)
            if "remediation" not in document
            else f'{{"remediation":{json.dumps(document["remediation"])},{render(document)[1:]}'
        ),
    ),
    mutant(
        "text-twice",
        "The map has two texts for config locks.",
        "FR-005.once",
        render=_spelled(
            r'"disabled_by_config":"', '"disabled_by_config":"Locked.","disabled_by_config":"'
        ),
    ),
    mutant(
        "section-twice",
        "An empty section precedes the locked entries.",
        "FR-004.once",
        render=_spelled(r'"disabled":\[', '"disabled":[],"disabled":['),
    ),
    mutant(
        "count-twice",
        "A block counts config locks as none, and then as they are.",
        "FR-010.sum",
        render=_spelled(
            r'"disabled_by_config":(\d)', r'"disabled_by_config":0,"disabled_by_config":\1'
        ),
    ),
    mutant(
        "block-twice",
        "A server with locked tools has an empty block before its counts.",
        "FR-010.block",
        render=_spelled(r'"tools":\{', '"tools":{},"tools":{'),
    ),
    mutant(
        "structured-uncapped",
        "Structured content lists every locked match.",
        "FR-006.cap",
        swap=beside(_structured(_entries)),
    ),
    mutant(
        "structured-next-ten",
        "Structured content lists the locked matches after the first ten.",
        "FR-006.cap",
        swap=beside(_structured(_next_ten)),
    ),
    mutant(
        "more-in-meta",
        "The names of all locked matches are in `_meta`.",
        "FR-006.cap",
        swap=beside(_overflow),
    ),
    mutant(
        "structured-empty-section",
        "Structured content has an empty section without the flag.",
        "FR-002.no-section",
        swap=beside(_structured(lambda result: {"disabled": []} if result.usual else {})),
    ),
    mutant(
        "reasons-in-meta",
        "Without the flag, `_meta` has the number of locked matches by reason.",
        "FR-002.no-section",
        swap=beside(_by_reason),
    ),
    mutant(
        "names-in-stateless-meta",
        "In the stateless revision, `_meta` names locked matches without the flag.",
        "FR-002.no-locked-names",
        swap=beside(_names),
    ),
    mutant(
        "false-in-stateless-meta",
        "In the stateless revision, `_meta` repeats the flag given as false.",
        "FR-002.absent-is-false",
        swap=beside(_false_flag),
    ),
    mutant(
        "texts-in-stateless-meta",
        "In the stateless revision, `_meta` has the texts of withheld tools.",
        "FR-003.canary",
        swap=beside(_texts),
    ),
    mutant(
        "structured-described",
        "Structured content describes withheld tools.",
        "FR-003.withheld",
        swap=beside(_structured(_described)),
    ),
    mutant(
        "structured-for-users",
        "Structured content gives config locks the status of user locks.",
        "FR-003.members",
        swap=beside(_structured(_for_users)),
    ),
    mutant(
        "structured-user-map",
        "The map in structured content has the user's text for every status.",
        "FR-005.once",
        swap=beside(_structured(_user_map)),
    ),
    mutant(
        "structured-whole-map",
        "The map in structured content has all six statuses.",
        "FR-005.keys",
        swap=beside(_structured(_whole_map)),
    ),
    mutant(
        "structured-zero-blocks",
        "Structured content has a block for servers whose tools are all callable.",
        "SC-005.absent",
        swap=beside(_structured(_zeros)),
    ),
    mutant(
        "structured-counts-for-users",
        "Structured content counts every locked tool as disabled by the user.",
        "FR-010.block",
        swap=beside(_structured(_all_as_users)),
    ),
    mutant(
        "flag-on-over-stdio",
        "Over stdio, the flag is on unless it is false.",
        "FR-002.absent-is-false",
        "FR-002.no-section",
        "FR-002.no-locked-names",
        over_stdio=True,
        flag=lambda arguments: arguments.get("include_disabled") is not False,
    ),
    mutant(
        "uncapped-over-stdio",
        "Over stdio, the locked entries have no cap.",
        "FR-006.cap",
        over_stdio=True,
        cap=lambda _: 10_000,
    ),
    mutant(
        "unlocked-over-stdio",
        "Over stdio, calls of denied tools get through.",
        "FR-011.never-reaches",
        over_stdio=True,
        may_call=lambda facts, surface: std.may_call(
            replace(facts, denied=facts.denied and not is_call(surface)), surface
        ),
    ),
)
