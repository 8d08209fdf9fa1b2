"""Discovery, as the engine knows it: proxies that are driven, endpoints that are running."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_proxy_conformance.catalogue.resources import fixtures_dir
from mcp_proxy_conformance.catalogue.specification import Command, Specification
from mcp_proxy_conformance.discovery.profiles import LIVE, OF_PROXIES, PROVEN

if TYPE_CHECKING:
    from mcp_proxy_conformance.authoring.kinds import Kind
    from mcp_proxy_conformance.catalogue.case_file import CitingCase
    from mcp_proxy_conformance.catalogue.requirement import Profile
    from mcp_proxy_conformance.run.request import Judged, RunRequest
    from mcp_proxy_conformance.run.subject import Subject
    from mcp_proxy_conformance.selftest.proof import Proof
    from mcp_proxy_conformance.targets.adapter import Target

COMMANDS = "mcp_proxy_conformance.discovery.commands"


def _target(request: RunRequest, scratch: Path) -> Target:
    """Return the described target, its baseline read once to test it; an endpoint as one."""
    from mcp_proxy_conformance.discovery.baseline.manifest import read  # noqa: PLC0415
    from mcp_proxy_conformance.discovery.baseline.recorder import STAGE  # noqa: PLC0415
    from mcp_proxy_conformance.discovery.live.endpoint import Endpoint  # noqa: PLC0415
    from mcp_proxy_conformance.targets.adapter import Target  # noqa: PLC0415
    from mcp_proxy_conformance.targets.description import BadTarget, Description  # noqa: PLC0415
    from mcp_proxy_conformance.targets.kinds import target_of  # noqa: PLC0415

    del scratch
    if isinstance(request.subject, Endpoint):
        from mcp_proxy_conformance.discovery.live.running_endpoint import (  # noqa: PLC0415
            live_target,
        )

        if request.shard is not None:
            raise BadTarget("an endpoint has one budget of requests; leave --shard out")
        return live_target(request.subject)
    target = request.subject
    target = target_of(target) if isinstance(target, Description) else target
    assert isinstance(target, Target)
    target = replace(target, soak_s=request.soak_s or target.soak_s)
    if request.baseline is None:
        return target
    read(request.baseline, stage=STAGE)
    return replace(target, baseline=request.baseline.resolve())


def _profile(target: Target) -> str:
    """Return the profile of the target's kind; `mcpproxy` is judged by discovery alone."""
    return {"mcpproxy": "discovery", "endpoint": LIVE}.get(target.kind, OF_PROXIES)


def _subject(request: RunRequest, target: Target, chosen: Profile, scratch: Path) -> Subject:
    """Return the proxy to drive, or the endpoint to ask."""
    from mcp_proxy_conformance.discovery.case import read_own  # noqa: PLC0415
    from mcp_proxy_conformance.discovery.live.endpoint import Endpoint  # noqa: PLC0415

    if isinstance(request.subject, Endpoint):
        from mcp_proxy_conformance.discovery.live.running_endpoint import (  # noqa: PLC0415
            RunningEndpoint,
        )

        return RunningEndpoint(request.subject, f"{chosen.id}@{chosen.version}")
    from mcp_proxy_conformance.discovery.driven_proxy import DrivenProxy  # noqa: PLC0415

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
        own=read_own(request.case) if request.case else (),
    )


def _named(environment: Mapping[str, str]) -> Judged | None:
    """Return the endpoint that variables name, if any."""
    from mcp_proxy_conformance.discovery.live.endpoint import in_environment  # noqa: PLC0415

    return in_environment(environment)


def _cases() -> Sequence[CitingCase]:
    """Return the shipped cases."""
    from mcp_proxy_conformance.discovery.case import cases  # noqa: PLC0415

    return cases()


def _linted() -> Sequence[Kind]:
    """Return the kinds of files that lint knows."""
    from mcp_proxy_conformance.discovery.authoring.kinds import KINDS  # noqa: PLC0415

    return KINDS


def _page(case: CitingCase) -> Iterator[str]:
    """Yield what `explain` adds on a case: its request, what is allowed, the tools it touches."""
    from mcp_proxy_conformance.discovery.authoring.case_page import case_page  # noqa: PLC0415
    from mcp_proxy_conformance.discovery.case import Case  # noqa: PLC0415

    assert isinstance(case, Case)
    yield from case_page(case)


def _locked(case: str) -> frozenset[tuple[str, ...]]:
    """Return the sets of locks on the locked tools that a case is about; empty if it is unknown."""
    from mcp_proxy_conformance.discovery.case import locks_of  # noqa: PLC0415

    return locks_of(case)


def _proof() -> Proof:
    """Return what the selftest tries."""
    from mcp_proxy_conformance.discovery.selftest.proof import proof  # noqa: PLC0415

    return proof()


SPECIFICATION = Specification(
    name="discovery",
    root=Path(__file__).parent,
    fixtures=fixtures_dir() / "discovery",
    kinds=("reference", "mcpproxy", "command", "endpoint"),
    folders={
        "discovery": "checks",
        "robustness": "hostile/checks",
        "discovery-live": "live/checks",
    },
    target=_target,
    profile=_profile,
    subject=_subject,
    cases=_cases,
    giving="each_case",
    linted=_linted,
    page=_page,
    locked=_locked,
    proof=_proof,
    proven=PROVEN,
    check_s=30,
    named=_named,
    plugin="mcp_proxy_conformance.discovery.fixtures",
    runs={
        "reference": Command(f"{COMMANDS}.run:reference", "Judge the bundled reference proxy."),
        "mcpproxy": Command(f"{COMMANDS}.run:mcpproxy", "Judge the Go proxy mcpproxy-go."),
        "command": Command(f"{COMMANDS}.run:command", "Judge any proxy through an adapter."),
        "endpoint": Command(
            f"{COMMANDS}.endpoint:endpoint", "Judge what a live endpoint says about locked tools."
        ),
    },
    commands={
        "baseline": Command(
            f"{COMMANDS}.baseline:baseline",
            "Record what a build answers by default, and compare builds.",
        ),
    },
)
