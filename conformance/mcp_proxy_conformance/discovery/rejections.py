"""What a target says when it refuses a call, compared with its own words and read for its class."""

from __future__ import annotations

from dataclasses import dataclass

from mcp_proxy_conformance.bench import Bench
from mcp_proxy_conformance.discovery.remediation import (
    Judgement,
    claims_operator_policy,
    judge,
    mask,
)
from mcp_proxy_conformance.discovery.surface import STATUSES
from mcp_proxy_conformance.state import ToolState
from mcp_proxy_conformance.world import ToolKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """One refused call: its text with names masked, and whether the answer is flagged an error."""

    text: str
    raw: str
    is_error: bool


def rejection(bench: Bench, key: ToolKey, *, surface: int = 0) -> Rejection:
    """Call a tool that is expected to be refused; inconclusive when it reaches its upstream."""
    called = bench.call(key, surface=surface)
    bench.require(not called.reached, f"{key} is not refused")
    return Rejection(
        text=mask(called.text, _names(bench)),
        raw=called.text,
        is_error=called.reply.error is not None or called.reply.is_error,
    )


def own_words(bench: Bench, key: ToolKey, *, surface: int = 0) -> str:
    """The words that two equal refused calls have in common, names masked: no id, no time."""
    first, second = (rejection(bench, key, surface=surface).text.split() for _ in range(2))
    return " ".join(a for a, b in zip(first, second, strict=False) if a == b)


def read_class(bench: Bench, key: ToolKey, status: str) -> Judgement:
    """How the rejection of a tool reads for a class of lock, pinned texts included."""
    pins = bench.started.target.pins
    masked = {mask(text, _names(bench)): word for text, word in pins.items()}
    return judge(rejection(bench, key).text, status, pins=masked).outcome


def status_of_lock(state: ToolState) -> str:
    """The status word of a lock on an enabled server, as the fixed order has it."""
    if state.config:
        return "disabled_by_config"
    if state.quarantined:
        return "server_quarantined"
    return "disabled_by_user" if state.user else "pending_approval"


def tells_reason(bench: Bench, key: ToolKey, text: str, open_text: str) -> str:
    """Why a text tells the reason of a tool's lock; empty when it does not.

    `open_text` is what the same caller is told of an unlocked tool beside it: a text that is no
    different tells nothing.
    """
    if text == open_text:
        return ""
    status = status_of_lock(bench.states[key])
    own = [k for k in bench.armed.refused if status_of_lock(bench.states[k]) == status]
    admin = Bench(bench.started, bench.armed)
    remedy = (admin.discover(key.tool, include_disabled=True).remediation or {}).get(status)
    if text in {own_words(admin, k) for k in own[:1]}:
        return "the text of its lock"
    if any(word in text and word not in open_text for word in STATUSES):
        return "a status word"
    if isinstance(remedy, str) and " ".join(remedy.split()) in text:
        return "the remediation of its lock"
    claimed = claims_operator_policy(text) and not claims_operator_policy(open_text)
    return "operator policy" if claimed else ""


def _names(bench: Bench) -> list[str]:
    return [name for key in bench.tools for name in (key.tool, key.server)]
