"""Discovery answers: cap on locked tools, callable ones in order, length: FR-006, SC-004."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import pytest

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on, stage
from mcp_proxy_conformance.catalogue.surface import FLAG
from mcp_proxy_conformance.catalogue.world import ToolKey
from mcp_proxy_conformance.discovery.agents import scoped
from mcp_proxy_conformance.discovery.answer import Answer
from mcp_proxy_conformance.discovery.arming import SHOW_LIMIT
from mcp_proxy_conformance.discovery.bench import ABSENT, Bench
from mcp_proxy_conformance.discovery.offered import places
from mcp_proxy_conformance.discovery.oracle import cap
from mcp_proxy_conformance.discovery.requests import in_words
from mcp_proxy_conformance.verdict.result import NotApplicable
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
@pytest.mark.parametrize("limit", [1, 2, 5, 9, 10, 11, 50, 100, ABSENT])
def test_no_more_locked_tools_come_back_than_the_limit_or_ten(bench: Bench, limit: object) -> None:
    """However many locked tools match, at most min(limit, 10) of them are listed.

    Without a limit that is ten; every word of the stage is asked for. Inconclusive if a large group
    of tools was not found while callable, or the flag reveals nothing.
    """
    large = [word for word, keys in MEMBERS.items() if len(keys) > 10]
    unshown = [word for word in large if len(bench.armed.shown[word]) < 11]
    bench.require(not unshown, f"fewer than 11 tools matched while callable: {', '.join(unshown)}")
    bench.expect_revealing()

    words = (*MEMBERS, *CROWD.words)
    counts = {w: len(bench.discover(w, include_disabled=True, limit=limit).disabled) for w in words}

    most = cap(None if limit is ABSENT else int(str(limit)))
    over = {word: count for word, count in counts.items() if count > most}
    assert over == {}


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
@on(PLAIN)
def test_the_flag_keeps_the_callable_tools_and_their_order(bench: Bench) -> None:
    """Answers with and without the flag list the same callable tools in the same order.

    Inconclusive unless some answer has callable and locked tools, and some answer two callable
    ones.
    """
    default, answers = _both_forms(bench, REQUESTS)

    bench.require(
        any(a.tools and a.disabled for a in answers.values()),
        "no answer had both callable and locked tools",
    )
    bench.require(
        any(len(a.tools) > 1 for a in answers.values()), "no answer had two callable tools"
    )
    assert {answer.reply.named(q): _named(answer) for q, answer in answers.items()} == default


@requirement("FR-006.callables")
@on(PLAIN)
def test_the_flag_keeps_the_order_at_every_endpoint_and_for_agents(bench: Bench) -> None:
    """The flag keeps callable tools and their order at other endpoints and for scoped agents.

    The same holds in the stateless revision, where it is spoken. Not applicable if there is no
    such view, inconclusive if no answer has two callable tools.
    """
    views = places(bench)
    agents = [scoped(bench, name) for name in bench.world.agents]
    views |= {view.place: view for view in agents}
    if not views:
        raise NotApplicable(
            "discovery is offered at one endpoint only, and agents are not declared"
        )
    forms = {place: _both_forms(view, REQUESTS[::2]) for place, view in views.items()}

    ordered = [a for _, answers in forms.values() for a in answers.values() if len(a.tools) > 1]
    bench.require(ordered, "no answer had two callable tools")
    named = {
        (a.reply.named(q), p): _named(a)
        for p, (_, answers) in forms.items()
        for q, a in answers.items()
    }
    assert named == {(q, p): default[q] for p, (default, _) in forms.items() for q in default}


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


@requirement("FR-006.callables")
@on(PLAIN)
def test_callables_stay_in_place_when_both_forms_are_asked_at_once(bench: Bench) -> None:
    """Eight threads with and without the flag get the same callable tools in the same order.

    The limit is the number of these tools, so a locked one cannot take a place unnoticed.
    Inconclusive unless some answer has callable and locked tools, or if a request with the flag
    false is refused.
    """
    flagged = (bench.discover(query, include_disabled=True) for query in REQUESTS)
    query = next((answer.query for answer in flagged if answer.tools and answer.disabled), "")
    bench.require(query, "no answer had both callable and locked tools")
    room = len(bench.discover(query).tools)
    alone = _callables(bench, query, ABSENT, room)

    refused = bench.discover(query, include_disabled=False, limit=room).error
    bench.require(
        refused is None, f"a request with the flag false is answered with an error: {refused}"
    )
    forms = (True, ABSENT, False, True) * 6
    observed = bench.together([partial(_callables, bench, query, flag, room) for flag in forms])

    names = [
        (
            f"request {n}",
            in_words({"query": query, "limit": room} | ({} if flag is ABSENT else {FLAG: flag})),
        )
        for n, flag in enumerate(forms, 1)
    ]
    answers = dict(zip(names, observed, strict=True))
    assert answers == dict.fromkeys(names, alone)


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


def _both_forms(bench: Bench, queries: Sequence[str]) -> tuple[dict[str, Named], dict[str, Answer]]:
    """Return two maps by request: callable tools of default answers, and the answers with the flag.

    Each query is sent without a limit and at limit 100. If callable tools differ, default answers
    are asked for again; inconclusive if the tools in these have changed.
    """
    requests: dict[str, tuple[str, Any]]
    requests = {in_words({"query": query}): (query, ABSENT) for query in queries}
    requests |= {in_words({"query": q, "limit": SHOW_LIMIT}): (q, SHOW_LIMIT) for q in queries}

    def usual() -> dict[str, Named]:
        return {name: _callables(bench, q, ABSENT, limit) for name, (q, limit) in requests.items()}

    default = usual()
    answers = {
        name: bench.discover(query, include_disabled=True, limit=limit)
        for name, (query, limit) in requests.items()
    }
    if any(_named(answer) != default[name] for name, answer in answers.items()):
        again = usual()
        bench.require(again == default, "identical requests got different answers", "disagrees")
    return default, answers


def _callables(bench: Bench, query: str, flag: object, limit: object = ABSENT) -> Named:
    return _named(bench.discover(query, include_disabled=flag, limit=limit))


def _named(answer: Answer) -> Named:
    return tuple(Listed(entry.key, entry.name) for entry in answer.tools)


def _shared(bench: Bench) -> tuple[str, ...]:
    return tuple(w for w, keys in MEMBERS.items() if any(bench.states[k].callable for k in keys))


def _callable_part(bench: Bench, answer: Answer) -> bytes:
    """Return the exact bytes of the list of callable tools in an answer's JSON; empty if absent."""
    start, end = member(answer.reply.document, [bench.surface.members.tools]) or Span(0, 0)
    return answer.reply.document[start:end]
