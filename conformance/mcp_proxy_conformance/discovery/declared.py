"""What an answer shows against what its target declares."""

from __future__ import annotations

from collections.abc import Collection

from mcp_proxy_conformance.discovery.answer import Answer
from mcp_proxy_conformance.verdict.result import DeclarationFault

CAPABILITY = {
    "disabled_by_config": "config",
    "disabled_by_user": "user",
    "pending_approval": "approval",
    "server_disabled": "server_off",
    "server_quarantined": "quarantine",
}
"""What a target that tells this status can do; no answer of it goes with an unlaid lock."""


def expect_declared(answer: Answer, capabilities: Collection[str]) -> None:
    """No locked entry has the status of a lock that the target does not declare.

    Raises:
        DeclarationFault: One has; the declaration is wrong, or else the target.
    """
    for entry in answer.disabled:
        word = CAPABILITY.get(entry.status)
        if word is not None and word not in capabilities:
            raise DeclarationFault(
                f"{entry.key} is told as {entry.status}, though {word} is not declared; declare"
                f" {word} if the target has it, so that it is checked"
            )
