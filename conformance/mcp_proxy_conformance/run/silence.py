"""A target that no longer answers: seen in several checks in a row, it ends the run."""

from __future__ import annotations

from dataclasses import dataclass, field

from mcp_proxy_conformance.run.judging import Ending
from mcp_proxy_conformance.verdict.outcome import BROKEN, Outcome

IN_A_ROW = 5


@dataclass(slots=True)
class Silence:
    """The waits in vain since a check was last answered, each once, however many it cost.

    A stage that could not be set up is one of them, though all of its checks end in it. A target
    that answers late, with a refusal or with nonsense has answered.
    """

    _waits: list[BaseException] = field(default_factory=list)

    def after(self, ending: Ending, *, advisory: bool) -> Outcome | None:
        """What the run comes to once nothing answers any more; None as long as something does."""
        if ending.verdict == "not_applicable" or (advisory and ending.blame == "network"):
            return None
        if ending.blame != "network" or ending.error is None:
            self._waits.clear()
        elif not any(ending.error is one for one in self._waits):
            self._waits.append(ending.error)
        if len(self._waits) < IN_A_ROW:
            return None
        why = f"the target stopped answering, {IN_A_ROW} times in a row: {ending.reason}"
        return Outcome("target or adapter broke", BROKEN, why)
