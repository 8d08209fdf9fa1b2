"""`selftest`: proof that the checks can fail, and that they accuse nobody wrongly."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, cast

import click

from mcp_proxy_conformance.catalogue.requirement import unknown
from mcp_proxy_conformance.catalogue.specification import judging, specifications
from mcp_proxy_conformance.cli.groups import examples, stop
from mcp_proxy_conformance.cli.options import described_options, target_meant, target_options
from mcp_proxy_conformance.report.selftest import lines
from mcp_proxy_conformance.run.request import RunRequest
from mcp_proxy_conformance.targets.description import BadTarget, Description, describe
from mcp_proxy_conformance.targets.environments import installed
from mcp_proxy_conformance.targets.target import Target
from mcp_proxy_conformance.verdict.outcome import (
    BROKEN,
    CONFORMANT,
    DECLARATION,
    FAULT,
    INCOMPLETE,
    INTERRUPTED,
    VIOLATED,
)
from mcp_proxy_conformance.wire.program import lacking


@click.command(
    epilog=examples("selftest --part 1/24", "selftest --only echo", "selftest --target reference")
)
@click.option(
    "--triggered", is_flag=True, help="Try base faults that show at values of a space only."
)
@click.option("--full", is_flag=True, help="Try every check on every mutant, and other orders.")
@click.option(
    "--only", multiple=True, metavar="ID", help="Try only this mutant or variant; repeatable."
)
@click.option(
    "--part",
    default="1/1",
    metavar="I/N",
    show_default=True,
    help="Run only every Nth trial, starting at number I.",
)
@click.option(
    "--jobs", type=click.IntRange(1, 64), default=2, show_default=True, help="Trials at a time."
)
@click.option(
    "--json",
    "report",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the results to this file.",
)
@click.option("--keep", is_flag=True, help="Keep the report of each trial.")
@click.option(
    "--target", "kind", metavar="KIND", help="Try the checks on this kind of target, as for `run`."
)
@click.option("--binary", metavar="PATH", help="The program of a target of kind mcpproxy.")
@described_options
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def selftest(
    *,
    triggered: bool,
    full: bool,
    only: tuple[str, ...],
    part: str,
    jobs: int,
    report: Path | None,
    keep: bool,
    kind: str | None,
    command: tuple[str, ...],
    **options: Any,
) -> None:
    """Test the checks on mutants, which are each wrong in one way, and on correct variants.

    By default these are changed reference proxies. With --target or --target-file, the checks are
    tried on that target, as it is and behind each wire mutant, which changes its messages. The
    clauses that the target itself breaks are listed, and do not fail the selftest. Only a check
    that passes on the unchanged target can kill a mutant. If none does, and other checks of its
    clauses fail or do not apply, the mutant is unseeable. `selftest --target command -- PROGRAM
    ARGUMENTS` names an adapter.

    With --full, every check is tried on every mutant, and checks that no mutant needs are listed.
    The checks also run in reverse order, and each alone, on the unchanged reference, and must reach
    the same verdicts; --only order-backwards and --only order-alone run just these trials.

    With --triggered, about ten base faults are each tried at every value of a space, and at a fixed
    sample of pairs, where they show at no other server; of these 95 % and 85 % must be found.

    Exit 0 if every mutant is convicted of the clause that it is for, no variant fails, and the
    controls end as expected; 4 if no mutant could be seen; 3 if the target cannot be tried; else 1.
    """
    if why := lacking("the selftest"):
        stop(why)
    from mcp_proxy_conformance.selftest import document, gather, order, unchanged_target  # noqa: PLC0415
    from mcp_proxy_conformance.selftest.proof import proof_of, proofs  # noqa: PLC0415
    from mcp_proxy_conformance.selftest.warm_up import warm  # noqa: PLC0415

    options["command"] = command or None
    described = _described(kind, options)
    judged = specifications() if described is None else (judging(described.kind),)
    if triggered:
        _triggered([each for each in proofs().values() if each.triggered], *_part(part), jobs)
    tried = [proof_of(judged[0])] if described is not None else [*proofs().values()]
    everything = gather.trials() if described is None else tried[0].in_front
    if described is not None:
        _expect_triable(described, everything)
    number, parts = _part(part)
    _refuse_unknown(only, everything, tuple(order.WAYS) if described is None else ("unchanged",))
    wanted = [trial for trial in everything if trial.changed.id in only]
    wanted = wanted if only else gather.part_of(everything, number, parts)
    folder = Path(tempfile.mkdtemp(prefix="selftest-"))
    began = time.monotonic()
    folders = [folder for each in judged for folder in each.checks]
    warm(tried, folders, reference=described is None)
    try:
        if described is None:
            result = document.on_the_reference(
                wanted,
                folder,
                _progress,
                full=full,
                jobs=jobs,
                orders=[way for way in order.WAYS if way in only or (full and not only)],
                alone=gather.alone_in_part(number, parts),
            )
        else:
            result = document.in_front_of(
                partial(_target, described), tried[0], wanted, folder, _progress,
                profile="+".join(judged[0].proven), full=full, jobs=jobs,
            )  # fmt: skip
    except unchanged_target.NotTried as error:
        click.echo(str(error), err=True)
        sys.exit(BROKEN)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
    result["timing"] = {"seconds": round(time.monotonic() - began, 1)}
    if report is not None:
        report.write_text(json.dumps(result, indent=1), encoding="utf-8")
    click.echo("\n".join(lines(result)))
    if keep:
        click.echo(f"reports: {folder}")
    sys.exit(_exit(result))


def _triggered(proofs: Sequence[Any], number: int, parts: int, jobs: int) -> NoReturn:
    """Try every Nth triggered mutant; exit with 0 if enough of them die, else with 1."""
    from mcp_proxy_conformance.selftest.triggered import enough, tried  # noqa: PLC0415

    mutants = [mutant for proof in proofs for mutant in proof.triggered.mutants()]
    lives = tried(mutants[number - 1 :: parts], jobs, lambda: None)
    for kind, found in lives.items():
        click.echo(f"{kind}: {found['tried'] - len(found['survivors'])} of {found['tried']} found")
        click.echo(
            "".join(f"  not found: {name}\n" for name in sorted(found["survivors"])), nl=False
        )
    sys.exit(CONFORMANT if enough(lives) else VIOLATED)


def _described(kind: str | None, options: dict[str, Any]) -> Description | None:
    """Return the target that the options name, None if they name none; exit with 2 if unusable.

    Options that describe a target without naming it are unusable too.
    """
    file: Path | None = options["target_file"]
    values = target_options(options)
    if kind is None and file is None:
        if values:
            stop("these options describe a target that is not named; add --target KIND")
        return None
    kind, file = target_meant(kind, file)
    try:
        described = installed(describe(kind=kind, file=file, given=values, environment=os.environ))
    except BadTarget as error:
        stop(str(error))
    return described


def _expect_triable(described: Description, trials: Sequence[Any]) -> None:
    """Exit with 2 if no mutant can be tried in front of the target, or it cannot be made."""
    if not trials:
        stop(f"no mutant goes in front of a target of kind {described.kind!r}")
    try:
        _target(described)
    except BadTarget as error:
        stop(str(error))


def _target(described: Description) -> Target:
    """Return the described target, made anew; BadTarget if it is unusable."""
    scratch = Path(tempfile.gettempdir())
    return cast("Target", judging(described.kind).target(RunRequest(subject=described), scratch))


def _part(part: str) -> tuple[int, int]:
    """Return (I, N) of `I/N`; exit with 2 unless I is from 1 to N."""
    number, slash, parts = part.partition("/")
    if not (slash and number.isdecimal() and parts.isdecimal() and 1 <= int(number) <= int(parts)):
        stop(f"--part {part!r} is not a part; write 1/8 for the first of eight")
    return int(number), int(parts)


def _refuse_unknown(only: Sequence[str], everything: Sequence[Any], known: Sequence[str]) -> None:
    """Exit with 2, and name the nearest id, if `only` has an id that no trial has.

    Ids in `known` are accepted too.
    """
    ids = {*(trial.changed.id for trial in everything), *known}
    if strange := sorted(set(only) - ids):
        stop(unknown("mutant, variant or control", strange[0], sorted(ids)))


def _exit(result: dict[str, Any]) -> int:
    """Return the exit code of a selftest, from its document: 1 if it is not `good`, else 0.

    But if it is good and every trial except the unchanged target's is unseeable: the exit code of
    that target's run if this is 2, 3 or 70 (it could not be tried), else 4.
    """
    if not result["good"]:
        return VIOLATED
    cells = {row["cell"] for row in result["rows"] if row["kind"] != "target"}
    if cells == {"unseeable"}:
        broke = result["target"]["exit"]
        return broke if broke in (DECLARATION, BROKEN, FAULT) else INCOMPLETE
    return CONFORMANT


def _progress(row: Any, number: int, many: int) -> None:
    """Print "NUMBER/MANY OUTCOME: ID" of a finished trial to standard error."""
    click.echo(f"{number}/{many} {row.cell}: {row.id}", err=True)
