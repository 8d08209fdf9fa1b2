"""Default answers before and after locks of every kind, on matching tools and elsewhere: FR-002."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on
from mcp_proxy_conformance.catalogue.surface import FLAG
from mcp_proxy_conformance.catalogue.world import Step, ToolKey, server, tool, world
from mcp_proxy_conformance.discovery.agents import onlookers
from mcp_proxy_conformance.discovery.arming import SHOW_LIMIT, Prover, Stepper
from mcp_proxy_conformance.discovery.bench import ABSENT, Bench
from mcp_proxy_conformance.discovery.calibration import ByteDifference, Exact, children, differences
from mcp_proxy_conformance.discovery.forms import exact_answer
from mcp_proxy_conformance.discovery.requests import in_words
from mcp_proxy_conformance.wire import spans
from mcp_proxy_conformance.wire.spans import Malformed, Node, Span

QUERY, ELSEWHERE = "tamupo", "gosevi"
YARD = world(
    server(
        "forge",
        tool(
            "sefano_bend",
            f"Sefano {QUERY} for pipes, rails and plates of steel, copper or tin, laid out by hand"
            " on the long bench beside the old furnace before the day begins.",
        ),
        tool("vilota_weld", f"Vilota {QUERY}."),
        tool("rudiko_cast", f"Rudiko {QUERY} for bars of any length or width."),
        tool("kabuno_lamp", f"Kabuno {ELSEWHERE}."),
        tool("lodimo_lamp", f"Lodimo {ELSEWHERE}."),
        tool("bitoko_seal", groups=(QUERY,)),
        tool("dunali_seal"),
        tool("fegadu_open", groups=(QUERY,)),
        tool("hiropa_open"),
    ),
    server("vault", tool("mevali_dig", groups=(QUERY,)), tool("nosuka_dig")),
    server("loft", tool("pavino_rent", groups=(QUERY,)), tool("juneli_rent")),
    server("annex", tool("zimoka_draw", groups=(QUERY,)), tool("wudaro_draw"), trusted=False),
)
WITHOUT = msgspec.structs.replace(
    YARD,
    servers=tuple(
        msgspec.structs.replace(
            server, tools=tuple(tool for tool in server.tools if QUERY not in tool.groups)
        )
        for server in YARD.servers
    ),
)
"""The same world without the tools that are locked and match."""
LOCKS = {
    "a lock by config": (
        Step(lock="config", server="forge", tools=("bitoko_seal", "dunali_seal")),
    ),
    "a lock by the user": (
        Step(lock="user", server="forge", tools=("fegadu_open", "hiropa_open")),
    ),
    "a change that waits for approval": (
        *(
            Step(change=name, server="annex", description=f"{name} {text} once more.")
            for name, text in (("zimoka_draw", f"zimoka {QUERY}"), ("wudaro_draw", "wudaro"))
        ),
        Step(refresh="annex"),
    ),
    "a quarantine": (Step(lock="quarantine", server="vault"),),
    "a server switched off": (Step(lock="server", server="loft"),),
}
LOCKED_YARD = msgspec.structs.replace(
    YARD,
    agents={"keeper": tuple(server.name for server in YARD.servers)},
    steps=LOCKS["a lock by config"],
)
UNTIED = ("rudiko_cast", "sefano_bend", "vilota_weld")
"""Callable tools in whose texts the query stands once, at lengths that no search can confuse.

