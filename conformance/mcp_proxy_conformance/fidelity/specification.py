"""Fidelity, as the engine knows it: relays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_proxy_conformance.catalogue.resources import fixtures_dir
from mcp_proxy_conformance.catalogue.specification import Command, Specification
from mcp_proxy_conformance.fidelity.profiles import OF_RELAYS, PROVEN

if TYPE_CHECKING:
    from mcp_proxy_conformance.authoring.kinds import Kind
    from mcp_proxy_conformance.catalogue.case_file import CitingCase
    from mcp_proxy_conformance.catalogue.requirement import Profile
    from mcp_proxy_conformance.run.request import RunRequest
    from mcp_proxy_conformance.run.subject import Subject
    from mcp_proxy_conformance.selftest.proof import Proof
    from mcp_proxy_conformance.targets.adapter import Target


def _target(request: RunRequest, scratch: Path) -> Target:
    """Return the described relay, with its cases, examples and seed."""
    from mcp_proxy_conformance.fidelity.relay_case import read_own  # noqa: PLC0415
    from mcp_proxy_conformance.targets.description import Description  # noqa: PLC0415
    from mcp_proxy_conformance.targets.relay import (  # noqa: PLC0415
        EXAMPLES,
        RelayTarget,
        relay_target,
    )

    del scratch
    target = request.subject
    if isinstance(target, Description):
        ready = {} if target.ready_s is None else {"ready_s": target.ready_s}
        target = relay_target(
            target.command, target.relay, name=target.name, version=target.version,
            upstreams=target.upstreams, **ready,
        )  # fmt: skip
    assert isinstance(target, RelayTarget)
    values = EXAMPLES if request.examples is None else request.examples
    own = read_own(request.case) if request.case else ()
    return replace(target, examples=values, seed=request.seed, cases=own)


def _profile(target: Target) -> str:
    """Return the profile of every relay."""
    del target
    return OF_RELAYS


def _subject(request: RunRequest, target: Target, chosen: Profile, scratch: Path) -> Subject:
    """Return the relay to drive."""
    from mcp_proxy_conformance.fidelity.driven_relay import DrivenRelay  # noqa: PLC0415
    from mcp_proxy_conformance.targets.relay import RelayTarget  # noqa: PLC0415

    del chosen
    assert isinstance(target, RelayTarget)
    confirm, keep = request.confirm, request.keep
    return DrivenRelay(target, request.out, scratch, confirm=confirm, keep=keep)


def _cases() -> Sequence[CitingCase]:
    """Return the shipped cases."""
    from mcp_proxy_conformance.fidelity.relay_case import relay_cases  # noqa: PLC0415

    return relay_cases()


def _linted() -> Sequence[Kind]:
    """Return the kinds of files that lint knows."""
    from mcp_proxy_conformance.authoring.kinds import Kind  # noqa: PLC0415

    return [
        Kind("relay case", "relay-case", "*.json",
             frozenset({"arguments", "result", "error", "at"}))
    ]  # fmt: skip


def _page(case: CitingCase) -> Iterator[str]:
    """Yield what `explain` adds on a case: the call, and what is compared of it."""
    from mcp_proxy_conformance.fidelity.relay_case import RelayCase, members_of  # noqa: PLC0415

    assert isinstance(case, RelayCase)
    own = members_of(case)
    for name in ("arguments", "result", "error"):
        if name in own:  # as it is sent: numbers keep their digits
            yield f"\n{name}: {bytes(getattr(case, name)).decode()}"
    yield f"compared: {'/'.join(map(str, case.at)) or case.area}, by {case.by}"


def _proof() -> Proof:
    """Return what the selftest tries."""
    from mcp_proxy_conformance.fidelity.proof import proof  # noqa: PLC0415

    return proof()


SPECIFICATION = Specification(
    name="fidelity",
    root=Path(__file__).parent,
    fixtures=fixtures_dir() / "fidelity",
    kinds=("relay",),
    folders={"fidelity": "checks", "integrity": "checks"},
    target=_target,
    profile=_profile,
    subject=_subject,
    cases=_cases,
    giving="each_relay_case",
    linted=_linted,
    page=_page,
    proof=_proof,
    proven=PROVEN,
    runs={
        "relay": Command(
            "mcp_proxy_conformance.fidelity.commands:relay", "Judge a relay of one MCP server."
        ),
    },
)
