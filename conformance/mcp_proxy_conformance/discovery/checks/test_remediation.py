"""The remediation map: its keys, and one text per status, found nowhere else: FR-005."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on, stage
from mcp_proxy_conformance.catalogue.world import ToolKey
from mcp_proxy_conformance.discovery.answer import Answer
from mcp_proxy_conformance.discovery.bench import ABSENT, Bench
from mcp_proxy_conformance.discovery.contents import masked, repeated
from mcp_proxy_conformance.discovery.locked_entries import every_answer, own_texts
from mcp_proxy_conformance.discovery.oracle import remediation_keys
from mcp_proxy_conformance.discovery.remediation import Judgement, judge
from mcp_proxy_conformance.discovery.requests import in_words
from mcp_proxy_conformance.wire.jsonrpc import quoted

MIXED = stage("mixed")
CONFIG = "disabled_by_config"


@requirement("FR-005.keys~absent")
@on(MIXED)
def test_without_locked_entries_there_is_no_map(bench: Bench) -> None:
    """An answer with the flag that reveals nothing has no remediation map.

    Inconclusive if every query reveals a locked tool, or none does.
    """
    bench.expect_revealing()

    empty = [answer for answer in _sweep(bench) if not answer.disabled]
    bench.require(empty, "every query revealed a locked tool")

    member = bench.surface.members.remediation
    mapped = {(_request(answer.query), member): member in answer.body for answer in empty}
    assert mapped == dict.fromkeys(mapped, False)


@requirement("FR-005.once~elsewhere")
@on(MIXED)
def test_no_remediation_text_stands_beside_the_map(bench: Bench) -> None:
    """No text of the remediation map occurs elsewhere in the answer, its locked entries aside.

    Inconclusive if no answer has a text in its map.
    """
    answers = [answer for answer in _sweep(bench) if answer.remediation]
    bench.require(answers, "no answer had a remediation text")

    repeats = {_request(answer.query): _repeats_beside(bench, answer) for answer in answers}

    assert repeats == dict.fromkeys(repeats, ())


@requirement("FR-005.text")
@on(MIXED)
def test_every_remediation_is_a_text_that_says_something(bench: Bench) -> None:
    """Each value of the remediation map, in all answers, is a string that is not blank.

    Inconclusive if no answer has a map with a key.
    """
    texts = {s: t for answer in _sweep(bench) for s, t in (answer.remediation or {}).items()}
    bench.require(texts, "no answer had a remediation text")

    blank = {s: t for s, t in texts.items() if not (isinstance(t, str) and t.strip())}

    assert blank == {}


@requirement("FR-005.text~pairs")
@on(MIXED)
def test_the_texts_of_any_two_statuses_differ(bench: Bench) -> None:
    """No two statuses share a remediation text.

    Names in the texts are masked. Inconclusive if fewer than two statuses have a text.
    """
    texts = own_texts(bench, bench.armed.refused)
    bench.require(len(texts) > 1, "fewer than 2 statuses had a text")

    same = {(a, b): texts[a] & texts[b] for a, b in combinations(sorted(texts), 2)}

    assert same == {pair: set() for pair in same}


@requirement("FR-005.class")
@on(MIXED)
def test_a_status_with_a_text_of_its_own_is_never_given_that_of_another(bench: Bench) -> None:
    """A status with several remediation texts has none that is the only one of another status.

    Names are masked. Read are the remediation maps of answers in which all tools of the status have
    one lock each; inconclusive if fewer than two statuses have a text.
    """
    texts = _texts_of_single_locks(bench)
    bench.require(len(texts) > 1, "fewer than 2 statuses had a text")
    sole = {status: own for status, own in texts.items() if len(own) == 1}

    others = {
        s: [o for o, text in sole.items() if o != s and text < own] for s, own in texts.items()
    }

    assert others == {status: [] for status in texts}


@requirement("FR-005.class~conveys")
@on(MIXED)
def test_every_text_names_the_act_that_lifts_its_lock(bench: Bench) -> None:
    """By the wider word lists, or by its pin, each text conveys the remedy of its status.

    A pin is the class that the target file declares for an exact text. Inconclusive if there is no
    text, or if one can neither be read nor is pinned.
    """
    outcomes = _judged(bench, bench.armed.refused)
    unread = [text for (_, text), outcome in outcomes.items() if outcome == "unrecognised"]
    bench.require(outcomes, "no answer had a remediation text")
    bench.require(
        not unread, f"unrecognised text, pin it with its class: {', '.join(map(quoted, unread))}"
    )

    wrong = _by_status(text for text, outcome in outcomes.items() if outcome != "conveys")

    assert wrong == {}


def _sweep(bench: Bench) -> list[Answer]:
    """Return the flagged answers to all declared words, locked tools' names, and pairs of names.

    The two tools of a pair have different locks, so that an answer may show both statuses.
    """
    queries = {*bench.world.queries(), *(key.tool for key in bench.armed.refused)}
    kinds = {bench.states[key]: key.tool for key in reversed(bench.armed.refused)}
    queries |= {" ".join(names) for names in combinations(kinds.values(), 2)}
    return [bench.asked(query, include_disabled=True) for query in sorted(queries)]


def _request(query: str, limit: object = ABSENT) -> str:
    """Return the request with the flag true in words for a report; an ABSENT limit is left out."""
    sent = {} if limit is ABSENT else {"limit": limit}
    return in_words({"query": query, **sent, "include_disabled": True})


def _statuses(answer: Answer) -> frozenset[str]:
    """Return the statuses of the locked entries: the keys that the answer's map must have."""
    return remediation_keys(map(str, answer.statuses().values()))


def _repeats_beside(bench: Bench, answer: Answer) -> tuple[str, ...]:
    """Return the remediation texts that the answer repeats outside the map and locked entries."""
    names = bench.surface.members
    taken = {names.remediation, names.disabled}
    beside = {name: value for name, value in answer.body.items() if name not in taken}
    return repeated((answer.remediation or {}).values(), beside)


def _judged(bench: Bench, keys: Iterable[ToolKey]) -> dict[tuple[str, str], Judgement]:
    """Judge the texts that answers have for these tools, names masked; key is (status, text)."""
    pins = bench.started.target.pins
    texts = own_texts(bench, keys)
    pairs = [(status, text) for status, own in texts.items() for text in sorted(own)]
    return {(status, text): judge(text, status, pins=pins) for status, text in pairs}


def _texts_of_single_locks(bench: Bench) -> dict[str, set[str]]:
    """Return, by status, the remedies from answers whose tools of that status have one lock each.

    Names in the texts are masked.
    """
    texts: dict[str, set[str]] = {}
    answers = [answer for _, answer in every_answer(bench, bench.armed.refused)]
    for answer in (*answers, *_sweep(bench)):
        several = {e.status for e in answer.disabled if not _has_one_lock(bench, e.key)}
        for entry in answer.disabled:
            text = (answer.remediation or {}).get(entry.status)
            if isinstance(text, str) and entry.status not in several:
                texts.setdefault(entry.status, set()).add(masked(bench, text, entry.key))
    return texts


def _has_one_lock(bench: Bench, key: ToolKey) -> bool:
    """Whether exactly one lock is on the tool; false of a tool that is not of the world."""
    state = bench.states.get(key)
    if state is None:
        return False
    locks = (state.config, state.user, state.server_off, state.quarantined, state.approval)
    return sum(map(bool, locks)) == 1


def _by_status(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Group (status, text) pairs by status, in their order."""
    texts: dict[str, list[str]] = {}
    for status, text in pairs:
        texts.setdefault(status, []).append(text)
    return texts
