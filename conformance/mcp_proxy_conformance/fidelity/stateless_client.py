"""Client of MCP 2026-07-28 over HTTP, with any `_meta` and headers, which keeps all messages."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from mcp_proxy_conformance.fidelity.listening_client import Received
from mcp_proxy_conformance.targets.waits import poll
from mcp_proxy_conformance.wire import revisions
from mcp_proxy_conformance.wire.faults import ProtocolFault, Unreachable
from mcp_proxy_conformance.wire.http import STREAM, Http, HttpResponse
from mcp_proxy_conformance.wire.jsonrpc import (
    dumps,
    fresh_id,
    message_of,
    object_of,
    request,
    result_of,
)
from mcp_proxy_conformance.wire.response import Event
from mcp_proxy_conformance.wire.session import overridden
from mcp_proxy_conformance.wire.transcript import Transcript

TIMEOUT_S, LISTENS_S = 10.0, 60.0
"""Seconds for an answer, and for a stream that is read to its end."""
STANDING = [
    ("Accept", f"application/json, {STREAM}"),
    ("Accept-Encoding", "identity"),
    ("Content-Type", "application/json"),
]


def meta(**members: Any) -> dict[str, Any]:
    """Return the `_meta` of a request, with members added or replaced; one that is None is absent.

    The names of members begin after `io.modelcontextprotocol/`, but for `progressToken`.
    """
    every = {
        "protocolVersion": revisions.LATEST_STATELESS,
        "clientInfo": revisions.CLIENT_INFO,
        "clientCapabilities": {},
        **members,
    }
    return {
        name if name == "progressToken" else f"{revisions.META}{name}": value
        for name, value in every.items()
        if value is not None
    }


class Exchange:
    """One request of a client, and all that arrives on its response, in order.

    Attributes:
        id: The request's id.
        response: The whole HTTP response, None before it ends or if it was cut off.
        why: Why there may be no answer; empty before that is known.
    """

    def __init__(
        self, http: Http, body: bytes, headers: list[tuple[str, str]], *, own_id: int, note: str,
        whole: bool,
    ) -> None:  # fmt: skip
        """Send the request in the background; with `whole` its stream is read to the end."""
        self.id = own_id
        self.response: HttpResponse | None = None
        self.why = ""
        self._http, self._whole = http, whole
        self._lock = threading.Lock()
        self._received: list[Received] = []
        self._thread = threading.Thread(target=self._run, args=(body, headers, note), daemon=True)
        self._thread.start()

    @property
    def status(self) -> int:
        """The HTTP status; 0 before the response ends."""
        return 0 if self.response is None else self.response.status

    @property
    def answer(self) -> Mapping[str, Any]:
        """The members of the JSON-RPC answer, {} before it arrives.

        An error without an id, or whose id is null, counts as the answer too.
        """
        for each in self.received(""):
            own = each.message.get("id")
            is_error = "error" in each.message and own is None
            if own == self.id or is_error:
                return each.message
        return {}

    @property
    def result(self) -> dict[str, Any]:
        """The result of the answer; {} without one, or if it is not an object."""
        return result_of(self.answer)

    @property
    def code(self) -> Any:
        """The code of the JSON-RPC error that answers; None without one."""
        return object_of(self.answer.get("error")).get("code")

    def received(self, method: str | None = None) -> list[Received]:
        """Return the messages that have arrived, of one method or of all, "" for answers."""
        with self._lock:
            return [each for each in self._received if method in (None, each.method)]

    def arrives(self, method: str, seconds: float) -> bool:
        """Wait `seconds` at most for a message of that method; return whether one has arrived.

        The wait ends early when the response does.
        """
        poll(lambda: self.received(method) or not self._thread.is_alive(), bool, seconds)
        return bool(self.received(method))

    def done(self) -> Exchange:
        """Wait for the end of the response; return self."""
        self._thread.join()
        return self

    def cut(self) -> None:
        """Close the connection, which cancels the request, and wait until nothing is read."""
        self._http.interrupt()
        self._thread.join()

    def _run(self, body: bytes, headers: list[tuple[str, str]], note: str) -> None:
        """Post the request; keep what arrives up to its answer, or to the stream's end if `whole`.

        An answer is waited for ten seconds, a whole stream read for sixty at most. A fault is noted
        in `why`, not raised.
        """
        try:
            seconds = LISTENS_S if self._whole else TIMEOUT_S
            self.response = self._http.exchange(
                "POST", body, headers, note=note, timeout=seconds, until=self._is_last
            )
        except (Unreachable, ProtocolFault) as fault:
            self.why = str(fault)
        else:
            self.why = f"HTTP {self.response.status}"
            if self.response.media_type != STREAM:
                self._keep(self.response.body)
        finally:
            self._http.close()

    def _is_last(self, event: Event) -> bool:
        self._keep(event.data)
        return bool(self.answer) and not self._whole

    def _keep(self, raw: bytes) -> None:
        if message := message_of(raw):
            with self._lock:
                self._received.append(Received(raw=raw, message=message, stream=0))


class StatelessClient:
    """A client of 2026-07-28; each request has a connection of its own."""

    def __init__(
        self, url: str, transcript: Transcript, headers: Mapping[str, str] | None = None
    ) -> None:
        """Send nothing yet; `headers` go with every request."""
        self._url, self._transcript = url, transcript
        self._own = dict(headers or {})
        self._begun: list[Exchange] = []

    def begin(
        self, method: str, params: Mapping[str, Any] | None = None, *,
        own_meta: Mapping[str, Any] | None = None, headers: Mapping[str, str | None] | None = None,
        whole: bool = False,
    ) -> Exchange:  # fmt: skip
        """Send a request, and return its exchange while that goes on.

        `own_meta` is its `_meta`, by default what each request has to state. `headers` replace
        those that fit the body, or are left out where they are None.
        """
        stated = meta() if own_meta is None else own_meta
        own_id = fresh_id()
        body = dumps({**(params or {}), "_meta": stated})
        fitting = [*STANDING, *self._own.items(), *revisions.stateless_headers(method, body)]
        chosen = overridden(fitting, {k: v for k, v in (headers or {}).items() if v is not None})
        left_out = {name.lower() for name, value in (headers or {}).items() if value is None}
        exchange = Exchange(
            Http(self._url, self._transcript), request(method, body, own_id),
            [each for each in chosen if each[0].lower() not in left_out],
            own_id=own_id, note=method, whole=whole,
        )  # fmt: skip
        self._begun.append(exchange)
        return exchange

    def ask(
        self, method: str, params: Mapping[str, Any] | None = None, *,
        own_meta: Mapping[str, Any] | None = None, headers: Mapping[str, str | None] | None = None,
    ) -> Exchange:  # fmt: skip
        """Send a request as `begin` does, and wait for the end of its response."""
        return self.begin(method, params, own_meta=own_meta, headers=headers).done()

    def close(self) -> None:
        """Cut off what is running, and wait until nothing is read."""
        for exchange in self._begun:
            exchange.cut()
