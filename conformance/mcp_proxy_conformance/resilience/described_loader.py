"""The loader that a request names: what its description leaves out is asked of its program."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path

from mcp_proxy_conformance.catalogue.requirement import Profile, profile
from mcp_proxy_conformance.resilience.driven_loader import DrivenLoader
from mcp_proxy_conformance.resilience.hello import introduced
from mcp_proxy_conformance.resilience.load_case import read_own
from mcp_proxy_conformance.resilience.loader import FIRST_S
from mcp_proxy_conformance.resilience.loader_description import LoaderDescription
from mcp_proxy_conformance.resilience.loader_target import EXAMPLES, LoaderTarget, program_target
from mcp_proxy_conformance.resilience.scenarios import space
from mcp_proxy_conformance.run.request import RunRequest
from mcp_proxy_conformance.run.subject import Subject
from mcp_proxy_conformance.targets.waits import Probe, during

WHOLE, BASIC = "resilience", "resilience-basic"
"""The profile of loaders, and of those that lack a capability that it requires."""
OWN_LOADER = (sys.executable, "-m", "mcp_proxy_reference.load")


def loader_of(request: RunRequest, scratch: Path) -> LoaderTarget:
    """Return the request's loader, with its cases, examples and seed; BadTarget or BadCase.

    A described one is asked for what the description leaves undeclared, its files in `scratch`.
    """
    asked = request.subject
    target = _described(asked, request, scratch) if isinstance(asked, LoaderDescription) else asked
    assert isinstance(target, LoaderTarget)
    examples = EXAMPLES if request.examples is None else request.examples
    cases = read_own(request.case) if request.case else ()
    space().expect_version(request.space)
    return replace(target, examples=examples, seed=request.seed, space=request.space, cases=cases)


def profile_of(target: LoaderTarget) -> str:
    """Return the id of the profile that judges a loader when none is named.

    One that lacks a required capability gets the basic profile, unless it broke when it was asked
    for its facts.
    """
    return BASIC if _lacking(target.capabilities) and not target.broken else WHOLE


def driven(request: RunRequest, target: LoaderTarget, _chosen: Profile, scratch: Path) -> Subject:
    """Return the loader to drive."""
    return DrivenLoader(
        target, request.out, scratch, confirm=request.confirm, excuses=bool(request.deviations)
    )


def _lacking(capabilities: Collection[str]) -> list[str]:
    return [word for word in profile(WHOLE).floor.capabilities if word not in capabilities]


def _described(description: LoaderDescription, request: RunRequest, scratch: Path) -> LoaderTarget:
    """Return the described loader as a target; without a command, the bundled reference's.

    Remarks name the profile. One that breaks when asked is not raised but noted as `broken`,
    without remarks.
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
    name = asked or (BASIC if lacking else WHOLE)
    why = f" ({WHOLE} needs {' and '.join(lacking)} too)" if lacking and asked is None else ""
    yield f"the loader declares {', '.join(sorted(can)) or 'nothing'}; profile {name}{why}"
