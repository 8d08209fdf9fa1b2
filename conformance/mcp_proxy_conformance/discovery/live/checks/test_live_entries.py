"""Locked entries and the remediation map at a live endpoint: members, statuses, texts, cap."""

from __future__ import annotations

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on
from mcp_proxy_conformance.catalogue.surface import STATUSES
from mcp_proxy_conformance.discovery.contents import other_maps, repeated, schemas
from mcp_proxy_conformance.discovery.live.live_bench import ONE_ANSWER, SEVERAL_ANSWERS, LiveBench
from mcp_proxy_conformance.discovery.oracle import cap, remediation_keys
from mcp_proxy_conformance.discovery.remediation import expect_read, judge, mask
from mcp_proxy_conformance.verdict.result import NotApplicable

CONFIG, USER, QUARANTINED = "disabled_by_config", "disabled_by_user", "server_quarantined"


@requirement("FR-006.cap")
@on(ONE_ANSWER)
def test_no_live_answer_lists_more_locked_tools_than_its_cap(bench: LiveBench) -> None:
    """An answer lists at most as many locked tools as the smaller of its limit and ten.

    Inconclusive if no answer lists one.
    """
    caps = {look.label: cap(look.limit) for look, _ in bench.revealing()}

    above = {
        look.label: len(answer.disabled)
        for look, answer in bench.revealing()
        if len(answer.disabled) > caps[look.label]
    }

    assert above == {label: caps[label] for label in above}


@requirement("FR-003.members")
@on(ONE_ANSWER)
def test_a_live_locked_entry_has_name_server_and_one_status(bench: LiveBench) -> None:
    """Name, server and status are strings, and so is any description; there is no schema.

    The first three are not empty. Inconclusive if no answer lists a locked tool.
    """
    odd: dict[str, dict[str, object]] = {}
    for look, entry in bench.entries():
        members = {member: entry.members.get(member) for member in ("name", "server", "status")}
        wrong = {n: value for n, value in members.items() if not (isinstance(value, str) and value)}
        description = entry.members.get("description")
        wrong |= {} if isinstance(description, str | None) else {"description": description}
        wrong |= dict.fromkeys(schemas(entry.members), "present")
        if wrong:
            odd.setdefault(look.label, {})[entry.name] = wrong

    assert odd == {}


@requirement("FR-004.enum")
@on(ONE_ANSWER)
def test_a_live_status_is_one_of_the_six(bench: LiveBench) -> None:
    """Every locked entry has one of the six statuses.

    Inconclusive if no answer lists a locked tool.
    """
    odd: dict[str, dict[str, str]] = {}
    for look, entry in bench.entries():
        if entry.status not in STATUSES:
            odd.setdefault(look.label, {})[entry.name] = entry.status

    assert odd == {}


@requirement("FR-004.once")
@on(SEVERAL_ANSWERS)
def test_a_live_answer_lists_a_tool_once(bench: LiveBench) -> None:
    """No flagged answer lists a tool twice, as locked or as both callable and locked.

    Inconclusive if no answer lists a locked tool.
    """
    doubled = {}
    for look, answer in bench.revealing():
        locked = [bench.key(entry) for entry in answer.disabled]
        free = set(bench.callables(answer))
        twice = {str(key) for key in locked if locked.count(key) > 1 or key in free}
        if twice:
            doubled[look.label] = sorted(twice)

    assert doubled == {}


@requirement("FR-003.withheld")
@on(ONE_ANSWER)
def test_a_live_quarantined_entry_has_no_text_of_its_server(bench: LiveBench) -> None:
    """A quarantined entry has an absent or empty description and no schema.

    Not applicable if no entry has the status `server_quarantined`, inconclusive if no locked
    entry was seen.
    """
    withheld = [(look, e) for look, e in bench.entries() if e.status == QUARANTINED]
    if not withheld:
        raise NotApplicable(
            f"no {QUARANTINED} tool was seen; name one with --query or --expect", cause="not_named"
        )

    shown: dict[str, dict[str, list[str]]] = {}
    for look, e in withheld:
        if held := [text for text in (e.description, *schemas(e.members)) if text]:
            shown.setdefault(look.label, {})[e.name] = held

    assert shown == {}


