"""Judgement of loads by their cases: outcomes, attempts, tools, errors, warnings, secrets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import permutations
from typing import Any

import msgspec

from mcp_proxy_conformance.catalogue.bounds import Bounds
from mcp_proxy_conformance.resilience.blame import (
    OF_ANY_FAILURE,
    OF_ATTEMPTS,
    OF_STATUS,
    Topic,
    shown,
    shown_by,
)
from mcp_proxy_conformance.resilience.controls import LoadOf, allowed, basis, status_of
from mcp_proxy_conformance.resilience.load_case import (
    CONTROLS,
    HEALTHY,
    SCENARIO,
    Expected,
    GivenLoad,
    LoadCase,
    LoadServer,
    healed,
)
from mcp_proxy_conformance.resilience.loader import Loaded, ServerOutcome
from mcp_proxy_conformance.resilience.loader_target import are_tools_of, bare_names
from mcp_proxy_conformance.resilience.loads import Load
from mcp_proxy_conformance.resilience.met import blames_of, is_unasked, unseen
from mcp_proxy_conformance.resilience.unanswered import is_healthy, waits_at
from mcp_proxy_conformance.resilience.walk import STATUSES, Reads, walk
from mcp_proxy_conformance.resilience.warnings import warnings
from mcp_proxy_conformance.upstream.faults import Seen
from mcp_proxy_conformance.verdict.comparison import Comparison, Open, about
from mcp_proxy_conformance.verdict.exposed_secret import shows
from mcp_proxy_conformance.verdict.result import Inconclusive, NotApplicable

ECHOED = "S1.secrets~echoed"
OF_ANY_FAILED = frozenset({
    "O1.one-each", "O2.word", "O3.no-tools", "O4.error", "O4.error~one-line", "S1.secrets",
    "S1.secrets~server-text", ECHOED, "S2.no-tools", "I4.bounded", "I6.none", "O4.none",
    *OF_ANY_FAILURE,
})  # fmt: skip
"""The clauses that can be judged even if another server may have failed the one in question."""
USER = " to a URL with user:password@, which some clients refuse by design, and quote then"
MOST_REQUESTS = 60
"""Requests of one attempt that are surely bounded, besides those for pages."""
LONG_WORD = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Says:
    """A loader's declarations, by which its loads are judged.

    `classifies`: report the class of a failure; `warns`: give warnings; `claims`: report its
    attempts. `prefix` stands before its tools' names; `reads` is how it reads failures.
    """

    classifies: bool
    warns: bool
    claims: bool
    prefix: str = ""
    reads: Reads


def judged(load: Load, load_of: LoadOf, says: Says) -> Comparison:
    """Compare a case's load with what the case allows; return the Comparison, not concluded.

    Wrong outcomes and status words are returned at once; all else is judged on the load that
    `basis` trusts, others being made by `load_of`. Raises Inconclusive if nothing shows that
    the observation means anything, NotApplicable if this machine cannot play a fault or nothing
    of it is declared, AdapterError if the loader breaks off with healthy servers alone. A load that
    was judged is not judged again.
    """
    if not load.compared:
        load.compared.append(_judged(load, load_of, says))
    return load.compared[0]


def _judged(load: Load, load_of: LoadOf, says: Says) -> Comparison:
    direct = Comparison()
    if not load.unmet and load.is_answered:
        _outcomes(direct, load)
        _statuses(direct, load, says)
        if direct.findings and "I1.isolated" not in load.case.clauses:
            return direct
    try:
        chosen = basis(load, load_of, classifies=says.classifies)
    except Inconclusive:
        if direct.findings:
            return direct
        raise
    clauses = chosen.load.case.clauses
    if not chosen.apart and not ("I1.isolated" in clauses or OF_ANY_FAILED.issuperset(clauses)):
        reason = "the failure of one server makes another fail; see I1.isolated"
        raise Inconclusive(reason, cause="other_clause", needs=["I1.isolated"])
    compared = _compared(chosen.load, load_of, says, apart=chosen.apart)
    signals = {server.server_id: server.signal for server in chosen.load.case.given.servers}
    compared.findings = [about(finding, signals) for finding in compared.findings]
    if not chosen.load.is_answered:
        reason = "the loader did not answer the load"
        return compared.leaving_open(load.case.clauses, reason, compared.broken)
    if compared.is_empty:
        raise NotApplicable(
            "this loader does not declare what the case checks", cause="not_declared"
        )
    return compared


def _compared(load: Load, load_of: LoadOf, says: Says, *, apart: bool) -> Comparison:
    """Compare all of a load with what its case allows; if it was not answered, only that.

    Unless `apart` (see `Basis`), attempts and some statuses are not compared.
    """
    case, compared = load.case, Comparison()
    faulty = any("available" not in each.status for each in case.then.values())
    answered(compared, load, shows=["I4.bounded"] if faulty else [])
    if not load.is_answered:
        return compared
    _outcomes(compared, load)
    _statuses(compared, load, says)
    loose = _loose(case)
    for server in case.given.servers:
        expected = case.then[server.server_id]
        outcome = load.loaded.outcome(server.server_id)
        is_own = _status(
            compared, load, server, load_of=load_of, says=says, apart=apart, loose=loose
        )
        if outcome is None:
            continue
        if apart and is_own:
            _attempts(compared, load, server, expected, says, loose=loose)
        _claims(compared, load, outcome, says)
        _requests(compared, load, server)
        _tools(compared, load, outcome, says, load_of)
        _error(compared, load, outcome)
    _secrets(compared, load)
    _shared(compared, load)
    _traffic(compared, load, load_of, says)
    if says.warns:
        warnings(compared, load, apart=apart)
    for name, expected in (case.again or {}).items():
        _again(compared, load, name, expected, load_of=load_of, says=says)
    if (second := load.second) is not None:
        _outcomes(compared, second)
        _statuses(compared, second, says)
        for outcome in second.loaded.answer.outcomes:
            if outcome.server_id in second.case.then:
                _claims(compared, second, outcome, says)
                _tools(compared, second, outcome, says, load_of)
                _error(compared, second, outcome)
        if says.warns:
            warnings(compared, second, apart=apart)
    elif load.again is not None:
        compared.truth(
            "the second load", "no answer", holds=not load.again.hung, allowed="an answer",
            breaks=["I4.bounded"], shows=[],
        )  # fmt: skip
        clears = {"I5.clears"} & {*case.clauses}
        compared.leaving_open(clears, "the loader did not answer the second load")
    return compared


def answered(compared: Comparison, load: Load, shows: Iterable[str]) -> None:
    """Add to `compared` whether the load was answered, which shows the clauses `shows` to hold.

    A hang breaks I4.bounded; breaking off I1.isolated beside a healthy server, else O1.one-each.
    """
    loaded, breaks = load.loaded, ["I4.bounded"]
    late = "" if loaded.late_s is None else f"; it ended {loaded.late_s:.0f} s later"
    hung = f"no answer; {waits_at(load.servers, load.case, load.waiting)}{late}"
    observed = hung if loaded.hung else "an answer"
    if loaded.broke:
        first, _, log = loaded.broke.partition("; its log ends with:\n")
        observed = f"{first}: {log.splitlines()[-1]}" if log else first
        well = any(is_healthy(server) for server in load.case.servers())
        breaks = ["I1.isolated"] if well else ["O1.one-each"]
    compared.truth("the load", observed, holds=loaded.is_answered, allowed="an answer",
                   breaks=breaks, shows=shows)  # fmt: skip


def _outcomes(compared: Comparison, load: Load) -> None:
    """Add to `compared` whether each server of the case, and no other, has one outcome."""
    ids = sorted(server.server_id for server in load.case.given.servers)
    names = sorted(outcome.server_id for outcome in load.loaded.answer.outcomes)
    names = [name for name in names if name not in CONTROLS or name in ids]
    clauses = ["O1.one-each"] if ids else ["I6.none"]
    compared.one_of(f"outcomes{load.when}", names, (ids,), breaks=clauses)


def _statuses(compared: Comparison, load: Load, says: Says) -> None:
    for server in load.case.given.servers if says.classifies else ():
        outcome = load.loaded.outcome(server.server_id)
        if outcome is not None:
            compared.one_of(f"status of {server.server_id}{load.when}", outcome.status,
                            sorted(STATUSES),
                            breaks=["O2.word"])  # fmt: skip


def _status(
    compared: Comparison, load: Load, server: LoadServer,
    *, load_of: LoadOf, says: Says, apart: bool, loose: frozenset[str],
) -> bool:  # fmt: skip
    """Add to `compared` whether the status of a server is one that its own behaviour allows.

    Nothing is added where another check judges the clause that it breaks, such as O2.word, or where
    the loader did not meet the failure. Return whether the server ended by its own behaviour: False
    if its status breaks I1.isolated, so that its attempts show nothing.
    """
    name, case = server.server_id, load.case
    expected = case.then[name]
    outcome = load.loaded.outcome(name)
    status = status_of(outcome, classifies=says.classifies)
    due = allowed(expected, classifies=says.classifies)
    if outcome is not None and says.classifies and outcome.status not in STATUSES:
        return True  # O2.word reports it
    if is_unasked(load, server):
        return True  # its failure was not met
    breaks: Iterable[str] = ()
    if status not in due:
        breaks = _broken_by_status(load, server, status, load_of, says, apart=apart)
        if not breaks:
            return True  # another check judges the clause that it breaks
    shows = _isolation(load, says)
    shows += _shown_by_status(case, server, status, says, loose) if apart else []
    compared.one_of(f"status of {name}", _shown_status(outcome, says), due,
                    breaks=breaks, shows=shows)  # fmt: skip
    return "I1.isolated" not in breaks


def _shown_status(outcome: ServerOutcome | None, says: Says) -> str | None:
    return None if outcome is None else status_of(outcome, classifies=says.classifies)


def _broken_by_status(
    load: Load, server: LoadServer, status: str, load_of: LoadOf, says: Says, *, apart: bool
) -> list[str]:
    """Return the clauses that this disallowed status of a server breaks.

    One that differs from its status in a comparable load breaks the clause about that, and one that
    is as allowed alone but not beside a failure I1.isolated; others break those about what the
    server did; unless the servers' outcomes are independent (`apart`), only those of any failure.
    `says` is what the loader declares. A missing outcome breaks none.
    """
    case = load.case
    compares = [c for c in ("I1.isolated", "I3.order", "N1.request-text") if c in case.clauses]
    broken: list[str] = [
        c for c in compares if _status_in(c, load, server, load_of, says) not in (status, "")
    ]
    if broken or load.loaded.outcome(server.server_id) is None:
        return broken
    blamed = _of_topic("status", load, server, status=status, says=says, known=OF_STATUS)
    beside = [o for o in load.loaded.answer.outcomes if o.server_id != server.server_id]
    if blamed and apart and any(other.status != "available" for other in beside):
        due = allowed(case.then[server.server_id], classifies=says.classifies)
        if _status_in("I1.isolated", load, server, load_of, says) in due:
            return ["I1.isolated"]
    return [clause for clause in blamed if apart or clause in OF_ANY_FAILURE]


def _of_topic(
    topic: Topic, load: Load, server: LoadServer, *, status: str, says: Says, known: frozenset[str]
) -> list[str]:
    """Return the clauses on `topic` that a server's load breaks if it ends with `status`.

    They are by the table of behaviours or, where that blames nothing, those of the case among
    `known`, the clauses on the topic. `says` is what the loader declares.
    """
    blames = blames_of(load, server, status, says.reads)
    if blames:
        return [clause for blame in blames if blame.topic == topic for clause in blame.clauses]
    if load.case.area == SCENARIO:
        return []  # it cites the clauses of all of its servers
    return [clause for clause in load.case.clauses if clause in known.difference(OF_ANY_FAILURE)]


def to_compare(load: Load, says: Says) -> Iterator[LoadCase]:
    """Yield the loads of single servers with which this one will be compared, to be begun ahead."""
    case, again = load.case, load.again or Loaded()
    for name, expected in (case.again or {}).items():
        status = _shown_status(again.outcome(name), says)
        if status not in (None, "available") and expected.status == ("available",):
            yield _at_first(case, name)
    for server in case.given.servers if "I1.isolated" in case.clauses else ():
        outcome = load.loaded.outcome(server.server_id)
        due = allowed(case.then[server.server_id], classifies=says.classifies)
        is_wrong = outcome is not None and status_of(outcome, classifies=says.classifies) not in due
        if is_wrong and (other := _case_for("I1.isolated", case, server)) is not None:
            yield other


def _status_in(clause: str, load: Load, server: LoadServer, load_of: LoadOf, says: Says) -> str:
    """Return the server's status in another load that the clause compares this one with.

    "" if a redirect leads to another server.
    """
    other = _case_for(clause, load.case, server)
    if other is None:
        return ""
    names = [each.server_id for each in other.given.servers]
    name = names[0] if len(names) == 1 else server.server_id
    return status_of(load_of(other).loaded.outcome(name), classifies=says.classifies)


def _case_for(clause: str, case: LoadCase, server: LoadServer) -> LoadCase | None:
    """Return the load that the clause compares this one with; None if there is none.

    For I3.order the servers are in reverse order; for I1.isolated the server is alone, for
    N1.request-text under another id too.
    """
    servers: tuple[LoadServer, ...] = (_alone(server),)
    if clause == "I3.order":
        servers = case.given.servers[::-1]
    elif any(behaviour.to for behaviour in server.script):
        return None
    if clause == "N1.request-text":
        servers = (LoadServer(server_id="alpha", tools=server.tools, timeout_s=server.timeout_s,
                          script=server.script),)  # fmt: skip
    given = msgspec.structs.replace(
        case.given, servers=servers, controls=clause == "I3.order" and case.given.controls
    )
    return _case_to_compare(case, f"for {clause} of {server.server_id}", given)


def _shown_by_status(
    case: LoadCase, server: LoadServer, status: str, says: Says, loose: frozenset[str]
) -> list[str]:
    """Return the clauses that this allowed status shows to hold."""
    most = case.given.max_attempts
    held = [
        clause_id
        for clause_id in shown_by(server, most, status, says.reads)
        if clause_id in OF_STATUS
    ]
    table = shown(server, most, says.reads.signatures) | {"O3.loaded"}
    held += sorted((loose & OF_STATUS) - table)
    for clause in ("I3.order", "N1.request-text"):
        held += [clause] if clause in case.clauses else []
    return held


def _isolation(load: Load, says: Says) -> list[str]:
    """Return [I1.isolated] if the case is about it and a server that had to fail did, else []."""
    then = load.case.then
    failed = (
        status_of(load.loaded.outcome(name), classifies=says.classifies) != "available"
        for name, expected in then.items()
        if "available" not in expected.status
    )
    is_shown = "I1.isolated" in load.case.clauses and len(then) > 1 and any(failed)
    return ["I1.isolated"] if is_shown else []


def _loose(case: LoadCase) -> frozenset[str]:
    """Return the clauses that a case cites although the table of behaviours has them for no server.

    A scenario cites only what the table may blame.
    """
    if case.area == SCENARIO:
        return frozenset()
    of_table = (shown(server, case.given.max_attempts) for server in case.given.servers)
    return frozenset(case.clauses).difference(*of_table)


def _attempts(
    compared: Comparison, load: Load, server: LoadServer, expected: Expected, says: Says,
    *, loose: frozenset[str],
) -> None:  # fmt: skip
    """Add to `compared` a server's own count of attempts beside the case's bounds.

    More than the load's bound breaks O5.bounded. Nothing is added if they cannot be counted, the
    source does not determine them, or a server is reported as available that was never contacted.
    """
    name, most = server.server_id, load.case.given.max_attempts
    attempts = load.attempts.get(name)
    if attempts is None or expected.attempts is None:
        return
    low, high = expected.attempts.min, min(expected.attempts.max, most)
    holds = low <= attempts <= high
    outcome = load.loaded.outcome(name)
    status = str(outcome.status) if outcome is not None else ""
    if holds and not attempts and status == "available":
        return  # nobody tried it
    if attempts > most:
        breaks = ["O5.bounded"]
    elif holds:
        breaks = []
    else:
        breaks = _of_topic("attempts", load, server, status=status, says=says,
                           known=OF_ATTEMPTS - {"O5.bounded"})  # fmt: skip
        if not breaks:
            return  # the source does not determine the number of attempts
    shows = [c for c in shown(server, most, says.reads.signatures) if c in OF_ATTEMPTS]
    shows += sorted((loose & OF_ATTEMPTS) - {"P4.no-traffic", *shows})
    compared.truth(f"attempts at {name}", attempts, holds=holds,
                   allowed=str(Bounds(min=low, max=high)),
                   breaks=breaks, shows=shows)  # fmt: skip


def _claims(compared: Comparison, load: Load, outcome: ServerOutcome, says: Says) -> None:
    attempts = load.attempts.get(outcome.server_id)
    if attempts is not None and says.claims and "O6.claimed" in load.case.clauses:
        compared.one_of(f"attempts reported for {outcome.server_id}{load.when}", outcome.attempts,
                        _fair_numbers(load, outcome, attempts), breaks=["O6.claimed"])  # fmt: skip


def _requests(compared: Comparison, load: Load, server: LoadServer) -> None:
    """Add to `compared` whether a server's attempts have a bounded number of requests."""
    requests = len(load.servers.log(server.server_id))
    most = (load.attempts.get(server.server_id) or 1) * (MOST_REQUESTS + len(server.tools))
    if requests and "O5.requests" in load.case.clauses:
        compared.truth(f"requests to {server.server_id}", requests, holds=requests <= most,
                       allowed=f"at most {most}", breaks=["O5.requests"])  # fmt: skip


