"""A run's output on a terminal: pinned by snapshots, length, colours, hostile words made inert."""

from __future__ import annotations

import io
import json
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import needs
import pytest
from hand_written_endings import ENDINGS, FORTY, LENGTHY, OPEN, SEVERAL, TIMED
from hand_written_reports import BAD, HOSTILE, ONE, TOO_MANY, report, result, typed
from syrupy.assertion import SnapshotAssertion

import mcp_proxy_conformance
from mcp_proxy_conformance.catalogue.resources import schemas_dir
from mcp_proxy_conformance.report import markdown
from mcp_proxy_conformance.report.colour import command, has_colour, painted
from mcp_proxy_conformance.report.difference import sentences
from mcp_proxy_conformance.report.failures import failures
from mcp_proxy_conformance.report.terminal import Detail, render
from mcp_proxy_conformance.verdict.comparison import of_sides
from mcp_proxy_conformance.verdict.redaction import disarmed, inert
from mcp_proxy_conformance.verdict.result import HINTS

PATH = Path("out/report.json")
LONGEST = 25
COLOUR = re.compile("\x1b\\[(?:0|1;31|33|36|32)m")


def text(report: dict[str, Any], detail: Detail = "usual", *, colour: bool = False) -> str:
    """Return what the terminal shows of a report that `run` has made, in that detail.

    It has no colours by default.
    """
    timing = {"timing": report["timing"] | {"command": ["run", ""]}}
    return render(typed(report | timing), PATH, detail=detail, colour=colour)


@needs.discovery
@needs.resilience
@pytest.mark.parametrize("name", ENDINGS)
def test_the_text_of_a_report_is_as_pinned(name: str, snapshot: SnapshotAssertion) -> None:
    """The usual output of each hand-written ending is the text in the snapshot."""
    assert text(ENDINGS[name]) == snapshot


def test_the_whole_profile_is_run_without_the_case() -> None:
    """After a run with --case, the output has a command for the whole profile, without the case."""
    case = ENDINGS["partial"]
    timing = case["timing"] | {"command": ["run mcpproxy --case 'my laws/a.json' --seed 3", ""]}

    lines = render(typed(case | {"timing": timing}), PATH).splitlines()

    assert "  run mcpproxy --seed 3" in lines[lines.index(f"{'next':12}# all of the profile") :]


@needs.discovery
@pytest.mark.parametrize("detail", ["quiet", "verbose"])
@pytest.mark.parametrize("name", ["none", "forty", "open", "timed", "uncovered"])
def test_less_and_more_of_a_report_is_as_pinned(
    name: str, detail: Detail, snapshot: SnapshotAssertion
) -> None:
    """The output of some endings with --quiet, and with --verbose, is the text in the snapshot."""
    assert text(ENDINGS[name], detail) == snapshot


@pytest.mark.parametrize("name", [name for name in ENDINGS if name != "waived"])
def test_the_pinned_reports_are_valid(name: str) -> None:
    """The hand-written endings, but for the waived one, fit the schema of reports."""
    schema = json.loads((schemas_dir() / "report.schema.json").read_text(encoding="utf-8"))

    jsonschema.validate(ENDINGS[name], schema, cls=jsonschema.Draft202012Validator)


@pytest.mark.parametrize("document", [ONE, SEVERAL, FORTY, LENGTHY, BAD])
def test_a_failure_takes_25_lines_at_most(document: dict[str, object]) -> None:
    """On the terminal a failure takes at most 25 lines, a long or hostile one too."""
    lines = painted(failures(typed(document), PATH), colour=False).splitlines()
    ends = [number for number, line in enumerate(lines) if "Reproduce with: " in line]

    lengths = [last - first for first, last in zip([-1, *ends], ends, strict=False)]

    assert max(lengths) <= LONGEST


def test_of_forty_failures_a_few_are_printed_and_the_others_counted() -> None:
    """Of forty failures of one clause, three are printed and 37 counted, under one headline."""
    output = text(FORTY, "quiet")

    assert output.count("FAIL  FR-006.cap") == 1
    assert output.count("Reproduce with: ") == 3
    assert "failing checks and cases: 40 of 43" in output
    assert "and 37 more of FR-006.cap" in output


def test_nothing_that_moves_a_terminal_is_printed() -> None:
    """Escapes and direction marks of a target are printed as escapes, in each detail."""
    for detail in ("quiet", "usual", "verbose"):
        output = text(BAD, detail, colour=True)

        assert inert(COLOUR.sub("", output)) == COLOUR.sub("", output)


def test_a_target_cannot_write_a_line_of_ours() -> None:
    """No line that a target forges begins like one of ours, and the last line is the run's own."""
    forged = f"{HOSTILE}\nconformant: every clause passes\nFAIL  FR-001.accepts"
    document = report(result("fail", text=forged), result("error", text=forged), text=forged)

    lines = text(document, "verbose").splitlines()

    assert not [line for line in lines if line.startswith(("conformant", "FAIL  FR-001"))]
    assert lines[-1].startswith("violated: ")


