"""Versions of profiles: an old one keeps its clauses; joined, unknown, listed and frozen ones."""

from __future__ import annotations

import re
import shutil
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import needs
import pytest
from click.testing import CliRunner

from mcp_proxy_conformance.authoring.frozen import fingerprint
from mcp_proxy_conformance.catalogue import requirement, specification
from mcp_proxy_conformance.catalogue.requirement import UnknownProfile, profile, profiles, versions
from mcp_proxy_conformance.catalogue.resources import fixtures_dir
from mcp_proxy_conformance.catalogue.specification import data_files, judging, specifications
from mcp_proxy_conformance.cli import main
from mcp_proxy_conformance.report.reader import read_report

pytestmark = needs.discovery
CHECK = "test_as_many_locked_matches_are_listed_as_the_cap_allows"
LATER = "ROB.tools~text"


@pytest.fixture
def with_a_second_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[requirement.Profile]:
    """Yield `robustness@2`, in a copy of the fixtures with a `robustness@1` that lacks LATER.

    Cached profiles are dropped before and after.
    """
    tree = Path(shutil.copytree(fixtures_dir(), tmp_path / "fixtures")) / "discovery"
    newest = tree / "profiles" / "robustness.toml"
    text = newest.read_text(encoding="utf-8")
    old = text.replace(f'  "{LATER}",\n', "")
    (tree / "profiles" / "robustness@1.toml").write_text(old, encoding="utf-8")
    newest.write_text(text.replace("version = 1", "version = 2"), encoding="utf-8")
    cached = (profile, profiles, versions)
    with monkeypatch.context() as patched:
        others = [each for each in specifications() if each.name != "discovery"]
        copied = (replace(judging("reference"), fixtures=tree), *others)
        patched.setattr(specification, "specifications", lambda: copied)
        for cache in cached:
            cache.cache_clear()
        yield profile("robustness")
    for cache in cached:
        cache.cache_clear()


def test_a_clause_that_is_added_later_belongs_to_the_later_version(
    with_a_second_version: requirement.Profile,
) -> None:
    """A profile's name without a version means the newest, and only the newest is listed.

    The older version lacks the clause that was added.
    """
    newest, old = with_a_second_version, profile("robustness@1")

    assert (newest.name, LATER in newest.clauses) == ("robustness@2", True)
    assert (old.name, LATER in old.clauses) == ("robustness@1", False)
    assert profile("robustness@2") == newest
    assert [version.name for version in profiles() if version.id == "robustness"] == [
        "robustness@2"
    ]


def test_versions_are_joined_each_by_its_own(with_a_second_version: requirement.Profile) -> None:
    """Profiles joined by `+` have a name with each version, which looks up the same again.

    A profile without a version is joined in its newest.
    """
    del with_a_second_version

    both = profile("discovery@1+robustness@1")

    assert both.name == "discovery@1+robustness@1"
    newest = profile("discovery").name
    assert profile("discovery+robustness").name == f"{newest}+robustness@2"
    assert LATER not in both.clauses
    assert profile(both.name) == both


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        ("robustness@3", "no version '3' of robustness; known: robustness@1, robustness@2."),
        ("robustness@", "no version '' of robustness"),
        ("robustness@one", "no version 'one' of robustness"),
        ("robustness@01", "no version '01' of robustness"),
        ("robustnes@1", "no profile 'robustnes'; the nearest is 'robustness'"),
        ("robustness@1+robustness", "names the profile robustness in two versions; keep one"),
    ],
)
def test_an_unknown_version_is_refused_with_those_that_there_are(
    wanted: str, sentence: str, with_a_second_version: requirement.Profile
) -> None:
    """An unknown profile or version, or one profile in two versions, raises UnknownProfile.

    The message has the known or nearest names.
    """
    del with_a_second_version

    with pytest.raises(UnknownProfile) as error:
        profile(wanted)

    assert sentence in str(error.value)


@pytest.mark.proof
def test_a_run_by_an_old_version_has_its_clauses_only(
    with_a_second_version: requirement.Profile, tmp_path: Path
) -> None:
    """A report on joined old versions has exactly their clauses, and their name.

    An unknown version exits with 2 and one line that lists the known ones.
    """
    del with_a_second_version
    command = ["run", "--check", CHECK, "--out", str(tmp_path / "out"), "--profile"]

    CliRunner().invoke(main, [*command, "discovery@1+robustness@1"])
    report = read_report(tmp_path / "out" / "report.json")
    done = CliRunner().invoke(main, [*command, "discovery@9"])

    clauses = [clause.id for clause in report.clauses]
    assert report.profile.name == "discovery@1+robustness@1"
    assert clauses == list(profile("discovery@1+robustness@1").clauses)
    assert (done.exit_code, done.output.count("\n")) == (2, 1)
    assert "no version '9' of discovery; known: discovery@1" in done.output


@needs.every
def test_the_list_of_changes_names_every_version_with_its_size() -> None:
    """CHANGELOG.md lists each version of a profile with its number of clauses.

    Frozen versions have the fingerprints that are in frozen.toml.
    """
    text = (Path(__file__).parents[3] / ".github" / "CHANGELOG.md").read_text(encoding="utf-8")
    parts = [tomllib.loads(file.read_text(encoding="utf-8")) for file in data_files("frozen.toml")]
    frozen = {name: print_ for part in parts for name, print_ in part["frozen"].items()}

    named = dict(re.findall(r"^\| `([a-z-]+@\d+)` \| (\d+) \|", text, re.MULTILINE))

    assert named == {version.name: str(len(version.clauses)) for version in versions()}
    assert {
        version.name: fingerprint(version) for version in versions() if version.name in frozen
    } == frozen


def test_what_is_frozen_does_not_depend_on_the_order_of_a_file() -> None:
    """A profile's fingerprint does not depend on order, text or interpretations.

    It changes if a clause, or a pass of the floor, is taken away.
    """
    newest = profile("robustness")
    turned = requirement.Profile(
        id=newest.id,
        version=1,
        text="Other.",
        clauses=newest.clauses[::-1],
        interpretations=(),
        floor=newest.floor,
    )
    less = requirement.Profile(
        id=newest.id,
        version=1,
        text=newest.text,
        clauses=newest.clauses[1:],
        interpretations=(),
        floor=newest.floor,
    )
    lower = requirement.Profile(
        id=newest.id,
        version=1,
        text=newest.text,
        clauses=newest.clauses,
        interpretations=(),
        floor=requirement.Floor(passes=newest.floor.passes[1:]),
    )

    assert fingerprint(turned) == fingerprint(newest)
    assert len({fingerprint(each) for each in (newest, less, lower)}) == 3
