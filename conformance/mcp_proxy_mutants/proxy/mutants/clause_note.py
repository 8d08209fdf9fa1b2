"""Faults of the note and of the way that it shows, clause by clause."""

from collections.abc import Callable, Sequence

from mcp_proxy_mutants.proxy.mutant import Fresh, Mutant, mutant
from mcp_proxy_mutants.proxy.swapping import decide
from mcp_proxy_mutants.proxy.wrapping import Request
from mcp_proxy_reference.facts import Facts, Json, Match, Status
from mcp_proxy_reference.gateway import Gateway
from mcp_proxy_reference.policy import (
    LOCKED_CAP,
    classify,
    indexed,
    note,
    rejection,
    window,
    withheld_status,
)

Note = Callable[[bool, int, Sequence[Facts]], str | None]


def _of(wanted: Callable[[Facts], bool]) -> Note:
    """Count only some of the matches, and say nothing when there are none of them."""
    return lambda flag, callables, locked: note(
        flag, callables, [facts for facts in locked if wanted(facts)]
    )


def _without_flag(flag: bool, callables: int, locked: Sequence[Facts]) -> str | None:
    due = note(flag, callables, locked)
    return due and f"{len(locked)} locked tools match; ask for disabled tools to see them."


def _absent_only(document: Json, request: Request) -> Json:
    return _mute(document) if "include_disabled" in request.arguments else document


def _mute(document: Json) -> Json:
    return {name: value for name, value in document.items() if name != "notice"}


def _agents_muted(document: Json, request: Request) -> Json:
    return document if request.agent.servers is None else _mute(document)


def _servers_counted(flag: bool, callables: int, locked: Sequence[Facts]) -> str | None:
    servers = {facts.tool.server: facts for facts in locked}
    return note(flag, callables, list(servers.values()))


def _config_first(flag: bool, callables: int, locked: Sequence[Facts]) -> str | None:
    denied = [facts for facts in locked if facts.denied]
    return note(flag, callables, denied or locked)


def _two_locks_twice(flag: bool, callables: int, locked: Sequence[Facts]) -> str | None:
    twice = [facts for facts in locked if facts.denied and facts.disabled_by_user]
    return note(flag, callables, [*locked, *twice])


def _ending(told: Callable[[Sequence[Facts]], str]) -> Note:
    def ended(flag: bool, callables: int, locked: Sequence[Facts]) -> str | None:
        due = note(flag, callables, locked)
        return due and f"{due}{told(locked)}"

    return ended


def _description_of_one(locked: Sequence[Facts]) -> str:
    alone = len(locked) == 1 and indexed(locked[0])
    return f" ({locked[0].tool.description})" if alone else ""


def _beside_few(gateway: Gateway) -> None:
    """An answer with one callable result has the note as well."""
    found: list[Facts] = []

    def noting(hits: Sequence[Match], limit: int) -> tuple[Sequence[Match], Sequence[Match]]:
        callables, rest = window(hits, limit)
        found[:] = [hit.facts for hit in rest]
        return callables, rest

    def answer(document: Json, request: Request) -> Json:
        told = note(request.flag, 0, found) if len(document["tools"]) == 1 else None
        return document | {"notice": told} if told else document

    decide(gateway, window=noting, answer=answer)


def _of_nothing(flag: bool, callables: int, locked: Sequence[Facts]) -> str | None:
    if flag or callables or locked:
        return note(flag, callables, locked)
    return "0 matching tools are locked; search again with include_disabled=true to see why."


def _of_freed(gateway: Gateway) -> None:
    """The note goes on for a query that it was due for once."""
    due: dict[str, str] = {}

    def answer(document: Json, request: Request) -> Json:
        if request.flag:
            return document
        if told := document.get("notice"):
            due[request.query] = told
        return document | ({"notice": due[request.query]} if request.query in due else {})

    decide(gateway, answer=answer)


def _line_each(flag: bool, callables: int, locked: Sequence[Facts]) -> str | None:
    kinds = {classify(facts): facts for facts in locked}
    due = note(flag, callables, locked)
    if not due or len(kinds) == 1:
        return due
    return f"{due}\n" + ", ".join(sorted(kinds)) + "."


def _twice_when_many(document: Json, _request: Request) -> Json:
    told = document.get("notice", "1 ")
    return document if told.startswith("1 ") else document | {"notice": [told, told]}


def _not_at_one(document: Json, request: Request) -> Json:
    return _mute(document) if request.limit == 1 else document


