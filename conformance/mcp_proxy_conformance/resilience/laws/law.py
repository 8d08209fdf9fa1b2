"""Laws: what holds of every load, whatever the servers do."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from mcp_proxy_conformance.catalogue.load_case import Behaviour, LoadCase, Server, healed
from mcp_proxy_conformance.resilience.blame import (
    OF_ATTEMPTS,
    OF_STATUS,
    Topic,
    blamed,
    is_open,
    shown_by,
)
from mcp_proxy_conformance.resilience.laws.worlds import case_of, once
from mcp_proxy_conformance.resilience.loader_target import are_tools_of
from mcp_proxy_conformance.resilience.loading import Loaded, Outcome
from mcp_proxy_conformance.resilience.loads import Load
from mcp_proxy_conformance.resilience.walk import Reads, walk
from mcp_proxy_conformance.resilience.warnings import WORDS
from mcp_proxy_conformance.verdict.comparison import Comparison


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """What the loader declares that bears on its laws."""

    reads: Reads
    tool_prefix: str = ""

    def word(self, outcome: Outcome | None) -> str:
        """The status; of a loader that does not classify, available or failed."""
        if outcome is None:
            return "no outcome"
        known = self.reads.classifies or outcome.status == "available"
        return str(outcome.status) if known else "failed"

    def words(self, server: Server, most: int) -> set[str]:
        """What `word` may be for a load of that server."""
        allowed = walk(server, most, reads=self.reads).statuses
        if any(map(is_open, server.script)):
            return {*WORDS, "failed"}
        return {one if self.reads.classifies or one == "available" else "failed" for one in allowed}


Several = Sequence[Load]
"""The load of a case, and those of what else its law asks for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Law:
    """One law: the clauses it can convict of, the loads it needs, what it says of them.

    `of_one`: it judges what a server does by itself; seen beside others only it is I1.isolated.
    """

    clauses: tuple[str, ...]
    judge: Callable[[LoadCase, Several, Declared], Comparison]
    others: Callable[[LoadCase, Reads], list[LoadCase]] = lambda _case, _reads: []
    of_one: bool = False


def told(server: Server) -> str:
    """A script in one line."""
    return ", then ".join(map(_in_words, server.script))


def _in_words(one: Behaviour) -> str:
    seconds = f"{one.seconds:g} s" if one.seconds is not None else ""
    body = repr(one.body) if one.body else ""
    on = f"on {one.on}" if one.on != "initialize" else ""
    said = (one.do, one.code, one.where, body, seconds, one.by and f"by {one.by}", on)
    return " ".join(str(word) for word in (*said, one.connection) if word not in (None, ""))


def _each(case: LoadCase, loaded: Loaded) -> Iterator[tuple[Server, Outcome]]:
    for server in case.given.servers:
        if (outcome := loaded.outcome(server.server_id)) is not None:
            yield server, outcome


def _by_the_table(topic: Topic) -> Callable[[LoadCase, Several, Declared], Comparison]:
    def judge(case: LoadCase, loads: Several, declared: Declared) -> Comparison:
        compared, most = Comparison(), case.given.max_attempts
        for server, outcome in _each(case, loads[0].loaded):
            name, seen = server.server_id, loads[0].seen[server.server_id]
            if topic == "status" and outcome.status not in WORDS:
                compared.one_of(f"word of {name}", outcome.status, sorted(WORDS),
                                breaks=["O2.word"])  # fmt: skip
                continue
            every = blamed(server, most, outcome.status, seen, declared.reads)
            ends = walk(server, most, reads=declared.reads).ends
            allowed = sorted(f"{word} after {number}" for word, number in ends)
            for found in (one for one in every if one.topic == topic):
                compared.truth(f"{topic} of {name}", f"{outcome.status} after {seen}", holds=False,
                               allowed=allowed, breaks=found.clauses)  # fmt: skip
            if not every and (topic == "status" or seen is not None):
                known = OF_STATUS if topic == "status" else OF_ATTEMPTS
                words = ["O2.word"] if topic == "status" else []
                clauses = [one for one in shown_by(server, most, outcome.status, declared.reads)
                           if one in known]  # fmt: skip
                compared.observed.update([*clauses, *words])
        return compared

    return judge


def _outcomes(case: LoadCase, loads: Several, declared: Declared) -> Comparison:
    compared, loaded = Comparison(), loads[0].loaded
    ids = sorted(one.server_id for one in case.given.servers)
    compared.one_of("outcomes", sorted(_ids(loaded)), (ids,), breaks=["O1.one-each"])
    for server, outcome in _each(case, loaded):
        tools = outcome.tools if isinstance(outcome.tools, list) else []
        name = server.server_id
        if outcome.status != "available":
            own = [t for t in tools if are_tools_of(name, [t], server.tools, declared.tool_prefix)]
            compared.one_of(f"tools of {name}", tools, ([],),
                            breaks=["O3.no-tools", *(["S2.no-tools"] if own else [])],
                            shows=["O3.no-tools",
                                   *(["S2.no-tools"] if server.tools else [])])  # fmt: skip
            said = isinstance(outcome.error, str) and bool(outcome.error.strip())
            compared.truth(f"error of {name}", outcome.error, holds=said, allowed="a text",
                           breaks=["O4.error"])  # fmt: skip
        elif not any(map(is_open, server.script)):
            short = len(tools) < len(server.tools)
            own_tools = are_tools_of(name, tools, server.tools, declared.tool_prefix)
            compared.truth(f"tools of {name}", tools, holds=own_tools, allowed=sorted(server.tools),
                           breaks=["O3.loaded" if short else "O3.own-tools"],
                           shows=["O3.loaded", "O3.own-tools"] if tools else [])  # fmt: skip
    return compared


