"""Loader mutants with a memory: state is kept from one load, or one attempt, to the next."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable

from mcp_proxy_mutants.resilience.changed import Edit
from mcp_proxy_mutants.resilience.mutant import Fresh, LoadMutant, load_mutant
from mcp_proxy_mutants.resilience.mutants.endless import NEVER_S
from mcp_proxy_mutants.resilience.pieces import (
    Attempt,
    Ear,
    Hear,
    Loads,
    OutcomeEntry,
    failed,
    wrapping,
)
from mcp_proxy_reference import loader as std
from mcp_proxy_reference.loader import Connect, Connection, Json, Outcome, Session, Signal

Key = tuple[str, str]


def _key(connection: Connection) -> Key:
    """Return the server's id and URL, the URL empty over stdio: the key by which state is kept."""
    return connection.server_id, connection.url or ""


def _keys(request: Json) -> dict[str, Key]:
    """Return the key (id and URL) of each server of the request, by id."""
    return {
        server["server_id"]: (server["server_id"], str(server.get("url") or ""))
        for server in request["servers"]
    }


def _kept(keeps: Callable[[OutcomeEntry], bool]) -> Fresh:
    """Return a fresh hook `edit`: all loads after it repeat the first outcome that `keeps` accepts.

    Each server has its own, known by id and URL.
    """

    def make() -> Edit:
        kept: dict[Key, OutcomeEntry] = {}

        def edit(answer: Json, request: Json) -> Json:
            keys = _keys(request)
            outcomes = []
            for outcome in answer["outcomes"]:
                key = keys[outcome["server_id"]]
                outcomes.append(kept.get(key, outcome))
                if keeps(outcome):
                    kept.setdefault(key, outcome)
            return answer | {"outcomes": outcomes}

        return edit

    return Fresh(make)


def _last_tools() -> Edit:
    """Return a hook `edit`: a server without tools has those of the load right before.

    Those are the tools that this load itself found, so that they show for one more load only.
    """
    kept: dict[Key, list[str]] = {}

    def edit(answer: Json, request: Json) -> Json:
        keys = _keys(request)
        outcomes = []
        for outcome in answer["outcomes"]:
            key = keys[outcome["server_id"]]
            outcomes.append(outcome | {"tools": outcome["tools"] or kept.get(key, [])})
            kept[key] = outcome["tools"]
        return answer | {"outcomes": outcomes}

    return edit


def _kept_list() -> Attempt:
    """Return a hook `attempt` that fetches a server's tools once and reuses them in later loads.

    A server's session is still opened each time; a failed fetch is not kept.
    """
    kept: dict[Key, list[Json]] = {}

    async def attempt(connection: Connection, connect: Connect) -> tuple[list[Json], Session]:
        if _key(connection) in kept:
            return kept[_key(connection)], await connect(connection)
        tools, session = await std.attempt(connection, connect)
        kept[_key(connection)] = tools
        return tools, session

    return attempt


def _every_second() -> Callable[[Loads], Awaitable[list[Outcome]]]:
    """Return a hook `together`: in every second load, the first server is transient.

    Loads without servers are not counted.
    """
    loads: Counter[str] = Counter()

    async def together(wanted: Loads) -> list[Outcome]:
        outcomes = await std.side_by_side(wanted)
        loads["all"] += bool(outcomes)
        if loads["all"] % 2:
            return outcomes
        return [*(failed(outcome, "transient") for outcome in outcomes[:1]), *outcomes[1:]]

    return together


def _quota(most: int, beyond: Callable[[], Awaitable[None]]) -> Fresh:
    """Return a fresh hook `attempt`: attempts beyond `most` for a server, over all loads, differ.

    `beyond` is awaited before such an attempt. A server is known by id and URL.
    """

    def make() -> Attempt:
        made: Counter[Key] = Counter()

        async def attempt(connection: Connection, connect: Connect) -> tuple[list[Json], Session]:
            made[_key(connection)] += 1
            if made[_key(connection)] > most:
                await beyond()
            return await std.attempt(connection, connect)

        return attempt

    return Fresh(make)


async def _refused() -> None:
    """Fail unasked, as Signal `http_4xx` (permanent)."""
    raise Signal("http_4xx")


async def _endless() -> None:
    """Wait for an hour."""
    await asyncio.sleep(NEVER_S)


def _summed() -> Edit:
    """Return a hook `edit`: a server's attempts are the sum over all loads so far, by its id."""
    made: Counter[str] = Counter()

    def edit(answer: Json, request: Json) -> Json:
        del request
        outcomes = []
        for outcome in answer["outcomes"]:
            made[outcome["server_id"]] += outcome["attempts"]
            outcomes.append(outcome | {"attempts": made[outcome["server_id"]]})
        return answer | {"outcomes": outcomes}

    return edit


