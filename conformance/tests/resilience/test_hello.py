"""The hello of a loader's program: read or refused, overridden, and the profile it chooses."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from mcp_proxy_conformance.catalogue.requirement import catalogue
from mcp_proxy_conformance.cli import main
from mcp_proxy_conformance.resilience.hello import ANSWER, introduced, read_hello
from mcp_proxy_conformance.resilience.load_case import load_cases
from mcp_proxy_conformance.resilience.loader_description import LoaderDescription
from mcp_proxy_conformance.targets.description import BadTarget
from mcp_proxy_conformance.targets.target import AdapterError

PLAIN = """
import json, sys
from mcp_proxy_reference.load import answered

for line in sys.stdin:
    asked = json.loads(line)
    if asked["op"] != "load":
        print(json.dumps({"id": asked["id"], **json.loads(sys.argv[1])}), flush=True)
        continue
    if any("command" in server for server in asked["servers"]):
        raise NotImplementedError("only servers with a URL")
    answer = answered(line)
    for outcome in answer["ok"]["outcomes"]:
        outcome["status"] = "available" if outcome["status"] == "available" else "failed"
        del outcome["attempts"]
    del answer["ok"]["warnings"]
    print(json.dumps(answer), flush=True)
"""
"""A loader over HTTP that tells available from failed; its argument is its answer to hello."""
UNKNOWN = {"unsupported": True}
ONE = [word for case in load_cases() if case.area == "outcome" for word in ("--check", case.id)]


def program(folder: Path, answer: Any) -> list[str]:
    """Write the plain loader to the folder; return the command that starts it.

    It answers hello with this object, to which the id is added.
    """
    path = folder / "loader.py"
    path.write_text(PLAIN, encoding="utf-8")
    return [sys.executable, str(path), json.dumps(answer)]


def run(folder: Path, answer: Any, *options: str) -> tuple[Result, dict[str, Any]]:
    """Run `run loader` on the plain loader with this answer to hello; return (result, report).

    The report is {} if there is none. No scratch folder may be left.
    """
    words = ["--command", shlex.join(program(folder, answer)), "--out", str(folder / "out")]
    done = CliRunner().invoke(main, ["run", "loader", *words, *options])
    report = folder / "out" / "report.json"
    assert {path.name for path in (folder / "out").iterdir()} <= {"report.json", "run.log", "logs"}
    return done, json.loads(report.read_bytes()) if report.exists() else {}


def line(**members: Any) -> bytes:
    """Return the line that answers hello, of id 1, with these members."""
    return json.dumps({"id": 1, **members}).encode()


def test_an_answer_declares_what_a_target_file_does() -> None:
    """`read_hello` reads capabilities, prefix, signatures, name and version of a loader.

    Line breaks in name and version are blanks; an unknown member is ignored.
    """
    members = {"tool_prefix": "x_", "timeout_signatures": ["late"], "later": 1}
    titled = {"name": "my\nloader", "version": "1.2"}

    hello = read_hello(line(ok={"capabilities": ["retries"], **members, **titled}))

    assert hello == LoaderDescription(
        kind="loader",
        name="my loader",
        version="1.2",
        capabilities=("retries",),
        tool_prefix="x_",
        timeout_signatures=("late",),
    )


@pytest.mark.parametrize("answer", [UNKNOWN, {"error": "no operation hello"}])
def test_a_program_that_does_not_know_hello_declares_nothing(answer: Any) -> None:
    """`read_hello` returns None for an answer `unsupported` or with an error."""
    assert read_hello(line(**answer)) is None


@pytest.mark.parametrize(
    ("ok", "sentence"),
    [
        ({}, "has no `capabilities`; send a list of them, which may be empty"),
        ({"capabilities": None}, "has no `capabilities`; send a list of them"),
        ({"outcomes": []}, "has no `capabilities`; send a list of them"),
        ({"capabilities": ["retrys"]}, "there is no capability 'retrys'; did you mean 'retries'?"),
        ({"capabilities": "retries"}, "got `str` at `capabilities`; see"),
        ({"capabilities": [1]}, "got `int` at `capabilities[0]`; see"),
        ({"capabilities": [], "tool_prefix": 1}, "got `int` at `tool_prefix`; see"),
        ({"capabilities": [], "timeout_signatures": [""]}, "contains an empty text"),
        ({"capabilities": [], "name": ["a"]}, "got `array` at `name`; see"),
        ({"capabilities": [], "version": 2}, "got `int` at `version`; see"),
    ],
)
def test_what_cannot_be_declared_is_refused_with_its_place(ok: Any, sentence: str) -> None:
    """`read_hello` raises BadTarget, which names the member, for a wrong or missing declaration."""
    with pytest.raises(BadTarget) as caught:
        read_hello(line(ok=ok))

    assert str(caught.value).startswith("the loader's answer to hello")
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (b"hello", "its answer to hello is 'hello'"),
        (b'{"id": 1, "ok": {"x": ' + b"[" * 40_000, "nests too deeply"),
        (b"[1" + b",1" * 60_000 + b"]", "60002 values; send at most 50000"),
        (b"\xff", "print one JSON answer per line"),
        (b'{"id": 2, "unsupported": true}', 'or {"id":1,"unsupported":true}'),
        (b'{"id": 1}', 'answer {"id":1,"ok":{"capabilities":[…]}}'),
        (b'{"id": 1, "unsupported": false}', 'answer {"id":1,"ok":'),
        (b'{"id": 1, "ok": {"capabilities": []}, "error": "both"}', 'answer {"id":1,"ok":'),
        (b'{"id": 1, "ok": []}', "Expected `object | null`, got `array`"),
    ],
)
def test_a_line_that_is_no_answer_breaks_the_loader(answer: bytes, sentence: str) -> None:
    """`read_hello` raises AdapterError for a line that does not answer; it quotes the line."""
    with pytest.raises(AdapterError) as caught:
        read_hello(answer)

    assert str(caught.value).startswith("the loader broke: its answer to hello is ")
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("sys.exit('no module x')", "ended with exit code 1 before it answered hello"),
        ("time.sleep(60)", 'did not answer hello within 2 s; answer {"id":1,"ok":'),
    ],
)
def test_a_program_that_breaks_at_hello_is_reported(
    tmp_path: Path, code: str, sentence: str
) -> None:
    """A program that exits or is silent at hello makes `introduced` return a reason in `broken`.

    If the user declared its capabilities, that is a remark of one line instead.
    """
    command = (sys.executable, "-c", f"import sys, time; sys.stdin.readline(); {code}")
    declared = LoaderDescription(capabilities=("retries",))

    alone = introduced(LoaderDescription(kind="loader"), command, tmp_path / "a", 2.0)
    known = introduced(declared, command, tmp_path / "b", 2.0)

    assert sentence in alone.broken
    assert (alone.description.capabilities, alone.remarks) == ((), ())
    assert (known.description, known.broken) == (declared, "")
    assert sentence.partition(";")[0] in known.remarks[0]
    assert "\n" not in known.remarks[0]


def test_what_the_user_declares_counts_and_a_contradiction_is_reported(tmp_path: Path) -> None:
    """The user's declarations prevail over those in hello; each contradiction is a remark.

    What the user leaves out is taken from hello.
    """
    ok = {"capabilities": ["retries", "stdio"], "tool_prefix": "a_", "timeout_signatures": ["late"]}
    command = program(tmp_path, {"ok": ok})
    declared = LoaderDescription(capabilities=("retries",), tool_prefix="b_")

    known = introduced(declared, command, tmp_path / "log", 20.0)

    whole = known.description
    counting = (whole.capabilities, whole.tool_prefix, whole.timeout_signatures)
    assert counting == (("retries",), "b_", ("late",))
    which = "but the target file or an option has"
    assert known.remarks == (
        f'{ANSWER} has capabilities ["retries", "stdio"], {which} ["retries"], which counts',
        f'{ANSWER} has tool_prefix "a_", {which} "b_", which counts',
    )


def test_the_order_of_capabilities_is_no_contradiction(tmp_path: Path) -> None:
    """The same capabilities in another order, in hello and by the user, make no remark."""
    command = program(tmp_path, {"ok": {"capabilities": ["stdio", "retries"]}})
    declared = LoaderDescription(capabilities=("retries", "stdio"))

    assert introduced(declared, command, tmp_path / "log", 20.0).remarks == ()


@pytest.mark.proof
@pytest.mark.usefixtures("few_scenarios")
def test_a_loader_that_knows_load_only_is_conformant(tmp_path: Path) -> None:
    """A loader without hello passes `resilience-basic`, exit 0, and is never given a command.

    Standard error says which profile it is, and how to have more judged.
    """
    done, report = run(tmp_path, UNKNOWN, "--examples", "1")

    assert done.exit_code == 0, done.output
    assert (report["profile"]["id"], report["headline"]) == ("resilience-basic", "conformant")
    assert (
        "the loader does not know the operation hello; to have more of it judged, answer hello or"
        " name its capabilities (`run loader --capabilities`): see `mcp-proxy-conformance explain"
        " loader`\n"
        "the loader declares nothing; profile resilience-basic (resilience needs classifies and"
        " retries too)\n"
    ) in done.stderr


@pytest.mark.parametrize(
    ("declared", "options", "sentence"),
    [
        (["classifies", "retries"], (), "classifies, retries; profile resilience"),
        pytest.param(
            ["retries"], (), "retries; profile resilience-basic (resilience needs classifies too)",
            marks=pytest.mark.proof(parts=8),
        ),
        pytest.param(
            ["retries"], ("--profile", "resilience"), "retries; profile resilience",
            marks=pytest.mark.proof(parts=8),
        ),
        pytest.param(
            ["classifies", "retries"], ("--capabilities", ""),
            "nothing; profile resilience-basic (resilience needs classifies and retries too)",
            marks=pytest.mark.proof(parts=8),
        ),
        pytest.param(
            [], ("--capabilities", "retries,classifies"),
            "classifies, retries; profile resilience", marks=pytest.mark.proof(parts=8),
        ),
    ],
)  # fmt: skip
def test_the_profile_follows_what_is_declared(
    declared: list[str], options: tuple[str, ...], sentence: str, tmp_path: Path
) -> None:
    """The profile follows the capabilities in hello, or those of --capabilities, which prevail.

    --profile prevails over both. Standard error says which it is, and why.
    """
    ok = {"capabilities": declared, "name": "plain", "version": "3"}
    done, report = run(tmp_path, {"ok": ok}, *ONE, *options)

    assert f"the loader declares {sentence}\n" in done.stderr
    assert f"profile {report['profile']['id']}" in sentence
    assert (report["target"]["name"], report["target"]["version"]) == ("plain", "3")


@pytest.mark.proof
def test_a_declaration_that_cannot_be_used_ends_with_2(tmp_path: Path) -> None:
    """An unknown capability in hello ends the run with 2 and one sentence.

    With --capabilities it is a remark, and the run ends with 0.
    """
    wrong = {"ok": {"capabilities": ["retrys"]}}
    done, _ = run(tmp_path, wrong)
    helped, _ = run(tmp_path, wrong, *ONE, "--capabilities", "")

    assert (done.exit_code, helped.exit_code) == (2, 0), helped.output
    assert done.stderr == (
        "the loader's answer to hello: there is no capability 'retrys'; did you mean 'retries'?;"
        " see `mcp-proxy-conformance explain loader`\n"
    )
    assert "the loader's answer to hello is not used: the loader's answer" in helped.stderr


def test_a_program_that_breaks_at_hello_ends_with_3(tmp_path: Path) -> None:
    """An answer to hello with both ok and error ends the run with 3; the report has the reason."""
    done, report = run(tmp_path, {"ok": {"capabilities": []}, "error": "both"})

    assert done.exit_code == 3
    assert report["why"].startswith("the loader broke: its answer to hello is ")


def test_each_required_clause_of_a_command_is_shown_without_one() -> None:
    """Each required clause that a load case over stdio cites is cited by one over HTTP, too."""
    required = {clause.id for clause in catalogue().clauses.values() if clause.level == "required"}
    with_command = {c for case in load_cases() if case.needs for c in case.clauses} & required
    without = {c for case in load_cases() if not case.needs for c in case.clauses}

    assert with_command - without == set()
    assert with_command != set()
