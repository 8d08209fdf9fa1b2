"""What the plugin's options name: a target or a loader, and what is asked for besides."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mcp_proxy_conformance.catalogue.case import BadCase
from mcp_proxy_conformance.catalogue.case import read_own as read_discovery_case
from mcp_proxy_conformance.catalogue.load_case import BadLoadCase
from mcp_proxy_conformance.catalogue.load_case import read_own as read_case
from mcp_proxy_conformance.catalogue.requirement import (
    OF_PROXIES,
    Profile,
    UnknownClause,
    catalogue,
    profile,
)
from mcp_proxy_conformance.discovery.baseline.manifest import BadBaseline, read
from mcp_proxy_conformance.discovery.baseline.recorder import STAGE
from mcp_proxy_conformance.discovery.live.endpoint import BadEndpoint, Endpoint
from mcp_proxy_conformance.discovery.live.environment import in_environment
from mcp_proxy_conformance.resilience.loader_target import EXAMPLES, LoaderTarget, program_target
from mcp_proxy_conformance.run.given import Given
from mcp_proxy_conformance.run.live_run import LiveRun, live_target
from mcp_proxy_conformance.run.load_run import LoadRun
from mcp_proxy_conformance.run.session import Run
from mcp_proxy_conformance.run.sharding import BadShard, shard_of
from mcp_proxy_conformance.run.world_run import WorldRun
from mcp_proxy_conformance.targets.adapter import Target
from mcp_proxy_conformance.targets.description import OF_LOADERS, BadTarget, Description, describe
from mcp_proxy_conformance.targets.kinds import target_of
from mcp_proxy_conformance.targets.written import written
from mcp_proxy_conformance.verdict.deviations.deviation import BadDeviations, Brought, Deviation
from mcp_proxy_conformance.verdict.deviations.reading import read_named

PROFILE = "discovery"
PROFILES = {
    "reference": OF_PROXIES,
    "command": OF_PROXIES,
    "loader": "resilience",
    "endpoint": "discovery-live",
}
"""What targets of a kind are judged by when no profile is named; others by PROFILE."""
LOADERS = ("resilience",)
OWN_LOADER = (sys.executable, "-m", "mcp_proxy_reference.load")


def add_options(parser: pytest.Parser) -> None:
    """The options that say what is judged, by what, and how."""
    group = parser.getgroup("mcp-proxy-conformance")
    group.addoption(
        "--target", help="the implementation under test: reference, mcpproxy, command, loader"
    )
    group.addoption("--target-file", help="the target file that `init` writes")
    group.addoption("--target-options", default="{}", help="its members that differ, as JSON")
    group.addoption("--soak", type=float, default=0.0, help="seconds; observe stages again then")
    group.addoption("--baseline", help="the folder of a recording to compare bytes with")
    group.addoption("--profile", help="the profile of clauses, or several: discovery+robustness")
    group.addoption("--out", default="mcp-proxy-conformance-out", help="folder of the report")
    group.addoption("--check", action="append", help="only this check, or this case; repeatable")
    group.addoption("--only", action="append", help="only this requirement or clause; repeatable")
    group.addoption("--fail-fast", action="store_true", help="end after the first failed F check")
    group.addoption("--shard", help="only one part of several, such as 1/3")
    group.addoption("--case", help="only the case in this file")
    group.addoption("--examples", type=int, help="loads or worlds to be generated")
    group.addoption("--seed", type=int, default=0, help="what they are generated from")
    group.addoption("--deviations", help="the file of known failures")
    group.addoption("--keep", action="store_true", help="keep the targets' scratch folders")
    group.addoption("--no-confirm", action="store_true", help="do not confirm shared failures")


def given_to(config: pytest.Config) -> Given | None:
    """What a caller in the same process brings as a plugin."""
    return next((p for p in config.pluginmanager.get_plugins() if isinstance(p, Given)), None)


def asked_run(config: pytest.Config, given: Given | None) -> Run | None:
    """The run of what `given` brings or the options name, None when that is nothing.

    Raises:
        pytest.UsageError: What they name cannot be used.
    """
    is_named = any(map(config.getoption, ("--target", "--target-file")))
    try:
        endpoint = None if given or is_named else endpoint_of(config)
        if endpoint is not None:
            target = live_target(endpoint)
        elif given is not None or is_named:
            target = asked_for(config, given.target if given else described(config))
        else:
            return None
        chosen = judged_by(config, target)
        known = deviations_for(config)
        only_of(config, chosen)
        shard = shard_of(told) if (told := config.getoption("--shard")) is not None else None
        laws = {} if endpoint or isinstance(target, LoaderTarget) else _of_laws(config, given)
    except json.JSONDecodeError as error:
        raise pytest.UsageError(f"--target-options is no JSON object: {error}") from None
    except (
        BadTarget, BadBaseline, BadEndpoint, BadCase, BadLoadCase, BadDeviations, BadShard,
        LookupError,
    ) as error:  # fmt: skip
        raise pytest.UsageError(str(error)) from None
    if isinstance(target, LoaderTarget) != (chosen.folders == LOADERS):
        raise pytest.UsageError(f"the profile {chosen.id} does not judge kind {target.kind!r}")
    if shard is not None and endpoint is not None:
        raise pytest.UsageError("an endpoint is asked within one budget: leave --shard out")
    kind: Callable[..., Run] = LoadRun
    if endpoint is not None:
        kind = partial(LiveRun, endpoint=endpoint)
    elif not isinstance(target, LoaderTarget):
        kind = partial(WorldRun, **laws)
    return kind(
        target=target,
        profile=chosen,
        out=Path(config.getoption("--out")).resolve(),
        confirm=given.confirm if given is not None else not config.getoption("--no-confirm"),
        keep=config.getoption("--keep"),
        deviations=known,
        shard=shard,
    )


def deviations_for(config: pytest.Config) -> tuple[Deviation, ...]:
    """The known failures that a caller brings, else those of the file; raises BadDeviations.

    A target that a caller brings has none: no file excuses a counterexample.
    """
    plugins = config.pluginmanager.get_plugins()
    brought = next((one for one in plugins if isinstance(one, Brought)), None)
    if brought is not None:
        return brought.deviations
    if any(isinstance(one, Given | LiveGiven) for one in plugins):
        return ()
    file = config.getoption("--deviations")
    return read_named(Path(file) if file else None)


def _of_laws(config: pytest.Config, given: Given | None) -> dict[str, Any]:
    """What a run of a proxy is told of its laws, and its own case; raises BadCase."""
    if given is not None:
        return {"examples": given.examples, "again": given.confirm}
    file = config.getoption("--case")
    return {
        "examples": config.getoption("--examples"),
        "seed": config.getoption("--seed"),
        "own": read_discovery_case(Path(file)) if file else None,
    }


def described(config: pytest.Config) -> Target:
    """The target that the options, the environment and the target file name; or a loader."""
    file = config.getoption("--target-file")
    told = describe(
        kind=config.getoption("--target"),
        file=Path(file) if file else None,
        given=json.loads(config.getoption("--target-options")),
        environment=os.environ,
    )
    target = _loader(told) if told.kind == "loader" else target_of(told)
    return replace(target, file=written(Path(file)) if file else None)


def _loader(told: Description) -> Target:
    """A loader program, the reference's own where none is named."""
    return program_target(
        told.command or OWN_LOADER,
        OF_LOADERS if told.capabilities is None else told.capabilities,
        tool_prefix=told.tool_prefix,
        timeout_signatures=told.timeout_signatures,
    )


