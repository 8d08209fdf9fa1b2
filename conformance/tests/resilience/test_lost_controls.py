"""Loaders that lose all servers to one: what is judged of them nevertheless, and what is not."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mcp_proxy_conformance.catalogue.load_case import LoadCase, load_cases
from mcp_proxy_conformance.catalogue.requirement import catalogue, profile
from mcp_proxy_conformance.resilience.embedded import EmbeddedLoader, LoaderHost
from mcp_proxy_conformance.resilience.loader_target import loader_target
from mcp_proxy_conformance.resilience.loads import Loads
from mcp_proxy_conformance.run.subjects.loader import LoadBench
from mcp_proxy_conformance.upstream.faults import servers
from mcp_proxy_conformance.verdict.result import Inconclusive, NotApplicable
from mcp_proxy_reference.load import loaded

Json = dict[str, Any]
Tell = Callable[[Json, Json], None]
BASIC = frozenset(profile("resilience-basic").clauses)
ASKED = [
    case
    for case in load_cases()
    if BASIC.intersection(case.clauses)
    and not any(catalogue().clause(name).capability for name in case.clauses)
]
"""What a loader without capabilities is judged by."""
LOST = {"status": "failed", "tools": [], "error": "One of the servers cannot be loaded."}


@dataclass(frozen=True)
class Told:
    """The reference's loader; `tell` changes the answer, given with the request."""

    tell: Tell
    headers: bool = True

    def start(self) -> Callable[[Json], Awaitable[Json]]:
        """A loader that is asked for one load after the other."""

        async def load(asked: Json) -> Json:
            told = await loaded(asked if self.headers else without_headers(asked))
            self.tell(told, asked)
            return told

        return load


def without_headers(asked: Json) -> Json:
    """The request of a load, without what should be sent."""
    return asked | {"servers": [one | {"headers": {}} for one in asked["servers"]]}


def all_or_none(told: Json, _asked: Json) -> None:
    """Nothing is loaded where one server fails."""
    if any(one["status"] != "available" for one in told["outcomes"]):
        for one in told["outcomes"]:
            one.update(LOST)


def nothing(told: Json, _asked: Json) -> None:
    """No server is ever loaded."""
    for one in told["outcomes"]:
        one.update(LOST)


def believed(told: Json, _asked: Json) -> None:
    """Every server is told as available."""
    for one in told["outcomes"]:
        one.update(status="available", error=None)


def with_tools(told: Json, asked: Json) -> None:
    """Nothing is available where one server fails, but tools are told."""
    all_or_none(told, asked)
    for one in told["outcomes"]:
        one["tools"] = ["add"] if one["status"] == "failed" else one["tools"]


def without_errors(told: Json, asked: Json) -> None:
    """Nothing is loaded where one server fails, and nobody says why."""
    all_or_none(told, asked)
    for one in told["outcomes"]:
        one["error"] = None


def with_secrets(told: Json, asked: Json) -> None:
    """Nothing is loaded where one server fails, and the error holds all that was handed over."""
    all_or_none(told, asked)
    for one in told["outcomes"]:
        one["error"] = one["error"] and f"cannot load {asked['servers']}"


def once_for_all(told: Json, asked: Json) -> None:
    """One outcome stands for all servers where one fails."""
    all_or_none(told, asked)
    if any(one["status"] == "failed" for one in told["outcomes"]):
        told["outcomes"] = told["outcomes"][:1]


@pytest.fixture(scope="module")
def host() -> Iterator[LoaderHost]:
    """A loop for all loaders."""
    made = LoaderHost()
    yield made
    made.close()


@pytest.fixture
def verdicts(host: LoaderHost, tmp_path: Path) -> Callable[..., dict[str, dict[str, str]]]:
    """Of a loader that tells so, by clause: how each case ended."""

    def found(
        tell: Tell, cases: list[LoadCase] = ASKED, **members: Any
    ) -> dict[str, dict[str, str]]:
        told = loader_target(lambda _: EmbeddedLoader(Told(tell, **members), host), ())
        loads = Loads(told.loader, tmp_path)
        loads.plan(cases)
        bench, by_clause = LoadBench(loads, told), dict[str, dict[str, str]]()
        for case in cases:
            for clause, verdict in ended(bench, case).items():
                by_clause.setdefault(clause, {})[case.id] = verdict
        loads.close()
        return {name: own for name, own in by_clause.items() if name in BASIC}

    return found


