"""Several upstreams over HTTP as one server: their tools, each under the number of its upstream."""

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager

from mcp_relay_reference import eras, message
from mcp_relay_reference.message import Message
from mcp_relay_reference.remote import Remote, Reply, Unreachable

NOT_FOUND, INVALID_PARAMS, LIST_ID = -32601, -32602, '"list"'
JSON = {"content-type": "application/json"}
Sessions = Sequence[str | None]
"""The ids of a session at each upstream, in order."""
Tool = tuple[int, dict[str, str]]
"""The number of an upstream, and the members of a tool that it lists, as JSON texts."""


class Several(Remote):
    """Upstreams whose tools are listed on one page; nothing else of them is offered."""

    def __init__(self, remotes: Sequence[Remote]) -> None:
        """Keep the upstreams, each with a URL and credentials of its own; nothing is sent yet."""
        self._remotes = remotes
        self._sessions: dict[str, Sessions] = {}
        self._calls: dict[tuple[str | None, str | None], int] = {}

    @asynccontextmanager
    async def exchange(
        self, method: str, headers: Mapping[str, str], session: str | None, body: bytes
    ) -> AsyncIterator[Reply]:
        """Answer a client's request, or send a call on to the upstream whose tool it names.

        `initialize` opens a session at each upstream, `tools/list` merges their tools; other
        requests but `ping` are refused, and GET gets 405. Raises Unreachable if an upstream that is
        asked does not answer.
        """
        sessions = self._sessions.get(session or "", [])
        sent = message.read(body) if method == "POST" else None
        if sent is not None and sent.method == "initialize":
            yield await self._opened(sent, headers)
        elif sent is not None and sent.method == "tools/list" and sessions:
            tools = ",".join(self.merged(await self._listed(headers, sessions)))
            yield _reply(sent, "result", f'{{"tools":[{tools}]}}')
        elif sent is not None and sent.method == "tools/call" and sessions:
            number, name = self.routed(str(sent.params.get("name")))
            if number not in range(len(sessions)):
                yield _refusal(sent, INVALID_PARAMS, f"Unknown tool: {sent.params.get('name')}")
                return
            params = {**sent.members("params"), "name": json.dumps(name)}
            line = message.of({**sent.members(), "params": message.text_of(params)}).line
            remote, key = self._remotes[number], (session, sent.id)
            self._calls[key] = number
            try:
                async with remote.exchange("POST", headers, sessions[number], line) as reply:

                    async def answer(asked: Message) -> None:
                        """Answer a ping of the upstream."""
                        pong = message.of({"id": asked.id or "null", "result": "{}"}).line
                        async with remote.exchange("POST", headers, sessions[number], pong):
                            pass

                    yield reply._replace(session=None, body=_heard(reply, answer))
            finally:
                del self._calls[key]
        elif sent is not None and sent.method == "ping":
            yield _reply(sent, "result", "{}")
        elif sent is not None and sent.is_request:
            yield _refusal(sent, NOT_FOUND, "Only tools are relayed.")
        elif method == "GET":
            yield Reply(405, {}, None, _one(b""))
        else:
            await self._told(method, headers, session, body)
            yield Reply(200 if method == "DELETE" else 202, {}, None, _one(b""))

    async def close(self) -> None:
        """Close all connections."""
        await asyncio.gather(*(remote.close() for remote in self._remotes))

    async def _opened(self, sent: Message, headers: Mapping[str, str]) -> Reply:
        """Open a session at each upstream; return the first one's answer, offering only tools.

        The session gets an id of the relay's own. If an upstream refuses, its answer is returned.
        """
        params = {**sent.members("params"), "capabilities": "{}"}
        opening = message.of({**sent.members(), "params": message.text_of(params)})
        answers = [await _asked(remote, opening, headers, None) for remote in self._remotes]
        if refused := [answer for answer, _ in answers if not answer.members("result")]:
            return Reply(200, JSON, None, _one(refused[0].line))
        name = secrets.token_hex(16)
        self._sessions[name] = [session for _, session in answers]
        result = answers[0][0].members("result") | {"capabilities": '{"tools":{}}'}
        result.pop("instructions", None)
        return _reply(sent, "result", message.text_of(result))._replace(session=name)

    def merged(self, tools: Sequence[Tool]) -> list[str]:
        """Return the tools, as JSON texts, each named NUMBER_NAME by its upstream's number."""
        return [
            message.text_of(tool | {"name": json.dumps(f"{number}_{json.loads(tool['name'])}")})
            for number, tool in tools
        ]

    def routed(self, name: str) -> tuple[int, str]:
        """Return (upstream's number, name there) of a tool NUMBER_NAME; (-1, `name`) for others."""
        number, _, own = name.partition("_")
        return (int(number), own) if number.isdecimal() else (-1, name)

    async def _listed(self, headers: Mapping[str, str], sessions: Sessions) -> list[Tool]:
        """Return the tools of all pages of all upstreams; Unreachable if one does not list them."""
        tools = []
        for number, remote in enumerate(self._remotes):
            params: dict[str, str] | None = {}
            while params is not None:
                asked = {"id": LIST_ID, "method": '"tools/list"', "params": message.text_of(params)}
                answer, _ = await _asked(remote, message.of(asked), headers, sessions[number])
                result = answer.members("result")
                if "tools" not in result:
                    raise Unreachable("An upstream server does not list its tools.")
                texts = message.items_of(result["tools"])
                tools += [(number, message.members_of(text)) for text in texts]
                following = result.get("nextCursor")
                params = None if following is None else {"cursor": following}
        return tools

    async def _told(
        self, method: str, headers: Mapping[str, str], session: str | None, body: bytes
    ) -> None:
        """Pass DELETE and `notifications/initialized` to all upstreams, a cancellation to one.

        That is the upstream with the cancelled call. Anything else that needs no answer is dropped:
        no upstream asks for it or was promised it.
        """
        sessions = self._sessions.get(session or "", [])
        numbers: Sequence[int] = []
        if method == "DELETE":
            self._sessions.pop(session or "", None)
            numbers = range(len(sessions))
        else:
            sent = message.read(body)
            if sent.method == "notifications/initialized":
                numbers = range(len(sessions))
            elif sent.method == "notifications/cancelled":
                key = session, json.dumps(sent.params.get("requestId"))
                numbers = [self._calls[key]] if key in self._calls else []
        for number in numbers:
            async with self._remotes[number].exchange(method, headers, sessions[number], body):
                pass


