"""Changed reference proxies as targets in this process: unchanged, mutated, varied."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from mcp_proxy_conformance.discovery.targets.adapter import ProxyTarget
from mcp_proxy_conformance.discovery.targets.embedded import embedded

SETTLE_S = 0.1


def reference() -> ProxyTarget:
    """Return the unchanged reference as a target in this process."""
    from mcp_proxy_mutants.discovery.changed import Changed  # noqa: PLC0415

    return mutated(Changed(id="unchanged", text="The unchanged reference."))


def mutated(changed: Any, baseline: Path | None = None) -> ProxyTarget:
    """Return a changed reference, with the recording that its clauses ask for, if any does."""
    return embedded(changed, settle_s=SETTLE_S, baseline=baseline)


def varied(changed: Any) -> ProxyTarget:
    """Return a variant, with its own surface, pins and capabilities."""
    made = embedded(changed, settle_s=changed.settle_s)
    capabilities = made.capabilities.difference(changed.lacks)
    members = msgspec.structs.replace(made.surface.members, note=changed.note_member)
    surface = msgspec.structs.replace(made.surface, members=members)
    pins = _pins(changed)
    return replace(made, capabilities=capabilities, pins=pins, surface=surface)


def _pins(changed: Any) -> dict[str, frozenset[str]]:
    """Map each remediation text that a variant pins to all the statuses for which it gives it."""
    remediation = changed.change.get("remediation", {})
    return {
        text: frozenset({status, *(word for word, own in remediation.items() if own == text)})
        for text, status in changed.pins.items()
    }
