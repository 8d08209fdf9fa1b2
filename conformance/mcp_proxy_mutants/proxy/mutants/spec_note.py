"""Faults of the note that leads to the flag."""

from collections.abc import Callable, Sequence

from mcp_proxy_mutants.proxy.mutant import Fresh, Mutant, mutant
from mcp_proxy_mutants.proxy.pieces import WITHHELD, crowded, given_off
from mcp_proxy_mutants.proxy.swapping import decide
from mcp_proxy_mutants.proxy.wrapping import Request
from mcp_proxy_reference import policy as std
from mcp_proxy_reference.facts import Facts, Json
from mcp_proxy_reference.gateway import Gateway

Note = Callable[[bool, int, Sequence[Facts]], str | None]
HOW = "search again with include_disabled=true to see why."


def _of(number: Callable[[Sequence[Facts]], int]) -> Note:
    """A note of another number; none for 0."""

    def note(flag: bool, callables: int, locked: Sequence[Facts]) -> str | None:
        if flag or callables or not locked or not (count := number(locked)):
            return None
        return f"{count} matching tools exist but cannot be called; {HOW}"

    return note


def _then(change: Callable[[str, Sequence[Facts]], str | None]) -> Note:
    """The note, changed where there is one."""

    def note(flag: bool, callables: int, locked: Sequence[Facts]) -> str | None:
        text = std.note(flag, callables, locked)
        return text and change(text, locked)

    return note


def _for(when: Callable[[Facts], bool]) -> Note:
    """The note on some of the tools."""
    return lambda flag, callables, locked: std.note(
        flag, callables, [facts for facts in locked if when(facts)]
    )


def _less(when: Callable[[Request], bool]) -> Callable[[Json, Request], Json]:
    """An answer that lacks the note at times."""
    return lambda document, request: (
        {key: document[key] for key in document if key != "notice"} if when(request) else document
    )


def _hinted(document: Json, _request: Request) -> Json:
    if "notice" not in document:
        return document
    return document | {"hint": document["notice"]}


def _first_time() -> Callable[[Json, Request], Json]:
    """Each query is told once."""
    told: set[str] = set()

    def answer(document: Json, request: Request) -> Json:
        if request.flag or request.query in told:
            return {key: document[key] for key in document if key != "notice"}
        if "notice" in document:
            told.add(request.query)
        return document

    return answer


def _entries(gateway: Gateway) -> None:
    """The note brings the entries along."""
    shown: list[Facts] = []

    def note(flag: bool, callables: int, locked: Sequence[Facts]) -> str | None:
        shown[:] = locked
        return std.note(flag, callables, locked)

    def answer(document: Json, request: Request) -> Json:
        if "notice" not in document:
            return document
        names = [facts.tool.key for facts in shown[: request.limit]]
        return document | {"suggestions": names}

    decide(gateway, note=note, answer=answer)


def _with_callables(gateway: Gateway) -> None:
    """The note stands also beside callable results, where the flag would reveal more."""

    def answer(document: Json, request: Request) -> Json:
        words = set(request.query.lower().split())
        locked = [
            facts
            for server, tools in gateway.known().items()
            for facts in tools
            if std.scope(request.agent, server, "note")
            and not std.may_call(facts, "discovery")
            and std.indexed(facts)
            and words & set(f"{facts.tool.name} {facts.tool.description}".lower().split())
        ]
        text = std.note(request.flag, 0, locked)
        return document | ({"notice": text} if document["tools"] and text else {})

    decide(gateway, answer=answer)