def _fair_numbers(load: Load, outcome: ServerOutcome, attempts: int) -> tuple[int, ...]:
    """Return the numbers that a loader may report for a server that counted `attempts`.

    That number; also 1 for an available server, as the attempt of its success. More for a program,
    as one that is ended before it has spoken is not counted, and for attempts that ran out of time.
    """
    most, server = load.case.given.max_attempts, load.case.given.server(outcome.server_id)
    missed = most if server.transport == "stdio" else unseen(load, server)
    more = range(attempts + 1, min(attempts + missed, most) + 1)
    healed = outcome.status == "available" and attempts > 1
    return (attempts, *([1] if healed else []), *more)


def _tools(
    compared: Comparison, load: Load, outcome: ServerOutcome, says: Says, load_of: LoadOf
) -> None:
    """Add to `compared` whether a failed server has no tools, and an available one exactly its own.

    Those of an available one are a list, if only an empty one, and its error must be empty. Tools
    of a server that failed or had to, listed for it or for another one, break S2.no-tools too.
    Declared prefixes of names are no difference.
    """
    name, tools, when = outcome.server_id, _listed(outcome.tools), load.when
    then = load.case.then
    expected = then[name]
    server = load.case.given.server(name)
    if status_of(outcome, classifies=says.classifies) != "available":
        own = [tool for tool in tools if are_tools_of(name, [tool], server.tools, says.prefix)]
        compared.one_of(f"tools of {name}{when}", tools, ([],),
                        breaks=["O3.no-tools", *(["S2.no-tools"] if own else [])],
                        shows=["O3.no-tools",
                               *(["S2.no-tools"] if server.tools else [])])  # fmt: skip
        return
    _no_error(compared, f"error of {name}, which is available{when}", outcome)
    if outcome.tools is None:
        compared.one_of(f"tools of {name}{when}", None, ([],), breaks=["O3.own-tools"])
    listed = expected.tools
    last = server.behaviour(load.attempts.get(name) or 1)
    if load.case.area in (SCENARIO, "law") and server.signal and not when and last == HEALTHY:
        listed = server.listed  # whatever failed before, the last attempt did not
    if listed is None or "available" not in expected.status:
        return
    failed = [tool for other in load.case.given.servers if other is not server
              and "available" not in then[other.server_id].status
              for tool in other.tools]  # fmt: skip
    bare = bare_names(name, tools, listed, says.prefix)
    known, found = {*listed}, {*bare, *map(str, tools)}
    strange = [tool for tool, own in zip(tools, bare, strict=True)
               if own not in known and str(tool) not in known]  # fmt: skip
    strangers = [own for own in bare_names(name, strange, failed, says.prefix) if own in failed]
    shows = ["O3.own-tools", *(["S2.no-tools"] if failed else [])] if tools else []
    compared.one_of(f"tools of {name} that it did not list{when}", strange, ([],),
                    breaks=["O3.own-tools", *(["S2.no-tools"] if strangers else [])],
                    shows=shows)  # fmt: skip
    lost = [own for own in listed if own not in found]
    lost = lost[: max(0, len(listed) - len(tools))]  # the others are there by another name
    first = listed[: server.page_size]
    missing = ["O3.loaded"]
    if lost and _has_alone(load, server, lost, says, load_of):
        missing = ["I1.isolated"]
    compared.one_of(f"tools of {name} that were not loaded{when}",
                    [own for own in lost if own in first], ([],), breaks=missing,
                    shows=["O3.loaded"] if listed else ["O3.loaded~none"])  # fmt: skip
    if later := listed[len(first) :]:
        pages = ["O3.loaded~pages"]
        asked = any(request.paged for request in load.servers.log(name))
        compared.one_of(f"tools of later pages of {name} that were not loaded{when}",
                        [own for own in lost if own in later], ([],),
                        breaks=["O3.loaded"] if asked else pages, shows=pages)  # fmt: skip
    if not lost and not strange:
        whole = are_tools_of(name, tools, listed, says.prefix)
        compared.truth(f"tools of {name}{when}", tools, holds=whole, allowed=sorted(listed),
                       breaks=["O3.own-tools"], shows=[])  # fmt: skip


