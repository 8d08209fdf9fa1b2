"""Variants that delay: an operator's change is enforced or shown later, or after a refresh."""

import time
from collections.abc import Mapping, Sequence
from functools import partial

from mcp_proxy_mutants.proxy.gateway_changes import decide, own, put
from mcp_proxy_mutants.proxy.variant import Variant, variant
from mcp_proxy_reference.facts import Facts, Match, Tool
from mcp_proxy_reference.gateway import Gateway

Known = Mapping[str, Sequence[Facts]]
LAG_S = 0.3


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


def lag(gateway: Gateway, *, enforced: bool, seconds: float = LAG_S) -> None:
    """Show an operator's changes in discovery and listing `seconds` late.

    With `enforced`, calls follow them as late; else at once.
    """
    live = gateway.known
    view = Lagging(live(), seconds)

    def facts(server: str, name: str) -> Facts | None:
        """Return the tool's facts for a call, late if `enforced`, else present ones.

        None if unknown.
        """
        shown, now = view.see(live()), live()
        looked_up = (shown if enforced else now).get(server, ())
        return next((known for known in looked_up if known.tool.name == name), None)

    follow = gateway.follow

    def followed() -> None:
        """Take over a changed configuration as usual, and note the tools as they are now."""
        follow()
        view.see(live())

    put(gateway, shown=lambda: view.see(live()), facts=facts, follow=followed)


def index_on_refresh(gateway: Gateway) -> None:
    """Leave a tool whose lock changed out of callable results until its server is loaded again.

    Switching a server does so for all its tools; locked results are as usual.
    """
    gone: set[tuple[str, str]] = set()
    lock, switch, load = gateway.store.lock, gateway.switch, own(gateway, "_record")

    def locked(tool: Tool, *, locked: bool) -> None:
        """Set or lift the user's lock as usual, and leave the tool out from now on."""
        lock(tool, locked=locked)
        gone.add((tool.server, tool.name))

    def switched(name: str, **changes: bool) -> None:
        """Switch the server as usual, and leave all its tools out from now on."""
        switch(name, **changes)
        gone.update((name, tool) for tool in gateway.tools(name))

    def recorded(name: str) -> None:
        """Record the server's new list as usual, and no longer leave its tools out."""
        load(name)
        gone.difference_update({key for key in gone if key[0] == name})

    def window(hits: Sequence[Match], limit: int) -> tuple[Sequence[Match], Sequence[Match]]:
        """Split the hits as usual, but drop callable ones that are left out.

        Return the callable ones, up to the limit, and the locked ones.
        """
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
        """Return the tools as last read, read again if that is 300 ms ago."""
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
        swap=partial(lag, enforced=False),
        settle_s=0.6,
    ),
    variant(
        "shown-much-later",
        "Discovery and listing show an operator's change over a second after it is enforced.",
        "settle-time",
        swap=partial(lag, enforced=False, seconds=1.2),
        settle_s=2.0,
    ),
    variant(
        "in-force-later",
        "An operator's change is enforced 300 ms later, and shown then.",
        "settle-time",
        swap=partial(lag, enforced=True),
        settle_s=0.6,
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
)
