"""Checks of live endpoints, each of which kills the mutant that it is listed with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_proxy_conformance.catalogue.world import ToolKey
from mcp_proxy_conformance.discovery.live.endpoint import Endpoint
from mcp_proxy_conformance.discovery.live.talk import WIDEST
from mcp_proxy_conformance.selftest.edits import (
    Document,
    Edit,
    flagged,
    locked,
    restated,
    usual,
    wire,
)
from mcp_proxy_conformance.selftest.exchange import WireExchange, WireFault, document_of, dump
from mcp_proxy_conformance.selftest.live_trial import endpoint_of, started_with_locks, tried_live
from mcp_proxy_conformance.selftest.proofs import live_proofs
from mcp_proxy_conformance.selftest.rewriting_server import RewritingAdapter
from mcp_proxy_conformance.selftest.wire import WIRE_FAULTS
from mcp_proxy_conformance.targets.embedded import embedded
from mcp_proxy_conformance.targets.started import Started
from mcp_proxy_mutants.proxy.changed import Changed
from mcp_proxy_mutants.proxy.mutants import mutants

WIRE = {fault.id: fault for fault in WIRE_FAULTS}
PROOFS = live_proofs()
ALWAYS = [*PROOFS][::4]
"""The checks that every call of pytest tries; the others are parts of the proof."""


def each_check(*, on_the_wire: bool) -> pytest.MarkDecorator:
    """Return a decorator that gives a test, as `check`, each check with a mutant of that kind."""
    names = [name for name, fault in PROOFS.items() if (fault in WIRE) is on_the_wire]
    proof = pytest.mark.proof(parts=3)
    params = [pytest.param(name, marks=() if name in ALWAYS else proof) for name in names]
    return pytest.mark.parametrize("check", params)


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Started]:
    """Yield the reference, started with locks of every kind, once for this file's tests."""
    target = embedded(Changed(id="itself", text="The reference itself."), settle_s=0.1)
    with started_with_locks(target, tmp_path_factory.mktemp("live")) as running:
        yield running
    target.close()


@contextmanager
def behind(started: Started, fault: WireFault) -> Iterator[Endpoint]:
    """Yield the endpoint behind a server that rewrites its answers as this wire mutant does.

    The server in between ends with the block.
    """
    before = RewritingAdapter(started.adapter, fault, started.target.surface)
    access = before._behind(started.access)
    try:
        yield replace(endpoint_of(started), url=access.url)
    finally:
        for server in before._servers:
            server.shutdown()
            server.server_close()


def calls(started: Started) -> dict[str, int]:
    """Return {upstream server: number of calls that it received}."""
    return {name: server.calls() for name, server in started.servers.items()}


@each_check(on_the_wire=True)
def test_a_live_check_kills_its_fault_of_the_wire(
    started: Started, check: str, tmp_path: Path
) -> None:
    """A live check fails on the wire mutant that proofs.toml lists for it, as the only result.

    No call reaches an upstream server.
    """
    with behind(started, WIRE[PROOFS[check]]) as endpoint:
        report = tried_live(endpoint, tmp_path, check)

    assert [(result["check"], result["verdict"]) for result in report["results"]] == [
        (check, "fail")
    ]
    assert calls(started) == dict.fromkeys(started.servers, 0)


@each_check(on_the_wire=False)
def test_a_live_check_kills_its_fault_of_the_reference(check: str, tmp_path: Path) -> None:
    """A live check fails on the mutant of the reference that proofs.toml lists for it.

    Of five calls of one locked tool, some reach its upstream server, none another.
    """
    (fault,) = (mutant for mutant in mutants() if mutant.id == PROOFS[check])
    target = embedded(fault, settle_s=0.1)
    named = ToolKey("forge", "create_token")
    try:
        with started_with_locks(target, tmp_path / "live") as started:
            report = tried_live(endpoint_of(started, call=(named,) * 5), tmp_path / "out", check)
            reached = calls(started)
    finally:
        target.close()

    assert [(result["check"], result["verdict"]) for result in report["results"]] == [
        (check, "fail")
    ]
    assert {name for name, number in reached.items() if number} == {named.server}


def in_one(fault: str, number: int, limit: int | None) -> Edit:
    """Return the edit of this wire mutant, made only in one of the answers to equal requests.

    It is the answer with this number, from 1 on, to requests with this limit.
    """
    edit = WIRE[fault].document
    assert edit is not None

    def made(x: WireExchange, answer: Document) -> Document | None:
        """Return that answer as the mutant rewrites it; None for any other."""
        asked = x.agent, dump(x.arguments)
        x.memory[asked] = x.memory.get(asked, 0) + 1
        meant = x.limit == limit and x.memory[asked] == number
        return edit(x, answer) if meant else None

    return made


def _map_as_list(x: WireExchange, answer: Document) -> Document | None:
    """Send an empty list for the remediation map if a flagged answer has no locked entry."""
    return None if locked(x, answer) else answer | {x.surface.members.remediation: []}


def _note_as_list(x: WireExchange, answer: Document) -> Document | None:
    """Send the note as a list of one text to queries that contain `repo`."""
    name = x.surface.members.note
    return answer | {name: [answer[name]]} if name in answer and "repo" in x.query else None