def _has_alone(
    load: Load, server: LoadServer, lost: Sequence[str], says: Says, load_of: LoadOf
) -> bool:
    """Whether a server whose tools are lost beside a failure has them alone, in a case about it."""
    case = load.case
    fails = any("available" not in each.status for each in case.then.values())
    about = "I1.isolated" in case.clauses and case.area != SCENARIO and fails
    if not about or (other := _case_for("I1.isolated", case, server)) is None:
        return False
    outcome = load_of(other).loaded.outcome(other.given.servers[0].server_id)
    tools = _listed(outcome.tools) if outcome is not None else []
    return {*lost} <= {*bare_names(server.server_id, tools, server.tools, says.prefix)}


def _listed(tools: Any) -> list[Any]:
    """Return the tools of an outcome as a list; any other non-empty value is one tool."""
    if isinstance(tools, list):
        return tools
    return [tools] if tools else []


def _no_error(compared: Comparison, path: str, outcome: ServerOutcome) -> None:
    compared.one_of(path, outcome.error, (None, ""), breaks=["O4.none"])


def _error(compared: Comparison, load: Load, outcome: ServerOutcome) -> None:
    """Add to `compared` whether the error of a failed server is a text of one line.

    It must not contain a long word of the bodies that the server sent, but for a secret in a case
    about repeated secrets, which another comparison judges.
    """
    if outcome.status == "available":
        return
    name, error = outcome.server_id, outcome.error
    is_text = isinstance(error, str) and bool(error.strip())
    compared.truth(f"error of {name}{load.when}", error, holds=is_text, allowed="a string",
                   breaks=["O4.error"])  # fmt: skip
    if not is_text:
        return
    lines = len(error.strip().splitlines())
    compared.truth(f"lines of the error of {name}{load.when}", error, holds=lines == 1,
                   allowed="one line", breaks=["O4.error~one-line"])  # fmt: skip
    sent = next((server.script for server in load.case.servers() if server.server_id == name), ())
    repeated = load.case.given.secrets if ECHOED in load.case.clauses else ()
    words = [
        word
        for behaviour in sent
        for word in _long_words(behaviour.body or "")
        if not any(secret in word for secret in repeated)
    ]
    quoted = sorted({word for word in words if word in error})
    compared.one_of(f"words of the server in the error of {name}{load.when}", quoted, ([],),
                    breaks=["S1.secrets~server-text"],
                    shows=["S1.secrets~server-text"] if words else [])  # fmt: skip


