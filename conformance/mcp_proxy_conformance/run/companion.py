"""A fixture's value that takes part in judging a check, such as a stored answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

from mcp_proxy_conformance.run.judgement import Ending


@runtime_checkable
class Companion(Protocol):
    """It is bound to the bench before each call, and asked after the first and a failed `==`."""

    def on(self, bench: Any) -> Any:
        """Return what the check is called with; UsageError if it does not work on this bench."""

    def concluded(self, ending: Ending, check: Callable[[Any], Any]) -> Ending:
        """Return the ending of a check that was called once."""

    @property
    def differs(self) -> bool:
        """Whether the last comparison found a difference, which `sides` and `lines` tell."""

    def sides(self) -> tuple[object, object]:
        """Return what was observed and what is stored at the first difference."""

    def lines(self) -> list[str]:
        """Return pytest's explanation of the difference."""
