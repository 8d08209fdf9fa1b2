"""Set-up and exit code of a run: known failures, lock of its folder, test of the option -n."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

import click

from mcp_proxy_conformance.report.document import Report
from mcp_proxy_conformance.run.invocation import unwritable
from mcp_proxy_conformance.targets.description import BadTarget
from mcp_proxy_conformance.verdict.deviations.deviation import BadDeviations, Deviation
from mcp_proxy_conformance.verdict.deviations.reader import read_named
from mcp_proxy_conformance.verdict.outcome import CONFORMANT, DECLARATION, INCOMPLETE, STALE
from mcp_proxy_conformance.verdict.redaction import inert


def known(file: Path | None) -> tuple[Deviation, ...] | int:
    """Return the known failures of a run; if unusable, print why and return the exit code."""
    try:
        return read_named(file)
    except BadDeviations as error:
        click.echo(inert(str(error)), err=True)
        return DECLARATION if error.is_formal else STALE


def softened(report: Report, fail_on: str) -> int:
    """Return the exit code after --fail-on: `violated` turns an incomplete run into a success.

    A run that judged nothing never passes, nor one that was cut short by its time or its target.
    """
    code: int = report.exit
    ended = report.headline == "incomplete" and not report.complete
    judged = any(
        clause.level == "required" and clause.verdict in ("pass", "waived")
        for clause in report.clauses
    )
    return (
        CONFORMANT
        if code == INCOMPLETE and fail_on == "violated" and judged and not ended
        else code
    )


@contextmanager
def alone_in(out: Path) -> Iterator[None]:
    """Make the folder and lock it against other runs during the block.

    Raises:
        BadTarget: Another run writes into it.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        opened = os.open(out, os.O_RDONLY)
    except OSError as error:
        raise unwritable(out, error) from None
    try:
        with suppress(ImportError):  # no such locks on this system
            import fcntl  # noqa: PLC0415

            try:
                fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if error.errno in (errno.EAGAIN, errno.EACCES):
                    raise BadTarget(
                        f"another run is writing to {out}; name another --out"
                    ) from None
        yield
    finally:
        os.close(opened)


def in_processes(number: str | None) -> str | None:
    """Return the option -n unchanged, after checking that pytest-xdist is installed.

    Raises:
        BadTarget: pytest-xdist, which starts them, is not installed.
    """
    if number is not None and find_spec("xdist") is None:
        extra = "pip install 'mcp-proxy-conformance[parallel]'"
        raise BadTarget(f"-n needs pytest-xdist, which is not installed; run {extra}")
    return number
