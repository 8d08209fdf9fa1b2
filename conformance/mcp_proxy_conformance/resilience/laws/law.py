"""Laws of loads by name: what holds for any servers, with any scripts, in any order."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from mcp_proxy_conformance.resilience.blame import (
    OF_ATTEMPTS,
    OF_STATUS,
    Topic,
    is_open,
    shown_by,
)
from mcp_proxy_conformance.resilience.judged import answered, fair_numbers
from mcp_proxy_conformance.resilience.laws.worlds import case_of, once
from mcp_proxy_conformance.resilience.load_case import Behaviour, LoadCase, LoadServer, healed
from mcp_proxy_conformance.resilience.loader import Loaded, ServerOutcome
from mcp_proxy_conformance.resilience.loader_target import are_tools_of
from mcp_proxy_conformance.resilience.loads import Load
from mcp_proxy_conformance.resilience.met import blames_of
from mcp_proxy_conformance.resilience.walk import STATUSES, Reads, walk
from mcp_proxy_conformance.verdict.comparison import Comparison


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """The loader's declarations that affect its laws."""

    reads: Reads
    tool_prefix: str = ""

    def word(self, outcome: ServerOutcome | None) -> str:
        """Return an outcome's status word; `missing` for None.

        Of a loader that does not classify, it is `available` or `failed`.
        """
        if outcome is None:
            return "missing"
        known = self.reads.classifies or outcome.status == "available"
        return str(outcome.status) if known else "failed"

    def words(self, server: LoadServer, most: int) -> set[str]:
        """Return the values of `word` that the source allows for a load of this server.

        `most` bounds the attempts. A behaviour that the source leaves open allows all but
        `missing`.
        """
        if any(map(is_open, server.script)):
            return {*STATUSES, "failed"}
        allowed = walk(server, most, reads=self.reads).statuses
        return {
            status if self.reads.classifies or status == "available" else "failed"
            for status in allowed
        }


Several = Sequence[Load]
"""The load of a case, and the other loads that its law needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadLaw:
    """One law of loads: the clauses it can find broken, its judge, and the further loads it needs.

    `of_one`: it judges one server by itself; a breach seen only beside others is I1.isolated.
    `needs_answers`: it judges loads only if the loader answered them.
    """

    clauses: tuple[str, ...]
    judge: Callable[[LoadCase, Several, Declared], Comparison]
    others: Callable[[LoadCase, Reads], list[LoadCase]] = lambda _case, _reads: []
    of_one: bool = False
    needs_answers: bool = True


def script_in_words(server: LoadServer) -> str:
    """Return the script of a server in one line: its behaviours, joined by "then"."""
    return ", then ".join(map(_in_words, server.script))


def _in_words(behaviour: Behaviour) -> str:
    """Return a behaviour in one line: its word and, where they are not None, its details.

    These are code, place, body, seconds, kind of cut, request unless `initialize`, and connection.
    """
    seconds = f"{behaviour.seconds:g} s" if behaviour.seconds is not None else ""
    body = json.dumps(behaviour.body, ensure_ascii=False) if behaviour.body else ""
    on = f"on {behaviour.on}" if behaviour.on != "initialize" else ""
    words = (
        behaviour.do,
        behaviour.code,
        behaviour.where,
        body,
        seconds,
        behaviour.by and f"by {behaviour.by}",
        on,
    )
    handed = behaviour.connection or {}
    members = ", ".join(f"{name} {json.dumps(value)}" for name, value in handed.items())
    connection = members or ("" if behaviour.connection is None else "with no members")
    return " ".join(str(word) for word in (*words, connection) if word not in (None, ""))


def _each(case: LoadCase, loaded: Loaded) -> Iterator[tuple[LoadServer, ServerOutcome]]:
    """Yield (server, its outcome) in the case's order; servers without an outcome are left out."""
    for server in case.given.servers:
        if (outcome := loaded.outcome(server.server_id)) is not None:
            yield server, outcome


def _by_the_table(topic: Topic) -> Callable[[LoadCase, Several, Declared], Comparison]:
    """Return the judge of the law on this topic: each server ends as its script allows."""

    def judge(case: LoadCase, loads: Several, declared: Declared) -> Comparison:
        """Compare each server's status, or its attempts, with what its script allows.

        A status that is not one of the four words breaks O2.word. An allowed end shows the
        clauses of the topic to hold.
        """
        compared, most = Comparison(), case.given.max_attempts
        for server, outcome in _each(case, loads[0].loaded):
            name, attempts = server.server_id, loads[0].attempts[server.server_id]
            if topic == "status" and outcome.status not in STATUSES:
                compared.one_of(f"status of {name}", outcome.status, sorted(STATUSES),
                                breaks=["O2.word"])  # fmt: skip
                continue
            blames = blames_of(loads[0], server, outcome.status, declared.reads)
            ends = sorted(walk(server, most, reads=declared.reads).ends)
            for blame in (each for each in blames if each.topic == topic):
                path, observed, due = _sides(topic, server, outcome, attempts, ends)
                compared.truth(path, observed, holds=False, allowed=due, breaks=blame.clauses)
            if not blames and (topic == "status" or attempts is not None):
                known = OF_STATUS if topic == "status" else OF_ATTEMPTS
                words = ["O2.word"] if topic == "status" else []
                clauses = [c for c in shown_by(server, most, outcome.status, declared.reads)
                           if c in known]  # fmt: skip
                compared.observed.update([*clauses, *words])
        return compared

    return judge


