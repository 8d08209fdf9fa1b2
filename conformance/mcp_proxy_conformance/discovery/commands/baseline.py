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
from mcp_proxy_conformance.discovery.baseline.comparison import (
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
from mcp_proxy_conformance.discovery.targets.kinds import target_of
from mcp_proxy_conformance.targets.description import BadTarget, describe
from mcp_proxy_conformance.targets.environments import installed
from mcp_proxy_conformance.targets.target import AdapterError
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
@click.option(
    "--target", "kind", metavar="KIND", help="Kind of target, as for `run`.  [default: reference]"
)
@click.option("--binary", metavar="PATH", help="The program of a target of kind mcpproxy.")
@click.option("--out", type=_FOLDER, required=True, help="The folder of the recording.")
@click.option(
    "--of",
    type=click.Choice(get_args(Kind)),
    default="previous",
    show_default=True,
    help="`pre_feature`: a build from before the flag existed, which SC-001 compares with;"
    " `previous`: any other earlier build.",
)
@described_options
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def record_(
    *, kind: str | None, out: Path, of: Kind, command: tuple[str, ...], **options: Any
) -> None:
    """Record the answers of a build into a folder.

    An adapter is given last: `baseline record --out FOLDER --target command -- PROGRAM ARGUMENTS`.

    Fixed requests without the flag are sent to two fresh targets, several times, before and after
    some tools are locked. Members that differ between equal requests are recorded as changing.
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
        _stop(INCOMPLETE, f"the build was not recorded: {error}")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    requests = len(recording.bodies) * PASSES * TARGETS
    moving = sum(bool(body.moving) for body in recording.bodies)
    click.echo(
        f"{out}: {len(recording.bodies)} answers recorded from {requests} requests, kind {of};"
        f" answers with members that change between equal requests: {moving}"
    )


def _recorded(kind: str | None, options: dict[str, Any], scratch: Path, of: Kind) -> Recording:
    """Record the answers of the target that the options describe; the target is closed afterwards.

    Its own files are in the scratch folder; `of` is the kind of build. Raises BadTarget, or an
    error of recording: AdapterError, Unreachable, ProtocolFault, Inconclusive, Misshapen.
    """
    kind, file = target_meant(kind, options["target_file"])
    described = describe(
        kind=kind, file=file, given=target_options(options), environment=os.environ
    )
    target = replace(target_of(installed(described)), ahead=1)
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
@click.option("--reason", required=True, help="Why the difference is wanted; it is stored in OLD.")
def accept(old: Path, new: Path, reason: str) -> None:
    """Copy the answers of NEW into OLD, and store the reason there.

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
        why = getattr(error, "strerror", None) or error
        _stop(DECLARATION, f"{old} cannot be written: {why}")
    click.echo(f"{old}: now contains the answers of {new}, kind previous")


def _read(folder: Path) -> Recording:
    """Return the recording in a folder; exit with 2 if it is unusable or of another stage."""
    try:
        return read(folder, stage=STAGE)
    except BadBaseline as error:
        _stop(DECLARATION, str(error))


def _compared(old: Recording, new: Recording) -> dict[str, str]:
    """Map each request whose answers differ, or that one recording lacks, to a text about it.

    Differing entries of servers count as well as whole answers.
    """
    differences: Differences = answers_changed(old.bodies, new.bodies, new.members)
    differences |= entries_changed(old.bodies, new.bodies, new.members)
    texts = {key: repr(difference) for key, difference in differences.items()}
    lost = dict.fromkeys(missing(old.bodies, new.bodies), "missing from the new recording")
    added = dict.fromkeys(missing(new.bodies, old.bodies), "missing from the old recording")
    return texts | lost | added


def _listing(changed: dict[str, str]) -> str:
    """Return lines on the first twenty differences, the number of the rest, and that of all."""
    lines = [f"{key}\n  {inert(text)}" for key, text in list(changed.items())[:SHOWN]]
    if len(changed) > SHOWN:
        lines.append(f"… and {len(changed) - SHOWN} more")
    lines.append(f"answers that differ: {len(changed)}" if changed else "no answer differs")
    return "\n".join(lines)


def _stop(code: int, sentence: str) -> NoReturn:
    """Print the sentence to standard error and exit with this code."""
    click.echo(sentence, err=True)
    sys.exit(code)
