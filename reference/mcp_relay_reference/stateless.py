"""An upstream of 2026-07-28, and its translation for clients of revisions before that."""

import asyncio
import itertools
import json
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing, suppress
from typing import Any, Protocol

from mcp_relay_reference import eras, message
from mcp_relay_reference.child import Child, Stream
from mcp_relay_reference.eras import (
    CAPABILITIES,
    HEADERS,
    INTERNAL,
    LEVEL,
    META,
    STATELESS,
    VERSION,
)
from mcp_relay_reference.message import Message
from mcp_relay_reference.remote import Remote, Unreachable

PROBED_S = 2.0
PARAM, CANCELLED = "mcp-param-", "notifications/cancelled"
MODERN = {eras.MISMATCH, eras.UNSUPPORTED, -32021}
"""Codes by which an upstream since 2026-07-28 refuses a request."""
OWN = {"resultType", "ttlMs", "cacheScope"}
"""Members of results that clients until 2025-11-25 do not have."""


IDS = itertools.count(1)


class Silent(Unreachable):
    """The upstream answered over HTTP with no message."""


class Upstream(Protocol):
    """An upstream since 2026-07-28."""

    def ask(self, sent: Message) -> AsyncGenerator[Message]:
        """Send a request; yield what comes for it, its answer last. Raises Unreachable.

        Once the generator is closed early, the upstream is told that the request is cancelled.
        """

    async def close(self) -> None:
        """End what was started."""


class OfRemote:
    """An upstream of 2026-07-28 over HTTP; a closed response cancels its request."""

    def __init__(self, remote: Remote) -> None:
        """Send nothing yet."""
        self._remote = remote
        self._marks: dict[str, dict[str, Sequence[str]]] = {}

    async def ask(self, sent: Message) -> AsyncGenerator[Message]:
        """Post a request, with headers that fit it; yield what comes for it, its answer last.

        If a call is refused because its headers for arguments do not fit, the tools are listed and
        it is posted once more.
        """
        may_list = sent.method == "tools/call"
        while True:
            async with aclosing(self._posted(sent)) as work:
                async for came in work:
                    if may_list and _code(came) == eras.MISMATCH:
                        break
                    yield came
                else:
                    return
            may_list = False
            await self._list(sent)

    async def close(self) -> None:
        """Do nothing: the upstream is closed by its owner."""

    async def _posted(self, sent: Message) -> AsyncGenerator[Message]:
        """Post a request; yield what comes for it, its answer last.

        The `x-mcp-header` marks of tools that are listed are kept. Raises Silent without an answer
        among the messages.
        """
        async with self._remote.exchange("POST", self._headers(sent), None, sent.line) as reply:
            is_answered = False
            with suppress(message.BadMessage):
                async for came in eras.messages(reply):
                    is_answered = came.method is None
                    if sent.method == "tools/list":
                        self._learn(came)
                    yield came
            if not is_answered:
                raise Silent(f"The upstream answered with {reply.status} and no message.")

    def _headers(self, sent: Message) -> dict[str, str]:
        """Return the headers of a request: they repeat its version, method and name.

        Those of a call also repeat the arguments that its tool marks with `x-mcp-header`, if it was
        listed.
        """
        headers = {**HEADERS, "mcp-protocol-version": STATELESS, "mcp-method": sent.method or ""}
        name = sent.params.get(eras.NAMES.get(sent.method or "", ""))
        if isinstance(name, str):
            headers["mcp-name"] = message.header(name)
        if sent.method == "tools/call":
            for mark, path in self._marks.get(str(name), {}).items():
                value: Any = sent.params.get("arguments")
                for each in path:
                    value = value.get(each) if isinstance(value, dict) else None
                if value is not None:
                    text = value if isinstance(value, str) else json.dumps(value)
                    headers[PARAM + mark.lower()] = message.header(text)
        return headers

    async def _list(self, sent: Message) -> None:
        """Request all pages of the tools with the `_meta` of `sent`, so that marks are kept."""
        cursor: dict[str, str] | None = {}
        meta = message.text_of(sent.members("params", "_meta"))
        while cursor is not None:
            params = message.text_of({**cursor, "_meta": meta})
            asked = message.of({"id": '"list"', "method": '"tools/list"', "params": params})
            async for came in self._posted(asked):
                following = came.members("result").get("nextCursor")
            cursor = None if following is None else {"cursor": following}

    def _learn(self, came: Message) -> None:
        """Keep the `x-mcp-header` marks of the tools in an answer to `tools/list`."""
        for tool in json.loads(came.members("result").get("tools", "[]")):
            self._marks[tool["name"]] = dict(_marked(tool.get("inputSchema"), ()))


