"""Mutants of scope: agents learn of servers that are beyond their own scope.

An agent's scope is the set of servers that it may know of.
"""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from difflib import get_close_matches
from typing import Any

from mcp_proxy_mutants.discovery.changed_parts import Request
from mcp_proxy_mutants.discovery.gateway_changes import decide
from mcp_proxy_mutants.discovery.mutant import Fresh, Mutant, mutant
from mcp_proxy_mutants.discovery.pieces import Tally
from mcp_proxy_mutants.discovery.result_changes import ToolResult, beside, in_stateless
from mcp_proxy_reference import policy as std
from mcp_proxy_reference.facts import Agent, Facts, Json, Match, Purpose
from mcp_proxy_reference.gateway import Gateway
from mcp_proxy_reference.tools import render

Scope = Callable[[Agent, str, Purpose], bool]
KEPT_S = 2
MOMENT_S = 0.005


def _kept_by_query(member: str) -> Callable[[], Callable[[Json, Request], Json]]:
    """Return a maker of an `answer` change: agents get `member` from the administrator's answer.

    It is kept by query; an answer without that member is unchanged.
    """

    def make() -> Callable[[Json, Request], Json]:
        kept: dict[str, Any] = {}

        def answer(document: Json, request: Request) -> Json:
            if member not in document:
                return document
            if request.agent.servers is None:
                kept[request.query] = document[member]
            return document | {member: kept.get(request.query, document[member])}

        return answer

    return make


def _stateless_sections_kept(gateway: Gateway) -> None:
    """In the stateless revision, give agents the administrator's locked entries for a query."""
    in_stateless(answer=_kept_by_query("disabled")())(gateway)


def _scope_of_the_latest(gateway: Gateway) -> None:
    """Answer a request within the scope of the agent whose request came last, if they overlap."""
    latest: list[Agent] = []

    async def reply(
        agent: Agent, _session: str, _message: Json, respond: Callable[[], Awaitable[Json]]
    ) -> Json:
        latest[:] = [agent]
        await asyncio.sleep(MOMENT_S)
        return await respond()

    decide(
        gateway, reply=reply, scope=lambda _, server, purpose: std.scope(latest[0], server, purpose)
    )


def _joined_in_flight(gateway: Gateway) -> None:
    """Give equal discovery requests that overlap the answer of the first, whoever asks."""
    begun: dict[str, asyncio.Future[Json]] = {}

    async def reply(
        _agent: Agent, _session: str, message: Json, respond: Callable[[], Awaitable[Json]]
    ) -> Json:
        if (message.get("params") or {}).get("name") != "retrieve_tools":
            return await respond()
        asked = json.dumps(message["params"].get("arguments"), sort_keys=True)
        if asked in begun:
            return await begun[asked] | {"id": message["id"]}
        begun[asked] = asyncio.get_running_loop().create_future()
        await asyncio.sleep(MOMENT_S)
        answer = await respond()
        begun.pop(asked).set_result(answer)
        return answer

    decide(gateway, reply=reply)


def _beyond_as_unknown(gateway: Gateway) -> None:
    """Show agents withheld tools beyond their scope, without server and as `disabled_unknown`."""

    def answer(document: Json, request: Request) -> Json:
        servers = request.agent.servers
        if servers is None or "disabled" not in document:
            return document
        entries = [
            entry if entry["server"] in servers
            else {"name": entry["name"], "server": "", "status": "disabled_unknown"}
            for entry in document["disabled"]
        ]  # fmt: skip
        shown = {entry["status"] for entry in entries}
        texts = {status: text for status, text in std.REMEDIATION.items() if status in shown}
        return document | {"disabled": entries, "remediation": texts}

    decide(gateway, scope=_open_for("quarantine"), answer=answer)


def _own_callables(document: Json, request: Request) -> Json:
    """Return the answer with only the callable results in scope, and their number as `total`.

    Locked entries are unchanged.
    """
    servers = request.agent.servers
    own = [entry for entry in document["tools"] if servers is None or entry["server"] in servers]
    return document | {"tools": own, "total": len(own)}


