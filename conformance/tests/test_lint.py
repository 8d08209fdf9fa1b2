"""What authors write is looked at: each fault has a place, a sentence and a repair."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from mcp_proxy_conformance.authoring.linting import lint
from mcp_proxy_conformance.cli import main
from mcp_proxy_conformance.resources import fixtures_dir

Bend = Callable[[dict[str, Any]], object]
SOUND = {
    "id": "own-word",
    "area": "opt-in",
    "title": "A case of one's own.",
    "source": ["FR-001"],
    "clauses": ["FR-001.reveals-config"],
    "given": {"stage": "mixed"},
    "when": {"do": "discover", "query": "pipekan", "include_disabled": True, "limit": 10},
    "then": {"disabled": {"tuzubak:scrub_latefiro": ["disabled_by_config"]}},
}


def told(*arguments: object) -> tuple[int, str]:
    """The exit code of `lint`, and all that it prints."""
    done = CliRunner().invoke(main, ["lint", *map(str, arguments)], catch_exceptions=False)
    return done.exit_code, done.output


def bent(tmp_path: Path, name: str, bend: Bend) -> Path:
    """A shipped JSON file, copied and changed."""
    document = json.loads((fixtures_dir() / name).read_bytes())
    bend(document)
    path = tmp_path / Path(name).name
    path.write_text(json.dumps(document, indent=1), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of all fixtures."""
    return Path(shutil.copytree(fixtures_dir(), tmp_path_factory.mktemp("copy") / "fixtures"))


def test_what_is_shipped_has_no_fault() -> None:
    """Exit 0, and the number of files says that they were looked at."""
    code, output = told()

    files = sum(1 for _ in fixtures_dir().rglob("*.json")) + sum(
        1 for _ in fixtures_dir().rglob("*.toml")
    )
    assert (code, output) == (0, f"files: {files - 2}; findings: 0\n")  # two corpora of texts


def test_a_case_of_ones_own_needs_no_tree(tmp_path: Path) -> None:
    """One file, anywhere, among the shipped ones."""
    path = tmp_path / "own-word.json"
    path.write_text(json.dumps(SOUND), encoding="utf-8")

    assert told(path) == (0, "files: 1; findings: 0\n")


LISTING = "list it in one, or say why it is `untested`"


def test_the_case_of_the_guide_for_authors_has_no_fault(tmp_path: Path) -> None:
    """As it stands there."""
    guide = Path(__file__).parents[2] / ".github" / "AUTHORS.md"
    (text,) = re.findall(r"```json\n(.*?)```", guide.read_text(encoding="utf-8"), re.DOTALL)
    path = tmp_path / "limits-mixed-two-at-1.json"
    path.write_text(text, encoding="utf-8")

    assert told(path) == (0, "files: 1; findings: 0\n")


STATUS = "discovery/remediation-both.json"
LOAD = "resilience/denied-forbidden.json"


