"""Shares of workers gathered, written and read; checks divided in parts; `report merge`."""

from __future__ import annotations

import json
from collections import Counter
from importlib.metadata import version
from pathlib import Path
from typing import Any

import execnet
import needs
import pytest
from click.testing import CliRunner
from hand_written_reports import CLEAN, ONE, coverage
from hypothesis import given
from hypothesis import strategies as st

from mcp_proxy_conformance.catalogue.requirement import profile
from mcp_proxy_conformance.cli import main
from mcp_proxy_conformance.report.document import plain
from mcp_proxy_conformance.report.from_record import report_of
from mcp_proxy_conformance.run.collection import BadShard, shard_of, shared_out
from mcp_proxy_conformance.run.parallel.shares import (
    Began,
    CheckResults,
    PartEnd,
    Share,
    Writer,
    gather,
    shares_in,
)
from mcp_proxy_conformance.verdict.cited import CitedLocks, CitedMessage, CitedStage
from mcp_proxy_conformance.verdict.record import RunRecord, RunState, Shard, TargetFacts
from mcp_proxy_conformance.verdict.redaction import encodable
from mcp_proxy_conformance.verdict.result import Result

PART = CLEAN | {
    "target": CLEAN["target"] | {"file": None, "lines": {}},
    "suite": {"name": "mcp-proxy-conformance", "version": version("mcp-proxy-conformance")},
    "shard": {
        "number": 1, "of": 2, "order": {"test_order_and_cap.py::test_cap[11]": "crowd"},
        "narrowed": False, "interrupted": False, "cut_short": "", "faults": [], "stopped": None,
    },
}  # fmt: skip
SECOND = PART | {"shard": PART["shard"] | {"number": 2}, "results": [], "messages": {}}


def reported(state: RunState) -> dict[str, Any]:
    """Return the report, as JSON data, of a discovery run of the reference in that state."""
    stages = tuple(state.stages)
    return plain(report_of(
        RunRecord(
            target=TargetFacts(kind="reference"), profile=profile("discovery"), state=state,
            stages=stages,
        )
    ))  # fmt: skip


def crowd_check(at: int, reason: str, key: str = "") -> CheckResults:
    """Return what a worker hands over of one passing check, on the stage `crowd`.

    `at` is its number in the run, `reason` also its message's body, `key` a credential in that.
    """
    result = Result(
        check=f"test_{at}", case=None, clauses=("FR-006.cap",), level="required", verdict="pass",
        reason=reason, stage="crowd", messages=("crowd/7",),
    )  # fmt: skip
    message = CitedMessage(
        edge="client", direction="sent", at=0.0, peer="", note="", body=reason, cut=0,
        headers=(("Via", f"for {key}"),),
    )  # fmt: skip
    armed = CitedLocks(called=[], refused=[], skipped={}, unproven={})
    stage = CitedStage(
        place="crowd", name="crowd", stage="crowd", armed=armed, seconds=0.0,
        credentials=({"X-Key": key},),
    )  # fmt: skip
    return CheckResults(at=at, results=(result,), messages={"crowd/7": message}, stages=(stage,))


def test_shares_come_together_in_the_order_of_the_run() -> None:
    """`gather` puts results of two workers in the order of the checks.

    Stages of the same name get numbers, and so do their messages.
    """
    run = RunState()

    numbers = gather(
        run,
        [
            Share(checks=(crowd_check(2, "a"), crowd_check(3, "a"))),
            Share(checks=(crowd_check(1, "b"),)),
        ],
    )

    assert numbers == {1, 2, 3}
    assert [(result.reason, result.messages) for result in run.results] == [
        ("b", ("crowd/7",)), ("a", ("crowd 2/7",)), ("a", ("crowd 2/7",)),
    ]  # fmt: skip
    assert {name: message.body for name, message in run.messages.items()} == {
        "crowd/7": "b",
        "crowd 2/7": "a",
    }
    assert [stage.place for stage in run.stages] == ["crowd", "crowd 2"]


def test_a_share_that_becomes_whole_while_it_is_looked_for_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker's file that is renamed as whole after the folder was listed is read all the same."""
    writer = Writer(tmp_path, "gw0")
    writer.write(Began(7))
    writer.close()
    monkeypatch.setattr(Path, "glob", lambda folder, _: [folder / "gw0.part"])

    assert {name: share.pid for name, share in shares_in(tmp_path).items()} == {"gw0": 7}


