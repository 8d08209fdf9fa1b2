"""Faults of the cap, of the limit and of the callable results' place."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mcp_proxy_mutants.proxy.mutant import Mutant, mutant
from mcp_proxy_mutants.proxy.pieces import crowded, flagged
from mcp_proxy_mutants.proxy.wrapping import Request
from mcp_proxy_reference import policy as std
from mcp_proxy_reference.facts import Json, Match

Window = Callable[[Sequence[Match], int], tuple[Sequence[Match], Sequence[Match]]]


def _capped_by(kind: Callable[[Match], str]) -> Window:
    """As many locked hits of each kind as the cap allows for all."""

    def window(found: Sequence[Match], limit: int) -> tuple[Sequence[Match], Sequence[Match]]:
        callables, rest = std.window(found, limit)
        seen: Counter[str] = Counter()
        kept: list[Match] = []
        for hit in rest:
            seen[kind(hit)] += 1
            if seen[kind(hit)] <= std.cap(limit):
                kept.append(hit)
        return callables, kept

    return window


def _unclamped(arguments: Mapping[str, Any], default: int) -> int:
    value = arguments.get("limit")
    below = isinstance(value, int) and not isinstance(value, bool) and value < 1
    return int(value or 0) if below else std.limit(arguments, default)


def _zero_is_all(arguments: Mapping[str, Any], default: int) -> int:
    return 0 if arguments.get("limit") == 0 else std.limit(arguments, default)


def _fails_on_text(arguments: Mapping[str, Any], default: int) -> int:
    """A limit that is no number counts as no limit, and as one without a cap."""
    value = arguments.get("limit")
    return 1000 if isinstance(value, str) else std.limit(arguments, default)


def _displaced(document: Json, request: Request) -> Json:
    """Locked entries use up the limit, from the end of the callable ones."""
    room = max(0, request.limit - len(document.get("disabled", [])))
    return document | {"tools": document["tools"][:room]}


def _displaced_at_1(document: Json, request: Request) -> Json:
    return _displaced(document, request) if request.limit == 1 else document


def _displaced_crowded(document: Json, request: Request) -> Json:
    return _displaced(document, request) if crowded() else document


def _one_less(document: Json, _request: Request) -> Json:
    return document | {"tools": document["tools"][: -1 if document.get("disabled") else None]}


def _by_name(document: Json, _request: Request) -> Json:
    return document | {"tools": sorted(document["tools"], key=lambda one: str(one["name"]))}


def _by_server(document: Json, _request: Request) -> Json:
    return document | {"tools": sorted(document["tools"], key=lambda one: str(one["server"]))}


def _worst_first(document: Json, _request: Request) -> Json:
    return document | {"tools": document["tools"][::-1]}


def _locked_first(document: Json, _request: Request) -> Json:
    """Locked entries are in the list of results, before the callable ones."""
    return document | {"tools": [*document.get("disabled", []), *document["tools"]]}


def _locked_last(document: Json, _request: Request) -> Json:
    """Locked entries are in the list of results too, after the callable ones."""
    return document | {"tools": [*document["tools"], *document.get("disabled", [])]}


def _bare_names(document: Json, _request: Request) -> Json:
    names = [one | {"name": one["name"].partition(":")[2]} for one in document["tools"]]
    return document | {"tools": names}


def _of_kept(document: Json, _request: Request) -> Json:
    """Callable results of servers that have a locked entry are left out."""
    servers = {entry["server"] for entry in document.get("disabled", [])}
    return document | {"tools": [one for one in document["tools"] if one["server"] not in servers]}


def _pass_uncapped(found: Sequence[Match], limit: int) -> tuple[Sequence[Match], Sequence[Match]]:
    callables, rest = std.window(found, limit)
    return callables, rest[: std.cap(limit)]


CAP = "FR-006.cap"
MUTANTS: tuple[Mutant, ...] = (
    mutant(
        "spec-cap-11",
        "The cap is one too high.",
        CAP,
        cap=lambda limit: min(limit, 11),
    ),
    mutant(
        "spec-cap-is-limit",
        "The cap is the limit, whatever that is.",
        CAP,
        cap=lambda limit: limit,
    ),
    mutant(
        "spec-cap-is-10",
        "The cap is 10 at smaller limits too.",
        CAP,
        cap=lambda _: 10,
    ),
    mutant(
        "spec-cap-is-larger",
        "The cap is the greater of limit and 10.",
        CAP,
        cap=lambda limit: max(limit, 10),
    ),
    mutant(
        "spec-cap-none",
        "All locked matches are listed.",
        CAP,
        cap=lambda _: 10_000,
    ),
    mutant(
        "spec-cap-2-at-least",
        "The cap is 2 at limit 1.",
        CAP,
        cap=lambda limit: max(2, std.cap(limit)),
    ),
    mutant(
        "spec-cap-above-50",
        "Great limits lift the cap.",
        CAP,
        cap=lambda limit: limit if limit > 50 else std.cap(limit),  # noqa: PLR2004
    ),
    mutant(
        "spec-cap-by-reason",
        "The cap holds for each reason.",
        CAP,
        window=_capped_by(lambda hit: std.classify(hit.facts)),
        cap=lambda _: 10_000,
    ),
    mutant(
        "spec-cap-by-server",
        "The cap holds for each server.",
        CAP,
        window=_capped_by(lambda hit: hit.facts.tool.server),
        cap=lambda _: 10_000,
    ),
    mutant(
        "spec-cap-not-in-pass",
        "The cap holds for the index, and withheld tools are added to that.",
        CAP,
        window=_pass_uncapped,
        cap=lambda _: 10_000,
    ),
    mutant(
        "spec-limit-below-1",
        "A negative limit cuts the locked entries off at the wrong end.",
        "FR-006.odd-limits",
        limit=_unclamped,
    ),
    mutant(
        "spec-limit-0-is-all",
        "A limit of 0 lifts the cap.",
        "FR-006.odd-limits",
        limit=_zero_is_all,
        cap=lambda limit: std.cap(limit) if limit else 10_000,
    ),
    mutant(
        "spec-limit-text-is-all",
        "A limit that is text lifts the cap.",
        "FR-006.odd-limits",
        limit=_fails_on_text,
        cap=lambda limit: std.cap(limit) if limit <= std.MAX_LIMIT else 10_000,
    ),
    mutant(
        "spec-callables-displaced",
        "Locked entries take the places of callable ones within the limit.",
        "FR-006.callables",
        answer=flagged(_displaced),
    ),
    mutant(
        "spec-callables-displaced-at-1",
        "At limit 1 a locked entry takes the place of the callable one.",
        "FR-006.callables",
        answer=flagged(_displaced_at_1),
    ),
    mutant(
        "spec-callables-displaced-crowded",
        "While another request is served, locked entries take the places of callable ones.",
        "FR-006.callables",
        answer=flagged(_displaced_crowded),
    ),
    mutant(
        "spec-callables-one-less",
        "The last callable result makes room for the locked entries.",
        "FR-006.callables",
        answer=flagged(_one_less),
    ),
    mutant(
        "spec-callables-by-name",
        "Under the flag callable results are sorted by name.",
        "FR-006.callables",
        answer=flagged(_by_name),
    ),
    mutant(
        "spec-callables-by-server",
        "Under the flag callable results are grouped by server.",
        "FR-006.callables",
        answer=flagged(_by_server),
    ),
    mutant(
        "spec-callables-reversed",
        "Under the flag the worst callable result comes first.",
        "FR-006.callables",
        answer=flagged(_worst_first),
    ),
    mutant(
        "spec-callables-after-locked",
        "Under the flag locked entries stand among the results, and first.",
        "FR-006.callables",
        "FR-004.once",
        answer=flagged(_locked_first),
    ),
    mutant(
        "spec-callables-and-locked",
        "Under the flag locked entries stand among the results as well.",
        "FR-006.callables",
        "FR-004.once",
        answer=flagged(_locked_last),
    ),
    mutant(
        "spec-callables-bare",
        "Under the flag callable results have bare names.",
        "FR-006.callables",
        answer=flagged(_bare_names),
    ),
    mutant(
        "spec-callables-of-other-servers",
        "Under the flag callable results of a server with a locked match are left out.",
        "FR-006.callables",
        answer=flagged(_of_kept),
    ),
)
