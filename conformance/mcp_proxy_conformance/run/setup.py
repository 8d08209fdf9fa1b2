"""Set-up of a run's session from its request: specification, profile, clauses, shard, subject."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_proxy_conformance.catalogue.case_file import BadCase
from mcp_proxy_conformance.catalogue.requirement import (
    Profile,
    UnknownClause,
    catalogue,
    profile,
)
from mcp_proxy_conformance.catalogue.specification import judging
from mcp_proxy_conformance.run.collection import BadShard, shard_of
from mcp_proxy_conformance.run.request import RunRequest
from mcp_proxy_conformance.run.session import RunSession
from mcp_proxy_conformance.run.subject import Subject
from mcp_proxy_conformance.targets.description import BadTarget
from mcp_proxy_conformance.targets.state_folder import remove
from mcp_proxy_conformance.targets.target import Target
from mcp_proxy_conformance.targets.target_lines import written
from mcp_proxy_conformance.verdict.outcome import broke
from mcp_proxy_conformance.verdict.record import RunState

SCRATCH = "scratch-of-run"
"""An unlikely name for a user's folder: it is removed with the run, unless that is kept."""


def set_up(request: RunRequest, scratch: str = SCRATCH) -> RunSession:
    """Return the session of a request, not started; `scratch` names a folder beside the report.

    Raises pytest.UsageError, which says what and where, if the request names something unusable;
    the folder is removed then.
    """
    try:
        return _session(request, request.out / scratch)
    except (BadTarget, BadCase, BadShard, LookupError) as error:
        remove(request.out / scratch)
        raise pytest.UsageError(str(error)) from None


def _session(request: RunRequest, scratch: Path) -> RunSession:
    began = time.monotonic()
    own = judging(request.subject.kind)
    target: Target = own.target(request, scratch)
    target = replace(target, file=written(request.file) if request.file else target.file)
    chosen = profile(request.profile or own.profile(target))
    only = _only(request, chosen)
    shard = shard_of(request.shard) if request.shard is not None else None
    if not own.folders.keys() >= {*chosen.ids}:
        raise pytest.UsageError(
            f"the profile {chosen.id} does not judge kind {target.kind!r}; name another"
        )
    subject: Subject = own.subject(request, target, chosen, scratch)
    return RunSession(
        request=request,
        subject=subject,
        profile=chosen,
        only=only,
        state=RunState(shard=shard, stopped=broke(subject.broken) if subject.broken else None),
        began=began,
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
