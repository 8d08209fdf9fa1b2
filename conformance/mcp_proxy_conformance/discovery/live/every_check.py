"""All checks of a live endpoint, for a test file that imports `*` from here.

The endpoint is named by `MCP_PROXY_CONFORMANCE_URL`; see discovery/live/endpoint.py.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

pytest_plugins = ("mcp_proxy_conformance.plugin",)


def _checks(file: Path) -> dict[str, Callable[..., object]]:
    module = import_module(f"mcp_proxy_conformance.discovery.live.checks.{file.stem}")
    return {name: value for name, value in vars(module).items() if name.startswith("test_")}


_files = sorted(Path(__file__).with_name("checks").glob("test_*.py"))
_tests = {name: check for file in _files for name, check in _checks(file).items()}
globals().update(_tests)
__all__ = ["pytest_plugins", *_tests]  # noqa: PLE0604 - the names of checks are strings
