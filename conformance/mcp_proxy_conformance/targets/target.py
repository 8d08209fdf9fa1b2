"""What is judged, as the engine knows it; the errors of what starts and drives it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from mcp_proxy_conformance.targets.target_lines import Written

E = TypeVar("E", bound=BaseException)


class AdapterError(Exception):
    """The adapter or the target broke, which says nothing about any clause."""


class TargetNotStarted(AdapterError):
    """The target did not start or did not stay up; the message ends with the tail of its log."""


def without_frames(error: E) -> E:
    """Return the error itself, stripped of its traceback, context and cause.

    These keep answers in memory.
    """
    error.__traceback__ = error.__context__ = error.__cause__ = None
    return error


class Refused(Exception):
    """The target or its operator legally refused the operation: the check is not applicable."""


class NotDeclared(Refused):
    """The target does not declare a capability that the operation needs."""


class Unsupported(Exception):
    """The adapter does not implement that optional operation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """An implementation under test; a specification adds what it needs to know of one.

    `command` is the command line that starts it, if any, `file` its target file. Without a `name`
    or `version` of its own, it has those that its handshake gives. `examples` is how many worlds,
    loads or values a trial of it generates. `close` ends what it keeps running.
    """

    kind: str
    capabilities: frozenset[str] = frozenset()
    name: str = ""
    version: str = ""
    command: tuple[str, ...] = ()
    file: Written | None = None
    examples: int = 0
    close: Callable[[], None] = lambda: None

    @property
    def declared(self) -> Mapping[str, Any]:
        """Declarations that are taken on the word of its target file, by member."""
        return {}

    def hurried(self) -> Self:
        """Return it as it is judged by few checks, which need not wait for others; here itself."""
        return self