def ended(bench: LoadBench, case: LoadCase) -> dict[str, str]:
    """By clause, what a case says of it."""
    try:
        compared = bench.judged(case)
    except Inconclusive:
        return dict.fromkeys(case.clauses, "inconclusive")
    except NotApplicable:
        return dict.fromkeys(case.clauses, "not_applicable")
    unsettled = {clause: "inconclusive" for one in compared.open for clause in one.clauses}
    observed = dict.fromkeys(compared.observed, "pass")
    return unsettled | observed | dict.fromkeys(compared.broken, "fail")


TIMED = "I4.bounded"
"""What a busy machine leaves open; none of these loaders takes its time."""


def worst(found: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """By clause, its worst verdict."""
    order = ("fail", "inconclusive", "pass", "not_applicable")
    return {name: min(own.values(), key=order.index) for name, own in found.items()}


Verdicts = Callable[..., dict[str, dict[str, str]]]


def test_who_loses_all_to_one_breaks_isolation_alone(verdicts: Verdicts) -> None:
    """Every other clause is judged, and holds."""
    found = worst(verdicts(all_or_none))

    assert found[TIMED] in ("pass", "inconclusive")
    assert found | {TIMED: "pass"} == dict.fromkeys(BASIC, "pass") | {"I1.isolated": "fail"}


@pytest.mark.parametrize(
    ("tell", "broken"),
    [
        (with_tools, {"O3.no-tools", "S2.no-tools"}),
        (without_errors, {"O4.error"}),
        (with_secrets, {"S1.secrets"}),
        (once_for_all, {"O1.one-each"}),
    ],
)
def test_who_loses_all_to_one_is_convicted_of_more(
    verdicts: Verdicts, tell: Tell, broken: set[str]
) -> None:
    """What it does beside is seen where no healthy server is there to be lost."""
    found = worst(verdicts(tell))

    convicted = {name for name, verdict in found.items() if verdict == "fail" and "~" not in name}
    assert broken <= convicted
    assert convicted - broken <= {"I1.isolated"}


def test_of_who_never_loads_nothing_is_known(verdicts: Verdicts) -> None:
    """No case passes and none fails."""
    found = verdicts(nothing)

    assert {name: set(own.values()) for name, own in found.items()} == {
        name: {"inconclusive"} for name in BASIC
    }


def test_of_who_never_fails_a_server_no_error_is_known(verdicts: Verdicts) -> None:
    """A secret that no error could hold is not cleared."""
    found = verdicts(believed, [one for one in ASKED if one.area == "secret"])

    assert set(found["S1.secrets"].values()) == {"inconclusive"}


def test_a_secret_that_was_never_sent_is_not_cleared(verdicts: Verdicts) -> None:
    """A loader that drops headers has nothing to tell of them."""
    cases = [one for one in ASKED if one.id in {"secret-header-failed", "secret-query-cut"}]

    found = verdicts(lambda _told, _asked: None, cases, headers=False)

    assert found["S1.secrets"] == {
        "secret-header-failed": "inconclusive",
        "secret-query-cut": "pass",
    }


def test_a_machine_that_knows_every_name_spoils_nothing_else(
    verdicts: Verdicts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cases of an unknown name do not apply there."""
    monkeypatch.setattr(servers, "unresolvable", lambda: "this machine knows every name")

    found = verdicts(lambda _told, _asked: None)

    ends = {name: verdict for own in found.values() for name, verdict in own.items()}
    strange = {name for name, verdict in ends.items() if verdict == "not_applicable"}
    assert strange == {"secret-query-unknown-host", "isolation-beside-unknown-host"}
    assert worst(found) | {TIMED: "pass"} == dict.fromkeys(BASIC, "pass")
    assert worst(found)[TIMED] in ("pass", "inconclusive")


def test_pages_are_played(host: LoaderHost, tmp_path: Path) -> None:
    """A server of three pages is asked three times."""
    loads = Loads(lambda _: EmbeddedLoader(Told(lambda _told, _asked: None), host), tmp_path)
    (case,) = [one for one in load_cases() if one.id == "outcome-pages"]

    load = loads.of(case)
    loads.close()

    methods = [seen.method for seen in load.servers.log(case.given.servers[0].server_id)]
    assert methods.count("tools/list") == 3
