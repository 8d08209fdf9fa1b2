"""Faults of calls: locks that discovery or a call surface forgets."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

from mcp_proxy_mutants.proxy.mutant import Fresh, Mutant, mutant
from mcp_proxy_mutants.proxy.pieces import called, crowded, every
from mcp_proxy_mutants.proxy.swapping import decide
from mcp_proxy_mutants.proxy.wrapping import Request
from mcp_proxy_reference import policy as std
from mcp_proxy_reference.facts import Facts, Json, Status
from mcp_proxy_reference.gateway import Gateway
from mcp_proxy_reference.store import StoreError
from mcp_proxy_reference.upstream import UpstreamError

May = Callable[[Facts, str], bool]
CONFIG, USER, PENDING = "disabled_by_config", "disabled_by_user", "pending_approval"
MOMENT_S = 1.0


def _or(when: Callable[[Facts, str], bool]) -> May:
    """Calls that pass although their tool is locked."""

    def may_call(facts: Facts, surface: str) -> bool:
        return std.may_call(facts, surface) or (
            called(surface) and facts.enabled and when(facts, surface)
        )

    return may_call


def _fifth() -> May:
    slip = every(5)
    return _or(lambda _f, _s: slip())


def _insisted() -> May:
    """The third call of a tool in a row passes."""
    last = ["", ""]

    def passes(facts: Facts, _: str) -> bool:
        insisted = last == [facts.tool.key, facts.tool.key]
        last[:] = [last[1], facts.tool.key]
        return insisted

    return _or(passes)


def _kept_by_server() -> May:
    """A server's last decision is kept for a moment."""
    kept: dict[str, float] = {}

    def may_call(facts: Facts, surface: str) -> bool:
        may, server = std.may_call(facts, surface), facts.tool.server
        if not called(surface) or not facts.enabled:
            return may
        if may:
            kept[server] = time.monotonic()
        return may or time.monotonic() - kept.get(server, 0.0) < MOMENT_S / 10

    return may_call


def _loaded_late() -> May:
    """The user's locks are read when the servers are first listed or searched."""
    read: list[bool] = []

    def passes(facts: Facts, _: str) -> bool:
        return not read and std.classify(facts) == USER

    late = _or(passes)

    def may_call(facts: Facts, surface: str) -> bool:
        if not called(surface):
            read.append(True)
        return late(facts, surface)

    return may_call


def _after_discovery(
    passes: Callable[[float], bool], kinds: set[str] | None = None
) -> Callable[[Gateway], None]:
    """Calls pass that follow the discovery of their tool, by the seconds since."""

    def swap(gateway: Gateway) -> None:
        listed: dict[str, float] = {}

        def locked_entry(facts: Facts, status: Status, withheld: bool) -> Json:
            if kinds is None or status in kinds:
                listed[facts.tool.key] = time.monotonic()
            return std.locked_entry(facts, status, withheld)

        def found(facts: Facts, _: str) -> bool:
            since = listed.get(facts.tool.key)
            return since is not None and passes(time.monotonic() - since)

        decide(gateway, locked_entry=locked_entry, may_call=_or(found))

    return swap


def _unlocking(change: Callable[[Gateway, Facts], None], *, by: str) -> Callable[[Gateway], None]:
    """Being listed or being rejected changes what is stored about a tool."""

    def swap(gateway: Gateway) -> None:
        def stored(facts: Facts) -> None:
            try:
                change(gateway, facts)
            except StoreError:
                return

        def locked_entry(facts: Facts, status: Status, withheld: bool) -> Json:
            stored(facts)
            return std.locked_entry(facts, status, withheld)

        def rejection(facts: Facts, said: Any) -> str:
            stored(facts)
            return std.rejection(facts, said)

        decide(gateway, **{by: locked_entry if by == "locked_entry" else rejection})

    return swap


def _approve(gateway: Gateway, facts: Facts) -> None:
    if facts.approval == "pending" and not facts.quarantined and not facts.denied:
        gateway.store.approve([facts.tool])


def _approve_changed(gateway: Gateway, facts: Facts) -> None:
    if facts.approval == "changed" and not facts.quarantined and not facts.denied:
        gateway.store.approve([facts.tool])


def _lift(gateway: Gateway, facts: Facts) -> None:
    if facts.disabled_by_user:
        gateway.store.lock(facts.tool, locked=False)


def _lock(gateway: Gateway, facts: Facts) -> None:
    if facts.denied and not facts.disabled_by_user:
        gateway.store.lock(facts.tool, locked=True)


