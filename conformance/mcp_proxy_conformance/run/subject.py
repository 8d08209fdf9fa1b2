"""A subject of a run: a driven proxy, a loader or an endpoint, and how checks get to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from mcp_proxy_conformance.catalogue.case import OwnCase
from mcp_proxy_conformance.catalogue.requirement import Profile
from mcp_proxy_conformance.run.collection import Place
from mcp_proxy_conformance.run.judgement import Ending, attempt
from mcp_proxy_conformance.targets.adapter import Target
from mcp_proxy_conformance.verdict.cited import Cited, StageTold
from mcp_proxy_conformance.verdict.credentials import credentials
from mcp_proxy_conformance.verdict.outcome import GREEN, Outcome
from mcp_proxy_conformance.verdict.record import beyond, not_declared
from mcp_proxy_conformance.verdict.result import NotApplicable, Result

Check = Callable[[Any], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """What the first look came to: why nothing can be checked, and what it saw."""

    stopped: Outcome | None = None
    results: tuple[Result, ...] = ()
    messages: Mapping[str, Cited] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rests:
    """What a result rests on: the ending as it is told, the messages, further lines.

    `cut` are the paths that comparisons have left out.
    """

    ending: Ending
    messages: Mapping[str, Cited] = field(default_factory=dict)
    lines: tuple[str, ...] = ()
    cut: tuple[str, ...] = ()


class Subject:
    """What all subjects do alike; each one overrides what it does in its own way."""

    target: Target
    wire = ""
    """The revision of the protocol that is spoken with it, once that is known."""
    own_case: OwnCase | None = None
    indivisible = ""
    """Why its checks cannot run in several processes; empty where they can."""
    is_redacted = False
    """Whether pytest itself may be told no more of a failure than the report is."""

    def probe(self) -> Probed:
        """Look whether there is anything to check."""
        raise NotImplementedError

    def plan(self, places: Sequence[Place], *, partial_run: bool) -> None:
        """Prepare what all these checks will need, in their order; some may not apply."""

    def applicable(self, places: Sequence[Place]) -> Sequence[Place]:
        """Those whose checks apply."""
        return [one for one in places if self.lacking(one) is None]

    def count(self, places: Sequence[Place]) -> None:
        """Count the checks of each place: after the last one its target ends."""

    def soon(self, places: Sequence[Place]) -> None:
        """Prepare what the next checks need."""

    def lacking(self, place: Place) -> NotApplicable | None:
        """Why checks of a place do not apply; None where they do."""
        return self.not_declared(place.needs)

    def beyond(self, profile: Profile) -> Mapping[str, NotApplicable]:
        """Clauses of which nothing is said, whatever cites them, and why."""
        return beyond(profile, self.target.capabilities)

    def not_declared(self, needs: Iterable[str]) -> NotApplicable | None:
        """The first of these capabilities that the target does not declare, as a reason."""
        return not_declared(needs, self.target.capabilities)

    def open(self, place: Place) -> Any:
        """The bench of a check; raises AdapterError when it cannot be had."""
        raise NotImplementedError

    def judge(self, check: Check, bench: Any, place: Place) -> Ending:
        """The ending of a check on that bench, confirmed where it is a failure."""
        del place
        return attempt(partial(check, bench))

    def rests(self, place: Place, ending: Ending) -> Rests:
        """What the check that just ended rests on."""
        del place
        return Rests(ending=ending)

    def stage(self, name: str) -> StageTold | None:
        """The stage that checks of that place work on, as it is told now."""
        del name
        return None

    def done_with(self, place: Place) -> None:
        """One check less needs that place."""

    @property
    def stages(self) -> Sequence[StageTold]:
        """Every stage that was started."""
        return ()

    @property
    def credentials(self) -> Sequence[Mapping[str, str]]:
        """Headers by which the target lets somebody in, besides those of the stages."""
        return ()

    @property
    def secrets(self) -> Sequence[str]:
        """What is taken out of all that is told: credentials of environment and command line."""
        return tuple(credentials(words=self.target.command))

    @property
    def green(self) -> Outcome:
        """Outcome of a run in which every clause passes or does not apply."""
        return GREEN

    @property
    def unsettled(self) -> str:
        """Why a run is incomplete that left clauses open; empty where their names say it."""
        return ""

    @property
    def requests(self) -> int | None:
        """How many were sent, where that is counted."""
        return None

    def finish(self) -> None:
        """Do what the report is to know of."""

    def hurry(self) -> None:
        """No check will be run any more: begin to end what was started ahead."""

    def close(self) -> None:
        """End everything."""
        self.target.close()
