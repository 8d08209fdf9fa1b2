"""Verdicts on loads: secrets in errors, failures confirmed, unread pages, warnings."""

from __future__ import annotations

import base64
import dataclasses
import json
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest
from msgspec.structs import replace

from mcp_proxy_conformance.resilience import driven_loader
from mcp_proxy_conformance.resilience.busy import BUSY_S, Starts
from mcp_proxy_conformance.resilience.confirmation import SLOWER
from mcp_proxy_conformance.resilience.judged import judged
from mcp_proxy_conformance.resilience.load_bench import says
from mcp_proxy_conformance.resilience.load_case import Behaviour, LoadServer, load_cases
from mcp_proxy_conformance.resilience.loader import Loaded, Loader
from mcp_proxy_conformance.resilience.loader_description import OF_LOADERS
from mcp_proxy_conformance.resilience.loader_target import embedded_target
from mcp_proxy_conformance.resilience.loads import WELL, Load, Loads
from mcp_proxy_conformance.resilience.met import unseen
from mcp_proxy_conformance.resilience.scenarios import SLOW_S, scenarios
from mcp_proxy_conformance.run.judgement import ENOUGH
from mcp_proxy_conformance.run.request import Selection
from mcp_proxy_conformance.selftest.trial import trial, tried
from mcp_proxy_conformance.upstream.faults import FaultServers, Seen
from mcp_proxy_conformance.verdict.deviations.deviation import Deviation
from mcp_proxy_conformance.verdict.exposed_secret import shows
from mcp_proxy_mutants.resilience.changed import ChangedLoad
from mcp_proxy_mutants.resilience.mutants import load_mutants
from mcp_proxy_mutants.resilience.variants import load_variants

pytestmark = pytest.mark.usefixtures("few_scenarios")
HELD = "pass-Lt6GhD3qYu1"
MARKED = "p%40ss%2F-Ku7RnE2x"
BASIC = base64.b64encode(f"crane:{HELD}".encode()).decode()


def line(error: str) -> bytes:
    """Return the line of a loader's answer whose only outcome has this error."""
    return json.dumps({"id": 1, "ok": {"outcomes": [{"error": error}]}}).encode()


@pytest.mark.parametrize(
    ("secret", "error"),
    [
        (HELD, f"cannot reach http://crane:{HELD}@host/"),
        (HELD, f"sent Basic {BASIC}"),
        (HELD, base64.urlsafe_b64encode(b"??" + HELD.encode()).decode()),
        (HELD, "".join(f"%{ord(letter):02x}" for letter in HELD)),
        (MARKED, "wrong password p@ss/-Ku7RnE2x"),
        (MARKED, f"http://crane:{MARKED}@host/"),
        (BASIC, f"for crane:{HELD}"),
        ("schl\u00fcssel-9", "wrong key schl\u00fcssel-9"),
    ],
)
def test_a_secret_is_found_however_it_is_spelled(secret: str, error: str) -> None:
    """`shows` finds a secret in a line plain, percent-encoded or decoded, in base64 or out of it.

    JSON escapes do not hide it.
    """
    assert shows(secret, line(error))


def test_no_secret_is_found_where_none_is() -> None:
    """`shows` finds no secret in an error that has a part of it, nor in an empty line."""
    assert not shows(HELD, line(f"the password {HELD[:8]}… was not taken"))
    assert not shows(HELD, b"")


def cases_of(*areas: str) -> tuple[str, ...]:
    """Return the ids of the cases of these areas."""
    return tuple(case.id for case in load_cases() if case.area in areas)


def verdicts(place: Path, change: Any, clause: str, *, confirm: bool) -> set[str]:
    """Return the verdicts of all checks of a clause on a changed loader, as far as they are on it.

    `confirm` says whether failures are confirmed.
    """
    changed_trial = trial(
        embedded_target(change, patience=0.5),
        profile="resilience",
        selection=Selection(clauses=frozenset({clause})),
        confirm=confirm,
    )
    return {
        result["verdict"]
        for result in tried(changed_trial, place).every
        if result["verdict"] != "pass" or clause in result["clauses"]
    }