def _ids(loaded: Loaded) -> list[str]:
    return [one.server_id for one in loaded.told.outcomes]


def _claims(case: LoadCase, loads: Several, _: Declared) -> Comparison:
    compared = Comparison()
    for server, outcome in _each(case, loads[0].loaded):
        seen = loads[0].seen[server.server_id]
        if seen is not None:
            compared.one_of(f"attempts claimed of {server.server_id}", outcome.attempts, (seen,),
                            breaks=["O6.claimed"])  # fmt: skip
    return compared


def backwards(case: LoadCase, reads: Reads) -> list[LoadCase]:
    """The same servers the other way round, where that is another load."""
    servers = case.given.servers
    if len(servers) == 1:
        return []
    return [once(case_of(servers[::-1], case.given.max_attempts, reads))]


def alone(case: LoadCase, reads: Reads) -> list[LoadCase]:
    """Each server in a load of its own, where it has others beside it."""
    most, servers = case.given.max_attempts, case.given.servers
    if len(servers) == 1:
        return []
    return [once(case_of([one], most, reads)) for one in servers]


def _order(case: LoadCase, loads: Several, declared: Declared) -> Comparison:
    compared = Comparison()
    for other in loads[1:]:
        for server in case.given.servers:
            both = _both(server, loads[0], other, declared)
            _same(compared, f"status of {server.server_id}", ["I3.order"], both,
                  declared.words(server, case.given.max_attempts))  # fmt: skip
    return compared


def _isolation(case: LoadCase, loads: Several, declared: Declared) -> Comparison:
    compared = Comparison()
    failed = any(outcome.status != "available" for _, outcome in _each(case, loads[0].loaded))
    for server, other in zip(case.given.servers, loads[1:], strict=False):
        both = _both(server, loads[0], other, declared)
        _same(compared, f"status of {server.server_id}", ["I1.isolated"], both,
              declared.words(server, case.given.max_attempts), counts=failed)  # fmt: skip
        told_of = [one.loaded.outcome(server.server_id) for one in (loads[0], other)]
        tools = [one.tools for one in told_of if one and one.status == "available"]
        if len(tools) == len(told_of) and all(isinstance(one, list) for one in tools):
            compared.one_of(f"tools of {server.server_id}", sorted(map(str, tools[0])),
                            (sorted(map(str, tools[1])),), breaks=["I1.isolated"],
                            shows=["I1.isolated"] if failed else [])  # fmt: skip
    return compared


def _both(server: Server, one: Load, other: Load, declared: Declared) -> tuple[str, str]:
    told_of = (load.loaded.outcome(server.server_id) for load in (one, other))
    first, second = (declared.word(outcome) for outcome in told_of)
    return first, second


def _same(
    compared: Comparison, path: str, clauses: Collection[str], both: tuple[str, str],
    allowed: Collection[str], *, counts: bool = True,
) -> None:  # fmt: skip
    """Two statuses of one server, only one of which is allowed, are not the same.

    `counts`: whether that they are the same shows anything.
    """
    one, other = both
    differ = one != other and (one in allowed) != (other in allowed)
    compared.truth(path, one, holds=not differ, allowed=f"{other}, as otherwise", breaks=clauses,
                   shows=clauses if counts else ())  # fmt: skip


def _clears(case: LoadCase, loads: Several, declared: Declared) -> Comparison:
    compared, again = Comparison(), loads[0].again
    for server in case.given.servers if again is not None else ():
        if server.heals and again is not None and healed(server) != server:
            word = declared.word(again.outcome(server.server_id))
            compared.one_of(f"again: status of {server.server_id}", word, ("available",),
                            breaks=["I5.clears"])  # fmt: skip
    return compared


LAWS: dict[str, Law] = {
    "status": Law(
        clauses=("T1.timeout", "T2.cut", "T3.server-error", "T3.notification",
                 "T4.authorization-timeout", "P2.refused", "P3.not-found", "P4.malformed",
                 "D1.denied", "D2.ambiguous", "O2.word", "O3.loaded", "R2.heals"),
        judge=_by_the_table("status"), of_one=True,
    ),
    "attempts": Law(
        clauses=("T1.retried", "T2.retried", "T3.retried", "T4.retried", "P3.once", "D1.once",
                 "D2.once", "O5.bounded", "R1.once", "R2.heals", "R4.stops"),
        judge=_by_the_table("attempts"),
    ),
    "claims": Law(clauses=("O6.claimed",), judge=_claims),
    "outcomes": Law(
        clauses=("O1.one-each", "O3.no-tools", "O3.own-tools", "O3.loaded", "O4.error",
                 "S2.no-tools"),
        judge=_outcomes,
    ),
    "order": Law(clauses=("I3.order",), judge=_order, others=backwards),
    "isolation": Law(clauses=("I1.isolated",), judge=_isolation, others=alone),
    "clears": Law(clauses=("I5.clears",), judge=_clears, of_one=True),
}  # fmt: skip
"""The laws, by the names that checks know them by."""
