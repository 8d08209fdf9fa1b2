"""Mutants of answers that locks, an explicit false or an earlier flag must not change, yet do."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mcp_proxy_mutants.discovery.changed_parts import Request
from mcp_proxy_mutants.discovery.gateway_changes import decide
from mcp_proxy_mutants.discovery.mutant import Fresh, Mutant, mutant
from mcp_proxy_mutants.discovery.pieces import FLAG, Windows, by_name, flag_false
from mcp_proxy_reference import policy as std
from mcp_proxy_reference.facts import Facts, Json, Match
from mcp_proxy_reference.gateway import Gateway

DIGITS = 6


def _last_hit_lost(document: Json, request: Request) -> Json:
    """With the flag, drop the last of several callable results if nothing locked is listed."""
    lost = request.flag and "disabled" not in document and document["tools"][1:]
    return document | {"tools": document["tools"][:-1]} if lost else document


def _default(change: Callable[[Json, Request], Json]) -> Callable[[Json, Request], Json]:
    """Return an `answer` change that applies `change` only to answers without the flag."""
    return lambda document, request: document if request.flag else change(document, request)


def _flag_echoed(document: Json, request: Request) -> Json:
    """Return the answer with `include_disabled` false if the request names the flag at all."""
    present = "include_disabled" in request.arguments
    return document | {"include_disabled": False} if present else document


def _rounded(document: Json, request: Request) -> Json:
    """Return the answer with scores rounded to six digits if the request names the flag."""
    if "include_disabled" not in request.arguments:
        return document
    rounded = [entry | {"score": round(entry["score"], DIGITS)} for entry in document["tools"]]
    return document | {"tools": rounded}


def _agents_see_less(document: Json, request: Request) -> Json:
    """Return the answer, without its last callable result if a scoped agent names the flag."""
    present = "include_disabled" in request.arguments and request.agent.servers is not None
    return document | {"tools": document["tools"][:-1]} if present else document


def _opted_in() -> Callable[[Json, Request], Json]:
    """Return an `answer` change: once locked tools were revealed, all unflagged answers are marked.

    The mark is a member `opted_in`, whichever agent asks.
    """
    opted_in: list[bool] = []

    def answer(document: Json, request: Request) -> Json:
        if request.flag:
            opted_in.extend([True] * bool(document.get("disabled")))
            return document
        return document | {"opted_in": True} if opted_in else document

    return answer


def _last_limit() -> Callable[[Mapping[str, Any], int], int]:
    """Return a `limit` decision: a flagged request's limit is the default of later requests."""
    last: list[int] = []

    def limit(arguments: Mapping[str, Any], default: int) -> int:
        limit = std.limit(arguments, last[0] if last else default)
        if arguments.get("limit") is not None and std.flag(arguments):
            last[:] = [limit]
        return limit

    return limit


def _leaking(pick: Callable[[Match], str | None]) -> Callable[[Gateway], None]:
    """Return a gateway change: unflagged answers name locked hits in their usage instructions.

    `pick` returns the text for a hit, or None to leave it out.
    """

    def swap(gateway: Gateway) -> None:
        leaked: list[str] = []

        def noting(hits: Sequence[Match], limit: int) -> Windows:
            callables, rest = std.window(hits, limit)
            leaked[:] = [text for hit in rest if (text := pick(hit))]
            return callables, rest

        def answer(document: Json, request: Request) -> Json:
            if request.flag or not leaked:
                return document
            usage = f"{document['usage_instructions']} Not offered: {', '.join(leaked)}."
            return document | {"usage_instructions": usage}

        decide(gateway, window=noting, answer=answer)

    return swap


def _rest_of_all(hits: Sequence[Match], limit: int) -> Windows:
    """Split the hits as usual, but add callable ones beyond the limit to the locked ones.

    Return the callable ones, up to the limit, and the locked ones.
    """
    callables, rest = std.window(hits, limit)
    cut = [hit for hit in hits if hit.may_call][limit:]
    return callables, [*rest, *cut]


def _neighbours(gateway: Gateway) -> None:
    """With the flag, list also the denied tools of a hit's server that the query did not find."""

    def wide(matches: Sequence[Match], limit: int) -> Windows:
        callables, rest = std.window(matches, limit)
        hits = {hit.facts.tool.key for hit in matches}
        known = gateway.known()
        servers = dict.fromkeys(hit.facts.tool.server for hit in matches)
        more = [
            Match(facts=facts, score=0.0, may_call=False)
            for server in servers
            for facts in known[server]
            if facts.denied and facts.tool.key not in hits
        ]
        return callables, [*rest, *more]

    decide(gateway, window=wide)


