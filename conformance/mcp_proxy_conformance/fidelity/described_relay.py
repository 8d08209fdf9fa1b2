"""The relay that a request names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from mcp_proxy_conformance.catalogue.requirement import Profile
from mcp_proxy_conformance.fidelity.driven_relay import DrivenRelay
from mcp_proxy_conformance.fidelity.relay_case import read_own
from mcp_proxy_conformance.fidelity.relay_description import RelayDescription
from mcp_proxy_conformance.fidelity.relay_target import EXAMPLES, RelayTarget, relay_target
from mcp_proxy_conformance.run.request import RunRequest
from mcp_proxy_conformance.run.subject import Subject


def relay_of(request: RunRequest, _scratch: Path) -> RelayTarget:
    """Return the request's relay, with its cases, examples and seed; BadCase for unusable cases."""
    target = request.subject
    if isinstance(target, RelayDescription):
        ready = {} if target.ready_s is None else {"ready_s": target.ready_s}
        target = relay_target(
            target.command, target.relay, name=target.name, version=target.version,
            upstreams=target.upstreams, **ready,
        )  # fmt: skip
    assert isinstance(target, RelayTarget)
    values = EXAMPLES if request.examples is None else request.examples
    own = read_own(request.case) if request.case else ()
    return replace(target, examples=values, seed=request.seed, cases=own)


def driven(request: RunRequest, target: RelayTarget, _chosen: Profile, scratch: Path) -> Subject:
    """Return the relay to drive."""
    confirm, keep = request.confirm, request.keep
    return DrivenRelay(target, request.out, scratch, confirm=confirm, keep=keep)
