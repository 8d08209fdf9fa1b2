"""Set-up of a run's session from its request: target, default profile, clauses, shard, subject."""

from __future__ import annotations

import sys
import time
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_proxy_conformance.catalogue.case import read_own as read_cases
from mcp_proxy_conformance.catalogue.case_file import BadCase
from mcp_proxy_conformance.catalogue.load_case import read_own as read_load_cases
from mcp_proxy_conformance.catalogue.relay_case import read_own as read_relay_cases
from mcp_proxy_conformance.catalogue.requirement import (
    OF_PROXIES,
    OF_RELAYS,
    Profile,
    UnknownClause,
    catalogue,
    profile,
)
from mcp_proxy_conformance.discovery.baseline.manifest import BadBaseline, read
from mcp_proxy_conformance.discovery.baseline.recorder import STAGE
from mcp_proxy_conformance.discovery.live.endpoint import Endpoint
from mcp_proxy_conformance.resilience.hello import introduced
from mcp_proxy_conformance.resilience.loader import FIRST_S
from mcp_proxy_conformance.resilience.loader_target import EXAMPLES, LoaderTarget, program_target
from mcp_proxy_conformance.run.collection import BadShard, shard_of
from mcp_proxy_conformance.run.request import RunRequest
from mcp_proxy_conformance.run.session import RunSession
from mcp_proxy_conformance.run.subject import Subject
from mcp_proxy_conformance.run.subjects.endpoint import LIVE, RunningEndpoint
from mcp_proxy_conformance.run.subjects.loader import DrivenLoader
from mcp_proxy_conformance.run.subjects.proxy import DrivenProxy
from mcp_proxy_conformance.run.subjects.relay import DrivenRelay
from mcp_proxy_conformance.targets.adapter import Target
from mcp_proxy_conformance.targets.description import BadTarget, Description
from mcp_proxy_conformance.targets.kinds import target_of
from mcp_proxy_conformance.targets.relay import EXAMPLES as VALUES
from mcp_proxy_conformance.targets.relay import RelayTarget, relay_target
from mcp_proxy_conformance.targets.state_folder import remove
from mcp_proxy_conformance.targets.target_lines import written
from mcp_proxy_conformance.targets.waits import Probe, during
from mcp_proxy_conformance.verdict.outcome import broke
from mcp_proxy_conformance.verdict.record import RunState

PROFILE = "discovery"
PROFILES = {
    "reference": OF_PROXIES,
    "command": OF_PROXIES,
    "endpoint": LIVE,
    "relay": OF_RELAYS,
}
"""Default profiles by kind of target; PROFILE for other kinds."""
OF_LOADER, BASIC = "resilience", "resilience-basic"
"""The default profile of loaders, and of those that lack a capability that it requires."""
LOADERS, RELAYS = ("resilience",), ("fidelity",)
"""The folders of the checks of these kinds of target alone."""
OWN_LOADER = (sys.executable, "-m", "mcp_proxy_reference.load")
SCRATCH = "scratch-of-run"
"""An unlikely name for a user's folder: it is removed with the run, unless that is kept."""


def set_up(request: RunRequest, scratch: str = SCRATCH) -> RunSession:
    """Return the session of a request, not started; `scratch` names a folder beside the report.

    A loader that leaves facts undeclared is asked for them. Raises pytest.UsageError, which
    says what and where, if the request names something unusable; the folder is removed then.
    """
    try:
        return _session(request, request.out / scratch)
    except (BadTarget, BadBaseline, BadCase, BadShard, LookupError) as error:
        remove(request.out / scratch)
        raise pytest.UsageError(str(error)) from None


def _session(request: RunRequest, scratch: Path) -> RunSession:
    began = time.monotonic()
    target = _target(request, scratch)
    kind = target.kind if target is not None else "endpoint"
    chosen = profile(request.profile or _default_profile(target))
    only = _only(request, chosen)
    shard = shard_of(request.shard) if request.shard is not None else None
    if any(
        isinstance(target, of) != (chosen.folders == folders)
        for of, folders in ((LoaderTarget, LOADERS), (RelayTarget, RELAYS))
    ):
        raise pytest.UsageError(
            f"the profile {chosen.id} does not judge kind {kind!r}; name another"
        )
    if shard is not None and target is None:
        raise pytest.UsageError("an endpoint has one budget of requests; leave --shard out")
    broken = target.broken if isinstance(target, LoaderTarget) else ""
    return RunSession(
        request=request,
        subject=_subject(request, target, chosen, scratch),
        profile=chosen,
        only=only,
        state=RunState(shard=shard, stopped=broke(broken) if broken else None),
        began=began,
    )