@pytest.mark.parametrize(
    ("name", "bend", "said"),
    [
        (STATUS, lambda c: c.update(id="other"), "/id: the file of 'other' is called"),
        (STATUS, lambda c: c.update(area="nothing"), "/area: There is no check of the area"),
        (STATUS, lambda c: c["clauses"].append("FR-006.capp"), "/clauses/5: There is no clause"),
        (STATUS, lambda c: c["clauses"].append("FR-006.fills"), "/clauses: its clauses convict"),
        (STATUS, lambda c: c["given"].update(stage="mixt"), "/given/stage: There is no stage"),
        (STATUS, lambda c: c["then"].update(nothing=1), "/then: Additional properties"),
        (STATUS, lambda c: c.pop("title"), "'title' is a required property"),
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
            "/then/tools/has/0: tuzubak:scrub_latefiro is no callable match",
        ),
        (
            STATUS,
            lambda c: c["then"].update(withheld=["tuzubak:scrub_latefiro"]),
            "/then/withheld/0: nothing of tuzubak:scrub_latefiro need be withheld",
        ),
        (STATUS, lambda c: c["then"].update(note="due"), "/then/note: a note is due where"),
        (STATUS, lambda c: c["when"].update(agent="nobody"), "/when/agent: There is no agent"),
        (
            "discovery/counts-plain.json",
            lambda c: c["then"]["counts"].update(
                {next(iter(c["then"]["counts"])): {"callable": 99}}
            ),
            "the locks make",
        ),
        (LOAD, lambda c: c.update(id="other"), "the id does not begin with the area 'denied'"),
        (
            LOAD,
            lambda c: c["then"][next(iter(c["then"]))].update(status=["available"]),
            "the source allows denied in 1 to 1 attempts for",
        ),
        (LOAD, lambda c: c["then"].update(zeta={"status": ["denied"]}), "then and the servers"),
        (
            LOAD,
            lambda c: c["given"].update(secrets=["unseen-secret"]),
            "/given/secrets/0: this secret",
        ),
        (
            "stages/mixed.json",
            lambda c: c["steps"].append({"lock": "user", "server": "nowhere", "tools": ["a"]}),
            "there is no server 'nowhere'; name a server and tools of this stage",
        ),
        (
            "stages/scope.json",
            lambda c: c["servers"][0]["tools"][0].update(description="Nothing of it."),
            "has not all of its words in its description; mend",
        ),
        ("stages/scope.json", lambda c: c.update(words=["zorvika", "zorvikb"]), "too like each"),
    ],
)
def test_a_bent_file_is_told_of(name: str, bend: Bend, said: str, tmp_path: Path) -> None:
    """Exit 1; the file, a line of it, and the sentence."""
    path = bent(tmp_path, name, bend)

    code, output = told(path)

    assert (code, said in output) == (1, True), output
    assert output.startswith(f"{path}:")
    assert all("; " in line for line in output.splitlines())


def test_a_fault_is_told_with_its_line(tmp_path: Path) -> None:
    """The line of the member, and its pointer."""
    path = bent(tmp_path, STATUS, lambda c: c.update(area="nothing"))
    line = path.read_text(encoding="utf-8").splitlines().index(' "area": "nothing",') + 1

    document = json.loads(told("--json", path)[1])

    (finding,) = document["findings"]
    assert (finding["file"], finding["line"], finding["pointer"]) == (str(path), line, "/area")
    assert document["files"] == 1


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        (
            "requirements/discovery.toml",
            '[[requirement]]\nid = "FR-006"\n',
            '[[requirement]]\nid = "FR-001"\n',
            "the clause FR-001 stands twice; rename",
        ),
        (
            "requirements/discovery.toml",
            'id = "FR-006.cap"',
            'id = "FR-007.cap"',
            "FR-007.cap stands under FR-006; call it FR-006.… or move it",
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
            "robustness@1 is frozen, and its clauses or its floor have changed",
        ),
        (
            "profiles/robustness.toml",
            "version = 1",
            "version = 2",
            "robustness@1 is frozen, and no file of fixtures/profiles holds it; bring it back as",
        ),
        (
            "profiles/robustness.toml",
            'passes = ["ROB.query"',
            'passes = ["ROB.tools~text"',
            "the floor asks for the advice ROB.tools~text; take it out",
        ),
        (
            "proofs.toml",
            'test_a_block_names_no_tool = "block-has-an-example"\n',
            "",
            "test_a_block_names_no_tool is not in proofs.toml; list a counterexample",
        ),
        (
            "proofs.toml",
            "test_a_block_names_no_tool =",
            "test_a_block_names_nothing =",
            "lost test_a_block_names_nothing, which kills block-has-an-example",
        ),
        ("proofs.toml", "[kills]", "[kills", "no TOML"),
    ],
)
def test_a_bent_table_is_told_of(name: str, old: str, new: str, said: str, tree: Path) -> None:
    """In a copy, which stands in for the file of that name that is shipped."""
    path = tree / name
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    try:
        code, output = told(path, tree / "frozen.toml")
    finally:
        path.write_text(text, encoding="utf-8")

    assert (code, said in output) == (1, True), output


