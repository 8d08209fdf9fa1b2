"""`site`: a folder of reports as a static site, or the comparison of one with its folder."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NoReturn

import click

from mcp_proxy_conformance.cli.groups import examples, stop
from mcp_proxy_conformance.report.phrases import counted
from mcp_proxy_conformance.report.site.files import difference, write
from mcp_proxy_conformance.report.site.folder import BadRecord, read_record
from mcp_proxy_conformance.report.site.pages import pages

DIFFERS = 1
"""Exit code of --check if site and folder differ."""


@click.command(epilog=examples("site record --out site", "site record --out site --check"))
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--out", type=click.Path(path_type=Path), default="site", show_default=True,
    help="Folder of the site: new, empty, or of an earlier site, whose files are replaced; any "
    "other is refused.",
)  # fmt: skip
@click.option("--check", is_flag=True, help="Write nothing; compare the folder with the site.")
def site(*, folder: Path, out: Path, check: bool) -> None:
    """Make a static site of DIR, a folder of reports `<implementation>/<version>/report.json`.

    Beside each report are the target file, `target.toml`, and `REPRODUCE.md`; `reply.txt` is what
    the authors of the implementation answer. A report that contradicts itself, holds a secret or
    names no fixed version is refused. The pages need no script and no network, and the same folder
    gives the same bytes.

    Exit 0 if the site was written, or with --check if it is that of the folder; 1 if it is not,
    naming the first file that differs; 2 if a file of the folder is refused or the site cannot be
    written.
    """
    try:
        record_at, out_at = (Path(os.path.realpath(path)) for path in (folder, out))
        if out_at.is_relative_to(record_at):
            stop(f"{out} is inside the record; name another --out")
        if record_at.is_relative_to(out_at):
            stop(f"the record is inside {out}, which the site would replace; name another --out")
        record = read_record(folder)
        files = pages(record)
        if check:
            _end_check(difference(files, out), out)
        write(files, out)
    except BadRecord as error:
        stop(str(error))
    except OSError as error:
        stop(f"{error.filename or out} cannot be used: {error.strerror}; name another --out")
    reports = counted(len(record.builds), "report", "reports")
    click.echo(f"{out / 'index.html'}: {reports}, {counted(len(files), 'file', 'files')}")


def _end_check(unlike: str, out: Path) -> NoReturn:
    """Print whether the site in `out` is up to date, and exit: 0 if so, 1 if not.

    `unlike` describes the first difference from the expected site; "" if there is none.
    """
    if not unlike:
        click.echo(f"{out} is the site of this folder")
        sys.exit(0)
    click.echo(f"{out}: {unlike}; make the site again", err=True)
    sys.exit(DIFFERS)