def test_a_check_that_two_workers_ran_counts_once() -> None:
    """Of a check in the shares of two workers, only the first result is kept."""
    run = RunState()

    gather(
        run, [Share(checks=(crowd_check(1, "first"),)), Share(checks=(crowd_check(1, "again"),))]
    )

    assert [result.reason for result in run.results] == ["first"]


@needs.discovery
def test_credentials_of_every_worker_are_taken_out_of_every_message() -> None:
    """A credential of one worker's target is redacted in the messages of all workers."""
    run = RunState()
    other = crowd_check(2, "b", "k3y-of-one")

    gather(run, [Share(checks=(crowd_check(1, "a", "k3y-of-one"),)), Share(checks=(other,))])

    messages = reported(run)["messages"]
    assert {message["headers"]["Via"] for message in messages.values()} == {"for (redacted)"}


def test_what_was_written_before_an_end_is_read(tmp_path: Path) -> None:
    """A share that is cut off inside a line is read up to that line, and has no end.

    A whole share has all of its lines.
    """
    writer = Writer(tmp_path, "gw0")
    for line in (Began(7), crowd_check(1, "x"), PartEnd(cut_short="why")):
        writer.write(line)
    writer.close()
    *lines, _ = (tmp_path / "gw0.jsonl").read_bytes().splitlines(keepends=True)
    torn = b'{"type":"found","at":2,"resu'
    (tmp_path / "gw1.part").write_bytes(b"".join([*lines, torn]))

    shares = shares_in(tmp_path)

    assert [share.pid for share in shares.values()] == [7, 7]
    assert [[check.at for check in share.checks] for share in shares.values()] == [[1], [1]]
    assert [share.ended for share in shares.values()] == [PartEnd(cut_short="why"), None]


def test_what_a_target_says_can_be_sent_to_another_process() -> None:
    """`encodable` makes lone surrogates in nested values escapes, so that execnet can send them."""
    value = {"a\udc80": ["\ud800", 1, None, ("é", {"b": True})]}

    encoded = encodable(value)

    assert execnet.loads(execnet.dumps(encoded)) == encoded
    assert encoded == {"a\\udc80": ["\\ud800", 1, None, ("é", {"b": True})]}


@given(st.dictionaries(st.integers(), st.sampled_from("abcdefgh")), st.integers(1, 9))
def test_each_check_is_in_one_part_and_no_place_is_divided(places: dict[int, str], of: int) -> None:
    """`shared_out` puts each check into one part, in the given order.

    All checks of a place are in the same part.
    """
    parts = [shared_out(places, Shard(number=index + 1, of=of)) for index in range(of)]

    assert Counter(check for part in parts for check in part) == Counter(list(places))
    homes = [{places[check] for check in part} for part in parts]
    assert sum(map(len, homes)) == len(set(places.values()))
    assert all(list(part) == [check for check in places if check in part] for part in parts)


@pytest.mark.parametrize("text", ["", "1", "1/", "/3", "0/3", "4/3", "a/b", "1/3/5", "-1/3", "²/3"])
def test_what_names_no_part_is_refused(text: str) -> None:
    """`shard_of` raises BadShard, with the right form, for a text that is not like 1/3."""
    with pytest.raises(BadShard, match="write 1/3 for the first of three"):
        shard_of(text)


