"""An upstream of a revision before 2026-07-28, and its translation for clients of 2026-07-28."""

import asyncio
import itertools
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, suppress
from typing import Any, Protocol

from mcp_relay_reference import eras, message
from mcp_relay_reference.child import Child
from mcp_relay_reference.eras import (
    BAD_PARAMS,
    CAPABILITIES,
    HANDSHAKE,
    HEADERS,
    INTERNAL,
    LEVEL,
    META,
    NO_METHOD,
    OFFERED,
    STATELESS,
    VERSION,
)
from mcp_relay_reference.message import Message
from mcp_relay_reference.remote import Remote, Unreachable

SUBSCRIPTION, ACKNOWLEDGED = META + "subscriptionId", "notifications/subscriptions/acknowledged"
STATED = {VERSION, CAPABILITIES, LEVEL, META + "clientInfo"}
LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
NOT_FOUND, WITHDRAWN, RESERVED = -32002, {-32002, -32042}, range(-32099, -32019)
KEPT = {
    "server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list",
    "resources/read",
}  # fmt: skip
"""Methods whose results say how long, and for whom, they may be kept."""
NEWS = {
    f"notifications/{kind}/list_changed": (f"{kind}ListChanged", kind, "listChanged")
    for kind in ("tools", "prompts", "resources")
}
"""What a client asks for by the first, and an upstream promises by the other two."""
OK, NO_SESSION = 200, 404


class Stale(Exception):
    """The upstream no longer knows the session, and has done nothing."""


class Session(Protocol):
    """A session of the relay's own with an upstream until 2025-11-25."""

    def ask(self, sent: Message) -> AsyncGenerator[Message]:
        """Send a request; yield what comes for it, its answer last. Raises Stale or Unreachable."""

    async def tell(self, sent: Message) -> None:
        """Send a notification or an answer."""

    def listen(self) -> AsyncGenerator[Message | None]:
        """Yield None once the session listens, then what the upstream says of its own accord."""

    async def close(self) -> None:
        """End the session."""


class OfRemote:
    """A session over HTTP with an upstream until 2025-11-25."""

    def __init__(self, remote: Remote) -> None:
        """Send nothing yet."""
        self._remote = remote
        self._headers = dict(HEADERS)
        self._id: str | None = None

    async def ask(self, sent: Message) -> AsyncGenerator[Message]:
        """Post a request; yield the messages that come for it, its answer last.

        `initialize` begins the session. Raises Stale if the upstream has ended the session,
        Unreachable if it answers with bytes that are not a message.
        """
        async with self._remote.exchange("POST", self._headers, self._id, sent.line) as reply:
            if reply.status == NO_SESSION and self._id is not None:
                raise Stale
            if sent.method == "initialize":
                self._id = reply.session
                self._headers["mcp-protocol-version"] = HANDSHAKE[0]
            try:
                async for came in eras.messages(reply):
                    yield came
            except message.BadMessage:
                text = f"The upstream server answered with {reply.status} and no message."
                raise Unreachable(text) from None

    async def tell(self, sent: Message) -> None:
        """Post a message that gets no answer."""
        async with self._remote.exchange("POST", self._headers, self._id, sent.line):
            pass

    async def listen(self) -> AsyncGenerator[Message | None]:
        """Yield None once there is a stream at GET or none is offered, then its messages."""
        async with self._remote.exchange("GET", self._headers, self._id, b"") as reply:
            yield None
            if reply.status == OK:
                async for came in eras.messages(reply):
                    yield came

    async def close(self) -> None:
        """Delete the session."""
        if self._id is not None:
            with suppress(Unreachable):
                async with self._remote.exchange("DELETE", self._headers, self._id, b""):
                    pass


class OfChild:
    """A session over stdio, a process, with an upstream until 2025-11-25."""

    def __init__(self, child: Child) -> None:
        """Keep the process, which nobody else speaks to."""
        self._child = child

    async def ask(self, sent: Message) -> AsyncGenerator[Message]:
        """Write a request; yield the messages that come for it, its answer last.

        Raises Stale if the process had ended before.
        """
        if self._child.is_over:
            raise Stale
        stream = await self._child.send(sent)
        while stream is not None and (came := await stream.get()) is not None:
            yield came

    async def tell(self, sent: Message) -> None:
        """Write a message that gets no answer."""
        await self._child.send(sent)

    async def listen(self) -> AsyncGenerator[Message | None]:
        """Yield None, then what belongs to no request."""
        stream = self._child.listen()
        yield None
        while (came := await stream.get()) is not None:
            yield came

    async def close(self) -> None:
        """End the process."""
        await self._child.close()


