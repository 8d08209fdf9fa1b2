"""Mutants of EC-2, approvals that cannot be read: wrong status, entry, rejection, note, counts."""

from collections.abc import Callable, Sequence

from mcp_proxy_mutants.discovery.gateway_changes import put
from mcp_proxy_mutants.discovery.mutant import Fresh, Mutant, mutant
from mcp_proxy_mutants.discovery.pieces import CONFIG, UNKNOWN, USER, Tally, Texts, as_
from mcp_proxy_reference import policy as std
from mcp_proxy_reference.facts import Facts, Json, Status
from mcp_proxy_reference.gateway import Gateway


def _is_lost(facts: Facts) -> bool:
    """Whether the tool's approval cannot be read at the moment."""
    return facts.approval is None


def _rejected(facts: Facts, texts: Texts, status: Status, *, denied: bool = False) -> str:
    """Return the refusal of a call, with the text of `status` if the approval is unreadable.

    That applies only to tools that config denies if `denied`, and only to the others if not; any
    other refusal is the reference's.
    """
    applies = _is_lost(facts) and facts.denied == denied
    text = f"The tool {facts.tool.key} was not called. {texts[status]} {std.POINTER}"
    return text if applies else std.rejection(facts, texts)


def _described_if_lost(text: str) -> Callable[[Facts, Status, bool], Json]:
    """Return a `locked_entry` decision: tools of unreadable approval have this description."""

    def entry(facts: Facts, status: Status, withheld: bool) -> Json:
        usual = std.locked_entry(facts, status, withheld)
        return usual | ({"description": text} if _is_lost(facts) and not withheld else {})

    return entry


def _open_index(gateway: Gateway) -> None:
    """Search the whole text of tools whose approval is unreadable, even of those never approved."""
    searchable = gateway.searchable
    put(gateway, searchable=lambda facts: _is_lost(facts) or searchable(facts))


def _lost_twice(document: Json, _: object) -> Json:
    """Return the answer with each locked entry of an unknown reason a second time."""
    entries = document.get("disabled", [])
    lost = [entry for entry in entries if entry["status"] == UNKNOWN]
    return document | ({"disabled": [*entries, *lost]} if lost else {})


def _lost_as_both(document: Json, _: object) -> Json:
    """Return the answer with each tool of an unknown reason listed as callable, too."""
    entries = document.get("disabled", [])
    lost = [entry for entry in entries if entry["status"] == UNKNOWN]
    return document | ({"tools": [*document["tools"], *lost]} if lost else {})


def _lost_left_uncounted(flag: bool, callables: int, locked: Sequence[Facts]) -> str | None:
    """Return the note with the number 0 if no approval of a match can be read."""
    text = std.note(flag, callables, locked)
    lost = [facts for facts in locked if _is_lost(facts)]
    return text and (text if len(lost) < len(locked) else text.replace(str(len(locked)), "0", 1))


def _none_while_lost(tools: Tally) -> Json | None:
    """Return a server's usual counts; None while the approval of one of its tools is unreadable."""
    lost = any(_is_lost(facts) for facts, _ in tools)
    return None if lost else std.counts(tools)


def _lost_for_good() -> Callable[[Facts], Status]:
    """Return a `classify` decision: a user lock once reported as unknown stays so for ever."""
    lost: set[str] = set()

    def classify(facts: Facts) -> Status:
        status = std.classify(facts)
        if status == "disabled_unknown":
            lost.add(facts.tool.key)
        kept = status == "disabled_by_user" and facts.tool.key in lost
        return "disabled_unknown" if kept else status

    return classify


def _lost_counts_kept() -> Callable[[Tally], Json | None]:
    """Return a `counts` decision that repeats the counts made while approvals were unreadable.

    Before the first such time, a server's counts are right.
    """
    kept: dict[frozenset[str], Json | None] = {}

    def counts(tools: Tally) -> Json | None:
        names = frozenset(facts.tool.key for facts, _ in tools)
        if any(_is_lost(facts) for facts, _ in tools):
            kept[names] = std.counts(tools)
        return kept.get(names, std.counts(tools))

    return counts


