"""Loader variants of timing: pauses, fewer attempts, servers one after another, longer timeouts."""

import asyncio

from mcp_proxy_mutants.resilience.pieces import Ear, Loads, handed, wrapping
from mcp_proxy_mutants.resilience.variant import LoadVariant, load_variant
from mcp_proxy_reference.loader import (
    Connection,
    Outcome,
    side_by_side,
)

SMALL, MOMENT_S = 2, 0.6


async def _one_by_one(loads: Loads) -> list[Outcome]:
    """Run the loads one after the other and return their outcomes in order."""
    return [await run() for run in loads]


async def _as_they_end(loads: Loads) -> list[Outcome]:
    """Run all loads at once and return their outcomes in the order in which they end."""
    return [await ended for ended in asyncio.as_completed([run() for run in loads])]


class _Unhurried(Ear):
    """A session that waits a moment after its notifications."""

    async def notify(self, method: str) -> None:
        """Send a notification by the wrapped session, then wait 0.6 s."""
        await super().notify(method)
        await asyncio.sleep(MOMENT_S)


async def _staggered(loads: Loads) -> list[Outcome]:
    """Run all loads at once and return their outcomes; of two, the second starts 0.6 s later.

    The order is that of the loads.
    """
    if len(loads) > SMALL:
        return await side_by_side(loads)
    first = [asyncio.ensure_future(run()) for run in loads[:1]]
    if loads[1:]:
        await asyncio.sleep(MOMENT_S)
    return await asyncio.gather(*first, *(run() for run in loads[1:]))


def _lenient(connection: Connection) -> Connection:
    """Return the connection with one and a half times its timeout."""
    return Connection(
        server_id=connection.server_id,
        url=connection.url,
        command=connection.command,
        args=connection.args,
        env=connection.env,
        headers=connection.headers,
        timeout=connection.timeout * 1.5,
    )


VARIANTS: tuple[LoadVariant, ...] = (
    load_variant("pauses-alike", "Every pause is as long as the first, for all servers.",
                 "pauses", "R5.grows", "R6.jitter", pause=lambda _, base: base),
    load_variant("pauses-linear",
                 "Each pause is longer than the one before by the length of the first.",
                 "pauses", "R6.jitter", pause=lambda attempts, base: base * attempts),
    load_variant("pauses-shrink", "Each pause is shorter than the one before.",
                 "pauses", "R5.grows", pause=lambda attempts, base: base / attempts),
    load_variant("no-pauses", "There is no pause between attempts.",
                 "pauses", "R5.grows", "R6.jitter", pause=lambda *_: 0.0),
    load_variant("two-attempts", "There are two attempts at most, whatever the maximum.",
                 "to-the-limit", "R3.limit", "R2.heals~later",
                 again=lambda _, status, attempts, most: status == "transient"
                 and attempts < min(most, 2)),
    load_variant("one-by-one", "Servers are loaded one after the other.",
                 "side-by-side", "I2.concurrent", together=_one_by_one),
    load_variant("small-loads-wait", "A small load waits a moment after its first server.",
                 "side-by-side", together=_staggered),
    load_variant("unhurried", "There is a moment between the handshake and the list.",
                 "waiting-for-nothing", "R1.once~delay", attempt=wrapping(_Unhurried)),
    load_variant("outcomes-as-they-end", "Outcomes come in the order in which the loads end.",
                 "order-of-outcomes", "I3.order~outcomes", together=_as_they_end),
    load_variant("half-as-patient-again", "A server gets one and a half times its timeout.",
                 attempt=handed(_lenient)),
)  # fmt: skip
