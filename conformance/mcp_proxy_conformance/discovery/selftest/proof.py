"""The proof of discovery: changed reference proxies, mutants before any target, controls."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from mcp_proxy_conformance.catalogue.requirement import profile
from mcp_proxy_conformance.catalogue.surface import STATUSES
from mcp_proxy_conformance.discovery.profiles import OF_PROXIES, PROVEN
from mcp_proxy_conformance.discovery.remediation import judge
from mcp_proxy_conformance.discovery.scenarios import space
from mcp_proxy_conformance.discovery.selftest.changed import mutated, reference, varied
from mcp_proxy_conformance.discovery.selftest.controls import CONTROLS
from mcp_proxy_conformance.discovery.selftest.exchange import WireFault
from mcp_proxy_conformance.discovery.selftest.recordings import with_recordings
from mcp_proxy_conformance.discovery.selftest.removal import REMOVALS
from mcp_proxy_conformance.discovery.selftest.rewriting_server import rewriting
from mcp_proxy_conformance.discovery.selftest.triggered_proxies import is_playable, killed
from mcp_proxy_conformance.discovery.selftest.wire import WIRE_FAULTS
from mcp_proxy_conformance.discovery.targets.adapter import ProxyTarget
from mcp_proxy_conformance.selftest.matrix import Trial
from mcp_proxy_conformance.selftest.proof import Proof
from mcp_proxy_conformance.selftest.triggered import TriggeredMutants

UNCHANGED = WireFault(id="unchanged", text="The unchanged target.", breaks=())


def proof() -> Proof:
    """Return the proof of discovery."""
    from mcp_proxy_mutants.discovery.mutants import mutants  # noqa: PLC0415 - other trials do without
    from mcp_proxy_mutants.discovery.triggered import BASES  # noqa: PLC0415
    from mcp_proxy_mutants.discovery.variants import variants  # noqa: PLC0415

    faults = [
        Trial(kind="fault", changed=mutant, make=partial(mutated, mutant),
              profile=_judging(mutant.breaks[0]), clauses=mutant.breaks)
        for mutant in mutants()
    ]  # fmt: skip
    lawful = [
        Trial(kind="variant", changed=variant, make=partial(varied, variant), profile=OF_PROXIES,
              clauses=variant.takes)
        for variant in variants()
    ]  # fmt: skip
    return Proof(
        mutants=[*faults, *map(_in_front, WIRE_FAULTS)],
        variants=lawful,
        controls=[*CONTROLS, *REMOVALS],
        unchanged=reference,
        through=partial(rewriting, fault=UNCHANGED),
        prepared=with_recordings,
        warm=_judge_texts,
        triggered=TriggeredMutants(
            space=space, bases=lambda: BASES, killed=killed, is_playable=is_playable
        ),
    )


def _in_front(fault: WireFault) -> Trial:
    """Return the trial of a mutant of the wire, before the reference or a user's target."""
    before: Callable[[Any], ProxyTarget] = partial(rewriting, fault=fault)
    return Trial(kind="wire", changed=fault, make=lambda: before(reference()), before=before,
                 profile=_judging(fault.breaks[0]), clauses=fault.breaks)  # fmt: skip


def _judging(clause: str) -> str:
    return next(name for name in PROVEN if clause in profile(name).clauses)


def _judge_texts() -> None:
    """Judge texts, which compiles what that needs."""
    for status in STATUSES:
        for other in STATUSES:
            judge(f"Ask the user to review it: {other}.", status)
