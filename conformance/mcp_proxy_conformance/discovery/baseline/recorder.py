"""Recording: the frozen requests of the plain stage, before and after its locks, as bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from mcp_proxy_conformance.catalogue.stage import stage
from mcp_proxy_conformance.catalogue.world import ToolKey
from mcp_proxy_conformance.discovery.arming import Prover, Stepper, arm
from mcp_proxy_conformance.discovery.baseline.manifest import Body, Kind, Phase, Recording
from mcp_proxy_conformance.discovery.calibration import Exact, volatile
from mcp_proxy_conformance.targets.adapter import Target
from mcp_proxy_conformance.targets.started import Started
from mcp_proxy_conformance.verdict.result import Inconclusive
from mcp_proxy_conformance.wire.reply import ToolReply

LEAST = 4
"""Characters; a shorter literal may stand anywhere by chance."""


class Literals:
    """The literals of one started target, each with the name that stands for it."""

    def __init__(self, started: Started) -> None:
        """Those known now; a restart or a move may bring others."""
        names = dict(_known(started))
        spelled = names | {told.replace("/", r"\/"): f"{n}, escaped" for told, n in names.items()}
        longest = sorted((one for one in spelled if len(one) >= LEAST), key=len, reverse=True)
        parts = (_alone(one) if one.isdecimal() else re.escape(one) for one in longest)
        self._names = {one.encode(): f"{{{spelled[one]}}}".encode() for one in longest}
        self._any = re.compile("|".join(parts).encode())

    def replaced(self, raw: bytes) -> bytes:
        """The bytes with every literal replaced by its name in braces."""
        return self._any.sub(lambda found: self._names[found[0]], raw)


def _alone(number: str) -> str:
    return rf"(?<![0-9.]){number}(?![0-9.])"


def _known(started: Started) -> Iterator[tuple[str, str]]:
    yield str(started.folder), "folder of the target"
    for place, url in _addresses(started):
        parts = urlsplit(url)
        yield url, f"url of {place}"
        yield f"{parts.scheme}://{parts.netloc}", f"origin of {place}"
        yield parts.netloc, f"address of {place}"
        if parts.port is not None:
            yield str(parts.port), f"port of {place}"
    for agent, headers in started.access.agents.items():
        for value in headers.values():
            yield value, f"credential of {agent}"
            yield value.rpartition(" ")[2], f"token of {agent}"
    for value in started.access.headers.values():
        yield value, "credential"


def _addresses(started: Started) -> Iterator[tuple[str, str]]:
    yield "the target", started.access.url
    for name, server in started.servers.items():
        if server.url:
            yield name, server.url


PLAIN = stage("plain")
UNLOCKED = msgspec.structs.replace(PLAIN, id="plain-open", steps=())
STAGE = f"{PLAIN.id}/{PLAIN.version}"
LISTING: Mapping[str, Any] = {"list": True}
PASSES = 3
"""How often each request is asked of one target; the last time in sessions of its own."""
TARGETS = 2
"""How many fresh targets are asked: what differs between starts is no difference of builds."""

Asked = dict[tuple[Phase, str], list[Exact]]


def requests() -> tuple[Mapping[str, Any], ...]:
    """The frozen requests in their order, the listing and each agent's listing last."""
    agents = ({**LISTING, "agent": agent} for agent in PLAIN.agents)
    return (*PLAIN.requests, LISTING, *agents)


def record(target: Target, scratch: Path, kind: Kind) -> Recording:
    """Record a build.

    Raises:
        AdapterError: It cannot be started or driven.
        Inconclusive: It does not agree with itself, or a lock of the stage had no effect.
    """
    wanted = [one for one in requests() if _applies(one, target)]
    asked: Asked = {}
    wire = ""
    for _ in range(TARGETS):
        started = Started(target, UNLOCKED, scratch)
        try:
            with started.expected_alive():
                arm(started)
                for place, answers in both_phases(started, wanted).items():
                    asked.setdefault(place, []).extend(answers)
            wire = started.client().wire
        finally:
            started.close()
    return Recording(
        kind=kind,
        stage=STAGE,
        target={"kind": target.kind, "version": target.version, "wire": wire},
        members=msgspec.to_builtins(target.surface.members),
        bodies=bodies(wanted, asked),
    )


def both_phases(started: Started, wanted: Sequence[Mapping[str, Any]]) -> Asked:
    """What an armed target of the open stage answers, before its locks are laid and after.

    Raises:
        Inconclusive: A lock had no effect.
    """
    asked: Asked = dict(_phase(started, wanted, "open"))
    lock(started)
    return asked | dict(_phase(started, wanted, "locked"))


def lock(started: Started) -> None:
    """Take the steps of the stage, and see each lock enforced; raises Inconclusive."""
    prover = Prover(started)
    stepper = Stepper(prover)
    for step in PLAIN.steps:
        stepper.take(step)
    locked = [ToolKey(step.server, name) for step in PLAIN.steps for name in step.tools]
    unproven = [str(key) for key in locked if not prover.expect_refusal(key)]
    if unproven:
        raise Inconclusive(
            f"locks of the stage had no effect: {', '.join(unproven)}", cause="no_effect"
        )


def bodies(wanted: Sequence[Mapping[str, Any]], asked: Asked) -> tuple[Body, ...]:
    """The first answer to each request, with the members that moved between equal ones."""
    phases: tuple[Phase, ...] = ("open", "locked")
    places = [(phase, one) for phase in phases for one in wanted]
    return tuple(_body(phase, one, asked[phase, str(one)]) for phase, one in places)


def _body(phase: Phase, request: Mapping[str, Any], answers: Sequence[Exact]) -> Body:
    try:
        moving = volatile(answers)
    except Inconclusive as error:
        raise Inconclusive(f"{phase}, {dict(request)}: {error}") from None
    return Body(phase=phase, request=request, exact=answers[0], moving=moving)


def _phase(
    started: Started, wanted: Sequence[Mapping[str, Any]], phase: Phase
) -> Iterator[tuple[tuple[Phase, str], list[Exact]]]:
    literals = Literals(started)
    found: Asked = {}
    for number in range(PASSES):
        if number == PASSES - 1:
            started.forget_clients()
        for one in wanted:
            told = Exact.of(_asked(started, one))
            clean = Exact(result=literals.replaced(told.result), text=literals.replaced(told.text))
            found.setdefault((phase, str(one)), []).append(clean)
    yield from found.items()


def _asked(started: Started, request: Mapping[str, Any]) -> ToolReply:
    names, agent = started.target.surface, request.get("agent")
    if "list" in request:
        tool, told = names.listing.filled(ToolKey("", ""), {})
        return started.client(agent, names.listing.endpoint).call_tool(tool, told)
    arguments = {names.query: request["query"]}
    arguments |= {names.limit: request["limit"]} if "limit" in request else {}
    return started.client(agent).call_tool(names.discovery_tool, arguments)


def _applies(request: Mapping[str, Any], target: Target) -> bool:
    return "agent" not in request or "agents" in target.capabilities
