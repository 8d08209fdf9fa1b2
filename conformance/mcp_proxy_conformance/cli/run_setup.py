"""Set-up and exit code of a run: known failures, --fail-on, lock on its folder, processes."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import click

from mcp_proxy_conformance.cli.options import AUTO, NUMBER, SHOWN
from mcp_proxy_conformance.cli.strays import reaped
from mcp_proxy_conformance.report.document import Report
from mcp_proxy_conformance.run.invocation import prepare, unwritable
from mcp_proxy_conformance.targets.description import BadTarget
from mcp_proxy_conformance.verdict.deviations.deviation import BadDeviations, Deviation
from mcp_proxy_conformance.verdict.deviations.reader import read_named
from mcp_proxy_conformance.verdict.outcome import CONFORMANT, DECLARATION, INCOMPLETE, STALE
from mcp_proxy_conformance.verdict.redaction import inert

PROCESSES = "MCP_PROXY_CONFORMANCE_PROCESSES"
"""The environment's variable for the default of -n."""
WHOLE = ("loader", "relay")
"""Kinds of target whose run has no quick part."""
UNDIVIDED = ("loader",)
"""Kinds of target whose run has one process."""
MOST = 10
"""Workers of a run by default, at most: more of them make a busy machine's targets slow."""


def known(file: Path | None) -> tuple[Deviation, ...]:
    """Return a run's known failures; if they are unusable, print why and exit with 2 or 5.

    That is 2 for a malformed file, 5 for a stale entry. None is the default file of the working
    folder; () if that does not exist.
    """
    try:
        return read_named(file)
    except BadDeviations as error:
        click.echo(inert(str(error)), err=True)
        sys.exit(DECLARATION if error.is_formal else STALE)


def softened(report: Report, fail_on: str) -> int:
    """Return the report's exit code, but 0 for an incomplete run (4) if `fail_on` is `violated`.

    The 4 stays if no required clause passed or was waived, or if the run was cut short by its time
    or its target.
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


def alone(
    options: Mapping[str, Any], judged: Callable[[Path, Path, tuple[Deviation, ...]], int]
) -> int:
    """Return `judged(folder of the report, log, known failures)`, the folder locked meanwhile.

    Stray processes are killed afterwards. Raises BadTarget as `alone_in`, exits as `known`.
    """
    out = options["out"].resolve()
    with alone_in(out), reaped():
        log = prepare(out, options["check"])
        return judged(out, log, known(options["deviations"]))


@contextmanager
def alone_in(out: Path) -> Iterator[None]:
    """Make the folder and lock it against other runs during the block.

    Where the system has no such locks, it is not locked. Raises BadTarget if another run writes
    into it, or it cannot be written.
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
    """Raise BadTarget if --quick is set and this kind of target has no quick part."""
    if run["quick"] and kind in WHOLE:
        raise BadTarget(f"--quick is a part of a proxy's run; choose a {kind}'s with --only")


def processes_of(run: Mapping[str, Any], kind: str) -> str | None:
    """Return the number of a run's worker processes, as a text; None to run in this process.

    It is that of -n; without -n, for a whole run of a proxy or relay, that of the environment's
    variable, by default `auto`. `auto` is one per processor for the reference, two for a relay,
    else five, at most ten. Raises BadTarget if the environment's is not a number from 1 to 9999 or
    `auto`.
    """
    number: str | None = run["processes"]
    chosen = any(run[name] for name in ("check", "case", "only", "quick"))
    if number is None and kind not in UNDIVIDED and not chosen:
        number = os.environ.get(PROCESSES) or AUTO
        if number != AUTO and not NUMBER.fullmatch(number):
            raise BadTarget(f"{PROCESSES} is {number[:SHOWN]!r}; set a number from 1 to 9999")
    if number == AUTO:
        processors = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count()
        each = {"reference": 1, "relay": 2}.get(kind, 5)  # the later its effects, the more wait
        number = str(min(MOST, (processors or 1) * each))
    return None if number == "1" else number
