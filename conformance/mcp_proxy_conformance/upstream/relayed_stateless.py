"""Scripted MCP server behind a relay, of stateless revision 2026-07-28, strict about requests."""

from __future__ import annotations

import asyncio
import json
import secrets
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from mcp_proxy_conformance.upstream import stateless_rules
from mcp_proxy_conformance.upstream.journal import Arrival
from mcp_proxy_conformance.upstream.relayed import (
    JSON,
    PATH,
    Answer,
    Dropped,
    Refusal,
    Relayed,
    RelayedServer,
    method_of,
    refused_answer,
)
from mcp_proxy_conformance.upstream.stateless_rules import (
    HEADER_MISMATCH,
    MISSING_CAPABILITY,
    Fault,
    meta_of,
)
from mcp_proxy_conformance.upstream.talk import ID, NEEDS
from mcp_proxy_conformance.wire import revisions
from mcp_proxy_conformance.wire.jsonrpc import decoded, dumps, object_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcp_proxy_conformance.upstream.http import HttpRequest
    from mcp_proxy_conformance.upstream.talk import EventStream, Send
    from mcp_proxy_conformance.verdict.cited import Headers

CLOSED = "(closed)"
"""The method of the journal's entry when a client closes the stream of a request in progress."""
LOOK_S = 0.02
NOTHING = "nothing"
"""A level of log messages that no message has."""
CACHEABLE = (
    "server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list",
    "resources/read",
)  # fmt: skip
GONE = ("initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe")
"""Methods of the handshake era that 2026-07-28 does not have."""
STATUS = {
    revisions.METHOD_NOT_FOUND: 404,
    revisions.UNSUPPORTED_REVISION: 400,
    HEADER_MISMATCH: 400,
    MISSING_CAPABILITY: 400,
}
OF_RETRIES = ("_meta", "inputResponses", "requestState")
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
LOG_LEVEL = "io.modelcontextprotocol/logLevel"
CHANGES = {
    "notifications/tools/list_changed": "toolsListChanged",
    "notifications/prompts/list_changed": "promptsListChanged",
    "notifications/resources/list_changed": "resourcesListChanged",
}
"""The member of a subscription's filter by the notification that it lets through."""


def relayed_server(name: str, given: Relayed) -> RelayedServer:
    """Return a server of this data, in the era that the data names; it listens nowhere yet."""
    return (StatelessServer if given.era == "stateless" else RelayedServer)(name, given)


