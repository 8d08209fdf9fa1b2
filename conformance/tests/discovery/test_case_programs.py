"""CASES.md's programs in Go and TypeScript: cases on sound, faulty and featureless targets."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import strangers
from pages import blocks

from mcp_proxy_conformance.catalogue.resources import fixtures_dir
from mcp_proxy_conformance.catalogue.stage import stage
from mcp_proxy_conformance.discovery.arming import arm
from mcp_proxy_conformance.discovery.case import CAP_FILLS, Case, cases
from mcp_proxy_conformance.discovery.targets.embedded import embedded
from mcp_proxy_conformance.discovery.targets.started import Started
from mcp_proxy_mutants.discovery.changed import Changed
from mcp_proxy_mutants.discovery.featureless import FEATURELESS
from mcp_proxy_mutants.discovery.mutants import mutants
from mcp_proxy_reference.policy import REMEDIATION

PAGE = "CASES.md"
REFERENCE = Changed(id="itself", text="The reference itself.")
FEWEST = Changed(id="one", text="It lists one locked tool.", change={"cap": lambda _: 1})
TEXTS = {"disabled_by_config": "Ask the user to unlock it.", "disabled_by_user": "Ring upstairs."}
MISTOLD = Changed(
    id="mistold", text="Its texts are other ones.", change={"remediation": {**REMEDIATION, **TEXTS}}
)
CAPPED = ("limits-11-at-default", "limits-15-at-11", "limits-9-at-10", "limits-9-at-100")


@pytest.fixture(scope="module", params=["go", "ts"])
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return the command of the page's Go or TypeScript program; its last part is its path.

    The page's `texts.json` is beside it. The test is skipped if Go is not installed.
    """
    [text] = blocks(PAGE, request.param)
    source = tmp_path_factory.mktemp("program") / f"case.{request.param}"
    source.write_text(text, encoding="utf-8")
    source.with_name("texts.json").write_text(blocks(PAGE, "json")[-1], encoding="utf-8")
    if request.param == "ts":
        source.with_name("cases.mjs").write_text(blocks(PAGE, "js")[0], encoding="utf-8")
        return [str(strangers.NODE), str(source)]
    if shutil.which("go") is None:
        pytest.skip("there is no go on this machine")
    built = source.with_suffix("")
    subprocess.run(["go", "vet", source], check=True, capture_output=True)
    subprocess.run(["go", "build", "-o", built, source], check=True, capture_output=True)
    return [str(built)]


@contextmanager
def staged(name: str, changed: Changed, scratch: Path) -> Iterator[str]:
    """Yield the URL of a changed reference after all steps of the stage of that name.

    The locks are proven, but on the reference without the feature.
    """
    target = embedded(changed, settle_s=0.1)
    started = Started(target, stage(name), scratch)
    try:
        if changed is not FEATURELESS:
            arm(started)
        yield started.access.url
    finally:
        started.close()
        target.close()


def words(of: Iterable[Case]) -> list[str]:
    """Return the names of the files of these cases, and their ids."""
    chosen = list(of)
    return [*sorted({f"{case.area}.json" for case in chosen}), *(case.id for case in chosen)]


def of_stage(name: str) -> list[Case]:
    """Return all cases of a stage."""
    return [case for case in cases() if case.given.stage == name]


def run(program: list[str], url: str, names: list[str]) -> tuple[int, Counter[str], list[str]]:
    """Run the program, with its texts, on a URL and these files and ids: no error, at most 110 s.

    Return (exit code, number of lines by first word, the lines without `ok` and `skip`).
    """
    done = subprocess.run(
        [*program, url, *names],
        cwd=fixtures_dir() / "discovery",
        env=os.environ | {"TEXTS": str(Path(program[-1]).with_name("texts.json"))},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=110,
    )
    assert done.stderr == ""
    first = [line.split()[0] for line in done.stdout.splitlines()]
    unsettled = [line for line in done.stdout.splitlines() if line.split()[0] not in ("ok", "skip")]
    return done.returncode, Counter(first), unsettled


@pytest.mark.parametrize("name", ["mixed", pytest.param("crowd", marks=pytest.mark.proof)])
def test_every_case_of_a_stage_holds_on_the_reference(
    program: list[str], name: str, tmp_path: Path
) -> None:
    """On the reference, the page's program exits with 0 for all cases of a stage.

    Over 100 expectations hold; none fails or is open.
    """
    with staged(name, REFERENCE, tmp_path) as url:
        code, counted, unsettled = run(program, url, words(of_stage(name)))

    assert (code, unsettled, counted["ok"] > 100) == (0, [], True)


def test_a_faulty_target_fails_where_it_is_faulty(program: list[str], tmp_path: Path) -> None:
    """On a reference whose cap lets one more through, the page's program exits with 1.

    Only cases of more than ten locked tools are FAIL, for the member `disabled_count`.
    """
    (fault,) = (mutant for mutant in mutants() if mutant.id == "cap-lets-one-more")
    with staged("crowd", fault, tmp_path) as url:
        code, _, unsettled = run(program, url, ["limits.json", *CAPPED])

    failed = sorted(line.split()[:3] for line in unsettled)
    member = failed[0][2].removeprefix("then.")
    assert (code, member) == (1, "disabled_count")
    assert [line[:2] for line in failed] == [["FAIL", name] for name in CAPPED[:2]]


def test_a_text_is_wrong_beyond_doubt_or_left_open(program: list[str], tmp_path: Path) -> None:
    """A config lock with the user's remedy is a FAIL; a text that takes a reader is OPEN."""
    with staged("mixed", MISTOLD, tmp_path) as url:
        code, _, unsettled = run(program, url, ["remediation.json", "remediation-both"])

    lines = {tuple(line.replace("then.", "").split()[:3]) for line in unsettled}
    assert (code, lines) == (
        1,
        {
            ("FAIL", "remediation-both", "remediation_class.disabled_by_config"),
            ("OPEN", "remediation-both", "remediation_class.disabled_by_user"),
        },
    )


def test_a_target_with_a_lower_cap_is_excused(program: list[str], tmp_path: Path) -> None:
    """On a reference that lists at most one locked tool, the page's program exits with 0.

    Cases that allow such a cap are skipped; none fails or is open.
    """
    resting = [case for case in cases() if CAP_FILLS in case.interpretations]
    mixed = [case for case in resting if case.given.stage == "mixed"]
    with staged("mixed", FEWEST, tmp_path) as url:
        code, counted, unsettled = run(program, url, words(mixed))

    assert (code, unsettled, counted["skip"] >= len(mixed) > 0) == (0, [], True)


def test_a_target_without_the_feature_leaves_everything_open(
    program: list[str], tmp_path: Path
) -> None:
    """On a reference without the feature, the page's program exits with 1, each case OPEN.

    None is ok or FAIL.
    """
    names = words(case for case in of_stage("plain") if case.area == "note")
    with staged("plain", FEATURELESS, tmp_path) as url:
        code, counted, unsettled = run(program, url, names)

    assert (code, counted["ok"], counted["FAIL"]) == (1, 0, 0)
    assert len([line for line in unsettled if line.startswith("OPEN")]) == len(unsettled) > 0
