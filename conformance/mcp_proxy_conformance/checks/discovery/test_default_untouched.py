"""Without the flag nothing is different from before: FR-002."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
import pytest

from mcp_proxy_conformance.bench import ABSENT, Bench
from mcp_proxy_conformance.discovery.calibration import (
    FALSE,
    Ask,
    Difference,
    Exact,
    absent_against_false,
    differences,
)
from mcp_proxy_conformance.discovery.surface import FLAG, STATUSES
from mcp_proxy_conformance.requirement import requirement
from mcp_proxy_conformance.stage import on, stage
from mcp_proxy_conformance.verdict import NotApplicable
from mcp_proxy_conformance.world import CONFIG, USER, ToolKey, server, tool, world

ALONE, CROWD, MIXED, PLAIN, SCOPE = map(stage, ("alone", "crowd", "mixed", "plain", "scope"))
UNLOCKED = msgspec.structs.replace(PLAIN, id="plain-unlocked", steps=())
