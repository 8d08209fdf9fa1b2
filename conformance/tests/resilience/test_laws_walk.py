"""Generated loads, ends that the walk allows, the blame for others."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from mcp_proxy_conformance.cli import main
from mcp_proxy_conformance.resilience.blame import (
    NOTIFICATION,
    Blame,
    blamed,
    is_open,
)
from mcp_proxy_conformance.resilience.load_case import Behaviour, LoadServer
from mcp_proxy_conformance.resilience.loader_description import OF_LOADERS
from mcp_proxy_conformance.resilience.scenarios import (
    load_case,
    played_space,
    scenarios,
)
from mcp_proxy_conformance.resilience.walk import WORDS, Reads, walk
from mcp_proxy_conformance.run.space.covering import given

Json = dict[str, Any]
CAN = frozenset(OF_LOADERS)


def test_another_seed_is_another_list_of_scenarios() -> None:
    """The same scenarios are drawn for a seed, others for another."""
    drawn = [given(played_space(), CAN, examples=5, seed=seed)[-5:] for seed in (0, 0, 1)]
    ids = [[each.id for each in several] for several in drawn]

    assert ids[0] == ids[1] != ids[2]


def test_a_loader_without_stdio_is_given_no_command() -> None:
    """No scenario of a loader without stdio has a command; some of one with it have."""
    over_stdio = [each.id for each in given(played_space(), CAN) if load_case(each, Reads()).needs]
    without = given(played_space(), CAN - {"stdio"})

    assert over_stdio
    assert [each.id for each in without if load_case(each, Reads(stdio=False)).needs] == []


def test_what_the_walk_forbids_is_blamed_and_nothing_else_is() -> None:
    """In every scenario, an allowed end, (status, attempts), is never blamed.

    An end that is not allowed is blamed where the source names the class of every failure.
    """
    for case in [load_case(each, Reads()) for each in scenarios()]:
        most = min(case.given.max_attempts, 2)
        for server in case.given.servers:
            firm = not any(
                is_open(behaviour) or behaviour.on == NOTIFICATION for behaviour in server.script
            )
            allowed = walk(server, most)
            if server.script[0].do == "malformed":
                continue
            for status, attempts in product(WORDS, range(1, most + 2)):
                blame = blamed(server, most, status, attempts, Reads())
                is_allowed = (status, attempts) in allowed.ends

                assert not (is_allowed and blame)
                assert not (firm and allowed.counted and not is_allowed and not blame)


LATE, FURTHER = (
    Blame("attempts", clause_ids) for clause_ids in (("R4.stops",), ("D1.once", "R4.stops"))
)
NOT_FOUND = Blame("status", ("P3.not-found",))


def script(*words: str) -> tuple[Behaviour, ...]:
    """Return a server's script: a number is an HTTP status, any other word a behaviour."""
    return tuple(
        Behaviour(do="status", code=int(word)) if word.isdecimal() else Behaviour(do=word)  # type: ignore[arg-type]
        for word in words
    )


@pytest.mark.parametrize(
    ("words", "most", "ends"),
    [
        (("503", "404", "healthy"), 3, {("permanent", 2)}),
        (("503", "healthy"), 1, {("transient", 1)}),
        (("503", "healthy"), 2, {("available", 2)}),
        (("503", "503", "healthy"), 3, {("transient", 2), ("available", 3)}),
        (("reset", "close", "403", "healthy"), 4, {("transient", 2), ("denied", 3)}),
        (("404", "healthy"), 4, {("permanent", 1)}),
        (("401", "503"), 4, {("denied", 1)}),
        (("healthy", "503"), 4, {("available", 1)}),
        (
            ("429", "healthy"),
            2,
            {("permanent", 1), ("denied", 1), ("transient", 1), ("available", 2)},
        ),
        (("429", "404"), 2, {("permanent", 1), ("denied", 1), ("transient", 1), ("permanent", 2)}),
        (("silence", "503"), 2, {("transient", 2)}),
        (("silence", "503", "503", "503"), 4, {("transient", n) for n in (2, 3, 4)}),
        (("set_cookie", "404"), 3, {("available", 1)}),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, tuple) else "",
)
def test_the_walk_ends_where_the_source_does(
    words: tuple[str, ...], most: int, ends: set[tuple[str, int]]
) -> None:
    """`walk` allows exactly these ends, (status, attempts), for scripts walked by hand.

    Only a transient failure leads to a further attempt, up to `most`.
    """
    server = LoadServer(server_id="alpha", tools=("add",), script=script(*words))

    assert walk(server, most).ends == ends


