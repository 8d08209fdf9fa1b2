"""Changes to a proxy's results: added members, or decisions for some of the requests only."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mcp_proxy_mutants.discovery.changed_parts import PLACE
from mcp_proxy_mutants.discovery.gateway_changes import decide
from mcp_proxy_reference import policy as std
from mcp_proxy_reference.facts import Agent, Facts, Json
from mcp_proxy_reference.gateway import Gateway
from mcp_proxy_reference.protocol import META
from mcp_proxy_reference.search import terms

Reply = Callable[[Agent, str, Json, Callable[[], Awaitable[Json]]], Awaitable[Json]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """One result of a built-in tool, and the request that it answers."""

    gateway: Gateway
    agent: Agent
    tool: str
    arguments: Mapping[str, Any]
    stateless: bool
    document: Json

    @property
    def discovers(self) -> bool:
        """Whether the result answers a discovery request (`retrieve_tools`)."""
        return self.tool == "retrieve_tools"

    @property
    def flagged(self) -> bool:
        """Whether the result answers a discovery request with a true flag."""
        return self.discovers and self.arguments.get("include_disabled") is True

    @property
    def usual(self) -> bool:
        """Whether the result answers a discovery request with an absent or false flag."""
        return self.discovers and not self.arguments.get("include_disabled")

    def locked(self) -> list[Facts]:
        """Return the locked tools in the agent's scope that share a term with the query.

        Terms of a tool are those of its name and description.
        """
        wanted = set(terms(str(self.arguments.get("query", ""))))
        return [
            facts
            for server, known in self.gateway.known().items()
            if std.scope(self.agent, server, "search")
            for facts in known
            if not std.may_call(facts, "discovery")
            and wanted & set(terms(f"{facts.tool.name} {facts.tool.description}"))
        ]


def beside(change: Callable[[ToolResult], Json]) -> Callable[[Gateway], None]:
    """Return a gateway change that adds what `change` returns to results whose text is a document.

    Members of the result are replaced, but `_meta` is merged; errors and other texts are unchanged.
    """

    def swap(gateway: Gateway) -> None:
        async def reply(
            agent: Agent, _session: str, message: Json, respond: Callable[[], Awaitable[Json]]
        ) -> Json:
            answer = await respond()
            result = answer.get("result", {})
            if message["method"] != "tools/call" or result.get("isError"):
                return answer
            try:
                document = json.loads(result["content"][0]["text"])
            except (LookupError, ValueError):
                return answer
            params = message["params"]
            more = change(
                ToolResult(
                    gateway=gateway,
                    agent=agent,
                    tool=params["name"],
                    arguments=params.get("arguments") or {},
                    stateless=f"{META}protocolVersion" in (params.get("_meta") or {}),
                    document=document,
                )
            )
            if "_meta" in more:
                more = more | {"_meta": {**(result.get("_meta") or {}), **more["_meta"]}}
            return answer | {"result": result | more}

        decide(gateway, reply=reply)

    return swap


def in_stateless(**members: Callable[..., Any]) -> Callable[[Gateway], None]:
    """Return a gateway change that replaces decisions, by name, for the stateless revision only."""
    return _where(lambda _endpoint, stateless: stateless, members)


def in_sessions_at(endpoint: str, **members: Callable[..., Any]) -> Callable[[Gateway], None]:
    """Return a gateway change that replaces decisions, by name, in sessions at one endpoint only.

    Requests of the stateless revision there are decided as usual.
    """
    return _where(lambda place, stateless: place == endpoint and not stateless, members)


def _where(
    applies: Callable[[str, bool], bool], members: Mapping[str, Callable[..., Any]]
) -> Callable[[Gateway], None]:
    """Return a gateway change that replaces decisions, by name, for the requests that `applies` to.

    It takes a request's endpoint, and whether it is of the stateless revision.
    """

    def swap(gateway: Gateway) -> None:
        def chosen(name: str, other: Callable[..., Any]) -> Callable[..., Any]:
            usual = getattr(gateway.policy, name)

            def decision(*given: Any) -> Any:
                return (other if applies(*PLACE.get()) else usual)(*given)

            return decision

        decide(gateway, **{name: chosen(name, other) for name, other in members.items()})

    return swap