async def _asked(
    remote: Remote, sent: Message, headers: Mapping[str, str], session: str | None
) -> tuple[Message, str | None]:
    """Return an upstream's answer to a request, and the id of a session that it begins.

    Raises Unreachable without an answer.
    """
    async with (
        remote.exchange("POST", headers, session, sent.line) as reply,
        aclosing(eras.messages(reply)) as messages,
    ):
        async for came in messages:
            if came.method is None:
                return came, reply.session
    raise Unreachable("An upstream server does not answer.")


def _reply(sent: Message, name: str, member: str) -> Reply:
    """Return the answer to a request, with its member `result` or `error` as JSON text."""
    return Reply(200, JSON, None, _one(message.of({"id": sent.id or "null", name: member}).line))


def _refusal(sent: Message, code: int, text: str) -> Reply:
    """Return the relay's own error as the answer to a request."""
    return Reply(200, JSON, None, _one(message.failure(sent.id, code, text)))


async def _heard(
    reply: Reply, answer: Callable[[Message], Awaitable[None]]
) -> AsyncIterator[bytes]:
    """Yield the body of an answer; a stream's is without log messages, which are not offered.

    Pings in a stream are given to `answer` instead.
    """
    if "text/event-stream" not in reply.headers.get("content-type", ""):
        async for part in reply.body:
            yield part
        return
    async for came in eras.messages(reply):
        if came.method == "ping":
            await answer(came)
        elif came.method != "notifications/message":
            yield b"event: message\ndata: " + came.line.strip() + b"\n\n"


async def _one(body: bytes) -> AsyncIterator[bytes]:
    """Yield a body as its only part."""
    await asyncio.sleep(0)
    yield body
