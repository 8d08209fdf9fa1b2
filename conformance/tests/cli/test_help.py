"""Help of commands, command lines and options in the pages, light imports, and `--version`."""

from __future__ import annotations

import platform
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import click
import needs
import pytest
from click.testing import CliRunner

from mcp_proxy_conformance.catalogue.specification import specifications
from mcp_proxy_conformance.cli import COMMANDS, main
from mcp_proxy_conformance.cli.run import run, runs

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / ".github").glob("*.md"))]
HEAVY = {"pytest", "hypothesis", "uvicorn", "httpx2", "jsonschema", "jinja2", "deepdiff", "syrupy"}
OTHERS = {
    "--snapshot-update",
    "--target",
    "--extra-index-url",
    "--header",
    "--version",
    "--network",
    "--help",
    "--texts",
}
"""Options in the pages that belong to other programs, to pytest or to the plugin."""


def commands(group: click.Group, *names: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield (its name in words, command) of each command below a group, groups included."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield (*names, name), command
        if isinstance(command, click.Group):
            yield from commands(command, *names, name)


EVERY = dict(commands(main))


def options(command: click.Command) -> set[str]:
    """Return the long options of a command, those that begin with two dashes."""
    return {
        word for parameter in command.params for word in parameter.opts if word.startswith("--")
    }


def spans() -> list[str]:
    """Return the pieces of code in README and the pages of `.github` with a command line of ours.

    They are lines of `sh` blocks, without comments, and inline code.
    """
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    lines = [
        line.split(" #")[0] for block in blocks for line in block.replace("\\\n", "").splitlines()
    ]
    rest = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    spoken = [span.replace("\n", " ") for span in re.findall(r"`([^`]+)`", rest)]
    return [span for span in (*lines, *spoken) if "mcp-proxy-conformance " in span]


@pytest.mark.parametrize("names", EVERY, ids=" ".join)
def test_the_help_of_a_command_is_short_and_has_an_example(names: tuple[str, ...]) -> None:
    """Each option of a command has a help text, and the command's help has an example of it."""
    text = CliRunner().invoke(main, [*names, "--help"]).output
    flags = [parameter for parameter in EVERY[names].params if isinstance(parameter, click.Option)]
    silent = [flag.opts for flag in flags if not flag.help]

    assert silent == []
    assert "Examples:\n" in text
    assert f"  mcp-proxy-conformance {' '.join(names)}" in text


@pytest.mark.parametrize("names", EVERY, ids=" ".join)
def test_the_examples_of_a_command_can_be_read(names: tuple[str, ...]) -> None:
    """Each example in a command's help is made of commands and options that exist."""
    for line in (EVERY[names].epilog or "").splitlines():
        if "mcp-proxy-conformance" in line:
            assert unknown(line) == []


@needs.every
@pytest.mark.parametrize("line", spans())
def test_pages_name_only_what_there_is(line: str) -> None:
    """Each command line of ours in the pages is made of commands and options that exist."""
    assert unknown(line) == []


@needs.discovery
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_option_in_a_page_exists(page: Path) -> None:
    """Each long option in a page's inline code belongs to a command, or is in OTHERS."""
    known = {word for command in EVERY.values() for word in options(command)}
    text = page.read_text(encoding="utf-8")
    words = {word for span in re.findall(r"`([^`\n]+)`", text) for word in shlex_of(span)}
    named = {word.partition("=")[0] for word in words if re.match(r"--[a-z]", word)}

    assert sorted(named - known - OTHERS) == []


def shlex_of(span: str) -> list[str]:
    """Return the words of a span of code, split as a shell does; none if that fails."""
    try:
        return shlex.split(span)
    except ValueError:
        return []


def unknown(line: str) -> list[str]:
    """Return the words of a command line of ours that are not a command or an option, up to `--`.

    Of a line with `$(...)` only that part counts. Words after a known command are arguments.
    """
    inner = line.partition("$(")[2].partition(")")[0] or line
    words = shlex.split(inner[inner.index("mcp-proxy-conformance") :])[1:]
    words = words[: words.index("--")] if "--" in words else words
    command: click.Command = main
    strangers, allowed = [], options(main) | {"--help", "-h"}
    for word in words:
        below = None
        if isinstance(command, click.Group):
            below = command.get_command(click.Context(command), word)
        if below is not None:
            command, allowed = below, allowed | options(below)
        elif command is main if word[0] != "-" else option(word) not in allowed:
            strangers.append(word)
    return strangers


def option(word: str) -> str:
    """Return a long option without its value; `--help` for any other word, short options too."""
    return word.partition("=")[0] if word.startswith("--") else "--help"


def test_the_sentences_of_commands_are_in_the_helps() -> None:
    """The helps have the sentence of each command in COMMANDS and of each kind in runs().

    COMMANDS has all commands, runs() all kinds of `run`.
    """
    text = CliRunner().invoke(main, ["--help"]).output

    assert set(COMMANDS) == {names[0] for names in EVERY}
    assert set(runs()) == {names[1] for names in EVERY if names[:-1] == ("run",)}
    assert [command for command in COMMANDS.values() if command.sentence not in text] == []
    assert [
        each for each in runs().values() if each.sentence not in run.get_help(click.Context(run))
    ] == []


@pytest.mark.parametrize("words", ["--help", "--version", "list", "list checks --json", "run -h"])
def test_a_command_that_only_prints_imports_little(words: str) -> None:
    """A command that only prints exits with 0 and imports none of the HEAVY packages."""
    code = f"""import sys
sys.argv[1:] = {words.split()!r}
from mcp_proxy_conformance.cli import main
try:
    main()
finally:
    print(*sorted({HEAVY!r} & set(sys.modules)), "|", file=sys.stderr)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )

    assert (done.returncode, done.stderr.split("|")[0].split()) == (0, [])


@pytest.mark.parametrize(
    ("module", "imported"),
    [
        ("plugin", ["pytest"]),
        ("autoload", ["pytest", "mcp_proxy_conformance", "mcp_proxy_conformance.autoload"]),
    ],
)
def test_pytest_imports_only_what_a_passing_run_needs(module: str, imported: list[str]) -> None:
    """Importing the plugin imports pytest of the HEAVY packages, and no others.

    The entry point, which every pytest in the environment imports, imports itself and pytest alone.
    """
    code = f"""import sys, mcp_proxy_conformance.{module}
ours = (name for name in sys.modules if name.startswith("mcp_") and {module == "autoload"})
print(*sorted({HEAVY!r} & set(sys.modules)), *ours)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )

    assert done.stdout.split() == imported


