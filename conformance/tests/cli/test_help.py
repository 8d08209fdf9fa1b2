"""Help is true: it names what there is, README and pages name nothing else, it costs no import."""

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
import pytest
from click.testing import CliRunner

from mcp_proxy_conformance.cli import COMMANDS, main
from mcp_proxy_conformance.cli.run import KINDS, run

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / ".github").glob("*.md"))]
HEAVY = {"pytest", "hypothesis", "uvicorn", "httpx2", "jsonschema", "jinja2", "deepdiff", "syrupy"}
OTHERS = {
    "--target",
    "--extra-index-url",
    "--strict-markers",
    "--header",
    "--version",
    "--network",
    "--help",
}
"""Options in the pages that are other programs', pytest's, or the plugin's."""


def commands(group: click.Group, *names: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command below a group, with the words that name it."""
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        assert found is not None
        yield (*names, name), found
        if isinstance(found, click.Group):
            yield from commands(found, *names, name)


EVERY = dict(commands(main))


def options(command: click.Command) -> set[str]:
    """The options of a command, as they are typed."""
    return {word for one in command.params for word in one.opts if word.startswith("--")}


def spans() -> list[str]:
    """The command lines in README and the pages: those of blocks, and those in sentences."""
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    lines = [line.split(" #")[0] for block in blocks for line in block.splitlines()]
    rest = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    spoken = [one.replace("\n", " ") for one in re.findall(r"`([^`]+)`", rest)]
    return [one for one in (*lines, *spoken) if "mcp-proxy-conformance " in one]


@pytest.mark.parametrize("names", EVERY, ids=" ".join)
def test_the_help_of_a_command_is_short_and_has_an_example(names: tuple[str, ...]) -> None:
    """Its first sentence stands alone, every option has a word of help, and examples follow."""
    told = CliRunner().invoke(main, [*names, "--help"]).output
    given = [one for one in EVERY[names].params if isinstance(one, click.Option)]
    silent = [one.opts for one in given if not one.help]

    assert silent == []
    assert "Examples:\n" in told
    assert f"  mcp-proxy-conformance {' '.join(names)}" in told


@pytest.mark.parametrize("names", EVERY, ids=" ".join)
def test_the_examples_of_a_command_can_be_read(names: tuple[str, ...]) -> None:
    """Each is a command with options that it has."""
    for line in (EVERY[names].epilog or "").splitlines():
        if "mcp-proxy-conformance" in line:
            assert unknown(line) == []


@pytest.mark.parametrize("line", spans())
def test_pages_name_only_what_there_is(line: str) -> None:
    """Every command line in it is one of ours, with options that it has."""
    assert unknown(line) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_option_in_a_page_exists(page: Path) -> None:
    """In sentences too, where the command is not named."""
    known = {word for one in EVERY.values() for word in options(one)}
    text = page.read_text(encoding="utf-8")
    told = {word for span in re.findall(r"`([^`\n]+)`", text) for word in shlex_of(span)}
    named = {word.partition("=")[0] for word in told if re.match(r"--[a-z]", word)}

    assert sorted(named - known - OTHERS) == []


def shlex_of(span: str) -> list[str]:
    """The words of a span of code; none of one that is no command."""
    try:
        return shlex.split(span)
    except ValueError:
        return []


def unknown(line: str) -> list[str]:
    """The words of a command line of ours that mean nothing."""
    inner = line.partition("$(")[2].partition(")")[0] or line
    words = shlex.split(inner[inner.index("mcp-proxy-conformance") :])[1:]
    words = words[: words.index("--")] if "--" in words else words
    command: click.Command = main
    found, allowed = [], options(main) | {"--help", "-h"}
    for word in words:
        below = None
        if isinstance(command, click.Group):
            below = command.get_command(click.Context(command), word)
        if below is not None:
            command, allowed = below, allowed | options(below)
        elif command is main if word[0] != "-" else option(word) not in allowed:
            found.append(word)
    return found


def option(word: str) -> str:
    """The option that a word gives a value or sets; short ones are not looked at."""
    return word.partition("=")[0] if word.startswith("--") else "--help"


def test_the_sentences_of_commands_are_told_without_their_modules() -> None:
    """The table that --help prints names every command that there is."""
    told = CliRunner().invoke(main, ["--help"]).output

    assert set(COMMANDS) == {names[0] for names in EVERY}
    assert set(KINDS) <= {names[1] for names in EVERY if names[:-1] == ("run",)}
    assert [one for one in COMMANDS.values() if one not in told] == []
    assert [one for one in KINDS.values() if one not in run.get_help(click.Context(run))] == []


@pytest.mark.parametrize("words", ["--help", "--version", "list", "list checks --json", "run -h"])
def test_what_only_tells_something_imports_little(words: str) -> None:
    """Neither pytest nor what runs a target or draws a page."""
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


def test_the_version_is_that_of_the_suite_of_python_and_of_each_profile() -> None:
    """Three lines that a report of a fault can be begun with."""
    told = CliRunner().invoke(main, ["--version"]).output.splitlines()

    assert told[0] == f"mcp-proxy-conformance {version('mcp-proxy-conformance')}"
    assert told[1] == f"Python {platform.python_version()}"
    assert "discovery@1" in told[2].removeprefix("profiles: ").split(", ")
