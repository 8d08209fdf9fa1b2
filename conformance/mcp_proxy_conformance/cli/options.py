"""The options that every kind of target takes, before or after the kind."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from mcp_proxy_conformance.target.description import FILE, OPTIONS, kind_in

F = TypeVar("F", bound=Callable[..., Any])
DEFAULTS: dict[str, Any] = {
    "profile": None,
    "out": Path("mcp-proxy-conformance-out"),
    "timeout": 600.0,
    "check": None,
    "case": None,
    "examples": None,
    "seed": None,
    "keep": False,
    "soak": 0.0,
    "baseline": None,
    "target_file": None,
}


class Finite(click.FloatRange):
    """A number within bounds; not what compares as within any."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Refuse NaN."""
        number = super().convert(value, param, ctx)
        return self.fail(f"{value!r} is no number", param, ctx) if math.isnan(number) else number


_FOLDER = click.Path(file_okay=False, path_type=Path)
_FILE = click.Path(dir_okay=False, path_type=Path)
_SECONDS = Finite(0, 600)
_OF_ANY_RUN = (
    click.option(
        "--out", type=_FOLDER, help="Folder of the report.  [default: mcp-proxy-conformance-out]"
    ),
    click.option("--timeout", type=Finite(1, 86_400), help="Seconds in all.  [default: 600]"),
    click.option("--check", metavar="NAME", help="Only this check, or this case: a partial run."),
)
_TARGET_FILE = click.option(
    "--target-file", type=_FILE, help="What `init` writes; read before the options."
)
_OF_A_RUN = (
    click.option(
        "--profile",
        help="The profile of clauses.  [default: by kind; discovery+robustness for the reference"
        " and adapters, resilience for loaders, else discovery]",
    ),
    *_OF_ANY_RUN,
    click.option("--case", type=_FILE, help="Only the case in this JSON file."),
    click.option(
        "--examples",
        type=click.IntRange(1, 100_000),
        metavar="N",
        help="How many loads or worlds are generated.  [default: 30 loads; worlds by speed]",
    ),
    click.option(
        "--seed",
        type=click.IntRange(0),
        metavar="S",
        help="What they are generated from; the same give the same.  [default: 0]",
    ),
    click.option("--keep", is_flag=True, default=None, help="Keep the targets' scratch folders."),
    click.option(
        "--soak",
        type=Finite(1, 3600),
        metavar="SECONDS",
        help="Keep stages running so long, and observe them again (FR-001.endures).",
    ),
    click.option(
        "--baseline",
        type=_FOLDER,
        help="A recording to compare bytes with: see `baseline record`.",
    ),
)
_ABOUT_TARGET = (
    _TARGET_FILE,
    click.option("--capabilities", metavar="A,B,…", help="What the target's operator side can do."),
    click.option("--settle", "settle_s", type=_SECONDS, help="Seconds until claims follow a lock."),
    click.option("--enforce", "enforce_s", type=_SECONDS, help="Seconds until a lock is enforced."),
    click.option("--ready", "ready_s", type=_SECONDS, help="Seconds until tools are callable."),
    click.option("--upstream-host", "upstreams_host", help="The suite's host, as targets name it."),
    click.option("--upstream-bind", "upstreams_bind", help="Where upstreams listen: an address."),
    click.option(
        "--upstream-transport",
        "upstreams_transport",
        type=click.Choice(["by stage", "stdio"]),
        help="`stdio`: a command line for each upstream instead of a URL.",
    ),
)


def run_options(command: F) -> F:
    """Give a command all of these options; what is not given is None."""
    return _with(command, (*_OF_A_RUN, *_ABOUT_TARGET))


def live_options(command: F) -> F:
    """Give a command those of them that a live endpoint takes."""
    return _with(command, (*_OF_ANY_RUN, _TARGET_FILE))


def described_options(command: F) -> F:
    """Give a command those of them that describe the target."""
    return _with(command, _ABOUT_TARGET)


def _with(command: F, options: Sequence[Callable[[F], F]]) -> F:
    for option in reversed(options):
        command = option(command)
    return command


def merged(outer: dict[str, Any], inner: dict[str, Any]) -> dict[str, Any]:
    """What was given after the kind, else before it, else the default."""
    given = {name: value for name, value in inner.items() if value is not None}
    return DEFAULTS | {n: v for n, v in outer.items() if v is not None} | given


def target_options(options: dict[str, Any]) -> dict[str, Any]:
    """Of the merged options those that describe the target, by their names in the target file."""
    told = {name: options.get(name.replace(".", "_")) for name in OPTIONS}
    words = told.get("capabilities")
    if words is not None:
        told["capabilities"] = words.replace(",", " ").split()
    return {name: value for name, value in told.items() if value is not None}


def target_meant(kind: str | None, file: Path | None) -> tuple[str | None, Path | None]:
    """The kind and the target file that are meant; of a file that lies here one is told.

    Args:
        kind: The kind named on the command line, None if none is.
        file: The target file named there, None if none is: then one that lies here is used,
            unless it describes another kind.
    """
    if file is None and Path(FILE).exists():
        file = _found(kind)
    return ("reference" if kind is None and file is None else kind), file


def _found(kind: str | None) -> Path | None:
    told = kind_in(Path(FILE)) if kind is not None else None
    if told is not None and told != kind:
        click.echo(f"{FILE} describes a target of kind {told!r}; not used", err=True)
        return None
    if kind == "reference":
        return None
    click.echo(f"target file: {FILE}", err=True)
    return Path(FILE)
