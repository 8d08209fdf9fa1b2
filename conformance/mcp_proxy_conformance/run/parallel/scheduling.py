"""Which worker gets which checks: those of a stage together, and never too few to go on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

LEAST = 2
"""A worker begins a check when it knows the next one."""


class StageScheduling(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Keeps together what is checked in one place; the places are told once all is collected."""

    def __init__(
        self, config: pytest.Config, log: Any, places: Callable[[], Mapping[str, str]]
    ) -> None:
        """Nothing is collected yet."""
        super().__init__(config, log)
        self._collected = places

    @cached_property
    def _places(self) -> Mapping[str, str]:
        return self._collected()

    def _split_scope(self, nodeid: str) -> str:
        return self._places.get(nodeid, nodeid)

    def _reschedule(self, node: WorkerController) -> None:
        """A worker that comes in the place of a lost one is not left waiting with one check."""
        super()._reschedule(node)
        while self.workqueue and not node.shutting_down:
            if self._pending_of(self.assigned_work[node]) >= LEAST:
                return
            self._assign_work_unit(node)