def _first_signal() -> Hear:
    """Return a hook `heard`: a server's later attempts in a load repeat the first's signal."""
    first: dict[Key, Signal] = {}

    def heard(signal: Signal, connection: Connection, attempts: int) -> Signal:
        if attempts == 1:
            first[_key(connection)] = signal
        return first[_key(connection)]

    return heard


def _second_is_final(signal: Signal, connection: Connection, attempts: int) -> Signal:
    """Return a first attempt's signal unchanged, and any later one's as a denial."""
    del connection
    return Signal("denied", signal.code) if attempts > 1 else signal


def _denial_after_retries(signal: Signal, connection: Connection, attempts: int) -> Signal:
    """Return a denial or 404 after the first attempt as a 429 (transient); others unchanged."""
    del connection
    lost = attempts > 1 and signal.kind in ("denied", "http_404")
    return Signal("http_429", signal.code) if lost else signal


class _Deserted(Ear):
    """A session whose program is left alone once a request of it failed."""

    _has_failed = False

    async def request(self, method: str, params: Json) -> Json:
        """Send a request by the wrapped session, and note whether it failed."""
        self._has_failed = True
        result = await super().request(method, params)
        self._has_failed = False
        return result

    async def close(self) -> None:
        """Close the wrapped session unless it failed."""
        if not self._has_failed:
            await super().close()


class _Asked(Ear):
    """A session whose program is asked to end, and not ended by force."""

    async def close(self) -> None:
        """Close the program's input and send it SIGTERM; close a session of a URL as usual."""
        process = getattr(self._session, "_process", None)
        if process is None:
            await super().close()
        elif process.returncode is None:
            process.stdin.close()
            process.terminate()


MUTANTS: tuple[LoadMutant, ...] = (
    load_mutant("outcomes-kept", "A server's first outcome is repeated in every later load.",
                "I5.clears", edit=_kept(lambda _: True)),
    load_mutant("failures-kept",
                "A server that failed once is reported as failed in every later load.",
                "I5.clears", edit=_kept(lambda outcome: outcome["status"] != "available")),
    load_mutant("denials-kept",
                "A server that was denied once is reported as denied in every later load.",
                "I5.clears", edit=_kept(lambda outcome: outcome["status"] == "denied")),
    load_mutant("permanent-kept", "A server that was permanent once is not contacted again.",
                "I5.clears", edit=_kept(lambda outcome: outcome["status"] == "permanent")),
    load_mutant("transient-kept",
                "A server that was transient once is reported as such in every later load.",
                "I5.clears", edit=_kept(lambda outcome: outcome["status"] == "transient")),
    load_mutant("successes-kept",
                "A server that was available once is reported as such in every later load.",
                "I5.clears", edit=_kept(lambda outcome: outcome["status"] == "available")),
    load_mutant("lists-kept", "A server whose list was fetched once is never asked again.",
                "I5.clears", attempt=Fresh(_kept_list)),
    load_mutant("tools-kept", "A server that fails keeps the tools of the previous load.",
                "S2.no-tools", "O3.no-tools", "I5.clears", edit=Fresh(_last_tools)),
    load_mutant("every-second-load", "Every second load reports its first server as transient.",
                "O3.loaded", "R1.once", "I1.isolated", together=Fresh(_every_second)),
    load_mutant("attempts-run-out",
                "After two attempts over all loads, a server is not contacted again.",
                "I5.clears", "T1.timeout", "R2.heals", attempt=_quota(2, _refused)),
    load_mutant("third-attempt-endless",
                "After two attempts over all loads, an attempt at a server does not end.",
                "I4.bounded", attempt=_quota(2, _endless)),
    load_mutant("attempts-summed", "Attempts are counted over all loads.",
                "O6.claimed", edit=Fresh(_summed)),
    load_mutant("first-signal-stays", "A server's status is that of its first attempt.",
                "R4.stops", "D1.denied", heard=Fresh(_first_signal)),
    load_mutant("second-failure-is-a-denial", "A second failure of any kind is a denial.",
                "T1.timeout", "T2.cut", "T3.server-error", heard=_second_is_final),
    load_mutant("denial-after-retries-may-pass",
                "A denial or a 404 after a transient failure is transient too.",
                "R4.stops", heard=_denial_after_retries),
    load_mutant("failed-programs-stay", "A program whose request failed is not ended.",
                "I7.ended", attempt=wrapping(_Deserted)),
    load_mutant("programs-are-asked-to-end",
                "Programs are asked to end, but not ended by force.",
                "I7.ended", attempt=wrapping(_Asked)),
)  # fmt: skip
