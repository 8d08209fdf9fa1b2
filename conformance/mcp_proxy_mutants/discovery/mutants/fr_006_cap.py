"""Mutants of the cap on locked entries, of odd limits, and of callable results beside them."""

import operator
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mcp_proxy_mutants.discovery.changed_parts import Request
from mcp_proxy_mutants.discovery.gateway_changes import decide
from mcp_proxy_mutants.discovery.mutant import Mutant, mutant
from mcp_proxy_mutants.discovery.pieces import WITHHELD, crowded, default_of_five, flagged
from mcp_proxy_reference import policy as std
from mcp_proxy_reference.facts import Facts, Json, Match
from mcp_proxy_reference.gateway import Gateway

OFTEN = 5
ALL = 1000
Window = Callable[[Sequence[Match], int], tuple[Sequence[Match], Sequence[Match]]]


def _by_name(document: Json, _request: Request) -> Json:
    """Return the answer with its callable results sorted by name instead of by relevance."""
    return document | {"tools": sorted(document["tools"], key=lambda entry: str(entry["name"]))}


def _turned_beside_withheld(document: Json, _request: Request) -> Json:
    """Return the answer with callable results reversed beside at least five withheld tools."""
    withheld = [e for e in document.get("disabled", []) if e["status"] in WITHHELD]
    turned = document["tools"][::-1] if len(withheld) >= OFTEN else document["tools"]
    return document | {"tools": turned}


def _each_status(gateway: Gateway) -> None:
    """Apply the cap (the most locked entries of an answer) to each status separately."""
    most = [0]

    def none(wanted: int) -> int:
        most[0] = std.cap(wanted)
        return ALL

    def capped(entries: Sequence[Json], remediation: Mapping[str, str]) -> Json:
        counts: Counter[str] = Counter()
        kept = []
        for entry in entries:
            counts[entry["status"]] += 1
            if counts[entry["status"]] <= most[0]:
                kept.append(entry)
        return std.sections(kept, remediation)

    decide(gateway, cap=none, sections=capped)


def _limit_as_given(arguments: Mapping[str, Any], default: int) -> int:
    """Return the limit as usual, but a negative integer as it is.

    The reference makes it one.
    """
    value = arguments.get("limit")
    if isinstance(value, int) and value < 0:
        return value
    return std.limit(arguments, default)


def _fraction_lifts(gateway: Gateway) -> None:
    """Lift the cap on locked entries for requests whose limit is a fraction, not a whole number."""
    odd = [False]

    def read(arguments: Mapping[str, Any], default: int) -> int:
        value = arguments.get("limit")
        odd[0] = isinstance(value, float) and value != int(min(value, ALL))
        return std.limit(arguments, default)

    decide(gateway, limit=read, cap=lambda wanted: ALL if odd[0] else std.cap(wanted))


def _capped_by(kind: Callable[[Match], str]) -> Window:
    """Return a `window` decision that applies the cap to each `kind` of locked hits by itself."""

    def window(hits: Sequence[Match], limit: int) -> tuple[Sequence[Match], Sequence[Match]]:
        callables, rest = std.window(hits, limit)
        counts: Counter[str] = Counter()
        kept: list[Match] = []
        for hit in rest:
            counts[kind(hit)] += 1
            if counts[kind(hit)] <= std.cap(limit):
                kept.append(hit)
        return callables, kept

    return window


def _text_is_1000(arguments: Mapping[str, Any], default: int) -> int:
    """Return the limit as usual, but 1000 for a string, which is beyond the maximum of 100."""
    value = arguments.get("limit")
    return 1000 if isinstance(value, str) else std.limit(arguments, default)


def _displaced(document: Json, request: Request) -> Json:
    """Return the answer with callable results cut to the limit less the number of locked ones."""
    room = max(0, request.limit - len(document.get("disabled", [])))
    return document | {"tools": document["tools"][:room]}


def _bare_names(document: Json, _request: Request) -> Json:
    """Return the answer with callable results under their names without the server."""
    names = [entry | {"name": entry["name"].partition(":")[2]} for entry in document["tools"]]
    return document | {"tools": names}


