"""Loads for laws, generated and fixed: servers with any scripts, and their allowed outcomes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Literal

import msgspec
from hypothesis import strategies as st

from mcp_proxy_conformance.resilience.blame import is_open
from mcp_proxy_conformance.resilience.load_case import (
    AttemptBounds,
    Behaviour,
    Expected,
    GivenLoad,
    LoadCase,
    LoadServer,
    Request,
    Status,
    healed,
)
from mcp_proxy_conformance.resilience.walk import Reads, signal_of, walk
from mcp_proxy_conformance.upstream.faults.port import LINUX
from mcp_proxy_conformance.upstream.faults.reserved_name import why_resolvable

Script = tuple[Behaviour, ...]
Recipe = tuple[list[list[Behaviour]], int]
NAMES = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta")
WORDS: tuple[Status, ...] = ("available", "transient", "permanent", "denied")
MOST_ATTEMPTS, LONGEST = 4, 4
SHORT_S, LONG_S, LATE_S, SOON_S = 0.6, 2.0, 3.0, 0.05
"""Timeouts of servers with and without a wait; delays of a late answer and of a slow one."""
WAITED_FOR = {"silence", "banner", "backlog", "stdio_garbage", "empty"}
RARELY = 8
"""One server in this many fails as a whole connection."""
MOST_WAITING = 2
"""Servers of a load that may keep a loader waiting: one that loads them in turn must end too."""
ENDS: tuple[Literal["fin", "rst"], ...] = ("fin", "rst")
PLACES: tuple[Literal["before", "inside"], ...] = ("before", "inside")
ASKED: tuple[Request, ...] = ("initialize", "tools/list")
ANY: tuple[Request, ...] = (*ASKED, "notifications/initialized")
DENIALS = (
    (401, ""), (401, "token missing"), (403, ""), (403, "access denied by policy"),
    (403, '{"error": 1010}'), (403, "the check took too long"),
)  # fmt: skip
MARKED = ("ext_authz: timeout", "ext_authz error: request timeout")

WELL = (
    Behaviour(do="healthy"),
    Behaviour(do="set_cookie"),
    Behaviour(do="session"),
    Behaviour(do="slow", on="any", seconds=SOON_S),
)
ERRORS = [
    Behaviour(do="status", on=on, code=code) for on, code in product(ANY, (500, 502, 503, 504))
]
CUTS = [
    *(Behaviour(do="reset", on=on) for on in ANY),
    *(Behaviour(do="close", on=on) for on in ANY),
    *(Behaviour(do="cut_json", on=on, by=by) for on, by in product(ASKED, ENDS)),
    *(
        Behaviour(do="cut_sse", on=on, where=where, by="fin")
        for on, where in product(ASKED, PLACES)
    ),
]  # fmt: skip
LATE = [
    *(Behaviour(do="silence", on=on) for on in ANY),
    *(Behaviour(do="slow", on=on, seconds=LATE_S) for on in ASKED),
]
AUTHORIZATION = [
    Behaviour(do="status", on=on, code=403, body=body) for on, body in product(ASKED, MARKED)
]
DENIED = [
    Behaviour(do="status", on=on, code=code, body=body or None)
    for on, (code, body) in product(ANY, DENIALS)
]
NOT_FOUND = [Behaviour(do="status", on=on, code=404) for on in (*ANY, "any")]
OPEN = [
    *(Behaviour(do="status", code=code) for code in (400, 405, 408, 409, 410, 425, 429, 451)),
    *(Behaviour(do="html", on=on) for on in ASKED),
    *(Behaviour(do="broken_json", on=on) for on in ASKED),
    *(Behaviour(do="jsonrpc_error", on=on, code=-32603, message="Internal error") for on in ASKED),
    Behaviour(do="jsonrpc_error", on="tools/list", code=-32601, message="Method not found"),
    Behaviour(do="empty"),
    Behaviour(do="redirect", code=307, to="healthy path"),
    Behaviour(do="redirect", code=307, to="missing path"),
    Behaviour(do="status", code=403, body="no healthy upstream"),
    Behaviour(do="status", code=403, body='{"detail": "ext_authz service: request timeout"}'),
    Behaviour(do="status", code=403, body="access denied by policy", by="rst"),
    Behaviour(do="result", on="tools/list", result={"tools": [{"nam": 3}]}),
    Behaviour(do="result", on="tools/list", result={"tools": "none"}),
    Behaviour(do="result", on="tools/list", result=[]),
    Behaviour(do="result", result="ready"),
]
GROUPS: tuple[Sequence[Behaviour], ...] = (
    WELL, ERRORS, CUTS, LATE, AUTHORIZATION, DENIED, NOT_FOUND, OPEN,
)  # fmt: skip
"""Behaviours that can be combined in a script; all groups are equally likely."""


def connections() -> list[Behaviour]:
    """Return the faults of a whole connection that this machine can play.

    They cannot be combined with other behaviours in a script.
    """
    behaviours = [
        Behaviour(do="refused"),
        Behaviour(do="malformed", connection={}),
        Behaviour(do="malformed", connection={"url": "http://"}),
        Behaviour(do="plain_for_tls"),
        Behaviour(do="banner"),
        Behaviour(do="stdio_missing"),
        Behaviour(do="stdio_exits"),
        Behaviour(do="stdio_garbage"),
    ]
    behaviours += [Behaviour(do="backlog")] if LINUX else []
    return behaviours + ([Behaviour(do="unresolvable")] if why_resolvable() is None else [])


def single(group: Sequence[Behaviour], number: int = 0) -> Script:
    """Return a script of one behaviour: number `number` of the group, from 0."""
    return (group[number],)


TOURS: tuple[tuple[int, tuple[Script, ...]], ...] = (
    (2, (single(WELL), single(ERRORS), single(CUTS), single(LATE), single(AUTHORIZATION),
         single(DENIED), single(DENIED, 4), single(NOT_FOUND))),
    (3, ((ERRORS[2], WELL[0]), (ERRORS[0], NOT_FOUND[0], WELL[0]), (CUTS[3], DENIED[2], WELL[0]),
         (DENIED[0], WELL[0]), (NOT_FOUND[0], WELL[0]), (ERRORS[8], WELL[0]),
         (Behaviour(do="refused"),), (Behaviour(do="malformed", connection={}),))),
    (2, tuple(single(OPEN, number) for number in (0, 8, 11, 13, 17, 19))),
    (1, (*(single(OPEN, number) for number in range(len(OPEN) - 4, len(OPEN))), single(WELL))),
)  # fmt: skip
"""Loads of every run, however few are generated: they cover each clause that can be broken."""


def recipes() -> st.SearchStrategy[Recipe]:
    """Return the strategy that generates loads: scripts of 1 to 8 servers, 1 to 4 attempts.

    A script has one to four behaviours or, for one server in eight, a fault of the whole
    connection.
    """
    several = st.lists(st.one_of(*map(st.sampled_from, GROUPS)), min_size=1, max_size=LONGEST)
    whole = st.sampled_from([[behaviour] for behaviour in connections()])
    scripts = st.integers(1, RARELY).flatmap(lambda n: whole if n == RARELY else several)
    return st.tuples(
        st.lists(scripts, min_size=1, max_size=len(NAMES)), st.integers(1, MOST_ATTEMPTS)
    )


def tours(reads: Reads) -> list[LoadCase]:
    """Return the fixed loads that every run tries besides generated ones."""
    return [a_load(scripts, most, reads) for most, scripts in TOURS]


def built(recipe: Recipe, reads: Reads) -> LoadCase:
    """Return the load case of a recipe, with what is allowed to a loader that has these `reads`."""
    several, most = recipe
    return a_load([tuple(script) for script in several], most, reads)


def a_load(scripts: Iterable[Script], most: int, reads: Reads) -> LoadCase:
    """Return a load case whose servers, at most eight, have these scripts and one tool each.

    Behaviours become healthy where a third server would keep the loader waiting, or a declared
    signature changes their meaning. For a loader without stdio, a server over stdio becomes one
    that refuses connections.
    """
    servers, waiting = [], 0
    for name, scripted in zip(NAMES, scripts, strict=False):
        script = scripted if reads.stdio else tuple(map(_over_http, scripted))
        waiting += any(map(_is_waited_for, script))
        kept = script if waiting <= MOST_WAITING else tuple(map(_at_once, script))
        kept = tuple(_undeclared(behaviour, reads) for behaviour in kept)
        late = any(map(_is_waited_for, kept))
        servers.append(
            LoadServer(
                server_id=name,
                tools=(f"{name}_tool",),
                timeout_s=SHORT_S if late else LONG_S,
                script=kept,
            )
        )
    return case_of(servers, most, reads)


def _over_http(behaviour: Behaviour) -> Behaviour:
    """Return the behaviour, or a refused connection if it is one over stdio."""
    return Behaviour(do="refused") if behaviour.has_command else behaviour


def _is_waited_for(behaviour: Behaviour) -> bool:
    """Whether a loader has to wait until its timeout at this behaviour."""
    return behaviour.do in WAITED_FOR or (behaviour.do == "slow" and behaviour.seconds == LATE_S)


def _at_once(behaviour: Behaviour) -> Behaviour:
    """Return the behaviour, or a healthy one if a loader would wait for it."""
    return Behaviour(do="healthy") if _is_waited_for(behaviour) else behaviour


def _undeclared(behaviour: Behaviour, reads: Reads) -> Behaviour:
    """Return the behaviour, or a healthy one if a declared signature changes its meaning."""
    is_other = signal_of(behaviour, LONG_S, reads) != signal_of(behaviour, LONG_S)
    return Behaviour(do="healthy") if is_other else behaviour


def case_of(servers: Sequence[LoadServer], most: int, reads: Reads) -> LoadCase:
    """Return a case that loads these servers, heals them, and loads again, without controls.

    It expects the outcomes allowed before and after, in at most `most` attempts; its id is a
    digest.
    """
    given = GivenLoad(max_attempts=most, servers=tuple(servers), controls=False)
    digest = hashlib.sha256(msgspec.json.encode(given)).hexdigest()
    return LoadCase(
        id=f"law-{digest[:12]}",
        area="law",
        title="Each server ends as its script allows.",
        source=("Status semantics & transitions", "Error → status mapping"),
        clauses=("O1.one-each",),
        given=given,
        then={server.server_id: expected(server, most, reads) for server in servers},
        again={server.server_id: expected(healed(server), most, reads) for server in servers},
        heals=True,
    )


def once(case: LoadCase) -> LoadCase:
    """Return the case without its second load, under an id of its own."""
    return msgspec.structs.replace(case, id=f"{case.id}-once", again=None, heals=False)


def expected(server: LoadServer, most: int, reads: Reads) -> Expected:
    """Return the outcome that a case expects of a server: what the source allows for its script.

    `most` bounds the attempts. If the source leaves a behaviour open, every failure and any
    tools are allowed too. Attempts are None if they cannot be counted, or the connection is
    malformed.
    """
    allowed = walk(server, most, reads=reads)
    anything = any(is_open(behaviour) for behaviour in server.script)
    numbers = allowed.attempts if server.script[0].do != "malformed" else None
    return Expected(
        status=tuple(
            word for word in WORDS if word in allowed.statuses or (anything and word != "available")
        ),
        attempts=AttemptBounds(min=numbers[0], max=numbers[1]) if numbers else None,
        tools=None if anything else allowed.tools,
    )
