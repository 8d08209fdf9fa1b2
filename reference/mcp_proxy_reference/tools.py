"""The proxy's built-in tools: their published definitions, and their answers to agents."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from mcp_proxy_reference.config import Server
from mcp_proxy_reference.facts import Agent, Facts, Json, Match, Purpose, Status
from mcp_proxy_reference.gateway import Gateway
from mcp_proxy_reference.policy import EXACT, MAX_LIMIT, ArgumentError, Policy, permission
from mcp_proxy_reference.upstream import UpstreamError

CALLS = {
    "call_tool_read": "Call a tool that reads.",
    "call_tool_write": "Call a tool that writes.",
    "call_tool_destructive": "Call a tool that destroys or overwrites.",
}
NAMES = {"retrieve_tools", "upstream_servers", *CALLS}
DISCOVERY = "Find tools of all upstream servers by what they do."
USAGE = (
    "Call a tool by its name through the tool named in call_with, "
    "with its arguments as a JSON object in args_json."
)
Arguments = Mapping[str, Any]
Locked = tuple[Facts, Status, bool]
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def published(policy: Policy, endpoint: str, limit: int) -> list[Json]:
    """Return the built-in tools as tools/list has them at an endpoint: discovery, calls, servers.

    The flag is in the schema unless the policy has none; `limit` is its default there.
    """
    search: Json = {
        "query": {"type": "string", "description": "What the tool should do, or its name."},
        "limit": {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": limit},
    }
    if policy.flag_schema is not None:
        search["include_disabled"] = dict(policy.flag_schema)
    call: Json = {
        "name": {"type": "string", "description": "The tool's name as found: server:tool."},
        "args_json": {"type": "string", "description": "The arguments, a JSON object as text."},
    }
    servers: Json = {
        "operation": {"type": "string", "enum": ["list", "get"]},
        "name": {"type": "string", "description": "The server to get."},
    }
    tools = [
        ("retrieve_tools", f"{DISCOVERY} {policy.description(endpoint)}".strip(), search, "query"),
        *((name, text, call, "name") for name, text in CALLS.items()),
        ("upstream_servers", "List the upstream servers.", servers, "operation"),
    ]
    return [
        {
            "name": name,
            "description": text,
            "inputSchema": {"type": "object", "properties": properties, "required": [required]},
        }
        for name, text, properties, required in tools
    ]


class DiscoveryRequest(NamedTuple):
    """A checked discovery request; `flag` is include_disabled."""

    query: str
    limit: int
    flag: bool


class Tools:
    """The built-in tools of one proxy."""

    def __init__(self, gateway: Gateway) -> None:
        """Answer agents from this gateway's servers, kept as `gateway`."""
        self.gateway = gateway

    async def call(self, agent: Agent, name: str, arguments: Arguments) -> Json:
        """Call a built-in tool and return its result.

        ArgumentError and UpstreamError become error results.
        """
        try:
            if name in CALLS:
                return await _call_tool(self.gateway, agent, name, arguments)
            tool = self.retrieve_tools if name == "retrieve_tools" else self.upstream_servers
            return _text(self.render(tool(agent, arguments)))
        except (ArgumentError, UpstreamError) as error:
            return _text(str(error), is_error=True)

    def render(self, document: Json) -> str:
        """Return a document as the text of a result: as compact JSON.

        A subclass may override it.
        """
        return render(document)

    def retrieve_tools(self, agent: Agent, arguments: Arguments) -> Json:
        """Return the document that answers a discovery request.

        Raises ArgumentError for unusable arguments.
        """
        return self.discover(agent, self.checked(arguments))

    def checked(self, arguments: Arguments) -> DiscoveryRequest:
        """Check the arguments of a discovery request and return it.

        ArgumentError for a query that is not a string, an unusable limit or flag.
        """
        policy, query = self.gateway.policy, arguments.get("query")
        if not isinstance(query, str):
            raise ArgumentError("query must be a string.")
        limit = policy.limit(arguments, self.gateway.config.settings.tools_limit)
        return DiscoveryRequest(query, limit, policy.flag(arguments))

    def discover(self, agent: Agent, request: DiscoveryRequest) -> Json:
        """Count the opt-in; return the document of matching tools, with the flag locked ones too.

        The members of the feature (`disabled`, `remediation`, `notice`) follow those that any
        answer has, so that without the flag nothing but a notice is added, and that only if no tool
        is callable.
        """
        gateway, policy = self.gateway, self.gateway.policy
        query, limit, flag = request
        gateway.opt_ins += policy.opted_in(flag)
        known = _known(gateway)

        def visible_facts(purpose: Purpose, *, searchable: bool) -> list[Facts]:
            """Return the facts of the agent's tools, those in the search index or the others."""
            visible = [name for name in known if policy.scope(agent, name, purpose)]
            return [facts for name in visible for facts in known[name][searchable]]

        matched = _search_hits(gateway, query, visible_facts("search", searchable=True))
        callables, rest = policy.window(matched, limit)
        document: Json = {
            "query": query,
            "tools": [policy.callable_entry(hit) for hit in callables],
            "total": len(callables),
            "usage_instructions": USAGE,
        }
        if flag:
            locked = _locked(policy, query, rest, visible_facts("quarantine", searchable=False))
            shown = locked[: policy.cap(limit)]
            statuses = [status for _, status, _ in locked]
            remediation = policy.remediation_map(
                statuses[: len(shown)], statuses, policy.remediation
            )
            document |= policy.sections(
                [policy.locked_entry(*entry) for entry in shown], remediation
            )
        if not callables:
            hits = _search_hits(gateway, query, visible_facts("note", searchable=True))
            rest = [hit for hit in hits if not hit.may_call]
            locked = _locked(policy, query, rest, visible_facts("note", searchable=False))
            if notice := policy.note(flag, len(callables), [facts for facts, *_ in locked]):
                document["notice"] = notice
        return document

    def upstream_servers(self, agent: Agent, arguments: Arguments) -> Json:
        """Return the listing of the servers in the agent's scope, or the entry of one.

        Listing is the default; ArgumentError for another operation, or a server that is out of
        scope.
        """
        gateway, scope = self.gateway, self.gateway.policy.scope
        known = gateway.shown()
        servers = [
            server
            for server in gateway.config.servers.values()
            if scope(agent, server.name, "listing")
        ]
        entries = {server.name: self.listed(server, known[server.name]) for server in servers}
        operation, wanted = arguments.get("operation", "list"), arguments.get("name")
        if operation == "list":
            return {"servers": list(entries.values()), "total": len(entries)}
        if operation != "get":
            raise ArgumentError("operation must be list or get.")
        if not isinstance(wanted, str) or wanted not in entries:
            raise ArgumentError("name must be the name of a server.")
        return {"server": entries[wanted]}

    def listed(self, server: Server, tools: Sequence[Facts]) -> Json:
        """Return a server's entry, with counts if one of its tools is locked."""
        policy = self.gateway.policy
        tallied = [
            (facts, None if policy.may_call(facts, "listing") else policy.classify(facts))
            for facts in tools
        ]
        counts = policy.counts(tallied)
        return state(self.gateway, server) | ({} if counts is None else {"tools": counts})


