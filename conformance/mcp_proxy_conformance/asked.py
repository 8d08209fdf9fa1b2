"""What the plugin's options name: a target or a loader, and what is asked for besides."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from mcp_proxy_conformance.baseline.manifest import read
from mcp_proxy_conformance.baseline.recorder import STAGE
from mcp_proxy_conformance.live.endpoint import Endpoint
from mcp_proxy_conformance.live.environment import in_environment
from mcp_proxy_conformance.resilience.load_run import ALL, loader_target
from mcp_proxy_conformance.target.adapter import Target
from mcp_proxy_conformance.target.description import describe
from mcp_proxy_conformance.target.kinds import target_of


def described(config: pytest.Config) -> Target:
    """The target that the options, the environment and the target file name; or a loader."""
    if (loader := config.getoption("--loader")) is not None:
        given = json.loads(config.getoption("--target-options"))
        return loader_target(json.loads(loader), given.get("capabilities", ALL))
    file = config.getoption("--target-file")
    return target_of(
        describe(
            kind=config.getoption("--target"),
            file=Path(file) if file else None,
            given=json.loads(config.getoption("--target-options")),
            environment=os.environ,
        )
    )


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
    """The target with what the options ask to be looked at besides; raises BadBaseline."""
    target = replace(target, soak_s=config.getoption("--soak") or target.soak_s)
    folder = config.getoption("--baseline")
    if folder is None:
        return target
    read(Path(folder), stage=STAGE)
    return replace(target, baseline=Path(folder).resolve())
