"""A pytest plugin of resilience's tests: loaders in this process, and a part of the scenarios."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mcp_proxy_conformance.resilience import driven_loader
from mcp_proxy_conformance.resilience.embedded import LoaderHost
from mcp_proxy_conformance.resilience.scenarios import played_space, scenarios

FEW = 6


@pytest.fixture(scope="module")
def host() -> Iterator[LoaderHost]:
    """Yield the event loop on which all loaders of a file run; close it at the end."""
    made = LoaderHost()
    yield made
    made.close()


@pytest.fixture
def few_scenarios(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give loaders the first scenarios only, for a test that asks about the cases besides."""
    few = played_space()._replace(scenarios=scenarios()[:FEW])
    monkeypatch.setattr(driven_loader, "played_space", lambda: few)
