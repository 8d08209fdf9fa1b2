"""MCP client that answers its server's requests and keeps every message; its three transports.

A ListeningClient speaks over a Carrier, which is OverHttp, OverSse or OverStdio.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from mcp_proxy_conformance.fidelity import exact_json
from mcp_proxy_conformance.targets.waits import poll
from mcp_proxy_conformance.wire import revisions
from mcp_proxy_conformance.wire.deadline import Deadline
from mcp_proxy_conformance.wire.event_stream import EventStream
from mcp_proxy_conformance.wire.faults import ProtocolFault, Unreachable
from mcp_proxy_conformance.wire.http import STREAM, Http, HttpResponse
from mcp_proxy_conformance.wire.jsonrpc import dumps, fresh_id, message_of, object_of
from mcp_proxy_conformance.wire.program import Program
from mcp_proxy_conformance.wire.response import Event
from mcp_proxy_conformance.wire.session import SESSION_ID
from mcp_proxy_conformance.wire.transcript import Message, Transcript

TIMEOUT_S, LISTENS_S, WHOLE_S = 10.0, 60.0, 3.0
OPENS_S, LOOK_S, AFTER_S, ANSWERED_S = 1.0, 0.05, 0.1, 0.5
"""Seconds for a stream to open, between two looks whether a client ends, after an answer, and for
answers that nobody else waits for."""
KEEPING = ("initialize", "notifications/initialized", "tools/list", "tools/call")
"""Methods after which a session is as it was."""
REFUSAL = b'"error":{"code":-32601,"message":"Method not found"}'
Take = Callable[[bytes, int], None]
"""Takes a message that has arrived, and the number of the stream on which it did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """One message that arrived, exactly and as Python data, and the number of its stream."""

    raw: bytes
    message: Mapping[str, Any]
    stream: int

    @property
    def method(self) -> str:
        """Its method; empty for an answer."""
        return str(self.message.get("method", ""))

    @property
    def params(self) -> Mapping[str, Any]:
        """Its params; empty without any."""
        return object_of(self.message.get("params"))

    @property
    def exact(self) -> Any:
        """Its params, exactly."""
        return exact_json.sent(self.raw, "params")


class Carrier(Protocol):
    """Transport of one client's messages; `revision` is empty before the handshake."""

    revision: str

    @property
    def is_dear(self) -> bool:
        """Whether it is open, and to open another one costs as much as to start a program."""

    def begin(self, take: Take) -> None:
        """Hand what arrives to `take` from now on."""

    def send(
        self, body: bytes, note: str, is_over: Callable[[], bool] | None = None, *,
        whole: bool = False,
    ) -> str:  # fmt: skip
        """Send a message; of a request wait until it `is_over`, or until its `whole` stream ends.

        Return the reason to give if no answer came; it is never empty. Nothing is raised.
        """

    def listen(self) -> None:
        """Take what the server sends of its own accord."""

    def close(self) -> None:
        """End the session, and every exchange in it."""


