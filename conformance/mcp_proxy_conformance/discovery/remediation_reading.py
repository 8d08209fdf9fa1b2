"""Reads a remediation text: the acts it tells, the limits it states, whether it may be accused."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from mcp_proxy_conformance.discovery import remediation_grammar as grammar
from mcp_proxy_conformance.discovery.remediation_acts import acts, goes_alone
from mcp_proxy_conformance.discovery.remediation_grammar import pattern
from mcp_proxy_conformance.discovery.remediation_words import (
    Phrases,
    all_found,
    any_stem,
    any_word,
    clauses,
    every_word,
    is_english,
    words,
)

_QUESTION = re.compile(r"[^.!?:;\n]*\?")
Kind = Literal["enable", "approve", "review"]
KINDS: tuple[Kind, ...] = ("enable", "approve", "review")


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """An act a text speaks of, in its clause; `rest` is what follows it there."""

    kind: Kind
    phrase: str
    clause: str
    rest: str

    @property
    def on_server(self) -> bool:
        """Whether it is done to a server rather than a tool."""
        return pattern(r"\bservers?\b(?! tools?)").search(self.phrase) is not None


class Reading:
    """One text, asked what it says."""

    def __init__(self, text: str) -> None:
        self.clauses = clauses(text)
        self.whole = every_word(text)
        self.english = is_english(text)
        self.acts = acts(self.clauses)
        self.asks = any(acts(clauses(one)) for one in _QUESTION.findall(text))
        self.goes_alone = goes_alone(self.clauses)

    @property
    def is_plain(self) -> bool:
        """Whether it is English, asks for no act, and sends nobody off alone."""
        return self.english and not self.asks and not self.goes_alone

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

    def deeds(self, templates: Phrases) -> tuple[Deed, ...]:
        """The acts the templates find and nothing before them in the same breath denies."""
        return tuple(deed for clause in self.clauses for deed in _deeds(clause, templates))

    def claims(self) -> Phrases:
        """Where the text affirms operator policy."""
        if self.says(grammar.DENIALS) or any_word(("if", "unless", "whether")).search(self.whole):
            return ()
        return self.says(grammar.CLAIMS, affirmed=True)


def _deeds(clause: str, templates: Phrases) -> Iterator[Deed]:
    told = [kind for kind in KINDS if grammar.may_tell(clause, kind)]
    for template in templates:
        for kind in KINDS:
            filled = grammar.of_kind(template, kind)
            if filled != template and kind not in told:
                continue
            for found in pattern(filled).finditer(clause):
                breath = re.split(
                    r", |\b(?:so|therefore|hence|because|but) ", clause[: found.start(1)]
                )
                if template in grammar.AWAITED or not _negators(breath[-1]):
                    yield Deed(
                        kind=kind, phrase=found[1], clause=clause, rest=clause[found.end(1) :]
                    )


def _negators(text: str) -> Phrases:
    return all_found(any_word(words().negators), text)


def accusable(said: Reading, *, negators_count: bool = True) -> bool:
    """Whether the text is read well enough to be accused: English and unconditional."""
    sure = (
        said.english
        and "?" not in said.whole
        and not any_word(words().hedges).search(grammar.HARMLESS.sub(" ", said.whole))
    )
    return sure and not (negators_count and _negators(said.whole))


def convicting(said: Reading) -> tuple[Deed, ...]:
    """The acts that may convict: told outright, by a strong verb, not in a pointer to discovery."""
    if said.says(grammar.TO_SOMEBODY_ELSE):
        return ()
    return tuple(deed for deed in said.deeds(grammar.TOLD) if _is_outright(deed))


def _is_outright(deed: Deed) -> bool:
    """Whether it is a strong verb, done to the locked thing itself, by the reader or the user."""
    return (
        deed.phrase.startswith(words().convicting_verbs)
        and pattern(grammar.ON_ITSELF).fullmatch(deed.phrase) is not None
        and not any_word(words().pointers).search(deed.clause)
        and not any(pattern(template).search(deed.clause) for template in grammar.DETOUR)
        and (deed.kind != "review" or pattern(grammar.IN_PLACE).search(deed.rest) is not None)
    )
