"""Locked tools of an enabled server that does not answer: statuses, counts: FR-004, FR-010."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from itertools import product

import msgspec

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on
from mcp_proxy_conformance.catalogue.world import (
    CONFIG,
    USER,
    Step,
    ToolKey,
    server,
    tool,
    world,
)
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.contents import masked
from mcp_proxy_conformance.discovery.counts import tally
from mcp_proxy_conformance.discovery.grounds import broken_by
from mcp_proxy_conformance.discovery.locked_entries import ask
from mcp_proxy_conformance.discovery.oracle import ABSENT, allowed_statuses
from mcp_proxy_conformance.discovery.rejections import has_sentence, texts_of_server
from mcp_proxy_conformance.discovery.remediation import judge
from mcp_proxy_conformance.targets.target import AdapterError, Refused, Unsupported
from mcp_proxy_conformance.verdict.comparison import Comparison
from mcp_proxy_conformance.verdict.result import NotApplicable
from mcp_proxy_conformance.wire.faults import ProtocolFault, Unreachable

OFF, UNKNOWN = "server_disabled", "disabled_unknown"
OPEN, DENIED, WIPE, CHANGED = (
    ToolKey("forge", name) for name in ("zorvik_list", "mobel_drop", "gatun_wipe", "tifka_show")
)
KEYS = (OPEN, DENIED, WIPE, CHANGED)
BESIDE, LOCKED_BESIDE = ToolKey("barn", "pelka_send"), ToolKey("barn", "runlom_push")
WORLD = msgspec.structs.replace(
    world(
        server("forge", *(tool(key.tool) for key in KEYS), trusted=False),
        server("barn", tool(BESIDE.tool), tool(LOCKED_BESIDE.tool)),
        server("vault", tool("fegadu_open")),
    ),
    steps=(
        Step(unlock="approval", server="forge", tools=tuple(key.tool for key in KEYS)),
        Step(lock=USER, server="forge", tools=(WIPE.tool,)),
        Step(change=CHANGED.tool, server="forge", description=f"{CHANGED.tool}, quibrandol."),
        Step(refresh="forge"),
        Step(lock=CONFIG, server="forge", tools=(DENIED.tool,)),
        Step(lock=USER, server="barn", tools=(LOCKED_BESIDE.tool,)),
        Step(lock="server", server="vault"),
    ),
)


@requirement("FR-004.precedence", "FR-004.follows-state", "FR-010.sum")
@on(WORLD)
def test_an_enabled_server_out_of_reach_is_not_said_to_be_off(bench: Bench) -> None:
    """While a server does not answer, its tools keep their statuses, are unknown, or not listed.

    Counts follow, no rejection says that the server is off, and what config denies is never
    unknown; once the server answers again, every tool has its status. Inconclusive if a lock has no
    effect, or a tool of another server is out of reach too; not applicable if the flag does not
    reveal the user-locked tools, or the server stays off afterwards.
    """
    keys = [key for key in KEYS if key in bench.armed.refused]
    bench.require({DENIED, WIPE} <= {*keys}, "a lock had no effect", "no_effect")
    before = {key: masked(bench, bench.refusal(key), key) for key in keys}
    off = texts_of_server(bench)
    listed = [
        key for key in (*keys, LOCKED_BESIDE) if _place(bench, key) in _allowed_by_locks(bench, key)
    ]
    if not {WIPE, LOCKED_BESIDE} <= {*listed}:
        raise NotApplicable("the flag does not reveal all locked tools: FR-001.reveals-user")

    with bench.operator.out_of_reach("forge"):
        _have_absence_noticed(bench)
        bench.require(bench.call(BESIDE).reached, f"no call reaches {BESIDE} either", "not_reached")
        away = {key: _place(bench, key) for key in (OPEN, *keys, LOCKED_BESIDE)}
        rejections = {key: masked(bench, bench.refusal(key), key) for key in keys}
        entry = bench.list().servers.get("forge")
        counts = tally(entry) if entry else {}
    back = _is_back(bench)
    if not back and OFF in (*away.values(), *counts):
        raise NotApplicable("the target may have switched the server off: it stays away")

    compared = Comparison()
    for key, place in away.items():
        _compare_place(compared, bench, key, place)
    for key, text in rejections.items():
        says_off = any(has_sentence(text, theirs) for theirs in off)
        wrong = text != before[key] and says_off and judge(text, OFF, pins={}) == "conveys"
        compared.truth(f"rejection of {key} while forge is out of reach", text, holds=not wrong,
                       allowed="not the text for a server that is off",
                       breaks=["FR-004.precedence"], shows=[])  # fmt: skip
    _compare_counts(compared, bench, counts)
    for key in listed if back else ():
        _compare_later(compared, bench, key)
    compared.conclude()


def _have_absence_noticed(bench: Bench) -> None:
    """Call a tool of the absent server so that the target notices, unless it can be refreshed.

    A target that can be has been refreshed already. A failed call is ignored.
    """
    if "refresh" not in bench.started.target.capabilities:
        with suppress(ProtocolFault, Unreachable):
            bench.call(OPEN)


def _is_back(bench: Bench) -> bool:
    """Refresh forge if possible; return whether its unlocked tool is listed and reached again.

    The tool has the ready time for that.
    """
    with suppress(AdapterError, Refused, Unsupported):
        bench.operator.refresh("forge")
    return bench.ready(OPEN)


def _place(bench: Bench, key: ToolKey) -> str:
    """Return the tool's status, `callable` or `absent`, in a flagged answer to its own query."""
    return ask(bench, key).status(key)