def _one_of_one(document: Json, request: Request) -> Json:
    more = request.limit == 1 and not document.get("notice", "1 ").startswith("1 ")
    return _mute(document) if more else document


def _empty_answers_kept() -> Callable[[Json, Request], Json]:
    """The next request for a query with a note is served from memory, flag or not."""
    kept: dict[str, Json] = {}

    def answer(document: Json, request: Request) -> Json:
        if request.flag and request.query in kept:
            return kept.pop(request.query)
        if "notice" in document:
            kept[request.query] = document
        return document

    return answer


def _not_what_was_refused(gateway: Gateway) -> None:
    """A tool whose refusal was told is left out of the next search."""
    told: set[str] = set()

    def said(facts: Facts, texts: object) -> str:
        told.add(facts.tool.key)
        return rejection(facts, gateway.policy.remediation if texts else {})

    def without(found: Sequence[Match], limit: int) -> tuple[Sequence[Match], Sequence[Match]]:
        callables, rest = window(found, limit)
        kept = [hit for hit in rest if hit.facts.tool.key not in told]
        told.difference_update(hit.facts.tool.key for hit in rest)
        return callables, kept

    decide(gateway, rejection=said, window=without)


def _status(facts: Facts) -> Status | None:
    return classify(facts) if indexed(facts) else withheld_status(facts)


MUTANTS: tuple[Mutant, ...] = (
    mutant("note-without-the-flags-name", "The note does not say how to reveal the matches.",
           "FR-009.note", note=_without_flag),
    mutant("note-only-without-the-flag", "An explicit false gets no note.",
           "FR-009.note", answer=_absent_only),
    mutant("no-note-for-agents", "Agents of narrow scope get no note.",
           "FR-009.note", answer=_agents_muted),
    mutant("note-counts-servers", "The note counts servers with locked matches.",
           "FR-009.count", note=_servers_counted),
    mutant("note-counts-config-first", "Beside config-locked matches the note counts no others.",
           "FR-009.count", note=_config_first),
    mutant("note-counts-two-locks-twice", "The note counts a tool once for each of two locks.",
           "FR-009.count", note=_two_locks_twice),
    mutant("note-gives-an-example", "The note ends with the name of one of several matches.",
           "FR-009.no-entries",
           note=_ending(lambda locked: f" Try {locked[-1].tool.name}." if len(locked) > 1 else "")),
    mutant("note-describes-the-one-match", "The note of one match has its description.",
           "FR-009.no-entries", note=_ending(_description_of_one)),
    mutant("note-beside-one-result", "An answer with a single callable result has the note.",
           "FR-009.silent", swap=_beside_few),
    mutant("note-of-no-match", "The note says that there are 0 matches.",
           "FR-009.silent", note=_of_nothing),
    mutant("note-goes-on", "The note stays for its query after the locks are lifted.",
           "FR-009.silent", swap=_of_freed),
    mutant("note-with-a-line-of-kinds", "The note has a second line where the kinds are several.",
           "FR-009.one-line", note=_line_each),
    mutant("note-told-twice", "The note of more than one match is a list of two.",
           "FR-009.one-line", answer=_twice_when_many),
    mutant("no-note-at-limit-one", "A request for one result gets no note.",
           "FR-009.tight-limit", answer=_not_at_one),
    mutant("no-note-of-many-at-limit-one", "At limit 1 there is no note of more than one match.",
           "FR-009.tight-limit", answer=_one_of_one),
    mutant("empty-answers-served-again", "A noted answer is served again when asked with the flag.",
           "SC-002.two-steps", answer=Fresh(_empty_answers_kept)),
    mutant("refused-tools-left-out-once", "A search after a refusal leaves the refused tool out.",
           "SC-002.two-steps", swap=_not_what_was_refused),
    mutant("note-of-the-index-only", "Unapproved and quarantined tools do not lead to the note.",
           "SC-006.every-kind", note=_of(indexed)),
    mutant("note-of-config-only", "Only config-locked matches lead to the note.",
           "SC-006.every-kind", "FR-009.note",
           note=_of(lambda facts: _status(facts) == "disabled_by_config")),
    mutant("no-note-of-a-crowd", "More matches than the cap do not lead to the note.",
           "SC-006.every-kind",
           note=lambda flag, callables, locked: None if len(locked) > LOCKED_CAP
           else note(flag, callables, locked)),
)  # fmt: skip
