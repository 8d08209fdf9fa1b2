"""Judges a remediation or rejection text: does it convey its lock's remedy, or name a wrong one?"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Literal

from mcp_proxy_conformance.discovery import remediation_grammar as grammar
from mcp_proxy_conformance.discovery.remediation_acts import Act
from mcp_proxy_conformance.discovery.remediation_grammar import pattern
from mcp_proxy_conformance.discovery.remediation_reading import (
    Deed,
    Reading,
    accusable,
    convicting,
)
from mcp_proxy_conformance.discovery.remediation_words import (
    Phrases,
    all_found,
    any_stem,
    any_word,
    mask,
    words,
)
from mcp_proxy_conformance.verdict.comparison import note_text
from mcp_proxy_conformance.verdict.result import Unread

__all__ = [
    "Judgement",
    "TextJudgement",
    "claims_operator_policy",
    "expect_read",
    "judge",
    "mask",
    "tells_user_act",
]

Judgement = Literal["conveys", "convicted", "unrecognised"]
LONGEST_READ = 20_000
"""Characters; a longer text is not read but left unrecognised."""
TEXTS_KEPT = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class TextJudgement:
    """What a text was taken to say for its lock class, why, and the words it was taken from."""

    outcome: Judgement
    reason: str
    found: Phrases = ()


def judge(
    text: str, status: str, *, pins: Mapping[str, frozenset[str]] = MappingProxyType({})
) -> TextJudgement:
    """Judge one text for the lock class `status` (one of the six status words).

    Args:
        text: a value of the remediation map or a rejection; names in it masked by the caller.
        status: the class of the lock the text is said for; another word is never judged.
        pins: exact texts and the classes each is declared to convey; a pin stands for what cannot
            be read, and acquits no text that is plainly wrong.
    """
    read = _read(text, status)
    if text not in pins or (status in pins[text] and read.outcome == "convicted"):
        if read.outcome == "unrecognised" and status in _JUDGES:
            note_text(text, status, pinned=False)
        return read
    if status in _JUDGES:
        note_text(text, status, pinned=True)
    told = " and ".join(sorted(pins[text]))
    return _verdict(
        "conveys" if status in pins[text] else "convicted", f"pinned as {told}", (text,)
    )


def expect_read(outcomes: Mapping[str, Judgement]) -> None:
    """Raise Unread for the first text that could not be read."""
    for text, outcome in outcomes.items():
        if outcome == "unrecognised":
            raise Unread(text)


def _read(text: str, status: str) -> TextJudgement:
    if status not in _JUDGES:
        return _verdict("unrecognised", "not one of the six status words", (status,))
    if len(text) > LONGEST_READ:
        return _verdict("unrecognised", f"longer than {LONGEST_READ} characters")
    return _judged(text, status)


@lru_cache(maxsize=TEXTS_KEPT)
def _judged(text: str, status: str) -> TextJudgement:
    """A target says few different things, names masked, and says them often."""
    return _JUDGES[status](Reading(text))


@lru_cache(maxsize=TEXTS_KEPT)
def claims_operator_policy(text: str) -> bool:
    """Whether the text affirms that the operator, a policy or the configuration set the lock."""
    return bool(Reading(text[:LONGEST_READ]).claims())


@lru_cache(maxsize=TEXTS_KEPT)
def tells_user_act(text: str) -> bool:
    """Whether the text tells the user or the agent to enable, approve or review something."""
    return bool(Reading(text[:LONGEST_READ]).deeds(grammar.TOLD))


def _verdict(outcome: Judgement, reason: str, found: Phrases = ()) -> TextJudgement:
    return TextJudgement(outcome=outcome, reason=reason, found=tuple(dict.fromkeys(found)))


def _phrases(deeds: tuple[Deed, ...]) -> Phrases:
    return tuple(deed.phrase for deed in deeds)


def _of_config(said: Reading) -> TextJudgement:
    """Operator policy, not the user's to lift; convicted only in the strict core."""
    accused = convicting(said)
    if accused and not said.policy_hints() and accusable(said):
        return _verdict("convicted", "a user act, no operator and no limit", _phrases(accused))
    policy = all_found(any_word(words().policy), " | ".join(said.clauses))
    if not policy:
        return _verdict("unrecognised", "names no operator, policy or configuration")
    if denials := said.says(grammar.DENIALS):
        return _verdict("unrecognised", "denies being operator policy", denials)
    if hands := tuple(act.words for act in said.acts if not _is_of_operator(act, said)):
        return _verdict("unrecognised", "operator policy and an act of somebody else", hands)
    limits = tuple(act.words for act in said.acts) + said.says(grammar.NOT_BY_USER)
    limits += said.says(grammar.ASKS_OPERATOR, affirmed=True)
    loophole = said.says((r"\b(?:unless|except (?:if|when|that)) (?!(?:<article> )?<operators>)",))
    if limits and said.is_plain and not loophole:
        return _verdict("conveys", "operator policy, not the user's to lift", policy + limits)
    return _verdict("unrecognised", "does not say who may lift the lock", policy)


