"""Golden bytes of checks of one's own: stored, compared, and kept, by real runs of pytest."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pages import blocks

from mcp_proxy_conformance.discovery.baseline.body import parsed

pytestmark = pytest.mark.timeout(900)
_, GUIDE = blocks("OWN_CHECKS.md", "python")
CITING = GUIDE.replace("import CONFIG,", "import CONFIG, requirement,").replace(
    "@on(FORGE)", '@requirement("FR-003.members")\n@on(FORGE)'
)
FAILING = """

@on(FORGE)
def test_a_refusal(bench: Bench, golden: Golden) -> None:
    assert bench.call(DROP) == golden


@on(FORGE)
def test_without_its_control(bench: Bench, golden: Golden) -> None:
    bench.require(bench.reached(DROP), "the tool cannot be called")
    assert bench.list() == golden("servers")
"""
SNAPSHOT = """

def test_a_snapshot_of_syrupy(snapshot):
    assert "text" == snapshot
"""
STORED = "__snapshots__/test_golden/test_a_revealed_tool_is_spelled_as_ever.answer"
UPDATE = "--snapshot-update"
TARGET = ("--target", "reference", "--out", "out")


def ran(folder: Path, *words: str, bent: str = "") -> subprocess.CompletedProcess[str]:
    """Run pytest on test_golden.py in this folder, on the reference; return the ended process.

    `bent` names a mutant, or is `restless`; "" is none. It raises TimeoutExpired after 800 s.
    """
    alone = {name: value for name, value in os.environ.items() if "XDIST" not in name}
    here = {"PYTHONPATH": str(Path(__file__).parents[1]), "BENT": bent}
    plugins = ("-p", "mcp_proxy_conformance.plugin", "-p", "embedded_reference")
    return subprocess.run(
        [sys.executable, "-m", "pytest", *plugins, "-q", *words, "test_golden.py"],
        cwd=folder,
        env=alone | here,
        capture_output=True,
        text=True,
        check=False,
        timeout=800,
    )


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the guide's example and its stored answer, shared by all tests here."""
    folder = tmp_path_factory.mktemp("stored")
    (folder / "test_golden.py").write_text(GUIDE, encoding="utf-8")
    result = ran(folder, *TARGET, UPDATE)
    assert "1 snapshot generated" in result.stdout, result.stdout
    return folder


@pytest.fixture
def folder(stored: Path, tmp_path: Path) -> Path:
    """Return a copy of the folder `stored`, for one test."""
    return Path(shutil.copytree(stored, tmp_path / "copy"))


def test_nothing_stored_is_inconclusive_and_names_the_repair(tmp_path: Path) -> None:
    """Without a stored answer, the check is inconclusive and names the update: exit 1.

    Nothing is stored.
    """
    (tmp_path / "test_golden.py").write_text(GUIDE, encoding="utf-8")

    result = ran(tmp_path, *TARGET)

    sentence = f"no answer is stored in {STORED}; run pytest with {UPDATE} to store this one\n"
    assert (result.returncode, f"\nInconclusive: {sentence}" in result.stdout) == (1, True)
    assert not (tmp_path / "__snapshots__").exists()


def test_a_stored_answer_is_a_text_with_its_request(stored: Path) -> None:
    """A stored answer's file has the request at its head, and below it the answer's text."""
    raw = (stored / STORED).read_bytes()

    body = parsed(raw)
    assert body.request == {
        "method": "tools/call",
        "name": "retrieve_tools",
        "arguments": {"query": "mobela", "include_disabled": True},
    }
    assert json.loads(body.exact.text)["disabled"][0]["name"] == "forge:mobela_drop"
    assert raw.decode().endswith(f"{body.exact.text.decode()}\n")


@pytest.mark.proof(parts=6)
def test_equal_bytes_pass_in_several_processes(folder: Path) -> None:
    """With an equal stored answer, two workers pass, and so does an update.

    The file is unchanged.
    """
    before = (folder / STORED).read_bytes()

    compared = ran(folder, *TARGET, "-n", "2")
    updated = ran(folder, *TARGET, "-n", "2", UPDATE)

    assert (compared.returncode, "1 snapshot passed" in compared.stdout) == (0, True)
    assert (updated.returncode, "1 snapshot passed" in updated.stdout) == (0, True)
    assert (folder / STORED).read_bytes() == before