@cache
def _long_words(body: str) -> frozenset[str]:
    """Return the words of a body that are too long to occur in an error by chance."""
    return frozenset(word for word in body.split() if len(word) >= LONG_WORD)


def _secrets(compared: Comparison, load: Load) -> None:
    """Add to `compared` whether the answer shows a secret of the case, if it has secrets.

    A secret in the answer is a finding; none counts only if the loader was seen to send the secret:
    else the clauses are open for a case about secrets, and not compared for others. In a case about
    repeated secrets, one in the answer that no server repeats leaves that clause open instead.
    """
    secrets = load.case.given.secrets
    if not secrets:
        return
    leaked = [secret for secret in secrets if shows(secret, load.loaded.line)]
    unused = next(
        (server.server_id for server in load.case.given.servers if _is_unused(load, server)), ""
    )
    own = tuple(clause for clause in load.case.clauses if clause.startswith("S1."))
    if unused and not leaked:
        reason = f"the loader never sent {unused} the secret of its connection"
        if {"S1.secrets", ECHOED}.intersection(own):
            compared.open.append(Open(clauses=own, reason=reason, cause="control"))
        return
    if ECHOED in own and not all(_is_repeated(secret, load.case) for secret in leaked):
        reason = "the loader shows a secret that no server repeats"
        compared.open.append(Open(clauses=(ECHOED,), reason=reason, cause="control"))
        return
    users = any(server.userinfo for server in load.case.given.servers)
    compared.one_of(f"secrets in the answer{USER if users else ''}", leaked, ([],),
                    breaks=own or ["S1.secrets"])  # fmt: skip


