"""A session set up from its request: the target, its profile, what alone is tried, the subject."""

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
from mcp_proxy_conformance.run.session import Session
from mcp_proxy_conformance.run.subject import Subject
from mcp_proxy_conformance.run.subjects.endpoint import LIVE, RunningEndpoint
from mcp_proxy_conformance.run.subjects.loader import DrivenLoader
from mcp_proxy_conformance.run.subjects.proxy import DrivenProxy
from mcp_proxy_conformance.targets.adapter import Target
from mcp_proxy_conformance.targets.description import OF_LOADERS, BadTarget, Description
from mcp_proxy_conformance.targets.kinds import target_of
from mcp_proxy_conformance.targets.written import written
from mcp_proxy_conformance.verdict.record import RunState

PROFILE = "discovery"
PROFILES = {
    "reference": OF_PROXIES,
    "command": OF_PROXIES,
    "loader": "resilience",
    "endpoint": LIVE,
}
"""What targets of a kind are judged by when no profile is named; others by PROFILE."""
LOADERS = ("resilience",)
OWN_LOADER = (sys.executable, "-m", "mcp_proxy_reference.load")
SCRATCH = "scratch"


def set_up(request: RunRequest, scratch: str = SCRATCH) -> Session:
    """The session of a request, nothing of it started; `scratch` is a folder beside the report.

    Raises:
        pytest.UsageError: The request names something that cannot be used; it says what and where.
    """
    try:
        return _session(request, request.out / scratch)
    except (BadTarget, BadBaseline, BadCase, BadLoadCase, BadShard, LookupError) as error:
        raise pytest.UsageError(str(error)) from None


def _session(request: RunRequest, scratch: Path) -> Session:
    target = _target(request)
    kind = target.kind if target is not None else "endpoint"
    chosen = profile(request.profile or PROFILES.get(kind, PROFILE))
    only = _only(request, chosen)
    shard = shard_of(request.shard) if request.shard is not None else None
    if isinstance(target, LoaderTarget) != (chosen.folders == LOADERS):
        raise pytest.UsageError(f"the profile {chosen.id} does not judge kind {kind!r}")
    if shard is not None and target is None:
        raise pytest.UsageError("an endpoint is asked within one budget: leave --shard out")
    return Session(
        request=request,
        subject=_subject(request, target, chosen, scratch),
        profile=chosen,
        only=only,
        state=RunState(shard=shard),
    )


def _target(request: RunRequest) -> Target | None:
    """The target or the loader with what is asked for besides; None for an endpoint."""
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
    """A loader program, the reference's own where none is named."""
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
    """The clauses of the profile that --only names; None when it names nothing.

    Raises:
        UnknownClause: There is no such requirement or clause, or the profile has none of it.
    """
    found: set[str] = set()
    for word in request.selection.only:
        meant = set(catalogue().meant(word)) & set(judged.clauses)
        if not meant:
            told = f"the profile {judged.id} has no clause of {word}"
            raise UnknownClause(f"{told}; name one that has it with --profile")
        found |= meant
    return frozenset(found) if request.selection.only else None
