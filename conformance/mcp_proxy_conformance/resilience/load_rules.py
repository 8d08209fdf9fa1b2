"""Lint rules for load cases: consistent parts, outcomes that the specification allows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from mcp_proxy_conformance.authoring.corpus import Corpus
from mcp_proxy_conformance.authoring.documents import Document
from mcp_proxy_conformance.authoring.finding import LintFinding
from mcp_proxy_conformance.authoring.kinds import Kind
from mcp_proxy_conformance.catalogue.bounds import Bounds
from mcp_proxy_conformance.catalogue.json_file import laid_out, lean
from mcp_proxy_conformance.catalogue.requirement import Catalogue
from mcp_proxy_conformance.resilience.load_case import (
    Expected,
    LoadCase,
    LoadServer,
    faults,
    healed,
)
from mcp_proxy_conformance.resilience.walk import Allowed, walk

WRITE = "expect what the source allows for its `script` (`explain CLAUSE` names the place)"
SLOW, TIMELY = 2.0, 0.5
"""Multiples of a timeout: a late answer takes at least SLOW, a timely one at most TIMELY."""


def load_findings(document: Document, known: Corpus) -> Iterator[LintFinding]:
    """Yield the findings on a load case whose data are valid under the schema.

    They are on parts that do not fit together; only if they fit, on the id, on outcomes that
    the source does not allow, and on servers that cannot show what the case is about.
    """
    case: LoadCase = document.value
    broken = list(faults(case, known.catalogue))
    for sentence in broken:
        fault, _, repair = sentence.rpartition("; ")
        yield document.finding_at((), fault or sentence, repair or "correct it")
    if broken:
        return
    if not case.id.startswith(f"{case.area}-"):
        fault = f"the id does not begin with the area {case.area!r}"
        yield document.finding_at(("id",), fault, f"call it {case.area}-{case.id}")
    for place, fault, repair in (*_outcomes(case, known.catalogue), *_worlds(case, document)):
        yield document.finding_at(place, fault, repair)


def expectations(case: LoadCase) -> list[tuple[str, LoadServer, Expected, int]]:
    """Return (`then` or `again`, server, expected, number of loads) for each expectation of a case.

    The number is 1 for `then`. For `again` it is 2, counting the first load, with the same server;
    but 1, with the healed server, if the case heals.
    """
    rows = [("then", server, case.then[server.server_id], 1) for server in case.given.servers]
    again = case.again or {}
    loads = 1 if case.heals else 2
    for server in case.given.servers if again else ():
        subject = healed(server) if case.heals else server
        rows.append(("again", subject, again[server.server_id], loads))
    return rows


def comparable(expected: Expected, allowed: Allowed) -> tuple[object, object]:
    """Return (what a case expects, what the source allows), each as (statuses, attempts, tools).

    Attempts, a pair of least and most, and tools are None in both if either side leaves them
    open.
    """
    attempts = expected.attempts and (expected.attempts.min, expected.attempts.max)
    walked = allowed.attempts if attempts is not None else None
    tools = expected.tools if allowed.tools is not None else None
    return (
        (frozenset(expected.status), attempts if walked else None, tools),
        (allowed.statuses, walked, allowed.tools if expected.tools is not None else None),
    )


def advises(expected: Expected, allowed: Allowed, most: int) -> bool:
    """Whether the statuses and attempts that an advisory case expects are within those allowed.

    `most` bounds the attempts if the source leaves them open.
    """
    low, high = allowed.attempts or (0, most)
    attempts = expected.attempts
    fits = attempts is None or low <= attempts.min <= attempts.max <= high
    return fits and set(expected.status) <= allowed.statuses


Wrong = Iterator[tuple[tuple[str | int, ...], str, str]]


def _outcomes(case: LoadCase, requirements: Catalogue) -> Wrong:
    """Yield (place, fault, repair) for each expectation that the source does not allow.

    It must equal what is allowed, or be within it if all clauses are advisory. Also for each that
    demands a second attempt although no clause of the case needs the capability `retries`.
    """
    clauses = [requirements.clauses[name] for name in case.clauses]
    convicts = any(clause.level == "required" for clause in clauses)
    retried = any("retries" in clause.capability for clause in clauses)
    for member, server, expected, loads in expectations(case):
        allowed = walk(server, case.given.max_attempts, loads=loads)
        expectation, walked = comparable(expected, allowed)
        place = (member, server.server_id)
        agrees = (
            expectation == walked
            if convicts
            else advises(expected, allowed, case.given.max_attempts)
        )
        if not agrees:
            words = ", ".join(sorted(allowed.statuses))
            tries = (
                ""
                if allowed.attempts is None
                else f" (attempts: {Bounds(min=allowed.attempts[0], max=allowed.attempts[1])})"
            )
            yield place, f"the source allows {words} for {server.server_id}{tries}", WRITE
        if expected.attempts is not None and expected.attempts.min > 1 and not retried:
            fault = f"a second attempt is expected for {server.server_id}"
            yield place, fault, "cite a clause that needs the capability `retries`"


def _worlds(case: LoadCase, document: Document) -> Wrong:
    """Yield (place, fault, repair) for servers that cannot show what the case is about.

    Faults are answers neither late nor timely, a tool name on two servers, a listed secret in
    no server, and no secret where S1.secrets is cited.
    """
    for number, server in enumerate(case.given.servers):
        for step, action in enumerate(server.script):
            if action.do == "slow" and TIMELY < (action.seconds or 0) / server.timeout_s < SLOW:
                place = ("given", "servers", number, "script", step)
                fault = "whether this answer is late depends on the speed of the machine"
                repair = "set `seconds` to at most half of the timeout, or at least twice"
                yield place, fault, repair
    tools = Counter(tool for server in case.servers() for tool in server.tools)
    for name in [tool for tool, count in tools.items() if count > 1]:
        yield ("given", "servers"), f"two servers have the tool {name}", "rename one of the tools"
    texts = list(_texts(document.data["given"]["servers"]))
    for number, secret in enumerate(case.given.secrets):
        if not any(secret in text for text in texts):
            fault = "this secret is not in any server, so it could never leak"
            yield ("given", "secrets", number), fault, "put it into a member of a server"
    if "S1.secrets" in case.clauses and not case.given.secrets:
        yield ("given",), "the case cites S1.secrets but has no secrets", "list them in `secrets`"


def _texts(value: object) -> Iterator[str]:
    """Yield every string inside a JSON value, the names of members too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, item in value.items():
            yield str(name)
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def kinds() -> Sequence[Kind]:
    """Return the kinds of files that authors of resilience write."""
    return [
        Kind("load case", "load-case", "*.json", frozenset({"given", "again"}), LoadCase,
             giving="each_load", named=True, rules=load_findings)
    ]  # fmt: skip


def page(case: LoadCase) -> Iterator[str]:
    """Yield what `explain` adds on a case: the load, and what must come of it."""
    own = lean(case)
    for name in ("given", "then", "again"):
        if name in own:
            yield f"\n{name}: {laid_out(own[name])}"
