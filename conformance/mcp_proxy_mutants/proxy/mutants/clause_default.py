"""Faults of default output: what an answer without the flag must not show, clause by clause."""

from collections.abc import Callable, Sequence

from mcp_proxy_mutants.proxy.mutant import Mutant, mutant
from mcp_proxy_mutants.proxy.swapping import decide
from mcp_proxy_mutants.proxy.wrapping import Request
from mcp_proxy_reference.facts import Json, Match
from mcp_proxy_reference.gateway import Gateway
from mcp_proxy_reference.policy import window

Windows = tuple[Sequence[Match], Sequence[Match]]
DIGITS = 6


def _default(change: Callable[[Json, Request], Json]) -> Callable[[Json, Request], Json]:
    """Change answers without the flag alone."""

    def answer(document: Json, request: Request) -> Json:
        return document if request.flag else change(document, request)

    return answer


def _told_off(document: Json, request: Request) -> Json:
    given = "include_disabled" in request.arguments
    return document | {"include_disabled": False} if given else document


def _rounded(document: Json, request: Request) -> Json:
    if "include_disabled" not in request.arguments:
        return document
    tools = [one | {"score": round(one["score"], DIGITS)} for one in document["tools"]]
    return document | {"tools": tools}


def _agents_see_less(document: Json, request: Request) -> Json:
    given = "include_disabled" in request.arguments and request.agent.servers is not None
    return document | {"tools": document["tools"][:-1]} if given else document


def _empty_beside_note(document: Json, _request: Request) -> Json:
    return document | {"disabled": []} if "notice" in document else document


def _map_at_full_limit(document: Json, request: Request) -> Json:
    full = request.limit > len(document["tools"]) > 0
    return document | {"remediation": {}} if full else document


def _leaking(pick: Callable[[Match], str | None]) -> Callable[[Gateway], None]:
    """Write something of every locked hit into the usage line of an answer without the flag."""

    def swap(gateway: Gateway) -> None:
        leaked: list[str] = []

        def noting(found: Sequence[Match], limit: int) -> Windows:
            callables, rest = window(found, limit)
            leaked[:] = [text for hit in rest if (text := pick(hit))]
            return callables, rest

        def answer(document: Json, request: Request) -> Json:
            if request.flag or not leaked:
                return document
            usage = f"{document['usage_instructions']} Not offered: {', '.join(leaked)}."
            return document | {"usage_instructions": usage}

        decide(gateway, window=noting, answer=answer)

    return swap


def _user_locked_name(hit: Match) -> str | None:
    return hit.facts.tool.name if hit.facts.disabled_by_user and not hit.facts.denied else None


def _rest_of_all(found: Sequence[Match], limit: int) -> Windows:
    callables, rest = window(found, limit)
    cut = [hit for hit in found if hit.may_call][limit:]
    return callables, [*rest, *cut]


def _neighbours(gateway: Gateway) -> None:
    """Reveal every config-locked tool of each server that has a hit."""

    def wide(found: Sequence[Match], limit: int) -> Windows:
        callables, rest = window(found, limit)
        hits = {hit.facts.tool.key for hit in found}
        known = gateway.known()
        servers = dict.fromkeys(hit.facts.tool.server for hit in found)
        more = [
            Match(facts=facts, score=0.0, may_call=False)
            for server in servers
            for facts in known[server]
            if facts.denied and facts.tool.key not in hits
        ]
        return callables, [*rest, *more]

    decide(gateway, window=wide)


MUTANTS: tuple[Mutant, ...] = (
    mutant("false-is-echoed", "An explicit false is repeated in the answer.",
           "FR-002.absent-is-false", answer=_default(_told_off)),
    mutant("false-rounds-scores", "Scores are rounded where the flag is given as false.",
           "FR-002.absent-is-false", answer=_default(_rounded)),
    mutant("false-drops-an-agents-hit", "Agents that give the flag as false lose the last result.",
           "FR-002.absent-is-false", answer=_default(_agents_see_less)),
    mutant("empty-section-beside-note", "An answer with the note has an empty section as well.",
           "FR-002.no-section", answer=_default(_empty_beside_note)),
    mutant("empty-map-below-limit", "Answers with room to spare carry an empty remediation map.",
           "FR-002.no-section", answer=_default(_map_at_full_limit)),
    mutant("user-locked-names-in-usage", "The usage line of default answers names locked tools.",
           "FR-002.no-locked-names", swap=_leaking(_user_locked_name)),
    mutant("locked-texts-in-usage", "The usage line of default answers quotes locked tools.",
           "FR-002.no-locked-names", swap=_leaking(lambda hit: hit.facts.tool.description)),
    mutant("cut-off-hits-listed", "Callable hits beyond the limit are listed as undetermined.",
           "FR-002.no-locks-no-change", window=_rest_of_all),
    mutant("neighbours-of-hits-listed", "A hit reveals its server's other config-locked tools.",
           "FR-002.no-locks-no-change", swap=_neighbours),
)  # fmt: skip