class StatelessServer(RelayedServer):
    """One server of 2026-07-28, which refuses what that revision tells servers to refuse.

    What the data has it ask before an answer, it asks in the result; the retry has to bring the
    state of that result. Each subscription is a session that listens.

    Attributes:
        states: What each state that it has given out is about: the params of the request.
    """

    _has_sessions = False

    def __init__(self, name: str, given: Relayed) -> None:
        """Make a server of this data, which listens nowhere yet."""
        super().__init__(name, given)
        self.states: dict[str, Mapping[str, Any]] = {}
        self._spent: set[str] = set()
        self._requests = 0

    async def _respond(
        self, request: HttpRequest, events: EventStream, reader: asyncio.StreamReader
    ) -> tuple[int, bytes, Headers]:
        """Return (status, body, headers) of the answer to one HTTP request, which is journaled.

        If `events` has begun meanwhile, the body is its last event. If the client closes its
        connection before the answer, that is journaled too, and Dropped raised.
        """
        line = f"{request.method} {request.path}"
        message = decoded(request.body)
        method = method_of(message)
        refused = self._refused(request, "", message)
        self._record("received", request.body, f"{line} {method}".rstrip(), request.headers)
        arrived = partial(Arrival, session="", raw=request.body, headers=request.headers, line=line)
        self.journal.add(arrived(method=method or request.method, taken=refused is None))
        if refused is not None:
            return refused
        answering = asyncio.ensure_future(self._answered(message, "", events.send))
        try:
            while not (await asyncio.wait([answering], timeout=LOOK_S))[0]:
                if reader.at_eof():
                    self.journal.add(arrived(method=CLOSED))
                    raise Dropped
            body = answering.result()
        finally:
            answering.cancel()
        return _status(body), body, (JSON,) if body else ()

    def _refused(
        self, request: HttpRequest, session: str, message: Any
    ) -> tuple[int, bytes, Headers] | None:
        """Return (status, body, headers) that refuse an HTTP request; None if it is to be answered.

        It is refused if `refusing` is set, else for its path or HTTP method and, if `message`, its
        decoded body, is a JSON-RPC request, for its headers or `_meta`.
        """
        if self.refusing is not None:
            return super()._refused(request, session, message)
        if request.path.partition("?")[0] != PATH:
            return 404, b"", ()
        if request.method != "POST":
            return 405, b"", (("Allow", "POST"),)
        if not isinstance(message, dict) or "id" not in message or not method_of(message):
            return None
        fault = stateless_rules.http_fault(request.headers, message, self._marks(message))
        if fault is None:
            return None
        return 400, refused_answer(message, _refusal(fault)), (JSON,)

    def _marks(self, message: Mapping[str, Any]) -> Mapping[str, Sequence[str]]:
        """Return the path of the argument for each `x-mcp-header` mark of the tool that is called.

        Empty for a message that is not a call, and for an unknown tool.
        """
        params = message.get("params")
        if message["method"] != "tools/call" or not isinstance(params, dict):
            return {}
        for text in self.given.entries:
            entry = json.loads(text)
            if entry["name"] == params.get("name"):
                return stateless_rules.marks_of(entry)
        return {}

    def _declare(self, session: str, message: Any) -> None:
        """Store the capabilities and log level that a request's `_meta` states, under `session`.

        Without a level, no log message is sent.
        """
        meta = meta_of(message)
        self.talk.declared[session] = object_of(meta.get(revisions.META_CAPABILITIES))
        self.talk.levels[session] = str(meta.get(LOG_LEVEL, NOTHING))

    async def _member(self, method: str, params: dict[str, Any], session: str, send: Send) -> bytes:
        """Return the member `result` or `error` of the answer to a request, as JSON text.

        Refusal for a wrong `_meta`, and for methods of the handshake era only. `server/discover` is
        answered here, other methods as by the base class; results get their type and hints for
        caches.
        """
        if (fault := stateless_rules.meta_fault({"params": params})) is not None:
            raise _refusal(fault)
        if method in GONE:
            text = f"Method not found; this server speaks {revisions.LATEST_STATELESS}"
            raise Refusal(revisions.METHOD_NOT_FOUND, text)
        if method == "server/discover":
            return b'"result":' + self._typed(method, self._discovered())
        member = await super()._member(method, params, session, send)
        name, _, value = member.partition(b":")
        return member if name == b'"error"' else name + b":" + self._typed(method, value)

    async def _told(
        self, answer: Answer, params: dict[str, Any], session: str, send: Send
    ) -> bytes:
        """Send the notifications among an answer's `before` messages, then return its member.

        If there are requests among them whose capability the client has declared, the member is a
        result `input_required` with those requests and a new state, until a retry brings a response
        to each. Refusal for a state that was not issued for this request or was used already, and
        for an undeclared `needs`.
        """
        declared = self.talk.declared.get(session, {})
        if answer.needs and answer.needs not in declared:
            needed: dict[str, Any] = {answer.needs: {}}
            text = f"This needs {answer.needs}"
            raise Refusal(MISSING_CAPABILITY, text, {"requiredCapabilities": needed})
        asked = {
            f"{each['method']} “1”": {"method": each["method"], "params": each.get("params", {})}
            for each in map(json.loads, answer.before)
            if "id" in each and NEEDS.get(each["method"]) in declared
        }
        about = {name: value for name, value in params.items() if name not in OF_RETRIES}
        if (shown := params.get("requestState")) is not None:
            if str(shown) in self._spent or self.states.get(str(shown)) != about:
                raise Refusal(revisions.INVALID_PARAMS, "This state is not one of this request")
            self._spent.add(str(shown))
        given = params.get("inputResponses")
        if set(asked) - set(given if isinstance(given, dict) else ()):
            state = f"{secrets.token_hex(8)} “ü”\t+/=&%20\\"
            self.states[state] = about
            self.issued.add(state)
            result = {"resultType": "input_required", "inputRequests": asked, "requestState": state}
            return b'"result":' + dumps(result)
        told = replace(answer, before=tuple(each for each in answer.before if ID not in each))
        return await super()._told(told, params, session, send)

    async def _answered(self, message: Any, session: str, send: Send) -> bytes:
        """Return the answer to a message; b"" for a notification or an answer.

        What it states in `_meta` holds for this message alone. A subscription with a valid `_meta`
        is acknowledged, then gets notifications, and no answer: it waits until it is cancelled.
        """
        self._requests += 1
        session = f"{session}/{self._requests}"
        self._declare(session, message)
        if method_of(message) != "subscriptions/listen" or stateless_rules.meta_fault(message):
            return await super()._answered(message, session, send)
        wanted = object_of(message["params"].get("notifications"))

        async def tell(text: bytes) -> None:
            """Send a notification under the subscription's id, if its filter lets it through."""
            told = json.loads(text)
            params = told.get("params", {})
            uris = wanted.get("resourceSubscriptions")
            is_due = isinstance(uris, list) and params.get("uri") in uris
            if wanted.get(CHANGES.get(told["method"], "")) or is_due:
                await send(dumps({**told, "params": {"_meta": subscribed, **params}}))

        subscribed = {SUBSCRIPTION: message["id"]}
        acknowledged = {"_meta": subscribed, "notifications": wanted}
        method = "notifications/subscriptions/acknowledged"
        await send(dumps({"jsonrpc": "2.0", "method": method, "params": acknowledged}))
        self.talk.listen(session, tell)
        try:
            await asyncio.Event().wait()
        finally:
            self.talk.unlisten(session, tell)
        return b""

    def _typed(self, method: str, result: bytes) -> bytes:
        """Return a result, as JSON text, with its type and, for a cacheable method, cache hints.

        A result that begins with its type is returned unchanged.
        """
        if b'"resultType":' in result[:20]:
            return result
        hints = b'"ttlMs":500,"cacheScope":"private",' if method in CACHEABLE else b""
        head = b'{"resultType":"complete",' + hints
        return (head.removesuffix(b",") if result == b"{}" else head) + result[1:]

    def _discovered(self) -> bytes:
        """Return the result of `server/discover` as JSON text, without its type and cache hints."""
        members = {
            "supportedVersions": [revisions.LATEST_STATELESS],
            "capabilities": json.loads(self.given.capabilities),
            "_meta": {revisions.META_SERVER: {"name": self.name, "version": "1"}},
        }
        if self.given.instructions:
            members["instructions"] = self.given.instructions
        return dumps(members)


def _refusal(fault: Fault) -> Refusal:
    """Return the JSON-RPC error for what is wrong with a request."""
    return Refusal(fault.code, fault.message, fault.data)


def _status(body: bytes) -> int:
    """Return the HTTP status of an answer: 202 for an empty body, else 200.

    Some error codes have a status of their own, in STATUS.
    """
    if not body:
        return 202
    error = json.loads(body).get("error")
    return STATUS.get(int(error["code"]), 200) if isinstance(error, dict) else 200
