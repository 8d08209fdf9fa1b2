"""Loader mutants without isolation: a server's outcome depends on other servers, or its place."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from itertools import pairwise
from typing import ClassVar

import httpx2

from mcp_proxy_mutants.resilience.mutant import Fresh, LoadMutant, load_mutant
from mcp_proxy_mutants.resilience.pieces import Attempt, Loads, failed, over, together
from mcp_proxy_reference import loader as std
from mcp_proxy_reference.loader import Connect, Connection, Json, Outcome, Session, Signal, Status
from mcp_proxy_reference.sessions import HttpSession

FEW = 6
Together = Callable[[Loads], Awaitable[list[Outcome]]]


def _all_when(condition: Callable[[Outcome], bool], status: Status) -> Together:
    """Return a hook `together`: if any outcome meets the condition, all available ones fail.

    They get `status`, and lose their tools; the others are unchanged.
    """

    def change(outcomes: list[Outcome]) -> list[Outcome]:
        if not any(map(condition, outcomes)):
            return outcomes
        return [failed(o, status) if o.status == "available" else o for o in outcomes]

    return together(change)


def _neighbour(outcomes: list[Outcome]) -> list[Outcome]:
    return outcomes[:1] + [
        failed(outcome, "transient") if last.status == "transient" else outcome
        for last, outcome in pairwise(outcomes)
    ]


def _first_class(outcomes: list[Outcome]) -> list[Outcome]:
    status = None
    changed = []
    for outcome in outcomes:
        if outcome.status != "available":
            status = status or outcome.status
            outcome = failed(outcome, status)  # noqa: PLW2901 - as of now
        changed.append(outcome)
    return changed


def _first_denial(outcomes: list[Outcome]) -> list[Outcome]:
    denied, changed = False, []
    for outcome in outcomes:
        lost = denied and outcome.status != "available"
        changed.append(failed(outcome, "denied") if lost else outcome)
        denied = denied or outcome.status == "denied"
    return changed


def _after_permanent(outcomes: list[Outcome]) -> list[Outcome]:
    stopped, changed = False, []
    for outcome in outcomes:
        changed.append(failed(outcome, "permanent") if stopped else outcome)
        stopped = stopped or outcome.status == "permanent"
    return changed


def _the_last(outcomes: list[Outcome]) -> list[Outcome]:
    return [failed(o, "transient") if o is outcomes[-1] and o.error else o for o in outcomes]


def _a_few(outcomes: list[Outcome]) -> list[Outcome]:
    return [*outcomes[:FEW], *(failed(outcome, "transient") for outcome in outcomes[FEW:])]


async def _hurried(loads: Loads) -> list[Outcome]:
    """Cancel the loads that are not done 50 ms after the first.

    Return the others' outcomes, in order.
    """
    tasks = [asyncio.ensure_future(run()) for run in loads]
    if tasks:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait(tasks, timeout=0.05)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return [task.result() for task in tasks if not task.cancelled()]


async def _until_one_fails(loads: Loads) -> list[Outcome]:
    """Load all servers at once; at the first failure cancel the other loads, and return it alone.

    A failure before anything was sent, as of an unusable connection, cancels nothing.
    """
    tasks = [asyncio.ensure_future(run()) for run in loads]
    await asyncio.sleep(0)
    for ended in [] if any(task.done() for task in tasks) else asyncio.as_completed(tasks):
        if (outcome := await ended).status != "available":
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            return [outcome]
    return await asyncio.gather(*tasks)


def _failure_of_all(answer: Json, request: Json) -> Json:
    """Return the answer; the failure that ended the load, if any, is told of all servers."""
    outcomes, ids = answer["outcomes"], [server["server_id"] for server in request["servers"]]
    told = answer["warnings"]
    if len(outcomes) == 1 and outcomes[0]["status"] != "available":
        first = outcomes[0]["server_id"]
        outcomes = [outcomes[0] | {"server_id": name} for name in ids]
        told = {word: [line.replace(first, ", ".join(ids)) for line in lines]
                for word, lines in told.items()}  # fmt: skip
    return answer | {"outcomes": outcomes, "warnings": told}


def _breaker(key: Callable[[Connection], str]) -> Fresh:
    """Return a fresh hook `attempt`: after a failure, all servers with the same `key` fail unasked.

    That lasts over loads and retries; they fail as Signal `reset` (transient).
    """

    def make() -> Attempt:
        lost: set[str] = set()

        async def attempt(connection: Connection, connect: Connect) -> tuple[list[Json], Session]:
            if key(connection) in lost:
                raise Signal("reset")
            try:
                return await std.attempt(connection, connect)
            except (Signal, TimeoutError):
                lost.add(key(connection))
                raise

        return attempt

    return Fresh(make)


def _origin(connection: Connection) -> str:
    """Return the server's URL up to its path, as `scheme://host:port`; over stdio, its id."""
    return "/".join((connection.url or connection.server_id).split("/")[:3])


