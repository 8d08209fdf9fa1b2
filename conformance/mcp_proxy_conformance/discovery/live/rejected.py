"""Calls of tools that the user named, each listed as locked before and after: their rejection."""

from __future__ import annotations

import json
from dataclasses import dataclass

from mcp_proxy_conformance.catalogue.world import ToolKey
from mcp_proxy_conformance.discovery.live.talk import Look, Talk
from mcp_proxy_conformance.discovery.live.words import is_of
from mcp_proxy_conformance.wire.faults import ProtocolFault


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """What a call of a locked tool was answered; `left_out` says why it was not called."""

    status: str = ""
    text: str = ""
    is_error: bool = False
    messages: tuple[int, int] = (0, 0)
    left_out: str = ""


def call(talk: Talk, key: ToolKey) -> Rejected:
    """Call a tool once, if it is listed as locked right before; what is not locked is let be."""
    endpoint = talk.endpoint
    if not endpoint.calls:
        return Rejected(left_out="no call tool was named; a target file does, as surface.calls")
    status = _status(talk.ask(key.tool, "W"), key)
    if not status:
        return Rejected(left_out=f"{key} is not listed as locked, so it was not called")
    tool, arguments = endpoint.surface.calls[0].filled(key, {})
    since = talk.transcript.mark()
    try:
        reply = talk.call(tool, arguments)
        refused = reply.error is not None
        text = json.dumps(reply.error) if refused else "\n".join(reply.texts)
        is_error = refused or reply.is_error
    except ProtocolFault as fault:
        return Rejected(left_out=f"the call was answered with no result: {fault}")
    messages = (since, talk.transcript.mark())
    if _status(talk.ask(key.tool, "W"), key) != status:
        return Rejected(left_out=f"{key} was not locked the same way after the call")
    return Rejected(status=status, text=text, is_error=is_error, messages=messages)


def _status(look: Look, key: ToolKey) -> str:
    entries = look.answer.disabled if look.answer is not None else ()
    return next((entry.status for entry in entries if is_of(entry, key)), "")