MUTANTS: tuple[Mutant, ...] = (
    mutant(
        "lost-counts-are-kept",
        "Counts made while approvals could not be read are shown from then on.",
        "FR-010.sum",
        counts=Fresh(_lost_counts_kept),
    ),
    mutant(
        "lost-reasons-stay-lost",
        "A user's lock whose reason was lost once is told as unknown from then on.",
        "FR-004.precedence",
        classify=Fresh(_lost_for_good),
    ),
    mutant(
        "lost-reasons-empty-the-description",
        "While approvals cannot be read, locked tools have an empty description.",
        "FR-003.description",
        locked_entry=_described_if_lost(""),
    ),
    mutant(
        "lost-reasons-replace-the-description",
        "While approvals cannot be read, locked tools have the remedy as their description.",
        "FR-003.description",
        locked_entry=_described_if_lost(std.REMEDIATION[UNKNOWN]),
    ),
    mutant(
        "lost-reason-told-as-the-users",
        "A tool whose approval cannot be read is rejected as turned off by the user.",
        "FR-004.unknown",
        rejection=lambda facts, texts: _rejected(facts, texts, USER),
    ),
    mutant(
        "lost-reason-told-as-policy",
        "A tool whose approval cannot be read is rejected as locked by operator policy.",
        "FR-004.unknown",
        rejection=lambda facts, texts: _rejected(facts, texts, CONFIG),
    ),
    mutant(
        "policy-told-as-the-users-while-lost",
        "While approvals cannot be read, a denied tool is rejected as turned off by the user.",
        "SC-003.rejection",
        rejection=lambda facts, texts: _rejected(facts, texts, USER, denied=True),
    ),
    mutant(
        "lookup-told-before-policy",
        "While approvals cannot be read, a denied tool is rejected as locked for unknown reasons.",
        "FR-008.config",
        rejection=lambda facts, texts: _rejected(facts, texts, UNKNOWN, denied=True),
    ),
    mutant(
        "policy-told-as-a-failure-while-lost",
        "While approvals cannot be read, a denied tool is rejected for now, to be called again.",
        "FR-008.config",
        rejection=lambda facts, texts: (
            f"The tool {facts.tool.key} was not called: a failure. Try it again later."
            if _is_lost(facts) and facts.denied
            else std.rejection(facts, texts)
        ),
    ),
    mutant(
        "lookup-before-config",
        "While approvals cannot be read, a denied tool is listed as disabled_unknown.",
        "FR-004.precedence",
        "FR-010.sum",
        classify=lambda facts: UNKNOWN if _is_lost(facts) else std.classify(facts),
    ),
    mutant(
        "index-opens-while-lost",
        "While approvals cannot be read, texts that nobody approved are searched and listed.",
        "FR-003.canary",
        swap=_open_index,
    ),
    mutant(
        "withheld-texts-told-while-lost",
        "A tool that is withheld is listed with its text while its approval cannot be read.",
        "FR-003.canary",
        locked_entry=lambda facts, status, withheld: std.locked_entry(
            facts, status, withheld and not _is_lost(facts)
        ),
    ),
    mutant(
        "lost-reasons-bring-no-note",
        "The note counts only tools whose reason is known.",
        "FR-009.note",
        "SC-006.every-kind",
        note=lambda flag, callables, locked: std.note(
            flag, callables, [facts for facts in locked if not _is_lost(facts)]
        ),
    ),
    mutant(
        "lost-reasons-listed-twice",
        "A tool whose approval cannot be read is listed twice.",
        "FR-004.once",
        answer=_lost_twice,
    ),
    mutant(
        "lost-reasons-listed-as-both",
        "A tool whose approval cannot be read is listed as locked and as callable.",
        "FR-004.once",
        answer=_lost_as_both,
    ),
    mutant(
        "lost-reasons-counted-twice",
        "The note counts tools whose approval cannot be read twice.",
        "FR-009.count",
        note=lambda flag, callables, locked: std.note(
            flag, callables, [*locked, *filter(_is_lost, locked)]
        ),
    ),
    mutant(
        "lost-reasons-left-uncounted",
        "The note says 0 if the approval of no match can be read.",
        "FR-009.count",
        note=_lost_left_uncounted,
    ),
    mutant(
        "lost-reasons-count-as-callable",
        "Tools whose approval cannot be read are counted as callable.",
        "FR-010.block",
        "FR-010.sum",
        counts=as_(lambda _f, status: None if status == UNKNOWN else status),
    ),
    mutant(
        "lost-reasons-count-as-the-users",
        "Tools whose approval cannot be read are counted as turned off by the user, denied or not.",
        "FR-010.sum",
        "SC-003.listing",
        counts=as_(lambda facts, status: USER if status and _is_lost(facts) else status),
    ),
    mutant(
        "no-block-while-lost",
        "A server has no counts while approvals cannot be read.",
        "FR-010.block",
        counts=_none_while_lost,
    ),
)