def _host(connection: Connection) -> str:
    """Return the server's URL up to its last colon, without port and path.

    Over stdio it is what stands before the last colon of the id: "" for all ids without one.
    """
    return (connection.url or connection.server_id).rpartition(":")[0]


def _one_by_origin() -> Attempt:
    """Return a hook `attempt` that reports an origin's first server's tools for all its servers.

    That lasts over loads; a session with a later server is opened but not used.
    """

    async def attempt(connection: Connection, connect: Connect) -> tuple[list[Json], Session]:
        lock, listed = kept.setdefault(_origin(connection), (asyncio.Lock(), []))
        async with lock:
            if not listed:
                tools, session = await std.attempt(connection, connect)
                listed += tools
                return tools, session
        return listed, await connect(connection)

    kept: dict[str, tuple[asyncio.Lock, list[Json]]] = {}
    return attempt


def _few_places() -> Attempt:
    """Return a hook `attempt` that lets four attempts run at a time.

    One that waits for its turn for half of its timeout fails as a timeout.
    """
    places = asyncio.Semaphore(4)

    async def attempt(connection: Connection, connect: Connect) -> tuple[list[Json], Session]:
        try:
            async with asyncio.timeout(connection.timeout / 2):
                await places.acquire()
        except TimeoutError:
            raise Signal("timeout") from None
        try:
            return await std.attempt(connection, connect)
        finally:
            places.release()

    return attempt


class _BareLaterPages(HttpSession):
    """A session that asks for later pages of tools without the headers of its connection."""

    async def request(self, method: str, params: Json) -> Json:
        """Send a request; from the first cursor on, leave the connection's headers out."""
        if "cursor" in params:
            for name in self._connection.headers:
                self._headers.pop(name, None)
        return await super().request(method, params)


class _OneSession(HttpSession):
    """A session that sends the id of the session that was begun last, on any server."""

    last: ClassVar[dict[str, str]] = {}

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._http.event_hooks = {"request": [self._add], "response": [self._learn]}

    async def _add(self, request: httpx2.Request) -> None:
        if "mcp-session-id" in request.headers:
            request.headers["mcp-session-id"] = self.last["id"]

    async def _learn(self, answer: httpx2.Response) -> None:
        if session_id := answer.headers.get("mcp-session-id"):
            self.last["id"] = session_id