class OfChild:
    """An upstream of 2026-07-28 over stdio: one process, started when asked, again if it ends.

    Requests have ids and progress tokens of the relay's own there. What names no request, such as a
    log message, is dropped.
    """

    def __init__(self, command: Sequence[str]) -> None:
        """Keep the words of the command line; nothing is started yet."""
        self._command = command
        self._child: Child | None = None
        self._starting = asyncio.Lock()

    async def ask(self, sent: Message) -> AsyncGenerator[Message]:
        """Write a request to the process, started if needed; yield what comes for it.

        The answer comes last. If the generator is closed before, the upstream is told that the
        request is cancelled.
        """
        async with self._starting:
            if self._child is None or self._child.is_over:
                self._child = await Child.start(self._command)
        child, own_id = self._child, f'"relay/{next(IDS)}"'
        meta = sent.members("params", "_meta")
        if "progressToken" in meta:
            meta["progressToken"] = own_id
        params = message.text_of(sent.members("params") | {"_meta": message.text_of(meta)})
        stream = await child.send(message.of(sent.members() | {"id": own_id, "params": params}))
        assert stream is not None
        is_over = False
        try:
            while (came := await stream.get()) is not None:
                is_over = came.method is None
                if (restored := _restored(sent, came)) is not None:
                    yield restored
        finally:
            if not is_over:
                text = message.text_of({"requestId": own_id})
                await child.send(message.of({"method": f'"{CANCELLED}"', "params": text}))

    async def close(self) -> None:
        """End the process."""
        if self._child is not None:
            await self._child.close()


class Bridge:
    """A session of a client until 2025-11-25 with an upstream of 2026-07-28; used like a Child.

    What the upstream asks for in a result is asked of the client on the stream of its request,
    which is then sent again.
    """

    is_over = False

    def __init__(self, upstream: Upstream) -> None:
        """Keep the upstream; nothing is sent yet."""
        self._upstream = upstream
        self._stated = {VERSION: json.dumps(STATELESS), CAPABILITIES: "{}"}
        self._running: dict[str, asyncio.Task[None]] = {}
        self._asked: dict[str, asyncio.Future[Message]] = {}

    async def send(self, sent: Message) -> Stream | None:
        """Take a client's message; return the stream of a request's answer, else None.

        An answer to a question of the upstream goes to the request that waits for it; a
        cancellation ends its request. Other messages are dropped.
        """
        if sent.method is None and sent.id in self._asked:
            asked = self._asked.pop(sent.id)
            if not asked.done():  # its request may have been cancelled
                asked.set_result(sent)
        elif sent.method == CANCELLED:
            cancelled = json.dumps(sent.params.get("requestId"))
            if cancelled in self._running:
                self._running[cancelled].cancel()
        if not sent.is_request:
            return None
        assert sent.id is not None
        stream = Stream()
        self._running[sent.id] = asyncio.create_task(self._serve(sent, stream))
        return stream

    def listen(self) -> Stream:
        """Return the stream of what the upstream says of its own accord, which is nothing."""
        return Stream()

    def unlisten(self, stream: Stream | None) -> None:
        """End a listening stream by None."""
        if stream is not None:
            stream.put_nowait(None)

    async def close(self) -> None:
        """Cancel what is in progress, and end the upstream."""
        for task in [*self._running.values()]:
            task.cancel()
        await self._upstream.close()

    async def _serve(self, sent: Message, stream: Stream) -> None:
        """Put what comes for a request on its stream, then None.

        If the upstream cannot be reached or does not answer, the answer is an error.
        """
        try:
            stream.put_nowait(await self._answer(sent, stream))
        except Unreachable as error:
            stream.put_nowait(message.read(message.failure(sent.id, message.LOST, str(error))))
        finally:
            stream.put_nowait(None)
            self._running.pop(sent.id or "", None)

    async def _answer(self, sent: Message, stream: Stream) -> Message:
        """Return the answer to a request of the client.

        `initialize` is answered from the upstream's `server/discover`; `logging/setLevel` and
        `ping` by the relay alone; other methods that 2026-07-28 does not have are refused; the rest
        is asked of the upstream.
        """
        result: dict[str, Any] = {}
        if sent.method == "initialize":
            declared = sent.members("params").get("capabilities", "{}")
            self._stated[CAPABILITIES] = declared
            self._stated[META + "clientInfo"] = sent.members("params").get("clientInfo", "{}")
            asked = message.of({"id": sent.id or "", "method": '"server/discover"'})
            discovery = await self._final(asked, stream)
            if "result" not in discovery.members():
                return discovery
            greeting = json.loads(discovery.members()["result"])
            version = sent.params.get("protocolVersion")
            meta = greeting.get("_meta", {})
            offers = greeting.get("capabilities", {})
            result = {
                "protocolVersion": version if version in eras.HANDSHAKE else eras.HANDSHAKE[0],
                "capabilities": {name: offers[name] for name in eras.OFFERED if name in offers},
                "serverInfo": meta.get(META + "serverInfo", {"name": "upstream", "version": ""}),
            }
            for promised in result["capabilities"].values():
                promised.pop("listChanged", None)
                promised.pop("subscribe", None)
            if "instructions" in greeting:
                result["instructions"] = greeting["instructions"]
        elif sent.method == "logging/setLevel":
            self._stated[LEVEL] = json.dumps(sent.params.get("level"))
        elif sent.method in eras.GONE - {"ping"}:
            text = "There is no such method."
            return message.read(message.failure(sent.id, eras.NO_METHOD, text))
        elif sent.method != "ping":
            return await self._final(sent, stream)
        return message.of({"id": sent.id or "null", "result": json.dumps(result)})

    async def _final(self, sent: Message, stream: Stream) -> Message:
        """Ask the upstream until its answer is final; return that, translated for the client.

        Questions in its results are put to the client, and the request is sent again with the
        answers; an error if the client gives none. Notifications go to the stream. Raises
        Unreachable.
        """
        retry: dict[str, str] = {}
        while True:
            async with aclosing(self._upstream.ask(self._up(sent, retry))) as work:
                async for came in work:
                    if came.method is not None:
                        stream.put_nowait(came)
            result = came.members("result")
            if result.get("resultType") != '"input_required"':
                return _down(sent, came)
            questions = message.members_of(result.get("inputRequests", "{}"))
            try:
                given = [await self._put(text, stream) for text in questions.values()]
            except LookupError:
                text = "The client did not give what the upstream server needs."
                return message.read(message.failure(sent.id, INTERNAL, text))
            retry = {name: result[name] for name in ("requestState",) if name in result}
            if questions:
                answers = dict(zip(questions, given, strict=True))
                retry["inputResponses"] = message.text_of(answers)

    async def _put(self, question: str, stream: Stream) -> str:
        """Ask the client a question of the upstream, wait, and return the result, as JSON text.

        LookupError if the client answers without a result.
        """
        own_id = f'"relay/{next(IDS)}"'
        self._asked[own_id] = asyncio.get_running_loop().create_future()
        stream.put_nowait(message.of({"id": own_id, **message.members_of(question)}))
        return (await self._asked[own_id]).members()["result"]

    def _up(self, sent: Message, retry: dict[str, str]) -> Message:
        """Return a request as the upstream gets it: under a new id, with the members of `retry`.

        Its `_meta` states version and capabilities and, if the client gave them, its name and log
        level.
        """
        meta = sent.members("params", "_meta") | self._stated
        params = sent.members("params") | {"_meta": message.text_of(meta)} | retry
        own_id = f'"relay/{next(IDS)}"'
        return message.of(sent.members() | {"id": own_id, "params": message.text_of(params)})