def _sent_anyway(gateway: Gateway) -> None:
    """The upstream is asked while the lock is still looked at, and its answer thrown away."""
    under_way: set[asyncio.Task[None]] = set()

    async def send(facts: Facts) -> None:
        try:
            await gateway.upstream(facts.tool.server).call(facts.tool.name, {})
        except UpstreamError:
            return

    def rejection(facts: Facts, said: Any) -> str:
        if facts.enabled:
            task = asyncio.get_running_loop().create_task(send(facts))
            under_way.add(task)
            task.add_done_callback(under_way.discard)
        return std.rejection(facts, said)

    decide(gateway, rejection=rejection)


def _lifted_by_search(gateway: Gateway) -> None:
    """A default query for a tool's exact address makes it callable."""
    wanted: set[str] = set()

    def answer(document: Json, request: Request) -> Json:
        wanted.add(request.query)
        return document

    decide(
        gateway,
        answer=answer,
        may_call=_or(lambda facts, _: facts.tool.key in wanted or facts.tool.name in wanted),
    )


REACHES = "FR-011.never-reaches"
MUTANTS: tuple[Mutant, ...] = (
    mutant(
        "spec-call-fifth",
        "Every fifth call of a locked tool is sent to its server.",
        REACHES,
        may_call=Fresh(_fifth),
    ),
    mutant(
        "spec-call-insisted",
        "The third call of a locked tool in a row is sent to its server.",
        REACHES,
        may_call=Fresh(_insisted),
    ),
    mutant(
        "spec-call-destructive-open",
        "Locks do not hold for destructive calls.",
        REACHES,
        may_call=_or(lambda _, surface: surface == "call_tool_destructive"),
    ),
    mutant(
        "spec-call-write-open-for-user",
        "The user's locks do not hold for writing calls.",
        REACHES,
        may_call=_or(
            lambda facts, surface: surface == "call_tool_write" and std.classify(facts) == USER
        ),
    ),
    mutant(
        "spec-call-pending-open",
        "Tools that await approval are refused by the reading call only.",
        REACHES,
        may_call=_or(
            lambda facts, surface: surface != "call_tool_read" and std.classify(facts) == PENDING
        ),
    ),
    mutant(
        "spec-call-both-open",
        "A tool locked by operator and user at once may be called.",
        REACHES,
        may_call=_or(lambda facts, _: facts.denied and facts.disabled_by_user),
    ),
    mutant(
        "spec-call-after-discovery",
        "A tool that was listed as locked may be called.",
        REACHES,
        swap=_after_discovery(lambda _: True),
    ),
    mutant(
        "spec-call-just-after-discovery",
        "A tool may be called for a second after it was listed as locked.",
        REACHES,
        swap=_after_discovery(lambda since: since < MOMENT_S),
    ),
    mutant(
        "spec-call-later-after-discovery",
        "A tool may be called from a second after it was listed as locked.",
        REACHES,
        swap=_after_discovery(lambda since: since > MOMENT_S),
    ),
    mutant(
        "spec-call-after-exact-query",
        "A tool may be called once somebody asked for its name.",
        REACHES,
        swap=_lifted_by_search,
    ),
    mutant(
        "spec-call-kept-by-server",
        "A call passes that closely follows a good one to the same server.",
        REACHES,
        may_call=Fresh(_kept_by_server),
    ),
    mutant(
        "spec-call-crowded",
        "While another request is served, locks are not looked at.",
        REACHES,
        may_call=_or(lambda _f, _s: crowded()),
    ),
    mutant(
        "spec-call-before-locks-are-read",
        "After a start the user's locks hold from the first search or listing on.",
        REACHES,
        may_call=Fresh(_loaded_late),
    ),
    mutant(
        "spec-call-sent-anyway",
        "A rejected call is sent to the server all the same.",
        REACHES,
        swap=_sent_anyway,
    ),
    mutant(
        "spec-discovery-approves",
        "A new tool that is listed as pending is approved by that.",
        "FR-011.not-unlocked",
        swap=_unlocking(_approve, by="locked_entry"),
    ),
    mutant(
        "spec-discovery-lifts",
        "Listing a tool as locked lifts the user's lock.",
        "FR-011.not-unlocked",
        REACHES,
        swap=_unlocking(_lift, by="locked_entry"),
    ),
    mutant(
        "spec-rejection-approves",
        "Calling a changed tool counts as its approval.",
        "FR-011.not-unlocked",
        REACHES,
        swap=_unlocking(_approve_changed, by="rejection"),
    ),
    mutant(
        "spec-rejection-locks",
        "A rejected call of a denied tool leaves a user's lock behind.",
        "FR-011.not-unlocked",
        swap=_unlocking(_lock, by="rejection"),
    ),
)