def test_a_clause_without_a_check_is_told_of_where_it_stands(tree: Path) -> None:
    """With the repair; and a reason why it is untested mends it."""
    path = tree / "requirements" / "robustness.toml"
    text = path.read_text(encoding="utf-8")
    clause = (
        '\n[[requirement.clause]]\nid = "ROB.new"\njudgement = "F"\n'
        'text = "It is new."\nobserved = "Look."\n'
    )
    path.write_text(text + clause, encoding="utf-8")
    code, output = told(path)
    path.write_text(f'{text}{clause}untested = "Nobody can see it."\n', encoding="utf-8")
    mended, _ = told(path)
    path.write_text(text, encoding="utf-8")

    line = text.count("\n") + 3
    found = [
        one.partition("robustness.toml:")[2] for one in output.splitlines() if "ROB.new" in one
    ]
    assert (code, mended) == (1, 0)
    assert found == [
        f'{line}: no check cites ROB.new; write one, or say `untested = "why"`',
        f"{line}: no profile lists ROB.new in its newest version; {LISTING}",
    ]


def test_a_path_that_cannot_be_read_is_exit_2(tmp_path: Path) -> None:
    """A file that is not there, and a folder with nothing to look at."""
    code, output = told(tmp_path / "none.json")
    empty, said = told(tmp_path)

    assert (code, output.count("\n")) == (2, 1)
    assert "none.json cannot be read: No such file or directory; name another path" in output
    assert (empty, "holds no .json and no .toml" in said) == (2, True)


def test_what_is_of_no_known_kind_is_told(tmp_path: Path) -> None:
    """By name it is a finding; in a folder it is passed over, and told."""
    path = tmp_path / "package.json"
    path.write_text('{"name": "x"}', encoding="utf-8")

    named = told(path)
    walked = told(tmp_path)

    assert (named[0], "this is none of the known" in named[1]) == (1, True)
    assert (walked[0], "not looked at, of no known kind" in walked[1]) == (0, True)


SEEDS = [json.dumps(SOUND).encode(), *(path.read_bytes() for path in (
    fixtures_dir() / LOAD, fixtures_dir() / "stages/scope.json",
    fixtures_dir() / "proofs.toml", fixtures_dir() / "profiles/robustness.toml",
    fixtures_dir() / "requirements/robustness.toml",
))]  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=6), below),
    max_leaves=8,
)


@st.composite
def spliced(draw: st.DrawFn) -> bytes:
    """A shipped file with some bytes of it replaced."""
    seed = draw(st.sampled_from(SEEDS))
    start = draw(st.integers(0, len(seed)))
    end = draw(st.integers(start, min(len(seed), start + 40)))
    return seed[:start] + draw(st.binary(max_size=8)) + seed[end:]


@st.composite
def replaced(draw: st.DrawFn) -> bytes:
    """A sound case with one member that is anything."""
    document = json.loads(draw(st.sampled_from(SEEDS[:3])))
    document[draw(st.sampled_from(sorted(document)))] = draw(JSON)
    return json.dumps(document).encode()


@settings(
    deadline=None, max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    data=st.binary(max_size=60) | spliced() | replaced(), suffix=st.sampled_from(["json", "toml"])
)
@example(data=b"[" * 100_000, suffix="json")
@example(data=b"a = " + b"[" * 100_000, suffix="toml")
@example(data=b'{"when": 1e999, "given": {"stage": "\\ud800"}}', suffix="json")
def test_no_bytes_break_it(data: bytes, suffix: str, tmp_path: Path) -> None:
    """Whatever a file holds ends in findings, each with a place and a repair."""
    path = tmp_path / f"own-word.{suffix}"
    path.write_bytes(data)

    findings = lint([path]).findings

    assert [one for one in findings if one.line < 1 or not one.fault or not one.repair] == []
    assert [one for one in findings if "\n" in one.told()] == []
