"""A loader under test: a program that loads MCP servers on request, by lines of JSON."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec

from mcp_proxy_conformance.targets.line_program import QUOTED, LineProgram, ProgramEnded, quoted
from mcp_proxy_conformance.targets.target import AdapterError
from mcp_proxy_conformance.wire.faults import ProtocolFault
from mcp_proxy_conformance.wire.held_answers import Held
from mcp_proxy_conformance.wire.jsonrpc import values

END_S = 5.0
LOOK_S = 1.0
"""Seconds between two looks at a load that has not ended."""
FIRST_S = 60.0
"""Seconds that a program may take to start and to load no servers."""
MOST_VALUES = 50_000
"""The most values in one answer, counted by separators; hundreds of servers need a tenth of it."""
WANTED = "print one JSON answer per line, and nothing else, to standard output"


class ServerOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The loader's outcome for one server (`MCPServerLoadOutcome`), its values not yet judged."""

    server_id: str
    status: Any = None
    tools: Any = None
    error: Any = None
    attempts: Any = None


class LoadAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a load: outcomes, and lines of warning by class of outcome."""

    outcomes: tuple[ServerOutcome, ...]
    warnings: dict[str, tuple[str, ...]] = {}


Received = TypeVar("Received", bytes, None)


class _Answer(msgspec.Struct, frozen=True, kw_only=True):
    """One line in answer to a load: its outcomes, or an error in a sentence."""

    id: int
    ok: LoadAnswer | None = None
    error: str | None = None


_ANSWER = msgspec.json.Decoder(_Answer)  # built at import: two threads must not build it at once


def never() -> bool:
    """Return False: the load is not looked at."""
    return False


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """One load: the answer, the line that it was read from, and its duration in seconds.

    `ended` is a monotonic time. `hung`: it did not end within its deadline, which is its end then,
    and the program was ended; `late_s`: how many seconds later it answered, if that was waited for.
    `broke`: why there is no answer although the load ended, such as an error or an exit; empty if
    there is one.
    """

    answer: LoadAnswer = field(default_factory=lambda: LoadAnswer(outcomes=()))
    line: bytes = b""
    seconds: float = 0.0
    ended: float = field(default_factory=time.monotonic)
    hung: bool = False
    late_s: float | None = None
    broke: str = ""

    @property
    def is_answered(self) -> bool:
        """Whether the loader answered the load: it neither hung nor broke."""
        return not (self.hung or self.broke)

    @property
    def raw(self) -> bytes:
        """The line of the answer, b"" without one."""
        return self.line

    def outcome(self, server_id: str) -> ServerOutcome | None:
        """Return the first outcome of that server; None if it has none."""
        return self._outcomes.get(server_id)

    @cached_property
    def _outcomes(self) -> dict[str, ServerOutcome]:
        return {each.server_id: each for each in reversed(self.answer.outcomes)}


class Loader(Protocol):
    """A loader under test; it runs one load at a time."""

    def load(
        self,
        servers: Sequence[Mapping[str, Any]],
        *,
        max_attempts: int,
        base_backoff_s: float,
        deadline_s: float,
        late_s: float = 0.0,
        is_stuck: Callable[[], bool] = never,
    ) -> Loaded:
        """Load these servers, in the form of schemas/LOADER.md, and wait for the answer.

        The loader is asked to try each at most `max_attempts` times, with a first pause of
        `base_backoff_s` seconds. The result is `hung` after `deadline_s` seconds, or once it
        `is_stuck`, even if it ends within `late_s` more; `broke` if the loader fails. Raises
        AdapterError if it cannot load at all.
        """

    def leave(self) -> bool:
        """Return whether the loader ends by itself, soon; what it started is left."""

    def stop(self, patience_s: float = END_S) -> None:
        """End the loader, which gets `patience_s` seconds to end by itself; a load is cancelled."""


def received(
    receive: Callable[[float], Received], deadline_s: float, is_stuck: Callable[[], bool]
) -> Received:
    """Return what `receive(seconds)` does; TimeoutError after the deadline, or once it is stuck."""
    until = time.monotonic() + deadline_s
    while True:
        left = until - time.monotonic()
        try:
            return receive(min(left, LOOK_S))
        except TimeoutError:
            if is_stuck() or left <= LOOK_S:
                raise


class BadAnswer(ValueError):
    """A line that is not an answer to the load; one sentence."""


class Failed(Exception):
    """The loader answered the load with an error; one sentence."""


def asked_for(number: int, servers: Sequence[Mapping[str, Any]], **members: Any) -> dict[str, Any]:
    """Return the load request with the id `number`, in the form of schemas/LOADER.md.

    `members` are its other members, such as `max_attempts`.
    """
    return {"id": number, "op": "load", "servers": list(servers), **members}


def read_answer(line: bytes, number: int) -> LoadAnswer:
    """Return the answer to load `number` that a line holds.

    Raises BadAnswer if it is not an answer to that load or has more than 50,000 values, Failed
    if it is an error of the loader.
    """
    if (many := values(line)) > MOST_VALUES:
        raise BadAnswer(f"its answer has {many} values; send at most {MOST_VALUES}")
    quote = f"its answer is {quoted(line)}"
    try:
        answer = _ANSWER.decode(line)
    except RecursionError:
        raise BadAnswer(f"{quote}, which nests too deeply; {WANTED}") from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BadAnswer(f"{quote} ({error}); {WANTED}") from None
    if answer.id != number:
        raise BadAnswer(f"its answer to load {number} is {quoted(line)}; {WANTED}")
    if (answer.ok is None) == (answer.error is None):
        raise BadAnswer(f"{quote}; send exactly one of ok and error")
    if answer.error is not None:
        raise Failed(f"it answered the load with an error: {answer.error:.{QUOTED}}")
    assert answer.ok is not None
    return answer.ok


class LoaderProgram:
    """One loader program, started on first use and again after it hung."""

    def __init__(self, command: Sequence[str], folder: Path, held: Held | None = None) -> None:
        """Start nothing yet; the program's standard error goes into a file in `folder`.

        `held` counts the large answers of all programs of the same loader.
        """
        self._command = tuple(command)
        self._folder = folder
        self._number = 0
        self._starts = True
        self._talk = threading.Lock()
        self._program: LineProgram | None = None
        self._held = held or Held()

    def load(
        self,
        servers: Sequence[Mapping[str, Any]],
        *,
        max_attempts: int,
        base_backoff_s: float,
        deadline_s: float,
        late_s: float = 0.0,
        is_stuck: Callable[[], bool] = never,
    ) -> Loaded:
        """Load these servers and wait, at most `deadline_s` seconds, after which it is `hung`.

        A program that is not running is started by an empty load first, so that its start is
        not counted. One that hangs is ended; if it ends, or answers with an error, the load
        `broke`. Raises AdapterError if it does not start, answers with anything else, or
        fails without servers.
        """
        if servers and self._program is None and self._starts:
            first = self.load([], max_attempts=1, base_backoff_s=0.05, deadline_s=FIRST_S)
            self._starts = not first.hung
        with self._talk:
            program = self._running()
            self._number += 1
            members = {"max_attempts": max_attempts, "base_backoff_s": base_backoff_s}
            request = asked_for(self._number, servers, **members)
            if (stray := program.stray()) is not None:
                raise self._break(f"it printed {quoted(stray)} before it got a request; {WANTED}")
            began = time.monotonic()
            program.send(json.dumps(request).encode())
            try:
                line = received(program.receive, deadline_s, is_stuck)
                answer = self._read(line)
            except TimeoutError:
                seconds, ended = time.monotonic() - began, None
                with suppress(TimeoutError, ProgramEnded):
                    program.receive(late_s)
                    ended = time.monotonic() - began - seconds
                self.stop(0.0)
                return Loaded(seconds=seconds, ended=began + seconds, hung=True, late_s=ended)
            except ProgramEnded as end:
                error = self._break(f"it {end} before it answered the load")
                return self._broken(servers, error, began)
            except Failed as failed:
                return self._broken(servers, AdapterError(f"the loader broke: {failed}"), began)
            seconds = time.monotonic() - began
            loaded = Loaded(answer=answer, line=line, seconds=seconds)
            try:
                self._held.take(loaded)
            except ProtocolFault as fault:
                raise self._break(str(fault)) from None
            return loaded

    def leave(self) -> bool:
        """Close the program's standard input, and return whether it ends within twice `END_S`."""
        return self._program is None or self._program.leave(2 * END_S)  # a machine may be busy

    def stop(self, patience_s: float = END_S) -> None:
        """Close the program's standard input, wait up to `patience_s` seconds, end its group.

        Nothing if it does not run; the next load starts it again.
        """
        program, self._program = self._program, None
        if program is not None:
            program.finish(patience_s)

    def _broken(
        self, servers: Sequence[Mapping[str, Any]], error: AdapterError, began: float
    ) -> Loaded:
        """Return the load that broke with this error; raise the error if there were no servers.

        `began` is when it began, as a monotonic time.
        """
        if not servers:
            raise error
        return Loaded(seconds=time.monotonic() - began, broke=str(error))

    def _running(self) -> LineProgram:
        """Return the program, which is started if it does not run."""
        if self._program is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._program = LineProgram(self._command, log=self._folder / "loader.log")
        return self._program

    def _read(self, line: bytes) -> LoadAnswer:
        """Return the answer to the current load that a line holds; Failed if it is an error.

        Any other line ends the program and raises AdapterError.
        """
        try:
            return read_answer(line, self._number)
        except BadAnswer as fault:
            raise self._break(str(fault)) from None

    def _break(self, complaint: str) -> AdapterError:
        """End a program that broke the protocol; return the AdapterError to raise.

        It has the complaint and the end of the program's log.
        """
        tail = self._program.tail().strip() if self._program is not None else ""
        self.stop(0.0)
        log = f"; its log ends with:\n{tail}" if tail else ""
        return AdapterError(f"the loader broke: {complaint}{log}")