def _allowed_by_locks(bench: Bench, key: ToolKey) -> frozenset[str]:
    """Return the places that the tool's locks allow while its server answers.

    Places are statuses, `callable` and `absent`.
    """
    return allowed_statuses(bench.states[key])


def _allowed(bench: Bench, key: ToolKey) -> frozenset[str]:
    """Return the places that a tool may have while forge is out of reach.

    Places are statuses, `callable` and `absent`. A tool of forge may be unlisted; it may be unknown
    unless config denies it, without a lookup.
    """
    if key.server != "forge":
        return _allowed_by_locks(bench, key)
    return _allowed_by_locks(bench, key) | (
        {ABSENT} if bench.states[key].config else {ABSENT, UNKNOWN}
    )


def _compare_place(compared: Comparison, bench: Bench, key: ToolKey, place: str) -> None:
    """Record in `compared` whether a tool's place is allowed while forge is out of reach.

    `place` is a status, `callable` or `absent`.
    """
    state = bench.states[key]
    shown = "FR-004.follows-state" if state.callable else "FR-004.precedence"
    compared.one_of(f"place of {key} while forge is out of reach", place,
                    sorted(_allowed(bench, key)), breaks=broken_by(state, place, flag=True),
                    shows=[shown])  # fmt: skip


def _compare_counts(compared: Comparison, bench: Bench, counts: dict[str, int]) -> None:
    """Record in `compared` whether forge's counts have each tool once at most, as its locks allow.

    Allowed is each status that the tool may have while forge is out of reach. Nothing is recorded
    if `counts` is empty, or if a lock of the world is not proven.
    """
    if not counts or bench.armed.unproven:
        return
    states = [key for key in bench.states if key.server == "forge"]
    words = [_allowed(bench, key) | {ABSENT} for key in states]
    tallies = [Counter(word for word in chosen if word != ABSENT) for chosen in product(*words)]
    compared.truth("counts of forge while it is out of reach", counts, holds=counts in tallies,
                   allowed="each tool once, under its own reason or as unknown",
                   breaks=["FR-010.sum"])  # fmt: skip


def _compare_later(compared: Comparison, bench: Bench, key: ToolKey) -> None:
    """Record in `compared` whether a tool is where its locks allow once its server answers again.

    It is under a status, callable or absent. The target has the settle time for that.
    """
    own = _allowed_by_locks(bench, key)
    place = bench.until(lambda: _place(bench, key), lambda place: place in own)
    compared.one_of(f"place of {key} afterwards", place, sorted(own),
                    breaks=broken_by(bench.states[key], place, flag=True),
                    shows=["FR-004.precedence"])  # fmt: skip
