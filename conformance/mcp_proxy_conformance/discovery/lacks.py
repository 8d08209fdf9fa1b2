"""What an open result could not rely on: locks that are not proven, acts without effect."""

from __future__ import annotations

from collections.abc import Iterator

from mcp_proxy_conformance.catalogue.world import ToolKey
from mcp_proxy_conformance.discovery.arming import Armed, Unproven
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.targets.adapter import LOCK_CAPABILITY
from mcp_proxy_conformance.verdict.result import Cause, Lack

OPERATION = {
    word: f"{'unlock' if kind == 'approval' else 'lock'} {kind}"
    for kind, word in LOCK_CAPABILITY.items()
}
"""The operation of an adapter, with its kind, that a lock needs, by its capability."""
CAPABILITY = {"pending": "approval", "changed": "approval", "quarantined": "quarantine"}
"""The capability of a lock, by its word, where that is another one."""
UNFOLLOWED: tuple[Cause, ...] = ("no_effect", "not_reached")
"""Causes of results that rest on what the operator did last."""


def lacks_of(bench: Bench, cause: Cause) -> tuple[Lack, ...]:
    """Return what a result of this cause lacks: unproven locks of its world, then skipped ones.

    What the check itself had the operator do last comes first, if no effect of it was seen.
    """
    left: dict[tuple[str, str, Unproven], list[str]] = {}
    act = bench.started.effects.tried
    if act is not None and cause in UNFOLLOWED:
        tools = [str(ToolKey(act.server, tool)) for tool in act.tools]
        why = Unproven("it had no effect", cause)
        left[act.operation, act.capability, why] = tools or [act.server] * bool(act.server)
    for key, word, why in _left(bench.armed):
        left.setdefault((OPERATION.get(word, word), word, why), []).append(str(key))
    return tuple(
        Lack(capability=word, operation=operation, cause=why.cause, reason=why.reason, on=tuple(on))
        for (operation, word, why), on in left.items()
    )


def _left(armed: Armed) -> Iterator[tuple[ToolKey, str, Unproven]]:
    for key, why in armed.unproven.items():
        for word in [why.capability] if why.capability else armed.states[key].locks:
            yield key, CAPABILITY.get(word, word), why
    yield from ((key, why.capability, why) for key, why in armed.skipped.items())