class OverHttp:
    """Streamable HTTP, each exchange on a connection of its own."""

    def __init__(
        self, url: str, transcript: Transcript, headers: Mapping[str, str] | None = None
    ) -> None:
        """Send nothing yet; `headers` go with every request."""
        self.revision = ""
        self._url, self._transcript = url, transcript
        self._own = dict(headers or {})
        self._session: str | None = None
        self._streams = itertools.count()
        self._running: set[Http] = set()
        self._take: Take = _ignored

    @property
    def is_dear(self) -> bool:
        """Return False: another session costs three requests."""
        return False

    def begin(self, take: Take) -> None:
        """Hand what arrives to `take` from now on."""
        self._take = take

    def send(
        self, body: bytes, note: str, is_over: Callable[[], bool] | None = None, *,
        whole: bool = False,
    ) -> str:  # fmt: skip
        """Post a message; take what comes until `is_over` or, with `whole`, until its stream ends.

        A whole stream is read for three seconds at most, another one for ten. Return why there may
        be no answer; nothing is raised.
        """
        stream = next(self._streams)

        def until(event: Event) -> bool:
            """Take an event; return whether it is the last that is waited for."""
            self._take(event.data, stream)
            return not whole and is_over is not None and is_over()

        seconds = WHOLE_S if whole else TIMEOUT_S
        http = Http(self._url, self._transcript)
        try:
            response = self._exchange(http, "POST", body, note=note, until=until, timeout=seconds)
        except (Unreachable, ProtocolFault) as fault:
            return str(fault)
        if (session := response.header(SESSION_ID)) is not None:
            self._session = session
        if response.media_type != STREAM:
            self._take(response.body, stream)
        return f"HTTP {response.status}"

    def listen(self) -> None:
        """Open the stream at GET in the background; wait one second at most until it answers."""
        http, stream = Http(self._url, self._transcript), next(self._streams)

        def until(event: Event) -> bool:
            """Take an event, and return False: none is the last."""
            self._take(event.data, stream)
            return False

        def run() -> None:
            with contextlib.suppress(Unreachable, ProtocolFault):
                self._exchange(http, "GET", b"", note="listen", until=until, timeout=LISTENS_S)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        poll(lambda: http.is_answering or not thread.is_alive(), bool, OPENS_S)

    def close(self) -> None:
        """Delete the session, and cut off what is running."""
        if self._session is not None:
            with contextlib.suppress(Unreachable, ProtocolFault):
                http = Http(self._url, self._transcript)
                self._exchange(http, "DELETE", b"", note="", until=_is_last, timeout=1.0)
        for http in [*self._running]:
            http.interrupt()

    def _exchange(
        self, http: Http, method: str, body: bytes, *, note: str,
        until: Callable[[Event], bool], timeout: float,
    ) -> HttpResponse:  # fmt: skip
        """Send one HTTP request on a new connection; return the response.

        `until` gets each event and returns whether it is the last that is waited for; `timeout` is
        in seconds. Raises Unreachable without a whole answer in time, ProtocolFault for one that is
        not HTTP or too large.
        """
        accept = STREAM if method == "GET" else f"application/json, {STREAM}"
        headers = [("Accept", accept), ("Content-Type", "application/json"), *self._own.items()]
        if self.revision:
            headers.append(("MCP-Protocol-Version", self.revision))
        if self._session is not None:
            headers.append((SESSION_ID, self._session))
        self._running.add(http)
        try:
            return http.exchange(method, body, headers, note=note, timeout=timeout, until=until)
        finally:
            self._running.discard(http)
            http.close()


class OverSse:
    """HTTP+SSE: one stream has everything that arrives, and each message is posted."""

    def __init__(
        self, url: str, transcript: Transcript, headers: Mapping[str, str] | None = None
    ) -> None:
        """Send nothing yet; `headers` go with every request."""
        self._stream = EventStream(url, transcript, headers or {}, self._keep)
        self._take: Take = _ignored
        self._refusal = ""

    @property
    def revision(self) -> str:
        """The revision that requests state."""
        return self._stream.revision

    @revision.setter
    def revision(self, agreed: str) -> None:
        self._stream.revision = agreed

    @property
    def is_dear(self) -> bool:
        """Return False: another session costs a few requests."""
        return False

    def begin(self, take: Take) -> None:
        """Open the stream, and hand what arrives to `take`; a failure is returned by `send`."""
        self._take = take
        try:
            self._stream.open(TIMEOUT_S)
        except (Unreachable, ProtocolFault) as fault:
            self._refusal = str(fault)

    def send(
        self, body: bytes, note: str, is_over: Callable[[], bool] | None = None, *,
        whole: bool = False,
    ) -> str:  # fmt: skip
        """Post a message; with `is_over` wait until that holds, for ten seconds at most.

        With `whole`, what follows within 0.1 s is taken too. Return why there may be no answer.
        """
        try:
            if not self._refusal:
                self._stream.post(body, note=note, timeout=TIMEOUT_S)
        except (Unreachable, ProtocolFault) as fault:
            return str(fault)
        if is_over is not None and not self._refusal:
            poll(lambda: is_over() or self._stream.fault is not None, bool, TIMEOUT_S)
            time.sleep(AFTER_S if whole else 0)
        return self._refusal or "no answer in time"

    def listen(self) -> None:
        """Do nothing: the one stream has everything."""

    def close(self) -> None:
        """End the stream."""
        self._stream.close()

    def _keep(self, received: Message | None) -> None:
        if received is not None:
            self._take(received.raw, 0)


