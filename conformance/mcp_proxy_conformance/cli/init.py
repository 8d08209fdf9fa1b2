"""`init`: write a commented target file, or append a report's unrecognised texts to one."""

from __future__ import annotations

import re
from pathlib import Path

import click

from mcp_proxy_conformance.catalogue.resources import schemas_dir
from mcp_proxy_conformance.cli.groups import examples, stop
from mcp_proxy_conformance.report.pins import pins
from mcp_proxy_conformance.report.reader import BadReport, read_report
from mcp_proxy_conformance.targets.description import FILE

TO_CHOOSE = (
    "Texts that a run did not recognise, each under the lock that the target gave it for. Move",
    "each text to the lock that it says how to lift, and remove the #.",
)
TABLE = re.compile(r"^\[+ *(.*?) *\]", re.MULTILINE)


@click.command(epilog=examples("init", "init targets/new.toml", "init --from out/report.json"))
@click.argument("path", type=click.Path(path_type=Path), default=FILE)
@click.option(
    "--from", "report", metavar="REPORT", type=click.Path(path_type=Path),
    help="Add the texts that this report.json lists as not recognised, as comments to sort.",
)  # fmt: skip
def init(path: Path, report: Path | None) -> None:
    """Write a commented target file; an existing one is never overwritten.

    With --from, an existing file keeps its content, and the texts are added at its end,
    unless they are there already.
    """
    there = report is not None and path.exists()
    try:
        template = schemas_dir() / FILE
        before = (path if there else template).read_text(encoding="utf-8")
        added = "" if report is None else _to_choose(report, before)
        if report is not None and not added:
            click.echo(f"{report}: {path} needs no further text from it")
            return
        with path.open("a" if there else "x", encoding="utf-8") as file:
            file.write(added if there else before + added)
    except BadReport as error:
        stop(str(error))
    except FileExistsError:
        stop(f"{path} exists; name another file, or move it away")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        stop(f"{path} cannot be written: {why}; name another file")
    if report is not None:
        click.echo(f"{path}: move each text at the end of the file to its lock, then run again")
    else:
        click.echo(f"{path}: name your proxy in it, then run: mcp-proxy-conformance run")


def _to_choose(report: Path, before: str) -> str:
    """Return the texts that a report lists as not recognised, as TOML comments to append.

    `before` is the text to append to. "" if there are no such texts, or `before` ends with the same
    comments. The header `[pins]` is left out if that is the last table in `before`. Raises
    BadReport.
    """
    lines = pins(read_report(report))
    if TABLE.findall(before)[-1:] == ["pins"]:
        lines = lines[1:]  # that table lasts to the end
    if not lines:
        return ""
    added = "".join(f"# {line}\n" for line in (*TO_CHOOSE, *lines))
    return "" if before.endswith(added) else ("" if before.endswith("\n") else "\n") + "\n" + added
