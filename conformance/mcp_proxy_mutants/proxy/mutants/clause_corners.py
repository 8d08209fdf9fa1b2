"""Faults in corners: one transport, one page, one agent, one limit, one surface, one moment."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from mcp_proxy_mutants.proxy.mutant import Mutant, mutant
from mcp_proxy_mutants.proxy.swapping import decide
from mcp_proxy_mutants.proxy.wrapping import Request
from mcp_proxy_reference.facts import Facts, Json, Match, Status
from mcp_proxy_reference.gateway import Gateway
from mcp_proxy_reference.loader import Connection
from mcp_proxy_reference.policy import (
    LOCKED_CAP,
    REMEDIATION,
    classify,
    counts,
    locked_entry,
    may_call,
    remediation_map,
    window,
)
from mcp_proxy_reference.tools import render
from mcp_proxy_reference.upstream import Upstream

Windows = tuple[Sequence[Match], Sequence[Match]]
Tallied = Sequence[tuple[Facts, Status | None]]
Chosen = Callable[[Facts], bool]
Texts = Mapping[Status, str]
LONG = 1000


def _hide(gateway: Gateway, hidden: Chosen) -> None:
    def without(found: Sequence[Match], limit: int) -> Windows:
        callables, rest = window(found, limit)
        return callables, [hit for hit in rest if not hidden(hit.facts)]

    decide(gateway, window=without)


def _uncount(gateway: Gateway, hidden: Chosen) -> None:
    def block(tools: Tallied) -> Json | None:
        return counts([one for one in tools if one[1] is None or not hidden(one[0])])

    decide(gateway, counts=block)


def _over_pipes(gateway: Gateway) -> Chosen:
    return lambda facts: gateway.config.servers[facts.tool.server].command is not None


def _on_later_pages(gateway: Gateway) -> Chosen:
    """Note which tools come on other pages of a server's list than the first."""
    later: set[tuple[str, str]] = set()

    def noting(upstream: Upstream) -> None:
        real = upstream._connect  # noqa: SLF001 - pages are seen nowhere else

        async def connect(connection: Connection) -> Any:
            session = await real(connection)
            ask = session.request

            async def request(method: str, params: Json) -> Json:
                result = await ask(method, params)
                if method == "tools/list" and params.get("cursor"):
                    names = [one["name"] for one in result.get("tools", [])]
                    later.update((connection.server_id, name) for name in names)
                return result

            session.request = request  # type: ignore[method-assign]
            return session

        upstream._connect = connect  # type: ignore[assignment] # noqa: SLF001

    for upstream in gateway.upstreams.values():
        noting(upstream)
    return lambda facts: (facts.tool.server, facts.tool.name) in later


def _beside_another_call(gateway: Gateway) -> None:
    """While a call is on its way to a server, the next one is not checked for a user lock."""
    busy: dict[str, int] = {}
    real = gateway.upstream

    @contextmanager
    def under_way(name: str) -> Iterator[None]:
        busy[name] = busy.get(name, 0) + 1
        try:
            yield
        finally:
            busy[name] -= 1

    class Way:
        def __init__(self, name: str) -> None:
            self._name = name

        async def call(self, tool: str, arguments: Json) -> Json:
            with under_way(self._name):
                return await real(self._name).call(tool, arguments)

    def checked(facts: Facts, surface: str) -> bool:
        skipped = surface.startswith("call_tool_") and busy.get(facts.tool.server, 0) > 0
        return may_call(replace(facts, disabled_by_user=False) if skipped else facts, surface)

    gateway.upstream = Way  # type: ignore[assignment]
    decide(gateway, may_call=checked)


def _user_text_for_agents(document: Json, request: Request) -> Json:
    texts = document.get("remediation", {})
    if request.agent.servers is None or "disabled_by_config" not in texts:
        return document
    wrong = texts | {"disabled_by_config": REMEDIATION["disabled_by_user"]}
    return document | {"remediation": wrong}


def _no_map_at_one(document: Json, request: Request) -> Json:
    kept = {name: value for name, value in document.items() if name != "remediation"}
    return kept if request.limit == 1 else document


def _inspection_as_user(document: Json) -> str:
    block = document.get("server", {}).get("tools", {})
    if "disabled_by_config" not in block:
        return render(document)
    moved = block.get("disabled_by_user", 0) + block["disabled_by_config"]
    kept = {word: number for word, number in block.items() if word != "disabled_by_config"}
    server = document["server"] | {"tools": kept | {"disabled_by_user": moved}}
    return render(document | {"server": server})


def _new_locks_unseen(gateway: Gateway) -> None:
    """After a restart search no longer sees a denial until the config file is written again."""
    restarted = bool(gateway.store.records())
    first = gateway.config.servers

    def discovered(facts: Facts, surface: str) -> bool:
        stale = restarted and gateway.config.servers == first and surface == "discovery"
        return may_call(replace(facts, denied=False) if stale else facts, surface)

    decide(gateway, may_call=discovered)


