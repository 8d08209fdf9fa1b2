"""Mutants of the flag's description in the discovery tool."""

from collections.abc import Awaitable, Callable

from mcp_proxy_mutants.discovery.gateway_changes import decide
from mcp_proxy_mutants.discovery.mutant import Mutant, mutant
from mcp_proxy_reference import policy as std
from mcp_proxy_reference.facts import Agent, Json
from mcp_proxy_reference.gateway import Gateway


def _undescribed(when: Callable[[Gateway, Agent], bool]) -> Callable[[Gateway], None]:
    """Return a gateway change: tools/list does not describe the flag where `when` is true.

    The usual sentence is cut from every description; `when` gets the gateway and the agent.
    """

    def swap(gateway: Gateway) -> None:
        async def reply(
            agent: Agent, _session: str, message: Json, respond: Callable[[], Awaitable[Json]]
        ) -> Json:
            answer = await respond()
            if message["method"] == "tools/list" and when(gateway, agent):
                for tool in answer["result"]["tools"]:
                    tool["description"] = tool["description"].replace(std.description(""), "")
            return answer

        decide(gateway, reply=reply)

    return swap


def _sees_no_lock(gateway: Gateway, agent: Agent) -> bool:
    """Whether no tool in the agent's scope is locked."""
    return all(
        std.may_call(facts, "listing")
        for server, known in gateway.known().items()
        if std.scope(agent, server, "search")
        for facts in known
    )


MUTANTS: tuple[Mutant, ...] = (
    mutant(
        "flag-undescribed-at-calls",
        "One of two endpoints describes discovery without the flag.",
        "FR-014.described",
        description=lambda endpoint: (
            ""
            if endpoint == "/mcp/call"
            else "Set include_disabled to true to also list locked tools."
        ),
    ),
    mutant(
        "flag-described-beside-locks",
        "Agents without a locked tool in their scope read nothing of the flag.",
        "FR-014.described",
        swap=_undescribed(_sees_no_lock),
    ),
    mutant(
        "flag-described-until-used",
        "Agents read nothing of the flag once somebody has used it.",
        "FR-014.described",
        swap=_undescribed(lambda gateway, agent: agent.servers is not None and gateway.opt_ins > 0),
    ),
    mutant(
        "flag-described-in-camel-case",
        "The description spells the flag includeDisabled.",
        "FR-014.described",
        description=lambda _: "Set includeDisabled to true to also list locked tools.",
    ),
    mutant(
        "flag-undescribed",
        "The discovery tool's own description does not mention the flag.",
        "FR-014.described",
        description=lambda _: "",
    ),
    mutant(
        "undescribed-elsewhere",
        "At one endpoint, the discovery tool's description does not mention the flag.",
        "FR-014.described",
        description=lambda path: std.description(path) if path == "/mcp" else "",
    ),
    mutant(
        "described-unnamed",
        "The description mentions locked tools, but not the flag's name.",
        "FR-014.described",
        description=lambda _: "Locked tools can be listed too, if you ask for them.",
    ),
)
