"""Runs on every hostile endpoint: exit code, time, memory, few requests, inert output."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

import jsonschema
import pytest
from hostile_kinds import KINDS
from hostile_runs import CANARY, Came, came, on_kinds, runs_asked_for
from hostile_target import serving

from mcp_proxy_conformance.catalogue.resources import schemas_dir

pytestmark = pytest.mark.timeout(600)
AT_ONCE, MOST_S, MOST_MIB = 2, 45.0, 300
OPTIONS = ("--timeout", "20", "--rate", "10000")
SILENT_S, READ_S = "2", "15"
"""Seconds for an answer: few if none will come, else enough on a busy machine."""
BREACH, NOBODY, UNSEEN = 1, 3, 4
COMES_TO: Mapping[int, tuple[str, ...]] = {
    BREACH: (
        "statuses that are objects",
        "servers that are lists",
        "a schema that is a number",
        "remediation that is a list",
        "escapes of terminals everywhere",
        "instructions everywhere",
    ),
    NOBODY: (
        "silent from the start",
        "silent after the list",
        "a drip from the start",
        "a drip after the list",
        "an endless stream of remarks",
        "an endless stream of notifications",
        "listed tools that are text",
        "listed names that are null",
        "a cursor that never ends",
        "a loop of redirects",
        "a reset at once",
        "a reset before the answer",
        "a reset inside the head",
        "a reset inside the body",
        "401 now and then",
        "403 now and then",
        "429 for ever",
        "503 from the start",
        "a version nobody knows",
        "a session id with blanks",
        "TLS to a plain port",
        "a certificate that nobody trusts",
        "a plain client at a TLS port",
    ),
    UNSEEN: (
        "answers to the flag cut off now and then",
        "a note with a number of 6 000 digits",
        "an endless body",
        "an endless event",
        "100 MB",
        "100 000 tools in the list",
        "100 000 tools found",
        "20 000 tools found",
        "pages without an end",
        "200 000 deep",
        "invalid UTF-8",
        "a byte order mark",
        "NaN",
        "a number of 100 000 digits",
        "1e999",
        "members twice",
        "half a pair of surrogates",
        "another id",
        "the id as text",
        "no id",
        "another version",
        "a result that is null",
        "a result that is a list",
        "an error that is text",
        "content that is an object",
        "text that is a number",
        "text that is no JSON",
        "tools that are a number",
        "entries that are null",
        "names that are numbers",
        "descriptions that are lists",
        "a note that is an object",
        "two answers in a body",
        "two answers in a stream",
        "an answer after the end",
        "a flood of 1xx",
        "headers of 1 MB",
        "1 000 headers",
        "a bomb of gzip",
        "chunks that are none",
        "a length below zero",
        "a length that is none",
        "more promised than sent",
        "no HTTP",
        "a status line that is none",
        "status 999",
        "a media type of its own",
        "an empty answer",
        "204",
        "sessions that are lost",
        "429 now and then",
        "503 now and then",
        "429 for a day",
        "1 000 notifications before the answer",
        "requests to the client",
        "capabilities that are a list",
    ),
}
"""The exit code of each kind's run. Nonsense does not breach a clause that it never reached."""
EXIT = {name: code for code, names in COMES_TO.items() for name in names}
MUTE = (
    "silent from the start",
    "silent after the list",
    "a drip from the start",
    "a drip after the list",
    "an endless stream of remarks",
    "an endless stream of notifications",
    "TLS to a plain port",
)
"""The kinds that never answer."""
FEW_REQUESTS = ("an endless body", "an endless event", "100 MB", "100 000 tools found")
ALL_UNREAD = ("an endless body", "200 000 deep", "invalid UTF-8", "no id", "no HTTP", "204")
QUICK = (
    "silent after the list",
    "escapes of terminals everywhere",
    "an endless body",
    "100 000 tools found",
    "200 000 deep",
    "no id",
    "a reset inside the body",
    "503 now and then",
)
"""The kinds that every call of pytest runs on; the others are part of the proof."""


each_kind = on_kinds(KINDS, QUICK)


@pytest.fixture(scope="module")
def runs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Run the command on each hostile kind that a selected test needs.

    Return {kind: (Came, number of requests that the target received)}.
    """
    folder = tmp_path_factory.mktemp("hostile")
    return runs_asked_for(request, KINDS, _run, folder, AT_ONCE)


def _run(name: str, folder: Path) -> tuple[Came, int]:
    """Run `run endpoint` on a target of that hostile kind, with CANARY as its bearer token.

    Return (what came of it, number of requests that the target received).
    """
    target = KINDS[name]()
    with serving(target) as url:
        header = f"Authorization: Bearer {CANARY}"
        patience = ("--answer-timeout", SILENT_S if name in MUTE else READ_S)
        words = ("run", "endpoint", "--url", url, "--header", header, *OPTIONS, *patience)
        run = came(folder, *words, within_s=2 * MOST_S)
    return run, len(target.seen)


Runs = Mapping[str, tuple[Came, int]]


def test_each_kind_has_its_exit_code() -> None:
    """The table of exit codes lists every hostile kind once, and no other."""
    assert sorted(EXIT) == sorted(KINDS)


@each_kind
def test_a_hostile_target_gets_its_verdict(kind: str, runs: Runs) -> None:
    """`run endpoint` on each hostile kind has that kind's exit code, in less than 45 s."""
    run, _ = runs[kind]

    assert (run.exit, run.seconds < MOST_S) == (EXIT[kind], True), run.printed


@each_kind
def test_a_hostile_target_takes_little_memory(kind: str, runs: Runs) -> None:
    """`run endpoint` on each hostile kind takes at most 300 MiB of memory."""
    run, _ = runs[kind]

    assert 0 < run.mib <= MOST_MIB


@each_kind
def test_nothing_that_a_hostile_target_says_acts(kind: str, runs: Runs) -> None:
    """`run endpoint` on each hostile kind prints no traceback, control character or credential."""
    run, _ = runs[kind]

    assert run.active == set()
    assert [word for word in ("Traceback", CANARY) if word in run.printed] == []


@each_kind
def test_the_report_of_a_hostile_target_is_whole(kind: str, runs: Runs) -> None:
    """The report on each hostile kind fits the schema; its reason is one line.

    It has the run's exit code, and no written file has the credential.
    """
    run, _ = runs[kind]

    schema = json.loads((schemas_dir() / "report.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(run.document)
    assert (run.document["exit"], run.why.count("\n")) == (run.exit, 0)
    assert [name for name, raw in run.files.items() if CANARY.encode() in raw] == []


@on_kinds(FEW_REQUESTS, QUICK)
def test_too_large_an_answer_is_not_fetched_over_and_over(kind: str, runs: Runs) -> None:
    """A target whose answers are too large gets less than ten requests, and the reason says so."""
    run, requests = runs[kind]

    assert requests < 10
    assert re.search("too large|more than 144 MiB", run.why)


@on_kinds(ALL_UNREAD, QUICK)
def test_answers_that_cannot_be_read_are_reported_in_one_sentence(kind: str, runs: Runs) -> None:
    """If no answer of a target can be read, the run's reason says what was expected.

    It lists no clauses.
    """
    run, _ = runs[kind]

    assert run.why.startswith("no answer of retrieve_tools can be read: expected ")
    assert "FR-" not in run.why
