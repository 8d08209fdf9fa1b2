"""Trials of the live checks, which judge a running endpoint, on a target with several locks."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from msgspec import structs

from mcp_proxy_conformance.catalogue.world import Step, ToolKey, key, server, tool, world
from mcp_proxy_conformance.discovery.live.endpoint import Endpoint
from mcp_proxy_conformance.discovery.profiles import LIVE
from mcp_proxy_conformance.discovery.requests import discover
from mcp_proxy_conformance.discovery.targets.adapter import ProxyTarget
from mcp_proxy_conformance.discovery.targets.started import Started
from mcp_proxy_conformance.run.invocation import invoke, prepare
from mcp_proxy_conformance.run.request import RunRequest, Selection
from mcp_proxy_conformance.targets.waits import poll

BULK = ("alder", "birch", "cedar", "hazel", "larch", "maple", "rowan", "spruce", "thuja", "willow",
        "yew", "zelkova")  # fmt: skip
WORLD = structs.replace(
    world(
        server("forge", tool("list_repos"), tool("list_issues"), tool("open_issue"),
               tool("delete_repo", "Delete a repository and whatever it holds."),
               tool("create_token"), tool("list_secrets")),
        server("mint", tool("count_coins"), trusted=False),
        server("attic", tool("send_letter")),
        server("grove", tool("water_trees"), *(tool(f"remove_{tree}") for tree in BULK)),
        server("vault", tool("read_book")),
        agents={"north": ("forge",)},
    ),
    id="live",
)  # fmt: skip
"""Servers whose tools get locks; everyday names, so that a search for common words finds them."""
EXPECTED = {
    key("forge:delete_repo"): "disabled_by_config",
    key("forge:create_token"): "disabled_by_user",
    key("mint:update_ledger"): "pending_approval",
    key("attic:send_letter"): "server_quarantined",
}


@contextmanager
def started_with_locks(target: ProxyTarget, scratch: Path) -> Iterator[Started]:
    """Start a target, lock tools of it by config and by user, yield it; end it after the block.

    If it declares approval, a tool waits for approval; if quarantine, a server is quarantined.
    The block begins when the flag reveals the tools of EXPECTED whose kind of lock the target
    declares, or if it does not, 5 s after the settling time.
    """
    started = Started(target, WORLD, scratch)
    try:
        poll(lambda: discover(started, "read_book").tools, bool, target.ready_s)
        started.lock("config", "forge", ["delete_repo", "list_secrets"])
        started.lock("config", "grove", [f"remove_{tree}" for tree in BULK])
        started.lock("user", "forge", ["create_token"])
        if "approval" in target.capabilities:
            added = tool("update_ledger")[0]
            started.change_upstream(Step(server="mint", add=added))
            started.refresh("mint")
        if "quarantine" in target.capabilities:
            started.lock("quarantine", "attic", [])
        poll(
            lambda: _revealed(started),
            lambda revealed: revealed >= _due(target),
            target.settle_s + 5,
        )
        yield started
    finally:
        started.close()


def endpoint_of(started: Started, **members: Any) -> Endpoint:
    """Return a started target as an Endpoint with expected locks, allowed calls and a high rate.

    `members` replace members of the Endpoint.
    """
    access, surface = started.access, started.target.surface
    whole = Endpoint(
        url=access.url,
        headers=access.headers,
        agents=access.agents,
        surface=surface,
        listing=True,
        calls=True,
        pins=started.target.pins,
        expect={k: v for k, v in EXPECTED.items() if k in _due(started.target)},
        call=(ToolKey("forge", "delete_repo"), ToolKey("forge", "create_token")),
        rate=10_000,
        within_s=60,
    )
    return replace(whole, **members)


def tried_live(
    endpoint: Endpoint, out: Path, clauses: Collection[str] | None = None
) -> dict[str, Any]:
    """Run the live checks, or those that cite one of the clauses, in this process, without output.

    Return the report's JSON; the report stays in the folder `out`.
    """
    prepare(out)
    selection = Selection(clauses=None if clauses is None else frozenset(clauses))
    request = RunRequest(subject=endpoint, profile=LIVE, out=out, selection=selection)
    invoke(request, silent=True)
    document: dict[str, Any] = json.loads((out / "report.json").read_text(encoding="utf-8"))
    return document


def _due(target: ProxyTarget) -> set[ToolKey]:
    """Return the tools of EXPECTED whose kind of lock the target declares."""
    lacks = {"approval": "pending_approval", "quarantine": "server_quarantined"}
    gone = {status for word, status in lacks.items() if word not in target.capabilities}
    return {key for key, status in EXPECTED.items() if status not in gone}


def _revealed(started: Started) -> set[ToolKey]:
    """Return the tools of EXPECTED that a search by name, with the flag, lists as locked."""
    answers = {k: discover(started, k.tool, include_disabled=True, limit=100) for k in EXPECTED}
    return {
        k for k, answer in answers.items() if any(k.tool in entry.name for entry in answer.disabled)
    }
