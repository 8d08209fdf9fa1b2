"""How the command line runs the installed checks: pytest's arguments and the output folder."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from mcp_proxy_conformance.catalogue.index import names_like
from mcp_proxy_conformance.catalogue.resources import LOGS
from mcp_proxy_conformance.discovery.live.endpoint import secrets
from mcp_proxy_conformance.targets.description import BadTarget
from mcp_proxy_conformance.verdict.deviations.deviation import BadDeviations, Brought
from mcp_proxy_conformance.verdict.deviations.reading import read_named
from mcp_proxy_conformance.verdict.escaping import inert
from mcp_proxy_conformance.verdict.outcome import CONFORMANT, DECLARATION, INCOMPLETE, STALE
from mcp_proxy_conformance.verdict.redaction import Redactor

INI = """\
[pytest]
python_files = test_*.py
markers =
timeout_func_only = true
filterwarnings =
    ignore::pytest.PytestConfigWarning
"""
CHECK_S = 180


def prepared(out: Path, checks: Sequence[str]) -> Path:
    """An output folder without what an earlier run left, and the log in it.

    Raises:
        BadTarget: It cannot be written, or there is no check of one of these names.
    """
    for check in checks:
        known, near = names_like(check)
        if not known:
            raise BadTarget(f"there is no check or case {check!r}; the nearest is {near!r}")
    log = out / "run.log"
    try:
        out.mkdir(parents=True, exist_ok=True)
        (out / "report.json").unlink(missing_ok=True)
        shutil.rmtree(out / LOGS, ignore_errors=True)
        _ini(out).write_text(INI, encoding="utf-8")
        log.touch()
    except OSError as error:
        raise BadTarget(
            f"--out {out} cannot be written: {error.strerror}; name another folder"
        ) from None
    os.environ.pop("PYTEST_ADDOPTS", None)
    return log


def arguments(out: Path, options: dict[str, Any]) -> list[str]:
    """What pytest is given for a run of a profile's checks."""
    soak = options["soak"]
    return [
        "-c", str(_ini(out)), "--rootdir", str(out),
        "-p", "no:cacheprovider", "-p", "no:unraisableexception", "-p", "no:logging",
        "--capture=sys", "--tb=native",
        "--disable-plugin-autoload", "-p", "pytest_timeout",
        "-p", "mcp_proxy_conformance.plugin",
        "--soak", str(soak),
        "--out", str(out), f"--timeout={CHECK_S + soak}",
        f"--session-timeout={options['timeout'] + soak}",
        *([f"--profile={options['profile']}"] if options["profile"] else []),
        *(f"--check={name}" for name in options["check"]),
        *(f"--only={one}" for one in options["only"]),
        *(["--fail-fast"] if options["fail_fast"] else []),
    ]  # fmt: skip


def known(file: Path | None) -> Brought | int:
    """The known failures of a run; when they cannot be used, the exit code after saying why."""
    try:
        return Brought(deviations=read_named(file))
    except BadDeviations as error:
        click.echo(inert(str(error)), err=True)
        return DECLARATION if error.is_formal else STALE


def softened(report: dict[str, Any], fail_on: str) -> int:
    """The exit code that --fail-on makes of the report's own.

    What judged nothing never passes, nor a run that was cut short, by its time or by its target.
    """
    code: int = report["exit"]
    ended = report["headline"] == "incomplete" and not report["complete"]
    seen = any(
        one["judgement"] == "F" and one["verdict"] in ("pass", "waived")
        for one in report["clauses"]
    )
    return (
        CONFORMANT if code == INCOMPLETE and fail_on == "violated" and seen and not ended else code
    )


def hide_secrets(out: Path) -> None:
    """Take the environment's credentials out of what targets and checks printed."""
    redactor = Redactor(secrets("", ()))
    for path in (out / "run.log", *(out / LOGS).rglob("*")):
        if path.is_file():
            told = path.read_bytes().decode("utf-8", "surrogateescape")
            path.write_bytes(redactor.text(told).encode("utf-8", "surrogateescape"))


def in_processes(number: str | None) -> list[str]:
    """What pytest is given for so many processes; none of it for one run in this process.

    Raises:
        BadTarget: What starts them is not installed.
    """
    if number is None:
        return []
    if find_spec("xdist") is None:
        extra = "pip install 'mcp-proxy-conformance[parallel]'"
        raise BadTarget(f"-n needs pytest-xdist, which is not installed: {extra}")
    return ["-p", "xdist.plugin", "-n", number]


def _ini(out: Path) -> Path:
    return out / "checks.ini"
