"""What is judged: a proxy that is driven, or an endpoint that is asked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from mcp_proxy_conformance.catalogue.own_case import OwnCase
from mcp_proxy_conformance.catalogue.requirement import Profile
from mcp_proxy_conformance.discovery.baseline.manifest import read
from mcp_proxy_conformance.discovery.baseline.recorder import STAGE
from mcp_proxy_conformance.discovery.case import read_own
from mcp_proxy_conformance.discovery.driven_proxy import DrivenProxy
from mcp_proxy_conformance.discovery.live.endpoint import Endpoint
from mcp_proxy_conformance.discovery.live.running_endpoint import RunningEndpoint, live_target
from mcp_proxy_conformance.discovery.profiles import LIVE, OF_PROXIES
from mcp_proxy_conformance.discovery.scenarios import is_of_rows, space
from mcp_proxy_conformance.discovery.scenarios import read_own as read_own_rows
from mcp_proxy_conformance.discovery.targets.adapter import ProxyTarget
from mcp_proxy_conformance.discovery.targets.kinds import target_of
from mcp_proxy_conformance.run.request import RunRequest
from mcp_proxy_conformance.run.subject import Subject
from mcp_proxy_conformance.targets.description import BadTarget, Description


def target(request: RunRequest, _scratch: Path) -> ProxyTarget:
    """Return the described target, its baseline tested; an endpoint as one."""
    asked = request.subject
    if isinstance(asked, Endpoint):
        if request.shard is not None:
            raise BadTarget("an endpoint has one budget of requests; leave --shard out")
        return live_target(asked)
    space().expect_version(request.space)
    made = target_of(asked) if isinstance(asked, Description) else asked
    assert isinstance(made, ProxyTarget)
    made = replace(made, soak_s=request.soak_s or made.soak_s)
    if request.baseline is None:
        return made
    read(request.baseline, stage=STAGE)
    return replace(made, baseline=request.baseline.resolve())


def profile(target: ProxyTarget) -> str:
    """Return the profile of the target's kind; `mcpproxy` is judged by discovery alone."""
    return {"mcpproxy": "discovery", "endpoint": LIVE}.get(target.kind, OF_PROXIES)


def subject(request: RunRequest, target: ProxyTarget, chosen: Profile, scratch: Path) -> Subject:
    """Return the proxy to drive, or the endpoint to ask."""
    if isinstance(request.subject, Endpoint):
        return RunningEndpoint(request.subject, f"{chosen.id}@{chosen.version}")
    return DrivenProxy(
        target,
        request.out,
        scratch,
        clauses=frozenset(chosen.clauses),
        confirm=request.confirm,
        trial=request.trial,
        keep=request.keep,
        examples=request.examples or 0,
        seed=request.seed,
        version=request.space,
        asked=request.selection.clauses,
        excuses=bool(request.deviations),
        own=_own(request.case) if request.case else (),
    )


def _own(path: Path) -> list[OwnCase]:
    """Return the cases of a user's file: requests with their stages, or rows of the space."""
    if is_of_rows(path):
        return read_own_rows(path)
    return [OwnCase(*each) for each in read_own(path)]
