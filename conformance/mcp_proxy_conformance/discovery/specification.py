"""Discovery, as the engine knows it: proxies that are driven, endpoints that are running."""

from __future__ import annotations

from pathlib import Path

from mcp_proxy_conformance.catalogue.resources import fixtures_dir
from mcp_proxy_conformance.catalogue.specification import Command, Specification, at
from mcp_proxy_conformance.discovery.profiles import PROVEN

HERE = "mcp_proxy_conformance.discovery"
COMMANDS = f"{HERE}.commands"

SPECIFICATION = Specification(
    name="discovery",
    root=Path(__file__).parent,
    fixtures=fixtures_dir() / "discovery",
    kinds=("reference", "mcpproxy", "command", "endpoint"),
    folders={
        "discovery": "checks",
        "robustness": "hostile/checks",
        "discovery-live": "live/checks",
    },
    target=at(f"{HERE}.described_proxy:target"),
    profile=at(f"{HERE}.described_proxy:profile"),
    subject=at(f"{HERE}.described_proxy:subject"),
    descriptions=dict.fromkeys(
        ("reference", "mcpproxy", "command"), f"{HERE}.targets.proxy_description:ProxyDescription"
    ),
    cases=at(f"{HERE}.case:cases"),
    scenarios=at(f"{HERE}.scenarios:scenario_cases"),
    giving="each_case",
    linted=at(f"{HERE}.authoring.kinds:kinds"),
    page=at(f"{HERE}.authoring.case_page:case_page"),
    locked=at(f"{HERE}.case:locks_of"),
    space=at(f"{HERE}.scenarios:played_space"),
    proof=at(f"{HERE}.selftest.proof:proof"),
    proven=PROVEN,
    check_s=30,
    named=at(f"{HERE}.live.endpoint:in_environment"),
    plugin=f"{HERE}.fixtures",
    runs={
        "reference": Command(f"{COMMANDS}.run:reference", "Judge the bundled reference proxy."),
        "mcpproxy": Command(f"{COMMANDS}.run:mcpproxy", "Judge the Go proxy mcpproxy-go."),
        "command": Command(f"{COMMANDS}.run:command", "Judge any proxy through an adapter."),
        "endpoint": Command(
            f"{COMMANDS}.endpoint:endpoint", "Judge what a live endpoint says about locked tools."
        ),
    },
    commands={
        "baseline": Command(
            f"{COMMANDS}.baseline:baseline",
            "Record what a build answers by default, and compare builds.",
        ),
    },
)