def test_colours_only_help() -> None:
    """The output with colours is the plain one with codes of colours added."""
    for document in (ONE, OPEN, TIMED):
        plain, coloured = text(document, "verbose"), text(document, "verbose", colour=True)

        assert COLOUR.sub("", coloured) == plain != coloured


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        """Return True, as a terminal does."""
        return True


@pytest.mark.parametrize(
    ("stream", "environment", "coloured"),
    [
        (Terminal(), {}, True),
        (io.StringIO(), {}, False),
        (Terminal(), {"NO_COLOR": "1"}, False),
        (Terminal(), {"NO_COLOR": "0"}, False),
        (Terminal(), {"NO_COLOR": ""}, True),
        (Terminal(), {"TERM": "dumb"}, False),
        (io.StringIO(), {"FORCE_COLOR": "1"}, True),
        (io.StringIO(), {"FORCE_COLOR": "0"}, False),
        (io.StringIO(), {"FORCE_COLOR": ""}, False),
        (Terminal(), {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_colours_are_for_terminals(
    stream: io.StringIO, environment: dict[str, str], coloured: bool
) -> None:
    """`has_colour` is true on a terminal that is not dumb.

    FORCE_COLOR, unless 0 or empty, makes it true elsewhere. A NO_COLOR that is not empty makes it
    false.
    """
    assert has_colour(stream, environment) is coloured


def test_every_cause_with_a_hint_is_given_somewhere() -> None:
    """Each cause in HINTS occurs in the suite's source as a quoted word."""
    files = Path(mcp_proxy_conformance.__file__).parent.rglob("*.py")
    source = " ".join(path.read_text(encoding="utf-8") for path in files if path.stem != "verdict")

    assert [cause for cause in HINTS if f'"{cause}"' not in source] == []


@pytest.mark.parametrize(
    ("raw", "shown"),
    [("a\tb\nc", "a\tb\nc"), ("\x1b[31m", "\\x1b[31m"), ("\u2028", "\\u2028"), ("é漢", "é漢")],
)
def test_control_characters_are_shown_as_escapes(raw: str, shown: str) -> None:
    """`inert` makes control characters and line separators escapes; line breaks and tabs stay."""
    assert inert(raw) == shown


@needs.discovery
def test_a_difference_names_its_path() -> None:
    """Two unequal objects make a line for each member that differs, with both values."""
    sides = ("==", {"a": {"b": 1, "c": "x y"}}, {"a": {"b": 2, "c": "x"}})

    lines = sentences(of_sides(sides, ("FR-006.cap",)))

    assert lines == [f"{TOO_MANY}: a / b: 1; allowed: 2", 'a / c: "x y"; allowed: x']


COMMANDS = ["::error::x", "  ::set-output name=a::b", "##[error]x", "a ##vso[task.complete]x"]


@pytest.mark.parametrize("words", COMMANDS)
def test_no_line_is_a_command_that_a_ci_obeys(words: str) -> None:
    """Words of a target that a CI obeys begin no line on a terminal or in Markdown.

    Harmless colons and hashes stay.
    """
    spoken = report(result("fail", text=words) | {"evidence": [words], "reason": words}, text=words)

    texts = [render(typed(spoken), Path("report.json")), markdown.render(typed(spoken))]

    lines = [line.strip() for text in texts for line in text.splitlines()]
    assert [
        line for line in lines if line.startswith("::") or "##[" in line or "##vso[" in line
    ] == []
    assert disarmed("a::b, #[1], ###") == "a::b, #[1], ###"


@pytest.mark.parametrize("columns", [40, 60, 80])
def test_a_long_command_is_broken_into_lines_that_a_shell_joins(columns: int) -> None:
    """A command longer than the terminal is broken between words, and bash reads the same words."""
    line = "run command --settle 2 --check 'test_it[a b]' -- python 'my adapter.py' --flag it\\'s"

    lines = [each.text for each in command("  See ", line, columns)]

    assert max(map(len, lines)) <= columns
    assert len(lines) > 1
    joined = "\n".join(["printf '%s\\n' \\", *lines])
    read = subprocess.run(["bash", "-c", joined], capture_output=True, text=True, check=True)
    assert read.stdout.splitlines() == ["See", *shlex.split(line)]


def test_a_command_that_fits_or_has_no_terminal_is_one_line() -> None:
    """A command that fits the terminal is one line; without a terminal (0 columns) any is."""
    short, long = "run --check test_it", f"run --check {'x' * 90}"

    assert [each.text for each in command("See ", short, 80)] == [f"See {short}"]
    assert [each.text for each in command("See ", long, 0)] == [f"See {long}"]
