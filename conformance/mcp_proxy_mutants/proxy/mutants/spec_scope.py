"""Faults of an agent's scope."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from mcp_proxy_mutants.proxy.mutant import Fresh, Mutant, mutant
from mcp_proxy_mutants.proxy.pieces import called
from mcp_proxy_mutants.proxy.swapping import decide
from mcp_proxy_mutants.proxy.wrapping import Request
from mcp_proxy_reference import policy as std
from mcp_proxy_reference.facts import Agent, Facts, Json, Surface
from mcp_proxy_reference.gateway import Gateway

Scope = Callable[[Agent, str, Surface], bool]
KEPT_S = 2
FEATURE = {"disabled", "remediation"}


def _open_for(*surfaces: Surface) -> Scope:
    """No scope on some surfaces."""
    return lambda agent, server, surface: surface in surfaces or std.scope(agent, server, surface)


def _within(document: Json, agent: Agent, member: str) -> Json:
    """An answer without the entries beyond the agent's scope."""
    kept = [one for one in document.get(member, []) if std.scope(agent, one["server"], "search")]
    return document | ({member: kept} if member in document else {})


def _filtered_last(document: Json, request: Request) -> Json:
    document = _within(_within(document, request.agent, "tools"), request.agent, "disabled")
    return document | {"total": len(document["tools"])}


def _filtered_and_explained(document: Json, request: Request) -> Json:
    document = _filtered_last(document, request)
    if "disabled" in document:
        shown = {entry["status"] for entry in document["disabled"]}
        texts = document["remediation"]
        document["remediation"] = {one: texts[one] for one in texts if one in shown}
    return document


def _capped_last(document: Json, request: Request) -> Json:
    document = _filtered_last(document, request)
    if "disabled" in document:
        document["disabled"] = document["disabled"][: std.cap(request.limit)]
    return document


def _first_agent() -> Scope:
    """The quarantine pass is set up once, for the agent that first asks."""
    first: list[Agent] = []

    def scope(agent: Agent, server: str, surface: Surface) -> bool:
        if surface != "quarantine":
            return std.scope(agent, server, surface)
        first.append(agent)
        return std.scope(first[0], server, surface)

    return scope


def _kept_answers() -> Callable[[Json, Request], Json]:
    """Locked entries are kept for equal queries, whoever asks."""
    kept: dict[tuple[str, int], tuple[float, Json]] = {}

    def answer(document: Json, request: Request) -> Json:
        if not request.flag:
            return document
        key, now = (request.query, request.limit), time.monotonic()
        if key not in kept or now - kept[key][0] > KEPT_S:
            members: Json = {
                one: document[one] for one in ("disabled", "remediation") if one in document
            }
            kept[key] = now, members
        rest = {one: document[one] for one in document if one not in {"disabled", "remediation"}}
        return rest | kept[key][1]

    return answer


def _kept_notes() -> Callable[[Json, Request], Json]:
    """The note is kept for equal queries, whoever asks."""
    kept: dict[str, tuple[float, str]] = {}

    def answer(document: Json, request: Request) -> Json:
        if request.flag or document["tools"]:
            return document
        since, notice = kept.get(request.query, (0.0, ""))
        if "notice" in document:
            kept[request.query] = time.monotonic(), document["notice"]
        elif time.monotonic() - since < KEPT_S:
            return document | {"notice": notice}
        return document

    return answer


def _asking(gateway: Gateway, members: Callable[[Callable[[], Agent]], Mapping[str, Any]]) -> None:
    """Decisions on calls that know who calls; the scope of calls is left to them."""
    last: list[Agent] = []

    def scope(agent: Agent, server: str, surface: Surface) -> bool:
        last[:] = [agent]
        return surface == "call" or std.scope(agent, server, surface)

    decide(gateway, **{"scope": scope, **members(lambda: last[0])})


def _lock_first(gateway: Gateway) -> None:
    def members(asking: Callable[[], Agent]) -> Mapping[str, Any]:
        def within(facts: Facts) -> bool:
            return std.scope(asking(), facts.tool.server, "call")

        def rejection(facts: Facts, said: Any) -> str:
            if within(facts) or not std.may_call(facts, "call"):
                return std.rejection(facts, said)
            return std.unknown(facts.tool.key)

        return {
            "may_call": lambda facts, surface: (
                std.may_call(facts, surface) and (not called(surface) or within(facts))
            ),
            "rejection": rejection,
        }

    _asking(gateway, members)