class Lapse:
    """A change of answers: the first load that has servers loses its last outcome."""

    def __init__(self) -> None:
        """Begin with no load answered."""
        self.loads = 0

    def __call__(self, answer: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
        """Return the answer, without its last outcome in the first load that has servers."""
        self.loads += bool(request["servers"])
        return answer | {"outcomes": answer["outcomes"][:-1]} if self.loads == 1 else answer


@pytest.mark.proof(parts=4)
@pytest.mark.parametrize(("confirm", "verdict"), [(True, "inconclusive"), (False, "fail")])
def test_a_lapse_that_does_not_come_again_is_no_failure(
    tmp_path: Path, verdict: str, *, confirm: bool
) -> None:
    """An outcome that only the first load lacks is inconclusive if failures are confirmed.

    If they are not, it is a failure.
    """
    assert verdict in verdicts(
        tmp_path,
        ChangedLoad(id="once", text="It lapses once.", edit=Lapse()),
        "O1.one-each",
        confirm=confirm,
    )


@pytest.mark.proof(parts=4)
@pytest.mark.parametrize("confirm", [True, False])
def test_a_lasting_failure_counts(tmp_path: Path, *, confirm: bool) -> None:
    """A loader that is wrong in every load fails, whether or not failures are confirmed."""
    fault = next(mutant for mutant in load_mutants() if mutant.id == "501-is-permanent")

    assert "fail" in verdicts(tmp_path, fault, "T3.server-error", confirm=confirm)


def test_a_loader_that_reads_one_page_is_not_judged_by_later_ones(tmp_path: Path) -> None:
    """If a loader asks for the first page only, O3.later-page is not applicable."""
    variant = next(each for each in load_variants() if each.id == "one-page")

    changed_trial = trial(
        embedded_target(variant),
        Selection(clauses=frozenset({"O3.later-page"}), checks=cases_of("page")),
        profile="resilience",
    )

    results = tried(changed_trial, tmp_path).every
    assert {result["verdict"] for result in results} == {"not_applicable"}


def test_a_loader_without_classes_may_not_report_a_failure_as_available(
    tmp_path: Path,
) -> None:
    """In the basic profile, a loader that reports a 5xx as available fails X.failed."""

    def well(answer: dict[str, Any], _: dict[str, Any]) -> dict[str, Any]:
        """Return the answer with servers whose error has `internal` as available, without tools."""
        internal: dict[str, Any] = {"status": "available", "error": None, "tools": []}
        return answer | {
            "outcomes": [
                outcome | (internal if "internal" in str(outcome["error"]) else {})
                for outcome in answer["outcomes"]
            ]
        }

    changed_trial = trial(
        embedded_target(ChangedLoad(id="well", text="5xx is well.", edit=well), OF_LOADERS),
        profile="resilience-basic",
        selection=Selection(checks=cases_of("outcome")),
        confirm=False,
    )

    assert tried(changed_trial, tmp_path).clauses["X.failed"] == "fail"


@pytest.mark.parametrize(
    ("loader", "own", "echoed"),
    [
        ("errors-quote", "pass", "fail"),
        ("headers-in-errors", "fail", "inconclusive"),
        ("errors-in-lines", "pass", "pass"),
    ],
)
def test_a_secret_in_a_servers_words_is_another_clause_than_one_of_the_loader(
    tmp_path: Path, loader: str, own: str, echoed: str
) -> None:
    """A loader that quotes a server's words passes S1.secrets and fails the advisory clause.

    If it shows its own headers, S1.secrets fails and the advisory one is inconclusive.
    """
    changed = next(c for c in (*load_mutants(), *load_variants()) if c.id == loader)
    changed_trial = trial(
        embedded_target(changed, patience=0.5),
        profile="resilience",
        selection=Selection(clauses=frozenset({"S1.secrets", "S1.secrets~echoed"})),
        confirm=False,
    )

    clauses = tried(changed_trial, tmp_path).clauses

    assert [clauses["S1.secrets"], clauses["S1.secrets~echoed"]] == [own, echoed]


def test_warnings_of_bare_ids_break_only_the_clause_on_their_lines(tmp_path: Path) -> None:
    """A loader whose warnings are bare server ids fails W1.lines, and nothing else on warnings."""
    bare = next(mutant for mutant in load_mutants() if mutant.id == "bare-names")
    cited = ("W1.lines", "W1.one-class", "W1.denied", "W1.both", "I6.silent")
    changed_trial = trial(
        embedded_target(bare, patience=0.5),
        profile="resilience",
        selection=Selection(checks=cases_of("warning", "none")),
    )

    clauses = tried(changed_trial, tmp_path).clauses

    assert [clauses[name] for name in cited] == ["fail", "pass", "pass", "pass", "pass"]


def test_a_loader_that_warns_of_nobody_settles_nothing(tmp_path: Path) -> None:
    """On a loader that never warns, W1.lines is inconclusive."""
    silent = ChangedLoad(
        id="silent", text="It never warns.", edit=lambda answer, _: answer | {"warnings": {}}
    )

    checks = cases_of("warning")
    changed_trial = trial(embedded_target(silent), Selection(checks=checks), profile="resilience")

    assert tried(changed_trial, tmp_path).clauses["W1.lines"] == "inconclusive"


FAILED = {"status": "permanent", "tools": [], "error": "No.", "attempts": 1}


@pytest.mark.parametrize(
    ("since", "members", "clause"),
    [
        (2, FAILED, "I5.clears"),
        (1, FAILED, "O3.loaded"),
        (2, {"tools": []}, "O3.loaded"),
        (2, {"tools": ["add", "gone"]}, "O3.own-tools"),
        (1, {"tools": None}, "O3.own-tools"),
        (2, {"error": "No."}, "O4.none"),
        (2, {"attempts": 2}, "O6.claimed"),
        (2, {"status": "well"}, "O2.word"),
        (2, FAILED | {"error": ""}, "O4.error"),
        (2, {"server_id": "beta"}, "O1.one-each"),
    ],
)
def test_the_second_load_is_judged_as_the_first_one(
    tmp_path: Path, since: int, members: dict[str, Any], clause: str
) -> None:
    """Each fault of a server's outcome counts that comes in the second load alone.

    Who fails a healthy server after another load remembers; who does so at first cannot read.
    """
    loads = 0

    def fail(answer: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
        nonlocal loads
        loads += bool(request["servers"])
        for own in answer["outcomes"]:
            own.update(members if own["server_id"] == "alpha" and loads >= since else {})
        return answer

    def made(folder: Path) -> Loader:
        """Return a loader that has loaded nothing yet."""
        nonlocal loads
        loads = 0
        return target.loader(folder)

    target = embedded_target(ChangedLoad(id="fails", text="It fails servers.", edit=fail))
    case = next(each for each in load_cases() if each.id == "again-claims")
    all_loads = Loads(made, tmp_path, learns=False)
    load = all_loads.anew(case)
    all_loads.close()
    again = Loads(made, tmp_path, learns=False)

    findings = judged(load, again.of, says(target)).findings

    again.close()
    target.close()
    assert clause in {clause for finding in findings for clause in finding.clauses}


@pytest.mark.parametrize(
    ("start_s", "verdict"), [(0.01, "fail"), (1.1 * SLOWER * BUSY_S, "inconclusive")]
)
def test_no_failure_counts_on_a_machine_that_hardly_starts_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start_s: float, verdict: str
) -> None:
    """A failure that comes twice is open if programs started too slowly the second time."""

    def fail(answer: dict[str, Any], _: dict[str, Any]) -> dict[str, Any]:
        for own in answer["outcomes"]:
            own.update(FAILED if own["server_id"] == "alpha" else {})
        return answer

    monkeypatch.setattr(Starts, "slow", lambda *among: float(start_s > among[-1]))
    target = embedded_target(ChangedLoad(id="fails", text="It fails servers.", edit=fail))
    selection = Selection(checks=("outcome-alone",))

    results = tried(trial(target, selection, profile="resilience", confirm=True), tmp_path).every

    assert [each["verdict"] for each in results] == [verdict]


@pytest.mark.parametrize(("servers", "verdict"), [(1, "fail"), (5, "pass")])
def test_what_slower_loads_do_not_show_counts_if_it_shows_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, servers: int, verdict: str
) -> None:
    """A loader that fails servers of one timeout is right in second loads, which have longer ones.

    If it fails them alone too it breaks O3.loaded; if it only does so among at least five, it was
    late. That its errors have two lines, which is advisory, changes neither.
    """

    def fail(answer: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
        brief = {own["server_id"] for own in request["servers"] if own["timeout_s"] == SLOW_S}
        if len(request["servers"]) < servers:
            brief.clear()
        for own in answer["outcomes"]:
            own.update(FAILED | {"status": "transient"} if own["server_id"] in brief else {})
            own.update({"error": "No.\nNo."} if own["error"] else {})
        return answer

    slow = replace(scenarios()[0], rows=({"pace": "slow"},) * 6)
    monkeypatch.setattr(Starts, "slow", lambda *_: 0.0)
    monkeypatch.setattr(driven_loader, "given", lambda *_, **__: [slow])
    target = embedded_target(ChangedLoad(id="rounds", text="It rounds timeouts.", edit=fail))
    selection = Selection(checks=(slow.id,))

    (result,) = tried(trial(target, selection, profile="resilience", confirm=True), tmp_path).every

    assert (result["verdict"], "O3.loaded" in result["clauses"]) == (verdict, True)


@pytest.mark.parametrize("failing", [ENOUGH, 5])
def test_what_enough_cases_confirm_is_not_confirmed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    """Of five cases that break the same clause two are loaded again and fail, the others stay open.

    If known failures are excused, all five fail.
    """

    def silence(answer: dict[str, Any], _: dict[str, Any]) -> dict[str, Any]:
        for own in answer["outcomes"]:
            own["error"] = None
        return answer

    monkeypatch.setattr(Starts, "slow", lambda *_: 0.0)
    target = embedded_target(ChangedLoad(id="silent", text="It has no errors.", edit=silence))
    words = ("denied", "failing", "malformed", "missing", "refused")
    selection = Selection(checks=tuple(f"outcome-alone-{word}" for word in words))

    request = trial(target, selection, profile="resilience", confirm=True)
    excused = Deviation(id="I1.isolated", reason="", issue="", expires=date.max, file="", line=1)
    if failing == len(words):
        request = dataclasses.replace(request, deviations=(excused,))

    results = tried(request, tmp_path).every

    verdicts = sorted((each["verdict"], each["cause"]) for each in results)
    left = len(words) - failing
    assert verdicts == [("fail", "")] * failing + [("inconclusive", "other_clause")] * left


@pytest.mark.parametrize(
    ("asked_at", "does", "most"),
    [
        ((0.1,), "healthy", 0),
        ((1.1,), "healthy", 1),
        ((0.1, 2.3), "healthy", 2),
        ((0.1, 2.3), "silence", 1),
        ((0.1,), "silence", 1),
        ((0.1,), "guarded", 0),
        ((), "silence", 3),
    ],
)
def test_attempts_that_ran_out_of_time_may_not_have_been_seen(
    asked_at: tuple[float, ...], does: str, most: int
) -> None:
    """In a load of 3 s each timeout of 1 s without a request may be an attempt, but at silence.

    After an answer that may not be tried again there is none.
    """
    script = (msgspec.convert({"do": does}, Behaviour),)
    server = LoadServer(server_id="oak", tools=(), timeout_s=1.0, script=script)
    log = [Seen(at=at, connection=1, server="oak", attempt=1) for at in asked_at]
    load = Load(
        case=WELL, servers=cast(FaultServers, SimpleNamespace(log=lambda _: log)),
        loaded=Loaded(seconds=3.0, ended=3.0), attempts={}, unmet={},
    )  # fmt: skip

    assert unseen(load, server) == most


@pytest.mark.proof
def test_who_ends_all_loads_at_one_failure_is_convicted_of_that_alone(tmp_path: Path) -> None:
    """A loader whose first failure ends all other loads fails I1.isolated, and nothing else.

    The others then get fewer attempts and other statuses than without that failure.
    """
    mutant = next(each for each in load_mutants() if each.id == "one-failure-ends-all")
    checks = cases_of("outcome", "warning", "unnamed")
    target = embedded_target(mutant, ["attempts"], patience=0.5)

    clauses = tried(trial(target, Selection(checks=checks), profile="resilience"), tmp_path).clauses

    assert [name for name, verdict in clauses.items() if verdict == "fail"] == ["I1.isolated"]


@pytest.mark.parametrize(
    ("case", "broken"),
    [("sharing-session-redirected", []), ("unnamed-redirect-to-another", ["S3.session"])],
)
def test_a_session_id_that_came_by_a_redirect_may_not_leave_its_origin(
    tmp_path: Path, case: str, broken: list[str]
) -> None:
    """A loader that follows redirects sends the session id that it got on to the first address.

    That breaks no clause within one origin and S3.session at another; it has no cookies.
    """
    following = next(each for each in load_variants() if each.id == "redirects-followed")
    selection = Selection(checks=(case,))
    changed_trial = trial(embedded_target(following), selection, profile="resilience")

    results = tried(changed_trial, tmp_path).every

    failed = [clause for r in results if r["verdict"] == "fail" for clause in r["clauses"]]
    assert [r["case"] for r in results] == [case]
    assert failed == broken
