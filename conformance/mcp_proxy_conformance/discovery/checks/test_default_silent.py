"""Default answers without a trace of locked tools; no effect of the flag without locks: FR-002."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import pytest

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on, stage
from mcp_proxy_conformance.catalogue.surface import STATUSES
from mcp_proxy_conformance.catalogue.world import CONFIG, ToolKey, server, tool, world
from mcp_proxy_conformance.discovery.agents import onlookers
from mcp_proxy_conformance.discovery.answer import Answer
from mcp_proxy_conformance.discovery.bench import ABSENT, Bench
from mcp_proxy_conformance.discovery.requests import in_words
from mcp_proxy_conformance.verdict.exchanges import Named
from mcp_proxy_conformance.verdict.result import NotApplicable

ALONE, MIXED, PLAIN = stage("alone"), stage("mixed"), stage("plain")
UNLOCKED = msgspec.structs.replace(PLAIN, id="plain-unlocked", steps=())
LOOSE = world(
    server(
        "forge", tool("zorvik_list", groups=("tamupo",)), tool("mobel_drop", groups=("tamupo",))
    ),
    server("vault", tool("fegadu_open", groups=("tamupo",)), tool("bitoko_seal")),
)
BY_CONFIG = ToolKey("forge", "mobel_drop")


def answers(bench: Bench, flag: object) -> dict[str, Answer]:
    """Return, by word, the shared answers to every query word of the world with that flag."""
    return {word: bench.asked(word, include_disabled=flag) for word in bench.world.queries()}


def with_flag(word: str, **arguments: Any) -> Named:
    """Return, in words, the request for that word with these arguments and the flag true."""
    return in_words({"query": word} | arguments | {"include_disabled": True})


def everywhere_else(bench: Bench, flag: object) -> dict[tuple[str, ...], Answer]:
    """Return answers, with that flag, to every third word of the world from further views.

    They are at limit 1, at other endpoints, and to agents that see every server; keys are request
    and view.
    """
    words = bench.world.queries()[::3]
    limited = [(bench, {"limit": 1}), *((view, {}) for view in onlookers(bench).values())]
    return {
        (answer.reply.named(in_words({"query": word} | limit)), view.place): answer
        for view, limit in limited
        for word in words
        for answer in [view.asked(word, include_disabled=flag, **limit)]
    }


def members(document: Any) -> Iterator[tuple[str, Any]]:
    """Yield (name, value) of every member of a JSON document, at any depth, outer ones first."""
    if isinstance(document, Mapping):
        yield from document.items()
    inner = document.values() if isinstance(document, Mapping) else document
    for value in inner if isinstance(document, Mapping | list) else ():
        yield from members(value)


def sections(bench: Bench, queries: list[str], flag: object) -> dict[tuple[str, ...], set[str]]:
    """Find the members for locked tools and their remedies in default answers, by request.

    Searched are the answers to `queries`, and those of `everywhere_else`, to requests with that
    flag: the members of the text's document, and those in `_meta` that are not empty. Structured
    content is compared elsewhere, as each answer is read. Requests without a find are left out.
    """
    names = {bench.surface.members.disabled, bench.surface.members.remediation}
    own = [bench.asked(query, include_disabled=flag) for query in queries]
    replies = everywhere_else(bench, flag)
    replies |= {(a.reply.named(in_words({"query": a.query})), bench.place): a for a in own}
    shown = {place: names & {*reply.body, *filled(reply)} for place, reply in replies.items()}
    return {place: carried for place, carried in shown.items() if carried}


def filled(answer: Answer) -> set[str]:
    """Return the names of members in the result's `_meta` that are not empty, at any depth.

    Only lists and objects count; an error has none.
    """
    meta = answer.reply.value().get("_meta") if answer.error is None else None
    return {name for name, value in members(meta) if value and isinstance(value, Mapping | list)}


def words_of_section(
    bench: Bench, flag: object, *, beside: bool
) -> dict[tuple[str, ...], list[str]]:
    """Find statuses and remediation texts in default answers that list a callable tool, by request.

    An echo of the query and the note do not count. With `beside`, only answers to queries are
    searched that reveal a locked tool with the flag, else only those to queries that reveal none.
    An answer without such words has an empty list.
    """
    flagged = answers(bench, True).values()
    texts = {str(text) for answer in flagged for text in (answer.remediation or {}).values()}
    words = [*STATUSES, *filter(str.strip, sorted(texts))]
    parts: dict[tuple[str, ...], list[str]] = {}
    for name, view in ({bench.place: bench} | onlookers(bench)).items():
        for word in bench.world.queries():
            answer = view.asked(word, include_disabled=flag)
            if answer.tools and bool(view.revealed(word)) is beside:
                text = answer.text_without_echo().replace(answer.note or "\0", "")
                request = answer.reply.named(in_words({"query": word}))
                parts[request, name] = [part for part in words if part in text]
    return parts


@requirement("FR-002.no-section")
@on(MIXED)
@pytest.mark.parametrize("flag", [ABSENT, False])
def test_callable_matches_are_told_without_the_reasons_of_locked_ones(
    bench: Bench, flag: object
) -> None:
    """A default answer with callable tools has no status or remedy of locked ones that match.

    Words that answers to other queries have as well do not count. Other endpoints and agents are
    asked, too. Not applicable unless some queries that find callable tools reveal locked ones and
    others do not, inconclusive if the flag reveals nothing.
    """
    bench.expect_revealing()
    usual = words_of_section(bench, flag, beside=False)
    if not usual:
        raise NotApplicable("the flag reveals a locked tool for every query")
    static = {part for parts in usual.values() for part in parts}

    parts = words_of_section(bench, flag, beside=True)

    if not parts:
        raise NotApplicable("no query finds callable tools beside locked ones")
    joined = {place: [part for part in own if part not in static] for place, own in parts.items()}
    assert {place: own for place, own in joined.items() if own} == {}


def leaks(bench: Bench, flag: object) -> dict[tuple[object, str], list[str]]:
    """Find names, words and canaries of locked tools in default answers; empty if there are none.

    Keys are (request, kind of find); the kind is "", or "name with its server" where a tool's name
    is joined to its server's. A query's own word is no leak. Inconclusive if the flag reveals
    nothing, or if fewer than ten tools are locked.
    """
    bench.expect_revealing()
    locked = [bench.tools[key] for key in bench.armed.refused]
    bench.require(len(locked) >= 10, "fewer than 10 tools were locked")
    secret = {text for tool in locked for text in (tool.name, tool.word, *tool.canaries)}
    replies = everywhere_else(bench, flag)
    replies |= {
        (answer.reply.named(in_words({"query": q})), bench.place): answer
        for q, answer in answers(bench, flag).items()
    }
    texts = {place: (reply.query, reply.text_without_echo()) for place, reply in replies.items()}
    leaked: dict[tuple[object, str], list[str]] = {
        (place, ""): sorted(text for text in secret - {query} if text in answer)
        for place, (query, answer) in texts.items()
    }
    leaked |= {
        (in_words({"query": key.tool}), "name with its server"): _owned(bench, key, flag)
        for key in bench.armed.refused
    }
    return {place: words for place, words in leaked.items() if words}


def _owned(bench: Bench, key: ToolKey, flag: object) -> list[str]:
    """Return the spellings of the tool with its server in the answer to its name, with that flag.

    Spellings are SERVER and TOOL joined by `:`, `__`, `/` or `.`; none are found in an error.
    """
    answer = bench.asked(key.tool, include_disabled=flag)
    forms = [f"{key.server}{sign}{key.tool}" for sign in (":", "__", "/", ".")]
    return [form for form in forms if form in answer.reply.text] if answer.error is None else []


@requirement("FR-002.no-section~words")
@on(MIXED)
def test_a_default_answer_uses_no_word_of_the_feature(bench: Bench) -> None:
    """No member is named like the section of locked tools or the map, no status is one of the six.

    The map is that of remediations. Members are searched at any depth of the answer. Inconclusive
    if the flag reveals nothing.
    """
    bench.expect_revealing()
    names = {bench.surface.members.disabled, bench.surface.members.remediation}

    words = {
        (answer.reply.named(in_words({"query": query})), "names and statuses of the feature"): {
            name if name in names else value
            for name, value in members(answer.body)
            if name in names or (name == "status" and value in STATUSES)
        }
        for query, answer in answers(bench, ABSENT).items()
    }

    assert {request: used for request, used in words.items() if used} == {}


@requirement("FR-002.no-locks-no-change")
@on(LOOSE)
def test_where_nothing_is_locked_the_flag_changes_nothing(bench: Bench) -> None:
    """Without locks, the flag changes no callable tool or its order, and lists no locked tool.

    At limit 1 no locked tool is listed either. Afterwards a tool is locked as the control:
    inconclusive if the flag does not reveal it, or if a query found no callable tool before.
    """
    usual = {word: answer.callables() for word, answer in answers(bench, ABSENT).items()}
    bench.require(all(usual.values()), "a query found no callable tool")

    flagged = answers(bench, True)

    tight = {word: bench.discover(word, include_disabled=True, limit=1) for word in usual}
    requests = {word: answer.reply.named(with_flag(word)) for word, answer in flagged.items()}
    observed: dict[tuple[str, ...], Any] = {
        (request, "callable tools"): flagged[word].callables() for word, request in requests.items()
    }
    observed |= {
        (answer.reply.named(requests[word]), limit, str(key)): status
        for limit, replies in (("", flagged), ("limit 1", tight))
        for word, answer in replies.items()
        for key, status in answer.statuses().items()
    }
    bench.operator.lock(CONFIG, "forge", ["mobel_drop"])
    bench.require(bench.refused(BY_CONFIG), "the lock had no effect", "no_effect")
    bench.require_revealed(bench.until(lambda: bench.revealed("mobel"), bool))
    assert observed == {(requests[w], "callable tools"): keys for w, keys in usual.items()}


@requirement("FR-002.no-locks-no-change~empty-members")
@on(UNLOCKED)
def test_where_nothing_is_locked_the_flag_adds_no_member(bench: Bench) -> None:
    """Without locks, an answer with the flag has the same members as one without it.

    The world's first six words are asked for.
    """
    words = bench.world.queries()[:6]

    observed = {
        (with_flag(word), "members"): set(bench.discover(word, include_disabled=True).body)
        for word in words
    }

    assert observed == {
        (with_flag(word), "members"): set(bench.discover(word).body) for word in words
    }


@requirement("FR-002.no-locks-no-change~quarantined")
@on(MIXED, needs=("quarantine",))
def test_a_withheld_tool_is_revealed_only_by_a_query_that_concerns_it(bench: Bench) -> None:
    """A callable tool's word does not reveal a quarantined, pending or changed tool.

    Inconclusive if the flag does not reveal any of these to a query for their names.
    """
    states = bench.states
    withheld = {k for k in bench.armed.refused if states[k].quarantined or states[k].approval}
    alive = [key for key in withheld if key in bench.revealed(key.tool)]
    bench.require(alive, "the flag revealed no withheld tool")

    others = [bench.tools[key].word for key in states if states[key].callable]
    revealed_now = {
        (with_flag(word), str(key)): status
        for word in others
        for key, status in bench.revealed(word).items()
        if key in withheld
    }

    assert revealed_now == {}