MUTANTS: tuple[LoadMutant, ...] = (
    load_mutant("one-denial-fails-all", "One denial fails the whole load.",
                "I1.isolated", together=_all_when(lambda o: o.status == "denied", "denied")),
    load_mutant("one-failure-fails-all", "One failure fails the whole load.",
                "I1.isolated", together=_all_when(lambda o: o.status != "available", "permanent")),
    load_mutant("one-failure-ends-all",
                "The first failure of a server ends all other loads, which fail as it did.",
                "I1.isolated", "I3.order", together=_until_one_fails, edit=_failure_of_all),
    load_mutant("one-unknown-name-fails-all",
                "One host name that does not resolve fails the whole load.",
                "I1.isolated",
                together=_all_when(lambda o: "host name" in str(o.error), "permanent")),
    load_mutant("one-unusable-fails-all", "One malformed connection fails the whole load.",
                "I1.isolated",
                together=_all_when(lambda o: "usable" in str(o.error), "permanent")),
    load_mutant("one-silence-fails-all", "One silent server fails the whole load.",
                "I1.isolated",
                together=_all_when(lambda o: "in time" in str(o.error), "transient")),
    load_mutant("one-bad-program-fails-all",
                "One program that cannot be started fails the whole load.",
                "I1.isolated",
                together=_all_when(lambda o: "command" in str(o.error), "permanent")),
    load_mutant("nonsense-fails-all", "One invalid answer fails the whole load.",
                "I1.isolated",
                together=_all_when(lambda o: "not a valid MCP" in str(o.error), "permanent")),
    load_mutant("neighbour-may-pass",
                "The server after a transient one is reported as transient too.",
                "I1.isolated", "I3.order", together=together(_neighbour)),
    load_mutant("first-failure-decides", "All failures of a load have the class of the first.",
                "I3.order", "I1.isolated", together=together(_first_class)),
    load_mutant("first-denial-decides",
                "After a denial, every later failure is reported as denied.",
                "I3.order", together=together(_first_denial)),
    load_mutant("stops-at-the-permanent",
                "Servers after a permanent failure are reported as permanent.",
                "I3.order", "I1.isolated", together=together(_after_permanent)),
    load_mutant("last-may-pass", "A failure of the last server is reported as transient.",
                "I3.order", "I1.isolated", together=together(_the_last)),
    load_mutant("a-few-at-most", "Servers beyond the first six are reported as transient.",
                "I1.isolated", "O3.loaded", "R1.once", together=together(_a_few)),
    load_mutant("a-few-in-all", "Servers beyond the first six have no outcome.",
                "O1.one-each", together=together(lambda outcomes: outcomes[:FEW])),
    load_mutant("the-first-done-ends-all",
                "Servers that are not done soon after the first have no outcome.",
                "I1.isolated", "T3.retried", "T1.retried", "O1.one-each", together=_hurried),
    load_mutant("one-failure-blocks-its-origin",
                "After a failure, no server of its origin is contacted again.",
                "T1.retried", "R2.heals", "I1.isolated", attempt=_breaker(_origin)),
    load_mutant("one-failure-blocks-its-host",
                "After a failure, no server on its host is contacted again.",
                "T3.retried", "R2.heals", "I1.isolated", attempt=_breaker(_host)),
    load_mutant("one-session-for-all", "The id of the session that was begun last goes to all.",
                "I1.isolated", attempt=over(_OneSession)),
    load_mutant("room-for-four",
                "Four servers load at a time; one that waits too long for its turn has timed out.",
                "I1.isolated", attempt=Fresh(_few_places)),
    load_mutant("later-pages-without-headers",
                "Later pages of tools are asked for without the headers of the connection.",
                "O3.loaded", attempt=over(_BareLaterPages)),
    load_mutant("one-list-for-an-origin", "All servers of one origin have the tools of the first.",
                "O3.own-tools", "I1.isolated", attempt=Fresh(_one_by_origin)),
    load_mutant("all-or-nothing", "No server has tools unless all servers are available.",
                "I1.isolated",
                together=together(lambda outcomes: outcomes if all(
                    outcome.status == "available" for outcome in outcomes)
                    else [replace(outcome, tools=()) for outcome in outcomes])),
    load_mutant("nobody-is-available",
                "If more than half of the servers fail, all are reported as transient.",
                "I1.isolated",
                together=together(lambda outcomes: [
                    failed(outcome, "transient") for outcome in outcomes]
                    if sum(outcome.status != "available" for outcome in outcomes) * 2
                    > len(outcomes)
                    else outcomes)),
    load_mutant("a-server-alone-fails", "A server that is loaded alone is reported as transient.",
                "O3.loaded", "R1.once",
                together=together(lambda outcomes: [
                    failed(outcome, "transient") for outcome in outcomes]
                    if len(outcomes) == 1 else outcomes)),
)  # fmt: skip
