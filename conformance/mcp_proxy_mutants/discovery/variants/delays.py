"""Variants that delay: an operator's change is enforced or shown later, or after a refresh."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from mcp_proxy_mutants.discovery.gateway_changes import decide, own, put
from mcp_proxy_mutants.discovery.variant import Variant, variant
from mcp_proxy_reference import config as configuration
from mcp_proxy_reference.facts import Facts, Match, Tool
from mcp_proxy_reference.gateway import Gateway
from mcp_proxy_reference.loader import Outcome

Known = Mapping[str, Sequence[Facts]]
LAG_S, NOTICED_S = 0.3, 0.05
OPERATIONS = ("lock", "unlock", "approve", "refresh", "restart")


class Lagging:
    """A view of the known tools that shows each change a fixed number of seconds late."""

    def __init__(self, live: Known, seconds: float) -> None:
        """Show the live tools as they are now, until a change is `seconds` old."""
        self._seconds = seconds
        self._shown = self._last = live
        self._waiting: list[tuple[float, Known]] = []

    def see(self, live: Known) -> Known:
        """Note the present tools, and return the tools as they were that many seconds ago."""
        now = time.monotonic()
        if live is not self._last:
            self._last = live
            self._waiting.append((now + self._seconds, live))
        while self._waiting and self._waiting[0][0] <= now:
            self._shown = self._waiting.pop(0)[1]
        return self._shown


def shown_late(gateway: Gateway, seconds: float = LAG_S) -> None:
    """Show an operator's changes in discovery and listing `seconds` late; calls follow at once."""
    live, follow = gateway.known, gateway.follow
    view = Lagging(live(), seconds)

    def followed() -> None:
        follow()
        view.see(live())

    put(gateway, shown=lambda: view.see(live()), follow=followed)


def late(gateway: Gateway, *, seconds: float, operations: Collection[str] = OPERATIONS) -> None:
    """Accept these operations at once, and carry them out `seconds` later, in their order.

    All surfaces show each at the same moment. A late restart knows its tools that much later.
    """
    loop, queue, began = asyncio.get_running_loop(), deque[Callable[[], Any]](), time.monotonic()
    last, seen = began, object()
    follow, switch, refresh, known = gateway.follow, gateway.switch, gateway.refresh, gateway.known
    lock, approve = gateway.store.lock, gateway.store.approve

    def then(operation: str, act: Callable[[], Any]) -> None:
        nonlocal last
        last = max(last, time.monotonic() + (seconds if operation in operations else 0.0))
        if last <= time.monotonic() and not queue:
            act()
        else:
            queue.append(act)
            loop.call_later(last - time.monotonic(), carry_out_the_first)

    def carry_out_the_first() -> None:
        queue.popleft()()

    def followed() -> None:
        nonlocal seen
        with gateway._path.open("rb") as file:  # noqa: SLF001 - the file is noticed nowhere else
            text = file.read()
        if text != seen:
            seen = text
            then("lock" if _denies_more(gateway) else "unlock", follow)

    def switched(name: str, **changes: bool) -> None:
        def act() -> None:
            follow()
            switch(name, **changes)

        locks = changes.get("quarantined", not changes.get("enabled", True))
        then("lock" if locks else "unlock", act)

    async def refreshed(name: str) -> Outcome:
        then("refresh", lambda: tasks.append(loop.create_task(_quietly(refresh, name))))
        return gateway.upstreams[name].outcome or await refresh(name)

    def locked(tool: Tool, *, locked: bool) -> None:
        then("lock" if locked else "unlock", partial(lock, tool, locked=locked))

    def approved(tools: Iterable[Tool]) -> None:
        then("approve", partial(approve, list(tools)))

    tasks: list[asyncio.Task[Any]] = [loop.create_task(_again(followed))]
    put(gateway.store, lock=locked, approve=approved)
    put(gateway, follow=followed, switch=switched, refresh=refreshed)
    if "restart" in operations:
        put(gateway, known=lambda: (
            known() if time.monotonic() - began >= seconds else {name: [] for name in known()}
        ))  # fmt: skip


