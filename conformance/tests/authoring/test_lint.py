"""`lint` of cases, load cases and stages: shipped ones are sound, each bent one has its finding."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import needs
import pytest
from sound_case import LOAD, SOUND, lint_output, shipped_json

from mcp_proxy_conformance.catalogue.resources import fixtures_dir

pytestmark = needs.discovery
Bend = Callable[[dict[str, Any]], object]


def bent(tmp_path: Path, name: str, bend: Bend) -> Path:
    """Write a copy of a shipped JSON file or case to `tmp_path`, changed in place by `bend`.

    Return its path. `name` is one for `shipped_json`.
    """
    document = shipped_json(name)
    path = tmp_path / f"{document['id']}.json"
    bend(document)
    path.write_text(json.dumps(document, indent=1), encoding="utf-8")
    return path


def test_what_is_shipped_has_no_fault() -> None:
    """`lint` without a path reads all shipped files and ends with exit 0 and no finding."""
    code, output = lint_output()

    shipped = {*fixtures_dir().rglob("*.json"), *fixtures_dir().rglob("*.toml")}
    shipped -= {*fixtures_dir().glob("*/targets/*.toml")}  # which a run reads
    shipped -= {*fixtures_dir().glob("*/space/*")}  # which test_space.py reads
    files = sum(path.name != "corpus.json" for path in shipped)  # of texts, for the tests alone
    assert (code, output) == (0, f"files: {files}; findings: 0\n")


def test_a_case_of_ones_own_needs_no_tree(tmp_path: Path) -> None:
    """`lint` of a sound case alone in another folder has no finding: it knows the shipped files."""
    path = tmp_path / "own-word.json"
    path.write_text(json.dumps(SOUND), encoding="utf-8")

    assert lint_output(path) == (0, "files: 1; findings: 0\n")


def test_no_status_is_demanded_where_the_flag_is_not_sent(tmp_path: Path) -> None:
    """A case of precedence without the flag, whose locked tool is absent, has no finding."""

    def bend(case: dict[str, Any]) -> None:
        """Leave the flag out, and expect the tool nowhere."""
        case["when"].pop("include_disabled")
        case["then"]["disabled"] = {name: ["absent"] for name in case["then"]["disabled"]}

    path = bent(tmp_path, "discovery/precedence.json#precedence-changed", bend)

    assert lint_output(path) == (0, "files: 1; findings: 0\n")


def test_the_case_of_the_guide_for_authors_has_no_fault(tmp_path: Path) -> None:
    """The example case of AUTHORS.md, as it is printed there, has no finding in a file of cases."""
    guide = Path(__file__).parents[3] / ".github" / "AUTHORS.md"
    text, *_ = re.findall(r"```json\n(.*?)```", guide.read_text(encoding="utf-8"), re.DOTALL)
    path = tmp_path / "own.json"
    path.write_text(f'{{"area": "limits", "cases": [{text}]}}', encoding="utf-8")

    assert lint_output(path) == (0, "files: 1; findings: 0\n")


STATUS = "discovery/remediation.json#remediation-both"


@needs.resilience
@pytest.mark.parametrize(
    ("name", "bend", "sentence"),
    [
        (STATUS, lambda c: c.update(id="other"), "/id: the id is 'other', but the file is"),
        (STATUS, lambda c: c.update(area="nothing"), "/area: There is no check of the area"),
        (STATUS, lambda c: c["clauses"].append("FR-006.capp"), "/clauses/5: There is no clause"),
        (
            STATUS,
            lambda c: c["clauses"].append("FR-006.fills"),
            "/clauses: some of its clauses are required",
        ),
        (STATUS, lambda c: c["given"].update(stage="mixt"), "/given/stage: There is no stage"),
        (STATUS, lambda c: c["then"].update(nothing=1), "/then: Additional properties"),
        (STATUS, lambda c: c.pop("title"), "'title' is a required property"),
        (
            STATUS,
            lambda c: c.update(title="It is off and never as disabled_by_config."),
            "/title: the title says `never as disabled_by_config`, but then.disabled allows that",
        ),
        (
            STATUS,
            lambda c: c["then"]["disabled"].update({"tuzubak:scrub": ["disabled_by_user"]}),
            "/then/disabled/tuzubak:scrub: There is no tool 'tuzubak:scrub'; the nearest is",
        ),
        (
            STATUS,
            lambda c: c["then"]["disabled"].update(
                {"tuzubak:scrub_latefiro": ["disabled_by_user"]}
            ),
            "the source allows disabled_by_config for tuzubak:scrub_latefiro",
        ),
        (
            STATUS,
            lambda c: c["when"].update(include_disabled=False),
            "the source allows absent for tuzubak:scrub_latefiro",
        ),
        (
            STATUS,
            lambda c: c["then"].update(disabled_count={"max": 11}),
            "/then/disabled_count: 11 locked entries are more than the cap of 10",
        ),
        (
            STATUS,
            lambda c: c["then"].update(disabled_count={"min": 9}),
            "/then/disabled_count: the query finds fewer than 9 locked tools",
        ),
        (
            STATUS,
            lambda c: c["then"].update(tools={"has": ["tuzubak:scrub_latefiro"]}),
            "/then/tools/has/0: tuzubak:scrub_latefiro is not a callable match",
        ),
        (
            STATUS,
            lambda c: c["then"].update(withheld=["tuzubak:scrub_latefiro"]),
            "/then/withheld/0: tuzubak:scrub_latefiro has no text that must be withheld",
        ),
        (STATUS, lambda c: c["then"].update(note="due"), "/then/note: a note is due only"),
        (STATUS, lambda c: c["when"].update(agent="nobody"), "/when/agent: There is no agent"),
        (
            "discovery/counts.json#counts-plain",
            lambda c: c["then"]["counts"].update(
                {next(iter(c["then"]["counts"])): {"callable": 99}}
            ),
            "the locks give a count of",
        ),
        (LOAD, lambda c: c.update(id="other"), "the id does not begin with the area 'denied'"),
        (
            LOAD,
            lambda c: c["then"][next(iter(c["then"]))].update(status=["available"]),
            "the source allows denied for",
        ),
        (LOAD, lambda c: c["then"].update(zeta={"status": ["denied"]}), "then and the servers"),
        (
            LOAD,
            lambda c: c["given"].update(secrets=["unseen-secret"]),
            "/given/secrets/0: this secret",
        ),
        (
            "discovery/stages/mixed.json",
            lambda c: c["steps"].append({"lock": "user", "server": "nowhere", "tools": ["a"]}),
            "there is no server 'nowhere'; use a name of this stage",
        ),
        (
            "discovery/stages/scope.json",
            lambda c: c["servers"][0]["tools"][0].update(description="Nothing of it."),
            "lacks its `word` or one of its `groups`; correct",
        ),
        (
            "discovery/stages/scope.json",
            lambda c: c.update(words=["zorvika", "zorvikb"]),
            "are too similar",
        ),
    ],
)
def test_a_fault_in_a_file_is_found(name: str, bend: Bend, sentence: str, tmp_path: Path) -> None:
    """`lint` of a shipped file with one fault exits with 1 and names that fault.

    Each line has the path, a fault and a repair.
    """
    path = bent(tmp_path, name, bend)

    code, output = lint_output(path)

    assert (code, sentence in output) == (1, True), output
    assert output.startswith(f"{path}:")
    assert all("; " in line for line in output.splitlines())


def test_a_fault_is_reported_with_its_line(tmp_path: Path) -> None:
    """With `lint --json` a finding has the file, the faulty member's line and its JSON pointer."""
    path = bent(tmp_path, STATUS, lambda c: c.update(area="nothing"))
    line = path.read_text(encoding="utf-8").splitlines().index(' "area": "nothing",') + 1

    document = json.loads(lint_output("--json", path)[1])

    (finding,) = document["findings"]
    assert (finding["file"], finding["line"], finding["pointer"]) == (str(path), line, "/area")
    assert document["files"] == 1


