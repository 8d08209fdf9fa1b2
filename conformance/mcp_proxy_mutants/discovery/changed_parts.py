"""`Decisions` that change a proxy's answers, and the tools, protocol and front that ask them."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Literal

from mcp_proxy_reference.config import Server
from mcp_proxy_reference.facts import Agent, Facts, Json
from mcp_proxy_reference.front import Front
from mcp_proxy_reference.front import Request as HttpRequest
from mcp_proxy_reference.gateway import Gateway
from mcp_proxy_reference.policy import Policy
from mcp_proxy_reference.protocol import Protocol
from mcp_proxy_reference.store import Store
from mcp_proxy_reference.tools import Tools, render


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A valid discovery request, as `Decisions.answer` receives it.

    `flag` is its include_disabled.
    """

    agent: Agent
    query: str
    limit: int
    flag: bool
    arguments: Mapping[str, Any]
    store: Store


def as_it_is(document: Json, _: Any) -> Json:
    """Return the document itself: the default of the decisions `answer` and `server_entry`."""
    return document


async def unchanged_reply(
    _agent: Agent, _session: str, _message: Json, respond: Callable[[], Awaitable[Json]]
) -> Json:
    """Return the reference's JSON-RPC answer unchanged: the default of the hook `reply`."""
    return await respond()


@dataclass(frozen=True, slots=True, kw_only=True)
class Decisions(Policy):
    """The reference's decisions, and further ones by which a proxy can differ from it.

    `answer` makes the last change to a discovery answer, `server_entry` to a server of the listing,
    `render` to the text of either, `reply` to every JSON-RPC answer.
    """

    answer: Callable[[Json, Request], Json] = as_it_is
    server_entry: Callable[[Json, Sequence[Facts]], Json] = as_it_is
    render: Callable[[Json], str] = render
    reply: Callable[[Agent, str, Json, Callable[[], Awaitable[Json]]], Awaitable[Json]] = (
        unchanged_reply
    )
    answers: Literal["json", "sse"] = "json"
    sessions: bool = True


def decisions(gateway: Gateway) -> Decisions:
    """Return the gateway's policy, asserting that it is of class `Decisions`."""
    assert isinstance(gateway.policy, Decisions)
    return gateway.policy


class ChangedTools(Tools):
    """The proxy's built-in tools, whose answers pass through `Decisions`."""

    def retrieve_tools(self, agent: Agent, arguments: Mapping[str, Any]) -> Json:
        """Return the answer to a discovery request, as `Decisions.answer` changes it.

        Raises ArgumentError for unusable arguments.
        """
        discovery = self.checked(arguments)
        document = self.discover(agent, discovery)
        request = Request(
            agent=agent,
            query=discovery.query,
            limit=discovery.limit,
            flag=discovery.flag,
            arguments=arguments,
            store=self.gateway.store,
        )
        return decisions(self.gateway).answer(document, request)

    def listed(self, server: Server, tools: Sequence[Facts]) -> Json:
        """Return a server's entry in the listing, as `Decisions.server_entry` changes it."""
        return decisions(self.gateway).server_entry(super().listed(server, tools), tools)

    def render(self, document: Json) -> str:
        """Return the JSON text of a document, as `Decisions.render` makes it."""
        return decisions(self.gateway).render(document)


PLACE: ContextVar[tuple[str, bool]] = ContextVar("place", default=("", False))
"""The endpoint of the request that is answered, and whether it is of the stateless revision."""


class ChangedProtocol(Protocol):
    """The protocol, whose answers pass through `Decisions.reply`."""

    async def answer(
        self, agent: Agent, endpoint: str, session: str, message: Json, *, stateless: bool
    ) -> Json:
        """Return the JSON-RPC answer to a valid request, as `Decisions.reply` changes it."""
        PLACE.set((endpoint, stateless))

        async def respond() -> Json:
            return await Protocol.answer(
                self, agent, endpoint, session, message, stateless=stateless
            )

        return await decisions(self.tools.gateway).reply(agent, session, message, respond)


class ChangedFront(Front):
    """The HTTP front, with or without sessions."""

    def __init__(self, gateway: Gateway) -> None:
        """Make the front over the changed tools.

        The policy says which form of answers is preferred.
        """
        super().__init__(ChangedProtocol(ChangedTools(gateway)), decisions(gateway).answers)

    def open_session(self) -> dict[str, str]:
        """Open a session and return its HTTP headers; for a proxy without sessions, return none."""
        return super().open_session() if decisions(self._gateway).sessions else {}

    def check_session(self, request: HttpRequest) -> None:
        """Check that the request's session is known; do nothing if the proxy has no sessions."""
        if decisions(self._gateway).sessions:
            super().check_session(request)
