"""Options of `run` and its like: their decorators, defaults, merging, and the target file meant.

--help alone builds all commands, so readers of target files are imported only where one is read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from mcp_proxy_conformance.cli.ids import asked_ids, check_names, profile_ids
from mcp_proxy_conformance.verdict.deviations.deviation import FILE as DEVIATIONS

F = TypeVar("F", bound=Callable[..., Any])
DEFAULTS: dict[str, Any] = {
    "profile": None,
    "out": Path("mcp-proxy-conformance-out"),
    "timeout": 600.0,
    "check": (),
    "only": (),
    "fail_fast": False,
    "quick": False,
    "quiet": False,
    "verbose": False,
    "case": None,
    "examples": None,
    "seed": None,
    "space": None,
    "keep": False,
    "soak": 0.0,
    "baseline": None,
    "target_file": None,
    "deviations": None,
    "fail_on": "incomplete",
    "processes": None,
    "shard": None,
}

AUTO = "auto"
SHOWN = 40
NUMBER = re.compile("[1-9][0-9]{0,3}")


class Finite(click.FloatRange):
    """A click type: a number within bounds, which NaN is not."""

    name = "number"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the number; NaN and numbers out of bounds are usage errors."""
        number = super().convert(value, param, ctx)
        return self.fail(f"{value!r} is not a number", param, ctx) if math.isnan(number) else number


