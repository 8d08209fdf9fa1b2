"""Faults of an agent's scope: what leaks from servers beyond it, clause by clause."""

import json
from collections.abc import Callable, Sequence

from mcp_proxy_mutants.proxy.mutant import Fresh, Mutant, mutant
from mcp_proxy_mutants.proxy.swapping import decide
from mcp_proxy_mutants.proxy.wrapping import Request
from mcp_proxy_reference.facts import Agent, Facts, Json, Match, Status, Surface
from mcp_proxy_reference.gateway import Gateway
from mcp_proxy_reference.policy import (
    LOCKED_CAP,
    REMEDIATION,
    classify,
    counts,
    indexed,
    may_call,
    note,
    rejection,
    scope,
    unknown,
    window,
)
from mcp_proxy_reference.tools import render

Tallied = Sequence[tuple[Facts, Status | None]]


def _open(*surfaces: Surface) -> Callable[[Agent, str, Surface], bool]:
    def opened(agent: Agent, server: str, surface: Surface) -> bool:
        return surface in surfaces or scope(agent, server, surface)

    return opened


def _maps_kept_by_query() -> Callable[[Json, Request], Json]:
    kept: dict[str, Json] = {}

    def answer(document: Json, request: Request) -> Json:
        if "remediation" not in document:
            return document
        if request.agent.servers is None:
            kept[request.query] = document["remediation"]
        return document | {"remediation": kept.get(request.query, document["remediation"])}

    return answer


def _beyond_as_unknown(gateway: Gateway) -> None:
    """Show what lies beyond the scope, as if its reason were not known."""

    def answer(document: Json, request: Request) -> Json:
        servers = request.agent.servers
        if servers is None or "disabled" not in document:
            return document
        entries = [
            one if one["server"] in servers
            else {"name": one["name"], "server": "", "status": "disabled_unknown"}
            for one in document["disabled"]
        ]  # fmt: skip
        shown = {one["status"] for one in entries}
        texts = {status: text for status, text in REMEDIATION.items() if status in shown}
        return document | {"disabled": entries, "remediation": texts}

    def own(found: Sequence[Match], limit: int) -> tuple[Sequence[Match], Sequence[Match]]:
        return window(found, limit)

    decide(gateway, scope=_open("quarantine"), window=own, answer=answer)


def _own_callables(document: Json, request: Request) -> Json:
    servers = request.agent.servers
    own = [one for one in document["tools"] if servers is None or one["server"] in servers]
    return document | {"tools": own, "total": len(own)}


def _others_when_none(gateway: Gateway) -> None:
    """An agent for whom nothing matches is told how much is locked on all servers."""

    def answer(document: Json, request: Request) -> Json:
        if request.flag or document["tools"] or "notice" in document:
            return document
        everyone = {one.tool.key: one for listed in gateway.known().values() for one in listed}
        index = gateway.index(tuple(one.tool for one in everyone.values() if indexed(one)))
        hits = [everyone[key] for key, _ in index.find(request.query)]
        told = note(False, 0, [one for one in hits if not may_call(one, "discovery")])
        return document | ({"notice": told} if told else {})

    decide(gateway, answer=answer)


def _notes_kept_by_query() -> Callable[[Json, Request], Json]:
    kept: dict[str, str] = {}

    def answer(document: Json, request: Request) -> Json:
        if "notice" not in document:
            return document
        if request.agent.servers is None:
            kept[request.query] = document["notice"]
        return document | {"notice": kept.get(request.query, document["notice"])}

    return answer


def _first_ten_of_all(order: Callable[[Match], str] | None) -> Callable[[Gateway], None]:
    """Take the first ten locked hits of every server, and only then the agent's own."""

    def swap(gateway: Gateway) -> None:
        everything = gateway.index
        ten: list[set[str]] = [set()]

        def index(tools: tuple[object, ...]) -> object:
            everyone = [one for listed in gateway.known().values() for one in listed]
            whole = everything(tuple(facts.tool for facts in everyone if gateway.searchable(facts)))
            own = everything(tools)
            by_key = {facts.tool.key: facts for facts in everyone}

            class Both:
                def find(self, query: str) -> list[tuple[str, float]]:
                    hits = [(by_key[key], score) for key, score in whole.find(query)]
                    locked = [
                        Match(facts=facts, score=score, may_call=False)
                        for facts, score in hits
                        if not may_call(facts, "discovery")
                    ]
                    ranked = locked if order is None else sorted(locked, key=order)
                    ten[0] = {hit.facts.tool.key for hit in ranked[:LOCKED_CAP]}
                    return own.find(query)

            return Both()

        def within(found: Sequence[Match], limit: int) -> tuple[Sequence[Match], Sequence[Match]]:
            callables, rest = window(found, limit)
            return callables, [hit for hit in rest if hit.facts.tool.key in ten[0]]

        gateway.index = index  # type: ignore[assignment]
        decide(gateway, window=within)

    return swap


