"""Links of all pages, the contents, README's length, and its failure as its command prints it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import needs
import pytest

ROOT = Path(__file__).parents[3]
README = ROOT / "README.md"
PAGES = [README, ROOT / "reference" / "README.md"]
PAGES += [*sorted((ROOT / ".github").glob("*.md")), *sorted((ROOT / "schemas").glob("*.md"))]


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub makes of the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {
        re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings
    }


@needs.discovery
@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}-{page.stem}")
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    """Each relative link of a page leads to a file that exists, and to a heading in it."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    dead = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith(("http://", "https://")):
            continue
        path, _, fragment = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists() or (fragment and fragment not in anchors(file)):
            dead.append(target)

    assert dead == []


def test_every_page_is_in_the_contents() -> None:
    """CONTENTS.md has a link to every other page of `.github`."""
    contents = (ROOT / ".github" / "CONTENTS.md").read_text(encoding="utf-8")
    pages = {page.name for page in (ROOT / ".github").glob("*.md")} - {"CONTENTS.md"}

    assert {page for page in pages if f"({page})" not in contents} == set()


def test_readme_is_short() -> None:
    """README has at most 150 lines."""
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 150


@pytest.mark.proof
def test_the_failure_in_readme_is_what_its_command_prints(tmp_path: Path) -> None:
    """README's command runs under `bash -e`, and prints each line of the shown failure, in order.

    The run's exit code, 1, is among them.
    """
    section = README.read_text(encoding="utf-8").partition("## What a failure looks like")[2]
    command, shown = re.findall(r"```(?:sh)?\n(.*?)```", section, re.DOTALL)[:2]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    ended = subprocess.run(
        ["bash", "-e", "-c", command], cwd=tmp_path, env={**os.environ, "PATH": path},
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    printed = iter(ended.stdout.splitlines())
    missing = [line for line in shown.splitlines() if line and line not in printed]
    assert missing == []
    assert "; exit 1; " in shown
    assert ended.returncode == 0
