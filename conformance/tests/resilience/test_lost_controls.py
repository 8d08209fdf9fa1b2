"""Loaders that lose all servers to one, load none, fail none or send no secret: what is judged."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mcp_proxy_conformance.catalogue.requirement import catalogue, profile
from mcp_proxy_conformance.resilience.embedded import EmbeddedLoader, LoaderHost
from mcp_proxy_conformance.resilience.load_bench import LoadBench
from mcp_proxy_conformance.resilience.load_case import LoadCase, load_cases
from mcp_proxy_conformance.resilience.loader_target import loader_target
from mcp_proxy_conformance.resilience.loads import Loads
from mcp_proxy_conformance.upstream.faults import servers
from mcp_proxy_conformance.verdict.result import Inconclusive, NotApplicable
from mcp_proxy_reference.load import loaded

Json = dict[str, Any]
Edit = Callable[[Json, Json], None]
BASIC = frozenset(profile("resilience-basic").clauses)
ASKED = [
    case
    for case in load_cases()
    if BASIC.intersection(case.clauses)
    and not any(catalogue().clause(name).capability for name in case.clauses)
]
"""The cases that judge a loader without capabilities."""
LOST = {"status": "failed", "tools": [], "error": "One of the servers cannot be loaded."}


@dataclass(frozen=True)
class ChangedAnswers:
    """The reference's loader, whose answers `edit(answer, request)` changes in place."""

    edit: Edit
    headers: bool = True

    def start(self) -> Callable[[Json], Awaitable[Json]]:
        """Return a coroutine function that loads by the reference, then applies `edit`.

        Unless `headers` is set, the servers' headers are not sent.
        """

        async def load(request: Json) -> Json:
            """Load by the reference, with or without headers, and let `edit` change the answer."""
            answer = await loaded(request if self.headers else without_headers(request))
            self.edit(answer, request)
            return answer

        return load


def without_headers(request: Json) -> Json:
    """Return the request of a load with empty headers for each server."""
    return request | {"servers": [server | {"headers": {}} for server in request["servers"]]}


def all_or_none(answer: Json, _request: Json) -> None:
    """Make all servers failed, without tools, if one is not available: it breaks I1.isolated.

    The healthy control is lost in each load with a failing server.
    """
    if any(outcome["status"] != "available" for outcome in answer["outcomes"]):
        for outcome in answer["outcomes"]:
            outcome.update(LOST)


def nothing(answer: Json, _request: Json) -> None:
    """Make every server failed, without tools, so that nothing can be judged."""
    for outcome in answer["outcomes"]:
        outcome.update(LOST)


def believed(answer: Json, _request: Json) -> None:
    """Make every server available, without an error, so that nothing is known of errors."""
    for outcome in answer["outcomes"]:
        outcome.update(status="available", error=None)


def with_tools(answer: Json, request: Json) -> None:
    """Make all servers failed if one is, each with the tool `add`, which none may have then."""
    all_or_none(answer, request)
    for outcome in answer["outcomes"]:
        outcome["tools"] = ["add"] if outcome["status"] == "failed" else outcome["tools"]


def without_errors(answer: Json, request: Json) -> None:
    """Make all servers failed if one is, without the error text that each must have (O4.error)."""
    all_or_none(answer, request)
    for outcome in answer["outcomes"]:
        outcome["error"] = None


def with_secrets(answer: Json, request: Json) -> None:
    """Make all servers failed if one is, with errors that quote the servers and their secrets."""
    all_or_none(answer, request)
    for outcome in answer["outcomes"]:
        outcome["error"] = outcome["error"] and f"cannot load {request['servers']}"


def once_for_all(answer: Json, request: Json) -> None:
    """Make all servers failed if one is, and keep one outcome only, where each needs its own."""
    all_or_none(answer, request)
    if any(outcome["status"] == "failed" for outcome in answer["outcomes"]):
        answer["outcomes"] = answer["outcomes"][:1]


@pytest.fixture
def verdicts(host: LoaderHost, tmp_path: Path) -> Callable[..., dict[str, dict[str, str]]]:
    """Return a function that judges load cases on a loader whose answers `edit` changes.

    It returns {clause of the basic profile: {case id: verdict}}.
    """

    def judged(
        edit: Edit, cases: list[LoadCase] = ASKED, **members: Any
    ) -> dict[str, dict[str, str]]:
        """Judge these cases, by default all of loaders without capabilities.

        Return {clause of the basic profile: {case id: verdict}}.
        """
        target = loader_target(lambda _: EmbeddedLoader(ChangedAnswers(edit, **members), host), ())
        loads = Loads(target.loader, tmp_path)
        loads.plan(cases)
        bench, by_clause = LoadBench(loads, target), dict[str, dict[str, str]]()
        for case in cases:
            for clause, verdict in ended(bench, case).items():
                by_clause.setdefault(clause, {})[case.id] = verdict
        loads.close()
        return {name: own for name, own in by_clause.items() if name in BASIC}

    return judged