def upstream_of(upstream: Remote | Sequence[str]) -> OfRemote | OfChild:
    """Return an upstream since 2026-07-28 at that URL, or of that command line."""
    return OfRemote(upstream) if isinstance(upstream, Remote) else OfChild(upstream)


async def versions_of(upstream: Upstream) -> Sequence[str]:
    """Return the versions that an upstream names when it is asked in 2026-07-28.

    They are empty if that is not among them, or if it gives no answer in 2 s. Raises Unreachable
    without a connection.
    """
    meta = message.text_of({VERSION: json.dumps(STATELESS), CAPABILITIES: "{}"})
    params = message.text_of({"_meta": meta})
    asked = message.of({"id": '"probe"', "method": '"server/discover"', "params": params})
    versions: Sequence[str] = ()
    with suppress(TimeoutError, Silent):
        async with asyncio.timeout(PROBED_S), aclosing(upstream.ask(asked)) as work:
            async for came in work:
                versions = json.loads(came.members("result").get("supportedVersions", "[]"))
    return versions if STATELESS in versions else ()


def _restored(sent: Message, came: Message) -> Message | None:
    """Return a message with the id or token of the client's request in place of the relay's own.

    That is the id of an answer, the token of progress, or the id of a subscription; None for a
    notification that names none.
    """
    if came.method is None:
        return message.of(came.members() | {"id": sent.id or "null"})
    params, meta = came.members("params"), came.members("params", "_meta")
    if came.method == "notifications/progress":
        params["progressToken"] = sent.token or "null"
    elif message.SUBSCRIPTION in meta:
        params["_meta"] = message.text_of(meta | {message.SUBSCRIPTION: sent.id or "null"})
    else:
        return None
    return message.of(came.members() | {"params": message.text_of(params)})


def _down(sent: Message, came: Message) -> Message:
    """Return a final answer for a client until 2025-11-25, under the id of its request `sent`.

    Members of results that only 2026-07-28 has are removed, and its error codes become an internal
    error.
    """
    members = {"id": sent.id or "null"}
    if "result" in came.members():
        result = came.members("result")
        kept = {name: text for name, text in result.items() if name not in OWN}
        return message.of(members | {"result": message.text_of(kept)})
    error = came.members("error")
    if _code(came) in MODERN:
        error["code"] = str(INTERNAL)
    return message.of(members | {"error": message.text_of(error)})


def _code(came: Message) -> Any:
    """Return the code of an error; None for another message."""
    return json.loads(came.members("error").get("code", "null"))


def _marked(schema: Any, path: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield (name of the header, path of the argument) for each mark of an input schema."""
    inside = schema.get("properties") if isinstance(schema, dict) else None
    for name, each in inside.items() if isinstance(inside, dict) else ():
        if isinstance(each, dict) and isinstance(mark := each.get("x-mcp-header"), str):
            yield mark, (*path, name)
        yield from _marked(each, (*path, name))
