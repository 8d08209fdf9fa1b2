"""The acts that a remediation text speaks of: whose each of them is, and whether it is denied."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal

from mcp_proxy_conformance.discovery.remediation_grammar import pattern
from mcp_proxy_conformance.discovery.remediation_words import (
    alternatives,
    any_word,
    words,
)

Whose = Literal["operator", "user", "agent", "config", "nobody"]
"""`agent`: who is spoken to; `nobody`: an order without a name, or a passive, may be anybody's;
`config`: it edits that."""
_PARTS = re.compile(
    r", |\b(?:but|although|though|however|unless|until|except|while|whereas|(?<!do )(?<!doing )so"
    r"|then|because|since|(?<!as )if|when|once|otherwise|instead|which|after|before|yet|still)\b"
)
"""Where another statement begins, which has its own doer and its own negation."""
_JOINED = re.compile(r" (?=(?:and|or|nor) )")
_TWICE_NEGATED = re.compile(
    r"""\b(?:not|no|nothing|nobody|never|hardly|without)\b.*\b(?:not|no|nothing|nobody|never|without
    |(?:stop|prevent|keep|hinder|forbid|bar)s?[ ](?:\w+[ ])?(?:users?|you|them|any\w+|agents?)
    |wrong|harm|reason|need|problem|objection|longer)\b
    |\bnot[ ](?:only|just|merely|solely|exclusively|simply|necessarily)\b|\bneed[ ]not\b""",
    re.VERBOSE,
)
_NEGATED = re.compile(
    r"""\b(?:not|no|never|nobody|nothing|none|neither|nor|unable|without|refrain[ ]from|avoid|futile
    |pointless|useless|impossible|in[ ]vain|forbidden|prohibited|powerless)\b""",
    re.VERBOSE,
)
_VAIN = re.compile(r"\b(?:not|no|never)\b|^ (?:nothing|none)\b")
_GOES_ON = re.compile(r"(?:by|is|are|can|may|must|has|have|will) ")
_SELF = re.compile(
    r"""\b(?:yourself|yourselves|(?:by|agent)[ ]itself|on[ ]your[ ]own
    |your[ ]own[ ](?:hand|initiative|authority)
    |without[ ](?:\w+[ ]){0,2}?(?:asking|telling|bothering|troubling|waiting|involving|consulting
    |anyone|anybody|help)|(?:no|not)[ ](?:\w+[ ]){0,3}?(?:human|bother|trouble|ask[ ]them
    |need[ ]to[ ](?:ask|bother|trouble|tell|involve|wait)(?![ ](?:\w+[ ])?(?:operator|admin)))
    |silently|quietly|anyway|regardless|directly|at[ ]will|at[ ]your[ ](?:leisure|discretion)
    |feel[ ]free|welcome[ ]to|free[ ]to|happy[ ]to|go[ ]right[ ]ahead|for[ ]them
    |(?:in|on)[ ](?:their|his|her|the[ ]user's)[ ](?:name|behalf)
    |already[ ](?:on|enabled|active|approved|running|released|callable|available|unlocked)
    |skip(?:s|ping)?|pretend|act(?:ing)?[ ]as|as[ ]if|pos(?:e|ing)[ ]as|force=\w+
    |same[ ](?:result|effect|thing|outcome)|work-?arounds?|nothing[ ]needs
    |formality|auto-?approv\w+|spar(?:e|es|ing)[ ](?:them|the[ ]user)|exempt\w*|vendors?
    |(?:not|n't)[ ]worth\w*
    |(?:no|not)[ ](?:\w+[ ]){0,5}?to[ ](?:look|review|check|inspect|vet|read)
    |(?:another|different|other|alternative)[ ]
    (?:client|tool|way|route|path|server|account|proxy|token|agent))\b""",
    re.VERBOSE,
)
"""Whoever is told to go ahead alone, or another way, or that all is well, is told no remedy."""
_NOUN = re.compile(
    r"\b(?:an?|the|this|that|any|each|every|no|its|their|his|your|config|configuration|policy|user|manual|who|which"
    r"|tools|people|further|such|\w+'s?|of|for|enable|tool) $"
)
"""What stands right before a noun that looks like a verb: `a change`, `the operator's call`."""


@dataclass(frozen=True, slots=True)
class Act:
    """One act: its words, what follows them in its statement, and whose it is."""

    words: str
    told: str
    whose: Whose
    denied: bool


def acts(clauses: tuple[str, ...]) -> tuple[Act, ...]:
    """Every act that the clauses speak of, except what calls for discovery."""
    return tuple(act for clause in clauses for act in _of_clause(clause))


def goes_alone(clauses: tuple[str, ...]) -> bool:
    """Whether somebody is told to act without anybody else."""
    return any(
        not _NEGATED.search(piece[: found.start()])
        for clause in clauses
        for piece in _PARTS.split(clause)
        for found in _SELF.finditer(piece)
    )


def _of_clause(clause: str) -> Iterator[Act]:
    carried: Whose = "nobody"
    for part in filter(None, map(str.strip, _PARTS.split(clause))):
        doer = carried if _GOES_ON.match(part) else "nobody"
        if any_word(words().pointers).search(part):
            continue
        denied = False
        for piece in _JOINED.split(part):
            start, was_denied = 0, denied
            for found in _act().finditer(piece):
                if _is_noun(piece, found):
                    continue
                listed = re.fullmatch("n?or ", piece[: found.start()]) is not None
                denied = _is_denied(piece, found) or (was_denied and listed)
                doer = _whose(piece, start, found, doer)
                start = found.end()
                yield Act(found[0], piece[found.start() :], doer, denied)
                doer = "nobody" if denied else doer
        people = [_group(found) for found in _people().finditer(part)]
        left_to_them = people[-1:] == ["operator"] and doer in ("operator", "nobody", "config")
        carried = "operator" if left_to_them else doer


def _is_noun(piece: str, found: re.Match[str]) -> bool:
    """Whether it is a thing: `a change`, `the operator's call`, `call to x:y refused`."""
    listed = found[0] in words().acts_or_nouns
    named = piece.startswith("call to ") and found[0] == "call"
    return named or (listed and _NOUN.search(piece[: found.start()]) is not None)


def _is_denied(piece: str, found: re.Match[str]) -> bool:
    """Whether one negation stands before the act, or behind one that is spoken of as a thing."""
    ahead, behind = piece[: found.start()], piece[found.end() :]
    vain = found[0].endswith("ing") and _NEGATED.search(behind) is not None
    plain = _NEGATED.search(ahead) or _VAIN.search(behind) or re.search("whatever|no matter", ahead)
    return (vain or plain is not None) and _TWICE_NEGATED.search(piece) is None


def _whose(piece: str, start: int, found: re.Match[str], before: Whose) -> Whose:
    """The nearest person before the act does it, or whom it is left to behind it."""
    ahead, behind = piece[: found.start()], piece[found.end() :]
    if _TWICE_NEGATED.search(piece):
        return "agent"
    people = list(_people().finditer(ahead, start))
    if people:
        return _group(people[-1])
    if left := _left_to().search(behind):
        return _group(left)
    if not start and not re.fullmatch(r"(?:(?:and|or|nor|by)(?: by)?)? ?", ahead):
        before = "nobody"
    edits = pattern(r"^(?:<edit_verbs>) (?:[\w'-]+ ){0,5}?<config_names>\b")
    return "config" if before == "nobody" and edits.search(piece[found.start() :]) else before


@cache
def _act() -> re.Pattern[str]:
    """An act as an order, a wish or a thing to be done; what has been done is a state."""
    verbs, done = "|".join(map(_inflected, words().acts)), alternatives(words().acts_done)
    passive = rf"(?:be|being|gets?|getting)(?: (?!{done})[\w-]+){{0,2}}? (?:{done})"
    return re.compile(rf"(?<![\w'-])(?:{verbs}|{passive})(?![\w-])")


def _inflected(verb: str) -> str:
    """A pattern for a verb as it stands, with `-s` and with `-ing`."""
    head, *rest = verb.split(" ")
    stem = head.removesuffix("e")
    ends = rf"{head}|{head}s|{head}es|{stem}ing|{stem}{stem[-1]}ing"
    if head.endswith("y"):
        ends += rf"|{head[:-1]}ies"
    words_between = "".join(r"(?: \S+){0,4}?" if one == "_" else f" {one}" for one in rest)
    return f"(?:{ends}){words_between}"


@cache
def _people() -> re.Pattern[str]:
    return re.compile(rf"\b(?:{_whoever()})\b(?!')")


@cache
def _left_to() -> re.Pattern[str]:
    lead = (
        r"\b(?:by|up to|for|to|requires?|needs?|with|in the hands of|reserved for|left to"
        r"|is|are|remains|belongs to|rests with|takes?|falls to|lies with) (?:only |solely )?"
        r"(?:an? |the |your |our |its |this )?(?:[\w-]+ )?"
    )
    return re.compile(rf"{lead}(?:{_whoever()})\b(?!')")


def _group(person: re.Match[str]) -> Whose:
    kinds: tuple[Whose, ...] = ("operator", "agent", "user")
    return next(kind for kind in kinds if person[kind])


def _whoever() -> str:
    others = r"they|their|them|anyone|anybody|someone|somebody|person"
    agent = r"(?P<agent>you(?! (?:user|human))|agents?|assistant|model|we|i)"
    users = f"(?P<user>{others}|{alternatives(words().users)})"
    return f"(?P<operator>{_operators()})|{users}|{agent}"


def _operators() -> str:
    groups = r"(?:\w+ )?(?:team|staff|department|helpdesk)"
    unnamed = r"whoever (?:runs|operates|manages|maintains) \w+(?: \w+)?"
    return f"{alternatives(words().operators)}|{groups}|{unnamed}"
