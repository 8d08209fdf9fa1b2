"""Request for a run: target, profile, checks; made of pytest's options, which are added here."""

from __future__ import annotations

import json
import os
import pickle
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import pytest

from mcp_proxy_conformance.catalogue.specification import specifications
from mcp_proxy_conformance.targets.description import describe
from mcp_proxy_conformance.targets.environments import installed
from mcp_proxy_conformance.verdict.deviations.deviation import Deviation
from mcp_proxy_conformance.verdict.deviations.reader import read_named

OUT = "mcp-proxy-conformance-out"
NAME = "mcp-proxy-conformance-request"
"""The name of a request among pytest's plugins, and in the input of a worker."""
Names = frozenset[tuple[str, str | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which of the profile's checks run, in which order, and when a failure ends the run.

    Options of users: `checks`, each the name of a check or a case; `only`, each a requirement or a
    clause; `quick`, a part that takes seconds; `fail_fast`. Options of trials: `clauses`, of which
    a check must cite one (None is all); `alone`, the only check that runs; `without`, checks that
    do not run, with their case or None; `backwards`; `until`, clauses of which the
    first failure ends the run.
    """

    checks: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    quick: bool = False
    fail_fast: bool = False
    clauses: frozenset[str] | None = None
    alone: str = ""
    without: Names = frozenset()
    backwards: bool = False
    until: frozenset[str] = frozenset()


class Judged(Protocol):
    """What a run judges: a description of a target, a target, or another thing of such a kind."""

    @property
    def kind(self) -> str:
        """The kind of target, by which its specification is found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """The request for a run: subject, profile and options.

    `subject`: the implementation under test; `file` is the target file that it was read from.
    `profile`: None is the profile for targets of this kind. `shard`: a part, such as 1/3. `case`:
    the file of the only cases to run. `examples`, `seed`: how many worlds or loads are generated
    (None: by the target's speed), and the seed of the generator. `space`: the version of the space
    of scenarios, None is the newest. `soak_s`: seconds after which stages are observed again.
    `baseline`: the folder of a recording to compare bytes with. `within_s`: seconds that the run
    may take; None is no limit. `confirm`: failures are confirmed before they count. `keep`: the
    targets' scratch folders are kept. `trial`: the selftest tries the checks; a silent target does
    not end the run. `command`: the halves of the command line, between which `--check NAME` is
    inserted; empty if there was none.
    """

    subject: Judged
    file: Path | None = None
    profile: str | None = None
    out: Path = Path(OUT)
    selection: Selection = field(default_factory=Selection)
    shard: str | None = None
    case: Path | None = None
    examples: int | None = None
    seed: int = 0
    space: int | None = None
    soak_s: float = 0.0
    baseline: Path | None = None
    deviations: tuple[Deviation, ...] = ()
    within_s: float | None = None
    confirm: bool = True
    keep: bool = False
    trial: bool = False
    command: tuple[str, str] = ("", "")

    def encoded(self) -> bytes:
        """Pickle the request, for the worker processes of the same run."""
        return pickle.dumps(self)


class Brought:
    """A pytest plugin that carries the request of its run."""

    __name__ = NAME

    def __init__(self, request: RunRequest) -> None:
        """Keep the request."""
        self.request = request


def add_options(parser: pytest.Parser) -> None:
    """Add to pytest the options of a run: target, profile, selection, seed, output and others."""
    group = parser.getgroup("mcp-proxy-conformance")
    group.addoption(
        "--target",
        help="the implementation under test: reference, mcpproxy, command, loader, relay",
    )
    group.addoption("--target-file", help="the target file, as `init` writes it")
    group.addoption(
        "--target-options", default="{}", help="members that override the target file, as JSON"
    )
    group.addoption(
        "--soak", type=float, default=0.0, help="seconds until stages are observed again"
    )
    group.addoption("--baseline", help="the folder of a recording to compare bytes with")
    group.addoption(
        "--profile", help="the profile of clauses, or several as in discovery+robustness"
    )
    group.addoption("--out", default=OUT, help="folder of the report")
    group.addoption("--check", action="append", help="only this check, or this case; repeatable")
    group.addoption("--only", action="append", help="only this requirement or clause; repeatable")
    group.addoption(
        "--fail-fast", action="store_true", help="end after the first failure that counts"
    )
    group.addoption("--shard", help="only one part of several, such as 1/3")
    group.addoption("--case", help="only the cases in this file")
    group.addoption("--examples", type=int, help="number of scenarios or values to generate")
    group.addoption("--seed", type=int, default=0, help="seed of the generated loads or worlds")
    group.addoption("--space", type=int, help="version of the space of scenarios")
    group.addoption("--deviations", help="the file of known failures")
    group.addoption("--keep", action="store_true", help="keep the targets' scratch folders")
    group.addoption(
        "--no-confirm", action="store_true", help="do not confirm failures on a second target"
    )


def request_of(config: pytest.Config) -> RunRequest | None:
    """Return the run's request, as a plugin or an xdist worker's input carries it.

    Else it is made of pytest's options or, if these name no target, of the environment's
    variables; None without any. Raises BadTarget, BadDeviations or json.JSONDecodeError for
    unusable options.
    """
    brought = config.pluginmanager.get_plugin(NAME)
    if isinstance(brought, Brought):
        return brought.request
    encoded: bytes | None = getattr(config, "workerinput", {}).get(NAME)
    if encoded is not None:
        request: RunRequest = pickle.loads(encoded)  # noqa: S301 - the process that made us wrote it
        return request
    option = config.getoption
    is_named = any(map(option, ("--target", "--target-file")))
    file = _path(option("--target-file"))
    if file is not None and not file.exists():  # in `addopts`, it is beside pyproject.toml
        file = config.rootpath / file
    subject: Judged | None
    if is_named:
        subject = installed(
            describe(
                kind=option("--target"),
                file=file,
                given=json.loads(option("--target-options")),
                environment=os.environ,
            )
        )
    else:
        subject = next(filter(None, (each.named(os.environ) for each in specifications())), None)
    if subject is None:
        return None
    return RunRequest(
        subject=subject,
        file=file,
        profile=option("--profile"),
        out=Path(option("--out")).resolve(),
        selection=Selection(
            checks=tuple(option("--check") or ()),
            only=tuple(option("--only") or ()),
            fail_fast=option("--fail-fast"),
        ),
        shard=option("--shard"),
        case=_path(option("--case")),
        examples=option("--examples"),
        seed=option("--seed"),
        space=option("--space"),
        soak_s=option("--soak"),
        baseline=_path(option("--baseline")),
        deviations=read_named(_path(option("--deviations"))),
        confirm=not option("--no-confirm"),
        keep=option("--keep"),
    )


def _path(text: str | None) -> Path | None:
    return Path(text) if text else None
