"""Recorder of a target's answers before and after its locks, without addresses and tokens."""

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
from mcp_proxy_conformance.discovery.baseline.body import Body, Phase
from mcp_proxy_conformance.discovery.baseline.manifest import Kind, Recording
from mcp_proxy_conformance.discovery.calibration import Exact, volatile
from mcp_proxy_conformance.discovery.requests import in_words
from mcp_proxy_conformance.discovery.targets.adapter import ProxyTarget
from mcp_proxy_conformance.discovery.targets.started import Started
from mcp_proxy_conformance.verdict.result import Inconclusive
from mcp_proxy_conformance.wire.reply import ToolReply

LEAST = 4
"""Characters; a shorter literal may occur anywhere by chance."""


class Literals:
    """Texts that differ from start to start of a target, such as its address, with a name for each.

    Replaced by these names, the bytes of two recordings can be compared.
    """

    def __init__(self, started: Started) -> None:
        """Collect the target's literals of four characters or more, also with escaped slashes.

        A restart or a move of a server may bring others later.
        """
        names = dict(_known(started))
        spelled = names | {
            literal.replace("/", r"\/"): f"{n}, escaped" for literal, n in names.items()
        }
        longest = sorted(
            (literal for literal in spelled if len(literal) >= LEAST), key=len, reverse=True
        )
        parts = (
            f"(?<![0-9.]){literal}(?![0-9.])" if literal.isdecimal() else re.escape(literal)
            for literal in longest
        )
        self._names = {literal.encode(): f"{{{spelled[literal]}}}".encode() for literal in longest}
        self._any = re.compile("|".join(parts).encode())

    def replaced(self, raw: bytes) -> bytes:
        """Return the bytes with every literal replaced by its name in braces, longer ones first."""
        return self._any.sub(lambda match: self._names[match[0]], raw)


def _known(started: Started) -> Iterator[tuple[str, str]]:
    """Yield (literal, what it is) for each literal of a started target.

    These are its folder, URLs, addresses and ports of it and its upstreams, and all
    credentials.
    """
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
    """Yield (name, URL) of the target, then of each upstream server that has a URL."""
    yield "the target", started.access.url
    for name, server in started.servers.items():
        if server.url:
            yield name, server.url


PLAIN = stage("plain")
UNLOCKED = msgspec.structs.replace(PLAIN, id="plain-open", steps=())
STAGE = f"{PLAIN.id}/{PLAIN.version}"
LISTING: Mapping[str, Any] = {"list": True}
PASSES = 3
"""Times that each request is sent to one target; the last time in sessions of its own."""
TARGETS = 2
"""Fresh targets that are asked: a difference between starts is not one between builds."""

Asked = dict[tuple[Phase, str], list[Exact]]


def requests() -> tuple[Mapping[str, Any], ...]:
    """Return the requests to record: the plain stage's, a listing, and a listing by each agent."""
    agents = ({**LISTING, "agent": agent} for agent in PLAIN.agents)
    return (*PLAIN.requests, LISTING, *agents)


def record(target: ProxyTarget, scratch: Path, kind: Kind) -> Recording:
    """Record a target's answers, from two fresh starts, to the frozen requests.

    They are asked before and after the locks; folders are made under `scratch`, and all is
    closed. Raises AdapterError if it cannot be started or driven, Inconclusive if answers to
    equal requests disagree or a lock had no effect.
    """
    wanted = [
        request
        for request in requests()
        if "agent" not in request or "agents" in target.capabilities
    ]
    exacts: Asked = {}
    wire = ""
    for _ in range(TARGETS):
        started = Started(target, UNLOCKED, scratch)
        try:
            with started.expected_alive():
                arm(started)
                for place, answers in both_phases(started, wanted).items():
                    exacts.setdefault(place, []).extend(answers)
            wire = started.client().wire
        finally:
            started.close()
    return Recording(
        kind=kind,
        stage=STAGE,
        target={"kind": target.kind, "version": target.version, "wire": wire},
        members=msgspec.to_builtins(target.surface.members),
        bodies=bodies(wanted, exacts),
    )


def both_phases(started: Started, wanted: Sequence[Mapping[str, Any]]) -> Asked:
    """Send the requests to an unlocked target, lock it, and send them again; return all answers.

    Keys are (phase, request as text); values the three answers in each phase, all literals of
    the target replaced by names. Raises Inconclusive if a lock had no effect.
    """
    exacts: Asked = dict(_phase(started, wanted, "open"))
    lock(started)
    return exacts | dict(_phase(started, wanted, "locked"))


def lock(started: Started) -> None:
    """Take the plain stage's steps on the target; raise Inconclusive if a lock is not enforced."""
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


def bodies(wanted: Sequence[Mapping[str, Any]], exacts: Asked) -> tuple[Body, ...]:
    """Return the first answer to each request in each phase, with the values that vary.

    `exacts` has all answers. Those of the open phase come first. Inconclusive if answers to a
    request differ in more than single values, as in a name or a length.
    """
    phases: tuple[Phase, ...] = ("open", "locked")
    places = [(phase, request) for phase in phases for request in wanted]
    return tuple(_body(phase, request, exacts[phase, str(request)]) for phase, request in places)


def _body(phase: Phase, request: Mapping[str, Any], answers: Sequence[Exact]) -> Body:
    """Return the first answer, with the places of the single values that differ among the answers.

    Inconclusive if a name, a server, a member's name or an array's length differs.
    """
    try:
        moving = volatile(answers)
    except Inconclusive as error:
        raise Inconclusive(f"{phase}, {in_words(request)}: {error}") from None
    return Body(phase=phase, request=request, exact=answers[0], moving=moving)


def _phase(
    started: Started, wanted: Sequence[Mapping[str, Any]], phase: Phase
) -> Iterator[tuple[tuple[Phase, str], list[Exact]]]:
    """Send each request three times, last in new sessions; yield ((phase, request), answers).

    In the answers all literals of the target, such as its address, are replaced by names.
    """
    literals = Literals(started)
    exacts: Asked = {}
    for number in range(PASSES):
        if number == PASSES - 1:
            started.forget_clients()
        for request in wanted:
            exact = Exact.of(_ask(started, request))
            clean = Exact(
                result=literals.replaced(exact.result), text=literals.replaced(exact.text)
            )
            exacts.setdefault((phase, str(request)), []).append(clean)
    yield from exacts.items()


def _ask(started: Started, request: Mapping[str, Any]) -> ToolReply:
    """Send a request to be recorded, a listing or a discovery without the flag; return the reply.

    It is sent as the agent that the request names, if any.
    """
    names, agent = started.target.surface, request.get("agent")
    if "list" in request:
        tool, filled = names.listing.filled(ToolKey("", ""), {})
        return started.client(agent, names.listing.endpoint).call_tool(tool, filled)
    arguments = {names.query: request["query"]}
    arguments |= {names.limit: request["limit"]} if "limit" in request else {}
    return started.client(agent).call_tool(names.discovery_tool, arguments)
