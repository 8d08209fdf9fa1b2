"""Lint of tables of authors: requirements, profiles, interpretations and pictures."""

from __future__ import annotations

import shutil
from pathlib import Path

import needs
import pytest
from sound_case import lint_output

from mcp_proxy_conformance.catalogue.resources import fixtures_dir

pytestmark = needs.discovery
LISTING = (
    "list it in one, and in discovery-live if an endpoint that is only read can show it;"
    " or say why it is `untested`"
)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the fixtures folder for the tests of this file; each restores its change."""
    return (
        Path(shutil.copytree(fixtures_dir(), tmp_path_factory.mktemp("copy") / "fixtures"))
        / "discovery"
    )


@pytest.mark.parametrize(
    ("name", "old", "new", "sentence"),
    [
        (
            "requirements/discovery.toml",
            '[[requirement]]\nid = "FR-006"\n',
            '[[requirement]]\nid = "FR-001"\n',
            "the clause FR-001 is defined twice; rename",
        ),
        (
            "requirements/discovery.toml",
            'id = "FR-006.cap"',
            'id = "FR-007.cap"',
            "FR-007.cap is listed under FR-006; rename it to FR-006.…, or move it",
        ),
        (
            "requirements/discovery.toml",
            'source = { text = "discovery-spec", at = "FR-006" }',
            'source = { text = "discovery-spec", at = "FR-066" }',
            "discovery-spec: There is no place 'FR-066'",
        ),
        (
            "requirements/robustness.toml",
            'advisory = "A proxy may clean what it passes on to agents."',
            "",
            "'advisory' is a required property",
        ),
        (
            "interpretations.toml",
            'clauses = ["FR-001.accepts", "FR-014.described"]',
            'clauses = ["FR-001.acepts", "FR-014.described"]',
            "There is no clause 'FR-001.acepts'; the nearest is 'FR-001.accepts'",
        ),
        (
            "profiles/robustness.toml",
            '  "ROB.query",',
            '  "ROB.quer",',
            "There is no clause 'ROB.quer'",
        ),
        (
            "profiles/robustness.toml",
            '  "ROB.tools~text",\n',
            "",
            "robustness@1 is frozen, but its clauses or its floor have changed",
        ),
        (
            "profiles/robustness.toml",
            'interpretations = ["strange-tools"',
            'interpretations = ["stranger-tools"',
            "lists an interpretation that is missing: stranger-tools; correct it there",
        ),
        (
            "profiles/robustness.toml",
            "version = 1",
            "version = 2",
            "robustness@1 is frozen, but no file of fixtures/*/profiles contains it; restore it as",
        ),
        (
            "profiles/robustness.toml",
            'passes = ["ROB.query"',
            'passes = ["ROB.tools~text"',
            "the floor asks for ROB.tools~text, which is only advisory; remove it",
        ),
        ("interpretations.toml", "[[interpretation]]", "[[interpretation", "it is not TOML"),
        (
            "pictures/locks.toml",
            'clauses = ["FR-006.callables"]',
            'clauses = ["FR-006.cap"]',
            "FR-006.callables of discovery has no place in the picture; name it in `cells` or",
        ),
        (
            "pictures/locks.toml",
            'columns = ["remediation"]',
            'columns = ["remediations"]',
            "There is no column 'remediations'; the nearest is 'remediation'",
        ),
        (
            "pictures/locks.toml",
            '["test_no_withheld_tool_beyond_the_scope_is_told"]',
            '["test_a_refusal_is_flagged_as_an_error"]',
            "test_a_refusal_is_flagged_as_an_error cites none of the clauses of these cells",
        ),
        (
            "pictures/locks.toml",
            'stages = ["combos"]',
            'stages = ["combs"]',
            "There is no stage 'combs'; the nearest is 'combos'",
        ),
    ],
)
def test_a_fault_in_a_table_is_found(
    name: str, old: str, new: str, sentence: str, tree: Path
) -> None:
    """`lint` of a shipped table with `old` replaced by `new` exits with 1 and this finding.

    The table is restored afterwards.
    """
    path = tree / name
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    try:
        code, output = lint_output(path, tree / "frozen.toml")
    finally:
        path.write_text(text, encoding="utf-8")

    assert (code, sentence in output) == (1, True), output


def test_a_clause_without_a_check_is_found_at_its_line(tree: Path) -> None:
    """A new clause that no check cites and no profile lists has two findings at its own line.

    With `untested` and a reason it has none, exit 0.
    """
    path = tree / "requirements" / "robustness.toml"
    text = path.read_text(encoding="utf-8")
    clause = (
        '\n[[requirement.clause]]\nid = "ROB.new"\nlevel = "required"\n'
        'text = "It is new."\nbroken = "it is not new"\nobserved = "Look."\n'
    )
    path.write_text(text + clause, encoding="utf-8")
    code, output = lint_output(path)
    path.write_text(f'{text}{clause}untested = "Nobody can see it."\n', encoding="utf-8")
    mended, _ = lint_output(path)
    path.write_text(text, encoding="utf-8")

    line = text.count("\n") + 3
    faults = [
        row.partition("robustness.toml:")[2] for row in output.splitlines() if "ROB.new" in row
    ]
    assert (code, mended) == (1, 0)
    assert faults == [
        f'{line}: no check cites ROB.new; write one, or say `untested = "why"`',
        f"{line}: no profile lists ROB.new in its newest version; {LISTING}",
    ]
