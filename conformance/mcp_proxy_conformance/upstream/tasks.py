"""Tasks (MCP 2025-11-25) of a scripted server: each completed at once and bound to its session."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

BEGUN_AT = "2026-01-01T00:00:00Z"
RESULT = {"content": [{"type": "text", "text": "the task is done"}]}


class Tasks:
    """The tasks of all sessions; one session knows nothing of another's."""

    def __init__(self) -> None:
        """Begin without tasks."""
        self._sessions: dict[str, str] = {}

    def begin(self, session: str) -> Mapping[str, Any]:
        """Begin a task in a session; return the result of the call that asked for it."""
        own_id = secrets.token_hex(16)
        self._sessions[own_id] = session
        return {"task": _task(own_id)}

    def answer(
        self, method: str, params: Mapping[str, Any], session: str
    ) -> Mapping[str, Any] | None:
        """Return the result of a request about tasks; None if the session has no such task.

        None also for `tasks/cancel`: every task is completed.
        """
        own = [name for name, owner in self._sessions.items() if owner == session]
        wanted = params.get("taskId")
        if method == "tasks/list":
            return {"tasks": [_task(name) for name in own]}
        if wanted not in own:
            return None
        if method == "tasks/get":
            return _task(str(wanted))
        return RESULT if method == "tasks/result" else None


def _task(own_id: str) -> Mapping[str, Any]:
    """Return the object of a task in answers: that id, completed, with fixed times."""
    times = {"createdAt": BEGUN_AT, "lastUpdatedAt": BEGUN_AT}
    return {"taskId": own_id, "status": "completed", **times, "ttl": 60_000, "pollInterval": 100}
