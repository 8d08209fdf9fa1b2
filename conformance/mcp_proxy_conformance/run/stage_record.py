"""What a run remembers of each stage that it started."""

from __future__ import annotations

from dataclasses import dataclass

from mcp_proxy_conformance.report.cited import StageTold
from mcp_proxy_conformance.targets.pool import Ready


@dataclass(frozen=True, slots=True, kw_only=True)
class StageRecord:
    """One started stage: `place` names it alone, `name` all of its kind."""

    place: str
    name: str
    stage: str
    ready: Ready

    def told(self) -> StageTold:
        """What the report says of it; the ways in are those of now."""
        armed, access = self.ready.armed, self.ready.started.access
        return StageTold(
            place=self.place,
            name=self.name,
            stage=self.stage,
            armed={
                "called": sorted(map(str, armed.called)),
                "refused": sorted(map(str, armed.refused)),
                "skipped": {str(k): v for k, v in sorted(armed.skipped.items())},
                "unproven": {str(k): v.reason for k, v in sorted(armed.unproven.items())},
            },
            seconds=self.ready.seconds,
            credentials=(dict(access.headers), *map(dict, access.agents.values())),
        )