MUTANTS: tuple[Mutant, ...] = (
    mutant(
        "spec-note-none",
        "Where only locked tools match, the answer says nothing.",
        "FR-009.note",
        "SC-006.every-kind",
        note=lambda _flag, _callables, _locked: None,
    ),
    mutant(
        "spec-note-no-number",
        "The note has no number.",
        "FR-009.note",
        note=_then(lambda _text, _: f"Some matching tools cannot be called; {HOW}"),
    ),
    mutant(
        "spec-note-one-more",
        "The note counts one tool too many.",
        "FR-009.count",
        note=_of(lambda locked: len(locked) + 1),
    ),
    mutant(
        "spec-note-servers",
        "The note counts servers instead of tools.",
        "FR-009.count",
        note=_of(lambda locked: len({facts.tool.server for facts in locked})),
    ),
    mutant(
        "spec-note-indexed-only",
        "The note leaves tools out that the search index does not hold.",
        "FR-009.note",
        "FR-009.count",
        "SC-006.every-kind",
        note=_for(std.indexed),
    ),
    mutant(
        "spec-note-not-for-config",
        "Denied tools bring no note.",
        "FR-009.note",
        "FR-009.count",
        "SC-006.every-kind",
        note=_for(lambda facts: not facts.denied),
    ),
    mutant(
        "spec-note-not-for-user",
        "Tools turned off by the user bring no note.",
        "FR-009.note",
        "SC-006.every-kind",
        note=_for(lambda facts: facts.denied or not facts.disabled_by_user),
    ),
    mutant(
        "spec-note-not-for-changed",
        "Changed tools bring no note.",
        "SC-006.every-kind",
        "FR-009.note",
        note=_for(lambda facts: facts.approval != "changed" or facts.quarantined),
    ),
    mutant(
        "spec-note-not-for-quarantined",
        "Tools of a quarantined server bring no note.",
        "SC-006.every-kind",
        "FR-009.note",
        note=_for(lambda facts: not facts.quarantined),
    ),
    mutant(
        "spec-note-for-one",
        "The note appears for a single match only.",
        "FR-009.note",
        "SC-006.every-kind",
        note=_then(lambda text, locked: text if len(locked) == 1 else None),
    ),
    mutant(
        "spec-note-up-to-ten",
        "The note appears for no more than ten matches.",
        "FR-009.note",
        "SC-006.every-kind",
        note=_then(lambda text, locked: text if len(locked) <= std.LOCKED_CAP else None),
    ),
    mutant(
        "spec-note-not-at-limit-1",
        "At limit 1 there is no note.",
        "FR-009.tight-limit",
        answer=_less(lambda request: request.limit == 1),
    ),
    mutant(
        "spec-note-not-with-limit",
        "A query with a limit of its own brings no note.",
        "FR-009.tight-limit",
        "SC-006.every-kind",
        answer=_less(lambda request: "limit" in request.arguments),
    ),
    mutant(
        "spec-note-not-when-off",
        "A query with the flag false brings no note.",
        "FR-002.absent-is-false",
        answer=given_off(
            lambda document: {key: document[key] for key in document if key != "notice"}
        ),
    ),
    mutant(
        "spec-note-once",
        "A query that is asked again brings no note.",
        "FR-009.note",
        answer=Fresh(_first_time),
    ),
    mutant(
        "spec-note-not-crowded",
        "While another request is served, there is no note.",
        "FR-009.note",
        answer=_less(lambda _: crowded()),
    ),
    mutant(
        "spec-note-no-flag",
        "The note does not say how to reveal the tools.",
        "FR-009.note",
        "SC-002.two-steps",
        note=_then(lambda text, _: f"{text.partition(';')[0]}."),
    ),
    mutant(
        "spec-note-names",
        "The note names the tools.",
        "FR-009.no-entries",
        "FR-002.no-locked-names",
        note=_then(lambda text, locked: f"{text} ({', '.join(one.tool.name for one in locked)})"),
    ),
    mutant(
        "spec-note-describes",
        "The note of a single match repeats its description.",
        "FR-009.no-entries",
        "FR-002.no-locked-names",
        note=_then(
            lambda text, locked: (
                f"{text} It says: {' '.join(locked[0].tool.description.split())}"
                if len(locked) == 1 and std.classify(locked[0]) not in WITHHELD
                else text
            )
        ),
    ),
    mutant(
        "spec-note-suggests",
        "Beside the note stand the tools' addresses.",
        "FR-009.no-entries",
        "FR-002.no-locked-names",
        swap=_entries,
    ),
    mutant(
        "spec-note-two-lines",
        "The note has a line for what and a line for how.",
        "FR-009.one-line",
        note=_then(lambda text, _: text.replace("; ", ".\n")),
    ),
    mutant(
        "spec-note-twice",
        "The note stands in two members.",
        "FR-009.one-line",
        answer=_hinted,
    ),
    mutant(
        "spec-note-beside-callables",
        "The note stands also beside callable results.",
        "FR-009.silent",
        swap=_with_callables,
    ),
    mutant(
        "spec-note-of-nothing",
        "The note also counts no tools at all.",
        "FR-009.silent",
        note=lambda flag, callables, locked: (
            std.note(flag, callables, locked)
            if flag or callables or locked
            else f"0 matching tools exist but cannot be called; {HOW}"
        ),
    ),
)