def _only_true(arguments: Mapping[str, Any]) -> bool:
    """Return the flag; raise ArgumentError if it is given as false."""
    if arguments.get(FLAG) is False:
        raise std.ArgumentError(f"{FLAG} can only be true.")
    return std.flag(arguments)


def _rounded_2(document: Json) -> Json:
    """Return the answer with scores rounded to four digits."""
    rounded = [entry | {"score": round(entry["score"], 4)} for entry in document["tools"]]
    return document | {"tools": rounded}


def _explained(document: Json) -> Json:
    """Return the answer with a sentence about the flag after its usage instructions."""
    text = f"{document['usage_instructions']} Set {FLAG}=true to also see locked tools."
    return document | {"usage_instructions": text}


def _sorted_beside_locked(hits: Sequence[Match], limit: int) -> Windows:
    """Split the hits as usual, but take callable ones by name if a locked one matches."""
    callables, locked = std.window(hits, len(hits))
    by_name = sorted(callables, key=lambda hit: hit.facts.tool.key)
    return (by_name if locked else callables)[:limit], locked


def _explained_beside_locks(gateway: Gateway) -> None:
    """Explain the flag in unflagged answers as soon as any tool is locked."""

    def answer(document: Json, request: Request) -> Json:
        known = (facts for own in gateway.known().values() for facts in own)
        locked = any(not std.may_call(facts, "discovery") for facts in known)
        return document if request.flag or not locked else _explained(document)

    decide(gateway, answer=answer)


def _first_reordered(document: Json) -> Json:
    """Return the answer with the member `total` before all others."""
    return {key: document[key] for key in ("total", *document)}


def _user_locked_in_default(gateway: Gateway) -> None:
    """Without the flag, confirm a user-locked tool in `did_you_mean` if the query is its name."""
    known: dict[str, Facts] = {}

    def answer(document: Json, request: Request) -> Json:
        if request.flag:
            return document
        for server, of_server in gateway.known().items():
            if std.scope(request.agent, server, "search"):
                known.update({facts.tool.name: facts for facts in of_server})
        facts = known.get(request.query)
        if facts is None or std.classify(facts) != "disabled_by_user":
            return document
        return document | {"did_you_mean": facts.tool.key}

    decide(gateway, answer=answer)


def _beside_locked(change: Callable[[Json, int], Json]) -> Callable[[Gateway], None]:
    """Return a gateway change: `change` is applied to unflagged answers that have callable tools.

    It applies only if locked tools match too, and gets the answer and the number of these.
    """

    def swap(gateway: Gateway) -> None:
        locked: list[Match] = []

        def noting(hits: Sequence[Match], limit: int) -> Windows:
            callables, rest = std.window(hits, limit)
            locked[:] = rest
            return callables, rest

        def answer(document: Json, request: Request) -> Json:
            beside = not request.flag and document["tools"] and locked
            return change(document, len(locked)) if beside else document

        decide(gateway, window=noting, answer=answer)

    return swap


def _turned_by_locked(hits: Sequence[Match], limit: int) -> Windows:
    """Split the hits as usual, but reverse the callable ones if any hit is locked.

    Return the callable ones, up to the limit, and the locked ones.
    """
    callables, rest = std.window(hits, limit)
    return (callables[::-1] if rest else callables), rest


