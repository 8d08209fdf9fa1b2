"""AUTHORS.md's new requirement in a copy of the repository: linted, judged, mutants killed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pages import GITHUB, blocks

from mcp_proxy_conformance.catalogue.requirement import profile

PAGE = "AUTHORS.md"
ROOT = GITHUB.parent
PARTS = ("conformance", "fixtures", "reference", "schemas", ".github", "pyproject.toml")
NEW = "FR-015.unranked"
MUTANTS = ("locked-entries-scored", "user-locked-entries-scored")
Command = Callable[..., subprocess.CompletedProcess[str]]


def block(language: str, words: str) -> str:
    """Return the text of the page's only code block in that language that contains these words."""
    [text] = [text for text in blocks(PAGE, language) if words in text]
    return text


def edit(path: Path, place: str, text: str) -> None:
    """Replace the first match of the pattern `place` in a file by the text.

    AssertionError without one.
    """
    after, count = re.subn(place, lambda _: text, path.read_text(encoding="utf-8"), count=1)
    assert count == 1, f"{path}: {place}"
    path.write_text(after, encoding="utf-8")


@pytest.fixture
def run(tmp_path: Path) -> Command:
    """Copy the repository, add what AUTHORS.md adds, and return a function that runs modules there.

    It takes a module's name and arguments, returns the ended process, and raises TimeoutExpired
    after 280 s.
    """
    for part in PARTS:
        source = ROOT / part
        if source.is_dir():
            ignore = shutil.ignore_patterns("__pycache__", ".*_cache")
            shutil.copytree(source, tmp_path / part, ignore=ignore)
        else:
            shutil.copy(source, tmp_path / part)
    fixtures, mutants = tmp_path / "fixtures/discovery", tmp_path / "conformance/mcp_proxy_mutants"
    for name in ("sentences.toml", "requirements/discovery.toml", "pictures/locks.toml"):
        edit(fixtures / name, r"\Z", "\n" + block("toml", f"# fixtures/discovery/{name}"))
    edit(fixtures / "members.json", r"(?=\n  \]\n\}\n\Z)", "," + block("json", NEW))
    both = block("python", MUTANTS[0])
    edit(
        mutants / "discovery/mutants/fr_003_entry.py",
        r"(?<=\nMUTANTS: tuple\[Mutant, \.\.\.\] = \(\n)",
        both,
    )
    newest = fixtures / "profiles/discovery.toml"
    shutil.copy(newest, newest.with_name("discovery@1.toml"))
    edit(newest, "version = 1", "version = 2")
    edit(newest, r"(?<=,\n)(?=\]\n)", f'  "{NEW}",\n')
    row = f"| `discovery@2` | {len(profile('discovery').clauses) + 1} | FR-015 |\n"
    edit(tmp_path / ".github/CHANGELOG.md", r"(?=\| `discovery-live@1`)", row)
    paths = os.pathsep.join(str(tmp_path / part) for part in ("conformance", "reference"))

    def module(*words: str) -> subprocess.CompletedProcess[str]:
        """Run `python -m` with these words in the copy of the repository.

        Return the ended process.
        """
        return subprocess.run(
            [sys.executable, "-m", *words], cwd=tmp_path, check=False, text=True,
            capture_output=True, timeout=280, env={**os.environ, "PYTHONPATH": paths},
        )  # fmt: skip

    return module


@pytest.mark.proof(parts=6)
@pytest.mark.timeout(300)
def test_a_requirement_is_added_as_the_page_for_authors_says(run: Command) -> None:
    """With the page's requirement added, lint is clean and the reference passes its check.

    Both mutants are killed, `explain sentences` lists it, and the catalogue's tests pass.
    """
    suite = "mcp_proxy_conformance"
    tests = [
        f"conformance/tests/catalogue/{name}.py"
        for name in ("test_catalogue", "test_profile_versions")
    ]

    linted = run(suite, "lint")
    passed = run(suite, "run", "--only", "FR-015", "--verbose")
    killed = run(suite, "selftest", *(f"--only={name}" for name in MUTANTS))
    table = run(suite, "explain", "sentences")
    tested = run("pytest", "-q", "-p", "no:randomly", *tests)

    assert linted.returncode == 0, linted.stdout + linted.stderr
    assert "1 pass" in passed.stdout, passed.stdout
    assert killed.returncode == 0, killed.stdout
    assert f"| FR-015 | A locked tool is not ranked. | required | `{NEW}` |" in table.stdout
    assert tested.returncode == 0, tested.stdout
