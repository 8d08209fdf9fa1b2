"""Outcomes of loading the reference's servers, in its listing and log, without secrets."""

from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path
from typing import Any

import pytest

from mcp_proxy_conformance.upstream.faults import FaultServers, read_scripts
from mcp_proxy_conformance.wire.client import Client
from mcp_proxy_conformance.wire.transcript import Transcript
from mcp_proxy_reference.proxy import Proxy

SCRIPTS: dict[str, list[dict[str, Any]]] = {
    "oak": [{"do": "healthy"}],
    "elm": [{"do": "status", "code": 404}],
    "ash": [{"do": "status", "code": 403}],
    "yew": [{"do": "status", "code": 503}],
}


def listed(url: str) -> dict[str, Any]:
    """Return {server: its connection status} as the proxy at that URL lists them."""
    client = Client(url, transcript=Transcript())
    listing = json.loads(client.call_tool("upstream_servers", {"operation": "list"}).text)
    client.close()
    return {server["name"]: server["connection_status"] for server in listing["servers"]}


async def shown(config: Path, data: Path) -> dict[str, Any]:
    """Start a proxy with that config, and return `listed` once every server was loaded."""
    async with Proxy.open(config, data) as proxy:
        await proxy.settled()
        return await asyncio.to_thread(listed, proxy.url)


def test_outcomes_are_listed_and_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Servers of four outcomes are listed and logged with status, attempts and error.

    A token in their URLs is in no log line.
    """
    scripts = [
        {"server_id": name, "tools": [f"{name}_tool"], "script": script, "query": "token=s3cret"}
        for name, script in SCRIPTS.items()
    ]
    caplog.set_level(logging.INFO, "mcp_proxy_reference")

    with FaultServers(read_scripts(scripts)) as servers:
        entries = [{"name": name, "url": servers.url(name)} for name in SCRIPTS]
        config = tmp_path / "config.json"
        config.write_text(json.dumps({"mcpServers": entries}), encoding="utf-8")
        statuses = asyncio.run(shown(config, tmp_path / "data"))

    assert {name: (status["status"], status["attempts"]) for name, status in statuses.items()} == {
        "oak": ("available", 1),
        "elm": ("permanent", 1),
        "ash": ("denied", 1),
        "yew": ("transient", 3),
    }
    lines = {line.partition(":")[0]: line for line in caplog.messages}
    assert lines["oak"] == "oak: available at attempt 1. 1 tools."
    assert lines["yew"].startswith("yew: transient at attempt 3. ")
    assert {
        name: status["error"] in lines[name] for name, status in statuses.items() if status["error"]
    } == {
        "elm": True,
        "ash": True,
        "yew": True,
    }
    assert "s3cret" not in caplog.text
