"""Judges a remediation or rejection text: does it convey its lock's remedy, or name a wrong one?"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from mcp_proxy_conformance.discovery import remediation_grammar as grammar
from mcp_proxy_conformance.discovery.remediation_grammar import pattern
from mcp_proxy_conformance.discovery.remediation_words import (
    all_found,
    any_stem,
    any_word,
    clauses,
    every_word,
    is_english,
    mask,
    words,
)

__all__ = [
    "Judgement",
    "TextJudgement",
    "claims_operator_policy",
    "judge",
    "mask",
    "tells_user_act",
]

Judgement = Literal["conveys", "convicted", "unrecognised"]
Phrases = tuple[str, ...]
Kind = Literal["enable", "approve", "review"]
KINDS: tuple[Kind, ...] = ("enable", "approve", "review")
LONGEST_READ = 20_000
"""Characters; a longer text is not read but left unrecognised."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextJudgement:
    """What a text was taken to say for its lock class, why, and the words it was taken from."""

    outcome: Judgement
    reason: str
    found: Phrases = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Deed:
    kind: Kind
    phrase: str
    clause: str

    @property
    def on_server(self) -> bool:
        return pattern(r"\bservers?\b(?! tools?)").search(self.phrase) is not None


def judge(
    text: str, status: str, *, pins: Mapping[str, str] = MappingProxyType({})
) -> TextJudgement:
    """Judge one text for the lock class `status` (one of the six status words).

    Args:
        text: a value of the remediation map or a rejection; names in it masked by the caller.
        status: the class of the lock the text is said for; another word is never judged.
        pins: exact texts and the class each is declared to convey; they override all reading.
    """
    if text in pins:
        right = pins[text] == status
        return _verdict("conveys" if right else "convicted", f"pinned as {pins[text]}", (text,))
    if status not in _JUDGES:
        return _verdict("unrecognised", "not one of the six status words", (status,))
    if len(text) > LONGEST_READ:
        return _verdict("unrecognised", f"longer than {LONGEST_READ} characters")
    return _JUDGES[status](_Reading(text))


def claims_operator_policy(text: str) -> bool:
    """Whether the text affirms that the operator, a policy or the configuration set the lock."""
    return bool(_Reading(text[:LONGEST_READ]).claims())


def tells_user_act(text: str) -> bool:
    """Whether the text tells the user or the agent to enable, approve or review something."""
    return bool(_Reading(text[:LONGEST_READ]).deeds(grammar.TOLD))


def _verdict(outcome: Judgement, reason: str, found: Phrases = ()) -> TextJudgement:
    return TextJudgement(outcome=outcome, reason=reason, found=tuple(dict.fromkeys(found)))


class _Reading:
    """One text, asked what it says."""

    def __init__(self, text: str) -> None:
        self.clauses = clauses(text)
        self.whole = every_word(text)
        self.english = is_english(text)

    def says(self, templates: Phrases, *, affirmed: bool = False) -> Phrases:
        """The places where a template matches; affirmed ones have no negator shortly before."""
        return tuple(
            found[0]
            for clause in self.clauses
            for template in templates
            for found in pattern(template).finditer(clause)
            if not (affirmed and _negators(" ".join(clause[: found.start()].split()[-3:])))
        )

    def speaks_of(self, *stems: str) -> Phrases:
        """Words anywhere in the text that hold one of the stems."""
        return all_found(any_stem(stems), " | ".join(self.clauses))

    def policy_hints(self) -> Phrases:
        """Words anywhere in the text that could stand for the operator."""
        listed = words()
        return all_found(any_stem(listed.policy_guard_stems), self.whole) + all_found(
            any_word(listed.policy_guard_words), self.whole
        )

    def deeds(self, templates: Phrases) -> tuple[_Deed, ...]:
        """The acts the templates find and nothing before them in the same breath denies."""
        return tuple(deed for clause in self.clauses for deed in _deeds(clause, templates))

    def claims(self) -> Phrases:
        """Where the text affirms operator policy."""
        if self.says(grammar.DENIALS) or any_word(("if", "unless", "whether")).search(self.whole):
            return ()
        return self.says(grammar.CLAIMS, affirmed=True)


def _deeds(clause: str, templates: Phrases) -> Iterator[_Deed]:
    for template in templates:
        for kind in KINDS:
            for found in pattern(grammar.of_kind(template, kind)).finditer(clause):
                breath = re.split(
                    r", |\b(?:so|therefore|hence|because|but) ", clause[: found.start(1)]
                )
                if template in grammar.AWAITED or not _negators(breath[-1]):
                    yield _Deed(kind=kind, phrase=found[1], clause=clause)


def _negators(text: str) -> Phrases:
    return all_found(any_word(words().negators), text)


def _accusable(said: _Reading, *, strict: bool = True) -> bool:
    """Whether the text is read well enough to be accused: English and unconditional."""
    sure = said.english and not any_word(words().hedges).search(
        grammar.HARMLESS_CONDITION.sub(" ", said.whole)
    )
    return sure and not (strict and _negators(said.whole))


def _convicting(said: _Reading) -> tuple[_Deed, ...]:
    """The acts that may convict: told outright, by a strong verb, not in a pointer to discovery."""
    if said.says(grammar.TO_SOMEBODY_ELSE):
        return ()
    return tuple(
        deed
        for deed in said.deeds(grammar.TOLD)
        if deed.phrase.startswith(words().convicting_verbs)
        and not any_word(words().pointers).search(deed.clause)
    )


def _phrases(deeds: tuple[_Deed, ...]) -> Phrases:
    return tuple(deed.phrase for deed in deeds)