class Translated:
    """An upstream until 2025-11-25 for clients since 2026-07-28.

    One session has the requests of all clients, under ids and progress tokens of the relay's own;
    each subscription has a session. Neither declares anything, so that the upstream asks nobody.
    """

    def __init__(self, upstream: Remote | Sequence[str]) -> None:
        """Keep the upstream; nothing is sent yet."""
        self._upstream = upstream
        self._ids = itertools.count(1)
        self._opening = asyncio.Lock()
        self._session: Session | None = None
        self._greeting: dict[str, Any] = {}

    async def asked(self, sent: Message) -> AsyncGenerator[Message]:
        """Yield what a client gets for a request, its answer last, or an error of the relay's."""
        try:
            if sent.method == "subscriptions/listen":
                work = self._listened(sent)
            elif sent.method == "server/discover":
                await self._opened()
                yield _answer(sent, "result", _discovered(self._greeting))
                return
            else:
                work = self._again(sent)
            async with aclosing(work):
                async for came in work:
                    yield came
        except Unreachable as error:
            yield message.read(message.failure(sent.id, message.LOST, str(error)))

    async def close(self) -> None:
        """End the session of the requests."""
        if self._session is not None:
            await self._session.close()

    async def _again(self, sent: Message) -> AsyncGenerator[Message]:
        """Ask in the session that all requests share; yield what the client may get.

        If the upstream has lost the session, the request is sent again in a new one. Raises
        Unreachable if that is lost, too.
        """
        for _ in range(2):
            session = await self._opened()
            try:
                async with aclosing(self._asked(session, sent)) as work:
                    async for came in work:
                        yield came
            except Stale:  # it has done nothing, so it is asked again
                self._session = None if self._session is session else self._session
            else:
                return
        raise Unreachable("The upstream server loses its sessions.")

    async def _asked(self, session: Session, sent: Message) -> AsyncGenerator[Message]:
        """Send a request in a session; yield what its client may get, in the client's terms.

        If the client goes, the upstream is told that the request is cancelled. Requests of the
        upstream are answered here: only a ping is served. Raises Stale or Unreachable.
        """
        own_id = f'"relay/{next(self._ids)}"'
        try:
            async with aclosing(session.ask(_up(sent, own_id))) as work:
                async for came in work:
                    if came.method is None:
                        yield _down(sent, came)
                        return
                    if came.id is not None:
                        await session.tell(_declined(came))
                    elif (news := _news(sent, came)) is not None:
                        yield news
        except (asyncio.CancelledError, GeneratorExit):
            await session.tell(_message("notifications/cancelled", f'{{"requestId":{own_id}}}'))
            raise
        raise Unreachable("The upstream server broke off.")

    async def _listened(self, sent: Message) -> AsyncGenerator[Message]:
        """Yield the acknowledgement of a subscription, then the notifications that it asked for.

        They come in a session of its own, which is closed in the end. If the upstream ends its
        stream, the last one is a result.
        """
        session, greeting = await self._greeted()
        try:
            wanted = sent.params.get("notifications")
            agreed = await self._agreed(
                session, greeting, wanted if isinstance(wanted, dict) else {}
            )
            async with aclosing(session.listen()) as work:
                async for came in work:
                    if came is None:
                        yield _subscribed(sent, ACKNOWLEDGED, {"notifications": json.dumps(agreed)})
                    elif came.is_request:
                        await session.tell(_declined(came))
                    elif came.method is not None and _is_wanted(came, agreed):
                        yield _subscribed(sent, came.method, came.members("params"))
            meta = {SUBSCRIPTION: json.loads(sent.id or "null")}
            yield _answer(sent, "result", json.dumps({"resultType": "complete", "_meta": meta}))
        finally:
            await session.close()

    async def _agreed(
        self, session: Session, greeting: Mapping[str, Any], wanted: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the part of a subscription's filter `wanted` that the upstream supports.

        Its resources are subscribed to; one that the upstream refuses is left out.
        """
        offers = greeting.get("capabilities", {})
        agreed: dict[str, Any] = {
            name: True
            for name, kind, promise in NEWS.values()
            if wanted.get(name) and offers.get(kind, {}).get(promise)
        }
        if offers.get("resources", {}).get("subscribe"):
            uris = []
            for uri in wanted.get("resourceSubscriptions") or ():
                asked = _message("resources/subscribe", json.dumps({"uri": uri}), next(self._ids))
                uris += [uri async for came in session.ask(asked) if "result" in came.members()]
            agreed |= {"resourceSubscriptions": uris} if uris else {}
        return agreed

    async def _opened(self) -> Session:
        """Return the session that all requests share, opened if there is none."""
        async with self._opening:
            if self._session is None:
                self._session, self._greeting = await self._greeted()
            return self._session

    async def _greeted(self) -> tuple[Session, dict[str, Any]]:
        """Open a session; return (it, the upstream's greeting). Unreachable if that is refused."""
        session: Session
        if isinstance(self._upstream, Remote):
            session = OfRemote(self._upstream)
        else:
            session = OfChild(await Child.start(self._upstream))
        hello = {
            "protocolVersion": HANDSHAKE[0],
            "capabilities": {},
            "clientInfo": {"name": "mcp-relay-reference", "version": "1"},
        }
        asked = _message("initialize", json.dumps(hello), next(self._ids))
        answers = [came async for came in session.ask(asked) if came.method is None]
        greeting = json.loads(answers[0].members().get("result", "null")) if answers else None
        if not isinstance(greeting, dict):
            await session.close()
            raise Unreachable("The upstream server refused the relay.")
        await session.tell(_message("notifications/initialized"))
        return session, greeting


def _is_wanted(came: Message, agreed: Mapping[str, Any]) -> bool:
    """Whether a notification is among those that a subscription was promised."""
    if came.method == "notifications/resources/updated":
        return came.params.get("uri") in agreed.get("resourceSubscriptions", ())
    return bool(agreed.get(NEWS.get(came.method or "", ("",))[0]))


def _message(method: str, params: str = "{}", own_id: int | None = None) -> Message:
    """Return a message of the relay's own; `params` is JSON text."""
    members = {"method": json.dumps(method), "params": params}
    return message.of(members if own_id is None else {"id": str(own_id), **members})


def _up(sent: Message, own_id: str) -> Message:
    """Return a request as the upstream gets it: `own_id` is its id and, if it has one, its token.

    The token is that of progress. Members of `_meta` that only 2026-07-28 has, such as the version,
    are removed.
    """
    params, meta = sent.members("params"), sent.members("params", "_meta")
    kept = {name: text for name, text in meta.items() if name not in STATED}
    if "progressToken" in kept:
        kept["progressToken"] = own_id
    params.pop("_meta", None)
    if kept:
        params["_meta"] = message.text_of(kept)
    return message.of(sent.members() | {"id": own_id, "params": message.text_of(params)})


def _down(sent: Message, came: Message) -> Message:
    """Return the upstream's answer as a client of 2026-07-28 gets it.

    A result gets its type and, where it may be kept, cache hints; an error code that 2026-07-28
    withdrew or reserves is replaced.
    """
    if "result" in came.members():
        result = came.members("result") | {"resultType": '"complete"'}
        if sent.method in KEPT:
            result |= {"ttlMs": "0", "cacheScope": '"private"'}
        return _answer(sent, "result", message.text_of(result))
    error = came.members("error")
    code = json.loads(error.get("code", "null"))
    if code in WITHDRAWN or code in RESERVED:
        is_missing = code == NOT_FOUND and sent.method == "resources/read"
        error["code"] = str(BAD_PARAMS if is_missing else INTERNAL)
    return _answer(sent, "error", message.text_of(error))


def _answer(sent: Message, member: str, text: str) -> Message:
    """Return the answer to a request: its result or error, as JSON text."""
    return message.of({"id": sent.id or "null", member: text})


def _news(sent: Message, came: Message) -> Message | None:
    """Return a notification that came for a request as its client gets it; None if it may not.

    The client gets progress under its own token, and log messages of at least the level that its
    `_meta` names; nothing else.
    """
    params = came.members("params")
    if came.method == "notifications/progress" and sent.token is not None:
        params["progressToken"] = sent.token
        return message.of(came.members() | {"params": message.text_of(params)})
    least, level = eras.stated(sent).get(LEVEL), came.params.get("level")
    is_asked = least in LEVELS and level in LEVELS[LEVELS.index(least) :]
    return came if came.method == "notifications/message" and is_asked else None


def _declined(came: Message) -> Message:
    """Return the relay's own answer to a request of the upstream: only a ping is served."""
    error = {"code": NO_METHOD, "message": "This client has not declared that."}
    if came.method == "ping":
        return _answer(came, "result", "{}")
    return _answer(came, "error", json.dumps(error))


def _subscribed(sent: Message, method: str, params: dict[str, str]) -> Message:
    """Return a notification with the id of the subscription, the request `sent`, in its `_meta`."""
    meta = message.members_of(params.get("_meta", "")) | {SUBSCRIPTION: sent.id or "null"}
    inside = message.text_of(params | {"_meta": message.text_of(meta)})
    return message.of({"method": json.dumps(method), "params": inside})


def _discovered(greeting: Mapping[str, Any]) -> str:
    """Return the result of `server/discover`, as JSON text, from an upstream's greeting.

    `greeting` is its result of `initialize`.
    """
    offers = greeting.get("capabilities", {})
    result = {
        "resultType": "complete",
        "supportedVersions": [STATELESS, *HANDSHAKE],
        "capabilities": {name: offers[name] for name in OFFERED if name in offers},
        "_meta": {META + "serverInfo": greeting.get("serverInfo", {})},
        "ttlMs": 0,
        "cacheScope": "private",
    }
    texts = {"instructions": greeting["instructions"]} if "instructions" in greeting else {}
    return json.dumps(result | texts)
