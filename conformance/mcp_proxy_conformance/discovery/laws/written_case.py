"""Writer of a law's breach as a JSON case and its stage; replay of that case; a plan in words."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from mcp_proxy_conformance.catalogue.bounds import Bounds
from mcp_proxy_conformance.catalogue.json_file import write
from mcp_proxy_conformance.catalogue.world import Step, ToolKey, ToolState, World, after, initial
from mcp_proxy_conformance.discovery.arming import arm
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.case import Case, Given, Rejection, Then, When, read_own
from mcp_proxy_conformance.discovery.laws.plan import Plan, replaced
from mcp_proxy_conformance.discovery.oracle import ABSENT as NOWHERE
from mcp_proxy_conformance.discovery.oracle import (
    CALLABLE,
    allowed_statuses,
    cap,
    counted_as,
    is_withheld,
)
from mcp_proxy_conformance.discovery.targets.adapter import ProxyTarget
from mcp_proxy_conformance.discovery.targets.started import Started
from mcp_proxy_conformance.discovery.views import looked_at
from mcp_proxy_conformance.targets.target import AdapterError
from mcp_proxy_conformance.verdict.result import Inconclusive, Misshapen, NotApplicable
from mcp_proxy_conformance.wire.faults import ProtocolFault, Unreachable

AREA = "law"
LETTERS = "abcdefghijklmnop"
States = Mapping[ToolKey, ToolState]


def written(plan: Plan, request: When, clauses: Collection[str], folder: Path) -> Path | None:
    """Write a case and its stage into `folder`, which repeat this request in the plan's world.

    Return the path of the case, with the stage beside it; None if a case cannot express it.
    """
    world = replaced(plan.world, requests=(), id="", about="")
    then = _then(world, request)
    if then is None:
        return None
    digest = hashlib.sha256(msgspec.json.encode([world, request])).hexdigest()[:12]
    stage = "law" + "".join(LETTERS[int(digit, 16)] for digit in digest)
    case = Case(
        id=f"law-{digest}",
        area=AREA,
        title="The answer obeys the laws of discovery.",
        source=tuple(dict.fromkeys(clause.partition(".")[0] for clause in sorted(clauses))),
        clauses=tuple(sorted(clauses)),
        given=Given(stage=stage),
        when=request,
        then=then,
    )
    about = f"A generated world: {in_words(plan)}."
    write(folder / f"{stage}.json", replaced(world, id=stage, version=1, about=about))
    write(folder / f"{case.id}.json", case)
    return folder / f"{case.id}.json"


def shows(path: Path, target: ProxyTarget, scratch: Path) -> bool:
    """Whether the written case fails on a fresh target, and again after the settle time.

    False if it cannot be judged; a misshapen answer that breaks a clause is a failure.
    """
    [(case, world)] = read_own(path)
    started = Started(target, world, scratch)
    try:
        bench = Bench(started, arm(started))
        compared = looked_at(case, bench)
        if compared.findings:
            bench.settle()
            compared = looked_at(case, bench)
    except (Inconclusive, NotApplicable, AdapterError, ProtocolFault, Unreachable):
        return False
    except Misshapen as error:
        return bool(error.clauses)
    finally:
        started.close()
    return bool(compared.findings)


def in_words(plan: Plan) -> str:
    """Return a plan in words, with its world as the literal that a check would contain."""
    servers = [_server(plan.world, server.name) for server in plan.world.servers]
    agents = [f"{name} sees {', '.join(own)}" for name, own in plan.world.agents.items()]
    steps = [_step(step) for step in plan.world.steps]
    return "; ".join([f"world({', '.join(servers)})", *agents, *steps])


def _server(world: World, name: str) -> str:
    """Render a server of the world as a literal `server(...)` with its tools and options."""
    server = world.server(name)
    tools = [f"tool({tool.name!r})" for tool in server.tools]
    kinds = {
        "trusted=False": not server.trusted,
        f"deny={list(server.deny)}": bool(server.deny),
        "allow=[...]": server.allow is not None,
        f"transport={server.transport!r}": server.transport != "http",
        f"page_size={server.page_size}": bool(server.page_size),
    }
    options = [word for word, holds in kinds.items() if holds]
    return f"server({', '.join([repr(name), *tools, *options])})"


def _step(step: Step) -> str:
    """Return a step in words, such as `lock by user forge:drop_repo` or `ask 'drop'`."""
    verb = next(name for name in ("lock", "unlock", "add", "change", "refresh", "ask", "call",
                                "restart") if getattr(step, name) is not None)  # fmt: skip
    what = getattr(step, verb)
    if verb == "add":
        return f"add {step.server}:{step.add.name if step.add else ''}"
    if verb == "ask":
        flag = (
            ""
            if step.include_disabled is None
            else f" with the flag {str(step.include_disabled).lower()}"
        )
        return f"ask {what!r}{flag}"
    if verb in ("change", "call"):
        return f"{verb} {step.server}:{what}"
    if verb in ("refresh", "restart"):
        return f"{verb} {what}" if verb == "refresh" else verb
    tools = f"{step.server}:{' '.join(step.tools)}" if step.tools else step.server
    return f"{verb} by {what} {tools}"


def _then(world: World, request: When) -> Then | None:
    """Return what a case of this request must expect after all steps: counts, refusal or answer.

    None for an agent's listing, one without counts, or a call of a tool that the world lacks.
    """
    start = initial(world)
    states = after(world, world.steps, start)
    if request.do == "list":
        counts = dict(_counts(world, states)) if request.agent is None else {}
        return Then(counts=counts) if counts else None
    if request.do == "call":
        return (
            Then(rejection=_rejection(states[_key(request)])) if _key(request) in states else None
        )
    return _discovered(world, states, request)


def _key(request: When) -> ToolKey:
    """Return the key of the tool that a request calls."""
    server, _, tool = (request.tool or "").partition(":")
    return ToolKey(server, tool)


def _rejection(state: ToolState) -> Rejection:
    """Return the refusal to expect for these locks: no call reaches the upstream.

    For config alone it has the class disabled_by_config; for config or the user alone it points
    to the flag.
    """
    pure = state in (ToolState(config=True), ToolState(user=True))
    return Rejection(
        reaches_upstream=False,
        is_class="disabled_by_config" if state == ToolState(config=True) else None,
        points_to_flag=True if pure else None,
    )


def _discovered(world: World, states: States, request: When) -> Then:
    """Return the answer to expect to a discovery request, by the locks of matching tools."""
    scope = world.agents.get(request.agent or "", tuple(server.name for server in world.servers))
    query, tools = request.query or "", world.tools()
    hit = [k for k in states if tools[k].holds(query) and k.server in scope]
    locked = [key for key in hit if not states[key].callable]
    free = [key for key in hit if states[key].callable]
    limit = request.limit if isinstance(request.limit, (int, float)) else None
    if not request.include_disabled:
        return Then(
            disabled_count=Bounds(max=0),
            remediation_keys=(),
            # due if only locked tools match; an agent may be told of them or not
            note="absent" if free or not locked else "due" if request.agent is None else "any",
            as_without_flag=None if request.include_disabled is None else True,
        )
    full = len(locked) > cap(limit) or (limit is not None and limit < len(hit))
    allowed = {
        str(key): tuple(sorted(allowed_statuses(states[key]) | ({NOWHERE} if full else set())))
        for key in locked
        if _is_exact(tools[key].name, states[key], query)
    }
    allowed |= {str(key): (NOWHERE,) for key in free}
    return Then(
        disabled=allowed or None,
        disabled_only=not full and request.agent is None,
        disabled_count=Bounds(max=cap(limit)),
        withheld=tuple(str(key) for key in locked if _is_shut(states[key])),
        described=() if full else tuple(
            str(key) for key in locked
            if not is_withheld(states[key]) and not states[key].server_off
        ),
        remediation_keys="as statuses",
        as_without_flag=bool(free) or None,
    )  # fmt: skip


def _is_exact(name: str, state: ToolState, query: str) -> bool:
    """Whether the query must find the tool: by name only if withheld or on a server that is off."""
    return query == name or not (is_withheld(state) or state.server_off)


def _is_shut(state: ToolState) -> bool:
    """Whether the tool's entry must withhold its texts: under quarantine alone, or unapproved."""
    return state == ToolState(quarantined=True) or state.approval is not None


def _counts(world: World, states: States) -> Iterator[tuple[str, dict[str, Any] | None]]:
    """Yield (server, allowed counts by word) for each server that is on and not quarantined.

    None instead of counts means no block.
    """
    for server in world.servers:
        own = [state for key, state in states.items() if key.server == server.name]
        if any(state.server_off or state.quarantined for state in own):
            continue
        if all(state.callable for state in own):
            yield server.name, None
            continue
        words = [counted_as(state) for state in own]
        counts: dict[str, Any] = {}
        for word in sorted({CALLABLE}.union(*words)):
            least = sum(allowed == {word} for allowed in words)
            most = sum(word in allowed for allowed in words)
            counts[word] = least if least == most else tuple(range(least, most + 1))
        yield server.name, counts
