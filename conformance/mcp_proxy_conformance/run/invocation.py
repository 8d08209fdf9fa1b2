"""Invocation of pytest on the installed checks: for a run, or only to import them beforehand."""

from __future__ import annotations

import gc
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from mcp_proxy_conformance.catalogue.index import names_like
from mcp_proxy_conformance.catalogue.requirement import catalogue
from mcp_proxy_conformance.catalogue.resources import LOGS
from mcp_proxy_conformance.run.request import Brought, RunRequest
from mcp_proxy_conformance.targets.description import BadTarget
from mcp_proxy_conformance.targets.target import Target

CHECK_S = 180
ALONE = (
    "-c", str(Path(__file__).with_name("checks.ini")), "--noconftest", "--disable-plugin-autoload",
    "-p", "mcp_proxy_conformance.plugin", "-p", "no:cacheprovider",
    "-p", "no:unraisableexception", "-p", "no:logging",
)  # fmt: skip
"""Our settings and plugin alone: none of the user's, nor a plugin that only costs time."""
SILENT = (
    "-q", "--tb=no", "--no-header", "--capture=no", "-p", "no:threadexception", "-W", "ignore",
    "--assert=rewrite",
)  # fmt: skip
"""Options of a trial, whose output is discarded."""


def unwritable(out: Path, error: OSError) -> BadTarget:
    """Return the BadTarget that says why the `--out` folder cannot be written."""
    return BadTarget(f"--out {out} cannot be written: {error.strerror}; name another folder")


def prepare(out: Path, checks: Sequence[str] = ()) -> Path:
    """Make the output folder; return the path of its emptied log.

    An earlier report and target logs are removed, and PYTEST_ADDOPTS from the environment.
    Raises BadTarget if the folder cannot be written or has logs of somebody else, or one of
    `checks` is not the name of a check or case.
    """
    for check in checks:
        known, near = names_like(check)
        if check in catalogue().clauses:
            raise BadTarget(f"{check!r} is a clause, not a check; use --only {check}")
        if not known and check in {row.id for row in catalogue().requirements}:
            raise BadTarget(f"{check!r} is a requirement, not a check; use --only {check}")
        if not known:
            raise BadTarget(f"there is no check or case {check!r}; the nearest is {near!r}")
    log = out / "run.log"
    if (out / LOGS).exists() and not log.exists():
        raise BadTarget(f"--out {out} has a folder `{LOGS}` that is of no run; name another folder")
    try:
        out.mkdir(parents=True, exist_ok=True)
        (out / "report.json").unlink(missing_ok=True)
        shutil.rmtree(out / LOGS, ignore_errors=True)
        log.write_text("", encoding="utf-8")
    except OSError as error:
        raise unwritable(out, error) from None
    os.environ.pop("PYTEST_ADDOPTS", None)
    return log


def invoke(
    request: RunRequest,
    *,
    check_s: float = CHECK_S,
    processes: str | None = None,
    files: Sequence[Path] = (),
    silent: bool = False,
    plugins: Sequence[object] = (),
) -> int:
    """Run pytest on the checks of a request, whose output folder is prepared.

    The report is written to that folder, unless the request is unusable or pytest breaks.

    Args:
        request: The subject, the profile and the options of the run.
        check_s: Seconds that one check may take, in addition to the soaking time.
        processes: Their number, in xdist's notation; None is this process alone.
        files: The check files to run; an empty sequence is all of the profile.
        silent: Suppress pytest's output.
        plugins: Further pytest plugins.

    Returns:
        pytest's own exit code.

    Raises:
        ValueError: The target was made in this process, which other processes cannot share.
    """
    out, soak = request.out, request.soak_s
    if processes is not None and isinstance(request.subject, Target):
        raise ValueError(
            "a target made in this process cannot be passed to others; leave processes out"
        )
    words = [
        *map(str, files), "--rootdir", str(out), *ALONE,
        "-p", "pytest_timeout", f"--timeout={check_s + soak}",
        *(SILENT if silent else ("--capture=sys", "--tb=native")),
        *(["-p", "xdist.plugin", "-n", processes] if processes is not None else []),
    ]  # fmt: skip
    return pytest.main(words, plugins=[Brought(request), *plugins])


def collect_garbage_rarely() -> None:
    """Have this process look for garbage rarely: a run keeps nearly all of its objects to its end.

    Those that exist already are never looked at again.
    """
    gc.freeze()
    gc.set_threshold(500_000, 50, 100)


def collect(folders: Sequence[Path]) -> None:
    """Have pytest import the checks of these folders; run none.

    A KeyboardInterrupt that came meanwhile is raised; any other failure of the collection is
    ignored.
    """
    words = ["--collect-only", "--continue-on-collection-errors", *ALONE, *SILENT]
    if pytest.main([*words, *map(str, folders)]) == pytest.ExitCode.INTERRUPTED:  # pytest keeps it
        raise KeyboardInterrupt
