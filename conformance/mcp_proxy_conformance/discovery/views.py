"""Further views in which a case is judged: another endpoint, way to call tools, or agent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

from mcp_proxy_conformance.catalogue.world import key
from mcp_proxy_conformance.discovery.agents import everywhere
from mcp_proxy_conformance.discovery.bench import ABSENT, Bench
from mcp_proxy_conformance.discovery.case import Case, cases
from mcp_proxy_conformance.discovery.expectation import compare_answer
from mcp_proxy_conformance.discovery.forms import unequal
from mcp_proxy_conformance.discovery.offered import places
from mcp_proxy_conformance.targets.target import Unsupported
from mcp_proxy_conformance.verdict.comparison import Comparison, messages_read
from mcp_proxy_conformance.verdict.result import Inconclusive, Misshapen, NotApplicable
from mcp_proxy_conformance.wire.faults import ProtocolFault


@dataclass(frozen=True, slots=True)
class View:
    """A view of a target: its name, its bench, and `way`, the number of its call surface."""

    name: str
    bench: Bench
    way: int = 0


def looked_at(case: Case, bench: Bench) -> Comparison:
    """Compare a case's answer with its expectation, and once more from one other view.

    The other view, an endpoint, a way of calling or an agent, rotates from case to case; a server
    listing is compared from all of them. One that cannot be judged is left out, but a misshapen
    answer there is a finding of the clauses that it breaks. The first view may raise Inconclusive
    or NotApplicable.
    """
    compared = compare_answer(case, bench)
    if case.then.as_without_flag:
        compare_forms(case, bench, compared)
    for second in _seconds(case, views(case, bench)):
        with suppress(Inconclusive, NotApplicable, ProtocolFault, Unsupported):
            compared.add(_compared(case, second), view=second.name)
    nothing = not (compared.findings or compared.open or compared.observed)
    if nothing and case.then.disabled_count is not None:
        raise NotApplicable(
            "no more locked tools match than the answer may list: none could be cut or be too many"
        )
    return compared


def _seconds(case: Case, others: list[View]) -> list[View]:
    """Return those of the other views from which a case is compared: one, of a listing all."""
    if case.when.do == "list" or not others:
        return others
    return [others[_turns().get(case.id, 0) % len(others)]]


def _compared(case: Case, second: View) -> Comparison:
    """Compare the answer in the other view; a misshapen one is a finding of what it breaks.

    FR-001.accepts is left out: that view may have no form of answer that can be read, with or
    without the flag.
    """
    try:
        return compare_answer(case, second.bench, way=second.way)
    except Misshapen as error:
        compared = Comparison()
        if clauses := [clause for clause in error.clauses if clause != "FR-001.accepts"]:
            compared.truth("the answer's shape", str(error), holds=False,
                           allowed="as named in `surface`", breaks=clauses)  # fmt: skip
        return compared


def compare_forms(case: Case, bench: Bench, compared: Comparison) -> None:
    """Compare the answer to a case's request with that to the same request without the flag.

    With the flag false all bytes must be equal, with it true the callable tools and their
    order. The results are added to `compared`.
    """
    when = case.when
    view = bench if when.agent is None else bench.as_agent(when.agent)
    limit: dict[str, Any] = (
        {"limit": when.limit} if isinstance(when.limit, (int, float, str)) else {}
    )
    if when.include_disabled:
        answers = [
            view.discover(when.query or "", include_disabled=f, **limit) for f in (ABSENT, True)
        ]
        usual, flagged = ([*map(str, answer.callables())] for answer in answers)
        compared.messages = answers[1].reply.messages + answers[0].reply.messages
        compared.one_of("the callable tools in order", flagged, (usual,),
                        breaks=["FR-006.callables"])  # fmt: skip
    else:
        unlike = unequal(view, [{"query": when.query, **limit}])
        differences = [repr(difference) for several in unlike.values() for difference in several]
        compared.messages = messages_read(next(iter(unlike), ""))
        compared.truth("bytes with the flag false", differences, holds=not differences,
                       allowed="the same bytes as without the flag",
                       breaks=["FR-002.absent-is-false"])  # fmt: skip


def views(case: Case, bench: Bench) -> list[View]:
    """Return the other views of a case: endpoints or, for calls, ways of calling, then agents.

    Only what the target offers counts; a case of an agent has at most other ways of calling.
    """
    others = list(_ways(case, bench) if case.when.do == "call" else _endpoints(case, bench))
    if case.when.agent is None:
        others += [View(view.place, view) for view in everywhere(bench)]
    return others


def _endpoints(case: Case, bench: Bench) -> Iterator[View]:
    """Yield the places, but the first endpoint, that offer the built-in tool that the case needs.

    None for a case of an agent.
    """
    tool = bench.surface.listing.tool if case.when.do == "list" else ""
    if case.when.agent is None:
        for name, view in places(bench, tool).items():
            yield View(name, view)


def _ways(case: Case, bench: Bench) -> Iterator[View]:
    """Yield the further declared ways of calling that reach a tool like the case's.

    That is a callable one of the same server and annotations, called once by each; none without
    such a tool.
    """
    wanted = key(case.when.tool or "")
    own = bench.tools[wanted].annotations if wanted in bench.tools else None
    free = [k for k in sorted(bench.armed.called) if bench.states[k].callable]
    beside = [k for k in free if k.server == wanted.server and bench.tools[k].annotations == own]
    for way in range(1, len(bench.surface.calls) if beside else 1):
        if bench.call(beside[0], surface=way).reached:
            yield View(f"by call surface {way + 1}", bench, way)


@cache
def _turns() -> dict[str, int]:
    """Return each installed case's number, from 0, among those of its area and kind of request."""
    kinds: dict[tuple[str, str], int] = {}
    turns = {}
    for case in cases():
        kind = (case.area, case.when.do)
        turns[case.id] = kinds[kind] = kinds.get(kind, -1) + 1
    return turns
