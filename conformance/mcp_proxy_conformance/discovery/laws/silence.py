"""Laws of answers without the flag: no trace of locked tools but a note if none is callable."""

from __future__ import annotations

import re
from itertools import islice

from mcp_proxy_conformance.catalogue.surface import STATUSES
from mcp_proxy_conformance.discovery.answer import Answer
from mcp_proxy_conformance.discovery.arming import SHOW_LIMIT
from mcp_proxy_conformance.discovery.bench import ABSENT
from mcp_proxy_conformance.discovery.contents import repeated
from mcp_proxy_conformance.discovery.laws.look import DiscoveryExchange, Findings, Look
from mcp_proxy_conformance.discovery.note import counts_right, leads_on, numbers_allowed
from mcp_proxy_conformance.discovery.numbers import numbers_in
from mcp_proxy_conformance.discovery.oracle import LOCKED_CAP, may_have_note, must_have_note
from mcp_proxy_conformance.discovery.remediation_words import is_english


def silent(look: Look, findings: Findings) -> None:
    """Law: without the flag, or with it false, there is no section, map or word of a locked tool.

    Words are the tool's own and its canaries, unless the query contains them. Tools of unproven
    locks, or whose name another server has too, are left out.
    """
    names = look.bench.surface.members
    tools, states = look.bench.tools, look.bench.states
    open_texts = " ".join(f"{tool.name} {tool.description}" for key, tool in tools.items()
                          if key in states and states[key].callable).lower()  # fmt: skip
    words = {word for key in look.proven if look.is_own(key)
             for word in (tools[key].word, *tools[key].canaries)
             if word and word not in open_texts}  # fmt: skip
    alive = look.is_alive  # asked with the flag first: that may stick
    for flag in (ABSENT, False):
        for exchange in look.every(flag) if flag is ABSENT else look.requests(flag):
            sections = sorted({names.disabled, names.remediation} & set(exchange.answer.body))
            findings.truth(["FR-002.no-section", "FR-001.default-off"], exchange.request, sections,
                           holds=not sections, wanted="", topic="members",
                           counts=alive)  # fmt: skip
            text = exchange.answer.text_without_echo()
            leaked = sorted(
                w for w in words if w in text and w not in (exchange.request.query or "")
            )
            noted = (
                ["FR-009.no-entries"] if exchange.answer.note and not exchange.answer.tools else []
            )
            listed = ["FR-001.default-off"] if exchange.answer.disabled else []
            findings.truth(
                ["FR-002.no-locked-names", *noted, *listed], exchange.request, leaked,
                holds=not leaked,
                wanted="", topic="words", counts=alive,
                shows=["FR-002.no-locked-names",
                       *(["FR-009.no-entries"] if noted and exchange.answer.note else [])],
            )  # fmt: skip
            _unowned(look, findings, exchange)


def _unowned(look: Look, findings: Findings, exchange: DiscoveryExchange) -> None:
    """Judge a default answer to a query with a locked tool's name: it may not add the server.

    That is, no `server:tool` or the like; the name alone may be an echo.
    """
    for key in look.proven:
        if key.tool in (exchange.request.query or ""):
            forms = [f"{key.server}{sign}{key.tool}" for sign in (":", "__", "/", ".")]
            addresses = [form for form in forms if is_said(form, exchange.answer.reply.text)]
            noted = (
                ["FR-009.no-entries"] if exchange.answer.note and not exchange.answer.tools else []
            )
            findings.truth(["FR-002.no-locked-names", *noted], exchange.request, addresses,
                           holds=not addresses, counts=look.is_alive,
                           shows=["FR-002.no-locked-names"],
                           wanted="", topic="names with their server")  # fmt: skip


def is_said(name: str, text: str) -> bool:
    """Whether a text has the name by itself, not as the beginning of a longer one."""
    return bool(name) and re.search(rf"{re.escape(name)}(?![\w.-])", text) is not None