def _of_config(said: _Reading) -> TextJudgement:
    """Operator policy, not the user's to lift; convicted only in the strict core."""
    hints = said.policy_hints()
    accused = _convicting(said)
    if accused and not hints and _accusable(said):
        return _verdict("convicted", "a user act, no operator and no limit", _phrases(accused))
    policy = all_found(any_word(words().policy), " | ".join(said.clauses))
    if not policy:
        return _verdict("unrecognised", "names no operator, policy or configuration")
    if denials := said.says(grammar.DENIALS):
        return _verdict("unrecognised", "denies being operator policy", denials)
    offers = said.deeds(grammar.TOLD + grammar.NAMED + grammar.AWAITED)
    offered = tuple(d for d in offers if not any_word(words().policy).search(d.clause))
    if offered:
        return _verdict("unrecognised", "operator policy and a user act", _phrases(offered))
    limits = said.says(grammar.NOT_BY_USER) + said.says(grammar.ASKS_OPERATOR, affirmed=True)
    limits += said.says(grammar.EDITS_CONFIG, affirmed=True) if _names_operator(said) else ()
    if limits:
        return _verdict("conveys", "operator policy, not the user's to lift", policy + limits)
    return _verdict("unrecognised", "does not say who may lift the lock", policy)


def _names_operator(said: _Reading) -> bool:
    whose = (*words().operators, "policy", "policies")
    return any(any_word(whose).search(clause) for clause in said.clauses)


def _of_user(said: _Reading) -> TextJudgement:
    """The user turned it off and can turn it on."""
    told = said.deeds(grammar.TOLD + grammar.NAMED + grammar.AWAITED)
    acts = tuple(deed for deed in told if deed.kind == "enable" and not deed.on_server)
    if acts and not said.claims():
        return _verdict("conveys", "tells the user to enable it", _phrases(acts))
    if said.says(grammar.USER_DID):
        return _verdict("unrecognised", "the user's lock, but no act that lifts it")
    return _wrong_class(said, words().enable_stems, told)


def _of_pending(said: _Reading) -> TextJudgement:
    """Waits for the user's approval."""
    return _of_approval(said, ("approve",), grammar.NEEDS_APPROVAL)


def _of_quarantined(said: _Reading) -> TextJudgement:
    """Waits for a review of the server."""
    return _of_approval(said, ("approve", "review"), grammar.NEEDS_APPROVAL + grammar.NEEDS_REVIEW)


def _of_approval(said: _Reading, kinds: Phrases, needs: Phrases) -> TextJudgement:
    told = said.deeds(grammar.TOLD + grammar.NAMED + grammar.BY_ANYONE + grammar.AWAITED)
    acts = tuple(d.phrase for d in told if d.kind in kinds) + said.says(needs, affirmed=True)
    if kinds == ("approve",):
        acts += tuple(
            d.phrase for d in told if d.kind == "review" and d.phrase.startswith("review")
        )
    if acts:
        return _verdict("conveys", "names the approval that lifts it", acts)
    return _wrong_class(said, words().approve_stems + words().review_stems, told)


def _of_server_off(said: _Reading) -> TextJudgement:
    """The server is to be enabled first."""
    told = said.deeds(grammar.TOLD + grammar.NAMED + grammar.BY_ANYONE + grammar.AWAITED)
    off = said.says(grammar.SERVER_OFF)
    acts = tuple(d.phrase for d in told if d.kind == "enable" and (d.on_server or off))
    acts += said.says(grammar.SERVER_ACTS, affirmed=True)
    if acts:
        return _verdict("conveys", "tells to enable the server", acts)
    return _wrong_class(said, (*words().enable_stems, "server"), told)


def _wrong_class(said: _Reading, own: Phrases, told: tuple[_Deed, ...]) -> TextJudgement:
    """Convicts a text that orders another class's act and has no word of its own class."""
    edits = said.says(grammar.EDITS_CONFIG, affirmed=True)
    policy = said.claims() if said.says(grammar.NOT_BY_USER) else ()
    if (
        not told
        and (edits or policy)
        and not said.speaks_of(*own)
        and _accusable(said, strict=False)
    ):
        return _verdict("convicted", "orders what only lifts a config lock", edits + policy)
    accused = _convicting(said)
    servers = all(deed.on_server and deed.kind == "enable" for deed in (*accused, *told))
    spent = len(accused) if own == words().enable_stems else 0
    own_left = len(said.speaks_of(*own)) > spent
    sure = _accusable(said) and not said.policy_hints()
    if accused and servers and "server" not in own and sure and not own_left:
        return _verdict("convicted", "only tells to enable the server", _phrases(accused))
    return _verdict("unrecognised", "names no act of its class", _phrases(told))


def _of_unknown(said: _Reading) -> TextJudgement:
    """Undetermined: neither toggle nor approve nor edit the configuration."""
    told = said.deeds(grammar.TOLD + grammar.NAMED + grammar.AWAITED)
    edits = said.says(grammar.EDITS_CONFIG, affirmed=True)
    accused = tuple(deed.phrase for deed in _convicting(said) if deed.kind != "review") + edits
    if accused and _accusable(said):
        return _verdict("convicted", "orders an act although the reason is unknown", accused)
    undetermined = said.says((r"\b<undetermined>\b",))
    if undetermined and not (told or edits):
        return _verdict("conveys", "the reason is not known, no act is ordered", undetermined)
    return _verdict("unrecognised", "not a neutral text", _phrases(told) + edits)


_JUDGES: dict[str, Callable[[_Reading], TextJudgement]] = {
    "disabled_by_config": _of_config,
    "disabled_by_user": _of_user,
    "pending_approval": _of_pending,
    "server_disabled": _of_server_off,
    "disabled_unknown": _of_unknown,
    "server_quarantined": _of_quarantined,
}