def _summed_up(gateway: Gateway) -> None:
    """A listing ends with the counts of all servers together."""

    def spelled(document: Json) -> str:
        if "servers" not in document:
            return render(document)
        everything = [
            (facts, None if may_call(facts, "listing") else classify(facts))
            for listed in gateway.known().values()
            for facts in listed
        ]
        return render(document | {"tools": counts(everything)})

    decide(gateway, render=spelled)


def _rolled_up(gateway: Gateway) -> None:
    """A server's entry adds the locked tools of servers that the listing leaves out."""

    def block(tools: Tallied) -> Json | None:
        told = counts(tools)
        if not told:
            return told
        own = {facts.tool.server for facts, _ in tools}
        beyond = [
            facts
            for name, listed in gateway.known().items()
            if name not in own
            for facts in listed
            if not may_call(facts, "listing")
        ]
        return told | {"elsewhere": len(beyond)}

    decide(gateway, counts=block)


def _named_beyond(gateway: Gateway) -> None:
    def spelled(document: Json) -> str:
        if "servers" not in document:
            return render(document)
        shown = {one["name"] for one in document["servers"]}
        known = gateway.known()
        more = {
            name: sum(not may_call(facts, "listing") for facts in known[name])
            for name in known
            if name not in shown
        }
        return render(document | ({"not_shown": json.dumps(more)} if more else {}))

    decide(gateway, render=spelled)


def _reason_beyond(statuses: set[Status]) -> Callable[[Gateway], None]:
    """Look a tool up that is unknown to the agent, and tell why it is locked."""

    def swap(gateway: Gateway) -> None:
        def told(name: str) -> str:
            server, _, bare = name.partition(":")
            facts = gateway.facts(server, bare)
            if facts is None or may_call(facts, "call") or classify(facts) not in statuses:
                return unknown(name)
            return rejection(facts, REMEDIATION)

        decide(gateway, unknown=told)

    return swap


MUTANTS: tuple[Mutant, ...] = (
    mutant("pass-ignores-the-scope", "The pass over withheld tools looks at every server.",
           "FR-007.hidden", scope=_open("quarantine")),
    mutant("maps-kept-by-query",
           "The map of the administrator's answer is used for agents as well.",
           "FR-007.hidden", answer=Fresh(_maps_kept_by_query)),
    mutant("beyond-scope-as-unknown", "Withheld tools beyond the scope are named without a server.",
           "FR-007.hidden", swap=_beyond_as_unknown),
    mutant("scope-of-callables-only", "The scope leaves out callable results, not locked ones.",
           "FR-007.hidden", scope=_open("search"), answer=_own_callables),
    mutant("note-of-others-when-none", "An agent with no match is told of those on other servers.",
           "FR-007.note", swap=_others_when_none),
    mutant("note-ignores-the-scope", "The note counts matches of every server.",
           "FR-007.note", scope=_open("note")),
    mutant("notes-kept-by-query", "The note of the administrator's answer is used for agents.",
           "FR-007.note", answer=Fresh(_notes_kept_by_query)),
    mutant("best-ten-of-all-servers", "The cap takes the best ten of all servers, then the scope.",
           "FR-007.before-cap", swap=_first_ten_of_all(None)),
    mutant("first-ten-by-server", "The cap takes ten in the order of servers, then the scope.",
           "FR-007.before-cap", swap=_first_ten_of_all(lambda hit: hit.facts.tool.key)),
    mutant("listing-sums-all-servers", "A listing ends with the counts of all servers.",
           "FR-007.listing", swap=_summed_up),
    mutant("entry-counts-elsewhere", "An entry's block counts the locked tools of other servers.",
           "FR-007.listing", swap=_rolled_up),
    mutant("listing-names-the-hidden", "A listing tells of hidden servers how many are locked.",
           "FR-007.listing", swap=_named_beyond),
    mutant("reason-beyond-the-scope", "A call beyond the scope is told why the tool is locked.",
           "FR-007.rejection", swap=_reason_beyond(set(REMEDIATION))),
    mutant("config-reason-beyond-the-scope", "A call beyond the scope is told of a config lock.",
           "FR-007.rejection", swap=_reason_beyond({"disabled_by_config"})),
)  # fmt: skip