def _is_repeated(secret: str, case: LoadCase) -> bool:
    return any(
        secret in (behaviour.body or "") + (behaviour.message or "")
        for server in case.given.servers
        for behaviour in server.script
    )


def _is_unused(load: Load, server: LoadServer) -> bool:
    """Whether the server got HTTP requests, none with a case's secret in path or authorization.

    False if its URL has credentials.
    """
    requests = [request for request in load.servers.log(server.server_id) if request.verb]
    sent = " ".join(f"{request.path} {request.authorization}" for request in requests)
    held = any(secret in sent for secret in load.case.given.secrets)
    return bool(requests) and not held and not server.userinfo


def _traffic(compared: Comparison, load: Load, load_of: LoadOf, says: Says) -> None:
    """Add to `compared` whether a malformed connection causes attempts at the other servers.

    Those are attempts at a server beyond all that its script allows, which it does not get in a
    load without that connection. Nothing is added for a server that did not end in both loads as
    its script allows: another fault, such as of isolation, explains its attempts.
    """
    if (without := without_malformed(load.case)) is None:
        return
    twin = load_of(without)
    for server in without.servers():
        name, ends = server.server_id, walk(server, load.case.given.max_attempts, reads=says.reads)
        due = allowed(Expected(status=tuple(ends.statuses)), classifies=says.classifies)
        statuses = {status_of(each.loaded.outcome(name), classifies=says.classifies)
                    for each in (load, twin)}  # fmt: skip
        attempts, usual = load.attempts.get(name), twin.attempts.get(name)
        if attempts is None or usual is None or ends.attempts is None:
            continue
        low, high = ends.attempts
        if statuses <= {*due} and low <= min(attempts, usual) and usual <= high:
            compared.truth(f"attempts at {name} beside a malformed connection", attempts,
                           holds=attempts <= high, allowed=f"at most {high}; {usual} without it",
                           breaks=["P4.no-traffic"])  # fmt: skip