def _is_of_operator(act: Act, said: Reading) -> bool:
    """Whether it is denied or an operator's; to edit the configuration is one, if one is named."""
    return (
        act.denied or act.whose == "operator" or (act.whose == "config" and _names_operator(said))
    )


def _names_operator(said: Reading) -> bool:
    whose = (*words().operators, "policy", "policies")
    return any(any_word(whose).search(clause) for clause in said.clauses)


def _of_user(said: Reading) -> TextJudgement:
    """The user turned it off and can turn it on."""
    own = _remedies(said, grammar.ENABLING)
    if own and not said.claims():
        return _verdict("conveys", "tells the user to enable it", own)
    if said.says(grammar.USER_DID):
        return _verdict("unrecognised", "the user's lock, but no act that lifts it")
    told, stems = said.deeds(grammar.OF_THE_USER), words().enable_stems
    return _config_remedy(said, told, stems, edits_count=True) or _server_remedy(said, told, stems)


def _remedies(said: Reading, kind: str) -> Phrases:
    """The user's acts of that kind, where the text speaks of no act that is another's."""
    spoken = [act for act in said.acts if not act.denied]
    own = [act for act in spoken if re.match(kind, act.words) and not _on_server(act)]
    named = pattern(r"\b(?:<users>|<places>)\b").search(" | ".join(said.clauses)) is not None
    users = all(act.whose == "user" or (act.whose == "nobody" and named) for act in own)
    others = any(act.whose in ("operator", "config") for act in spoken)
    withheld = any(
        act.denied and act.whose == "user" and re.match(kind, act.words) for act in said.acts
    )
    return (
        tuple(act.words for act in own)
        if said.is_plain and users and not others and not withheld
        else ()
    )


def _on_server(act: Act) -> bool:
    """Whether it is done to a server."""
    return (
        re.match(r"[\w-]+ (?:\S+ ){0,3}?servers?\b(?!'| (?:page|tool|tab|entry))", act.told)
        is not None
    )


def _of_pending(said: Reading) -> TextJudgement:
    """Waits for the user's approval."""
    found = _remedies(said, grammar.APPROVING)
    if not said.goes_alone and not said.asks:
        found += said.says(grammar.NEEDS_APPROVAL, affirmed=True)
    if found:
        return _verdict("conveys", "names the approval that lifts it", found)
    told = said.deeds(grammar.OF_ANYONE)
    own = words().approve_stems + words().review_stems
    return (
        _config_remedy(said, told, own, edits_count=True)
        or _user_remedy(said, own, *grammar.ONCE_MORE)
        or _server_remedy(said, told, own)
    )


def _of_quarantined(said: Reading) -> TextJudgement:
    """Waits for a review of the server."""
    told = said.deeds(grammar.OF_ANYONE)
    found = tuple(deed.phrase for deed in told if deed.kind != "enable")
    found += said.says(grammar.NEEDS_APPROVAL + grammar.NEEDS_REVIEW, affirmed=True)
    if found and not said.goes_alone and not said.claims():
        return _verdict("conveys", "names the review that lifts it", found)
    own = words().approve_stems + words().review_stems
    return (
        _config_remedy(said, told, own, edits_count=False)
        or _user_remedy(said, (*own, "server"), r"\btools?\b")
        or _server_remedy(said, told, own)
    )