def ended(bench: LoadBench, case: LoadCase) -> dict[str, str]:
    """Return {clause: verdict} of a case: fail if broken, pass if observed, else inconclusive.

    If the case is inconclusive or not applicable, so are all of its clauses.
    """
    try:
        compared = bench.judged(case)
    except Inconclusive:
        return dict.fromkeys(case.clauses, "inconclusive")
    except NotApplicable:
        return dict.fromkeys(case.clauses, "not_applicable")
    unsettled = {clause: "inconclusive" for finding in compared.open for clause in finding.clauses}
    observed = dict.fromkeys(compared.observed, "pass")
    return unsettled | observed | dict.fromkeys(compared.broken, "fail")


BOUNDED = "I4.bounded"
"""The clause that a busy machine leaves open; none of these loaders is slow."""


def worst(by_clause: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Return {clause: its worst verdict}: fail, then inconclusive, pass, not applicable."""
    order = ("fail", "inconclusive", "pass", "not_applicable")
    return {name: min(own.values(), key=order.index) for name, own in by_clause.items()}


Verdicts = Callable[..., dict[str, dict[str, str]]]


@pytest.mark.proof
def test_who_loses_all_to_one_breaks_isolation_alone(verdicts: Verdicts) -> None:
    """A loader that reports all servers as failed if one fails breaks I1.isolated only.

    Every other clause of the basic profile passes; I4.bounded may be inconclusive.
    """
    verdict_of = worst(verdicts(all_or_none))

    assert verdict_of[BOUNDED] in ("pass", "inconclusive")
    assert verdict_of | {BOUNDED: "pass"} == dict.fromkeys(BASIC, "pass") | {"I1.isolated": "fail"}


@pytest.mark.parametrize(
    ("edit", "broken"),
    [
        pytest.param(with_tools, {"O3.no-tools", "S2.no-tools"}, marks=pytest.mark.proof(parts=8)),
        pytest.param(without_errors, {"O4.error"}, marks=pytest.mark.proof(parts=8)),
        pytest.param(with_secrets, {"S1.secrets"}, marks=pytest.mark.proof(parts=8)),
        pytest.param(once_for_all, {"O1.one-each"}, marks=pytest.mark.proof(parts=8)),
    ],
)
def test_who_loses_all_to_one_is_convicted_of_more(
    verdicts: Verdicts, edit: Edit, broken: set[str]
) -> None:
    """A loader that loses all servers to one, with a second fault, fails that fault's clauses.

    No other required clause but I1.isolated fails.
    """
    verdict_of = worst(verdicts(edit))

    convicted = {
        name for name, verdict in verdict_of.items() if verdict == "fail" and "~" not in name
    }
    assert broken <= convicted
    assert convicted - broken <= {"I1.isolated"}


def test_of_who_never_loads_nothing_is_known(verdicts: Verdicts) -> None:
    """On a loader that never loads a server, every clause is inconclusive in every case."""
    by_clause = verdicts(nothing)

    assert {name: set(own.values()) for name, own in by_clause.items()} == {
        name: {"inconclusive"} for name in BASIC
    }


def test_of_who_never_fails_a_server_no_error_is_known(verdicts: Verdicts) -> None:
    """On a loader that reports every server as available, S1.secrets is inconclusive."""
    by_clause = verdicts(believed, [case for case in ASKED if case.area == "secret"])

    assert set(by_clause["S1.secrets"].values()) == {"inconclusive"}


def test_a_secret_that_was_never_sent_is_not_cleared(verdicts: Verdicts) -> None:
    """On a loader that drops headers, the case of a secret header is inconclusive.

    The case of a secret in a URL's query passes.
    """
    cases = [case for case in ASKED if case.id in {"secret-header-failed", "secret-query-cut"}]

    by_clause = verdicts(lambda _answer, _request: None, cases, headers=False)

    assert by_clause["S1.secrets"] == {
        "secret-header-failed": "inconclusive",
        "secret-query-cut": "pass",
    }


def test_a_machine_that_knows_every_name_spoils_nothing_else(
    verdicts: Verdicts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If every host name resolves here, the two cases of an unknown host are not applicable.

    All clauses pass on the reference's loader; I4.bounded may be inconclusive.
    """
    monkeypatch.setattr(servers, "why_resolvable", lambda: "this machine knows every name")

    by_clause = verdicts(lambda _answer, _request: None)

    ends = {name: verdict for own in by_clause.values() for name, verdict in own.items()}
    strange = {name for name, verdict in ends.items() if verdict == "not_applicable"}
    assert strange == {"secret-query-unknown-host", "isolation-beside-unknown-host"}
    assert worst(by_clause) | {BOUNDED: "pass"} == dict.fromkeys(BASIC, "pass")
    assert worst(by_clause)[BOUNDED] in ("pass", "inconclusive")


def test_pages_are_played(host: LoaderHost, tmp_path: Path) -> None:
    """In the case of a server with three pages of tools, tools/list is sent three times."""
    loads = Loads(
        lambda _: EmbeddedLoader(ChangedAnswers(lambda _answer, _request: None), host), tmp_path
    )
    (case,) = [load_case for load_case in load_cases() if load_case.id == "outcome-pages"]

    load = loads.of(case)
    loads.close()

    methods = [entry.method for entry in load.servers.log(case.given.servers[0].server_id)]
    assert methods.count("tools/list") == 3