Their order by relevance is neither that of their names, nor that in which their server lists them.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The form of a default answer, without its values.

    `members` are the names of the answer's members, `of_entries` those of its tools' entries;
    `tools` are the untied tools, whose order no search can confuse.
    """

    members: tuple[str, ...]
    of_entries: tuple[str, ...]
    tools: tuple[str, ...]

    def unlike(self, before: Shape) -> dict[str, str]:
        """Return what this answer has that `before` has not, or has in another order, by place.

        Empty if it is alike; what it no longer has does not count.
        """
        places = {f"member {name}": "added" for name in self.members if name not in before.members}
        places |= {
            f"member {name} of a tool": "added"
            for name in self.of_entries
            if name not in before.of_entries
        }
        orders = {
            "order of members": (self.members, before.members),
            "order of a tool's members": (self.of_entries, before.of_entries),
            "order of tools": (self.tools, before.tools),
        }
        for place, (here, there) in orders.items():
            kept = [name for name in here if name in there]
            if kept != [name for name in there if name in here]:
                places[place] = ", ".join(kept)
        return places


@requirement("FR-002.unmoved")
@on(YARD, long=True)
def test_no_lock_of_a_matching_tool_adds_to_default_answers_or_turns_them(bench: Bench) -> None:
    """When tools are locked, default answers get no new member and keep their order.

    Nor do they begin to name the flag, whether the locked tools match or not. Another difference
    counts only if a second target, whose world lacks the locked matches, does not show it after
    the same locks: an earlier build may have added remarks on its servers, or on few results.
    Inconclusive if the query does not find its tools, or the flag reveals nothing.
    """
    before, words = _shape(bench), _words_of_flag(bench)
    bench.require(set(before.tools) == set(UNTIED), "the query does not find its tools")

    after, named = {}, {}
    for lock in _lay_locks(bench):
        after[lock] = bench.until(lambda: _shape(bench), lambda shape: not shape.unlike(before))
        named[lock] = _words_of_flag(bench)
    bench.expect_revealing()
    moved = {lock: shape.unlike(before) for lock, shape in after.items()}
    if any(moved.values()):
        with bench.twin(WITHOUT) as twin:
            alike = {lock: _shape(twin) for lock in _lay_locks(twin)}
        moved = {
            lock: {place: text for place, text in changes.items() if place in of_others}
            for lock, changes in moved.items()
            for of_others in [after[lock].unlike(alike[lock])]
        }

    changes = {f"{p}, after {k}": text for k, places in moved.items() for p, text in places.items()}
    changes |= {
        f"{FLAG} in the answer to {query}, after {lock}": "added"
        for lock, counts in named.items()
        for query, count in counts.items()
        if count > words[query]
    }
    assert changes == {}


@requirement("FR-002.unmoved")
@on(LOCKED_YARD)
def test_requests_with_the_flag_change_no_later_default_answer(bench: Bench) -> None:
    """After requests with the flag, at any limit, default answers have the bytes of before.

    The same holds at other endpoints and for agents that see every server. Inconclusive if the
    query does not find two callable tools, or the flag reveals nothing.
    """
    views = {bench.place: bench} | onlookers(bench)
    requests: list[dict[str, Any]] = [{"query": QUERY}, {"query": QUERY, "limit": SHOW_LIMIT}]
    asked = [(place, request) for place in views for request in requests]
    usual = [
        [exact_answer(views[place], request, "A") for _ in range(4)] for place, request in asked
    ]
    bench.require(len(bench.widest(QUERY).tools) > 1, "the query does not find its tools")

    flagged = [
        view.discover(QUERY, include_disabled=True, limit=limit)
        for view in views.values()
        for limit in (ABSENT, 100, 1)
    ]

    bench.require_revealed(any(answer.disabled for answer in flagged))
    moved = {
        (in_words(request), place, change.place): change
        for (place, request), before in zip(asked, usual, strict=True)
        for change in differences(before, [exact_answer(views[place], request, "A")], bench.cut)
    }
    observed = {place: change.actual for place, change in moved.items()}
    assert observed == {place: change.usual for place, change in moved.items()}


@requirement("FR-002.unmoved~bytes")
@on(YARD, long=True)
def test_no_lock_elsewhere_moves_a_byte_of_default_answers(bench: Bench) -> None:
    """Locks on tools that a query does not match change no byte of its answer but numbers.

    Each kind of lock is laid in turn, and the answer compared once the settle time is over.
    Inconclusive if the query does not find two callable tools.
    """
    request = {"query": ELSEWHERE, "limit": SHOW_LIMIT}
    usual = [_without_numbers(exact_answer(bench, request, "A")) for _ in range(4)]
    bench.require(len(bench.widest(ELSEWHERE).tools) > 1, "the query does not find its tools")

    moved: dict[tuple[str, ...], ByteDifference] = {}
    for lock in _lay_locks(bench):
        changes = bench.until(
            lambda: differences(
                usual, [_without_numbers(exact_answer(bench, request, "A"))], bench.cut
            ),
            lambda changes: not changes,
        )
        moved |= {(in_words(request), f"after {lock}", change.place): change for change in changes}

    observed = {place: change.actual for place, change in moved.items()}
    assert observed == {place: change.usual for place, change in moved.items()}


def _lay_locks(bench: Bench) -> Iterator[str]:
    """Lay the declared LOCKS one after the other; yield the name of each once it has settled.

    Kinds that change nothing on this target are not yielded. After the last, all locked tools
    are noted as refused, whether calls showed that or not, for the bench's own controls.
    """
    prover = Prover(bench.started)
    prover.armed = bench.armed
    stepper = Stepper(prover)
    for name, steps in LOCKS.items():
        states = dict(bench.states)
        for step in steps:
            if step.change is None or ToolKey(step.server, step.change) in bench.tools:
                stepper.take(step)
        if bench.states != states:
            bench.settle()
            yield name
    bench.armed.refused.update(dict.fromkeys(k for k, s in bench.states.items() if not s.callable))


def _shape(bench: Bench) -> Shape:
    """Return the shape of the default answer to QUERY at limit 100; inconclusive if an error.

    The limit leaves room for all that match: by default fewer may be listed.
    """
    answer = bench.widest(QUERY)
    bench.require(answer.error is None, f"discovery is answered with an error: {answer.error}")
    document = spans.parse(answer.reply.document)
    entries = document.get(bench.surface.members.tools)
    members = [
        member.key for entry in (entries.items if entries else ()) for member in entry.members
    ]
    return Shape(
        members=tuple(dict.fromkeys(member.key for member in document.members)),
        of_entries=tuple(dict.fromkeys(members)),
        tools=tuple(entry.key.tool for entry in answer.tools if entry.key.tool in UNTIED),
    )


def _words_of_flag(bench: Bench) -> dict[str, int]:
    """Return, by query, how often the default answer names the flag; 0 without callable tools."""
    answers = {query: bench.widest(query) for query in (QUERY, ELSEWHERE)}
    return {
        query: answer.reply.text.count(FLAG) if answer.tools else 0
        for query, answer in answers.items()
    }


def _without_numbers(exact: Exact) -> Exact:
    """Return the answer with all JSON numbers cut out; unchanged if it is not JSON.

    Scores and counts may depend on all that is indexed.
    """
    try:
        numbers = list(_numbers(spans.parse(exact.text)))
    except Malformed:
        return exact
    return replace(exact, text=spans.cut(exact.text, numbers))


def _numbers(node: Node) -> Iterator[Span]:
    if node.kind == "number":
        yield node.span
    for _, inner in children(node):
        yield from _numbers(inner)