def _rotated() -> dict[Status, str]:
    """Each of the user's kinds of lock with the text of the next one."""
    kinds: tuple[Status, ...] = ("disabled_by_user", "pending_approval", "disabled_unknown")
    moved = {kind: REMEDIATION[kinds[place - 1]] for place, kind in enumerate(kinds)}
    return {**REMEDIATION, **moved}


def _no_long_texts(facts: Facts, status: Status, withheld: bool) -> Json:
    return locked_entry(facts, status, withheld or len(facts.tool.description) > LONG)


def _last_hit_lost(document: Json, request: Request) -> Json:
    lost = request.flag and "disabled" not in document and document["tools"][1:]
    return document | {"tools": document["tools"][:-1]} if lost else document


def _named_again(document: Json, request: Request) -> Json:
    entries = document.get("disabled", [])
    named = [one for one in entries if request.query == one["name"].partition(":")[2]]
    more = [*named, *entries][: min(request.limit, LOCKED_CAP)]
    return document | {"disabled": more} if named else document


def _no_quarantine_text(shown: Sequence[Status], matched: Sequence[Status], texts: Texts) -> Json:
    told = remediation_map(shown, matched, texts)
    return {status: text for status, text in told.items() if status != "server_quarantined"}


def _unknown_after_unlock(gateway: Gateway) -> None:
    """A tool that two locks lay on is undetermined when one of them is lifted."""
    twice: set[str] = set()

    def status(facts: Facts) -> Status:
        if facts.denied and facts.disabled_by_user:
            twice.add(facts.tool.key)
        elif facts.tool.key in twice:
            return "disabled_unknown"
        return classify(facts)

    decide(gateway, classify=status)


MUTANTS: tuple[Mutant, ...] = (
    mutant("piped-servers-hide-locked", "Locked tools of servers over stdio are not revealed.",
           "FR-001.reveals-config", "FR-001.reveals-user",
           swap=lambda gateway: _hide(gateway, _over_pipes(gateway))),
    mutant("piped-servers-have-no-block", "Servers over stdio have no counts.",
           "FR-010.block", swap=lambda gateway: _uncount(gateway, _over_pipes(gateway))),
    mutant("later-pages-hide-locked", "Locked tools from later pages of a list are not revealed.",
           "FR-001.reveals-config", "FR-001.reveals-user",
           swap=lambda gateway: _hide(gateway, _on_later_pages(gateway))),
    mutant("later-pages-uncounted", "Locked tools from later pages of a list are not counted.",
           "FR-010.sum", "FR-010.block",
           swap=lambda gateway: _uncount(gateway, _on_later_pages(gateway))),
    mutant("call-passes-beside-another", "User locks are not checked beside a call under way.",
           "FR-011.never-reaches", swap=_beside_another_call),
    mutant("agents-told-the-users-text", "Agents are told to ask the user about config locks.",
           "SC-003.discovery", answer=_user_text_for_agents),
    mutant("no-map-at-limit-one", "At limit 1 the entry comes without its remediation.",
           "FR-005.keys", "SC-002.two-steps", answer=_no_map_at_one),
    mutant("inspection-counts-config-as-user", "The view of one server has config locks as users'.",
           "FR-010.inspect", "SC-003.listing", render=_inspection_as_user),
    mutant("restart-offers-denied-tools", "After a restart search offers denied tools again.",
           "FR-001.default-off", swap=_new_locks_unseen),
    mutant("texts-one-kind-off", "User, pending and unknown locks have each other's texts.",
           "FR-005.class", remediation=_rotated()),
    mutant("pending-text-edits-config", "The text for pending tools has the config file edited.",
           "FR-005.class",
           remediation={**REMEDIATION, "pending_approval": (
               "Remove the tool from disabled_tools in mcp_config.json.")}),
    mutant("user-text-enables-the-server", "The text for user locks has the server enabled.",
           "FR-005.class",
           remediation={**REMEDIATION, "disabled_by_user": "Ask the user to enable the server."}),
    mutant("long-texts-are-dropped", "Descriptions of more than a thousand letters are left out.",
           "FR-003.members", locked_entry=_no_long_texts),
    mutant("last-hit-lost-without-locks", "Where nothing is locked the flag costs the last result.",
           "FR-002.no-locks-no-change", answer=_last_hit_lost),
    mutant("exact-name-listed-again",
           "A locked tool that is asked for by its name is listed twice.",
           "FR-004.once", answer=_named_again),
    mutant("quarantine-has-no-remedy", "The map has no text for quarantined tools.",
           "SC-002.two-steps", remediation_map=_no_quarantine_text),
    mutant("unknown-once-a-lock-is-lifted",
           "Of two locks lifted one leaves an undetermined reason.",
           "FR-004.precedence", "FR-004.deterministic", swap=_unknown_after_unlock),
)  # fmt: skip