def without_malformed(case: LoadCase) -> LoadCase | None:
    """Return a case about them without its malformed connections; None for any other case."""
    servers = case.given.servers if "P4.no-traffic" in case.clauses else ()
    others = tuple(server for server in servers if server.script[0].do != "malformed")
    if len(others) == len(servers):
        return None
    given = msgspec.structs.replace(case.given, servers=others)
    return _case_to_compare(case, "without the malformed", given)


def _case_to_compare(case: LoadCase, name: str, given: GivenLoad) -> LoadCase:
    """Return the case with `given` instead of its own, for a load that is only compared.

    Its id ends with `name`; its expectations do not matter.
    """
    then = {server.server_id: Expected(status=("available",)) for server in given.servers}
    return msgspec.structs.replace(
        case, id=f"{case.id} {name}", given=given, then=then, again=None, heals=False
    )


def _shared(compared: Comparison, load: Load) -> None:
    """Add to `compared` whether a cookie, or a session id, of one server is sent to another (S3).

    That it is not is shown only if the owner gave one and the other one was contacted. A session id
    that crosses a redirect within one origin is left out: both may be one server to the protocol.
    """
    asked = [server for server in load.case.given.servers if load.servers.log(server.server_id)]
    for owner, other in permutations(asked, 2):
        token, log = load.servers.token(owner.server_id), load.servers.log(other.server_id)
        is_one_origin = len({own.same_origin_as or own.server_id for own in (owner, other)}) == 1
        led = {behaviour.to for behaviour in (*owner.script, *other.script)}
        for clause, noun, word, carried in GIVEN:
            if (
                clause == "S3.session"
                and is_one_origin
                and led & {owner.server_id, other.server_id}
            ):
                continue
            sent = [seen.method or seen.verb for seen in log if token in (carried(seen) or "")]
            gives = any(behaviour.do == word for behaviour in owner.script)
            where = "of the same origin" if is_one_origin else "of another origin"
            compared.one_of(f"requests to {other.server_id}, {where}, with the {noun} of "
                            f"{owner.server_id}", sent, ([],),
                            breaks=[clause], shows=[clause] if gives and log else [])  # fmt: skip


