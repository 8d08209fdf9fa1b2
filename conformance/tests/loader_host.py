"""A pytest plugin of resilience's tests: the event loop of loaders in this process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mcp_proxy_conformance.resilience.embedded import LoaderHost


@pytest.fixture(scope="module")
def host() -> Iterator[LoaderHost]:
    """Yield the event loop on which all loaders of a file run; close it at the end."""
    made = LoaderHost()
    yield made
    made.close()