@pytest.mark.proof
def test_a_changed_byte_fails_with_its_place_and_both_sides(folder: Path) -> None:
    """A changed answer fails the clauses that its check cites, with place and both values.

    The stored file is unchanged until an update, which replaces it.
    """
    (folder / "test_golden.py").write_text(CITING, encoding="utf-8")
    before = (folder / STORED).read_bytes()

    failed = ran(folder, *TARGET, bent="entry-marked")

    report = json.loads((folder / "out" / "report.json").read_bytes())
    (result,) = report["results"]
    (finding,) = result["findings"]
    place = "text.disabled[forge:mobela_drop].description"
    assert f"the answer differs from {STORED}; if that is meant, replace it with" in failed.stdout
    assert f"{place} near byte" in failed.stdout
    assert (result["verdict"], finding["clauses"]) == ("fail", ["FR-003.members"])
    assert finding["path"].startswith(place)
    assert ("[locked]" in finding["observed"], "[locked]" in finding["allowed"]) == (True, False)
    assert (folder / STORED).read_bytes() == before

    updated = ran(folder, *TARGET, UPDATE, bent="entry-marked")

    assert "1 snapshot updated" in updated.stdout, updated.stdout
    assert b"[locked]" in (folder / STORED).read_bytes()


@pytest.mark.proof
def test_what_moves_by_itself_is_measured_and_cut_out(folder: Path) -> None:
    """If each answer has a counter, a clock and a start time, an update and two more runs pass.

    In the stored answer each of the three is a placeholder.
    """
    shutil.rmtree(folder / "__snapshots__")

    runs = [ran(folder, *TARGET, *words, bent="restless") for words in ((UPDATE,), (), ())]

    body = parsed((folder / STORED).read_bytes())
    assert [run.returncode for run in runs] == [0, 0, 0], runs[-1].stdout
    assert body.moving == {("text", "served"), ("text", "at"), ("text", "since")}
    assert body.exact.text.count(b'"{volatile}"') == 3


@pytest.mark.proof
def test_what_cannot_be_stored_replaces_nothing(folder: Path) -> None:
    """In an update, an answer that is an error, and a missing control, are inconclusive.

    Files that these checks stored before are unchanged.
    """
    kept = ("test_a_refusal", "test_without_its_control[servers]")
    for name in kept:
        shutil.copy(folder / STORED, (folder / STORED).with_name(f"{name}.answer"))
    (folder / "test_golden.py").write_text(GUIDE + FAILING, encoding="utf-8")
    before = {path.name: path.read_bytes() for path in (folder / STORED).parent.iterdir()}

    result = ran(folder, *TARGET, UPDATE)

    assert "2 failed, 1 passed" in result.stdout, result.stdout
    assert "Inconclusive: the answer is an error, which is not stored" in result.stdout
    assert "Inconclusive: the tool cannot be called" in result.stdout
    assert {path.name: path.read_bytes() for path in (folder / STORED).parent.iterdir()} == before


@pytest.mark.proof
def test_another_request_or_a_changed_file_is_inconclusive(folder: Path) -> None:
    """A stored answer to another request, and a damaged file, make the check inconclusive.

    Both sentences name what is wrong, the first the update that repairs it.
    """
    (folder / "test_golden.py").write_text(GUIDE.replace('"mobela"', '"drop"'), encoding="utf-8")
    other = ran(folder, *TARGET)
    (folder / STORED).write_bytes((folder / STORED).read_bytes()[:-9])
    changed = ran(folder, *TARGET)

    assert f"{STORED} is the answer to another request; replace it with {UPDATE}" in other.stdout
    assert f"Inconclusive: {STORED} cannot be used: " in changed.stdout


def test_without_a_target_a_check_asks_for_one(folder: Path) -> None:
    """Without --target the check is an error that asks for one; a snapshot of syrupy passes.

    An update keeps the stored answer.
    """
    (folder / "test_golden.py").write_text(GUIDE + SNAPSHOT, encoding="utf-8")

    result = ran(folder, UPDATE)

    assert "1 passed, 1 error" in result.stdout, result.stdout
    assert "run pytest with --target-file FILE" in result.stdout
    assert (folder / STORED).exists()