GIVEN: tuple[tuple[str, str, str, Callable[[Seen], str | None]], ...] = (
    ("S3.cookie", "cookie", "set_cookie", lambda seen: seen.cookie),
    ("S3.session", "session id", "session", lambda seen: seen.session),
)
"""What a client is given to send back: its clause, its name, the behaviour, what carries it."""


def _again(
    compared: Comparison, load: Load, name: str, expected: Expected, *, load_of: LoadOf, says: Says
) -> None:
    """Add to `compared` a server's status in the second load beside `expected`.

    It must be available or not, as expected, or under an X. clause as in the first load. Nothing is
    added if the first load took other attempts than the case assumes, unless servers heal.
    """
    second = load.again.outcome(name) if load.again is not None else None
    status = _shown_status(second, says)
    if is_unasked(load, load.case.given.server(name)):
        return  # its failure was not met
    if not load.case.heals and not _went_as_expected(load, name):
        return  # its script is at another step than the case assumes
    unnamed = [c for c in load.case.clauses if c.startswith("X.") and c not in OF_ANY_FAILURE]
    if unnamed:
        before = _shown_status(load.loaded.outcome(name), says)
        compared.one_of(f"status of {name} in the second load", status, (before,), breaks=unnamed)
    elif (is_well := {word == "available" for word in expected.status}) != {True, False}:
        holds = (status == "available") in is_well
        is_kept = holds or _is_well_at_first(load, name, load_of, says) or True not in is_well
        compared.truth(f"status of {name} in the second load", status,
                       holds=holds, allowed=list(expected.status),
                       breaks=["I5.clears" if is_kept else "O3.loaded"])  # fmt: skip


def _is_well_at_first(load: Load, name: str, load_of: LoadOf, says: Says) -> bool:
    """Whether a server that has recovered is available where no load was before."""
    first = load_of(_at_first(load.case, name))
    return status_of(first.loaded.outcome(name), classifies=says.classifies) == "available"


def _at_first(case: LoadCase, name: str) -> LoadCase:
    """Return a first load of a server as it is once it has recovered, alone."""
    server = case.given.server(name)
    return _case_to_compare(
        case,
        f"without a first load of {name}",
        msgspec.structs.replace(case.given, servers=(_alone(healed(server)),)),
    )


def _alone(server: LoadServer) -> LoadServer:
    return msgspec.structs.replace(server, same_origin_as=None, same_url_as=None)


def _went_as_expected(load: Load, name: str) -> bool:
    """Whether a server saw as many attempts in the first load as expected; True if unknown."""
    expected, attempts = load.case.then[name].attempts, load.attempts.get(name)
    return expected is None or attempts is None or expected.min <= attempts <= expected.max
