"""JSON cases run from JavaScript on the reference, its variants and a proxy that does not start."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
import pytest
import strangers
from pages import blocks
from sound_case import shipped_json

from mcp_proxy_conformance.catalogue.resources import fixtures_dir
from mcp_proxy_conformance.discovery.case import Case, cases

PAGE = "CASES.md"
RUNNER = Path(__file__).parents[1] / "node" / "run-case.mjs"
PROXY = (sys.executable, "-m", "mcp_proxy_reference")
PER_AREA = 2
MUTANT = (sys.executable, "-m", "mcp_proxy_mutants.adapter")


@pytest.fixture
def texts(tmp_path: Path) -> list[str]:
    """Return the option that names a file with the texts that the page has for the reference."""
    path = tmp_path / "texts.json"
    path.write_text(blocks(PAGE, "json")[-1], encoding="utf-8")
    return ["--texts", str(path)]


def run_cases(
    *cases: Case | Path, proxy: tuple[str, ...] = PROXY, texts: Sequence[str] = ()
) -> subprocess.CompletedProcess[str]:
    """Run the JavaScript runner on these cases or files and a proxy; TimeoutExpired after 110 s."""
    words: dict[str | Path, None] = {}
    for case in cases:
        file = f"discovery/{case.area}.json" if isinstance(case, Case) else case
        words |= {fixtures_dir() / file: None}
        words |= {case.id: None} if isinstance(case, Case) else {}
    return subprocess.run(
        [
            strangers.NODE,
            RUNNER,
            *words,
            "--fixtures",
            fixtures_dir() / "discovery",
            *texts,
            "--",
            *proxy,
        ],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=110,
    )


def some_of_each_area() -> list[Case]:
    """Return the first two cases of each area, in the order of `cases()`."""
    areas: dict[str, list[Case]] = {}
    for case in cases():
        areas.setdefault(case.area, []).append(case)
    return [case for area in areas.values() for case in area[:PER_AREA]]


def lines_with(done: subprocess.CompletedProcess[str], words: Iterable[str]) -> list[list[str]]:
    """Return the lines whose first word is one of these, each as word, case, path and value."""
    lines = [line.split(maxsplit=3) for line in done.stdout.splitlines()]
    return [line for line in lines if line[0] in set(words)]


@pytest.mark.proof
def test_cases_of_every_area_hold_when_they_are_run_from_javascript(texts: list[str]) -> None:
    """From Node, two cases of each area on the reference are all ok or skipped; exit 0."""
    chosen = some_of_each_area()

    done = run_cases(*chosen, texts=texts)

    assert lines_with(done, ["FAIL", "OPEN"]) == []
    assert (done.returncode, done.stderr) == (0, "")
    assert {line[1] for line in lines_with(done, ["ok", "skip"])} == {case.id for case in chosen}
    assert len({case.given.stage for case in chosen}) > 1


def test_a_wrong_expectation_is_printed_with_its_path(tmp_path: Path) -> None:
    """A case with a wrong status gives one FAIL line, with its path and the observed value.

    Exit 1.
    """
    case = next(
        candidate
        for candidate in cases()
        if candidate.given.stage == "plain" and candidate.then.disabled
    )
    document = shipped_json(f"discovery/{case.area}.json#{case.id}")
    [(tool, right)] = document["then"]["disabled"].items()
    document["then"]["disabled"][tool] = ["server_disabled"]
    wrong = tmp_path / "wrong.json"
    wrong.write_bytes(msgspec.json.encode(document))

    done = run_cases(wrong)

    assert lines_with(done, ["FAIL"]) == [
        ["FAIL", case.id, f"then.disabled.{tool}", msgspec.json.encode(right).decode()]
    ]
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.proof(parts=8)
@pytest.mark.parametrize(
    ("mutant", "name", "path"),
    [
        ("cap-lets-one-more", "limits-11-at-100", "disabled_count"),
        ("flag-on-when-given", "opt-in-config-false", "disabled_count"),
        ("rejection-user-first", "rejection-config-user", "rejection.class"),
        ("zeros-counted", "counts-mixed-crowd", "counts.ragata"),
    ],
)
def test_a_mutant_fails_where_it_is_wrong(
    mutant: str, name: str, path: str, texts: list[str]
) -> None:
    """From Node, a mutant has a FAIL at the member that shows what is wrong with it; exit 1."""
    [case] = (case for case in cases() if case.id == name)

    done = run_cases(case, proxy=(*MUTANT, mutant), texts=texts)

    failed = [line[:3] for line in lines_with(done, ["FAIL"])]
    assert ["FAIL", name, f"then.{path}"] in failed
    assert (done.returncode, done.stderr) == (1, "")


def test_a_text_is_wrong_beyond_doubt_or_left_open() -> None:
    """From Node without texts, a config lock's plainly wrong text is FAIL, any other text OPEN."""
    [case] = (case for case in cases() if case.id == "remediation-both")

    done = run_cases(case, proxy=(*MUTANT, "config-text-says-toggle"))

    assert [line[:3] for line in lines_with(done, ["FAIL", "OPEN"])] == [
        ["FAIL", case.id, "then.remediation_class.disabled_by_config"],
        ["OPEN", case.id, "then.remediation_class.disabled_by_user"],
    ]


@pytest.mark.proof(parts=6)
def test_lawful_answers_with_fewer_tools_are_excused(texts: list[str]) -> None:
    """Three conforming variants that list or count fewer locked tools have no FAIL or OPEN.

    Exit 0; only with the lower cap are expectations skipped as never seen.
    """
    resting = [case for case in cases() if case.interpretations]

    for name in ("cap-of-five", "note-of-shown", "default-of-five"):
        done = run_cases(*resting, proxy=(*MUTANT, name), texts=texts)

        assert (done.returncode, lines_with(done, ["FAIL", "OPEN"])) == (0, []), name
        skipped = [line for line in lines_with(done, ["skip"]) if "never" in line[3]]
        assert bool(skipped) == (name == "cap-of-five")


def test_a_proxy_that_does_not_start_is_no_verdict(tmp_path: Path) -> None:
    """With a proxy program that is missing, the runner exits with 2, names it, prints no case."""
    done = run_cases(cases()[0], proxy=(str(tmp_path / "no-proxy"),))

    assert (done.returncode, done.stdout) == (2, "")
    assert "no-proxy" in done.stderr


def test_the_example_of_the_page_is_a_case() -> None:
    """The first JSON block of CASES.md is equal to the shipped case of its id."""
    shown = json.loads(blocks(PAGE, "json")[0])

    assert shown == shipped_json(f"discovery/{shown['area']}.json#{shown['id']}")


def test_the_page_shows_how_cases_of_a_file_are_made() -> None:
    """The JavaScript of CASES.md is the file `cases.mjs`, which the runner imports."""
    assert blocks(PAGE, "js") == [RUNNER.with_name("cases.mjs").read_text(encoding="utf-8")]
