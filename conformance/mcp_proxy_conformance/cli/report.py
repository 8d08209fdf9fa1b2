"""`report`: a saved report in another format, several compared, or parts merged."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from mcp_proxy_conformance.cli.groups import examples, stop
from mcp_proxy_conformance.cli.printed_report import print_report
from mcp_proxy_conformance.report import (
    github,
    html,
    junit,
    markdown,
    sarif,
    side_by_side,
)
from mcp_proxy_conformance.report.document import Report, plain, written
from mcp_proxy_conformance.report.reader import BadReport, read_report

FORMATS: dict[str, Callable[[Report], str]] = {
    "junit": junit.render,
    "sarif": sarif.render,
    "markdown": markdown.render,
    "html": html.render,
    "github": github.render,
}
COMPARED: dict[str, Callable[[side_by_side.Reports], str]] = {
    "html": side_by_side.html,
    "markdown": side_by_side.markdown,
}
_PATH = click.Path(path_type=Path)


class _CommandWithSubcommands(click.Group):
    """A command with arguments and options of its own that also has subcommands."""

    allow_extra_args = False
    allow_interspersed_args = True

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **more: Any,
    ) -> click.Context:
        """Parse for a subcommand if the first word names one, else for the command itself."""
        if args and args[0] in self.commands:
            group = click.Group(self.name, commands=self.commands)
            return group.make_context(info_name, args, parent, **more)
        return super().make_context(info_name, args, parent, **more)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse as a command, since a group would take the first argument for a subcommand."""
        return click.Command.parse_args(self, ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run as a command, since a group would look for a subcommand to run."""
        return click.Command.invoke(self, ctx)


@click.group(
    cls=_CommandWithSubcommands,
    invoke_without_command=True,
    epilog=examples(
        "report mcp-proxy-conformance-out/report.json --format html --out report.html",
        "report merge one/report.json two/report.json --out report.json",
    ),
)
@click.argument("files", metavar="FILE...", nargs=-1, type=_PATH)
@click.option("--compare", is_flag=True, help="Compare several reports side by side.")
@click.option(
    "--format",
    "wanted",
    type=click.Choice(list(FORMATS)),
    help="Format of the output; with --compare, html or markdown.  [default with --compare: html]",
)
@click.option("--out", type=_PATH, help="The file to write.  [default: standard output]")
def report(*, files: tuple[Path, ...], compare: bool, wanted: str | None, out: Path | None) -> None:
    """Render FILE, the report.json of a run, in another format.

    With --compare, show several reports in one table: a row for each clause, a column for each
    report. `report merge` makes one report of the parts of a run.

    The same files always give the same bytes. Exit 0 if the output was written, even if a target
    failed; 2 if a file is not a report or the output cannot be written.
    """
    try:
        text = _compared(files, wanted or "html") if compare else _rendered(files, wanted)
        if out is None:
            click.echo(text.encode(), nl=False)
        else:
            out.write_bytes(text.encode())
    except BadReport as error:
        stop(str(error))
    except OSError as error:
        stop(f"{out or 'standard output'} cannot be written: {error.strerror}; name another --out")


def _rendered(files: tuple[Path, ...], wanted: str | None) -> str:
    """Return the one file's report in the wanted format; raises BadReport.

    Exit with 2 unless one file and a format are given.
    """
    if len(files) != 1:
        stop("`report` renders one FILE, the report.json of a run; name one, or add --compare")
    if wanted is None:
        stop(f"`report` needs --format; give one of {', '.join(FORMATS)}")
    return FORMATS[wanted](read_report(files[0]))


def _compared(files: tuple[Path, ...], wanted: str) -> str:
    """Return the files' reports side by side in the wanted format; raises BadReport.

    Exit with 2 for fewer than two files, or a format that cannot show several.
    """
    if len(files) < 2:  # noqa: PLR2004 - one has nothing to be compared with
        stop("--compare needs several reports; name two files or more")
    if wanted not in COMPARED:
        stop(f"--compare cannot write {wanted}; give --format {' or '.join(COMPARED)}")
    return COMPARED[wanted]([(str(file), read_report(file)) for file in files])


@report.command(epilog=examples("report merge one/report.json two/report.json --out report.json"))
@click.argument("files", metavar="FILE...", type=_PATH, nargs=-1, required=True)
@click.option("--out", type=_PATH, required=True, help="The report.json to write.")
def merge(*, files: tuple[Path, ...], out: Path) -> None:
    """Make one report of the parts of a run.

    Parts are made by `run --shard 1/3`, `2/3` and `3/3`, for example. They must agree in the
    target (its name, version, file and capabilities), the profile, the checks, the deviations and
    this version of the suite. With every part, the report is that of a whole run; otherwise it is
    partial and lists the missing parts. Do not merge runs on different platforms: they are not
    parts of one run. The exit code is that of the merged run.
    """
    # Merging judges again, and imports all that a run does; rendering a report does not.
    from mcp_proxy_conformance.run.merged_shards import merged  # noqa: PLC0415

    try:
        _expect_each_once(files)
        merged_report = merged({str(file): read_report(file) for file in files})
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_bytes(written(plain(merged_report)))
    except BadReport as error:
        stop(str(error))
    except OSError as error:
        stop(f"{out} cannot be written: {error.strerror}; name another --out")
    print_report(merged_report, out, detail="usual", code=merged_report.exit)
    sys.exit(merged_report.exit)


def _expect_each_once(files: tuple[Path, ...]) -> None:
    """Raise BadReport, which names it, for a file that is given twice."""
    twice = next((file for file in files if files.count(file) > 1), None)
    if twice is not None:
        raise BadReport(f"{twice} is given twice; give it once")