@needs.discovery
def test_the_version_is_that_of_the_suite_of_python_and_of_each_profile() -> None:
    """`--version` prints three lines: the suite's version, Python's, the profiles with theirs."""
    lines = CliRunner().invoke(main, ["--version"]).output.splitlines()

    assert lines[0] == f"mcp-proxy-conformance {version('mcp-proxy-conformance')}"
    assert lines[1] == f"Python {platform.python_version()}"
    assert "discovery@1" in lines[2].removeprefix("profiles: ").split(", ")


@needs.discovery
@needs.every
@pytest.mark.parametrize(
    ("words", "own"),
    [
        (
            "run reference --check test_as_many_locked_matches_are_listed_as_the_cap_allows",
            "discovery",
        ),
        ("run loader --only I6", "resilience"),
        ("run relay --only RLY.up.arguments.text", "fidelity"),
    ],
)
def test_a_run_imports_one_specification(words: str, own: str, tmp_path: Path) -> None:
    """Of other specifications a run imports nothing but what the engine is told of them."""
    code = f"""import sys
sys.argv[1:] = {[*words.split(), "--out", str(tmp_path)]!r}
from mcp_proxy_conformance.cli import main
try:
    main()
finally:
    print(*sorted(name for name in sys.modules if name.startswith("mcp_proxy_conformance.")))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=100
    )

    assert done.returncode == 0, done.stderr
    parts = [name.split(".")[1:] for name in done.stdout.splitlines()[-1].split()]
    found = {
        (part[0], part[-1])
        for part in parts
        if part[0] in {each.name for each in specifications()} - {own}
    }
    assert {leaf for name, leaf in found if leaf != name} <= {"specification", "profiles"}
    assert [own, "specification"] in parts
