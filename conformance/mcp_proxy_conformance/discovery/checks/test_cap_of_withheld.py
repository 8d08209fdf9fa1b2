"""Quarantined and pending tools in answers: shared cap, one entry, order kept: FR-004, FR-006."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on
from mcp_proxy_conformance.catalogue.world import CONFIG, USER, Step, server, tool, world
from mcp_proxy_conformance.discovery.agents import onlookers
from mcp_proxy_conformance.discovery.bench import ABSENT, Bench
from mcp_proxy_conformance.discovery.offered import offered
from mcp_proxy_conformance.discovery.oracle import cap
from mcp_proxy_conformance.discovery.requests import in_words
from mcp_proxy_conformance.verdict.result import NotApplicable
from mcp_proxy_conformance.wire.input_schema import default

OPEN, INDEXED, WITHHELD = "solmek", "gremtol", "vosquil"
"""Words of callable tools, of locked tools of every kind, and of withheld tools only."""
CALLABLE = (
    "zorvik", "mobela", "tunrag", "felopi", "kadrus", "wibnot",
    "jolmek", "rastip", "cundov", "hepgal", "vimbok", "nastru",
)  # fmt: skip
DENIED = ("bexram", "fudlip", "gantok", "hiprel", "jusmav", "kolbin", "lerdop")
DISABLED = ("mavtus", "nibrog", "pextil", "qulfan", "ruvdek")
HELD = ("sabnot", "tivgul", "ubmore", "wexlap", "yindor", "zepkal", "abrifo", "dovnes")
PLANTED = {"dovnes": "krelumdo", "jefnok": "plimzeku"}
"""Words that stand only in the description of the withheld tool of that name."""
NAMESAKES = ("cellar", "garret")
"""Quarantined servers with a tool of the name INDEXED, as the attic has one."""
NOWHERE = ("quolvexi", "fribbadon", "wexumla")


def _tool_named(part: str, name: str) -> Any:
    """Return (tool, no locks), as `server` takes it: `{part}_{name}`, with the word `name`.

    Its description has both words, and the planted word of that name if there is one.
    """
    words = [part, name, *([PLANTED[name]] if name in PLANTED else [])]
    return tool(f"{part}_{name}", " ".join(words).capitalize(), word=name)


ATTIC = structs.replace(
    world(
        server(
            "quarry",
            *(tool(f"{name}_open", groups=(OPEN,)) for name in CALLABLE),
            *(tool(f"{name}_dig", groups=(INDEXED,), locked=CONFIG) for name in DENIED),
            *(tool(f"{name}_haul", groups=(INDEXED,), locked=USER) for name in DISABLED),
        ),
        server(
            "attic",
            tool(INDEXED),
            *(_tool_named(INDEXED, name) for name in HELD[:3]),
            *(_tool_named(WITHHELD, name) for name in HELD[3:]),
        ),
        *(server(name, tool(INDEXED)) for name in NAMESAKES),
        server("shed", tool("ormlat_show"), trusted=False),
        server(
            "porch",
            tool(f"{WITHHELD}_polbit", f"{WITHHELD.title()} polbit, {WITHHELD}."),
            tool("tarlom_rusgit", "Tarlom rusgit once more."),
        ),
        agents={"keeper": ("quarry", "attic", *NAMESAKES, "shed", "porch")},
    ),
    steps=(
        Step(unlock="approval", server="shed", tools=("ormlat_show",)),
        *(
            Step(add=_tool_named(part, name)[0], server="shed")
            for part, name in (
                (INDEXED, "ebnuro"), (WITHHELD, "fiklom"), (WITHHELD, "gosvat"),
                (WITHHELD, "humdri"), (WITHHELD, "idplen"), (WITHHELD, "jefnok"),
                (WITHHELD, "kubtis"),
            )
        ),
        Step(refresh="shed"),
        Step(lock="user", server="quarry", tools=tuple(f"{name}_haul" for name in DISABLED)),
        Step(lock="config", server="quarry", tools=tuple(f"{name}_dig" for name in DENIED)),
        *(Step(lock="quarantine", server=name) for name in ("attic", *NAMESAKES)),
    ),
)  # fmt: skip
LIMITS = (1, 2, 5, 9, 10, 11, 100, ABSENT)


@requirement("FR-006.cap")
@on(ATTIC)
def test_one_cap_holds_for_indexed_and_withheld_tools(bench: Bench) -> None:
    """At every place at most min(limit, 10) locked tools are listed, of all kinds together.

    Without a limit, the target's own default stands for it. Asked are the default endpoint, other
    endpoints and agents that see every server; inconclusive unless more than ten tools matched
    while callable, and the flag reveals one.
    """
    matches = len(bench.armed.shown[INDEXED])
    bench.require(matches > cap(None), "fewer than 11 tools matched while callable")
    bench.expect_revealing()
    usual = _default_limit(bench)
    views = {bench.place: bench} | onlookers(bench)
    requests = [(p, q, limit) for p in views for q in (INDEXED, WITHHELD) for limit in LIMITS]

    counts = {
        (place, query, limit): len(
            views[place].discover(query, include_disabled=True, limit=limit).disabled
        )
        for place, query, limit in requests
    }

    most = {request: cap(usual if request[2] is ABSENT else request[2]) for request in counts}
    over = {request: count for request, count in counts.items() if count > most[request]}
    assert {_in_words(*r): n for r, n in over.items()} == {_in_words(*r): most[r] for r in over}


@requirement("FR-004.once")
@on(ATTIC)
def test_each_word_of_a_withheld_name_finds_its_tool_once(bench: Bench) -> None:
    """A query of both words of a withheld tool's name lists no tool twice.

    Quarantined and pending tools are asked for so, by one word after the other and the other way
    round. Not applicable if no such query reveals its tool, as in a search by nearness.
    """
    bench.needs_one_of("approval", "quarantine")
    keys = [k for k in bench.armed.refused if k.tool.startswith(f"{WITHHELD}_")]
    words = {key: [WITHHELD, bench.tools[key].word] for key in keys}
    queries = {" ".join(order): key for key, pair in words.items() for order in (pair, pair[::-1])}

    answers = {q: bench.widest(q, include_disabled=True) for q in queries}

    if not any(queries[q] in answer.statuses() for q, answer in answers.items()):
        raise NotApplicable("withheld tools are not found by two words of their names")
    twice = {q: answer.listed_twice() for q, answer in answers.items()}
    assert {q: keys for q, keys in twice.items() if keys} == {}


@requirement("FR-004.unsearched")
@on(ATTIC)
def test_no_withheld_text_moves_its_tool_in_an_answer(bench: Bench) -> None:
    """A query word that only withheld texts have does not reorder tools found by another word.

    The query is a word of locked tools' names with a word of one withheld description. Not
    applicable if words that occur in no text reorder the tools as well, if withheld tools are found
    only by their full names, or if no such query lists two tools.
    """
    bench.needs_one_of("approval", "quarantine")
    orders = [_order(bench, word) for word in NOWHERE]
    if all(len(order) <= 1 for order in orders):
        raise NotApplicable("withheld tools are found only by their full names")
    if any(order != orders[0] for order in orders):
        raise NotApplicable("words that stand nowhere change the order of its answers, too")

    observed = {word: _order(bench, word) for word in PLANTED.values()}

    assert observed == dict.fromkeys(observed, orders[0])


def _order(bench: Bench, word: str) -> list[str]:
    """Return the locked tools of the flagged answer to WITHHELD and this word, in order.

    The limit is 100.
    """
    answer = bench.widest(f"{WITHHELD} {word}", include_disabled=True)
    return [str(entry.key) for entry in answer.disabled]


def _default_limit(bench: Bench) -> int | None:
    """Return the limit of requests without one: as observed, or as published if that is higher.

    None if they list every callable match, of which there are more than ten.
    """
    few, many = (len(bench.discover(OPEN, limit=limit).tools) for limit in (ABSENT, 100))
    if few >= many:
        return None
    schema = next(iter(offered(bench).values())).get("inputSchema")
    published = default(schema, bench.surface.limit)
    return max(few, published if isinstance(published, int) else 0)


def _in_words(place: str, query: str, limit: int) -> tuple[str, str]:
    """Return a flagged request in words, with a limit unless ABSENT, and its place."""
    request = {"query": query} if limit is ABSENT else {"query": query, "limit": limit}
    return in_words({**request, "include_disabled": True}), place