def _section_twice(x: WireExchange, text: str) -> str | None:
    """Send the locked section once more, empty, to queries that contain `repo`."""
    name = f'"{x.surface.members.disabled}":'
    return text[:-1] + f",{name}[]}}" if name in text and "repo" in x.query else None


def _counts_twice(x: WireExchange, text: str) -> str | None:
    """Send the counts of a server twice, in a server listing."""
    at = text.find(f'"{x.surface.members.counts}":{{') if x.lists else -1
    end = text.find("}", at) + 1
    return text[:end] + "," + text[at:] if at >= 0 else None


def _content_with_all_statuses(x: WireExchange, result: Document) -> Document | None:
    """Add structured content to a flagged answer: its document, with every status one of config."""
    document = document_of(result) if x.flagged else None
    if document is None or not locked(x, document):
        return None
    entries = [entry | {"status": "disabled_by_config"} for entry in locked(x, document)]
    return result | {"structuredContent": document | {x.surface.members.disabled: entries}}


def without_limit(status: str) -> Edit:
    """Return an edit that names this status for locks of config, where no limit was sent."""
    renamed = restated({"disabled_by_config": status})
    return lambda x, answer: renamed(x, answer) if x.limit is None else None


FAULTS = {
    "test_a_live_default_answer_has_no_section": wire(
        "section-once", "The section is in the first of equal default answers.",
        "FR-002.no-section", document=in_one("section-unasked", 1, None)),
    "test_a_live_answer_has_one_map": wire(
        "map-again-once", "The map is twice in one of equal answers.", "FR-005.once",
        document=in_one("map-again", 2, WIDEST)),
    "test_a_live_quarantined_entry_has_no_text_of_its_server": wire(
        "schema-of-withheld-once", "An entry has a schema in one of equal answers.",
        "FR-003.withheld", document=in_one("schema-of-withheld", 2, WIDEST)),
    "test_an_expected_lock_has_its_status": wire(
        "another-status-without-limit", "Without a limit the status is another.",
        "FR-004.precedence", document=without_limit("disabled_by_user")),
    "test_a_live_map_has_a_key_for_each_status_shown": wire(
        "map-as-list", "An empty map is a list.", "FR-005.keys", document=flagged(_map_as_list)),
    "test_a_live_answer_has_no_note_unless_it_is_due": wire(
        "note-as-list", "The note is a list for some queries.", "FR-009.one-line",
        document=usual(_note_as_list)),
    "test_a_live_answer_lists_a_tool_once": wire(
        "section-twice", "The section is sent twice for some queries.", "FR-004.once",
        spelled=_section_twice),
    "test_a_live_locked_entry_has_name_server_and_one_status": wire(
        "content-with-other-statuses", "Structured content gives tools another status.",
        "FR-003.members", result=_content_with_all_statuses),
    "test_live_counts_are_integers": wire(
        "counts-sent-twice", "A counts block is sent twice.", "FR-010.block",
        spelled=_counts_twice),
}  # fmt: skip
"""For checks of live endpoints: mutants of the wire that break them in some answers only."""
TO_AGENTS = {
    "test_live_counts_are_integers": wire(
        "counts-sent-twice-to-agents", "A counts block is sent twice to agents.", "FR-010.block",
        spelled=lambda x, text: _counts_twice(x, text) if x.agent else None),
    "test_live_counts_leave_out_reasons_of_zero": WIRE["counts-zeros-to-agents"],
}  # fmt: skip
"""The same for answers to a further credential only."""


@pytest.mark.parametrize(
    ("check", "fault"),
    [pytest.param(*each, id=each[1].id) for each in (*FAULTS.items(), *TO_AGENTS.items())],
)
def test_a_live_check_judges_every_answer(
    started: Started, check: str, fault: WireFault, tmp_path: Path
) -> None:
    """A live check fails by a fault of some answers only, by the mutant's clause among others."""
    with behind(started, fault) as endpoint:
        report = tried_live(endpoint, tmp_path, check)

    judged = [(result["check"], result["verdict"]) for result in report["results"]]
    broken = {clause for result in report["results"] for clause in result["clauses"]}
    assert judged == [(check, "fail")]
    assert broken >= {*fault.breaks}


FAIR = {
    "test_an_expected_lock_has_its_status": wire(
        "unknown-without-limit", "Without a limit the lookup fails.",
        document=without_limit("disabled_unknown")),
    "test_a_live_answer_has_no_note_unless_it_is_due": wire(
        "another-member", "The member for the note has something else in all answers.",
        document=usual(lambda x, answer: answer | {x.surface.members.note: [len(answer)]})),
}  # fmt: skip
"""For checks of live endpoints: changes of answers that the source may allow."""


@pytest.mark.parametrize("check", FAIR)
def test_what_may_be_allowed_is_left_open(started: Started, check: str, tmp_path: Path) -> None:
    """A live check is inconclusive where a failed lookup or a foreign member explains an answer."""
    with behind(started, FAIR[check]) as endpoint:
        report = tried_live(endpoint, tmp_path, check)

    assert [result["verdict"] for result in report["results"]] == ["inconclusive"]


def test_ten_faults_and_more_stand_on_the_wire() -> None:
    """At least 30 live checks are proven by mutants that rewrite answers on the wire."""
    assert sum(fault in WIRE for fault in PROOFS.values()) >= 30