def _sides(
    topic: Topic, server: LoadServer, outcome: ServerOutcome, attempts: int | None,
    ends: Sequence[tuple[str, int]],
) -> tuple[str, object, object]:  # fmt: skip
    """Return (path, observed value, allowed values) for a finding on the topic.

    `ends` are the allowed (status, attempts) pairs. The path also names the observed status, for
    attempts, or attempts, for a status; the allowed values are those paired with it or, if no pair
    has it, all pairs in words.
    """
    name, status = server.server_id, outcome.status
    if topic == "attempts":
        numbers = [number for word, number in ends if word == status]
        pairs = [f"{number} if reported as {word}" for word, number in ends]
        return f"attempts at {name}, reported as {status}", attempts, numbers or " or ".join(pairs)
    words = [word for word, number in ends if attempts in (number, None)]
    pairs = [f"{word}{_after(number)}" for word, number in ends]
    place = f"status of {name}{_after(attempts)}"
    return place, status, list(dict.fromkeys(words)) or " or ".join(pairs)


def _after(attempts: int | None) -> str:
    """Return " after N attempts"; empty if they were not counted."""
    if attempts is None:
        return ""
    return f" after {attempts} attempt{'' if attempts == 1 else 's'}"


def _outcomes(case: LoadCase, loads: Several, declared: Declared) -> Comparison:
    """Law: each server has one outcome, either with its own tools or with an error.

    A failed one has no tools and a text as error; an available one no error and, unless its
    script is open, exactly its tools.
    """
    compared, loaded = Comparison(), loads[0].loaded
    ids = sorted(server.server_id for server in case.given.servers)
    compared.one_of(
        "outcomes",
        sorted([outcome.server_id for outcome in loaded.answer.outcomes]),
        (ids,),
        breaks=["O1.one-each"],
    )
    for server, outcome in _each(case, loaded):
        tools = outcome.tools if isinstance(outcome.tools, list) else []
        name = server.server_id
        if outcome.status != "available":
            own = [t for t in tools if are_tools_of(name, [t], server.tools, declared.tool_prefix)]
            compared.one_of(f"tools of {name}", tools, ([],),
                            breaks=["O3.no-tools", *(["S2.no-tools"] if own else [])],
                            shows=["O3.no-tools",
                                   *(["S2.no-tools"] if server.tools else [])])  # fmt: skip
            is_text = isinstance(outcome.error, str) and bool(outcome.error.strip())
            compared.truth(f"error of {name}", outcome.error, holds=is_text, allowed="a string",
                           breaks=["O4.error"])  # fmt: skip
            continue
        compared.one_of(f"error of {name}, which is available", outcome.error, (None, ""),
                        breaks=["O4.none"])  # fmt: skip
        if not any(map(is_open, server.script)):
            short = len(tools) < len(server.tools)
            own_tools = are_tools_of(name, tools, server.tools, declared.tool_prefix)
            compared.truth(f"tools of {name}", tools, holds=own_tools, allowed=sorted(server.tools),
                           breaks=["O3.loaded" if short else "O3.own-tools"],
                           shows=["O3.loaded", "O3.own-tools"] if tools else [])  # fmt: skip
    return compared


def _claims(case: LoadCase, loads: Several, _: Declared) -> Comparison:
    """Law: the loader reports as many attempts as the server counted, or 1 after a success.

    Servers that cannot count are left out.
    """
    compared = Comparison()
    for server, outcome in _each(case, loads[0].loaded):
        attempts = loads[0].attempts[server.server_id]
        if attempts is not None:
            compared.one_of(f"attempts reported for {server.server_id}", outcome.attempts,
                            fair_numbers(outcome, attempts), breaks=["O6.claimed"])  # fmt: skip
    return compared


def backwards(case: LoadCase, reads: Reads) -> list[LoadCase]:
    """Return [the same servers in reverse order, loaded once], which the law of order compares.

    [] for a single server.
    """
    servers = case.given.servers
    if len(servers) == 1:
        return []
    return [once(case_of(servers[::-1], case.given.max_attempts, reads))]


def alone(case: LoadCase, reads: Reads) -> list[LoadCase]:
    """Return a case per server that loads it by itself, once, for the law of isolation to compare.

    [] for a single server.
    """
    most, servers = case.given.max_attempts, case.given.servers
    if len(servers) == 1:
        return []
    return [once(case_of([server], most, reads)) for server in servers]


