"""What the plugin's options name: a target or a loader, and what is asked for besides."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_proxy_conformance.baseline.manifest import read
from mcp_proxy_conformance.baseline.recorder import STAGE
from mcp_proxy_conformance.requirement import Profile, profile
from mcp_proxy_conformance.resilience.load_run import ALL, program_target
from mcp_proxy_conformance.target.adapter import Target
from mcp_proxy_conformance.target.description import describe
from mcp_proxy_conformance.target.kinds import target_of

PROFILE = "discovery"
PROFILES = {
    "reference": "discovery+robustness",
    "command": "discovery+robustness",
    "loader": "resilience",
}
"""What targets of a kind are judged by when no profile is named; others by PROFILE."""


def described(config: pytest.Config) -> Target:
    """The target that the options, the environment and the target file name; or a loader."""
    if (loader := config.getoption("--loader")) is not None:
        given = json.loads(config.getoption("--target-options"))
        return program_target(json.loads(loader), given.get("capabilities", ALL))
    file = config.getoption("--target-file")
    return target_of(
        describe(
            kind=config.getoption("--target"),
            file=Path(file) if file else None,
            given=json.loads(config.getoption("--target-options")),
            environment=os.environ,
        )
    )


def judged_by(config: pytest.Config, target: Target) -> Profile:
    """The profile that is named, else the one of targets of its kind; raises LookupError."""
    wanted = config.getoption("--profile") or PROFILES.get(target.kind, PROFILE)
    return profile(wanted)


def asked_for(config: pytest.Config, target: Target) -> Target:
    """The target with what the options ask to be looked at besides; raises BadBaseline."""
    target = replace(target, soak_s=config.getoption("--soak") or target.soak_s)
    folder = config.getoption("--baseline")
    if folder is None:
        return target
    read(Path(folder), stage=STAGE)
    return replace(target, baseline=Path(folder).resolve())