@pytest.mark.parametrize(
    ("right", "wrong", "place", "sentence"),
    [
        ('"stage": "crowd"', '"stage": "crowdy"', "/shared/given/stage", "There is no stage"),
        ('"area": "limits"', '"area": "limit"', "/area", "There is no check of the area"),
        ('"velema", 5]', '"velema", 11]', "/cases/2/rows/17", "11 locked entries are more"),
        ('"velema", 5]', '"velema"]', "/cases/2/rows/17", "5 values for the columns matches"),
        ('"velema", 5]', '"velema", ""]', "/cases/2/rows/17", "'' is not of type 'integer'"),
    ],
)
def test_a_fault_in_a_file_of_cases_is_found_where_it_is(
    right: str, wrong: str, place: str, sentence: str, tmp_path: Path
) -> None:
    """`lint` of a file of cases names the line of the case, the shared member or the row."""
    path = tmp_path / "limits.json"
    text = (fixtures_dir() / "discovery" / "limits.json").read_text(encoding="utf-8")
    path.write_text(text.replace(right, wrong, 1), encoding="utf-8")

    code, output = lint_output(path)

    line = text[: text.index(right)].count("\n") + 1
    assert (code, f"{path}:{line} {place}: {sentence}" in output) == (1, True), output


def test_a_path_that_cannot_be_read_is_exit_2(tmp_path: Path) -> None:
    """`lint` of a missing file, or of a folder without .json and .toml files, exits with 2.

    The output has the reason, in one line.
    """
    code, output = lint_output(tmp_path / "none.json")
    empty, complaint = lint_output(tmp_path)

    assert (code, output.count("\n")) == (2, 1)
    assert "none.json cannot be read: No such file or directory; name another path" in output
    assert (empty, "has no .json or .toml file" in complaint) == (2, True)


def test_what_is_of_no_known_kind_is_reported(tmp_path: Path) -> None:
    """`lint` of a JSON file of no known kind exits with 1; in a folder it is skipped, exit 0.

    The output then says that it was not checked.
    """
    path = tmp_path / "package.json"
    path.write_text('{"name": "x"}', encoding="utf-8")

    named = lint_output(path)
    walked = lint_output(tmp_path)

    assert (named[0], "this is none of the known" in named[1]) == (1, True)
    assert (walked[0], "not checked, since it is not a known" in walked[1]) == (0, True)