def render(document: Json) -> str:
    """Return a document as compact JSON: its members in their order, sorted within."""
    members = (f"{_dump(name)}:{_dump(value)}" for name, value in document.items())
    return "{" + ",".join(members) + "}"


def _dump(value: object) -> str:
    """Return a value as compact JSON, its members sorted."""
    return _ENCODER.encode(value)


def state(gateway: Gateway, server: Server) -> Json:
    """Return what listing and operator API both show of a server, the connection included.

    The connection is disabled, ready, error or, before the first load ends, connecting.
    """
    upstream = gateway.upstreams.get(server.name)
    outcome = upstream.outcome if upstream else None
    word = "error" if outcome else "connecting"
    if not server.enabled:
        word = "disabled"
    elif outcome and outcome.status == "available":
        word = "ready"
    return {
        "name": server.name,
        "protocol": server.protocol or ("streamable-http" if server.url else "stdio"),
        "url": server.url or "",
        "enabled": server.enabled,
        "quarantined": server.quarantined,
        "connection_status": {
            "state": word,
            "status": outcome.status if outcome else None,
            "attempts": outcome.attempts if outcome else 0,
            "error": outcome.error if outcome else None,
        },
    }


def _known(gateway: Gateway) -> dict[str, tuple[list[Facts], list[Facts]]]:
    """Return for each server its tools outside the search index, and those in it."""
    known: dict[str, tuple[list[Facts], list[Facts]]] = {}
    for server, tools in gateway.shown().items():
        apart, within = known[server] = ([], [])
        for facts in tools:
            (within if gateway.searchable(facts) else apart).append(facts)
    return known