def _processes(context: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Return the value of -n if None, `auto` or a number to 9999; else raise a usage error."""
    if value is None or value == AUTO or NUMBER.fullmatch(value):
        return value
    problem = f"{value[:SHOWN]!r} is neither a number from 1 to 9999 nor {AUTO}"
    raise click.BadParameter(problem, context, param)


_FOLDER = click.Path(file_okay=False, path_type=Path)
_FILE = click.Path(dir_okay=False, path_type=Path)
_SECONDS = Finite(0, 600)


def _some(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """Return the value, but None for the empty tuple of a repeatable option that is not given."""
    del context, parameter
    return value or None


_OF_ANY_RUN = (
    click.option(
        "--out", type=_FOLDER, help="Folder of the report.  [default: mcp-proxy-conformance-out]"
    ),
    click.option(
        "--timeout",
        type=Finite(1, 86_400),
        help="Seconds that the whole run may take.  [default: 600]",
    ),
    click.option(
        "--only",
        metavar="ID",
        multiple=True,
        callback=_some,
        shell_complete=asked_ids,
        help="Judge only this requirement (FR-006) or clause (FR-006.cap); repeatable."
        " The run is then partial.",
    ),
    click.option(
        "--check",
        metavar="NAME",
        multiple=True,
        callback=_some,
        shell_complete=check_names,
        help="Run only this check or this case; repeatable. The run is then partial.",
    ),
    click.option(
        "--fail-fast", is_flag=True, default=None, help="End after the first failure that counts."
    ),
    click.option(
        "--quiet", "-q", is_flag=True, default=None, help="Print only failures and the last line."
    ),
    click.option(
        "--verbose",
        "-v",
        is_flag=True,
        default=None,
        help="Print every check, world and advisory too.",
    ),
    click.option(
        "--deviations",
        type=_FILE,
        help="File of known failures, which do not count."
        f"  [default: {DEVIATIONS} in the working folder, if it exists]",
    ),
    click.option(
        "--fail-on",
        type=click.Choice(["violated", "incomplete"]),
        help="`violated`: an incomplete run (exit 4) ends with 0, unless it was cut short or judged"
        " nothing.  [default: incomplete]",
    ),
)
_TARGET_FILE = click.option(
    "--target-file", type=_FILE, help="Target file, as `init` writes it; options override it."
)
_NOT_LIVE = (
    click.option("-n", "--processes", hidden=True, help="Refused: there is one budget."),
    click.option("--shard", hidden=True, help="Refused: there is one budget."),
)
_OF_A_RUN = (
    click.option(
        "--profile",
        metavar="ID",
        shell_complete=profile_ids,
        help="Profile (set of clauses) to judge by: discovery, or discovery@1 for that version."
        "  [default by kind: discovery+robustness for the reference and adapters, resilience or"
        " resilience-basic for loaders, fidelity+integrity for relays, else discovery]",
    ),
    *_OF_ANY_RUN,
    click.option(
        "--quick",
        is_flag=True,
        default=None,
        help="Of a proxy: run only the checks of one world with every lock, in seconds. The run is"
        " then partial.",
    ),
    click.option("--case", type=_FILE, help="Run only the cases in this JSON file."),
    click.option(
        "--examples",
        type=click.IntRange(1, 100_000),
        metavar="N",
        help="Number of scenarios, or of a relay's values, to generate.  [default: 0; 60 values]",
    ),
    click.option(
        "--seed",
        type=click.IntRange(0),
        metavar="S",
        help="Seed of what is generated; the same seed generates the same.  [default: 0]",
    ),
    click.option(
        "--space",
        type=click.IntRange(1),
        metavar="N",
        help="Keep version N of the space of scenarios.  [default: the newest]",
    ),
    click.option(
        "-n",
        "--processes",
        callback=_processes,
        metavar="N|auto",
        help="Run the checks in N processes, each with its own targets.  [default: auto for whole"
        " runs, one for each processor, or two or five for targets that are mostly waited for; a"
        " loader is judged in one]",
    ),
    click.option(
        "--shard",
        metavar="I/N",
        help="Run only part I of N; `report merge` makes one report of all parts.",
    ),
    click.option("--keep", is_flag=True, default=None, help="Keep the targets' scratch folders."),
    click.option(
        "--soak",
        type=Finite(1, 3600),
        metavar="SECONDS",
        help="Keep stages running this long, then observe them again (FR-001.endures).",
    ),
    click.option(
        "--baseline",
        type=_FOLDER,
        help="Recording to compare answers with, byte by byte: see `baseline record`.",
    ),
)
_ABOUT_TARGET = (
    _TARGET_FILE,
    click.option(
        "--capabilities",
        metavar="A,B,…",
        help="What the target's operator side can do: config,user,…; or what a loader does:"
        " classifies,retries,…",
    ),
    click.option(
        "--settle", "settle_s", type=_SECONDS, help="Seconds within which answers must show a lock."
    ),
    click.option(
        "--enforce",
        "enforce_s",
        type=_SECONDS,
        help="Seconds within which a lock must be enforced.",
    ),
    click.option(
        "--ready", "ready_s", type=_SECONDS, help="Seconds within which tools must be callable."
    ),
    click.option("--upstream-host", "upstreams_host", help="Host at which targets find the suite."),
    click.option("--upstream-bind", "upstreams_bind", help="Address that upstreams listen on."),
    click.option(
        "--upstream-transport",
        "upstreams_transport",
        type=click.Choice(["by stage", "stdio", "http"]),
        help="`stdio`: give the target a command line for each upstream; `http`: a URL for each.",
    ),
)


def run_options(command: F) -> F:
    """Decorate a command with the options of a run, each None if it is not given."""
    return _with(command, (*_OF_A_RUN, *_ABOUT_TARGET))


def live_options(command: F) -> F:
    """Decorate a command with the options of an endpoint's run, those to be refused included."""
    return _with(command, (*_OF_ANY_RUN, _TARGET_FILE, *_NOT_LIVE))


def described_options(command: F) -> F:
    """Decorate a command with the options that describe a target."""
    return _with(command, _ABOUT_TARGET)


def _with(command: F, options: Sequence[Callable[[F], F]]) -> F:
    """Decorate the command with these options, in the order in which help shows them."""
    for option in reversed(options):
        command = option(command)
    return command


def merged(outer: dict[str, Any], inner: dict[str, Any]) -> dict[str, Any]:
    """Return the defaults, overridden by `outer` options, and these by `inner` ones, unless None.

    Outer ones come before the kind of target on the command line, inner ones after it.
    """
    after_kind = {name: value for name, value in inner.items() if value is not None}
    return DEFAULTS | {n: v for n, v in outer.items() if v is not None} | after_kind


def target_options(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that describe the target, by their names.

    Those that are None are left out; capabilities become a list.
    """
    given = {n: value for n, value in options.items() if n not in DEFAULTS and value is not None}
    if "capabilities" in given:
        given["capabilities"] = given["capabilities"].replace(",", " ").split()
    return given


def target_meant(kind: str | None, file: Path | None) -> tuple[str | None, Path | None]:
    """Return (kind, target file) to use; say so if the file is that of the working folder.

    `kind` and `file` are those of the command line. Without a kind and any file, the kind is
    `reference`; the file of the working folder is not used if it describes another kind.
    """
    from mcp_proxy_conformance.targets.description import FILE  # noqa: PLC0415

    if file is None and Path(FILE).exists():
        file = _file_here(kind, FILE)
    return ("reference" if kind is None and file is None else kind), file


def _file_here(kind: str | None, here: str) -> Path | None:
    """Return the target file `here`, and print to standard error that it is used.

    None for kind `reference`, and, with a line that says so, if it describes another kind.
    """
    from mcp_proxy_conformance.targets.description import kind_in  # noqa: PLC0415

    described = kind_in(Path(here)) if kind is not None else None
    if described is not None and described != kind:
        click.echo(f"{here} is not used: it describes a target of kind {described!r}", err=True)
        return None
    if kind == "reference":
        return None
    click.echo(f"target file: {here}", err=True)
    return Path(here)
