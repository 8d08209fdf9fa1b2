"""Entry point for pytest: loads `plugin.py` if a target is named, and says so if none is.

Every pytest in an environment with this package imports this module. So it imports pytest alone,
and adds no option and no fixture: those of other plugins have the same names (`--profile`,
`--target`, `golden`).
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Generator

import pytest

PLUGIN = "mcp_proxy_conformance.plugin"
NAMING = ("--target", "--target-file")
FIXTURES = ("bench", "golden")
NO_TARGET = (
    "a check needs a target, and none is named: run pytest with --target-file FILE"
    " (`mcp-proxy-conformance init` writes one) or with --target reference, or set"
    " MCP_PROXY_CONFORMANCE_URL to the URL of an endpoint that is running"
)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marks of checks."""
    config.addinivalue_line("markers", "requirement(*clauses): the clauses that a check proves")
    config.addinivalue_line("markers", "on(world): the world or stage that a check works on")


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: list[str]
) -> Generator[None, object, object]:
    """Load the plugin, as `-p` does, if a target is named by an option that nobody else has."""
    result = yield
    if named := {word for word in args if word.partition("=")[0] in NAMING}:
        _, unknown = parser.parse_known_and_unknown_args(args, copy.copy(early_config.option))
        if not named.isdisjoint(unknown):
            early_config.pluginmanager.import_plugin(PLUGIN)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Generator[None, object, object]:
    """Say what to do if a check's fixture is missing, as the plugin that has it is not loaded."""
    try:
        return (yield)
    except pytest.FixtureLookupError as missing:
        if missing.argname in FIXTURES and "mcp_proxy_conformance.api" in sys.modules:
            raise pytest.fail.Exception(NO_TARGET, pytrace=False) from None
        raise