def judged_by(config: pytest.Config, target: Target) -> Profile:
    """The profile that is named, else the one of targets of its kind; raises LookupError."""
    wanted = config.getoption("--profile") or PROFILES.get(target.kind, PROFILE)
    return profile(wanted)


def only_of(config: pytest.Config, judged: Profile) -> frozenset[str] | None:
    """The clauses of the profile that --only names; None when it names nothing.

    Raises:
        UnknownClause: There is no such requirement or clause, or the profile has none of it.
    """
    wanted: list[str] = config.getoption("--only") or []
    found: set[str] = set()
    for word in wanted:
        meant = set(catalogue().meant(word)) & set(judged.clauses)
        if not meant:
            told = f"the profile {judged.id} has no clause of {word}"
            raise UnknownClause(f"{told}; name one that has it with --profile")
        found |= meant
    return frozenset(found) if wanted else None


@dataclass(frozen=True, slots=True, eq=False)
class LiveGiven:
    """A pytest plugin that brings the endpoint of a live run."""

    endpoint: Endpoint


def endpoint_of(config: pytest.Config) -> Endpoint | None:
    """The endpoint that the command line brings, or that the environment names."""
    plugins = config.pluginmanager.get_plugins()
    given = next((one for one in plugins if isinstance(one, LiveGiven)), None)
    return in_environment(os.environ) if given is None else given.endpoint


def asked_for(config: pytest.Config, target: Target) -> Target:
    """The target with what the options ask for besides; raises BadBaseline and BadLoadCase."""
    target = replace(target, soak_s=config.getoption("--soak") or target.soak_s)
    if isinstance(target, LoaderTarget):
        file, count = config.getoption("--case"), config.getoption("--examples")
        return replace(
            target,
            examples=EXAMPLES if count is None else count,
            seed=config.getoption("--seed"),
            case=read_case(Path(file)) if file else None,
        )
    folder = config.getoption("--baseline")
    if folder is None:
        return target
    read(Path(folder), stage=STAGE)
    return replace(target, baseline=Path(folder).resolve())
