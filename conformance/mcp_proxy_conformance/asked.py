"""What the plugin's options name: a target or a loader, and what is asked for besides."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from mcp_proxy_conformance.baseline.manifest import read
from mcp_proxy_conformance.baseline.recorder import STAGE
from mcp_proxy_conformance.live.endpoint import Endpoint
from mcp_proxy_conformance.live.environment import in_environment
from mcp_proxy_conformance.requirement import Profile, profile
from mcp_proxy_conformance.resilience.load_case import BadLoadCase
from mcp_proxy_conformance.resilience.load_case import read_own as read_case
from mcp_proxy_conformance.resilience.load_run import LoaderTarget, program_target
from mcp_proxy_conformance.target.adapter import Target
from mcp_proxy_conformance.target.description import OF_LOADERS, Description, describe
from mcp_proxy_conformance.target.kinds import target_of

PROFILE = "discovery"
PROFILES = {
    "reference": "discovery+robustness",
    "command": "discovery+robustness",
    "loader": "resilience",
    "endpoint": "discovery-live",
}
"""What targets of a kind are judged by when no profile is named; others by PROFILE."""
OWN_LOADER = (sys.executable, "-m", "mcp_proxy_reference.load")


def described(config: pytest.Config) -> Target:
    """The target that the options, the environment and the target file name; or a loader."""
    file = config.getoption("--target-file")
    told = describe(
        kind=config.getoption("--target"),
        file=Path(file) if file else None,
        given=json.loads(config.getoption("--target-options")),
        environment=os.environ,
    )
    return _loader(told) if told.kind == "loader" else target_of(told)


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
        given = {name: config.getoption(f"--{name}") for name in ("examples", "seed")}
        file = config.getoption("--case")
        return replace(target, **given, case=read_case(Path(file)) if file else None)
    if config.getoption("--case"):
        raise BadLoadCase("--case is about loaders: `run loader --case FILE`")
    folder = config.getoption("--baseline")
    if folder is None:
        return target
    read(Path(folder), stage=STAGE)
    return replace(target, baseline=Path(folder).resolve())
