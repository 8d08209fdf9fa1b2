"""Faults of the flag, of its publication and of answers without it."""

from collections.abc import Callable, Mapping
from typing import Any

from mcp_proxy_mutants.proxy.mutant import Fresh, Mutant, mutant
from mcp_proxy_mutants.proxy.pieces import crowded, flagged, given_off
from mcp_proxy_mutants.proxy.swapping import decide
from mcp_proxy_mutants.proxy.wrapping import Request
from mcp_proxy_reference import policy as std
from mcp_proxy_reference.facts import Facts, Json
from mcp_proxy_reference.gateway import Gateway

FLAG = "include_disabled"


def _sticky() -> Callable[[Mapping[str, Any]], bool]:
    """Once given, the flag holds for requests that leave it out."""
    last = [False]

    def flag(arguments: Mapping[str, Any]) -> bool:
        if FLAG in arguments:
            last[0] = std.flag(arguments)
        return last[0]

    return flag


def _next_too() -> Callable[[Mapping[str, Any]], bool]:
    """While another request is served, the flag is the one of the request before."""
    last = [False]

    def flag(arguments: Mapping[str, Any]) -> bool:
        before, last[0] = last[0], std.flag(arguments)
        return before if crowded() else last[0]

    return flag


def _only_true(arguments: Mapping[str, Any]) -> bool:
    if arguments.get(FLAG) is False:
        raise std.ArgumentError(f"{FLAG} can only be true.")
    return std.flag(arguments)


def _needs_limit(arguments: Mapping[str, Any]) -> bool:
    if std.flag(arguments) and "limit" not in arguments:
        raise std.ArgumentError(f"{FLAG} needs a limit.")
    return std.flag(arguments)


def _always(members: Callable[[Json], Json]) -> Callable[[Json, Request], Json]:
    """Members that stand in every answer, unless they are there anyway."""
    return lambda document, _: (
        document | {key: value for key, value in members(document).items() if key not in document}
    )


def _rounded(document: Json) -> Json:
    tools = [one | {"score": round(one["score"], 4)} for one in document["tools"]]
    return document | {"tools": tools}


def _spaced(document: Json) -> Json:
    return document | {"usage_instructions": f"{document['usage_instructions']} "}


def _explained(document: Json) -> Json:
    text = f"{document['usage_instructions']} Set {FLAG}=true to also see locked tools."
    return document | {"usage_instructions": text}


def _first_reordered(document: Json) -> Json:
    return {key: document[key] for key in ("total", *document)}


def _last_tools_first(document: Json) -> Json:
    return document | {"tools": document["tools"][::-1]}


def _locked_among_tools(gateway: Gateway) -> None:
    """Without the flag, locked hits are listed like callable ones."""

    def window(found: Any, limit: int) -> Any:
        return found[:limit], [hit for hit in found if not hit.may_call]

    decide(
        gateway,
        window=window,
        answer=flagged(
            lambda document, _: (
                document
                | {
                    "tools": [
                        one for one in document["tools"] if one["name"] not in _names(document)
                    ]
                }
            )
        ),
    )


def _names(document: Json) -> set[str]:
    return {entry["name"] for entry in document.get("disabled", [])}


def _user_locked_in_default(gateway: Gateway) -> None:
    """Without the flag, tools turned off by the user are still listed when asked for by name."""
    known: dict[str, Facts] = {}

    def answer(document: Json, request: Request) -> Json:
        if request.flag:
            return document
        for server, tools in gateway.known().items():
            if std.scope(request.agent, server, "search"):
                known.update({facts.tool.name: facts for facts in tools})
        facts = known.get(request.query)
        if facts is None or std.classify(facts) != "disabled_by_user":
            return document
        return document | {"did_you_mean": facts.tool.key}

    decide(gateway, answer=answer)


def _schema(**change: Any) -> dict[str, Any]:
    return {**std.FLAG_SCHEMA, **change}