def _others_when_none(gateway: Gateway) -> None:
    """Without a match in scope, give an agent the note on the locked matches of every server.

    Only without the flag, and of indexed tools only.
    """

    def answer(document: Json, request: Request) -> Json:
        if request.flag or document["tools"] or "notice" in document:
            return document
        everyone = {
            facts.tool.key: facts for listed in gateway.known().values() for facts in listed
        }
        index = gateway.index(
            tuple(facts.tool for facts in everyone.values() if std.indexed(facts))
        )
        hits = [everyone[key] for key, _ in index.find(request.query)]
        notice = std.note(
            False, 0, [facts for facts in hits if not std.may_call(facts, "discovery")]
        )
        return document | ({"notice": notice} if notice else {})

    decide(gateway, answer=answer)


def _first_ten_of_all(order: Callable[[Match], str] | None) -> Callable[[Gateway], None]:
    """Return a gateway change that takes ten locked hits of all servers, then applies the scope.

    They are the best ten, or the first ten by the key `order`. So tools beyond the scope displace
    others.
    """

    def swap(gateway: Gateway) -> None:
        everything = gateway.index
        ten: list[set[str]] = [set()]

        def index(tools: tuple[object, ...]) -> object:
            everyone = [facts for listed in gateway.known().values() for facts in listed]
            whole = everything(tuple(facts.tool for facts in everyone if gateway.searchable(facts)))
            own = everything(tools)
            by_key = {facts.tool.key: facts for facts in everyone}

            class Both:
                """The agent's index, which also searches that of all servers."""

                def find(self, query: str) -> list[tuple[str, float]]:
                    hits = [(by_key[key], score) for key, score in whole.find(query)]
                    locked = [
                        Match(facts=facts, score=score, may_call=False)
                        for facts, score in hits
                        if not std.may_call(facts, "discovery")
                    ]
                    ranked = locked if order is None else sorted(locked, key=order)
                    ten[0] = {hit.facts.tool.key for hit in ranked[: std.LOCKED_CAP]}
                    return own.find(query)

            return Both()

        def within(hits: Sequence[Match], limit: int) -> tuple[Sequence[Match], Sequence[Match]]:
            callables, rest = std.window(hits, limit)
            return callables, [hit for hit in rest if hit.facts.tool.key in ten[0]]

        gateway.index = index  # type: ignore[assignment]
        decide(gateway, window=within)

    return swap


def _rolled_up(gateway: Gateway) -> None:
    """Add the number of locked tools on all other servers to a server's counts, as `elsewhere`.

    A server without counts still has none.
    """

    def block(tools: Tally) -> Json | None:
        counts = std.counts(tools)
        if not counts:
            return counts
        own = {facts.tool.server for facts, _ in tools}
        beyond = [
            facts
            for name, listed in gateway.known().items()
            if name not in own
            for facts in listed
            if not std.may_call(facts, "listing")
        ]
        return counts | {"elsewhere": len(beyond)}

    decide(gateway, counts=block)


def _named_beyond(gateway: Gateway) -> None:
    """Add to the listing each server beyond the scope, by name, with its number of locked tools.

    They are JSON in the text `not_shown`.
    """

    def spelled(document: Json) -> str:
        if "servers" not in document:
            return render(document)
        shown = {entry["name"] for entry in document["servers"]}
        known = gateway.known()
        more = {
            name: sum(not std.may_call(facts, "listing") for facts in known[name])
            for name in known
            if name not in shown
        }
        return render(document | ({"not_shown": json.dumps(more)} if more else {}))

    decide(gateway, render=spelled)


def _open_for(*purposes: Purpose) -> Scope:
    """Return a `scope` decision that includes every server for these purposes."""
    return lambda agent, server, purpose: purpose in purposes or std.scope(agent, server, purpose)


def _within(document: Json, agent: Agent, member: str) -> Json:
    """Return the answer with only those entries of `member` that are in the agent's scope."""
    kept = [
        entry for entry in document.get(member, []) if std.scope(agent, entry["server"], "search")
    ]
    return document | ({member: kept} if member in document else {})


def _filtered_last(document: Json, request: Request) -> Json:
    """Return the answer with callable and locked entries beyond the agent's scope removed."""
    document = _within(_within(document, request.agent, "tools"), request.agent, "disabled")
    return document | {"total": len(document["tools"])}