def merge(tmp_path: Path, *documents: dict[str, Any]) -> tuple[int, str]:
    """Write these reports to a.json, b.json and so on, and run `report merge` on them.

    Return (exit code, last line of the output).
    """
    paths = [tmp_path / f"{letter}.json" for letter in "abcd"[: len(documents)]]
    for path, part in zip(paths, documents, strict=True):
        path.write_text(json.dumps(part), encoding="utf-8")
    out = str(tmp_path / "merged.json")
    came = CliRunner().invoke(main, ["report", "merge", *map(str, paths), "--out", out])
    return came.exit_code, came.output.splitlines()[-1]


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (CLEAN, "b.json is not a part of a run"),
        (PART, "are both part 1/2; give only one of them"),
        (SECOND | {"shard": SECOND["shard"] | {"of": 3}}, "different numbers of parts"),
        (SECOND | {"shard": SECOND["shard"] | {"order": {}}}, "different checks"),
        (SECOND | {"suite": PART["suite"] | {"version": "9"}}, "different suite versions"),
        (SECOND | {"target": PART["target"] | {"kind": "mcpproxy"}}, "different kinds of target"),
        (SECOND | {"profile": PART["profile"] | {"name": "robustness@1"}}, "different profiles"),
        (SECOND | {"coverage": coverage("late")}, "different spaces"),
        ({}, "does not have the format"),
    ],
)
def test_what_are_no_parts_of_one_run_is_not_merged(
    other: dict[str, Any], words: str, tmp_path: Path
) -> None:
    """`report merge` of a part and what is not another part of that run exits with 2."""
    code, line = merge(tmp_path, PART, other)

    assert (code, words in line) == (2, True)


@needs.discovery
def test_a_missing_part_is_named(tmp_path: Path) -> None:
    """`report merge` of part 1 of 2 alone is partial, exit 4, and names the missing part."""
    code, line = merge(tmp_path, PART)

    assert (code, line.startswith("partial: "), "missing parts: 2/2" in line) == (4, True, True)


WAIVER = {
    "id": "FR-006.cap", "reason": "Known.", "issue": "https://example.com/1", "line": 1,
    "expires": "2026-99-99", "file": "known.toml", "state": "used", "results": 1,
}  # fmt: skip


def without(document: dict[str, Any], member: str) -> dict[str, Any]:
    """Return a copy of the object without this member."""
    return {name: value for name, value in document.items() if name != member}


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"shard": PART["shard"] | {"of": 10**12}}, "claims to be part 1/1000000000000,"),
        ({"shard": PART["shard"] | {"number": 3}}, "claims to be part 3/2,"),
        ({"waivers": [WAIVER]}, "the parts cannot be merged: "),
    ],
)
def test_a_part_that_does_not_say_what_parts_say_is_refused(
    members: dict[str, Any], words: str, tmp_path: Path
) -> None:
    """`report merge` of a part with impossible members, though valid, exits with 2 and why."""
    code, line = merge(tmp_path, PART | members)

    assert (code, words in line) == (2, True), line


@needs.discovery
@pytest.mark.parametrize("odd", ["soon", [1], -1, 1e300, None, {"crowd/7": "soon", "crowd": []}])
def test_times_of_any_form_are_merged(odd: Any, tmp_path: Path) -> None:
    """`report merge` of two parts with timing of any other form is incomplete, exit 4."""
    timing = dict.fromkeys(("seconds", "messages", "stages", "results"), odd)

    code, line = merge(tmp_path, PART | {"timing": timing}, SECOND | {"timing": timing})

    assert (code, line.startswith("incomplete: ")) == (4, True), line


@needs.discovery
def test_a_failure_of_merged_parts_is_seen_again_by_the_command_of_a_part(tmp_path: Path) -> None:
    """A merged report reproduces a failure by the first part's command with --check.

    It has no --shard.
    """
    timing = PART["timing"] | {"command": ["mcp-proxy-conformance run command", "-- a"]}
    part = PART | {"results": ONE["results"], "timing": timing}
    (tmp_path / "a.json").write_text(json.dumps(part))
    words = ["report", "merge", str(tmp_path / "a.json"), "--out", str(tmp_path / "merged.json")]

    output = CliRunner().invoke(main, words).output

    line = "mcp-proxy-conformance run command --check 'test_cap[11]' -- a"
    assert f"Reproduce with: {line}\n" in output


@needs.discovery
def test_how_a_part_ended_is_how_the_run_did(tmp_path: Path) -> None:
    """`report merge` with an interrupted part exits with 130, with one with faults 70.

    The fault is printed.
    """
    interrupted = SECOND | {"shard": SECOND["shard"] | {"interrupted": True}}
    faulty = SECOND | {"shard": SECOND["shard"] | {"faults": ["a sentence"]}}

    codes = [merge(tmp_path, PART, document) for document in (interrupted, faulty)]

    assert [code for code, _ in codes] == [130, 70]
    assert codes[1][1].startswith("fault of the suite: a sentence")