def _of_server_off(said: Reading) -> TextJudgement:
    """The server is to be enabled first."""
    told = said.deeds(grammar.OF_ANYONE)
    off = said.says(grammar.SERVER_OFF)
    found = tuple(
        deed.phrase
        for deed in told
        if deed.kind == "enable" and (deed.on_server or (off and "tool" not in deed.phrase))
    )
    found += said.says(grammar.SERVER_ACTS, affirmed=True)
    if found and not said.goes_alone:
        return _verdict("conveys", "tells to enable the server", found)
    own = (*words().enable_stems, "server")
    return _config_remedy(said, told, own, edits_count=False) or _verdict(
        "unrecognised", "does not tell to enable the server", _phrases(told)
    )


def _of_unknown(said: Reading) -> TextJudgement:
    """Undetermined: neither toggle nor approve nor edit the configuration."""
    accused = tuple(deed.phrase for deed in convicting(said) if deed.kind != "review")
    accused += said.says(grammar.EDITS_TOLD, affirmed=True)
    if accused and accusable(said):
        return _verdict("convicted", "orders an act although the reason is unknown", accused)
    ordered = tuple(
        act.words
        for act in said.acts
        if not act.denied and not re.search(r"\b(?:logs?|again)\b", act.told)
    )
    ordered += said.says(grammar.BLAMES)
    undetermined = said.says(grammar.UNDETERMINED)
    if undetermined and not ordered and not said.asks and not said.goes_alone:
        return _verdict("conveys", "the reason is not known, no act is ordered", undetermined)
    return _verdict("unrecognised", "not a neutral text", ordered)


def _config_remedy(
    said: Reading, told: tuple[Deed, ...], own: Phrases, *, edits_count: bool
) -> TextJudgement | None:
    """Convicts a text that gives a config lock's remedy and has no word of its own class."""
    limits = said.says(grammar.NOT_BY_USER) + said.says(grammar.ASKS_OPERATOR, affirmed=True)
    found = said.claims() if limits else ()
    found += said.says(grammar.EDITS_TOLD, affirmed=True) if edits_count else ()
    if told or not found or said.speaks_of(*own) or not accusable(said, negators_count=False):
        return None
    return _verdict("convicted", "gives only the remedy of a config lock", found)


def _user_remedy(said: Reading, own: Phrases, *telling: str) -> TextJudgement | None:
    """Convicts a text that only has the tool turned on, in a phrase of that form."""
    told = tuple(d for d in convicting(said) if d.kind == "enable" and not d.on_server)
    found = _phrases(tuple(d for d in told if any(pattern(p).search(d.phrase) for p in telling)))
    sure = accusable(said) and not said.policy_hints() and not said.speaks_of(*own)
    if not (found and sure):
        return None
    return _verdict("convicted", "gives only the remedy of a user's lock", found)


def _server_remedy(said: Reading, told: tuple[Deed, ...], own: Phrases) -> TextJudgement:
    """Convicts a text that tells to enable the server and has no further word of its class."""
    accused = convicting(said)
    on_server = all(deed.on_server and deed.kind == "enable" for deed in (*accused, *told))
    further = len(said.speaks_of(*own)) - sum(bool(any_stem(own).search(d.phrase)) for d in accused)
    sure = accusable(said) and not said.policy_hints()
    if accused and on_server and sure and not further:
        return _verdict("convicted", "only tells to enable the server", _phrases(accused))
    return _verdict("unrecognised", "names no act of its class", _phrases(told))


_JUDGES: dict[str, Callable[[Reading], TextJudgement]] = {
    "disabled_by_config": _of_config,
    "disabled_by_user": _of_user,
    "pending_approval": _of_pending,
    "server_disabled": _of_server_off,
    "disabled_unknown": _of_unknown,
    "server_quarantined": _of_quarantined,
}
