"""Set-up and exit code of a run: known failures, --fail-on, lock of its folder, processes."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import click

from mcp_proxy_conformance.cli.options import AUTO, NUMBER, SHOWN
from mcp_proxy_conformance.report.document import Report
from mcp_proxy_conformance.run.invocation import unwritable
from mcp_proxy_conformance.targets.description import BadTarget
from mcp_proxy_conformance.verdict.deviations.deviation import BadDeviations, Deviation
from mcp_proxy_conformance.verdict.deviations.reader import read_named
from mcp_proxy_conformance.verdict.outcome import CONFORMANT, DECLARATION, INCOMPLETE, STALE
from mcp_proxy_conformance.verdict.redaction import inert

PROCESSES = "MCP_PROXY_CONFORMANCE_PROCESSES"
"""The environment's variable for the default of -n."""
UNDIVIDED = ("loader", "relay")
"""Kinds of target whose run has one process, and no quick part."""
MOST = 8
"""Workers of a run by default, at most: more of them make a busy machine's targets slow."""


def known(file: Path | None) -> tuple[Deviation, ...] | int:
    """Return the known failures of a run; if unusable, print why and return the exit code.

    That is 2 for a malformed file, 5 for a stale entry. None is the default file of the working
    folder; without it there are none.
    """
    try:
        return read_named(file)
    except BadDeviations as error:
        click.echo(inert(str(error)), err=True)
        return DECLARATION if error.is_formal else STALE


def softened(report: Report, fail_on: str) -> int:
    """Return the exit code after --fail-on: `violated` turns an incomplete run into a success.

    Not one that judged no required clause, nor one that was cut short by its time or its target.
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

    Where the system has no such locks, it is not locked.

    Raises:
        BadTarget: Another run writes into it, or it cannot be written.
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


def expect_part(run: Mapping[str, Any], kind: str) -> None:
    """Raise BadTarget if the run is to be a quick part and this kind of target has none."""
    if run["quick"] and kind in UNDIVIDED:
        raise BadTarget(f"--quick is a part of a proxy's run; choose a {kind}'s with --only")


def processes_of(run: Mapping[str, Any], kind: str) -> str | None:
    """Return the number of a run's worker processes, for xdist; None to run in this process.

    It is that of -n or of the environment. By default a whole run has one for each processor, and
    twice as many for other targets than the reference, which are mostly waited for; a run of chosen
    checks, a loader, a relay and an endpoint have none. The default is at most eight; 1 is None.

    Raises:
        BadTarget: That of the environment is neither a number from 1 to 9999 nor `auto`.
    """
    number: str | None = run["processes"]
    chosen = any(run[name] for name in ("check", "case", "only", "quick"))
    if number is None and kind not in UNDIVIDED and not chosen:
        number = os.environ.get(PROCESSES) or AUTO
        if number != AUTO and not NUMBER.fullmatch(number):
            raise BadTarget(f"{PROCESSES} is {number[:SHOWN]!r}; set a number from 1 to 9999")
    if number == AUTO:
        processors = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count()
        each = 1 if kind == "reference" else 2
        number = str(min(MOST, (processors or 1) * each))
    return None if number == "1" else number