def _order(case: LoadCase, loads: Several, declared: Declared) -> Comparison:
    """Law: a server's status does not depend on the order of the servers.

    Different statuses in the two orders are a breach only if the source allows just one of them.
    """
    compared = Comparison()
    for other in loads[1:]:
        for server in case.given.servers:
            both = _both(server, loads[0], other, declared)
            _same(compared, f"status of {server.server_id}", ["I3.order"], both,
                  declared.words(server, case.given.max_attempts))  # fmt: skip
    return compared


def _isolation(case: LoadCase, loads: Several, declared: Declared) -> Comparison:
    """Law: a server has the same status as in a load by itself, and the same tools.

    Tools are compared if it is available in both. Equal ones show the law to hold only if a server
    of the case failed.
    """
    compared = Comparison()
    failed = any(outcome.status != "available" for _, outcome in _each(case, loads[0].loaded))
    for server, other in zip(case.given.servers, loads[1:], strict=False):
        both = _both(server, loads[0], other, declared)
        _same(compared, f"status of {server.server_id}", ["I1.isolated"], both,
              declared.words(server, case.given.max_attempts),
              counts=failed and "available" in both)  # fmt: skip
        outcomes = [load.loaded.outcome(server.server_id) for load in (loads[0], other)]
        tools = [outcome.tools for outcome in outcomes if outcome and outcome.status == "available"]
        if len(tools) == len(outcomes) and all(isinstance(listed, list) for listed in tools):
            compared.one_of(f"tools of {server.server_id}", sorted(map(str, tools[0])),
                            (sorted(map(str, tools[1])),), breaks=["I1.isolated"],
                            shows=["I1.isolated"] if failed else [])  # fmt: skip
    return compared


def _both(server: LoadServer, first_load: Load, other: Load, declared: Declared) -> tuple[str, str]:
    """Return a server's status words (in the first load, in the other); `missing` without one."""
    outcomes = (load.loaded.outcome(server.server_id) for load in (first_load, other))
    first, second = (declared.word(outcome) for outcome in outcomes)
    return first, second


def _same(
    compared: Comparison, path: str, clauses: Collection[str], both: tuple[str, str],
    allowed: Collection[str], *, counts: bool = True,
) -> None:  # fmt: skip
    """Add to `compared` two statuses of one server, (in this load, in the other).

    They break the clauses if they differ and just one is allowed. `counts`: whether equal ones
    show the clauses to hold.
    """
    first, other = both
    differ = first != other and (first in allowed) != (other in allowed)
    compared.truth(path, first, holds=not differ, allowed=f"{other}, as in the other load",
                   breaks=clauses, shows=clauses if counts else ())  # fmt: skip


def _clears(case: LoadCase, loads: Several, declared: Declared) -> Comparison:
    """Law: a server that has healed is available in the second load, if there was one.

    Servers that healing does not change are left out.
    """
    compared, again = Comparison(), loads[0].again
    for server in case.given.servers if again is not None else ():
        if server.heals and again is not None and healed(server) != server:
            word = declared.word(again.outcome(server.server_id))
            path = f"status of {server.server_id} in the second load"
            compared.one_of(path, word, ("available",), breaks=["I5.clears"])
    return compared


def _ends(_case: LoadCase, loads: Several, _: Declared) -> Comparison:
    """Law: a load is answered, whatever its servers do; nothing for one that was not tried.

    It is not shown by a load whose second one, if there was one, was not answered.
    """
    compared, again = Comparison(), loads[0].again
    if not loads[0].untried:
        well = again is None or again.is_answered
        answered(compared, loads[0], shows=["I4.bounded"] if well else [])
    return compared


LAWS: dict[str, LoadLaw] = {
    "ends": LoadLaw(
        clauses=("I4.bounded", "I1.isolated", "O1.one-each"), judge=_ends, needs_answers=False
    ),
    "status": LoadLaw(
        clauses=("T1.timeout", "T1.notification", "T2.cut", "T2.notification",
                 "T3.server-error", "T3.notification", "D1.notification",
                 "T4.authorization-timeout", "P2.refused", "P3.not-found", "P4.malformed",
                 "D1.denied", "D2.ambiguous", "O2.word", "O3.loaded", "R2.heals", "X.failed"),
        judge=_by_the_table("status"), of_one=True,
    ),
    "attempts": LoadLaw(
        clauses=("T1.retried", "T2.retried", "T3.retried", "T4.retried", "P3.once", "D1.once",
                 "D2.once", "O5.bounded", "R1.once", "R2.heals", "R4.stops"),
        judge=_by_the_table("attempts"), of_one=True,
    ),
    "claims": LoadLaw(clauses=("O6.claimed",), judge=_claims),
    "outcomes": LoadLaw(
        clauses=("O1.one-each", "O3.no-tools", "O3.own-tools", "O3.loaded", "O4.error", "O4.none",
                 "S2.no-tools"),
        judge=_outcomes,
    ),
    "order": LoadLaw(clauses=("I3.order",), judge=_order, others=backwards),
    "isolation": LoadLaw(clauses=("I1.isolated",), judge=_isolation, others=alone),
    "clears": LoadLaw(clauses=("I5.clears",), judge=_clears, of_one=True),
}  # fmt: skip
"""The laws, by the names that checks use."""
