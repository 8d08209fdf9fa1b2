"""Tools known by the names a target lists them under: other forms, namesakes, wrong servers."""

from __future__ import annotations

import pytest

from mcp_proxy_conformance.catalogue.world import ToolKey
from mcp_proxy_conformance.discovery.targets.known_tools import Known

WORLD = (
    ToolKey("forge", "drop"), ToolKey("forge-2", "drop"), ToolKey("barn", "drop"),
    ToolKey("barn", "drop_all"), ToolKey("barn", "sift"), ToolKey("sift", "drop"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("server", "name", "tool"),
    [
        ("forge", "drop", "forge:drop"),
        ("forge", "forge__drop", "forge:drop"),
        ("forge", "forge//forge:drop", "forge:drop"),
        ("forge-2", "forge-2//forge-2:drop", "forge-2:drop"),
        ("barn", "forge:drop", "forge:drop"),
        ("mill", "forge-2:drop", "forge-2:drop"),
        ("barn", "tool drop of yours", "barn:drop"),
        ("barn", "barn//barn:drop_all", "barn:drop_all"),
        ("mill", "drop_all", "barn:drop_all"),
        ("mill", "a drop", "mill:a drop"),
        ("mill", "forget", "mill:forget"),
        ("", "barn.drop_all", "barn:drop_all"),
        ("", "sift", "barn:sift"),
    ],
)
def test_a_tool_is_known_by_its_name_in_any_form(server: str, name: str, tool: str) -> None:
    """A listed server and name mean the world's tool whose name fits best, as `server:tool`.

    If none fits, they mean a tool of just that server and name.
    """
    assert str(Known(WORLD).key(server, name)) == tool