MUTANTS: tuple[Mutant, ...] = (
    mutant(
        "locked-matches-numbered",
        "A default answer with callable tools has the number of locked matches.",
        "FR-002.unmoved",
        swap=_beside_locked(lambda document, locked: document | {"withheld": locked}),
    ),
    mutant(
        "entries-marked-beside-locked",
        "Callable entries have one more member while a locked tool matches.",
        "FR-002.unmoved",
        swap=_beside_locked(
            lambda document, _locked: (
                document | {"tools": [entry | {"alternatives": 0} for entry in document["tools"]]}
            )
        ),
    ),
    mutant(
        "total-first-beside-locked",
        "The total comes first in default answers while a locked tool matches.",
        "FR-002.unmoved",
        swap=_beside_locked(lambda document, _: _first_reordered(document)),
    ),
    mutant(
        "order-turned-by-locked-matches",
        "Callable tools come in reverse order as soon as a locked tool matches.",
        "FR-002.unmoved",
        window=_turned_by_locked,
    ),
    mutant(
        "false-is-echoed",
        "An explicit false is repeated in the answer.",
        "FR-002.absent-is-false",
        answer=_default(_flag_echoed),
    ),
    mutant(
        "false-rounds-scores",
        "Scores are rounded where the flag is given as false.",
        "FR-002.absent-is-false",
        answer=_default(_rounded),
    ),
    mutant(
        "false-drops-an-agents-hit",
        "Agents that give the flag as false lose the last result.",
        "FR-002.absent-is-false",
        answer=_default(_agents_see_less),
    ),
    mutant(
        "flag-on-when-given",
        "The flag is on when it is present, whatever its value.",
        "FR-002.absent-is-false",
        "FR-002.no-section",
        "FR-001.default-off",
        flag=lambda arguments: FLAG in arguments,
    ),
    mutant(
        "flag-false-refused",
        "A request with the flag false is refused.",
        "FR-002.absent-is-false",
        flag=_only_true,
    ),
    mutant(
        "default-order",
        "With the flag false, one member comes earlier.",
        "FR-002.absent-is-false",
        answer=flag_false(_first_reordered),
    ),
    mutant(
        "default-rounded",
        "With the flag false, scores are rounded.",
        "FR-002.absent-is-false",
        answer=flag_false(_rounded_2),
    ),
    mutant(
        "default-reversed",
        "With the flag false, results come in another order.",
        "FR-002.absent-is-false",
        answer=flag_false(lambda document: document | {"tools": document["tools"][::-1]}),
    ),
    mutant(
        "default-explained",
        "With the flag false, an answer without callable tools has a longer usage text.",
        "FR-002.absent-is-false",
        answer=flag_false(lambda document: document if document["tools"] else _explained(document)),
    ),
    mutant(
        "sorted-beside-locked",
        "Callable results come in order of name as soon as a matching tool is locked.",
        "FR-002.unmoved",
        window=_sorted_beside_locked,
    ),
    mutant(
        "flag-explained-beside-locks",
        "As soon as any tool is locked, default answers explain the flag.",
        "FR-002.unmoved",
        swap=_explained_beside_locks,
    ),
    mutant(
        "flag-named-beside-locked-matches",
        "Default answers name the flag once for each locked match.",
        "FR-002.unmoved",
        swap=_leaking(lambda _: f"see {FLAG}"),
    ),
    mutant(
        "user-locked-names-in-usage",
        "The usage line of default answers names locked tools.",
        "FR-002.no-locked-names",
        swap=_leaking(
            lambda hit: (
                hit.facts.tool.name if hit.facts.disabled_by_user and not hit.facts.denied else None
            )
        ),
    ),
    mutant(
        "default-did-you-mean",
        "Without the flag, the exact name of a user-locked tool is confirmed to exist.",
        "FR-002.no-locked-names",
        "FR-009.no-entries",
        swap=_user_locked_in_default,
    ),
    mutant(
        "last-hit-lost-without-locks",
        "Where nothing is locked, the flag removes the last result.",
        "FR-002.no-locks-no-change",
        answer=_last_hit_lost,
    ),
    mutant(
        "cut-off-hits-listed",
        "Callable hits beyond the limit are listed as disabled_unknown.",
        "FR-002.no-locks-no-change",
        window=_rest_of_all,
    ),
    mutant(
        "neighbours-of-hits-listed",
        "A hit reveals its server's other config-locked tools.",
        "FR-002.no-locks-no-change",
        swap=_neighbours,
    ),
    mutant(
        "any-query",
        "Locked tools are listed whatever the query asks for.",
        "FR-002.no-locks-no-change",
        "FR-009.silent",
        swap=by_name(lambda query, facts: max(std.matches(query, facts), 0.5)),
    ),
    mutant(
        "empty-section-beside-note",
        "An answer with the note has an empty section as well.",
        "FR-002.no-section",
        answer=_default(
            lambda document, _request: (
                document | {"disabled": []} if "notice" in document else document
            )
        ),
    ),
    mutant(
        "opted-in-from-then-on",
        "Once the flag has revealed a locked tool, default answers have a member more.",
        "FR-002.unmoved",
        answer=Fresh(_opted_in),
    ),
    mutant(
        "limit-of-the-flag-stays",
        "The limit of a request with the flag is the default of later requests.",
        "FR-002.unmoved",
        limit=Fresh(_last_limit),
    ),
    mutant(
        "answers-in-a-newer-format",
        "Every default answer begins with a format number.",
        "SC-001.baseline",
        answer=lambda document, request: document if request.flag else {"version": 2, **document},
    ),
    mutant(
        "answers-spread-over-lines",
        "Answers are indented over several lines.",
        "SC-001.baseline",
        "SC-005.baseline",
        render=lambda document: json.dumps(document, ensure_ascii=False, indent=1),
    ),
)
