"""Fidelity, as the engine knows it: relays."""

from __future__ import annotations

from pathlib import Path

from mcp_proxy_conformance.catalogue.resources import fixtures_dir
from mcp_proxy_conformance.catalogue.specification import Command, Specification, at
from mcp_proxy_conformance.fidelity.profiles import OF_RELAYS, PROVEN

HERE = "mcp_proxy_conformance.fidelity"

SPECIFICATION = Specification(
    name="fidelity",
    root=Path(__file__).parent,
    fixtures=fixtures_dir() / "fidelity",
    kinds=("relay",),
    folders={"fidelity": "checks", "integrity": "checks"},
    target=at(f"{HERE}.described_relay:relay_of"),
    profile=lambda _: OF_RELAYS,
    subject=at(f"{HERE}.described_relay:driven"),
    descriptions={"relay": f"{HERE}.relay_description:RelayDescription"},
    cases=at(f"{HERE}.relay_case:relay_cases"),
    giving="each_relay_case",
    linted=at(f"{HERE}.relay_case_page:kinds"),
    page=at(f"{HERE}.relay_case_page:page"),
    proof=at(f"{HERE}.proof:proof"),
    proven=PROVEN,
    runs={
        "relay": Command(f"{HERE}.commands:relay", "Judge a relay of one MCP server."),
    },
)