async def _again(follow: Callable[[], None]) -> None:
    """Follow a changed configuration file without a request."""
    while True:
        follow()
        await asyncio.sleep(NOTICED_S)


def _denies_more(gateway: Gateway) -> bool:
    """Whether the configuration file denies a tool that the one in force does not."""
    servers = configuration.read(gateway._path).servers  # noqa: SLF001
    old = gateway.config.servers
    return any(
        server.denies(tool) and not old[name].denies(tool)
        for name, server in servers.items() if name in old
        for tool in {*gateway.tools(name), *server.disabled_tools}
    )  # fmt: skip


async def _quietly(refresh: Callable[[str], Any], name: str) -> None:
    """Load a server's tools unless it was turned off meanwhile."""
    try:
        await refresh(name)
    except KeyError:
        return


def index_on_refresh(gateway: Gateway) -> None:
    """Leave a tool whose lock changed out of callable results until its server is loaded again.

    Switching a server does so for all its tools; locked results are as usual.
    """
    gone: set[tuple[str, str]] = set()
    lock, switch, load = gateway.store.lock, gateway.switch, own(gateway, "_record")

    def locked(tool: Tool, *, locked: bool) -> None:
        lock(tool, locked=locked)
        gone.add((tool.server, tool.name))

    def switched(name: str, **changes: bool) -> None:
        switch(name, **changes)
        gone.update((name, tool) for tool in gateway.tools(name))

    def recorded(name: str) -> None:
        load(name)
        gone.difference_update({key for key in gone if key[0] == name})

    def window(hits: Sequence[Match], limit: int) -> tuple[Sequence[Match], Sequence[Match]]:
        callables = [hit for hit in hits if hit.may_call]
        kept = [
            hit for hit in callables if (hit.facts.tool.server, hit.facts.tool.name) not in gone
        ]
        return kept[:limit], [hit for hit in hits if not hit.may_call]

    put(gateway.store, lock=locked)
    put(gateway, switch=switched, _record=recorded)
    decide(gateway, window=window)


def every_300_ms(gateway: Gateway) -> None:
    """Have discovery and listing read the tools and locks no more than every 300 ms."""
    live, kept = gateway.known, [(0.0, gateway.known())]

    def shown() -> Known:
        now = time.monotonic()
        if now - kept[0][0] >= LAG_S:
            kept[0] = now, live()
        return kept[0][1]

    put(gateway, shown=shown)


VARIANTS: tuple[Variant, ...] = (
    variant(
        "shown-later",
        "Discovery and listing show an operator's change 300 ms after it is enforced.",
        "settle-time",
        swap=shown_late,
        settle_s=0.6,
    ),
    variant(
        "shown-much-later",
        "Discovery and listing show an operator's change over a second after it is enforced.",
        "settle-time",
        swap=partial(shown_late, seconds=1.2),
        settle_s=2.0,
    ),
    variant(
        "shown-in-beats",
        "Discovery and listing read the state only every 300 ms.",
        "settle-time",
        swap=every_300_ms,
        settle_s=0.6,
    ),
    variant(
        "back-after-refresh",
        "An unlocked tool is found again only after a refresh of its server.",
        "back-without-refresh",
        "FR-004.follows-state~without-refresh",
        swap=index_on_refresh,
    ),
    *(
        variant(
            f"{word}-later-by-{round(seconds * 1000)}-ms",
            f"What {word} asks for is done {seconds:g} s after it is accepted, on all surfaces at"
            " once.",
            "settle-time",
            swap=partial(late, seconds=seconds, operations=operations),
        )
        for word, operations in {
            **{name: (name,) for name in OPERATIONS},
            "each": OPERATIONS,
        }.items()
        for seconds in (0.5, 1.5, 3.0)
    ),
)