OFF = "FR-002.absent-is-false"
MUTANTS: tuple[Mutant, ...] = (
    mutant(
        "spec-flag-on",
        "The flag is on unless it is false.",
        "FR-001.default-off",
        "FR-002.no-locked-names",
        OFF,
        flag=lambda arguments: std.flag({FLAG: True, **arguments}),
    ),
    mutant(
        "spec-flag-by-presence",
        "The flag is on when it is given at all.",
        OFF,
        "FR-002.no-section",
        "FR-001.default-off",
        flag=lambda arguments: FLAG in arguments,
    ),
    mutant(
        "spec-flag-by-text",
        "The flag is on when it is the text true.",
        "FR-001.reveals-config",
        "FR-001.reveals-user",
        flag=lambda arguments: arguments.get(FLAG) == "true",
    ),
    mutant(
        "spec-flag-other-name",
        "The flag is read under another name than it is published.",
        "FR-001.reveals-config",
        "FR-001.reveals-user",
        flag=lambda arguments: arguments.get("includeDisabled") is True,
    ),
    mutant(
        "spec-flag-sticks",
        "The flag holds on for later requests that leave it out.",
        "FR-001.default-off",
        OFF,
        flag=Fresh(_sticky),
    ),
    mutant(
        "spec-flag-crowded",
        "While another request is served, the flag is the one of the request before.",
        "FR-001.default-off",
        flag=Fresh(_next_too),
    ),
    mutant(
        "spec-flag-false-refused",
        "The flag false is refused.",
        OFF,
        flag=_only_true,
    ),
    mutant(
        "spec-flag-needs-limit",
        "The flag is refused without a limit.",
        "FR-001.accepts",
        flag=_needs_limit,
    ),
    mutant(
        "spec-schema-on",
        "The published default of the flag is true.",
        "FR-001.declared",
        flag_schema=_schema(default=True),
    ),
    mutant(
        "spec-schema-text",
        "The published type of the flag is text.",
        "FR-001.declared",
        flag_schema={"type": "string", "enum": ["true", "false"]},
    ),
    mutant(
        "spec-schema-true-only",
        "The published schema allows no false.",
        "FR-001.declared",
        flag_schema=_schema(const=True),
    ),
    mutant(
        "spec-undescribed",
        "The discovery tool's own description is silent about the flag.",
        "FR-014.described",
        description=lambda _: "",
    ),
    mutant(
        "spec-undescribed-elsewhere",
        "One endpoint's description of the discovery tool is silent about the flag.",
        "FR-014.described",
        description=lambda path: std.description(path) if path == "/mcp" else "",
    ),
    mutant(
        "spec-described-unnamed",
        "The description tells of locked tools without the flag's name.",
        "FR-014.described",
        description=lambda _: "Locked tools can be listed too, if you ask for them.",
    ),
    mutant(
        "spec-default-space",
        "With the flag false, one text ends in a space.",
        OFF,
        answer=given_off(_spaced),
    ),
    mutant(
        "spec-default-order",
        "With the flag false, one member comes earlier.",
        OFF,
        answer=given_off(_first_reordered),
    ),
    mutant(
        "spec-default-member",
        "With the flag false, the answer repeats it.",
        OFF,
        answer=given_off(lambda document: document | {FLAG: False}),
    ),
    mutant(
        "spec-default-rounded",
        "With the flag false, scores are rounded.",
        OFF,
        answer=given_off(_rounded),
    ),
    mutant(
        "spec-default-reversed",
        "With the flag false, results come in another order.",
        OFF,
        answer=given_off(_last_tools_first),
    ),
    mutant(
        "spec-default-explained",
        "With the flag false, an answer without callable tools has a longer usage text.",
        OFF,
        answer=given_off(lambda one: one if one["tools"] else _explained(one)),
    ),
    mutant(
        "spec-default-empty-list",
        "The list of locked entries is empty without the flag, and not absent.",
        "FR-002.no-section",
        answer=_always(lambda _: {"disabled": []}),
    ),
    mutant(
        "spec-default-null-map",
        "The remediation map is null without the flag, and not absent.",
        "FR-002.no-section",
        answer=_always(lambda _: {"remediation": None}),
    ),
    mutant(
        "spec-default-section-when-empty",
        "Without callable results and without the flag, the section is there and empty.",
        "FR-002.no-section",
        answer=_always(lambda one: {} if one["tools"] else {"disabled": [], "remediation": {}}),
    ),
    mutant(
        "spec-default-locked-among-tools",
        "Without the flag, locked hits are listed like callable ones.",
        "FR-001.default-off",
        "FR-002.no-locked-names",
        "FR-004.follows-state",
        swap=_locked_among_tools,
    ),
    mutant(
        "spec-default-did-you-mean",
        "Without the flag, the exact name of a tool turned off by the user is confirmed.",
        "FR-002.no-locked-names",
        "FR-009.no-entries",
        swap=_user_locked_in_default,
    ),
)