def _without_servers_with_locks(document: Json, _request: Request) -> Json:
    """Return the answer without callable results of servers that have a locked entry."""
    servers = {entry["server"] for entry in document.get("disabled", [])}
    return document | {
        "tools": [entry for entry in document["tools"] if entry["server"] not in servers]
    }


def _pass_uncapped(hits: Sequence[Match], limit: int) -> tuple[Sequence[Match], Sequence[Match]]:
    """Split the hits as usual, with locked ones capped; withheld tools come on top of these.

    Return the callable ones, up to the limit, and the locked ones.
    """
    callables, rest = std.window(hits, limit)
    return callables, rest[: std.cap(limit)]


def _default_uncapped(publishes: bool) -> Callable[[Gateway], None]:
    """Return a gateway change: without a limit, list five callable tools but up to ten locked ones.

    With `publishes`, the schema says that five is the default; else it gives none.
    """

    def swap(gateway: Gateway) -> None:
        default_of_five(gateway, publishes=publishes)
        absent, read = [False], gateway.policy.limit

        def limit(arguments: Mapping[str, Any], default: int) -> int:
            absent[0] = arguments.get("limit") is None
            return read(arguments, default)

        decide(
            gateway,
            limit=limit,
            cap=lambda wanted: std.LOCKED_CAP if absent[0] else std.cap(wanted),
        )

    return swap


def _raised_by_exact(raised: Callable[[int, int], int]) -> Callable[[Gateway], None]:
    """Return a gateway change: the cap becomes `raised(cap, exact)`.

    `exact` is the number of withheld tools whose exact name is the query, counted for each answer.
    """

    def swap(gateway: Gateway) -> None:
        exact = [0]

        def matches(query: str, facts: Facts) -> float:
            relevance = std.matches(query, facts)
            exact[0] += relevance == std.EXACT
            return relevance

        def cap(wanted: int) -> int:
            named, exact[0] = exact[0], 0
            return raised(std.cap(wanted), named)

        decide(gateway, matches=matches, cap=cap)

    return swap