def noted(look: Look, findings: Findings) -> None:
    """Law: there is a note where no callable tool is listed and the flag reveals a relevant one.

    There is none where a callable tool is listed or the flag reveals nothing; a misshapen note
    is a breach.
    """
    sections = [
        (exchange, look.same(exchange, flag=True, limit=SHOW_LIMIT)) for exchange in _defaults(look)
    ]
    for request, error in look.misshapen.items():
        if "FR-009.one-line" in error.clauses and request.include_disabled is None:
            findings.truth(
                error.clauses, request, str(error), holds=False, wanted="a text", topic="note"
            )
    fullest = max((len(flagged.answer.disabled) for _, flagged in sections if flagged), default=0)
    for exchange, flagged in sections:
        if flagged is None:
            continue
        query, shown = exchange.request.query or "", flagged.answer.statuses()
        callables = len(exchange.answer.tools)
        relevant = sum(look.bench.relevant(key, query) for key in shown if key in look.bench.tools)
        if must_have_note(callables=callables, relevant=relevant):
            _due(look, findings, exchange, flagged, fullest)
        elif not may_have_note(callables=callables, revealed=len(shown)):
            findings.truth(["FR-009.silent"], exchange.request, exchange.answer.note,
                           holds=not exchange.answer.note, wanted="no note", topic="note",
                           counts=fullest > 0)  # fmt: skip


def _due(
    look: Look,
    findings: Findings,
    exchange: DiscoveryExchange,
    flagged: DiscoveryExchange,
    fullest: int,
) -> None:
    """Judge a note that is owed: present, with the flag and a number, one line, leading on.

    Of a note that is not English, flag and number are not demanded. Only a missing note also breaks
    SC-006.every-kind and, at limit 1, FR-009.tight-limit. `flagged` is the answer to which it
    leads; `fullest` is the most locked entries of any answer.
    """
    note = exchange.answer.note
    whole = leads_on(exchange.answer) and bool(numbers_in(note or ""))
    if not note or is_english(note):
        tight = ["FR-009.tight-limit"] if exchange.limit == 1 else []
        clauses = ["FR-009.note", *([] if note else ["SC-006.every-kind", *tight])]
        findings.truth(clauses, exchange.request, note, holds=whole,
                       wanted="a note with a number and the flag", topic="note",
                       shows=["FR-009.note", "SC-006.every-kind", *tight])  # fmt: skip
    if not note:
        return
    lines = note.strip().splitlines()
    member = look.bench.surface.members.note
    rest = {name: value for name, value in exchange.answer.body.items() if name != member}
    single = len(lines) == 1 and not repeated([note], rest)
    findings.truth(
        ["FR-009.one-line"],
        exchange.request,
        note,
        holds=single,
        wanted="one line that is not repeated",
        topic="note",
    )
    if numbers_in(note) and exchange.limit is None:
        _counted(look, findings, exchange, fullest)
    missing = _missing(flagged.answer)
    findings.truth(["SC-002.two-steps"], flagged.request, missing, holds=not missing,
                   wanted="", topic="missing")  # fmt: skip


def _counted(look: Look, findings: Findings, exchange: DiscoveryExchange, fullest: int) -> None:
    """Judge the number in a note: an allowed one or, if entries may be cut off, one in bounds.

    `fullest` is the most locked entries of any answer. Any number is right if the least in bounds
    is 0; an agent's number above its own matches also breaks FR-007.note.
    """
    allowed, bounds = numbers_allowed(exchange.view, exchange.request.query or "")
    full = max(allowed) >= min(fullest, LOCKED_CAP)
    note = exchange.answer.note or ""
    right = counts_right(note, allowed, bounds, full=full) or not bounds.min
    numbers = numbers_in(exchange.answer.note or "")
    more = exchange.request.agent in look.narrow and min(numbers, default=0) > max(allowed)
    findings.truth(["FR-009.count", *(["FR-007.note"] if more else [])], exchange.request,
                   exchange.answer.note, holds=right, topic="note",
                   wanted=str(bounds) if full else " or ".join(map(str, sorted(allowed))),
                   counts=not full, shows=["FR-009.count"])  # fmt: skip


def _defaults(look: Look) -> list[DiscoveryExchange]:
    """Return exchanges without the flag, up to three more at limit 1, two with the flag false."""
    usual = look.every(ABSENT)
    tight = (
        look.same(exchange, flag=ABSENT, limit=1) for exchange in usual if exchange.limit is None
    )
    at_one = islice((exchange for exchange in tight if exchange is not None), 3)
    said_no = list(look.requests(False))[:2]
    return [*usual, *at_one, *said_no]


def _missing(answer: Answer) -> list[str]:
    """Return which of "the tool", "its status" and "its remediation" a flagged answer lacks.

    A status that is not one of the six words, or a blank remediation, is lacking.
    """
    statuses = list(answer.statuses().values())
    remedies = [(answer.remediation or {}).get(str(status)) for status in statuses]
    there = {
        "the tool": bool(statuses),
        "its status": all(status in STATUSES for status in statuses),
        "its remediation": all(isinstance(text, str) and text.strip() for text in remedies),
    }
    return [part for part, holds in there.items() if not holds]
