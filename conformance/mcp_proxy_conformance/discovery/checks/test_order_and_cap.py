"""Discovery answers: cap on locked tools, callable ones in order, length: FR-006, SC-004."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on, stage
from mcp_proxy_conformance.catalogue.world import ToolKey
from mcp_proxy_conformance.discovery.answer import Answer
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.offered import places
from mcp_proxy_conformance.discovery.oracle import cap
from mcp_proxy_conformance.discovery.requests import in_words
from mcp_proxy_conformance.wire.spans import Span, member

CROWD, PLAIN = stage("crowd"), stage("plain")
MEMBERS = {
    word: tuple(k for k, t in CROWD.tools().items() if word in t.groups)
    for word in dict.fromkeys([g for t in CROWD.tools().values() for g in t.groups])
}
BULK = max(MEMBERS, key=lambda word: len(MEMBERS[word]))
TEN = next(word for word, keys in MEMBERS.items() if len(keys) == 10)
REQUESTS = tuple(r["query"] for r in PLAIN.requests if r.keys() == {"query"})


class Listed(NamedTuple):
    """A callable tool of an answer, and the name by which it is called."""

    key: ToolKey
    name: str

    def __str__(self) -> str:
        """Return `TOOL as NAME`, or the name alone if it equals the tool's key."""
        return self.name if self.name == str(self.key) else f"{self.key} as {self.name}"


Named = tuple[Listed, ...]


@requirement("FR-006.cap")
@on(CROWD)
def test_the_cap_holds_on_every_endpoint(bench: Bench) -> None:
    """At every endpoint and revision at most ten of hundreds of locked matches are named.

    The limit is 100, and names are counted in the whole result: its texts, structured content and
    `_meta`. Inconclusive if the flag reveals nothing, or fewer than eleven tools matched while
    callable.
    """
    bench.require(len(bench.armed.shown[BULK]) >= 11, "fewer than 11 tools matched while callable")
    bench.expect_revealing()
    views = {bench.place: bench} | places(bench)

    answers = {
        (BULK, name): view.widest(BULK, include_disabled=True) for name, view in views.items()
    }

    words = [bench.tools[key].word or key.tool for key in bench.armed.refused]
    texts = {place: answer.text_without_echo() for place, answer in answers.items()}
    counts = {
        place: max(len(a.disabled), sum(word in texts[place] for word in words))
        for place, a in answers.items()
    }
    over = {place: count for place, count in counts.items() if count > cap(100)}
    assert over == {}


@requirement("FR-006.callables")
@on(CROWD)
def test_locked_matches_displace_no_callable_one(bench: Bench) -> None:
    """However many locked tools match, the flag does not change the number of callable ones.

    Words that both kinds share are asked for at limits from 1 to 100. Inconclusive unless some
    answer has callable and locked tools.
    """
    requests = {
        in_words({"query": word, "limit": limit}): (word, limit)
        for word in _shared(bench)
        for limit in (1, 2, 3, 5, 15, 100)
    }
    default = {name: len(bench.discover(w, limit=n).tools) for name, (w, n) in requests.items()}
    bench.require(any(default.values()), "no callable tool was listed")

    answers = {
        name: bench.discover(w, include_disabled=True, limit=n) for name, (w, n) in requests.items()
    }

    bench.require(
        any(a.tools and a.disabled for a in answers.values()),
        "no answer had both callable and locked tools",
    )
    assert {name: len(answer.tools) for name, answer in answers.items()} == default


@requirement("FR-006.callables~bytes")
@on(PLAIN)
def test_the_flag_keeps_every_byte_of_the_callable_part(bench: Bench) -> None:
    """The member with the callable tools has the same bytes with and without the flag.

    Inconclusive if equal default requests get different ones, or the flag reveals nothing.
    """
    queries = REQUESTS[::3]
    default = {query: _callable_part(bench, bench.discover(query)) for query in queries}
    again = {query: _callable_part(bench, bench.discover(query)) for query in queries}
    bench.require(default == again, "identical requests got different answers", "disagrees")
    bench.expect_revealing()

    flagged = {q: _callable_part(bench, bench.discover(q, include_disabled=True)) for q in queries}

    assert flagged == default