MUTANTS: tuple[Mutant, ...] = (
    mutant(
        "default-limit-capped-at-ten",
        "Where no limit is given, five results are returned but up to ten locked entries.",
        "FR-006.cap",
        swap=_default_uncapped(publishes=False),
    ),
    mutant(
        "published-default-capped-at-ten",
        "The schema gives five as the limit, and up to ten locked entries come without one.",
        "FR-006.cap",
        swap=_default_uncapped(publishes=True),
    ),
    mutant(
        "exact-name-beside-the-cap",
        "A withheld tool that is named exactly is listed in addition to the cap.",
        "FR-006.cap",
        swap=_raised_by_exact(operator.add),
    ),
    mutant(
        "namesakes-beyond-the-cap",
        "All withheld tools of the name that is queried are listed, even beyond the cap.",
        "FR-006.cap",
        swap=_raised_by_exact(max),
    ),
    mutant(
        "flag-sorts-by-name",
        "With the flag, callable results are sorted by name.",
        "FR-006.callables",
        answer=flagged(_by_name),
    ),
    mutant(
        "withheld-turn-callables",
        "With the flag, callable results are in reverse order beside five withheld tools.",
        "FR-006.callables",
        answer=flagged(_turned_beside_withheld),
    ),
    mutant(
        "callables-displaced-at-1",
        "At limit 1, a locked entry takes the place of the callable one.",
        "FR-006.callables",
        answer=flagged(
            lambda document, request: (
                _displaced(document, request) if request.limit == 1 else document
            )
        ),
    ),
    mutant(
        "callables-displaced-crowded",
        "While another request is served, locked entries replace callable ones.",
        "FR-006.callables",
        answer=flagged(
            lambda document, request: _displaced(document, request) if crowded() else document
        ),
    ),
    mutant(
        "callables-one-less",
        "Locked entries displace the last callable result.",
        "FR-006.callables",
        answer=flagged(
            lambda document, _request: (
                document | {"tools": document["tools"][: -1 if document.get("disabled") else None]}
            )
        ),
    ),
    mutant(
        "worst-callable-first",
        "With the flag, the worst callable result comes first.",
        "FR-006.callables",
        answer=flagged(lambda document, _request: document | {"tools": document["tools"][::-1]}),
    ),
    mutant(
        "callables-and-locked",
        "With the flag, locked entries are also listed among the callable results.",
        "FR-006.callables",
        "FR-004.once",
        answer=flagged(
            lambda document, _request: (
                document | {"tools": [*document["tools"], *document.get("disabled", [])]}
            )
        ),
    ),
    mutant(
        "callables-bare",
        "With the flag, callable results have bare names.",
        "FR-006.callables",
        answer=flagged(_bare_names),
    ),
    mutant(
        "callables-of-other-servers",
        "With the flag, callable results of servers with a locked match are left out.",
        "FR-006.callables",
        answer=flagged(_without_servers_with_locks),
    ),
    mutant(
        "each-status-has-a-cap",
        "The cap applies to each status separately.",
        "FR-006.cap",
        swap=_each_status,
    ),
    mutant(
        "single-result-capped-at-ten",
        "A request with limit 1 gets up to ten locked entries.",
        "FR-006.cap",
        cap=lambda wanted: std.LOCKED_CAP if wanted == 1 else std.cap(wanted),
    ),
    mutant(
        "cap-lets-one-more",
        "The locked section has eleven entries where the limit allows it.",
        "FR-006.cap",
        cap=lambda wanted: min(wanted, std.LOCKED_CAP + 1),
    ),
    mutant(
        "full-limit-lifts-the-cap",
        "At the largest limit, locked entries are not capped.",
        "FR-006.cap",
        cap=lambda wanted: wanted if wanted > OFTEN * std.LOCKED_CAP else std.cap(wanted),
    ),
    mutant("cap-is-10", "The cap is 10 at smaller limits too.", "FR-006.cap", cap=lambda _: 10),
    mutant(
        "cap-is-larger",
        "The cap is the greater of limit and 10.",
        "FR-006.cap",
        cap=lambda limit: max(limit, 10),
    ),
    mutant("cap-none", "All locked matches are listed.", "FR-006.cap", cap=lambda _: 10_000),
    mutant(
        "cap-by-reason",
        "The cap applies to each reason separately.",
        "FR-006.cap",
        window=_capped_by(lambda hit: std.classify(hit.facts)),
        cap=lambda _: 10_000,
    ),
    mutant(
        "cap-by-server",
        "The cap applies to each server separately.",
        "FR-006.cap",
        window=_capped_by(lambda hit: hit.facts.tool.server),
        cap=lambda _: 10_000,
    ),
    mutant(
        "cap-not-in-pass",
        "Withheld tools are added to the locked section after the cap.",
        "FR-006.cap",
        window=_pass_uncapped,
        cap=lambda _: 10_000,
    ),
    mutant(
        "negative-limit-cuts-from-behind",
        "A negative limit leaves out that many entries at the end.",
        "FR-006.odd-limits",
        limit=_limit_as_given,
    ),
    mutant(
        "fractions-lift-the-cap",
        "A limit that is not a whole number reveals every locked match.",
        "FR-006.odd-limits",
        swap=_fraction_lifts,
    ),
    mutant(
        "limit-0-is-all",
        "A limit of 0 lifts the cap.",
        "FR-006.odd-limits",
        limit=lambda arguments, default: (
            0 if arguments.get("limit") == 0 else std.limit(arguments, default)
        ),
        cap=lambda limit: std.cap(limit) if limit else 10_000,
    ),
    mutant(
        "limit-text-is-all",
        "A limit sent as a string lifts the cap.",
        "FR-006.odd-limits",
        limit=_text_is_1000,
        cap=lambda limit: std.cap(limit) if limit <= std.MAX_LIMIT else 10_000,
    ),
)
