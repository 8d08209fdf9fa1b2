"""The names of a server's tools."""

from mcp_proxy_conformance.api import World, on, requirement


@requirement("NAMES.unique")
@on(World(servers=(), id="the server"))
def test_no_name_is_listed_twice(bench: list[str]) -> None:
    """No two tools have one name."""
    assert sorted({name for name in bench if bench.count(name) > 1}) == []