def _capped_last(document: Json, request: Request) -> Json:
    """Return the answer with the agent's scope applied first and then the cap on locked entries."""
    document = _filtered_last(document, request)
    if "disabled" in document:
        document["disabled"] = document["disabled"][: std.cap(request.limit)]
    return document


def _first_agent() -> Scope:
    """Return a `scope` decision: withheld tools are looked up in the first agent's scope.

    That is the agent who first made such a lookup.
    """
    first: list[Agent] = []

    def scope(agent: Agent, server: str, purpose: Purpose) -> bool:
        if purpose != "quarantine":
            return std.scope(agent, server, purpose)
        first.append(agent)
        return std.scope(first[0], server, purpose)

    return scope


def _kept_answers() -> Callable[[Json, Request], Json]:
    """Return an `answer` change: flagged locked entries are kept for 2 s by query and limit.

    The cache ignores the agent, so that one agent sees another one's tools. Their remediation texts
    are kept too.
    """
    kept: dict[tuple[str, int], tuple[float, Json]] = {}

    def answer(document: Json, request: Request) -> Json:
        if not request.flag:
            return document
        key, now = (request.query, request.limit), time.monotonic()
        if key not in kept or now - kept[key][0] > KEPT_S:
            members: Json = {
                name: document[name] for name in ("disabled", "remediation") if name in document
            }
            kept[key] = now, members
        rest = {
            name: document[name] for name in document if name not in {"disabled", "remediation"}
        }
        return rest | kept[key][1]

    return answer


def _kept_notes() -> Callable[[Json, Request], Json]:
    """Return an `answer` change: an unflagged answer without tools gets the query's kept note.

    It is kept for two seconds, whoever the agent is, so that one agent reads another's note.
    """
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


def _listing_of_the_first(gateway: Gateway) -> None:
    """Show in listings the servers that the first one to list may see, until a lock changes."""
    shown: dict[str, bool] = {}
    counted: list[object] = [None]

    def scope(agent: Agent, server: str, purpose: Purpose) -> bool:
        if purpose != "listing":
            return std.scope(agent, server, purpose)
        if counted[0] is not gateway.known():
            counted[0] = gateway.known()
            shown.clear()
        return shown.setdefault(server, std.scope(agent, server, purpose))

    decide(gateway, scope=scope)


def _listing_of_the_widest(gateway: Gateway) -> None:
    """Show in listings every server that somebody who listed before may see."""
    shown: set[str] = set()

    def scope(agent: Agent, server: str, purpose: Purpose) -> bool:
        may = std.scope(agent, server, purpose)
        if may and purpose == "listing":
            shown.add(server)
        return may or (purpose == "listing" and server in shown)

    decide(gateway, scope=scope)


def _total_in_listing(gateway: Gateway) -> None:
    """Add to the listing, as `locked_tools`, the number of locked tools of all servers, unless 0.

    It ignores the agent's scope.
    """

    def summed(document: Json) -> str:
        if "servers" in document:
            known = [facts for tools in gateway.known().values() for facts in tools]
            locked = sum(not std.may_call(facts, "listing") for facts in known)
            document = document | ({"locked_tools": locked} if locked else {})
        return render(document)

    decide(gateway, render=summed)


def _all_in_content(result: ToolResult) -> Json:
    """Return structured content that counts the tools of every server; only for listings."""
    known = result.gateway.known().items()
    servers = [_counted(name, tools) for name, tools in known]
    own = {entry["name"]: entry for entry in result.document.get("servers", [])}
    entries = [own.get(entry["name"], entry) for entry in servers]
    return {"structuredContent": {"servers": entries}} if "servers" in result.document else {}


def _sum_in_meta(result: ToolResult) -> Json:
    """Return `_meta` with the number of all locked tools by status; only for listings."""
    listing = "servers" in result.document
    return {"_meta": {"proxy/locked": _tallied(result.gateway)}} if listing else {}


def _alike(*purposes: Purpose) -> Scope:
    """Return a `scope` decision that lets in servers whose names begin with an allowed one's.

    It does so for these purposes only; for others the scope is right.
    """
    return lambda agent, server, purpose: (
        std.scope(agent, server, purpose)
        or (purpose in purposes and any(server.startswith(name) for name in agent.servers or ()))
    )