class OverStdio:
    """The standard streams of a program of the client's own; all that it prints is one stream."""

    def __init__(
        self, command: Sequence[str], env: Mapping[str, str], transcript: Transcript
    ) -> None:
        """Start the program with exactly `env`; Unreachable if that is impossible."""
        self.revision = ""
        self._program = Program(command, env, transcript)
        self._is_closing = False
        self._reader: threading.Thread | None = None

    @property
    def is_dear(self) -> bool:
        """Whether the program runs."""
        return not self._is_over

    def begin(self, take: Take) -> None:
        """Hand each line that the program prints to `take`, in a thread of its own."""
        self._reader = threading.Thread(target=self._read, args=(take,), daemon=True)
        self._reader.start()

    def send(
        self, body: bytes, note: str, is_over: Callable[[], bool] | None = None, *,
        whole: bool = False,
    ) -> str:  # fmt: skip
        """Write a message as a line; with `is_over` wait until that holds, for ten seconds at most.

        With `whole`, what follows within 0.1 s is taken too. Return why there may be no answer.
        """
        self._program.write(body, note)
        if is_over is not None:
            poll(lambda: is_over() or self._is_over, bool, TIMEOUT_S)
            time.sleep(AFTER_S if whole else 0)
        return "no answer in time"

    def listen(self) -> None:
        """Do nothing: the one stream has everything."""

    def close(self) -> None:
        """End the program, and what it has started; a second call does nothing."""
        if self._is_closing:
            return
        self._is_closing = True
        if self._reader is not None:
            self._reader.join()
        self._program.end()

    @property
    def _is_over(self) -> bool:
        return self._is_closing or self._reader is None or not self._reader.is_alive()

    def _read(self, take: Take) -> None:
        while not self._is_closing:
            deadline = Deadline(LOOK_S)
            try:
                take(self._program.hear(deadline).raw, 0)
            except (Unreachable, ProtocolFault):
                if deadline.spent() < LOOK_S:
                    return  # it has ended


