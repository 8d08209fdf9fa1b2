"""From a locked need to its remedy in one more request: SC-002, SC-006."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_proxy_conformance.bench import ABSENT, Bench
from mcp_proxy_conformance.discovery.answer import Answer
from mcp_proxy_conformance.discovery.notes import leads_on, owed, queries_of
from mcp_proxy_conformance.discovery.surface import FLAG, STATUSES
from mcp_proxy_conformance.oracle import LOCKED_CAP
from mcp_proxy_conformance.requirement import requirement
from mcp_proxy_conformance.stage import on, stage
from mcp_proxy_conformance.world import ToolKey

ALONE = stage("alone")
SHUT = stage("shut")
