"""Laws of default answers: nothing of locked tools but a note, exactly when it is due."""

from __future__ import annotations

from mcp_proxy_conformance.catalogue.surface import STATUSES
from mcp_proxy_conformance.discovery.answer import Answer
from mcp_proxy_conformance.discovery.arming import SHOW_LIMIT
from mcp_proxy_conformance.discovery.bench import ABSENT
from mcp_proxy_conformance.discovery.laws.look import Findings, Look, Told
from mcp_proxy_conformance.discovery.locked import repeated
from mcp_proxy_conformance.discovery.note import counts_right, leads_on, numbers_allowed
from mcp_proxy_conformance.discovery.numbers import numbers_in
from mcp_proxy_conformance.discovery.oracle import LOCKED_CAP, may_have_note, must_have_note
from mcp_proxy_conformance.discovery.remediation_words import is_english


def silent(look: Look, found: Findings) -> None:
    """Without the flag there is no section, no map, and no word of a locked tool."""
    names = look.bench.surface.members
    words = {word for key in look.proven if look.is_own(key)
             for one in [look.bench.tools[key]] for word in (one.word, *one.canaries)}  # fmt: skip
    alive = look.is_alive  # asked with the flag first: that may stick
    for flag in (ABSENT, False):
        for one in look.every(flag) if flag is ABSENT else look.requests(flag):
            sections = sorted({names.disabled, names.remediation} & set(one.answer.body))
            found.truth(["FR-002.no-section", "FR-001.default-off"], one.of, sections,
                        holds=not sections, wanted="no section for locked tools",
                        counts=alive)  # fmt: skip
            text = one.answer.text_without_echo()
            told = sorted(w for w in words if w in text and w not in (one.of.query or ""))
            noted = ["FR-009.no-entries"] if one.answer.note and not one.answer.tools else []
            listed = ["FR-001.default-off"] if one.answer.disabled else []
            found.truth(
                ["FR-002.no-locked-names", *noted, *listed], one.of, told, holds=not told,
                wanted="no word of a locked tool", counts=alive,
                shows=["FR-002.no-locked-names",
                       *(["FR-009.no-entries"] if noted and one.answer.note else [])],
            )  # fmt: skip
            _unowned(look, found, one)


def _unowned(look: Look, found: Findings, one: Told) -> None:
    """A tool asked for by its name is not told with its server (an echo is no telling)."""
    for key in look.proven:
        if key.tool in (one.of.query or ""):
            forms = [f"{key.server}{sign}{key.tool}" for sign in (":", "__", "/", ".")]
            told = [form for form in forms if form in one.answer.reply.text]
            noted = ["FR-009.no-entries"] if one.answer.note and not one.answer.tools else []
            found.truth(["FR-002.no-locked-names", *noted], one.of, told,
                        holds=not told, counts=look.is_alive, shows=["FR-002.no-locked-names"],
                        wanted="no address of a locked tool")  # fmt: skip


def noted(look: Look, found: Findings) -> None:
    """The note stands where nothing callable came back and the flag would reveal something."""
    sections = [(one, look.same(one, flag=True, limit=SHOW_LIMIT)) for one in _defaults(look)]
    for of, error in look.misshapen.items():
        if "FR-009.one-line" in error.clauses and of.include_disabled is None:
            found.truth(error.clauses, of, str(error), holds=False, wanted="one note, a string")
    fullest = max((len(told.answer.disabled) for _, told in sections if told), default=0)
    for one, flagged in sections:
        if flagged is None:
            continue
        query, shown = one.of.query or "", flagged.answer.statuses()
        callables = len(one.answer.tools)
        relevant = sum(look.bench.relevant(key, query) for key in shown if key in look.bench.tools)
        if must_have_note(callables=callables, relevant=relevant):
            _due(look, found, one, flagged, fullest)
        elif not may_have_note(callables=callables, revealed=len(shown)):
            found.truth(["FR-009.silent"], one.of, one.answer.note, holds=not one.answer.note,
                        wanted="no note", counts=fullest > 0)  # fmt: skip


def _due(look: Look, found: Findings, one: Told, flagged: Told, fullest: int) -> None:
    note = one.answer.note
    whole = leads_on(one.answer) and bool(numbers_in(note or ""))
    if not note or is_english(note):
        tight = ["FR-009.tight-limit"] if one.limit == 1 else []
        clauses = ["FR-009.note", *([] if note else ["SC-006.every-kind", *tight])]
        found.truth(clauses, one.of, note, holds=whole, wanted="a note with number and flag",
                    shows=["FR-009.note", "SC-006.every-kind", *tight])  # fmt: skip
    if not note:
        return
    lines = note.strip().splitlines()
    member = look.bench.surface.members.note
    rest = {name: value for name, value in one.answer.body.items() if name != member}
    single = len(lines) == 1 and not repeated([note], rest)
    found.truth(["FR-009.one-line"], one.of, note, holds=single, wanted="a single line, once")
    if numbers_in(note) and one.limit is None:
        _counted(look, found, one, fullest)
    missing = _missing(flagged.answer)
    found.truth(["SC-002.two-steps"], flagged.of, missing, holds=not missing,
                wanted="tool, status and remedy where the note leads to")  # fmt: skip


def _counted(look: Look, found: Findings, one: Told, fullest: int) -> None:
    allowed, least = numbers_allowed(one.view, one.of.query or "")
    full = max(allowed) >= min(fullest, LOCKED_CAP)
    right = counts_right(one.answer.note or "", allowed, least, full=full) or not least
    numbers = numbers_in(one.answer.note or "")
    more = one.of.agent in look.narrow and min(numbers, default=0) > max(allowed)
    found.truth(["FR-009.count", *(["FR-007.note"] if more else [])], one.of, one.answer.note,
                holds=right, wanted=f"{sorted(allowed)} told", counts=not full,
                shows=["FR-009.count"])  # fmt: skip


def _defaults(look: Look) -> list[Told]:
    """Default answers, some at limit 1 and some of the form with false."""
    usual = look.every(ABSENT)
    tight = [look.same(one, flag=ABSENT, limit=1) for one in usual if one.limit is None][:3]
    said_no = list(look.requests(False))[:2]
    return [*usual, *(one for one in tight if one is not None), *said_no]


def _missing(answer: Answer) -> list[str]:
    """What the answer that the note leads to does not tell."""
    told = list(answer.statuses().values())
    remedies = [(answer.remediation or {}).get(str(status)) for status in told]
    there = {
        "the tool": bool(told),
        "its status": all(status in STATUSES for status in told),
        "its remedy": all(isinstance(text, str) and text.strip() for text in remedies),
    }
    return [part for part, holds in there.items() if not holds]
