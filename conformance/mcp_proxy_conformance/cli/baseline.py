"""`baseline`: record what a build answers by default, and compare recordings."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn, get_args

import click

from mcp_proxy_conformance.cli.groups import examples
from mcp_proxy_conformance.cli.options import described_options, target_meant, target_options
from mcp_proxy_conformance.discovery.baseline.comparing import (
    Differences,
    answers_changed,
    entries_changed,
    missing,
)
from mcp_proxy_conformance.discovery.baseline.manifest import (
    Accepted,
    BadBaseline,
    Kind,
    Recording,
    read,
    write,
)
from mcp_proxy_conformance.discovery.baseline.recorder import PASSES, STAGE, TARGETS, record
from mcp_proxy_conformance.targets.adapter import AdapterError
from mcp_proxy_conformance.targets.description import BadTarget, describe
from mcp_proxy_conformance.targets.kinds import target_of
from mcp_proxy_conformance.verdict.outcome import (
    BROKEN,
    CONFORMANT,
    DECLARATION,
    INCOMPLETE,
    VIOLATED,
)
from mcp_proxy_conformance.verdict.redaction import inert
from mcp_proxy_conformance.verdict.result import Inconclusive, Misshapen
from mcp_proxy_conformance.wire.faults import ProtocolFault, Unreachable

SHOWN = 20
_FOLDER = click.Path(file_okay=False, path_type=Path)


@click.group(epilog=examples("baseline record --out baseline", "baseline diff old new"))
def baseline() -> None:
    """Record what a build answers by default, and compare builds byte for byte.

    Record the last release before the feature once, keep the folder, and judge every later build
    with `run … --baseline FOLDER`.
    """


@baseline.command(
    "record",
    epilog=examples("baseline record --target-file old.toml --of pre_feature --out baseline"),
)
@click.option("--target", "kind", metavar="KIND", help="As `run` names it.  [default: reference]")
@click.option("--binary", metavar="PATH", help="The program of a target of kind mcpproxy.")
@click.option("--out", type=_FOLDER, required=True, help="The folder of the recording.")
@click.option(
    "--of",
    type=click.Choice(get_args(Kind)),
    default="previous",
    show_default=True,
    help="`pre_feature`: the build does not know the flag yet, and is the measure of SC-001.",
)
@described_options
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def record_(
    *, kind: str | None, out: Path, of: Kind, command: tuple[str, ...], **options: Any
) -> None:
    """Record a build: `baseline record --out FOLDER --target command -- PROGRAM ARGUMENTS`.

    The frozen requests of the plain stage are sent before and after its locks, without the
    flag, several times to two fresh targets; members that differ between equal requests are noted.
    """
    options["command"] = command or None
    scratch = Path(tempfile.mkdtemp(prefix="baseline-"))
    try:
        recording = _recorded(kind, options, scratch, of)
        write(recording, out)
    except (BadTarget, BadBaseline) as error:
        _stop(DECLARATION, str(error))
    except OSError as error:
        _stop(DECLARATION, f"--out {out} cannot be written: {error.strerror}; name another folder")
    except (AdapterError, Unreachable, ProtocolFault) as error:
        _stop(BROKEN, str(error))
    except (Inconclusive, Misshapen) as error:
        _stop(INCOMPLETE, f"not recorded: {error}")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    requests = len(recording.bodies) * PASSES * TARGETS
    moving = sum(bool(body.moving) for body in recording.bodies)
    click.echo(
        f"{out}: {len(recording.bodies)} answers of {requests}, kind {of};"
        f" {moving} have members that move by themselves"
    )


def _recorded(kind: str | None, options: dict[str, Any], scratch: Path, of: Kind) -> Recording:
    kind, file = target_meant(kind, options["target_file"])
    described = describe(
        kind=kind, file=file, given=target_options(options), environment=os.environ
    )
    target = replace(target_of(described), ahead=1)
    try:
        return record(target, scratch, of)
    finally:
        target.close()


@baseline.command(epilog=examples("baseline diff old new"))
@click.argument("old", type=_FOLDER)
@click.argument("new", type=_FOLDER)
def diff(old: Path, new: Path) -> None:
    """Show where two recordings differ: exit 1 if they do."""
    changed = _compared(_read(old), _read(new))
    click.echo(_listing(changed))
    sys.exit(VIOLATED if changed else CONFORMANT)


@baseline.command(epilog=examples("baseline accept old new --reason 'the names are longer'"))
@click.argument("old", type=_FOLDER)
@click.argument("new", type=_FOLDER)
@click.option("--reason", required=True, help="Why the difference is wanted; it is kept.")
def accept(old: Path, new: Path, reason: str) -> None:
    """Copy the answers of NEW into OLD, and keep the reason there.

    A recording that was changed in this way no longer measures SC-001: its kind is `previous`.
    """
    if not reason.strip():
        _stop(DECLARATION, "--reason is blank; say why the difference is wanted")
    before, after = _read(old), _read(new)
    changed = _compared(before, after)
    click.echo(_listing(changed))
    if not changed:
        return
    taken = (*before.accepted, Accepted(reason=reason.strip(), changed=len(changed)))
    try:
        write(replace(after, kind="previous", accepted=taken), old)
    except (OSError, BadBaseline) as error:
        _stop(DECLARATION, f"{old} cannot be written: {error}")
    click.echo(f"{old}: accepted, kind previous")


def _read(folder: Path) -> Recording:
    try:
        return read(folder, stage=STAGE)
    except BadBaseline as error:
        _stop(DECLARATION, str(error))


def _compared(old: Recording, new: Recording) -> dict[str, str]:
    """Map each request that differs or is missing to the difference."""
    differences: Differences = answers_changed(old.bodies, new.bodies, new.members)
    differences |= entries_changed(old.bodies, new.bodies, new.members)
    texts = {key: repr(difference) for key, difference in differences.items()}
    lost = dict.fromkeys(missing(old.bodies, new.bodies), "not asked in the new recording")
    added = dict.fromkeys(missing(new.bodies, old.bodies), "not asked in the old recording")
    return texts | lost | added


def _listing(changed: dict[str, str]) -> str:
    lines = [f"{key}\n  {inert(text)}" for key, text in list(changed.items())[:SHOWN]]
    if len(changed) > SHOWN:
        lines.append(f"… and {len(changed) - SHOWN} more")
    lines.append(f"{len(changed)} answers differ" if changed else "0 bytes differ")
    return "\n".join(lines)


def _stop(code: int, sentence: str) -> NoReturn:
    click.echo(sentence, err=True)
    sys.exit(code)
