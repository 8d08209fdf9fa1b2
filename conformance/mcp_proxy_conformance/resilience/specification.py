"""Resilience, as the engine knows it: loaders of many servers."""

from __future__ import annotations

from pathlib import Path

from mcp_proxy_conformance.catalogue.resources import fixtures_dir
from mcp_proxy_conformance.catalogue.specification import Command, Specification, at

HERE = "mcp_proxy_conformance.resilience"

SPECIFICATION = Specification(
    name="resilience",
    root=Path(__file__).parent,
    fixtures=fixtures_dir() / "resilience",
    kinds=("loader",),
    folders={"resilience": "checks", "resilience-basic": "checks"},
    target=at(f"{HERE}.described_loader:loader_of"),
    profile=at(f"{HERE}.described_loader:profile_of"),
    subject=at(f"{HERE}.described_loader:driven"),
    descriptions={"loader": f"{HERE}.loader_description:LoaderDescription"},
    cases=at(f"{HERE}.load_case:load_cases"),
    scenarios=at(f"{HERE}.scenarios:scenario_loads"),
    giving="each_load",
    linted=at(f"{HERE}.load_rules:kinds"),
    page=at(f"{HERE}.load_rules:page"),
    space=at(f"{HERE}.scenarios:played_space"),
    proof=at(f"{HERE}.proof:proof"),
    proven=("resilience",),
    commands={
        "serve": Command(
            f"{HERE}.serve:serve",
            "Serve MCP for a client of your own, rightly or not.",
        ),
    },
    runs={
        "loader": Command(
            f"{HERE}.commands:loader",
            "Judge a loader of many MCP servers.",
        ),
    },
)
