"""Set-up of a run's session from its request: target, profile, own case, subject."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_proxy_conformance.catalogue.case import BadCase
from mcp_proxy_conformance.catalogue.case import read_own as read_case
from mcp_proxy_conformance.catalogue.load_case import BadLoadCase
from mcp_proxy_conformance.catalogue.load_case import read_own as read_load_case
from mcp_proxy_conformance.catalogue.requirement import (
    OF_PROXIES,
    Profile,
    UnknownClause,
    catalogue,
    profile,
)
from mcp_proxy_conformance.discovery.baseline.manifest import BadBaseline, read
from mcp_proxy_conformance.discovery.baseline.recorder import STAGE
from mcp_proxy_conformance.discovery.live.endpoint import Endpoint
from mcp_proxy_conformance.resilience.loader_target import EXAMPLES, LoaderTarget, program_target
from mcp_proxy_conformance.run.collection import BadShard, shard_of
from mcp_proxy_conformance.run.request import RunRequest
from mcp_proxy_conformance.run.session import RunSession
from mcp_proxy_conformance.run.subject import Subject
from mcp_proxy_conformance.run.subjects.endpoint import LIVE, RunningEndpoint
from mcp_proxy_conformance.run.subjects.loader import DrivenLoader
from mcp_proxy_conformance.run.subjects.proxy import DrivenProxy
from mcp_proxy_conformance.targets.adapter import Target
from mcp_proxy_conformance.targets.description import OF_LOADERS, BadTarget, Description
from mcp_proxy_conformance.targets.kinds import target_of
from mcp_proxy_conformance.targets.target_lines import written
from mcp_proxy_conformance.verdict.record import RunState

PROFILE = "discovery"
PROFILES = {
    "reference": OF_PROXIES,
    "command": OF_PROXIES,
    "loader": "resilience",
    "endpoint": LIVE,
}
"""Default profiles by kind of target; PROFILE for other kinds."""
LOADERS = ("resilience",)
OWN_LOADER = (sys.executable, "-m", "mcp_proxy_reference.load")
SCRATCH = "scratch"


def set_up(request: RunRequest, scratch: str = SCRATCH) -> RunSession:
    """Return the session of a request, not started; `scratch` is a folder beside the report.

    Raises:
        pytest.UsageError: The request names something unusable; the message says what and where.
    """
    try:
        return _session(request, request.out / scratch)
    except (BadTarget, BadBaseline, BadCase, BadLoadCase, BadShard, LookupError) as error:
        raise pytest.UsageError(str(error)) from None


def _session(request: RunRequest, scratch: Path) -> RunSession:
    target = _target(request)
    kind = target.kind if target is not None else "endpoint"
    chosen = profile(request.profile or PROFILES.get(kind, PROFILE))
    only = _only(request, chosen)
    shard = shard_of(request.shard) if request.shard is not None else None
    if isinstance(target, LoaderTarget) != (chosen.folders == LOADERS):
        raise pytest.UsageError(
            f"the profile {chosen.id} does not judge kind {kind!r}; name another"
        )
    if shard is not None and target is None:
        raise pytest.UsageError("an endpoint has one budget of requests; leave --shard out")
    return RunSession(
        request=request,
        subject=_subject(request, target, chosen, scratch),
        profile=chosen,
        only=only,
        state=RunState(shard=shard),
    )


def _target(request: RunRequest) -> Target | None:
    """Return the target or loader with the request's options applied; None for an endpoint."""
    if isinstance(request.subject, Endpoint):
        return None
    target = request.subject
    if isinstance(target, Description):
        target = _loader(target) if target.kind == "loader" else target_of(target)
    target = replace(target, file=written(request.file) if request.file else target.file)
    if isinstance(target, LoaderTarget):
        examples = EXAMPLES if request.examples is None else request.examples
        case = read_load_case(request.case) if request.case else None
        return replace(target, examples=examples, seed=request.seed, case=case)
    target = replace(target, soak_s=request.soak_s or target.soak_s)
    if request.baseline is None:
        return target
    read(request.baseline, stage=STAGE)
    return replace(target, baseline=request.baseline.resolve())


def _loader(description: Description) -> Target:
    """Return the described loader as a target; without a command, the reference's own."""
    return program_target(
        description.command or OWN_LOADER,
        OF_LOADERS if description.capabilities is None else description.capabilities,
        tool_prefix=description.tool_prefix,
        timeout_signatures=description.timeout_signatures,
    )


def _subject(request: RunRequest, target: Target | None, chosen: Profile, scratch: Path) -> Subject:
    if target is None:
        assert isinstance(request.subject, Endpoint)
        return RunningEndpoint(request.subject, f"{chosen.id}@{chosen.version}")
    if isinstance(target, LoaderTarget):
        return DrivenLoader(target, request.out, scratch, confirm=request.confirm)
    return DrivenProxy(
        target,
        request.out,
        scratch,
        clauses=frozenset(chosen.clauses),
        confirm=request.confirm,
        keep=request.keep,
        again=request.confirm or not request.trial,
        examples=request.examples,
        seed=request.seed,
        own=read_case(request.case) if request.case else None,
    )


def _only(request: RunRequest, judged: Profile) -> frozenset[str] | None:
    """Return the clauses of the profile that --only names; None without --only.

    Raises:
        UnknownClause: A requirement or clause does not exist, or is not in the profile.
    """
    clauses: set[str] = set()
    for word in request.selection.only:
        meant = set(catalogue().meant(word)) & set(judged.clauses)
        if not meant:
            reason = f"the profile {judged.id} has no clause of {word}"
            raise UnknownClause(f"{reason}; name a profile that has it with --profile")
        clauses |= meant
    return frozenset(clauses) if request.selection.only else None