def _suggesting(gateway: Gateway) -> None:
    """In the answer to an unknown tool, suggest the most similar other address, in scope or not."""

    def unknown(name: str) -> str:
        known = [facts.tool.key for tools in gateway.known().values() for facts in tools]
        near = [key for key in get_close_matches(name, known) if key != name]
        return f"{std.unknown(name)}{f' Did you mean {near[0]}?' if near else ''}"

    decide(gateway, unknown=unknown)


def _listing_siblings(gateway: Gateway) -> None:
    """In the answer to a tool unknown or beyond the scope, name its server's locked tools."""

    def unknown(name: str) -> str:
        listed = gateway.known().get(name.partition(":")[0], ())
        locked = [facts.tool.name for facts in listed if not std.may_call(facts, "call")]
        return f"{std.unknown(name)}{f' Locked there: {locked}.' if locked else ''}"

    decide(gateway, unknown=unknown)


def _listing_siblings_to_readers(gateway: Gateway) -> None:
    """In the answer to `call_tool_read` of a tool beyond the scope, name that server's tools."""

    async def reply(
        agent: Agent, _session: str, message: Json, respond: Callable[[], Awaitable[Json]]
    ) -> Json:
        answer, params = await respond(), message.get("params") or {}
        if params.get("name") != "call_tool_read" or not answer["result"].get("isError"):
            return answer
        server = str(params["arguments"].get("name")).partition(":")[0]
        if std.scope(agent, server, "call"):
            return answer
        names = [facts.tool.name for facts in gateway.known().get(server, ())]
        (item,) = answer["result"]["content"]
        named = item | {"text": f"{item['text']} Known there: {names}."}
        return answer | {"result": answer["result"] | {"content": [named]}}

    decide(gateway, reply=reply)


def _inspected(
    view: Callable[[str, Sequence[Facts]], Json | str],
) -> Callable[[Gateway], None]:
    """Return a gateway change: the refused inspection of a server is answered with `view` of it.

    `view` gets the server's name and tools; it returns a JSON object, or the text of an error. A
    server that does not exist is refused as usual.
    """

    def swap(gateway: Gateway) -> None:
        async def reply(
            _agent: Agent, _session: str, message: Json, respond: Callable[[], Awaitable[Json]]
        ) -> Json:
            answer = await respond()
            arguments = (message.get("params") or {}).get("arguments") or {}
            listed = gateway.known().get(str(arguments.get("name")))
            if arguments.get("operation") != "get" or listed is None:
                return answer
            if not answer["result"].get("isError"):
                return answer
            shown = view(arguments["name"], listed)
            text = shown if isinstance(shown, str) else render({"server": shown})
            beside = {"isError": True} if isinstance(shown, str) else {}
            return answer | {"result": {"content": [{"type": "text", "text": text}]} | beside}

        decide(gateway, reply=reply)

    return swap


def _counted(name: str, tools: Sequence[Facts]) -> Json:
    """Return a server's name and its counts by status."""
    statuses = [
        (facts, None if std.may_call(facts, "listing") else std.classify(facts)) for facts in tools
    ]
    return {"name": name, "tools": std.counts(statuses)}


def _named(name: str, tools: Sequence[Facts]) -> str:
    """Return a refusal that gives the number and names of the server's locked tools."""
    locked = [facts.tool.name for facts in tools if not std.may_call(facts, "listing")]
    return f"{name} is beyond your scope, with {len(locked)} locked tools: {', '.join(locked)}."


def _tallied(gateway: Gateway) -> Json:
    """Return the number of locked tools on all servers, by status."""
    locked = [f for tools in gateway.known().values() for f in tools if not std.may_call(f, "")]
    return dict(Counter(map(std.classify, locked)))


def _tally_in_answer(gateway: Gateway) -> None:
    """Add the number of locked tools on all servers, by status, to each discovery answer.

    It is the member `locked`.
    """
    decide(gateway, answer=lambda document, _request: document | {"locked": _tallied(gateway)})


