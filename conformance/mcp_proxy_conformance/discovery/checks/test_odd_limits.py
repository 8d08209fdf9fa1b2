"""Limits that are not positive integers: an error, or at most ten locked tools: FR-006, SC-004."""

from __future__ import annotations

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on
from mcp_proxy_conformance.catalogue.world import CONFIG, server, tool, world
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.oracle import cap
from mcp_proxy_conformance.discovery.requests import in_words
from mcp_proxy_conformance.verdict.comparison import read_in
from mcp_proxy_conformance.verdict.result import Misshapen
from mcp_proxy_conformance.wire.faults import ProtocolFault, Unreachable

ODD = (0, -1, 2.7, "5", "abc", None, 1e300)
NAMES = (
    "zorvik", "mobela", "tunrag", "felopi", "kadrus", "wibnot",
    "jolmek", "rastip", "cundov", "hepgal", "vimbok", "nastru",
)  # fmt: skip
QUARRY = world(
    server(
        "quarry",
        tool("lidful_open"),
        *(tool(f"{name}_dig", groups=("gremtol",), locked=CONFIG) for name in NAMES),
    )
)


@requirement("FR-006.odd-limits")
@on(QUARRY)
def test_an_odd_limit_neither_lifts_the_cap_nor_stops_the_target(bench: Bench) -> None:
    """Each odd limit gets an error or at most ten locked tools, and the next call is answered.

    Limits are 0, -1, a fraction, texts, null and a huge number. Inconclusive if fewer than eleven
    tools matched while callable, or the flag reveals nothing.
    """
    bench.require(
        len(bench.armed.shown["gremtol"]) >= 11, "fewer than 11 tools matched while callable"
    )
    bench.expect_revealing()

    counts, after = dict[tuple[str, str], int](), dict[tuple[str, str], str]()
    for limit in ODD:
        request = in_words({"query": "gremtol", "limit": limit, "include_disabled": True})
        counts[request, "locked entries"] = _locked(bench, limit)
        works = _works(bench)
        after[request, read_in("the call after it")] = "answered" if works else "not answered"

    allowed = {place: min(count, cap(None)) for place, count in counts.items()}
    assert counts | after == allowed | dict.fromkeys(after, "answered")


def _locked(bench: Bench, limit: object) -> int:
    """Return the number of locked tools listed with the flag at this limit.

    It is 0 if there is no answer, or none that can be read.
    """
    try:
        return len(bench.discover("gremtol", include_disabled=True, limit=limit).disabled)
    except (Misshapen, ProtocolFault, Unreachable):
        return 0


def _works(bench: Bench) -> bool:
    try:
        return bench.discover("gremtol", limit=5).error is None
    except (ProtocolFault, Unreachable):
        return False