def _agents_pass_user_locks(gateway: Gateway) -> None:
    last: list[Agent] = []

    def scope(agent: Agent, server: str, surface: Surface) -> bool:
        last[:] = [agent]
        return std.scope(agent, server, surface)

    def may_call(facts: Facts, surface: str) -> bool:
        lifted = called(surface) and last[0].servers is not None
        reason = std.classify(facts) == "disabled_by_user"
        return std.may_call(facts, surface) or (lifted and reason)

    decide(gateway, scope=scope, may_call=may_call)


def _total_in_listing(gateway: Gateway) -> None:
    """The listing sums up the locked tools of every server there is."""

    def render(document: Json) -> str:
        if "servers" in document:
            known = [facts for tools in gateway.known().values() for facts in tools]
            locked = sum(not std.may_call(facts, "listing") for facts in known)
            document = document | ({"locked_tools": locked} if locked else {})
        return render(document)

    decide(gateway, render=render)


def _without_section(document: Json, request: Request) -> Json:
    if request.agent.servers is None:
        return document
    return {one: document[one] for one in document if one not in {"disabled", "remediation"}}


def _without_note(document: Json, request: Request) -> Json:
    if request.agent.servers is None:
        return document
    return {one: document[one] for one in document if one != "notice"}


MUTANTS: tuple[Mutant, ...] = (
    mutant(
        "spec-scope-last",
        "Entries beyond the agent's scope are taken out of the finished answer.",
        "FR-007.before-cap",
        "FR-007.hidden",
        "FR-005.keys",
        scope=_open_for("search", "quarantine"),
        answer=_filtered_last,
    ),
    mutant(
        "spec-scope-after-cap",
        "Entries beyond the agent's scope use up the cap before they are taken out.",
        "FR-007.before-cap",
        scope=_open_for("search", "quarantine"),
        answer=_filtered_and_explained,
    ),
    mutant(
        "spec-scope-not-in-map",
        "The map explains statuses of tools beyond the agent's scope.",
        "FR-007.hidden",
        "FR-005.keys",
        scope=_open_for("search", "quarantine"),
        cap=lambda _: 10_000,
        window=lambda found, _: (
            [hit for hit in found if hit.may_call],
            [hit for hit in found if not hit.may_call],
        ),
        answer=lambda document, request: (
            _capped_last(document, request)
            | {
                "tools": _within(document, request.agent, "tools")["tools"][: request.limit],
                "total": len(_within(document, request.agent, "tools")["tools"][: request.limit]),
            }
        ),
    ),
    mutant(
        "spec-scope-not-in-pass",
        "The pass over withheld tools knows no scope.",
        "FR-007.hidden",
        scope=_open_for("quarantine"),
    ),
    mutant(
        "spec-scope-not-in-note",
        "The note counts tools beyond the agent's scope.",
        "FR-007.note",
        scope=_open_for("note"),
    ),
    mutant(
        "spec-scope-not-in-listing",
        "The listing sums up locked tools beyond the agent's scope.",
        "FR-007.listing",
        swap=_total_in_listing,
    ),
    mutant(
        "spec-scope-not-in-rejection",
        "A locked tool beyond the agent's scope is rejected with its reason.",
        "FR-007.rejection",
        swap=_lock_first,
    ),
    mutant(
        "spec-scope-by-beginning",
        "A scope holds every server whose name begins like one of its own.",
        "FR-007.hidden",
        scope=lambda agent, server, _: (
            agent.servers is None or any(server.startswith(one) for one in agent.servers)
        ),
    ),
    mutant(
        "spec-scope-of-first",
        "The pass over withheld tools has the scope of whoever asked first.",
        "FR-007.hidden",
        scope=Fresh(_first_agent),
    ),
    mutant(
        "spec-scope-not-in-kept-answers",
        "Locked entries are kept for two seconds by query, whoever asks.",
        "FR-007.hidden",
        answer=Fresh(_kept_answers),
    ),
    mutant(
        "spec-scope-not-in-kept-notes",
        "The note is kept for two seconds by query, whoever asks.",
        "FR-007.note",
        answer=Fresh(_kept_notes),
    ),
    mutant(
        "spec-agents-no-section",
        "Agents of limited scope get no locked entries.",
        "FR-001.reveals-config",
        "FR-001.reveals-user",
        answer=_without_section,
    ),
    mutant(
        "spec-agents-no-note",
        "Agents of limited scope get no note.",
        "FR-009.note",
        answer=_without_note,
    ),
    mutant(
        "spec-agents-pass-user-locks",
        "The user's locks do not hold for agents of limited scope.",
        "FR-011.never-reaches",
        swap=_agents_pass_user_locks,
    ),
)