@requirement("FR-005.keys")
@on(ONE_ANSWER)
def test_a_live_map_has_a_key_for_each_status_shown(bench: LiveBench) -> None:
    """The remediation map's keys are the statuses shown; without any it is absent or empty.

    All flagged answers are judged; inconclusive if none of them lists a locked tool.
    """
    bench.revealing()
    keys, statuses = {}, {}
    for look, answer in bench.flagged():
        due = remediation_keys(bench.statuses(answer).values())
        if set(answer.remediation or {}) != due:
            keys[look.label], statuses[look.label] = sorted(answer.remediation or {}), sorted(due)

    assert keys == statuses


@requirement("FR-005.once")
@on(ONE_ANSWER)
def test_a_live_locked_entry_repeats_no_remediation(bench: LiveBench) -> None:
    """No locked entry contains a text of the remediation map.

    Inconclusive if no answer lists a locked tool.
    """
    repeating = {}
    for look, answer in bench.revealing():
        texts = list((answer.remediation or {}).values())
        if names := [e.name for e in answer.disabled if repeated(texts, e.members)]:
            repeating[look.label] = names

    assert repeating == {}


@requirement("FR-005.once")
@on(ONE_ANSWER)
def test_a_live_answer_has_one_map(bench: LiveBench) -> None:
    """No second object in an answer maps a status to the remediation map's text for it.

    Inconclusive if no answer lists a locked tool.
    """
    member = bench.surface.members.remediation
    others = {
        look.label: places
        for look, answer in bench.revealing()
        if (places := other_maps(answer, member))
    }

    assert others == dict.fromkeys(others, ())


@requirement("FR-005.text")
@on(ONE_ANSWER)
def test_a_live_remediation_is_a_text(bench: LiveBench) -> None:
    """Every value of the remediation map is a string that is not blank.

    An absent map passes. Inconclusive if no answer lists a locked tool.
    """
    blank = {}
    for look, answer in bench.revealing():
        remediation = answer.remediation or {}
        odd = {k: v for k, v in remediation.items() if not (isinstance(v, str) and v.strip())}
        if odd:
            blank[look.label] = odd

    assert blank == {}


@requirement("FR-005.text")
@on(ONE_ANSWER)
def test_a_live_config_lock_is_told_otherwise_than_a_users(bench: LiveBench) -> None:
    """The texts for config and user locks differ after names are masked.

    Not applicable unless answers had a text for each of the two.
    """
    texts = _texts(bench)
    if not (texts.get(CONFIG) and texts.get(USER)):
        raise NotApplicable(
            f"{CONFIG} and {USER} were not both seen; name one of each with --expect",
            cause="not_named",
        )

    both = f"{CONFIG} and {USER}"
    shared = {both: [text for text in texts[CONFIG] if text in texts[USER]]}

    assert shared == {both: []}


@requirement("SC-003.discovery")
@on(ONE_ANSWER)
def test_a_live_config_lock_is_never_the_users_to_lift(bench: LiveBench) -> None:
    """The text for a config lock asks for no act of the user, and is not that of a user lock.

    It is not that of a pending approval either. Not applicable if no config-locked tool was seen,
    inconclusive if no text is wrong but one cannot be read.
    """
    texts = _texts(bench)
    if not texts.get(CONFIG):
        raise NotApplicable(
            f"no {CONFIG} tool was seen; name one with --query or --expect", cause="not_named"
        )
    theirs = {text for status in (USER, "pending_approval") for text in texts.get(status, ())}
    pins = {mask(text, []): words for text, words in bench.endpoint.pins.items()}

    read = {text: judge(text, CONFIG, pins=pins) for text in texts[CONFIG]}
    wrong = {
        (CONFIG, "an act of the user"): [t for t, word in read.items() if word == "convicted"],
        (CONFIG, "the text of another status"): [text for text in read if text in theirs],
    }

    assert wrong == {key: [] for key in wrong}
    expect_read(read)


def _texts(bench: LiveBench) -> dict[str, dict[str, None]]:
    """Return the texts of remediation maps by status, with the names of the answer's tools masked.

    The inner keys are the texts; their values are None.
    """
    texts: dict[str, dict[str, None]] = {}
    for _, answer in bench.revealing():
        for status, text in (answer.remediation or {}).items():
            names = [e.name for e in answer.disabled if e.status == status]
            names += [bench.key(e).tool for e in answer.disabled if e.status == status]
            if isinstance(text, str):
                texts.setdefault(status, {})[mask(text, names)] = None
    return texts