def _search_hits(gateway: Gateway, query: str, searchable: Sequence[Facts]) -> list[Match]:
    """Return the tools among `searchable` that match the query, best first.

    Each says whether it may be called.
    """
    by_key = {facts.tool.key: facts for facts in searchable}
    index = gateway.index(tuple(facts.tool for facts in searchable))
    ranked = [(by_key[key], score) for key, score in index.find(query)]
    may_call = gateway.policy.may_call
    return [
        Match(facts=facts, score=score, may_call=may_call(facts, "discovery"))
        for facts, score in ranked
    ]


def _locked(
    policy: Policy, query: str, hits: Sequence[Match], withheld: Sequence[Facts]
) -> list[Locked]:
    """Return the locked hits and the matching withheld tools, best first, with statuses.

    `hits` are locked tools that the search index found, `withheld` are tools outside the index. A
    tool that is requested by its exact name precedes all others: the cap must not hide it. Other
    withheld tools come last.
    """
    named: list[tuple[float, Locked]] = []
    for facts in withheld:
        relevance = policy.matches(query, facts)
        if relevance and (status := policy.withheld_status(facts)):
            named.append((relevance, (facts, status, True)))
    named.sort(key=lambda entry: -entry[0])
    indexed: list[Locked] = [(hit.facts, policy.classify(hit.facts), False) for hit in hits]
    exact = [entry for relevance, entry in named if relevance == EXACT]
    return exact + indexed + [entry for relevance, entry in named if relevance != EXACT]


async def _call_tool(gateway: Gateway, agent: Agent, surface: str, arguments: Arguments) -> Json:
    """Call an upstream tool and return its result; for an unknown or locked one, a text instead.

    ArgumentError without permission, for a destructive tool that is not called as one, or with odd
    arguments.
    """
    policy, name = gateway.policy, arguments.get("name")
    if not isinstance(name, str):
        raise ArgumentError("name must be the address of a tool, server:tool.")
    server, _, bare = name.partition(":")
    known = server in gateway.config.servers and policy.scope(agent, server, "call")
    facts = gateway.facts(server, bare) if known else None
    if facts is None:
        return _text(policy.unknown(name), is_error=True)
    tool = facts.tool
    if not policy.may_call(facts, surface):
        text = policy.rejection(facts, policy.remediation)
        return _text(text, is_error=policy.rejection_is_error)

    kind, wanted = surface.removeprefix("call_tool_"), permission(tool.annotations)
    if kind not in agent.permissions:
        raise ArgumentError(f"This agent token does not permit {surface}.")
    if wanted == "destructive" != kind:
        raise ArgumentError("This tool is destructive: call it with call_tool_destructive.")
    text = arguments.get("args_json") or "{}"
    try:
        passed = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        passed = None
    if not isinstance(passed, dict):
        raise ArgumentError("args_json must be a string that holds a JSON object.")
    return await gateway.upstream(server).call(tool.name, passed)


def _text(text: str, *, is_error: bool = False) -> Json:
    """Return a tool result with one text item; the member `isError` is there only if true."""
    result: Json = {"content": [{"type": "text", "text": text}]}
    return result | {"isError": True} if is_error else result
