"""Locks whose reason cannot be looked up: status, texts, note, rejections and counts: FR-004."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import product

import msgspec

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on
from mcp_proxy_conformance.catalogue.surface import STATUSES
from mcp_proxy_conformance.catalogue.world import (
    CONFIG,
    USER,
    Step,
    ToolKey,
    ToolState,
    server,
    tool,
    world,
)
from mcp_proxy_conformance.discovery.answer import Answer
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.contents import masked, strings
from mcp_proxy_conformance.discovery.counts import tally
from mcp_proxy_conformance.discovery.grounds import compare_places
from mcp_proxy_conformance.discovery.locked_entries import ask, own_texts
from mcp_proxy_conformance.discovery.note import leads_on
from mcp_proxy_conformance.discovery.numbers import numbers_in
from mcp_proxy_conformance.discovery.oracle import (
    ABSENT,
    CALLABLE,
    counted_as,
    must_have_note,
    remediation_keys,
)
from mcp_proxy_conformance.discovery.rejections import (
    CONFIG_WORD,
    USERS_WORDS,
    is_policy_first,
    remedy_of_users,
)
from mcp_proxy_conformance.discovery.remediation import (
    claims_operator_policy,
    judge,
    tells_user_act,
)
from mcp_proxy_conformance.discovery.remediation_words import is_english
from mcp_proxy_conformance.verdict.comparison import Comparison

UNKNOWN, PENDING = "disabled_unknown", "pending_approval"
OPEN, DENIED, WIPE, BOTH, CHANGED, UNLISTED = (
    ToolKey("yard", name)
    for name in (
        "zorvik_list",
        "mobel_drop",
        "gatun_wipe",
        "pelka_send",
        "tifka_show",
        "runlom_push",
    )
)
KEYS = (OPEN, DENIED, WIPE, BOTH, CHANGED, UNLISTED)
LOST = (WIPE, CHANGED)
"""The tools whose reasons get lost; what config denies needs no lookup."""
BY_CONFIG = (DENIED, BOTH, UNLISTED)
PLANTED = {CHANGED: "quibrandol", UNLISTED: "fezzimura"}
"""Words of the descriptions that nobody has approved."""


def _names(*keys: ToolKey) -> tuple[str, ...]:
    return tuple(key.tool for key in keys)


YARD = msgspec.structs.replace(
    world(server("yard", *(tool(key.tool) for key in KEYS), trusted=False)),
    steps=(
        Step(unlock="approval", server="yard", tools=_names(*KEYS)),
        Step(lock=USER, server="yard", tools=_names(WIPE, BOTH)),
        *(
            Step(change=key.tool, server="yard", description=f"{key.tool}, {word}.")
            for key, word in PLANTED.items()
        ),
        Step(refresh="yard"),
        Step(lock=CONFIG, server="yard", tools=_names(*BY_CONFIG)),
    ),
)


@requirement(
    "FR-004.unknown", "FR-004.precedence", "FR-004.once", "SC-003.discovery", "FR-003.canary",
    "FR-003.description", "FR-009.note", "FR-009.count", "SC-006.every-kind", "FR-005.keys",
)  # fmt: skip
@on(YARD, needs=("indeterminate",))
def test_a_reason_that_cannot_be_told_is_said_to_be_unknown(bench: Bench) -> None:
    """While the reason of its lock cannot be looked up, a tool is `disabled_unknown` and refused.

    Default answers still have the note on it. What config denies keeps its status and its text,
    withheld texts stay withheld, and no tool is listed twice; afterwards the user lock has its
    status again. Inconclusive unless the locks of config and the user are proven.
    """
    keys = _proven(bench)
    own = own_texts(bench, keys)

    with bench.operator.undetermined("yard", _names(*LOST)):
        refused = bench.refused(WIPE)
        answers = {WIPE: _as_unknown(bench)} | {k: ask(bench, k) for k in keys if k != WIPE}
        silent = {key: bench.discover(_query(bench, key)) for key in keys}
    again = bench.until(lambda: ask(bench, WIPE), lambda answer: answer.status(WIPE) != UNKNOWN)

    compared = Comparison()
    compared.one_of(f"a call of {WIPE} reaches its upstream", not refused, (False,),
                    breaks=["FR-004.unknown"])  # fmt: skip
    compare_places(compared, WIPE, bench.states[WIPE], [again.status(WIPE)])
    for key, answer in answers.items():
        compared.messages = answer.reply.messages
        _compare_place(compared, bench, key, answer)
        _compare_description(compared, bench, key, answer)
        _compare_text(compared, bench, key, answer, own)
        _compare_keys(compared, answer)
        compared.one_of(f"tools listed twice for {answer.query}", answer.listed_twice(), ([],),
                        breaks=["FR-004.once"])  # fmt: skip
        _compare_note(compared, bench, key, silent[key], answer)
    _compare_planted(compared, [*answers.values(), *silent.values()])
    compared.conclude()


@requirement(
    "FR-004.unknown", "SC-003.rejection", "FR-008.config", "FR-010.block", "FR-010.sum",
    "SC-003.listing",
)  # fmt: skip
@on(YARD, needs=("indeterminate",))
def test_rejections_and_counts_tell_of_a_lost_reason_that_it_is_unknown(bench: Bench) -> None:
    """While reasons cannot be looked up, rejections give no wrong remedy, and config's stay policy.

    A tool whose reason cannot be looked up is counted as unknown. Once reasons can be looked up
    again, the counts are those of before. Inconclusive without a counts block, or if a lock has no
    effect.
    """
    keys = _proven(bench)
    bench.require(not bench.armed.unproven, "a lock had no effect", "no_effect")
    before = {key: masked(bench, bench.refusal(key), key) for key in keys}
    bench.expect_block()
    usual = tally(bench.list().servers["yard"])

    with bench.operator.undetermined("yard", _names(*LOST)):
        _as_unknown(bench)
        lost = {key: masked(bench, bench.refusal(key), key) for key in keys}
        counts = tally(bench.list().servers["yard"])
    again = bench.settled(lambda: tally(bench.list().servers["yard"]), usual)

    compared = Comparison()
    compared.one_of("counts of yard, once reasons can be told again", again, (usual,),
                    breaks=["FR-010.sum"])  # fmt: skip
    for key in keys:
        _compare_rejection(compared, bench, key, before, lost)
    _compare_counts(compared, bench, counts)
    compared.conclude()


def _proven(bench: Bench) -> list[ToolKey]:
    keys = [key for key in KEYS if key in bench.armed.refused]
    bench.require({DENIED, WIPE, BOTH} <= {*keys}, "a lock had no effect", "no_effect")
    return keys


def _as_unknown(bench: Bench) -> Answer:
    """Ask for the user-locked tool, with the flag, until it is unknown; return the last answer.

    It is asked for until the settle time is over.
    """
    return bench.until(lambda: ask(bench, WIPE), lambda answer: answer.status(WIPE) == UNKNOWN)


def _query(bench: Bench, key: ToolKey) -> str:
    return key.tool if key in PLANTED else bench.tools[key].word


def _compare_place(compared: Comparison, bench: Bench, key: ToolKey, answer: Answer) -> None:
    """Record in `compared` whether the tool's status is allowed while reasons are lost.

    A user-locked tool is unknown; one that lacks approval may also be pending, which can be
    known from elsewhere, or unlisted; all others keep their status.
    """
    status = answer.status(key)
    if key not in LOST:
        compare_places(compared, key, bench.states[key], [status])
        return
    allowed = (UNKNOWN,) if key == WIPE else (UNKNOWN, PENDING, ABSENT)
    is_word = status in (*STATUSES, CALLABLE, ABSENT)
    compared.one_of(f"status of {key}", status, allowed,
                    breaks=["FR-004.unknown" if is_word else "FR-004.enum"],
                    shows=["FR-004.unknown"])  # fmt: skip


def _compare_description(compared: Comparison, bench: Bench, key: ToolKey, answer: Answer) -> None:
    """Record in `compared` whether a denied tool's entry has the description of the callable tool.

    Not compared: tools whose text is not approved, those that the answer does not list, and those
    whose reason is lost, of whose texts nobody can tell meanwhile whether they are approved.
    """
    own = bench.armed.entries.get(key)
    entry = next((entry for entry in answer.disabled if entry.key == key), None)
    compares = key in BY_CONFIG and key not in PLANTED
    if compares and entry is not None and own is not None and own.description:
        compared.one_of(f"description of {key}", entry.description, (own.description,),
                        breaks=["FR-003.description"])  # fmt: skip


def _compare_text(
    compared: Comparison, bench: Bench, key: ToolKey, answer: Answer, own: dict[str, set[str]]
) -> None:
    """Record in `compared` whether the remedy of the tool's status is one that it must not have.

    For an unknown reason the remedy is neutral, for config's it asks for no act of the user. `own`
    are the target's earlier texts by status. A missing remedy and those of other statuses are not
    judged.
    """
    status, pins = answer.status(key), bench.started.target.pins
    config, users = own.get(CONFIG_WORD, set()), own.get("disabled_by_user", set())
    theirs = {CONFIG_WORD: users - config, UNKNOWN: config ^ users}
    for text in strings((answer.remediation or {}).get(status)) if status in theirs else ():
        plain = masked(bench, text, key)
        wrong = plain in theirs[status] or judge(plain, status, pins=pins) == "convicted"
        clause = "SC-003.discovery" if status == CONFIG_WORD else "FR-004.unknown"
        compared.truth(f"remediation of {status} for {key}", text, holds=not wrong,
                       allowed="no remedy of another lock", breaks=[clause])  # fmt: skip


def _compare_keys(compared: Comparison, answer: Answer) -> None:
    """Record in `compared` whether the remediation map's keys are the statuses of locked entries.

    An answer without such entries is not judged.
    """
    if answer.statuses():
        keys = sorted(answer.remediation or {})
        shown = sorted(remediation_keys(map(str, answer.statuses().values())))
        compared.one_of(f"keys of the map for {answer.query}", keys, (shown,),
                        breaks=["FR-005.keys"])  # fmt: skip


def _compare_note(
    compared: Comparison, bench: Bench, key: ToolKey, silent: Answer, answer: Answer
) -> None:
    """Record in `compared` whether the default answer `silent` has its note, if one is due.

    The note must name the flag, and its number be that of the tools in `answer`, the answer with
    the flag, or of the relevant ones of them. It is due if `silent` lists no callable tool and
    `answer` lists the tool of `key`.
    """
    relevant = key in answer.statuses() and bench.relevant(key, _query(bench, key))
    if not must_have_note(callables=len(silent.tools), relevant=int(relevant)):
        return
    compared.truth(f"note for {key}", silent.note, holds=leads_on(silent),
                   allowed="a note that names the flag",
                   breaks=["FR-009.note", "SC-006.every-kind"])  # fmt: skip
    if numbers := numbers_in(silent.note or ""):
        listed = [*answer.statuses()]
        counts = {len(listed), sum(bench.relevant(each, answer.query) for each in listed)}
        compared.truth(f"number in the note for {key}", silent.note,
                       holds=not counts.isdisjoint(numbers), breaks=["FR-009.count"],
                       allowed=f"the number of locked matches: {len(listed)}")  # fmt: skip


def _compare_planted(compared: Comparison, answers: Iterable[Answer]) -> None:
    """Record in `compared` whether an answer has a word of a description that is withheld.

    Text that only repeats an answer's query does not count.
    """
    for answer in answers:
        compared.messages = answer.reply.messages
        text = answer.text_without_echo()
        leaked = [word for word in PLANTED.values() if word in text]
        compared.one_of(f"texts told for {answer.query}", leaked, ([],),
                        breaks=["FR-003.canary"])  # fmt: skip


def _compare_rejection(
    compared: Comparison,
    bench: Bench,
    key: ToolKey,
    before: dict[ToolKey, str],
    lost: dict[ToolKey, str],
) -> None:
    """Record in `compared` whether the tool's rejection has a remedy of another lock.

    `before` and `lost` are rejections by tool, from before the reasons were lost and from
    meanwhile. That of a denied tool must ask for no act of the user; if at most the user locks it
    too, and its rejection stated operator policy before, it must still do so.
    """
    path, text, state = f"rejection of {key}", lost[key], bench.states[key]
    pins, users = bench.started.target.pins, [before[k] for k in LOST if k in before]
    if key not in LOST:
        wrong = remedy_of_users(text, state, users=users, servers=(), pins=pins)
        if wrong is not None:
            compared.truth(path, text, holds=not wrong, allowed="no act of the user",
                           breaks=["SC-003.rejection"])  # fmt: skip
        if is_policy_first(state) and claims_operator_policy(before[key]) and is_english(text):
            compared.truth(path, text, holds=claims_operator_policy(text),
                           allowed="operator policy, as before",
                           breaks=["FR-008.config"])  # fmt: skip
        return
    if key == CHANGED and text == before[key]:
        return  # an approval may be known from elsewhere
    acts = {theirs for theirs in users if tells_user_act(theirs)}
    convicted = judge(text, UNKNOWN, pins=pins) == "convicted"
    wrong_text = text == before[DENIED] or text in acts or convicted
    compared.truth(path, text, holds=not wrong_text, allowed="no remedy of another lock",
                   breaks=["FR-004.unknown"])  # fmt: skip


def _compare_counts(compared: Comparison, bench: Bench, counts: dict[str, int]) -> None:
    """Record in `compared` whether yard's counts have each tool once, under an allowed word.

    They are from while reasons are lost. An unlocked tool may be counted as unknown, since nothing
    can be looked up; a missing block breaks FR-010.block.
    """
    compared.truth("counts of yard", counts, holds=bool(counts), allowed="a block of counts",
                   breaks=["FR-010.block"])  # fmt: skip
    if not counts:
        return
    states = [(key, state) for key, state in bench.states.items() if key.server == "yard"]
    allowed = [dict(sorted(Counter(words).items())) for words in product(*_words(states))]
    most = {word: max(counted.get(word, 0) for counted in allowed) for word in USERS_WORDS}
    surplus = any(counts.get(word, 0) > number for word, number in most.items())
    compared.truth("counts of yard", counts, holds=counts in allowed,
                   allowed="each tool once, the lost ones as unknown",
                   breaks=["FR-010.sum", *(["SC-003.listing"] if surplus else [])],
                   shows=["FR-010.sum", "SC-003.listing"])  # fmt: skip


def _words(states: Iterable[tuple[ToolKey, ToolState]]) -> Iterator[tuple[str, ...]]:
    for key, state in states:
        if key == WIPE:
            yield (UNKNOWN,)
        elif key in BY_CONFIG:
            yield tuple(counted_as(state))
        else:
            yield (UNKNOWN, CALLABLE if state.callable else PENDING)
