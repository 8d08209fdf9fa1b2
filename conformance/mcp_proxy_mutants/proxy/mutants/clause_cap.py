"""Faults of order, cap and odd limits, clause by clause."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mcp_proxy_mutants.proxy.mutant import Fresh, Mutant, mutant
from mcp_proxy_mutants.proxy.swapping import decide
from mcp_proxy_mutants.proxy.wrapping import Request
from mcp_proxy_reference.facts import Json
from mcp_proxy_reference.gateway import Gateway
from mcp_proxy_reference.policy import LOCKED_CAP, cap, limit, sections

OFTEN = 5
ALL = 1000


def _flagged(change: Callable[[Json, Request], Json]) -> Callable[[Json, Request], Json]:
    def answer(document: Json, request: Request) -> Json:
        return change(document, request) if request.flag else document

    return answer


def _shared_limit(document: Json, request: Request) -> Json:
    room = max(0, request.limit - len(document.get("disabled", [])))
    tools = document["tools"][:room]
    return document | {"tools": tools, "total": len(tools)}


def _by_name(document: Json, _request: Request) -> Json:
    return document | {"tools": sorted(document["tools"], key=lambda one: str(one["name"]))}


def _locked_in_between(document: Json, _request: Request) -> Json:
    servers = Counter(one["server"] for one in document.get("disabled", []))
    tools = sorted(document["tools"], key=lambda one: servers[one["server"]])
    return document | {"tools": tools}


def _now_and_then() -> Callable[[Json, Request], Json]:
    asked = Counter[str]()

    def answer(document: Json, request: Request) -> Json:
        asked["flagged"] += request.flag
        if request.flag and asked["flagged"] % OFTEN == 0:
            return document | {"tools": document["tools"][::-1]}
        return document

    return answer


def _each_status(gateway: Gateway) -> None:
    """Cap the entries of each status apart."""
    asked = [0]

    def none(wanted: int) -> int:
        asked[0] = cap(wanted)
        return ALL

    def capped(entries: Sequence[Json], remediation: Mapping[str, str]) -> Json:
        seen: Counter[str] = Counter()
        kept = []
        for entry in entries:
            seen[entry["status"]] += 1
            if seen[entry["status"]] <= asked[0]:
                kept.append(entry)
        return sections(kept, remediation)

    decide(gateway, cap=none, sections=capped)


def _limit_as_given(arguments: Mapping[str, Any], default: int) -> int:
    value = arguments.get("limit")
    if isinstance(value, int) and value < 0:
        return value
    return limit(arguments, default)


def _zero_is_all(arguments: Mapping[str, Any], default: int) -> int:
    return ALL if arguments.get("limit") == 0 else limit(arguments, default)


def _fraction_lifts(gateway: Gateway) -> None:
    odd = [False]

    def read(arguments: Mapping[str, Any], default: int) -> int:
        value = arguments.get("limit")
        odd[0] = isinstance(value, float) and value != int(min(value, ALL))
        return limit(arguments, default)

    decide(gateway, limit=read, cap=lambda wanted: ALL if odd[0] else cap(wanted))


MUTANTS: tuple[Mutant, ...] = (
    mutant("locked-entries-use-up-the-limit", "Locked entries take places of callable results.",
           "FR-006.callables", answer=_flagged(_shared_limit)),
    mutant("flag-sorts-by-name", "Under the flag callable results come by name.",
           "FR-006.callables", answer=_flagged(_by_name)),
    mutant("locked-servers-rank-last", "Under the flag servers with locked hits come last.",
           "FR-006.callables", answer=_flagged(_locked_in_between)),
    mutant("fifth-flagged-answer-reversed", "Every fifth flagged answer is in reverse order.",
           "FR-006.callables", answer=Fresh(_now_and_then)),
    mutant("each-status-has-a-cap", "Each status may fill the section by itself.",
           "FR-006.cap", swap=_each_status),
    mutant("single-result-capped-at-ten", "A request for one result is given ten locked ones.",
           "FR-006.cap", cap=lambda wanted: LOCKED_CAP if wanted == 1 else cap(wanted)),
    mutant("cap-lets-one-more", "The section holds eleven entries where the limit allows it.",
           "FR-006.cap", cap=lambda wanted: min(wanted, LOCKED_CAP + 1)),
    mutant("full-limit-lifts-the-cap", "The largest limit has no cap on locked entries.",
           "FR-006.cap", cap=lambda wanted: wanted if wanted > OFTEN * LOCKED_CAP else cap(wanted)),
    mutant("negative-limit-cuts-from-behind", "A negative limit leaves out that many at the end.",
           "FR-006.odd-limits", limit=_limit_as_given),
    mutant("limit-zero-caps-nothing", "A limit of 0 reveals every locked match.",
           "FR-006.odd-limits", limit=_zero_is_all,
           cap=lambda wanted: wanted if wanted == ALL else cap(wanted)),
    mutant("fractions-lift-the-cap", "A limit that is no whole number reveals every locked match.",
           "FR-006.odd-limits", swap=_fraction_lifts),
)  # fmt: skip