@requirement("FR-006.fills")
@on(CROWD)
@pytest.mark.parametrize("limit", [1, 5, 10, 100])
def test_as_many_locked_matches_are_listed_as_the_cap_allows(bench: Bench, limit: int) -> None:
    """Each query fills the section up to its cap, or lists all its locked matches.

    Inconclusive if a query found no locked tool while it was callable.
    """
    locked = {key for key, state in bench.states.items() if not state.callable}
    proven = {word: len(locked.intersection(bench.armed.shown[word])) for word in MEMBERS}
    bench.require(all(proven.values()), "a query did not find its tools while they were callable")

    counts = {
        w: len(bench.discover(w, include_disabled=True, limit=limit).disabled) for w in proven
    }

    want = {word: min(limit, 10, count) for word, count in proven.items()}
    short = {word: count for word, count in counts.items() if count < want[word]}
    assert short == {word: want[word] for word in short}


@requirement("FR-006.section-order")
@on(CROWD)
def test_the_callable_section_stands_before_the_locked_one(bench: Bench) -> None:
    """In the JSON of flagged answers, callable tools come before locked tools.

    Inconclusive if no answer has both.
    """
    answers = [bench.discover(word, include_disabled=True) for word in _shared(bench)]
    both = [answer for answer in answers if answer.tools and answer.disabled]
    bench.require(both, "no answer had both callable and locked tools")
    names = [bench.surface.members.tools, bench.surface.members.disabled]

    order = {answer.query: [name for name in answer.body if name in names] for answer in both}

    assert order == dict.fromkeys(order, names)


@requirement("FR-006.window")
@on(CROWD)
@pytest.mark.parametrize("limit", [1, 2, 3, 15])
def test_locked_hits_take_no_place_of_a_callable_one_in_default_answers(
    bench: Bench, limit: int
) -> None:
    """Without the flag, an answer has as many callable tools as limit and matches allow.

    Words that callable tools share with locked ones are asked for. Inconclusive if a callable
    tool is not found by its own word.
    """
    callables = {word: [k for k in MEMBERS[word] if bench.states[k].callable] for word in MEMBERS}
    shared = {word: len(keys) for word, keys in callables.items() if keys}
    alone = [k for k in bench.tools if bench.relevant(k, bench.tools[k].word)]
    unshown = {k for word in shared for k in callables[word]} - set(alone)
    bench.require(
        not unshown, f"not found by their own word: {', '.join(sorted(map(str, unshown)))}"
    )

    counts = {word: len(bench.discover(word, limit=limit).tools) for word in shared}

    want = {word: min(limit, count) for word, count in shared.items()}
    short = {word: count for word, count in counts.items() if count < want[word]}
    assert short == {word: want[word] for word in short}


@requirement("SC-004.bounded")
@on(CROWD)
def test_an_answer_over_hundreds_of_locked_tools_is_no_longer_than_over_ten(bench: Bench) -> None:
    """With 500 locked matches, an answer without its callable part is hardly longer than with ten.

    It is at most a quarter longer. Both answers have the flag and limit 100; inconclusive if
    one lists no locked tool.
    """
    few, many = (bench.widest(w, include_disabled=True) for w in (TEN, BULK))
    bench.require_revealed(few.disabled and many.disabled)

    lengths = {a.query: len(a.reply.document) - len(_callable_part(bench, a)) for a in (few, many)}

    most = int(1.25 * lengths[TEN])
    longer = {query: f"{n} bytes" for query, n in lengths.items() if n > most}
    assert longer == dict.fromkeys(longer, f"at most {most} bytes")


def _shared(bench: Bench) -> tuple[str, ...]:
    return tuple(w for w, keys in MEMBERS.items() if any(bench.states[k].callable for k in keys))


def _callable_part(bench: Bench, answer: Answer) -> bytes:
    """Return the exact bytes of the list of callable tools in an answer's JSON; empty if absent."""
    start, end = member(answer.reply.document, [bench.surface.members.tools]) or Span(0, 0)
    return answer.reply.document[start:end]
