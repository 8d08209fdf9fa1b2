"""Loader mutants of warnings for the agent: servers in a wrong class, or classes worded alike."""

from mcp_proxy_mutants.resilience.changed import Edit
from mcp_proxy_mutants.resilience.mutant import LoadMutant, load_mutant
from mcp_proxy_mutants.resilience.pieces import warns
from mcp_proxy_reference.loader import Json

ALIKE = ("transient", "permanent")
WORDS = {"transient": "Still starting", "permanent": "Needs attention"}


def _named(outcomes: list[Json], *statuses: str) -> list[str]:
    """Return the ids of the servers with one of these statuses."""
    return [outcome["server_id"] for outcome in outcomes if outcome["status"] in statuses]


def _line(words: str, names: list[str]) -> list[str]:
    """Return one line, `words: names.`, in a list; an empty list without names."""
    return [f"{words}: {', '.join(names)}."] if names else []


def _all_in(words: str) -> Edit:
    """Return a hook `edit`: transient and permanent servers have one line each, both in `words`.

    Other warnings are unchanged.
    """
    return warns(lambda due, outcomes: dict(due) | {
        status: _line(words, _named(outcomes, status)) for status in ALIKE})  # fmt: skip


def _one_by_one(words: str) -> Edit:
    """Return a hook `edit`: each transient or permanent server has its own line, all in `words`.

    Other warnings are unchanged.
    """
    return warns(lambda due, outcomes: dict(due) | {
        status: [f"{words} {name}." for name in _named(outcomes, status)]
        for status in ALIKE})  # fmt: skip


def _unlike(words: str, names: list[str]) -> list[str]:
    """Return a line for each name that is no part of another one."""
    lines: list[str] = []
    for name in sorted(names, key=len, reverse=True):
        lines += _line(words, [name] if not any(name in line for line in lines) else [])
    return lines


MUTANTS: tuple[LoadMutant, ...] = (
    load_mutant("warnings-swapped",
                "Warnings name transient servers as permanent, and permanent ones as transient.",
                "W1.one-class",
                edit=warns(lambda due, _: dict(due) | {
                    "transient": due["permanent"], "permanent": due["transient"]})),
    load_mutant("failed-in-both", "Every failed server is named in both classes.",
                "W1.one-class", "W1.denied",
                edit=warns(lambda due, outcomes: dict(due) | {
                    "transient": _line("Still starting", _named(outcomes, *ALIKE, "denied")),
                    "permanent": _line("Broken", _named(outcomes, *ALIKE, "denied"))})),
    load_mutant("permanent-in-both", "Permanent servers are also said to be tried again.",
                "W1.one-class",
                edit=warns(lambda due, outcomes: dict(due) | {
                    "transient": [*due["transient"],
                                  *_line("Will be tried again", _named(outcomes, "permanent"))]})),
    load_mutant("transient-in-both", "Transient servers are also said to need attention.",
                "W1.one-class",
                edit=warns(lambda due, outcomes: dict(due) | {
                    "permanent": [*due["permanent"],
                                  *_line("Look after", _named(outcomes, "transient"))]})),
    load_mutant("denied-as-transient", "Denied servers are named as transient.",
                "W1.denied",
                edit=warns(lambda due, outcomes: dict(due) | {
                    "transient": _line("Still starting", _named(outcomes, "transient", "denied")),
                    "denied": []})),
    load_mutant("denied-as-transient-too", "Denied servers are also named as transient.",
                "W1.denied",
                edit=warns(lambda due, outcomes: dict(due) | {
                    "transient": [*due["transient"],
                                  *_line("Ask for access", _named(outcomes, "denied"))]})),
    load_mutant("recovered-still-starting", "A server that recovered is still said to be starting.",
                "W1.failed",
                edit=warns(lambda due, outcomes: dict(due) | {
                    "transient": _line("Still starting", [
                        str(outcome["server_id"]) for outcome in outcomes
                        if outcome["status"] == "transient"
                        or (outcome["status"] == "available" and outcome["attempts"] != 1)])})),
    load_mutant("available-among-the-denied",
                "If a server is denied, the line about access names all servers.",
                "W1.failed",
                edit=warns(lambda due, outcomes: dict(due) | {
                    "denied": _line("No access", _named(outcomes, "denied", "available"))
                    if due["denied"] else []})),
    load_mutant("warns-of-the-lasting-only",
                "If there are permanent servers, transient ones have no warning.",
                "W1.both",
                edit=warns(lambda due, _: dict(due) | {
                    "transient": [] if due["permanent"] else due["transient"]})),
    load_mutant("warns-of-the-first-only",
                "Only the class of the first failed server is warned of.",
                "W1.both",
                edit=warns(lambda due, outcomes: dict(due) | {
                    status: [] for status in ALIKE
                    if status != next((o["status"] for o in outcomes if o["status"] in ALIKE), "")
                    })),
    load_mutant("warns-of-names-alike-once",
                "A server whose id is part of an earlier line of its class is not named.",
                "W1.named",
                edit=warns(lambda due, outcomes: dict(due) | {
                    status: _unlike(WORDS[status], _named(outcomes, status)) for status in ALIKE})),
    load_mutant("warns-of-one-each", "Each class names one server.",
                "W1.named",
                edit=warns(lambda due, outcomes: dict(due) | {
                    status: _line(WORDS[status], _named(outcomes, status)[:1])
                    for status in ALIKE})),
    load_mutant("one-line-for-all", "Both classes have the same line.",
                "W1.lines", edit=_all_in("Failed servers")),
    load_mutant("one-line-each-for-all", "Each server has a line, the same for both classes.",
                "W1.lines", edit=_one_by_one("Could not load")),
    load_mutant("one-list-for-all", "Both classes have the same line with a list in brackets.",
                "W1.lines",
                edit=warns(lambda due, outcomes: dict(due) | {
                    status: [f"Failed servers: {_named(outcomes, status)}"] for status in ALIKE})),
    load_mutant("one-number-for-all", "Both classes have the same line with a number.",
                "W1.lines",
                edit=warns(lambda due, outcomes: dict(due) | {
                    status: _line(f"{len(names)} servers failed", names)
                    for status in ALIKE if (names := _named(outcomes, status)) is not None})),
    load_mutant("bare-names", "Warnings contain only the names of servers.",
                "W1.lines",
                edit=warns(lambda due, outcomes: dict(due) | {
                    status: _named(outcomes, status) for status in ALIKE})),
    load_mutant("warns-of-nobody", "A load without servers warns that there are none.",
                "I6.silent",
                edit=warns(lambda due, outcomes: dict(due) if outcomes
                           else dict(due) | {"permanent": ["No servers are configured."]})),
    load_mutant("empty-lines", "Every class has a line, even without a server.",
                "I6.silent",
                edit=warns(lambda due, _: {name: own or ["None."] for name, own in due.items()})),
)  # fmt: skip