def _address_opens(gateway: Gateway) -> None:
    """With the flag, list a withheld tool if the query is its address, even beyond the scope.

    Its text comes with it; a tool that is listed already is not added.
    """

    def answer(document: Json, request: Request) -> Json:
        server, _, name = request.query.partition(":")
        facts = gateway.facts(server, name)
        if not request.flag or facts is None or std.withheld_status(facts) is None:
            return document
        entries = document.get("disabled", [])
        if any(entry["name"] == facts.tool.key for entry in entries):
            return document
        entry = std.locked_entry(facts, std.classify(facts), withheld=True)
        texts = {entry["status"]: gateway.policy.remediation[std.classify(facts)]}
        return document | {
            "disabled": [*entries, entry],
            "remediation": document.get("remediation", {}) | texts,
        }

    decide(gateway, answer=answer)


MUTANTS: tuple[Mutant, ...] = (
    mutant(
        "stateless-sections-kept-for-all",
        "In the stateless revision, agents get the locked entries of the administrator's query.",
        "FR-007.hidden",
        swap=_stateless_sections_kept,
    ),
    mutant(
        "scope-of-the-latest",
        "Requests that overlap are answered within the scope of the agent that asked last.",
        "FR-007.hidden",
        swap=_scope_of_the_latest,
    ),
    mutant(
        "joined-in-flight",
        "Equal discovery requests that overlap share one answer, whoever asks.",
        "FR-007.hidden",
        swap=_joined_in_flight,
    ),
    mutant(
        "address-opens-scope",
        "A query for the whole address of a withheld tool lists it beyond the scope.",
        "FR-007.hidden",
        swap=_address_opens,
    ),
    mutant(
        "listing-by-beginning",
        "Listings show servers whose names begin with the name of one in the scope.",
        "FR-007.listing",
        scope=_alike("listing"),
    ),
    mutant(
        "note-by-beginning",
        "Notes count servers whose names begin with the name of one in the scope.",
        "FR-007.note",
        scope=_alike("note"),
    ),
    mutant(
        "scope-within-a-name",
        "A scope includes each server whose name is a part of one in the scope.",
        "FR-007.hidden",
        scope=lambda agent, server, purpose: (
            std.scope(agent, server, purpose) or server in " ".join(agent.servers or ())
        ),
    ),
    mutant(
        "refusal-suggests-any-tool",
        "The refusal of a call suggests the nearest tool of any server.",
        "FR-007.hidden",
        swap=_suggesting,
    ),
    mutant(
        "refusal-names-siblings",
        "The refusal of a call beyond the scope names that server's locked tools.",
        "FR-007.hidden",
        swap=_listing_siblings,
    ),
    mutant(
        "refusal-by-one-way-names-siblings",
        "The refusal of a read call beyond the scope names that server's tools.",
        "FR-007.hidden",
        swap=_listing_siblings_to_readers,
    ),
    mutant(
        "inspection-counts-beyond-the-scope",
        "An agent may inspect any server, with its counts.",
        "FR-007.listing",
        swap=_inspected(_counted),
    ),
    mutant(
        "inspection-names-beyond-the-scope",
        "The refused inspection of a server beyond the scope names its locked tools.",
        "FR-007.listing",
        swap=_inspected(_named),
    ),
    mutant(
        "tally-of-all-servers-in-answers",
        "Every answer has the number of locked tools of all servers by reason.",
        "FR-007.hidden",
        swap=_tally_in_answer,
    ),
    mutant(
        "tally-of-all-servers-in-meta",
        "The number of locked tools of all servers by reason is in `_meta`.",
        "FR-007.hidden",
        swap=beside(
            lambda result: (
                {"_meta": {"proxy/locked": _tallied(result.gateway)}} if result.flagged else {}
            )
        ),
    ),
    mutant(
        "stateless-ignores-the-scope",
        "In the stateless revision, scopes are ignored.",
        "FR-007.hidden",
        swap=in_stateless(scope=lambda *_: True),
    ),
    mutant(
        "best-ten-of-all-servers",
        "The best ten of all servers are taken before the scope is applied.",
        "FR-007.before-cap",
        swap=_first_ten_of_all(None),
    ),
    mutant(
        "first-ten-by-server",
        "The first ten in order of servers are taken before the scope is applied.",
        "FR-007.before-cap",
        swap=_first_ten_of_all(lambda hit: hit.facts.tool.key),
    ),
    mutant(
        "withheld-scoped-last",
        "Withheld tools beyond the agent's scope are removed only from the finished answer.",
        "FR-007.before-cap",
        scope=_open_for("quarantine"),
        answer=_filtered_last,
    ),
    mutant(
        "scope-last",
        "Entries beyond the agent's scope are removed only from the finished answer.",
        "FR-007.before-cap",
        "FR-007.hidden",
        "FR-005.keys",
        scope=_open_for("search", "quarantine"),
        answer=_filtered_last,
    ),
    mutant(
        "pass-ignores-the-scope",
        "Withheld tools of every server are listed, whatever the agent's scope.",
        "FR-007.hidden",
        scope=_open_for("quarantine"),
    ),
    mutant(
        "maps-kept-by-query",
        "The map of the administrator's answer is used for agents as well.",
        "FR-007.hidden",
        answer=Fresh(_kept_by_query("remediation")),
    ),
    mutant(
        "beyond-scope-as-unknown",
        "Withheld tools beyond the scope are named without a server.",
        "FR-007.hidden",
        swap=_beyond_as_unknown,
    ),
    mutant(
        "scope-of-callables-only",
        "The scope applies to callable results, not to locked ones.",
        "FR-007.hidden",
        scope=_open_for("search"),
        answer=_own_callables,
    ),
    mutant(
        "scope-not-in-map",
        "The map explains statuses of tools beyond the agent's scope.",
        "FR-007.hidden",
        "FR-005.keys",
        scope=_open_for("search", "quarantine"),
        cap=lambda _: 10_000,
        window=lambda hits, _: (
            [hit for hit in hits if hit.may_call],
            [hit for hit in hits if not hit.may_call],
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
        "scope-by-beginning",
        "A scope includes each server whose name begins with the name of one in the scope.",
        "FR-007.hidden",
        scope=lambda agent, server, _: (
            agent.servers is None or any(server.startswith(name) for name in agent.servers)
        ),
    ),
    mutant(
        "scope-of-first",
        "Withheld tools are listed by the scope of the first agent that asked.",
        "FR-007.hidden",
        scope=Fresh(_first_agent),
    ),
    mutant(
        "scope-not-in-kept-answers",
        "Locked entries are cached by query for two seconds, across agents.",
        "FR-007.hidden",
        answer=Fresh(_kept_answers),
    ),
    mutant(
        "entry-counts-elsewhere",
        "An entry's block counts the locked tools of other servers.",
        "FR-007.listing",
        swap=_rolled_up,
    ),
    mutant(
        "listing-of-the-first",
        "The listing has the servers of whoever lists first after a change.",
        "FR-007.listing",
        "FR-010.block",
        swap=_listing_of_the_first,
    ),
    mutant(
        "listing-of-the-widest",
        "The listing has the servers that anybody was shown before.",
        "FR-007.listing",
        swap=_listing_of_the_widest,
    ),
    mutant(
        "listing-names-the-hidden",
        "The listing shows the number of locked tools of hidden servers.",
        "FR-007.listing",
        swap=_named_beyond,
    ),
    mutant(
        "listing-content-of-all",
        "Structured content of a listing has the counts of every server, whoever lists.",
        "FR-007.listing",
        swap=beside(_all_in_content),
    ),
    mutant(
        "listing-sum-in-meta",
        "The `_meta` of a listing has the number of all locked tools by status.",
        "FR-007.listing",
        swap=beside(_sum_in_meta),
    ),
    mutant(
        "scope-not-in-listing",
        "The listing has a sum that includes locked tools beyond the agent's scope.",
        "FR-007.listing",
        swap=_total_in_listing,
    ),
    mutant(
        "note-of-others-when-none",
        "The note tells an agent without matches about matches on other servers.",
        "FR-007.note",
        swap=_others_when_none,
    ),
    mutant(
        "note-ignores-the-scope",
        "The note counts matches of every server.",
        "FR-007.note",
        scope=_open_for("note"),
    ),
    mutant(
        "notes-kept-by-query",
        "The note of the administrator's answer is used for agents.",
        "FR-007.note",
        answer=Fresh(_kept_by_query("notice")),
    ),
    mutant(
        "scope-not-in-kept-notes",
        "The note is cached by query for two seconds, across agents.",
        "FR-007.note",
        answer=Fresh(_kept_notes),
    ),
)
