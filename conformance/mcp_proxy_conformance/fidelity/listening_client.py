"""A client over HTTP that answers requests of its server and listens, and keeps what arrives."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_proxy_conformance.fidelity import exact_json
from mcp_proxy_conformance.wire import revisions
from mcp_proxy_conformance.wire.faults import ProtocolFault, Unreachable
from mcp_proxy_conformance.wire.http import Http, HttpResponse
from mcp_proxy_conformance.wire.jsonrpc import dumps, fresh_id
from mcp_proxy_conformance.wire.response import Event
from mcp_proxy_conformance.wire.session import SESSION_ID, STREAM
from mcp_proxy_conformance.wire.transcript import Transcript

TIMEOUT_S, LISTENS_S, WHOLE_S = 10.0, 30.0, 3.0
Answers = Mapping[str, bytes]
"""The member `result` or `error`, as JSON text, that answers requests of each method."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """One message that arrived, exactly and as Python data; `at` is on the monotonic clock."""

    raw: bytes
    message: Mapping[str, Any]
    at: float

    @property
    def method(self) -> str:
        """Its method; empty for an answer."""
        return str(self.message.get("method", ""))

    @property
    def params(self) -> Mapping[str, Any]:
        """Its params; empty without any."""
        params = self.message.get("params")
        return params if isinstance(params, dict) else {}

    @property
    def exact(self) -> Any:
        """Its params, exactly."""
        return exact_json.at(exact_json.read(self.raw), ("params",))


class ListeningClient:
    """One session of the handshake era; messages of all its streams are kept in order."""

    def __init__(
        self, url: str, transcript: Transcript, *, capabilities: bytes = b"{}",
        answers: Answers | None = None,
    ) -> None:  # fmt: skip
        """Open a session, declaring these capabilities; Unreachable or ProtocolFault if refused."""
        self._url, self._transcript = url, transcript
        self._answers = {"ping": b'"result":{}', **(answers or {})}
        self._headers: list[tuple[str, str]] = []
        self._lock = threading.Lock()
        self._received: list[Received] = []
        self.declared = self._open(capabilities)

    def received(self, method: str | None = None) -> Sequence[Received]:
        """Return the messages that have arrived, of one method or of all, oldest first."""
        with self._lock:
            return [each for each in self._received if method in (None, each.method)]

    def request(
        self, method: str, params: Mapping[str, Any], request_id: int | str | None = None, *,
        whole: bool = False,
    ) -> Mapping[str, Any]:  # fmt: skip
        """Send a request; return the answer's members, or why there is none as `none`.

        Requests that arrive meanwhile are answered. Its stream is read to the answer, and to its
        end if that follows within 50 ms, or if the `whole` stream is asked for.
        """
        own = fresh_id() if request_id is None else request_id
        body = dumps({"jsonrpc": "2.0", "id": own, "method": method, "params": params})
        answers: list[Mapping[str, Any]] = []

        def take(event: Event) -> bool:
            """Take an event; return whether it is the answer."""
            message = self._take(event.data)
            if message is not None and "method" not in message:
                answers.append(message)
            return bool(answers) and not whole

        seconds = WHOLE_S if whole else TIMEOUT_S
        try:
            response = self._exchange("POST", body, note=method, until=take, timeout=seconds)
        except (Unreachable, ProtocolFault) as fault:
            return answers[0] if answers else {"none": str(fault)}
        if response.media_type != STREAM:
            message = self._take(response.body)
            return message or {"none": f"HTTP {response.status}"}
        return answers[0] if answers else {"none": "its stream ended"}

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Send a notification, on a connection of its own."""
        self._post(dumps({"jsonrpc": "2.0", "method": method, "params": params}), method)

    def listen(self, is_open: Callable[[], bool] = lambda: False, wait_s: float = 1.0) -> None:
        """Open the stream at GET in the background, and wait a little until `is_open`."""

        def run() -> None:
            """Take every event until the stream ends."""

            def take(event: Event) -> bool:
                """Take an event, which never is the last."""
                self._take(event.data)
                return False

            try:
                self._exchange("GET", b"", note="listen", until=take, timeout=LISTENS_S)
            except (Unreachable, ProtocolFault):
                return

        threading.Thread(target=run, daemon=True).start()
        eventually(is_open, wait_s)

    def close(self) -> None:
        """End the session."""
        try:
            self._exchange("DELETE", b"", note="", timeout=1.0)
        except (Unreachable, ProtocolFault):
            return

    def _open(self, capabilities: bytes) -> Mapping[str, Any]:
        """Shake hands; return what the server declares."""
        info = revisions.client_info("mcp-proxy-conformance")
        params = {
            "protocolVersion": revisions.LATEST_HANDSHAKE, "capabilities": json.loads(capabilities),
            "clientInfo": info,
        }  # fmt: skip
        body = dumps({"jsonrpc": "2.0", "id": fresh_id(), "method": "initialize", "params": params})
        response = self._exchange("POST", body, note="initialize", until=_is_answer)
        texts = [event.data for event in response.events] or [response.body]
        answer = next((json.loads(text) for text in texts if b'"result"' in text), None)
        if answer is None:
            raise ProtocolFault("handshake", "a result", "none", response.body)
        self._headers.append(("MCP-Protocol-Version", answer["result"]["protocolVersion"]))
        if (session := response.header(SESSION_ID)) is not None:
            self._headers.append((SESSION_ID, session))
        self.notify("notifications/initialized", {})
        declared: Mapping[str, Any] = answer["result"].get("capabilities", {})
        return declared

    def _take(self, raw: bytes) -> Mapping[str, Any] | None:
        """Keep a message, answer it if it is a request, and return it; None if it is not one."""
        try:
            message = json.loads(raw)
        except ValueError:
            return None
        if not isinstance(message, dict):
            return None
        with self._lock:
            self._received.append(Received(raw=raw, message=message, at=time.monotonic()))
        if "method" in message and "id" in message:
            refusal = b'"error":{"code":-32601,"message":"Method not found"}'
            member = self._answers.get(message["method"], refusal)
            own_id = dumps(message["id"])
            self._post(b'{"jsonrpc":"2.0","id":' + own_id + b"," + member + b"}", "answer")
        return message

    def _post(self, body: bytes, note: str) -> None:
        """Post a message that no answer is due to."""
        try:
            self._exchange("POST", body, note=note)
        except (Unreachable, ProtocolFault):
            return  # the check sees that it did not arrive

    def _exchange(
        self, method: str, body: bytes, *, note: str, timeout: float = TIMEOUT_S,
        until: Callable[[Event], bool] = lambda _: False,
    ) -> HttpResponse:  # fmt: skip
        """Send one HTTP request on a connection of its own; errors as `Http.exchange`."""
        accept = STREAM if method == "GET" else f"application/json, {STREAM}"
        headers = [("Accept", accept), ("Content-Type", "application/json"), *self._headers]
        http = Http(self._url, self._transcript)
        try:
            return http.exchange(method, body, headers, note=note, timeout=timeout, until=until)
        finally:
            http.close()


def eventually(holds: Callable[[], bool], within_s: float) -> bool:
    """Return whether a condition holds within that time, asked often."""
    deadline = time.monotonic() + within_s
    while not (done := holds()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return done


def _is_answer(event: Event) -> bool:
    """Whether an event is an answer."""
    return b'"result"' in event.data or b'"error"' in event.data
