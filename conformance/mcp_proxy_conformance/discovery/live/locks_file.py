"""`locks.toml`: which tools of an endpoint are locked, and why, as its operator knows it."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from mcp_proxy_conformance.catalogue.surface import STATUSES
from mcp_proxy_conformance.catalogue.world import ToolKey
from mcp_proxy_conformance.discovery.live.endpoint import BadEndpoint, tool_key


def read_locks(file: Path) -> dict[ToolKey, str]:
    """The status of each tool, e.g. `"forge:delete_repo" = "disabled_by_config"`.

    Raises:
        BadEndpoint: It cannot be read, or not as that; the sentence names the place and the repair.
    """
    try:
        told = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadEndpoint(f"cannot read {file}: {error.strerror}; name another file") from None
    except (ValueError, RecursionError) as error:
        raise BadEndpoint(f"{file} is no TOML file: {error}") from None
    found = {tool_key(name, str(file)): status for name, status in _statuses(told, file)}
    if not found:
        raise BadEndpoint(f'{file} names no tool; write "SERVER:TOOL" = "{STATUSES[0]}"')
    return found


def _statuses(told: dict[str, Any], file: Path) -> Iterator[tuple[str, str]]:
    for name, status in told.items():
        if not isinstance(status, str):
            raise BadEndpoint(
                f'{file}: {name!r} is no status word; write "SERVER:TOOL" = "{STATUSES[0]}"'
            )
        if status not in STATUSES:
            near = get_close_matches(status, STATUSES, 1, 0.0)
            raise BadEndpoint(f"{file}: {name!r} is {status!r}; did you mean {near[0]!r}?")
        yield name, status
