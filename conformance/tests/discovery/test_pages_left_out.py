"""A proxy that reads the first page of each upstream's tools: not waited for, never accused."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from mcp_proxy_conformance.discovery.targets.embedded import embedded
from mcp_proxy_conformance.run.request import Selection
from mcp_proxy_conformance.selftest.trial import trial, tried
from mcp_proxy_mutants.discovery.changed import Changed
from mcp_proxy_reference.loader import Session

CASES = ("rejection-config-second-page", "counts-second-page", "withheld-not-second-page")
READY_S = 60.0


def test_tools_of_a_page_that_is_never_asked_for_are_inconclusive(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Cases about tools of a second page that the proxy never asks for are inconclusive.

    They take less than half of the ready time of 60 s; a cause is `page_unasked`.
    """

    async def first_page(session: Session) -> list[dict[str, Any]]:
        """Return the tools of the first page only."""
        page = await session.request("tools/list", {})
        tools: list[dict[str, Any]] = page["tools"]
        return tools

    for module in ("loader", "upstream"):
        monkeypatch.setattr(f"mcp_proxy_reference.{module}.list_tools", first_page)
    target = embedded(Changed(id="first-page", text="It reads the first page."), ready_s=READY_S)
    began = time.monotonic()

    results = tried(trial(target, Selection(checks=CASES)), tmp_path).every

    assert time.monotonic() - began < READY_S / 2
    assert [result["verdict"] for result in results] == ["inconclusive"] * len(CASES)
    assert "page_unasked" in {result["cause"] for result in results}