class ListeningClient:
    """One session of the handshake era, whose messages of all streams are kept in order.

    Attributes:
        capabilities: The JSON that it declares.
        unheard: Methods that clients of its way have waited for in vain.
        answers: The member `result` or `error`, as JSON text, that answers the server's requests of
            each method; a caller may change them.
        declared: The capabilities that the server has declared.
    """

    def __init__(self, carrier: Carrier, capabilities: bytes = b"{}") -> None:
        """Open a session, declaring these capabilities, and listen; ProtocolFault if refused."""
        self.capabilities = capabilities
        self.unheard = set[str]()
        self.answers = {"ping": b'"result":{}'}
        self._waiting = 0
        self._is_changed = False
        self._kept: list[ListeningClient] | None = None
        self._carrier = carrier
        self._lock = threading.Lock()
        self._received: list[Received] = []
        carrier.begin(self._take)
        self.declared = self._open(capabilities)
        carrier.listen()

    def mark(self) -> int:
        """Return the number of messages so far, to pass to `received`."""
        with self._lock:
            return len(self._received)

    def received(self, method: str | None = None, since: int = 0) -> Sequence[Received]:
        """Return the messages after a mark, of one method or of all, in the order of arrival."""
        with self._lock:
            return [each for each in self._received[since:] if method in (None, each.method)]

    def request(
        self, method: str, params: Mapping[str, Any], request_id: int | str | None = None, *,
        whole: bool = False,
    ) -> Mapping[str, Any]:  # fmt: skip
        """Send a request; return the members of its answer, or {"none": why there is none}.

        Requests that arrive meanwhile are answered. With `whole`, its stream is read to its end.
        """
        own = fresh_id() if request_id is None else request_id
        with self._lock:
            self._waiting += 1
        body = dumps({"jsonrpc": "2.0", "id": own, "method": method, "params": params})
        why = self._carrier.send(body, method, lambda: bool(self._answer(own)), whole=whole)
        answer = self._answer(own)
        with self._lock:
            self._waiting -= 1
            self._is_changed |= answer is None or method not in KEEPING
        return answer or {"none": why}

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Send a notification."""
        self._is_changed |= method not in KEEPING
        self._carrier.send(dumps({"jsonrpc": "2.0", "method": method, "params": params}), method)

    def listen(self) -> None:
        """Listen on another stream too, where the transport has several."""
        self._carrier.listen()

    def keep_in(self, kept: list[ListeningClient]) -> None:
        """Have `close` add the client to `kept`, not end it, if it can be used again.

        That is if a new session would cost a program, and nothing has changed this one.
        """
        self._kept = kept

    def begin_anew(self) -> None:
        """Forget all messages that arrived, and reset `answers`, as in a new session."""
        with self._lock:
            self._received = []
        self.answers = {"ping": b'"result":{}'}

    def close(self) -> None:
        """End the session at once, or keep the client for another use, as `keep_in` says.

        To keep it, requests in progress are waited for half a second at most; it is ended if any
        remains.
        """
        kept = self._kept if self._carrier.is_dear and not self._is_changed else None
        if kept is not None:
            poll(lambda: not self._waiting, bool, ANSWERED_S)
        if kept is None or self._waiting or self._is_changed:
            self.end()
        else:
            kept.append(self)

    def end(self) -> None:
        """End the session."""
        self._carrier.close()

    def _open(self, capabilities: bytes) -> Mapping[str, Any]:
        """Shake hands, declaring these capabilities (JSON); return what the server declares.

        Raises ProtocolFault if it gives no result.
        """
        params = {
            "protocolVersion": revisions.LATEST_HANDSHAKE,
            "capabilities": json.loads(capabilities),
            "clientInfo": revisions.CLIENT_INFO,
        }
        answer = self.request("initialize", params)
        result = answer.get("result")
        if not isinstance(result, dict):
            self.close()
            raise ProtocolFault("handshake", "a result", "none", dumps(answer))
        self._carrier.revision = str(result.get("protocolVersion", ""))
        self.notify("notifications/initialized", {})
        return object_of(result.get("capabilities"))

    def _answer(self, request_id: int | str) -> Mapping[str, Any] | None:
        for each in self.received(""):
            own = each.message.get("id")
            if type(own) is type(request_id) and own == request_id:
                return each.message
        return None

    def _take(self, raw: bytes, stream: int) -> None:
        """Keep a message, and answer it if it is a request; what is not a JSON object is dropped.

        A method without an answer in `answers` is refused as unknown.
        """
        message = message_of(raw)
        if not message:
            return
        received = Received(raw=raw, message=message, stream=stream)
        with self._lock:
            self._received.append(received)
        if "method" in message and "id" in message:
            member = self.answers.get(received.method, REFUSAL)
            own_id = dumps(message["id"])
            self._carrier.send(b'{"jsonrpc":"2.0","id":' + own_id + b"," + member + b"}", "answer")


def _ignored(raw: bytes, stream: int) -> None:
    del raw, stream


def _is_last(event: Event) -> bool:
    del event
    return True
