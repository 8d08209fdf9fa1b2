"""Variants of state: log files, a heartbeat file, removed tools, approval by lifting a lock."""

import asyncio
import json

from mcp_proxy_mutants.discovery.changed_parts import Request
from mcp_proxy_mutants.discovery.gateway_changes import decide, own, put
from mcp_proxy_mutants.discovery.variant import Variant, variant
from mcp_proxy_reference.facts import Json, Tool
from mcp_proxy_reference.gateway import Gateway

EVERY_S, REPLACED_S = 0.1, 0.03
LARGE = 3


def log_of_calls(gateway: Gateway) -> None:
    """Append the caller, arguments and answer of every discovery to a file beside the store."""
    path = gateway.store.path.with_name("calls.jsonl")

    def answer(document: Json, request: Request) -> Json:
        call = {"caller": request.agent.name, "arguments": dict(request.arguments)}
        with path.open("a", encoding="utf-8") as log:
            log.write(json.dumps(call | {"answer": document}) + "\n")
        return document

    decide(gateway, answer=answer)


def log_of_arguments(gateway: Gateway) -> None:
    """Keep the arguments of every discovery.

    At every third one write all to a file beside the store.
    """
    path = gateway.store.path.with_name("calls.json")
    calls: list[Json] = []

    def answer(document: Json, request: Request) -> Json:
        calls.append(dict(request.arguments))
        if len(calls) % LARGE == 0:
            path.write_text(json.dumps(calls), encoding="utf-8")
        return document

    decide(gateway, answer=answer)


def heartbeat(gateway: Gateway) -> None:
    """Create a file beside the store; from the first discovery on, replace it every 0.13 s.

    A temporary file beside it is written and, 0.03 s later, moved over it.
    """
    path = gateway.store.path.with_name("heartbeat.json")
    path.write_text("{}", encoding="utf-8")
    running: list[asyncio.Task[None]] = []

    async def beat() -> None:
        fresh = path.with_name("heartbeat.json.tmp.0")
        while True:
            await asyncio.sleep(EVERY_S)
            fresh.write_text(json.dumps({"beat": asyncio.get_running_loop().time()}))
            try:
                await asyncio.sleep(REPLACED_S)
            finally:
                fresh.replace(path)

    def answer(document: Json, _request: Request) -> Json:
        if not running:
            running.append(asyncio.create_task(beat()))
        return document

    decide(gateway, answer=answer)


def removed_tools_stay(gateway: Gateway) -> None:
    """Keep tools that their server no longer lists until the next start."""
    record, kept = own(gateway, "_record"), own(gateway, "_tools")
    seen: dict[str, dict[str, Tool]] = {}

    def recorded(name: str) -> None:
        seen[name] = kept[name] = seen.get(name, {}) | kept.get(name, {})
        record(name)

    put(gateway, _record=recorded)


def locks_leave_with_tools(gateway: Gateway) -> None:
    """Lift the user's lock of a tool once its server no longer lists it."""
    record = own(gateway, "_record")
    seen: dict[str, dict[str, Tool]] = {}

    def recorded(name: str) -> None:
        now = dict(gateway.tools(name))
        for bare in seen.get(name, {}).keys() - now.keys():
            gateway.store.lock(seen[name][bare], locked=False)
        seen[name] = now
        record(name)

    put(gateway, _record=recorded)


def release_approves(gateway: Gateway) -> None:
    """Approve all tools of a server when it is released from quarantine."""
    real = gateway.switch

    def switch(server: str, **changes: bool) -> None:
        if changes.get("quarantined") is False:
            gateway.store.approve(gateway.tools(server).values())
        real(server, **changes)

    put(gateway, switch=switch)


def turning_on_approves(gateway: Gateway) -> None:
    """Approve a tool when the user's lock on it is lifted."""
    store = gateway.store
    real = store.lock

    def lock(tool: Tool, *, locked: bool) -> None:
        real(tool, locked=locked)
        if not locked:
            store.approve([tool])

    put(store, lock=lock)


VARIANTS: tuple[Variant, ...] = (
    variant(
        "turning-on-approves",
        "A tool that the user turns on again is approved.",
        "locks-left",
        swap=turning_on_approves,
    ),
    variant(
        "release-approves",
        "A server that is released from quarantine has all its tools approved.",
        "locks-left",
        swap=release_approves,
    ),
    variant(
        "log-of-calls",
        "Every discovery is logged to a file, with its arguments and its answer.",
        "log-of-all-calls",
        "FR-013.in-memory~log",
        swap=log_of_calls,
    ),
    variant(
        "log-of-arguments",
        "The arguments of every third discovery and those before it are written to a file.",
        "log-of-all-calls",
        "FR-013.in-memory~log",
        swap=log_of_arguments,
    ),
    variant(
        "removed-tools-stay",
        "Tools that a server no longer lists stay in the index until a restart.",
        "gone-and-back",
        swap=removed_tools_stay,
    ),
    variant(
        "locks-leave-with-tools",
        "The user's lock ends when its server no longer lists the tool.",
        "gone-and-back",
        swap=locks_leave_with_tools,
    ),
    variant(
        "heartbeat",
        "A file is replaced ten times a second, by a temporary one beside it.",
        swap=heartbeat,
    ),
)