def _default_profile(target: Target | None) -> str:
    """Return the id of the profile that judges the target when none is named; None is an endpoint.

    A loader that lacks a required capability gets the basic profile, unless it broke when it was
    asked for its facts.
    """
    if isinstance(target, LoaderTarget):
        is_basic = _lacking(target.capabilities) and not target.broken
        return BASIC if is_basic else OF_LOADER
    return PROFILES.get(target.kind if target is not None else "endpoint", PROFILE)


def _lacking(capabilities: Collection[str]) -> list[str]:
    return [word for word in profile(OF_LOADER).floor.capabilities if word not in capabilities]


def _target(request: RunRequest, scratch: Path) -> Target | None:
    """Return the request's target with the request's options applied; None for an endpoint.

    A case, examples and seed go to a loader or relay; soaking and a baseline, read here to test
    it, to a proxy.
    """
    if isinstance(request.subject, Endpoint):
        return None
    target = request.subject
    if isinstance(target, Description):
        if target.kind == "loader":
            target = _loader(target, request, scratch)
        elif target.kind == "relay":
            target = _relay(target)
        else:
            target = target_of(target)
    target = replace(target, file=written(request.file) if request.file else target.file)
    if isinstance(target, LoaderTarget):
        examples = EXAMPLES if request.examples is None else request.examples
        cases = read_load_cases(request.case) if request.case else ()
        return replace(target, examples=examples, seed=request.seed, cases=cases)
    if isinstance(target, RelayTarget):
        values = VALUES if request.examples is None else request.examples
        own = read_relay_cases(request.case) if request.case else ()
        return replace(target, examples=values, seed=request.seed, cases=own)
    target = replace(target, soak_s=request.soak_s or target.soak_s)
    if request.baseline is None:
        return target
    read(request.baseline, stage=STAGE)
    return replace(target, baseline=request.baseline.resolve())


def _relay(described: Description) -> RelayTarget:
    ready = {} if described.ready_s is None else {"ready_s": described.ready_s}
    return relay_target(
        described.command, described.relay, name=described.name, version=described.version,
        upstreams=described.upstreams, **ready,
    )  # fmt: skip


def _loader(description: Description, request: RunRequest, scratch: Path) -> Target:
    """Return the described loader as a target; without a command, the bundled reference's.

    Its program is asked for what the description leaves undeclared; remarks name the profile. One
    that breaks when asked is not raised but noted as `broken`, without remarks.
    """
    command = description.command or OWN_LOADER
    within_s = min(FIRST_S, request.within_s or FIRST_S)
    with during(Probe()):
        known = introduced(description, command, scratch / "hello", within_s)
    whole, can = known.description, known.description.capabilities or ()
    return program_target(
        command,
        can,
        tool_prefix=whole.tool_prefix,
        timeout_signatures=whole.timeout_signatures,
        name=whole.name,
        version=whole.version,
        remarks=(*known.remarks, *_judged_by(can, request.profile)) if not known.broken else (),
        broken=known.broken,
    )


def _judged_by(can: Collection[str], asked: str | None) -> Iterator[str]:
    lacking = _lacking(can)
    name = asked or (BASIC if lacking else OF_LOADER)
    why = f" ({OF_LOADER} needs {' and '.join(lacking)} too)" if lacking and asked is None else ""
    yield f"the loader declares {', '.join(sorted(can)) or 'nothing'}; profile {name}{why}"


def _subject(request: RunRequest, target: Target | None, chosen: Profile, scratch: Path) -> Subject:
    if target is None:
        assert isinstance(request.subject, Endpoint)
        return RunningEndpoint(request.subject, f"{chosen.id}@{chosen.version}")
    if isinstance(target, LoaderTarget):
        return DrivenLoader(target, request.out, scratch, confirm=request.confirm)
    if isinstance(target, RelayTarget):
        confirm, keep = request.confirm, request.keep
        return DrivenRelay(target, request.out, scratch, confirm=confirm, keep=keep)
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
        own=read_cases(request.case) if request.case else (),
    )


def _only(request: RunRequest, judged: Profile) -> frozenset[str] | None:
    clauses: set[str] = set()
    for word in request.selection.only:
        meant = set(catalogue().meant(word)) & set(judged.clauses)
        if not meant:
            reason = f"the profile {judged.id} has no clause of {word}"
            raise UnknownClause(f"{reason}; name a profile that has it with --profile")
        clauses |= meant
    return frozenset(clauses) if request.selection.only else None
