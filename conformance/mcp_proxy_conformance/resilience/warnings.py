"""Warnings of a loader, compared with the outcomes that they are about."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from mcp_proxy_conformance.resilience.loads import Load
from mcp_proxy_conformance.verdict.comparison import Comparison
from mcp_proxy_conformance.verdict.result import Inconclusive

AGAIN = ("again", "retry", "retri", "starting", "later", "soon", "temporar", "shortly")
ATTENTION = ("attention", "check", "fix", "action", "configur", "repair", "look", "mend")
"""Words with the meaning of the two warnings, or parts of such words."""

PLAIN_ID = re.compile(
    r"(alpha|beta|gamma|delta|epsilon|zeta|eta|theta|iota|kappa)([._-]?\d|-[\da-f]{8}(-twin|2)?)?"
    r"|(control|server|late)-\w+"
)
"""Ids that are no words of a message, as `404` or `missing` may be in a warning about another."""


def _named(server_id: str, text: str) -> bool:
    """Whether the text surely names the server: its id is there as a whole word, and is plain."""
    word = _whole_word(server_id) if server_id in text else None
    return word is not None and word.search(text) is not None


@cache
def _whole_word(server_id: str) -> re.Pattern[str] | None:
    """Return what finds an id as a whole word; None unless it is plain, as PLAIN_ID has it."""
    is_plain = PLAIN_ID.fullmatch(server_id)
    return re.compile(rf"(?<![\w-]){re.escape(server_id)}(?![\w-])") if is_plain else None


def warnings(compared: Comparison, load: Load, *, apart: bool) -> None:
    """Add to `compared` a load's warnings beside its outcomes: whom they name, number, wording.

    The transient and the permanent one name the servers of their class, and only these, have a
    word of its sense, and differ in wording; no available server is named; both are given if
    servers of both failed, none without servers. Who is not named is told only if no server hurt
    another (`apart`). Raises Inconclusive if the case is about warnings and there are none.
    """
    loaded = load.loaded
    about = load.case.area == "warning"
    if about and not any(loaded.answer.warnings.values()):
        raise Inconclusive("the loader declares warnings, but gave none about servers that failed")
    lines = {word: "\n".join(texts) for word, texts in loaded.answer.warnings.items()}
    by_status = {outcome.server_id: outcome.status for outcome in loaded.answer.outcomes}
    transient, permanent = lines.get("transient", ""), lines.get("permanent", "")
    wrong = {
        "W1.one-class": [
            name for name, status in by_status.items()
            if (_named(name, transient) and status == "permanent")
            or (_named(name, permanent) and status == "transient")
        ],
        "W1.denied": [
            name for name, status in by_status.items()
            if _named(name, transient) and status == "denied"
        ],
        "W1.failed": [
            name for name, status in by_status.items()
            if _named(name, "\n".join(lines.values())) and status == "available"
        ],
        "W1.named": [
            name for name, status in by_status.items()
            if apart and status in ("transient", "permanent") and PLAIN_ID.fullmatch(name)
            and lines.get(status) and not _named(name, lines[status])
        ],
    }  # fmt: skip
    statuses = set(by_status.values())
    of_classes = {
        "W1.one-class": {"transient", "permanent"},
        "W1.denied": {"denied"},
        "W1.failed": {"available"},
        "W1.named": {"transient", "permanent"},
    }
    for clause, names in wrong.items():
        is_shown = bool(statuses & of_classes[clause]) and any(lines.values())
        compared.one_of("servers", names, ([],), breaks=[clause],
                        shows=[clause] if is_shown else [])  # fmt: skip
    if not load.case.servers():
        silent = not any(lines.values())
        compared.truth("", lines, holds=silent, allowed="none",
                       breaks=["I6.silent"])  # fmt: skip
    if {"transient", "permanent"} <= statuses and any(lines.values()):
        given = [word for word in ("transient", "permanent") if lines.get(word)]
        compared.one_of("classes with a warning, of the two that failed", given,
                        (["transient", "permanent"],), breaks=["W1.both"])  # fmt: skip
    bare = [_wording(text, by_status) for text in (transient, permanent)]
    for text, own, sense in zip((transient, permanent), bare, (AGAIN, ATTENTION), strict=True):
        is_worded = any(word in text.lower() for word in sense)
        if own - {""}:
            compared.truth("warning", text, holds=is_worded,
                           allowed=f"a text that contains one of {', '.join(sense)}",
                           breaks=["W1.lines~wording"])  # fmt: skip
    if transient and permanent:
        differ = bare[0] != bare[1]
        compared.truth("", sorted({transient, permanent}), holds=differ, allowed="",
                       breaks=["W1.lines"])  # fmt: skip


def _wording(text: str, names: Iterable[str]) -> set[str]:
    """Return a warning's lines without these names, numbers, spaces and punctuation."""
    for name in sorted(filter(None, names), key=len, reverse=True):
        text = text.replace(name, "")
    return {re.sub(r"[\s\d,;:.()\[\]{}'\"]", "", line) for line in text.splitlines()}
