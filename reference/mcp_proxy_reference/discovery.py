"""The discovery tool: callable tools first, and locked ones with their reasons on request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mcp_proxy_reference.facts import Agent, Facts, Json, Match, Request, Status, Surface
from mcp_proxy_reference.gateway import Gateway, Records
from mcp_proxy_reference.policy import EXACT, ArgumentError

USAGE = (
    "Call a tool by its name through the tool named in call_with, "
    "with its arguments as a JSON object in args_json."
)
Locked = tuple[Facts, Status, bool]


def retrieve_tools(gateway: Gateway, agent: Agent, arguments: Mapping[str, object]) -> Json:
    """Answer one discovery request.

    The members of the feature (`disabled`, `remediation`, `notice`) follow those that any answer
    has, so that without the flag nothing but the note of an empty answer is added.

    Raises:
        ArgumentError: an argument has the wrong type.
    """
    policy = gateway.policy
    query = arguments.get("query")
    if not isinstance(query, str):
        raise ArgumentError("query must be a string.")
    request = Request(
        agent=agent,
        query=query,
        limit=policy.limit(arguments, gateway.config.tools_limit),
        flag=policy.flag(arguments),
        arguments=arguments,
        store=gateway.store,
    )
    gateway.opt_ins += policy.opted_in(request.flag)
    records = gateway.records()

    found = _found(gateway, request, records, "search")
    callables, rest = policy.window(found, request.limit)
    document: Json = {
        "query": query,
        "tools": [policy.callable_entry(hit) for hit in callables],
        "total": len(callables),
        "usage_instructions": USAGE,
    }
    if request.flag:
        locked = _locked(gateway, request, records, rest, "quarantine")
        document |= _sections(gateway, locked, request.limit)
    if not callables:
        hits = _found(gateway, request, records, "note")
        rest = [hit for hit in hits if not hit.may_call]
        known = [facts for facts, *_ in _locked(gateway, request, records, rest, "note")]
        if notice := policy.note(request.flag, len(callables), known):
            document["notice"] = notice
    return policy.answer(document, request)


def _found(
    gateway: Gateway, request: Request, records: Records | None, surface: Surface
) -> list[Match]:
    """The hits of the search index, best first."""
    found = []
    may_call = gateway.policy.may_call
    for tool, score in gateway.index(_visible(gateway, request.agent, surface)).find(request.query):
        facts = gateway.facts(tool, records)
        found.append(Match(facts=facts, score=score, may_call=may_call(facts, "discovery")))
    return found


def _locked(
    gateway: Gateway,
    request: Request,
    records: Records | None,
    hits: Sequence[Match],
    surface: Surface,
) -> list[Locked]:
    """The locked hits, then the matching tools that the search index does not hold, best first.

    A tool that is asked for by its name comes before all others: the cap must not hide it.
    """
    policy = gateway.policy
    named: list[tuple[float, Locked]] = []
    for tool in gateway.withheld(_visible(gateway, request.agent, surface)):
        facts = gateway.facts(tool, records)
        relevance = policy.matches(request.query, facts)
        if relevance and (status := policy.withheld_status(facts)):
            named.append((relevance, (facts, status, True)))
    named.sort(key=lambda one: -one[0])
    found: list[Locked] = [(hit.facts, policy.classify(hit.facts), False) for hit in hits]
    exact = [one for relevance, one in named if relevance == EXACT]
    return exact + found + [one for relevance, one in named if relevance != EXACT]


def _sections(gateway: Gateway, locked: Sequence[Locked], limit: int) -> Json:
    policy = gateway.policy
    shown = locked[: policy.cap(limit)]
    remediation = policy.remediation_map(
        [status for _, status, _ in shown], [status for _, status, _ in locked], policy.remediation
    )
    return policy.sections([policy.locked_entry(*one) for one in shown], remediation)


def _visible(gateway: Gateway, agent: Agent, surface: Surface) -> list[str]:
    return [name for name in gateway.config.servers if gateway.policy.scope(agent, name, surface)]
