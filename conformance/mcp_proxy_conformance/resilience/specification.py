"""Resilience, as the engine knows it: loaders of many servers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_proxy_conformance.catalogue.resources import fixtures_dir
from mcp_proxy_conformance.catalogue.specification import Command, Specification

if TYPE_CHECKING:
    from mcp_proxy_conformance.authoring.kinds import Kind
    from mcp_proxy_conformance.catalogue.case_file import CitingCase
    from mcp_proxy_conformance.catalogue.requirement import Profile
    from mcp_proxy_conformance.run.request import RunRequest
    from mcp_proxy_conformance.run.subject import Subject
    from mcp_proxy_conformance.selftest.proof import Proof
    from mcp_proxy_conformance.targets.adapter import Target


def _target(request: RunRequest, scratch: Path) -> Target:
    """Return the loader, asked for what its description leaves out."""
    from mcp_proxy_conformance.resilience.described_loader import loader_of  # noqa: PLC0415

    return loader_of(request, scratch)


def _profile(target: Target) -> str:
    """Return the basic profile for a loader that lacks a capability that the whole one needs."""
    from mcp_proxy_conformance.resilience.described_loader import profile_of  # noqa: PLC0415

    return profile_of(target)


def _subject(request: RunRequest, target: Target, chosen: Profile, scratch: Path) -> Subject:
    """Return the loader to drive."""
    from mcp_proxy_conformance.resilience.driven_loader import DrivenLoader  # noqa: PLC0415
    from mcp_proxy_conformance.resilience.loader_target import LoaderTarget  # noqa: PLC0415

    del chosen
    assert isinstance(target, LoaderTarget)
    return DrivenLoader(target, request.out, scratch, confirm=request.confirm)


def _cases() -> Sequence[CitingCase]:
    """Return the shipped cases."""
    from mcp_proxy_conformance.resilience.load_case import load_cases  # noqa: PLC0415

    return load_cases()


def _linted() -> Sequence[Kind]:
    """Return the kinds of files that lint knows."""
    from mcp_proxy_conformance.authoring.kinds import Kind  # noqa: PLC0415
    from mcp_proxy_conformance.resilience.load_case import LoadCase  # noqa: PLC0415
    from mcp_proxy_conformance.resilience.load_rules import load_findings  # noqa: PLC0415

    return [
        Kind("load case", "load-case", "*.json", frozenset({"given", "again"}), LoadCase,
             giving="each_load", named=True, rules=load_findings)
    ]  # fmt: skip


def _page(case: CitingCase) -> Iterator[str]:
    """Yield what `explain` adds on a case: the load, and what must come of it."""
    from mcp_proxy_conformance.catalogue.json_file import laid_out, lean  # noqa: PLC0415

    own = lean(case)
    for name in ("given", "then", "again"):
        if name in own:
            yield f"\n{name}: {laid_out(own[name])}"


def _proof() -> Proof:
    """Return what the selftest tries."""
    from mcp_proxy_conformance.resilience.proof import proof  # noqa: PLC0415

    return proof()


SPECIFICATION = Specification(
    name="resilience",
    root=Path(__file__).parent,
    fixtures=fixtures_dir() / "resilience",
    kinds=("loader",),
    folders={"resilience": "checks", "resilience-basic": "checks"},
    target=_target,
    profile=_profile,
    subject=_subject,
    cases=_cases,
    giving="each_load",
    linted=_linted,
    page=_page,
    proof=_proof,
    proven=("resilience",),
    runs={
        "loader": Command(
            "mcp_proxy_conformance.resilience.commands:loader",
            "Judge a loader of many MCP servers.",
        ),
    },
)
