"""Loads of a loader under test: many at once, each with fault servers of its own."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from mcp_proxy_conformance.resilience.busy import BUSY_S
from mcp_proxy_conformance.resilience.load_case import (
    CONTROL_DOWN,
    CONTROL_UP,
    SCENARIO,
    Behaviour,
    Expected,
    GivenLoad,
    LoadCase,
    LoadServer,
)
from mcp_proxy_conformance.resilience.loader import Loaded, Loader
from mcp_proxy_conformance.resilience.unanswered import Stoppers, may_wait, reached
from mcp_proxy_conformance.targets.target import AdapterError, without_frames
from mcp_proxy_conformance.targets.waits import LoadEnd, during
from mcp_proxy_conformance.upstream.faults import FaultServers, read_scripts
from mcp_proxy_conformance.verdict.comparison import Comparison
from mcp_proxy_conformance.verdict.result import Inconclusive

AT_ONCE, MOST_AT_ONCE = 8, 16
"""Loads at a time: by default, and of a loader whose programs start quickly."""
QUICK_S = 0.5
"""Seconds within which a program starts quickly; more slow ones would cost more than the waits that
they share."""
MOST_TIMEOUT_S = 12.0
"""The longest to which a timeout is made longer, and that a load is waited for."""
PATIENCE = 3
"""The factor of a load's deadline over the longest that a correct loader may need (I4)."""
LATE_END_S = 30.0
"""Seconds for which one load of a run that hangs is waited for longer."""
GRACE_S = 3.0
"""Seconds that a correct loader may need in addition to its waits."""
REQUESTS = 5
"""Requests of an attempt, about."""
LOOK_S, LATER_S = 0.01, 0.5
"""Seconds between two looks at logs, and the least until a port that was closed listens."""
MANY_TOOLS, PAGE_S = 100, 0.03
"""Tools that are as much work as a page, and the seconds that a page takes beside other loads."""
COUNT_S = 1.0
"""Seconds between two counts of the loads that have not ended."""
GONE_S = 1.0
"""Seconds in which the connection of an ended program may close."""
GROWS = 4.0
"""The most by which a pause may grow over the one before."""
BROKEN = (AdapterError, OSError, Inconclusive)
"""Errors of a load, which the check of that load tells; they say nothing of others."""
TRIES = 3
"""How often a load that fails is made while the machine is too busy."""
SLOW = 1 / 3
"""The share of a load that hung, by which the machine was too busy for it: the rest is enough."""
TOO_BUSY = (
    "this machine is too busy to tell a fault from a late answer: programs hardly start; run fewer "
    "programs beside the suite"
)
UNSEEN = ("backlog", "unresolvable")
"""Behaviours for which a loader may wait although no server sees it."""
ENDS = ("fin", "rst", "end")
"""Ends of an answer after which there is nothing to wait for."""
PLAYED = (
    "server_id", "tools", "gone", "page_size", "timeout_s", "script", "same_origin_as", "transport",
    "dialect", "odd_schemas", "same_url_as", "authorization", "header", "cursors", "program",
    "guarded", "path", "slash", "query",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """One finished load: its case, the loader's answer, and what the servers counted.

    `attempts` are counts by server id, None where they cannot be counted; `unmet` is why this
    machine cannot play a server's fault, by server id; `again` is a second load of the same
    servers, whose scripts continue, and `attempts_again` are its attempts. `untried`: why the load
    was not even begun, because the loader would not answer it; empty if it was. `began` and `ended`
    are monotonic times, of all its loads; `left` is what still runs after the end of the loader, if
    that was looked at; `compared` keeps how it was judged; `when` is which load of its case it is,
    in words; `slower`
    is the factor of what its servers wait; `waiting` are the ids of the servers for whose answer
    the loader waited when it was last looked at.
    """

    case: LoadCase
    servers: FaultServers
    loaded: Loaded
    attempts: Mapping[str, int | None]
    unmet: Mapping[str, str]
    again: Loaded | None = None
    attempts_again: Mapping[str, int] = field(default_factory=dict)
    untried: str = ""
    began: float = 0.0
    ended: float = 0.0
    left: tuple[str, ...] = ()
    compared: list[Comparison] = field(default_factory=list)
    when: str = ""
    slower: float = 1.0
    waiting: tuple[str, ...] = ()

    @property
    def second(self) -> Load | None:
        """The second load, if it was answered, as one that is judged as the first one is."""
        if self.again is None or not self.again.is_answered:
            return None
        case = msgspec.structs.replace(self.case, then=self.case.again or {})
        return replace(self, case=case, loaded=self.again, attempts=self.attempts_again,
                       again=None, when=" in the second load")  # fmt: skip

    @property
    def is_answered(self) -> bool:
        """Whether the load was tried and the loader answered it."""
        return not self.untried and self.loaded.is_answered


class RunIsOver(AdapterError):
    """No load is made any more, or one in progress was ended with the run."""

    def __init__(self) -> None:
        """Say so."""
        super().__init__("the run is over; no other load is made")


class _GivenUp(Exception):
    """A load was ended because another one showed meanwhile that it would not be answered."""


class Loads:
    """A pool of loader programs; each load has one to itself.

    The first load that hangs is tried once more, and hung only if it hangs again; loads of servers
    of a kind that is known to stop the loader are not tried.
    """

    def __init__(
        self,
        make: Callable[[Path], Loader],
        folder: Path,
        *,
        confirm: bool = True,
        learns: bool = True,
        at_once: int = AT_ONCE,
        slower: float = 1.0,
        slow: Callable[[float, float, float], float] = lambda *_: 0.0,
    ) -> None:
        """Start no load yet; `make(folder)` makes a loader that keeps its log there.

        `confirm`: whether a load that hangs is tried once more; `learns`: whether loads
        that would not be answered are left out; `at_once`: the most loads at a time; `slower`: the
        factor of all timeouts and pauses, and of what outlasts them; `slow` returns the share of
        the time between two monotonic times in which programs took more seconds than that to start.
        """
        self._make = make
        self._folder = folder
        self._confirm = confirm
        self._stoppers = Stoppers()
        self._learns = learns
        self._slower = slower
        self._slow = slow
        self.at_once = at_once
        self._patience = [LATE_END_S]
        self._playing: dict[Loader, LoadCase] = {}
        self._given_up: set[Loader] = set()
        self._closed = threading.Event()
        self._crew = ThreadPoolExecutor(at_once, thread_name_prefix="load")
        self._idle: list[Loader] = []
        self._all: list[Loader] = []
        self._lock = threading.Lock()
        self._done: dict[str, Future[Load]] = {}
        self._due: deque[tuple[LoadCase, Future[Load]]] = deque()

    def plan(
        self, cases: Sequence[LoadCase], *, slowest_first: bool = True, urgent: bool = False
    ) -> None:
        """Begin the loads of these cases in the background, unless begun before.

        They begin in the given order or, with `slowest_first`, by how long a correct loader
        waits; `urgent` ones before all that have not begun. None begins after `close`.
        """
        if self._closed.is_set():
            return
        with self._lock:
            new = {case.id: case for case in cases if case.id not in self._done}
            order = sorted(new.values(), key=waits, reverse=True)
            due = [(case, Future[Load]()) for case in (order if slowest_first else new.values())]
            self._done |= {case.id: load for case, load in due}
            self._due.extendleft(due[::-1]) if urgent else self._due.extend(due)
            for _ in due:
                self._crew.submit(self._next)

    def _next(self) -> None:
        """Make the next load that is due, unless it was dropped."""
        case, load = self._due.popleft()
        if load.set_running_or_notify_cancel():
            try:
                load.set_result(self._load(case))
            except Exception as error:  # noqa: BLE001 - whoever asks for the load is told
                load.set_exception(error)

    def of(self, case: LoadCase) -> Load:
        """Return the load of a case, begun now if need be; wait for its end.

        Raises AdapterError if the program broke, or the run was over before that end.
        """
        self.plan([case], urgent=True)
        if self._closed.is_set() and not self.has_ended(case):
            raise RunIsOver
        while not (load := self._done[case.id]).done():
            others = sum(not future.done() for future in [*self._done.values()]) - 1
            with during(LoadEnd(case=case.id, others=others)):
                wait([load], COUNT_S)
        return load.result()

    def has_ended(self, case: LoadCase) -> bool:
        """Whether the load of this case was begun and has ended, but not by `close`."""
        load = self._done.get(case.id)
        if load is None or not load.done() or load.cancelled():
            return False
        return not isinstance(load.exception(), RunIsOver)

    def ended(self, cases: Iterable[LoadCase]) -> Iterator[Load]:
        """Yield the loads of those cases that were tried, have ended, and did not break."""
        for case in filter(self.has_ended, cases):
            with contextlib.suppress(*BROKEN):
                if not (load := self.of(case)).untried:
                    yield load

    def anew(self, case: LoadCase) -> Load:
        """Load a case once more, whatever is known of its servers; wait, and return that load.

        `of` still returns the first one. Raises AdapterError if the program broke.
        """
        return self._crew.submit(self._once, case).result()

    def forget(self, cases: Sequence[LoadCase]) -> None:
        """Forget the loads of these cases, so that they are made anew when they are needed.

        Those that have not begun are dropped, those in progress are kept.
        """
        with self._lock:
            for case in cases:
                load = self._done.get(case.id)
                if load is not None and (load.cancel() or load.done()):
                    del self._done[case.id]

    def settle(self, until: float | None = None) -> None:
        """Wait until no load is in progress, at most until that monotonic time."""
        wait(self._done.values(), None if until is None else max(0.0, until - time.monotonic()))

    def close(self) -> None:
        """End every loader, drop loads that have not begun, and wait for the others to end.

        No load can be made after that; those that have ended are kept.
        """
        self._closed.set()
        self._crew.shutdown(wait=False, cancel_futures=True)
        for _, load in [*self._due]:
            load.cancel()
        with ThreadPoolExecutor(max(1, len(self._all))) as enders:
            list(enders.map(lambda loader: loader.stop(0.0), self._all))
        self._crew.shutdown(wait=True)
        for loader in self._all:
            loader.stop(0.0)  # a load that had just begun may have started its program again

    def _load(self, case: LoadCase) -> Load:
        """Load a case, unless the loader would not answer; once more if it hangs.

        It is loaded without control servers that would stop the loader, and once more if a server
        got no request or the second load hangs. An unanswered load is learned from, and running
        ones like it are ended. Raises Inconclusive if it hung three times while the machine was too
        busy.
        """
        hung, again, tries = False, False, TRIES
        while True:
            if self._stoppers.foretell(BOTH_CONTROLS):
                case = without_controls(case)
            if untried := self._stoppers.foretell(case):
                return Load(case=case, servers=FaultServers(()), loaded=Loaded(), attempts={},
                            unmet={}, untried=untried)  # fmt: skip
            try:
                load = self._once(case, self._patience.pop() if hung and self._patience else 0.0)
            except _GivenUp:
                continue
            if _hung(load) and self._was_slow(load, PATIENCE) > SLOW:
                tries -= 1
                if not tries and not load.is_answered:
                    self._learn(load)
                    raise Inconclusive(TOO_BUSY)
                if not tries:
                    return replace(load, again=None)
                continue
            if load.is_answered and (again or not self._is_doubtful(load)):
                self._stand_in(load)
                return load
            if load.is_answered:
                again = True
                continue
            if load.loaded.broke or hung or self._stoppers.known or not self._confirm:
                self._learn(load)
                return load
            hung = True

    def was_busy(self, load: Load) -> bool:
        """Whether a program hardly started while a load was made."""
        return self._was_slow(load) > 0

    def _was_slow(self, load: Load, patience: float = 1.0) -> float:
        return self._slow(load.began, load.ended, BUSY_S * load.slower * patience)

    def _learn(self, load: Load) -> None:
        """Learn from a load that was not answered, and end running ones like it."""
        if self._learns:
            self._stoppers.learn(load.case, load.servers, load.loaded, load.waiting)
            self._give_up()

    def _is_doubtful(self, load: Load) -> bool:
        """Whether an answered load is made once more before it counts.

        That is if a server got no request or, where hangs are confirmed, the second load hung.
        """
        return _is_unasked(load) or (_hung(load) and self._confirm)

    def _stand_in(self, load: Load) -> None:
        """If a load lost its healthy control server, begin one without controls to replace it.

        It runs in the background; nothing is begun for a case that cannot be loaded so.
        """
        bare, control = without_controls(load.case), load.loaded.outcome(CONTROL_UP.server_id)
        kept = control is not None and control.status == "available"
        if bare is not load.case and not kept and is_alike(bare) and not self._closed.is_set():
            with contextlib.suppress(RuntimeError):  # the run ends at this moment
                self.plan([bare])

    def _give_up(self) -> None:
        """End the loaders whose load in progress would not be answered, as is known by now.

        They are noted as given up.
        """
        with self._lock:
            playing = [*self._playing.items()]
        for loader, case in playing:
            if self._stoppers.foretell(case):
                self._given_up.add(loader)
                loader.stop(0.0)

    def _once(self, case: LoadCase, late_s: float = 0.0) -> Load:
        """Load a case with a loader from the pool, to which it returns afterwards.

        One that hangs is waited for `late_s` longer, to tell whether it ends at all.

        Raises _GivenUp if `_give_up` ended it, AdapterError if it broke or the run is over.
        """
        if self._closed.is_set():
            raise RunIsOver
        loader = self._take()
        try:
            with self._lock:
                self._playing[loader] = case
            load = _loaded(loader, case, self._slower, late_s, self._closed.is_set)
        except AdapterError as error:
            if loader in self._given_up:
                raise _GivenUp from None
            raise without_frames(error) from None
        else:
            if loader in self._given_up and not load.is_answered:
                raise _GivenUp
            if self._closed.is_set() and not load.is_answered:
                raise RunIsOver
            return load
        finally:
            self._given_up.discard(loader)
            with self._lock:
                del self._playing[loader]
                self._idle.append(loader)

    def _take(self) -> Loader:
        """Return an idle loader, or a new one with a folder of its own."""
        with self._lock:
            if self._idle:
                return self._idle.pop()
            number = len(self._all) + 1
            loader = self._make(self._folder / f"loader-{number}")
            self._all.append(loader)
            return loader


BESIDE = LoadServer(server_id="control-beside", tools=("control_beside_tool",), timeout_s=10.0)
WELL = LoadCase(
    id="healthy-servers-only",
    area="control",
    title="Two healthy servers are available if no other server is beside them.",
    source=("MCPServerLoadOutcome",),
    clauses=(),
    given=GivenLoad(max_attempts=1, controls=False, servers=(CONTROL_UP, BESIDE)),
    then={
        server.server_id: Expected(status=("available",), tools=server.tools)
        for server in (CONTROL_UP, BESIDE)
    },
)
"""Shows that a loader loads at all, for a load that lost its own healthy server."""
BOTH_CONTROLS = LoadCase(
    id="controls", area="control", title="The controls.", source=(), clauses=(), then={},
    given=GivenLoad(max_attempts=1, servers=()),
)  # fmt: skip
"""Shows that a loader answers a load of the two control servers."""
CONTROL_LOADS = (WELL, BOTH_CONTROLS)
_SILENCE, _WELL = Behaviour(do="silence"), Behaviour(do="healthy")
_SILENT_LIST = Behaviour(do="silence", on="tools/list")
_PROGRAM = LoadServer(server_id="oak", tools=("a_tool",), transport="stdio", timeout_s=2.0)
STARTED = LoadCase(
    id="started", area="time", title="The loader ends after a load of programs.", source=(),
    clauses=(), then={}, ends=True,
    given=GivenLoad(max_attempts=3, controls=False, servers=(
        _PROGRAM,
        msgspec.structs.replace(_PROGRAM, server_id="elm", script=(_SILENCE, _WELL)),
        msgspec.structs.replace(_PROGRAM, server_id="ash", script=(_SILENT_LIST,)),
        msgspec.structs.replace(_PROGRAM, server_id="yew", program="stubborn"),
        msgspec.structs.replace(_PROGRAM, server_id="fir", program="stubborn", script=(_SILENCE,)),
        msgspec.structs.replace(_PROGRAM, server_id="box", program="wrapped"),
    )),
)  # fmt: skip
"""Programs of which nothing may be left when the loader has ended."""


def without_controls(case: LoadCase) -> LoadCase:
    """Return the case without the control servers in its load, under an id of its own.

    A case that has no control servers, or nothing else, is returned as it is.
    """
    if not (case.given.controls and case.given.servers):
        return case
    given = msgspec.structs.replace(case.given, controls=False)
    return msgspec.structs.replace(case, id=f"{case.id} without controls", given=given)


def is_alike(case: LoadCase) -> bool:
    """Whether all of a case's servers are to be available, or all to fail, but for isolation.

    Then a load without the control servers can stand in for one that lost them.
    """
    kinds = {"available" in expected.status for expected in case.then.values()}
    return len(kinds) < 2 and "I1.isolated" not in case.clauses  # noqa: PLR2004


def _loaded(
    loader: Loader, case: LoadCase, slower: float, late_s: float, is_over: Callable[[], bool]
) -> Load:
    """Start the servers of a case and have the loader load them, as often as the case says.

    Before the last of several loads servers that heal become healthy, if the case says so; there is
    none after one without an answer. The servers' counts, and faults that this machine cannot play,
    are kept. If the case says so the loader is ended, and what is left of its programs looked at.
    A load is given up soon after the run `is_over`.
    """
    own = [_slowed(server, slower) for server in case.servers()]
    scripts = read_scripts([scripted(server) for server in own])
    with FaultServers(scripts) as servers:
        unmet = {
            server.server_id: why for server in own if (why := servers.unmet(server.server_id))
        }
        given = [handed(servers.connection(server.server_id), server) for server in own]
        wanted: dict[str, Any] = {
            "max_attempts": case.given.max_attempts,
            "base_backoff_s": case.given.base_backoff_s * (slower if case.area == SCENARIO else 1),
            "deadline_s": PATIENCE * _longest(case, slower),
        }
        watch = _Watch(servers, PATIENCE * _longest_wait(case, slower))
        wanted["is_stuck"] = lambda: is_over() or watch.is_stuck()
        began = time.monotonic()
        with _opening(servers, own):
            first = loader.load(given, **wanted, late_s=late_s)
        attempts = {server.server_id: servers.attempts(server.server_id) for server in own}
        attempts |= {name: attempts[name] or 0 for name in closed_at_first(own)}
        again, before = None, attempts
        if case.again is not None and first.is_answered:
            for _ in range(case.loads - 1):
                again = loader.load(given, **wanted)
            before = {name: servers.attempts(name) for name in attempts}
            for server in own:
                if case.heals and server.heals:
                    servers.heal(server.server_id)
                    before[server.server_id] = 0
            if again is None or again.is_answered:
                again = loader.load(given, **wanted)
        ended = (again or first).ended
        left = _left(loader, servers, own) if case.ends and first.is_answered else ()
        later = {
            name: (servers.attempts(name) or 0) - number
            for name, number in before.items()
            if number is not None
        }
    return Load(
        case=case,
        servers=servers,
        loaded=first,
        attempts=attempts,
        unmet=unmet,
        again=again,
        attempts_again=later,
        began=began,
        ended=ended,
        left=left,
        slower=slower,
        waiting=watch.waiting,
    )


@dataclass(slots=True)
class _Watch:
    """A look at a load: for which servers' answers the loader waits, and whether for too long."""

    servers: FaultServers
    quiet_s: float
    waiting: tuple[str, ...] = ()

    def is_stuck(self) -> bool:
        """Return whether an answer is awaited, and no server was asked anything for so long."""
        self.waiting = self.servers.waiting()
        return bool(self.waiting) and time.monotonic() - self.servers.latest > self.quiet_s


def _left(loader: Loader, servers: FaultServers, own: Sequence[LoadServer]) -> tuple[str, ...]:
    """End a loader; return what runs then: itself, and ids of servers whose programs do."""
    late = [] if loader.leave() else ["the loader"]
    until = time.monotonic() + GONE_S
    while runs := [each.server_id for each in own if servers.runs(each.server_id)]:
        if time.monotonic() > until:
            break
        time.sleep(LOOK_S)
    loader.stop(0.0)
    return (*late, *runs)


def closed_at_first(own: Sequence[LoadServer]) -> list[str]:
    """Return the ids of servers whose port begins to listen only during the load."""
    return [server.server_id for server in own if server.script[0].do == "refused_at_first"]


def _hung(load: Load) -> bool:
    return load.loaded.hung or (load.again is not None and load.again.hung)


def _is_unasked(load: Load) -> bool:
    """Whether a server that can count requests got none, though its connection is usable.

    Servers whose port is closed at first, and malformed connections, are left out.
    """
    closed = closed_at_first(load.case.given.servers)
    malformed = [own.server_id for own in load.case.servers() if own.script[0].do == "malformed"]
    return any(
        number == 0 and name not in (*closed, *malformed) for name, number in load.attempts.items()
    )


@contextlib.contextmanager
def _opening(servers: FaultServers, own: Sequence[LoadServer]) -> Iterator[None]:
    """Have ports that are closed at first listen later in the load of this block.

    That is after every other server got a request: after twice the time until then, and 0.5 s.
    None opens if the block ends before.
    """
    closed = closed_at_first(own)
    others = [server.server_id for server in own if server.server_id not in closed]
    over, began = threading.Event(), time.monotonic()

    def open_later() -> None:
        """Wait until all other servers got a request, and longer; then open the closed ports.

        Open none if the block ends meanwhile.
        """
        while not all(map(servers.log, others)):
            if over.wait(LOOK_S):
                return
        if not over.wait(LATER_S + 2 * (time.monotonic() - began)):
            for name in closed:
                servers.heal(name)

    thread = threading.Thread(target=open_later)
    if closed:
        thread.start()
    try:
        yield
    finally:
        over.set()
        if closed:
            thread.join()


def waits(case: LoadCase) -> float:
    """Return the seconds that a loader waits if it loads all servers of the case side by side.

    A guess of how many requests it makes, and how they fail, is enough for an order of loads.
    """
    pause_s = case.given.base_backoff_s
    loads = case.loads + (case.again is not None)
    waits = [0.0]
    pages = sum(len(server.listed) // (server.page_size or MANY_TOOLS) for server in case.servers())
    for server in case.servers():
        met = _met(case, server)
        pauses = pause_s * (2 ** (len(met) - 1) - 1)
        answers = REQUESTS * len(met) * server.dialect.delay_s(server.timeout_s)
        waits.append(server.timeout_s * sum(map(may_wait, met)) + pauses + answers)
    return loads * (max(waits) + pages * PAGE_S)


def _slowed(server: LoadServer, slower: float) -> LoadServer:
    """Return the server with a timeout, and late answers, that are longer by that factor.

    A timeout is made 12 s long at most; one that is longer stays.
    """
    slower = max(1.0, min(slower, MOST_TIMEOUT_S / server.timeout_s))
    script = tuple(
        msgspec.structs.replace(step, seconds=step.seconds and step.seconds * slower)
        for step in server.script
    )
    return msgspec.structs.replace(server, timeout_s=server.timeout_s * slower, script=script)


def _longest(case: LoadCase, slower: float) -> float:
    """Return the seconds that a correct loader may need for a load at most.

    That is 3 s, the timeout for each attempt that may keep it waiting, the pauses between them, and
    what slow answers take.
    """
    seconds = GRACE_S
    for server in (*case.given.servers, CONTROL_DOWN):
        met = _met(case, server)
        waits = sum(may_wait(each) and each.by not in ENDS for each in met)
        seconds += waits * min(server.timeout_s * slower, MOST_TIMEOUT_S)
        pauses = sum(GROWS**before for before in range(len(met) - 1))
        seconds += pauses * case.given.base_backoff_s * slower
        seconds += REQUESTS * len(met) * server.dialect.delay_s(server.timeout_s * slower)
    return seconds


def _longest_wait(case: LoadCase, slower: float) -> float:
    """Return the most seconds between two requests of a correct loader, to whatever servers.

    That is 3 s, the longest timeout that keeps it waiting or slow answer, and the longest pause;
    infinite if it may wait for what no server sees.
    """
    most, longest = case.given.max_attempts, 0.0
    for server in (*case.given.servers, CONTROL_DOWN):
        if any(step.do in UNSEEN for step in server.script):
            return math.inf
        waits = any(map(may_wait, server.script))
        timeout_s = min(server.timeout_s * slower, MOST_TIMEOUT_S)
        longest = max(longest, timeout_s if waits else server.dialect.delay_s(timeout_s))
    return GRACE_S + longest + case.given.base_backoff_s * slower * GROWS ** max(0, most - 2)


def _met(case: LoadCase, server: LoadServer) -> list[Behaviour]:
    """Return what a server does in that load of the case which waits for it longest."""
    starts = range(1, len(server.script) + 1) if case.again is not None else (1,)
    several = (reached(server, case.given.max_attempts, first) for first in starts)
    return max(several, key=lambda met: (sum(map(may_wait, met)), len(met)))


def scripted(server: LoadServer) -> dict[str, Any]:
    """Return a case's server in the form that `read_scripts` takes, without members of None."""
    members = msgspec.to_builtins(server)
    script = [
        {name: value for name, value in step.items() if value is not None}
        for step in members["script"]
    ]
    return {name: members[name] for name in PLAYED if members[name] is not None} | {
        "script": script
    }


def handed(connection: dict[str, Any], server: LoadServer) -> dict[str, Any]:
    """Return the connection that the loader is given, with the case's user and headers.

    A command is split into program and arguments; an odd connection is in the JSON that is rare.
    """
    handed = dict(connection)
    if isinstance(handed.get("command"), list):
        handed["command"], *handed["args"] = handed["command"]
    if server.headers:
        handed["headers"] = {**handed.get("headers", {}), **server.headers}
    if handed.get("url") and server.userinfo:
        handed["url"] = handed["url"].replace("//", f"//{server.userinfo}@", 1)
    if not server.odd_connection:
        return handed
    seconds = handed["timeout_s"]
    handed["timeout_s"] = int(seconds) if seconds.is_integer() else seconds
    return {name: handed[name] for name in reversed(handed)}
