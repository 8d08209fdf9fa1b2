"""Controls of the selftest, `CONTROLS`: targets whose run must end in a way known beforehand.

Fake targets may pass no check, a reference that ignores the flag only what needs none; the
reference without capabilities exits with 4, and unchanged with 0.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from mcp_proxy_conformance.catalogue.requirement import catalogue
from mcp_proxy_conformance.catalogue.world import LockKind, World
from mcp_proxy_conformance.discovery.targets.adapter import Access, ProxyTarget, UpstreamAddress
from mcp_proxy_conformance.discovery.targets.embedded import embedded
from mcp_proxy_conformance.discovery.targets.kinds import operator_surface
from mcp_proxy_conformance.selftest.control import Control, unobserved
from mcp_proxy_conformance.selftest.trial import Verdicts
from mcp_proxy_conformance.upstream import Upstreams, UpstreamServer, UpstreamTool

SETTLE_S, OWN = 0.1, "discovery"
Answer = Callable[[bytes], bytes | None]
ASKED_FOR_NOTHING = frozenset(
    {
        "FR-001.accepts", "FR-001.declared", "FR-001.declared~property", "FR-014.described",
        "FR-014.described~one-sentence", "FR-008.config", "FR-008.distinct", "FR-008.pointer",
        "SC-003.rejection", "FR-011.never-reaches", "FR-010.block", "FR-010.sum",
        "FR-010.zero-omitted", "FR-010.no-names", "FR-010.quarantined", "FR-010.inspect",
        "FR-010.server-off",
        "SC-005.absent", "SC-005.zero-bytes", "FR-002.absent-is-false", "FR-002.restored",
        "FR-007.listing", "FR-007.rejection",
    }
)  # fmt: skip
"""Clauses that may pass on a target that ignores the flag: about calls, counts and words."""


def _nothing(exits: Sequence[int]) -> Callable[[Verdicts], str]:
    """Return the `misses` of a Control on which no check may pass.

    That is a function from the verdicts of a run to a text on what is wrong, "" if nothing is. The
    run must also end with one of the exit codes `exits`.
    """

    def misses(verdicts: Verdicts) -> str:
        """Return a text if checks pass or, else, if the exit code is wrong; "" if neither is so."""
        if verdicts.passed:
            return f"{verdicts.passed} checks pass"
        return (
            "" if verdicts.exit in exits else f"the run ends with {verdicts.exit}: {verdicts.why}"
        )

    return misses


def _exits(code: int) -> Callable[[Verdicts], str]:
    """Return the `misses` of a Control whose run must end with this exit code.

    It returns "exit CODE: why" for any other code, else an empty text.
    """
    return lambda verdicts: "" if verdicts.exit == code else f"exit {verdicts.exit}: {verdicts.why}"


def _deaf(verdicts: Verdicts) -> str:
    """Return how verdicts on a target that ignores the flag are wrong; "" if they are not.

    They are wrong if the exit code is not 1, or a required clause passes that is not in
    ASKED_FOR_NOTHING.
    """
    if verdicts.exit != 1:
        return f"exit {verdicts.exit}: {verdicts.why}"
    firm = {
        clause
        for clause in verdicts.clauses_passed
        if catalogue().clause(clause).level == "required"
    }
    return unobserved(firm - ASKED_FOR_NOTHING)


class Fake:
    """Adapter of a fake target that is not a proxy; it accepts every action and does nothing."""

    def __init__(self, answer: Answer | None) -> None:
        """Keep `answer`, which gets a request's bytes and returns the bytes to send back.

        If it returns None, the connection stays open, unanswered; if it is None itself,
        nothing listens.
        """
        self._answer = answer
        self._socket = socket.socket()

    def start(
        self, _world: World, _upstreams: Mapping[str, UpstreamAddress], folder: Path
    ) -> Access:
        """Make the folder, bind a free port, listen if there is an `answer`, and return its URL."""
        folder.mkdir(parents=True, exist_ok=True)
        self._socket.bind(("127.0.0.1", 0))
        port = self._socket.getsockname()[1]
        if self._answer is not None:
            self._socket.listen()
            threading.Thread(target=self._listen, daemon=True).start()
        return Access(url=f"http://127.0.0.1:{port}/mcp")

    def _listen(self) -> None:
        """Accept connections, each served in a thread of its own, until the socket is closed."""
        with suppress(OSError):
            while True:
                link, _ = self._socket.accept()
                threading.Thread(target=self._serve, args=(link,), daemon=True).start()

    def _serve(self, link: socket.socket) -> None:
        """Read up to 64 KiB, send the answer to them and close the connection.

        If the answer is None, keep the connection open for 60 s instead.
        """
        with suppress(OSError), link:
            answer = self._answer(link.recv(65536)) if self._answer is not None else None
            if answer is None:
                threading.Event().wait(60)
            else:
                link.sendall(answer)

    def lock(self, kind: LockKind, server: str, tools: Sequence[str]) -> Access | None:
        """Do nothing, as if the lock were set."""

    def unlock(self, kind: LockKind, server: str, tools: Sequence[str]) -> Access | None:
        """Do nothing, as if the lock were removed."""

    def restart(self) -> Access | None:
        """Do nothing, as if the target had been restarted."""

    def refresh(self, server: str) -> Access | None:
        """Do nothing, as if the tools had been listed again."""

    def counter(self) -> int:
        """Return 0, since nothing is counted."""
        return 0

    def indeterminate(self, server: str, tools: Sequence[str], *, on: bool) -> Access | None:
        """Do nothing, as if the reason had become undeterminable."""

    def alive(self) -> bool:
        """Return True, even after `stop`."""
        return True

    def log(self) -> str:
        """Return an empty log, since nothing is printed."""
        return ""

    def stop(self) -> None:
        """Close the socket."""
        self._socket.close()


class Toolbox(Fake):
    """Adapter of an MCP server that has one tool, `add`, and no discovery tool."""

    def __init__(self) -> None:
        """Start nothing yet."""
        super().__init__(None)
        self._hub: Upstreams | None = None

    def start(
        self, _world: World, _upstreams: Mapping[str, UpstreamAddress], folder: Path
    ) -> Access:
        """Make the folder, start the server with its one tool, `add`, and return its URL."""
        from mcp_proxy_conformance.wire.transcript import Transcript  # noqa: PLC0415

        folder.mkdir(parents=True, exist_ok=True)
        self._hub = Upstreams(Transcript()).start()
        served = self._hub.add(UpstreamServer("box", [UpstreamTool(name="add")]))
        return Access(url=served.url)

    def stop(self) -> None:
        """Stop the server if it was started."""
        if self._hub is not None:
            self._hub.close()


def _http(body: bytes, media: str = "application/json") -> bytes:
    """Return the bytes of an HTTP 200 response with this body and media type."""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {media}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def _fake(make: Callable[[], Any]) -> Callable[[], ProxyTarget]:
    """Return a function that makes a Target, with short waits; its adapter comes from `make()`."""
    surface = operator_surface()
    return lambda: ProxyTarget(
        kind="command", make=make, surface=surface, settle_s=SETTLE_S, ready_s=0.5, enforce_s=0.2
    )


def _changed(**change: Any) -> Any:
    """Return a Changed reference; `change` maps decisions of its policy to replacements."""
    from mcp_proxy_mutants.discovery.changed import Changed  # noqa: PLC0415

    return Changed(id="control", text="A changed reference.", change=change)


def _empty(request: bytes) -> bytes:
    """Answer any request with an empty JSON object."""
    del request
    return _http(b"{}")


def _page(request: bytes) -> bytes:
    """Answer any request with an HTML page."""
    del request
    return _http(b"<!doctype html><title>Welcome</title>", "text/html")


def _noise(request: bytes) -> bytes:
    """Answer any request with 512 random bytes, which are not HTTP."""
    del request
    return os.urandom(512)


BARE = (
    ("closed-port", "Nothing listens on the port.", lambda: Fake(None)),
    ("silent-port", "Connections are accepted and never answered.", lambda: Fake(lambda _: None)),
    ("echo", "Every answer is the request itself.", lambda: Fake(lambda request: request)),
    ("empty-objects", "Every answer is an empty JSON object.", lambda: Fake(_empty)),
    ("noise", "Every answer is random bytes.", lambda: Fake(_noise)),
    ("web-page", "Every answer is an HTML page.", lambda: Fake(_page)),
    ("no-discovery", "An MCP server without a discovery tool.", Toolbox),
)
CONTROLS = (
    *(
        Control(id=name, text=text, profile=OWN, target=_fake(make), misses=_nothing((2, 3, 4)))
        for name, text, make in BARE
    ),
    Control(
        id="deaf-to-the-flag",
        text="A discovery tool that describes the flag and ignores it.",
        profile=OWN,
        target=lambda: embedded(_changed(flag=lambda _: False), settle_s=SETTLE_S),
        misses=_deaf,
    ),
    Control(
        id="declares-nothing",
        text="The reference, declared without any capability.",
        profile=OWN,
        target=lambda: replace(
            embedded(_changed(), settle_s=SETTLE_S), capabilities=frozenset[str]()
        ),
        misses=_exits(4),
    ),
    Control(
        id="reference",
        text="The unchanged reference.",
        profile=OWN,
        target=lambda: embedded(_changed(), settle_s=SETTLE_S),
        misses=_exits(0),
    ),
)
