"""Clauses of live endpoints, each of which convicts the mutants that it is listed with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_proxy_conformance.catalogue.world import ToolKey
from mcp_proxy_conformance.discovery.live.endpoint import Endpoint
from mcp_proxy_conformance.discovery.live.talk import WIDEST
from mcp_proxy_conformance.discovery.selftest.edits import (
    Document,
    Edit,
    flagged,
    locked,
    restated,
    usual,
    wire,
)
from mcp_proxy_conformance.discovery.selftest.exchange import (
    WireExchange,
    WireFault,
    document_of,
    dump,
)
from mcp_proxy_conformance.discovery.selftest.live_trial import (
    endpoint_of,
    started_with_locks,
    tried_live,
)
from mcp_proxy_conformance.discovery.selftest.rewriting_server import RewritingAdapter
from mcp_proxy_conformance.discovery.selftest.wire import WIRE_FAULTS
from mcp_proxy_conformance.discovery.targets.embedded import embedded
from mcp_proxy_conformance.discovery.targets.started import Started
from mcp_proxy_conformance.selftest.shipped import shipped
from mcp_proxy_mutants.discovery.changed import Changed
from mcp_proxy_mutants.discovery.mutants import mutants

WIRE = {fault.id: fault for fault in WIRE_FAULTS}
PROOFS = (
    ("FR-010.block", "counts-as-text"),
    ("FR-010.block", "counts-nowhere"),
    ("FR-010.zero-omitted", "counts-zeros"),
    ("FR-010.no-names", "counts-with-examples"),
    ("SC-005.absent", "counts-null"),
    ("FR-010.inspect", "counts-uninspected"),
    ("FR-006.cap", "section-unlimited"),
    ("FR-003.members", "server-absent"),
    ("FR-004.enum", "status-seventh"),
    ("FR-004.once", "entry-doubled"),
    ("FR-003.withheld", "schema-of-withheld"),
    ("FR-005.keys", "map-absent"),
    ("FR-005.once", "remedy-each"),
    ("FR-005.once", "map-again"),
    ("FR-005.text", "text-blank"),
    ("FR-005.text", "text-for-all"),
    ("SC-003.discovery", "text-to-the-user"),
    ("FR-014.described", "told-in-schema"),
    ("FR-001.declared", "schema-true"),
    ("FR-001.accepts", "flag-refused"),
    ("FR-001.default-off", "always-true"),
    ("FR-002.no-section", "section-unasked"),
    ("FR-002.absent-is-false", "false-spaced"),
    ("FR-006.callables", "callables-reversed"),
    ("FR-002.no-locked-names", "names-unasked"),
    ("FR-001.reveals-config", "reveals-no-config"),
    ("FR-001.reveals-user", "reveals-no-user"),
    ("FR-001.reveals-pending", "reveals-no-pending"),
    ("FR-004.precedence", "status-swapped"),
    ("FR-007.hidden", "cached-across-agents"),
    ("FR-011.never-reaches", "fifth-call-passes"),
    ("FR-008.pointer", "refusal-pointless"),
    ("SC-003.rejection", "refusal-to-the-user"),
    ("FR-009.note", "note-absent"),
    ("FR-009.count", "note-high"),
    ("FR-009.no-entries", "note-naming"),
    ("FR-009.silent", "note-for-nothing"),
    ("FR-009.one-line", "note-broken"),
)
"""For each clause of live endpoints, a mutant that live checks convict of it."""
ALWAYS = PROOFS[::4]
"""The pairs that every call of pytest tries; the others are parts of the proof."""


def each_clause(*, on_the_wire: bool) -> pytest.MarkDecorator:
    """Return a decorator that gives a test each `clause` with its `mutant` of that kind."""
    pairs = [pair for pair in PROOFS if (pair[1] in WIRE) is on_the_wire]
    proof = pytest.mark.proof(parts=6)
    params = [
        pytest.param(*pair, id="-".join(pair), marks=() if pair in ALWAYS else proof)
        for pair in pairs
    ]
    return pytest.mark.parametrize(("clause", "mutant"), params)


def convicted(report: Document) -> set[str]:
    """Return the clauses that failed in a report."""
    return {row["id"] for row in report["clauses"] if row["verdict"] == "fail"}


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


@each_clause(on_the_wire=True)
def test_a_live_clause_convicts_its_fault_of_the_wire(
    started: Started, clause: str, mutant: str, tmp_path: Path
) -> None:
    """A clause fails behind a wire mutant that it is listed with; no call reaches an upstream."""
    with behind(started, WIRE[mutant]) as endpoint:
        report = tried_live(endpoint, tmp_path, {clause})

    assert clause in convicted(report)
    assert calls(started) == dict.fromkeys(started.servers, 0)


@each_clause(on_the_wire=False)
def test_a_live_clause_convicts_its_fault_of_the_reference(
    clause: str, mutant: str, tmp_path: Path
) -> None:
    """A clause fails on each mutant of the reference that it is listed with.

    Of five calls of one locked tool, some reach its upstream server, none another.
    """
    (fault,) = (known for known in mutants() if known.id == mutant)
    target = embedded(fault, settle_s=0.1)
    named = ToolKey("forge", "create_token")
    try:
        with started_with_locks(target, tmp_path / "live") as started:
            endpoint = endpoint_of(started, call=(named,) * 5)
            report = tried_live(endpoint, tmp_path / "out", {clause})
            reached = calls(started)
    finally:
        target.close()

    assert clause in convicted(report)
    assert {name for name, number in reached.items() if number} == {named.server}


def test_each_live_clause_is_proven() -> None:
    """Each required clause that a live check cites is in PROOFS, with a mutant that breaks it."""
    data = shipped()
    live = {
        name for c in data.checks if c.module.startswith("discovery/live/") for name in c.clauses
    }
    due = live & {clause.id for clause in data.firm()}
    breaks = data.breaks()

    assert {clause for clause, _ in PROOFS} == due
    assert [pair for pair in PROOFS if pair[0] not in breaks[pair[1]]] == []


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


FAULTS = (
    wire(
        "section-once", "The section is in the first of equal default answers.",
        "FR-002.no-section", document=in_one("section-unasked", 1, None)),
    wire(
        "map-again-once", "The map is twice in one of equal answers.", "FR-005.once",
        document=in_one("map-again", 2, WIDEST)),
    wire(
        "schema-of-withheld-once", "An entry has a schema in one of equal answers.",
        "FR-003.withheld", document=in_one("schema-of-withheld", 2, WIDEST)),
    wire(
        "another-status-without-limit", "Without a limit the status is another.",
        "FR-004.precedence", document=without_limit("disabled_by_user")),
    wire(
        "map-as-list", "An empty map is a list.", "FR-005.keys", document=flagged(_map_as_list)),
    wire(
        "note-as-list", "The note is a list for some queries.", "FR-009.one-line",
        document=usual(_note_as_list)),
    wire(
        "section-twice", "The section is sent twice for some queries.", "FR-004.once",
        spelled=_section_twice),
    wire(
        "content-with-other-statuses", "Structured content gives tools another status.",
        "FR-003.members", result=_content_with_all_statuses),
    wire(
        "counts-sent-twice", "A counts block is sent twice.", "FR-010.block",
        spelled=_counts_twice),
)  # fmt: skip
"""Mutants of the wire that are wrong in some answers only."""
TO_AGENTS = (
    wire(
        "counts-sent-twice-to-agents", "A counts block is sent twice to agents.", "FR-010.block",
        spelled=lambda x, text: _counts_twice(x, text) if x.agent else None),
    WIRE["counts-zeros-to-agents"],
)  # fmt: skip
"""The same for answers to a further credential only."""


@pytest.mark.parametrize("fault", [*FAULTS, *TO_AGENTS], ids=lambda fault: fault.id)
def test_every_live_answer_is_judged(started: Started, fault: WireFault, tmp_path: Path) -> None:
    """The clauses of a mutant fail, too, if it is wrong in some answers only."""
    with behind(started, fault) as endpoint:
        report = tried_live(endpoint, tmp_path, fault.breaks)

    assert convicted(report) >= {*fault.breaks}


FAIR = (
    wire(
        "unknown-without-limit", "Without a limit the lookup fails.", "FR-004.precedence",
        document=without_limit("disabled_unknown")),
    wire(
        "another-member", "The member for the note has something else in all answers.",
        "FR-009.one-line",
        document=usual(lambda x, answer: answer | {x.surface.members.note: [len(answer)]})),
)  # fmt: skip
"""Changes of answers that the source may allow, by which their clauses are not settled."""


@pytest.mark.parametrize("fair", FAIR, ids=lambda fair: fair.id)
def test_what_may_be_allowed_is_left_open(
    started: Started, fair: WireFault, tmp_path: Path
) -> None:
    """A clause is inconclusive where a failed lookup or a foreign member explains an answer."""
    with behind(started, fair) as endpoint:
        report = tried_live(endpoint, tmp_path, fair.breaks)

    verdicts = {row["id"]: row["verdict"] for row in report["clauses"]}
    assert [verdicts[clause] for clause in fair.breaks] == ["inconclusive"]