@pytest.mark.parametrize(
    ("words", "status", "seen", "blame"),
    [
        (("503", "404", "healthy"), "available", 3, [LATE]),
        (("503", "404", "healthy"), "transient", 2, [Blame("status", ("P3.not-found",))]),
        (("503", "404", "healthy"), "transient", 1, [Blame("attempts", ("T3.retried",))]),
        (("503", "healthy"), "transient", 1, [Blame("attempts", ("T3.retried", "R2.heals"))]),
        (("503", "healthy"), "transient", 2, [Blame("status", ("R2.heals",))]),
        (("503", "healthy"), "permanent", 1, [Blame("status", ("T3.server-error",))]),
        (
            ("404", "healthy"),
            "available",
            2,
            [Blame("attempts", ("P3.once", "R4.stops"))],
        ),
        (("404",), "permanent", 2, [Blame("attempts", ("P3.once", "R4.stops"))]),
        (("403", "healthy"), "available", 2, [FURTHER]),
        (("healthy",), "transient", 1, [Blame("status", ("O3.loaded",))]),
        (("healthy",), "available", 2, [Blame("attempts", ("R1.once",))]),
        (("reset",), "transient", 5, [Blame("attempts", ("O5.bounded",))]),
        (("html",), "available", 1, [Blame("status", ("X.failed",))]),
        (("html",), "denied", 1, []),
        (("503", "html"), "available", 2, [Blame("status", ("X.failed",))]),
        (("429", "healthy"), "transient", 2, []),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, tuple) else "",
)
def test_the_blame_is_laid_on_the_clause(
    words: tuple[str, ...], status: str, seen: int, blame: list[Blame]
) -> None:
    """With four attempts allowed, `blamed` lays a wrong end on exactly these clauses.

    An end that the source leaves open is blamed on none.
    """
    server = LoadServer(server_id="alpha", tools=("add",), script=script(*words))

    assert blamed(server, 4, status, seen, Reads()) == tuple(blame)


@pytest.mark.parametrize(
    ("behaviour", "status", "clauses"),
    [
        (Behaviour(do="status", on="later page", code=503), "available", ["O3.later-page"]),
        (Behaviour(do="status", on="later page", code=503), "permanent", []),
        (Behaviour(do="redirect", code=307, to="missing path"), "available", ["X.failed"]),
        (Behaviour(do="redirect", code=307, to="healthy path"), "available", []),
        (Behaviour(do="jsonrpc_error", on="tools/list", code=-32601, message="?"), "available", []),
        (Behaviour(do="stdio_exits"), "available", ["X.failed"]),
        (Behaviour(do="status", code=401, body="ext_authz timeout"), "available", ["X.failed"]),
        (Behaviour(do="status", code=403, body="ext_authz\ntimeout"), "denied", []),
        (Behaviour(do="status", code=403, body="Ext_Authz timeout"), "denied", []),
        (Behaviour(do="status", code=403, body="{ext_authz timeout}"), "denied", []),
        (
            Behaviour(do="status", code=403, body="ext_authz: a timeout"),
            "denied",
            ["T4.authorization-timeout"],
        ),
        (Behaviour(do="status", code=403, body="It took too long"), "transient", ["D2.ambiguous"]),
    ],
    ids=str,
)
def test_only_what_the_source_leaves_no_word_for_is_blamed(
    behaviour: Behaviour, status: str, clauses: list[str]
) -> None:
    """After one attempt at this behaviour, `blamed` lays this status on exactly these clauses.

    There are none where the source leaves the status open.
    """
    server = LoadServer(server_id="alpha", tools=("add",), script=(behaviour,))

    blames = blamed(server, 1, status, 1, Reads())

    assert [clause for blame in blames for clause in blame.clauses] == clauses


def test_a_named_failure_reported_as_available_fails_a_loader_without_classes() -> None:
    """If a loader does not classify, a 503 reported as available breaks X.failed only.

    Reported as transient it breaks nothing.
    """
    reads = Reads(classifies=False, retries=False)
    server = LoadServer(server_id="alpha", tools=("add",), script=script("503"))

    assert blamed(server, 1, "available", 1, reads) == (Blame("status", ("X.failed",)),)
    assert blamed(server, 1, "transient", 1, reads) == ()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{}", "missing required field `id`"),
        (None, "cannot read "),
    ],
)
def test_a_case_of_ones_own_that_cannot_be_used_is_refused(
    text: str | None, sentence: str, tmp_path: Path
) -> None:
    """`run loader --case` with a missing file, or one that is not a load case, exits with 2."""
    path = tmp_path / "own.json"
    if text is not None:
        path.write_text(text, encoding="utf-8")

    own = ["run", "loader", "--case", str(path), "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(main, own)

    assert done.exit_code == 2
    assert sentence in done.output
