"""The adapter for targets in any language: a program that gets each operation as a line of JSON."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import msgspec

from mcp_proxy_conformance.catalogue.world import LockKind, World
from mcp_proxy_conformance.discovery.targets.adapter import Access, UpstreamAddress
from mcp_proxy_conformance.targets.line_program import (
    QUOTED,
    LineProgram,
    ProgramEnded,
    cut,
    quoted,
)
from mcp_proxy_conformance.targets.target import (
    AdapterError,
    Refused,
    TargetNotStarted,
    Unsupported,
)
from mcp_proxy_conformance.wire.client import Client
from mcp_proxy_conformance.wire.http import check_header
from mcp_proxy_conformance.wire.transcript import Transcript


class Stdio(msgspec.Struct, frozen=True, kw_only=True):
    """A command line, with its environment, that serves the target's configuration over stdio."""

    command: tuple[str, ...]
    env: dict[str, str] = {}


class AdapterOk(msgspec.Struct, frozen=True, kw_only=True):
    """The `ok` member of an answer; a member that is None has not changed."""

    url: str | None = None
    headers: dict[str, str] | None = None
    agents: dict[str, dict[str, str]] | None = None
    stdio: Stdio | None = None
    count: Annotated[int, msgspec.Meta(ge=0)] | None = None


class AdapterAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One answer line of an adapter; exactly one of its last four members is present."""

    id: int
    ok: AdapterOk | None = None
    refused: str | None = None
    unsupported: bool | None = None
    error: str | None = None


def fault_of(access: AdapterOk) -> str | None:
    """Return why the access in an answer is unusable, and the repair; None if it is usable.

    The first fault in the form of its URL, of the headers of administrator and agents, or of the
    stdio command line; nothing is connected or run.
    """
    if access.url is not None:
        try:
            Client(access.url, transcript=Transcript())  # it connects only when it is first used
            (urlsplit(access.url).hostname or "").encode("idna")
        except ValueError as error:
            return f"the url {cut(access.url)!r} ({cut(error)}); give an http URL"
    sets = [("headers", access.headers or {})]
    sets += [(f"agents.{name}", headers) for name, headers in (access.agents or {}).items()]
    for place, headers in sets:
        for name, value in headers.items():
            try:
                check_header(name, value)
            except ValueError as error:
                return f"a header in {cut(place)} that cannot be sent ({cut(error)}); take it out"
    return _fault_of_stdio(access.stdio) if access.stdio is not None else None


def _fault_of_stdio(stdio: Stdio) -> str | None:
    """Return why a stdio command line or environment is unusable, and the repair; else None.

    Only their form is looked at, not whether the program exists. The text is a noun phrase.
    """
    if not stdio.command or not stdio.command[0]:
        return "a stdio.command that names no program; name one, or leave stdio out"
    if not all(map(_is_plain, stdio.command)):
        return "a stdio.command with characters that no command line can have; take them out"
    for name, value in stdio.env.items():
        if not name or "=" in name or not _is_plain(name) or not _is_plain(value):
            return f"in stdio.env the variable {cut(name)!r}, which cannot be set; correct it"
    return None


def _is_plain(word: str) -> bool:
    """Whether the system accepts the word as an argument: encodable, and without a NUL."""
    try:
        return b"\0" not in os.fsencode(word)
    except UnicodeEncodeError:
        return False


START_S, ANSWER_S, END_S = 60.0, 30.0, 5.0
REQUIRED = ("start", "lock", "unlock")
WANTED = "print one JSON answer per line, and nothing else, to standard output"


class CommandAdapter:
    """Adapter that passes each operation to a program, as one line of JSON with one answer."""

    def __init__(self, command: Sequence[str], answer_s: float = ANSWER_S) -> None:
        """Start nothing yet; `answer_s` is the timeout of an answer in seconds.

        Those to start and restart may take 60 s instead.
        """
        self._command = tuple(command)
        self._answer_s = answer_s
        self._number = 0
        self._talk = threading.Lock()
        self._program: LineProgram | None = None
        self._broken = ""
        self._access = Access(url="")
        self._agents: frozenset[str] = frozenset()

    def start(self, world: World, upstreams: Mapping[str, UpstreamAddress], folder: Path) -> Access:
        """Start the adapter program, and through it the target; return how it is reached.

        TargetNotStarted if the program breaks the protocol, refuses, or leaves out url or agents;
        AdapterError if it answers with an error. The folder `state` in `folder`, made here, must
        not exist.
        """
        state = folder / "state"
        state.mkdir(mode=0o700, parents=True)
        self._program = LineProgram(self._command, log=folder / "adapter.log")
        servers = [_server(world, name, place) for name, place in upstreams.items()]
        agents = {name: list(scope) for name, scope in world.agents.items()}
        self._agents = frozenset(agents)
        members = {"servers": servers, "agents": agents}
        try:
            accepted = self._ask("start", START_S, dir=str(state), world=members)
        except Refused as refusal:
            raise self._break(f"it refused the request start: {refusal}") from None
        if accepted.url is None:
            raise self._break("its answer to start has no url")
        missing = sorted(set(world.agents) - set(accepted.agents or {}))
        if missing:
            raise self._break(
                f"its answer to start has no headers for agents: {', '.join(missing)}"
            )
        self._moved(accepted)
        return self._access

    def lock(self, kind: LockKind, server: str, tools: Sequence[str]) -> Access | None:
        """Have the program set a lock; return the new access, None if unchanged.

        Raises Refused; AdapterError for an error, a breach of the protocol or no answer in time.
        """
        return self._moved(self._ask("lock", kind=kind, server=server, tools=list(tools)))

    def unlock(self, kind: LockKind, server: str, tools: Sequence[str]) -> Access | None:
        """Have the program remove a lock, or approve tools; return the new access, if any.

        None if it is unchanged. Raises Refused; AdapterError for an error, a breach of the protocol
        or no answer in time.
        """
        return self._moved(self._ask("unlock", kind=kind, server=server, tools=list(tools)))

    def restart(self) -> Access | None:
        """Have the program restart the target on the same state, within 60 s.

        Return the new access, None if unchanged. Raises Refused, Unsupported or AdapterError.
        """
        return self._moved(self._ask("restart", START_S))

    def refresh(self, server: str) -> Access | None:
        """Have the program make the target list the server's tools again.

        Return the new access, None if unchanged. Raises Refused, Unsupported or AdapterError.
        """
        return self._moved(self._ask("refresh", server=server))

    def counter(self) -> int:
        """Ask the program for the target's opt-in counter.

        Raises Refused or Unsupported; AdapterError for an error or, after ending the program, for
        an answer without a count.
        """
        count = self._ask("counter").count
        if count is None:
            raise self._break("its answer to counter has no count")
        return count

    def indeterminate(self, server: str, tools: Sequence[str], *, on: bool) -> Access | None:
        """Have the program make these tools' lock reasons undeterminable; restore them unless `on`.

        Return the new access, None if unchanged. Raises Refused, Unsupported or AdapterError.
        """
        members: dict[str, Any] = {"server": server, "tools": list(tools), "on": on}
        return self._moved(self._ask("indeterminate", **members))

    def alive(self) -> bool:
        """Whether the adapter program was started and runs.

        Whether its target runs is not looked at: an adapter reports that itself, by an error.
        """
        return self._program is not None and self._program.alive()

    def log(self) -> str:
        """Return the tail of the adapter program's standard error; "" before `start`."""
        return self._program.tail() if self._program is not None else ""

    def stop(self) -> None:
        """Close the program's standard input, wait up to 5 s for its end, then end its group.

        A program that broke the protocol is not waited for; before `start` nothing happens.
        """
        if self._program is not None:
            self._program.finish(0.0 if self._broken else END_S)

    def _ask(self, op: str, within_s: float | None = None, **members: Any) -> AdapterOk:
        """Send a request and return its answer's `ok`; requests of other threads wait meanwhile.

        `within_s` is `answer_s` by default. Raises Refused, Unsupported (of an optional operation),
        or AdapterError for an error, no answer in time and a breach of the protocol; after a
        breach, every request raises at once.
        """
        with self._talk:
            if self._broken:
                raise AdapterError(self._broken)
            self._number += 1
            assert self._program is not None
            stray = self._program.stray()
            if stray is not None:
                raise self._break(f"it printed {quoted(stray)} before the request {op}; {WANTED}")
            self._program.send(json.dumps({"id": self._number, "op": op} | members).encode())
            line = self._line(op, within_s or self._answer_s)
            answer = self._read(op, line)
        if answer.refused is not None:
            raise Refused(answer.refused)
        if answer.unsupported and op not in REQUIRED:
            raise Unsupported(op)
        if answer.unsupported:
            raise self._break(f"it does not support {op}, which every adapter must")
        if answer.error is not None:
            raise AdapterError(f"the adapter answers {op} with an error: {answer.error:.{QUOTED}}")
        assert answer.ok is not None
        return answer.ok

    def _line(self, op: str, within_s: float) -> bytes:
        """Wait for the program's next line, `within_s` seconds at most.

        If none comes in time or it has ended, end it and raise AdapterError, which names the
        request `op`.
        """
        assert self._program is not None
        try:
            return self._program.receive(within_s)
        except TimeoutError:
            raise self._break(f"it did not answer {op} within {within_s:g} s") from None
        except ProgramEnded as end:
            raise self._break(f"it {end} before it answered {op}") from None

    def _read(self, op: str, line: bytes) -> AdapterAnswer:
        """Return the answer in a line; if it breaks the protocol, end the program and raise.

        It must have one outcome, the id of the request, and a usable access. The error is an
        AdapterError.
        """
        try:
            answer = msgspec.json.decode(line, type=AdapterAnswer)
        except RecursionError:
            raise self._misread(op, line, f", which nests too deeply; {WANTED}") from None
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise self._misread(op, line, f" ({error}); {WANTED}") from None
        members = [answer.ok, answer.refused, answer.unsupported or None, answer.error]
        if sum(member is not None for member in members) != 1:
            wanted = "give exactly one of ok, refused, unsupported and error"
            raise self._misread(op, line, f"; {wanted}")
        if answer.id != self._number:
            raise self._break(
                f"its answer to {op} has another id than {self._number}: {quoted(line)};"
                " answer each request once, with its id"
            )
        fault = fault_of(answer.ok) if answer.ok is not None else None
        if fault is not None:
            raise self._break(f"its answer to {op} has {fault}")
        return answer

    def _misread(self, op: str, line: bytes, fault: str) -> AdapterError:
        """End the program.

        Return the error that quotes the line and names the fault, to be raised.
        """
        return self._break(f"its answer to {op} is {quoted(line)}{fault}")

    def _break(self, complaint: str) -> AdapterError:
        """End the program, which is out of step; return the error to raise, with the log's end.

        It is a TargetNotStarted for the first request, else an AdapterError. Later requests raise
        an AdapterError of the same text.
        """
        assert self._program is not None
        self._program.end()
        tail = self._program.tail().strip()
        log = f"; its log ends with:\n{tail}" if tail else ""
        self._broken = f"the adapter broke: {complaint}{log}"
        kind = TargetNotStarted if self._number <= 1 else AdapterError
        return kind(self._broken)

    def _moved(self, accepted: AdapterOk) -> Access | None:
        """Store the access in an answer; return the new one, None if nothing changed.

        Members left out stay as they were. Headers of agents that the world does not have are
        ignored.
        """
        old, stdio = self._access, accepted.stdio
        agents = {n: held for n, held in (accepted.agents or {}).items() if n in self._agents}
        self._access = Access(
            url=accepted.url or old.url,
            headers=old.headers if accepted.headers is None else accepted.headers,
            agents={**old.agents, **agents},
            stdio=old.stdio if stdio is None else stdio.command,
            stdio_env=old.stdio_env if stdio is None else stdio.env,
        )
        return None if self._access == old else self._access


def _server(world: World, name: str, place: UpstreamAddress) -> dict[str, Any]:
    """Return a server as the request `start` has it: name, trust, address and a list.

    The list is its allow list or, without one, its deny list unless that is empty.
    """
    server = world.server(name)
    members: dict[str, Any] = {"name": name, "trusted": server.trusted}
    members |= (
        {"url": place.url} if place.url is not None else {"command": list(place.command or ())}
    )
    if server.allow is not None:
        return members | {"allow": list(server.allow)}
    return members | ({"deny": list(server.deny)} if server.deny else {})
